//! What a pod does, and what comes of it: the same whoever forwards, where the table does not say otherwise.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use warren_tunnel_tests::Namespace;
use warren_tunnel_tests::traffic::Stream;

use crate::lab::{By, Lab, echo, listen};

/// A case: what is done, how, and what comes of it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) act: fn(&Lab) -> String,
    pub(crate) expected: Expected,
}

/// What comes of a case.
pub(crate) enum Expected {
    Same(&'static str),
    /// They differ; docs/gateway.md says why.
    Differ {
        kernel: &'static str,
        user: &'static str,
    },
}

impl Expected {
    pub(crate) fn of(&self, by: By) -> &'static str {
        match (self, by) {
            (Self::Same(text), _) => text,
            (Self::Differ { kernel, .. }, By::Kernel) => kernel,
            (Self::Differ { user, .. }, By::User) => user,
        }
    }
}

const fn same(name: &'static str, act: fn(&Lab) -> String, expected: &'static str) -> Case {
    Case { name, act, expected: Expected::Same(expected) }
}

const fn differ(
    name: &'static str,
    act: fn(&Lab) -> String,
    kernel: &'static str,
    user: &'static str,
) -> Case {
    Case { name, act, expected: Expected::Differ { kernel, user } }
}

pub(crate) const CASES: &[Case] = &[
    same("TCP, 4 MB up", |lab| stream(lab, "10.50.0.2:8001", true), "all came"),
    same("TCP, 4 MB down", |lab| stream(lab, "10.50.0.2:8002", false), "all came"),
    same("TCP over IPv6, 4 MB up", |lab| stream(lab, "[fd00:50::2]:8003", true), "all came"),
    same("TCP over IPv6, 4 MB down", |lab| stream(lab, "[fd00:50::2]:8004", false), "all came"),
    same("TCP beyond an MTU of 1300, up", |lab| far_stream(lab, "10.51.0.2:8005", true), "all came"),
    same("TCP beyond an MTU of 1300, down", |lab| far_stream(lab, "10.51.0.2:8006", false), "all came"),
    same("TCP, the pod ends first", half_close, "question, answer"),
    same("TCP, the host resets", reset_by_host, "reset"),
    same("TCP, the pod resets", reset_by_pod, "reset"),
    same("TCP, nobody reads", unread, "the sender waits"),
    same("TCP, port refused", |lab| connect(lab, "10.50.0.2:8007"), "ECONNREFUSED"),
    same("TCP over IPv6, port refused", |lab| connect(lab, "[fd00:50::2]:8007"), "ECONNREFUSED"),
    same("TCP, no such host", |lab| connect(lab, "10.50.0.77:8000"), "EHOSTUNREACH"),
    same("TCP over IPv6, no such host", |lab| connect(lab, "[fd00:50::77]:8000"), "EHOSTUNREACH"),
    same("TCP, no such network", |lab| connect(lab, "10.60.0.1:8000"), "ENETUNREACH"),
    same("TCP, port not allowed", |lab| connect(lab, "10.50.0.2:22"), "EHOSTUNREACH"),
    same("TCP over IPv6, port not allowed", |lab| connect(lab, "[fd00:50::2]:22"), "EACCES"),
    same("metadata although allowed", |lab| served(lab, &lab.server, "169.254.169.254:8031"), "EHOSTUNREACH"),
    same("metadata over IPv6", |lab| served(lab, &lab.server, "[fd00:ec2::254]:8032"), "EACCES"),
    same("metadata through NAT64", |lab| served(lab, &lab.server, "[64:ff9b::a9fe:a9fe]:8033"), "EACCES"),
    same("the gateway's own address", |lab| served(lab, &lab.gateway, "10.50.0.1:8030"), "EHOSTUNREACH"),
    same("its own address over IPv6", |lab| served(lab, &lab.gateway, "[fd00:50::1]:8034"), "EACCES"),
    same("its own address, UDP", |lab| ask(lab, "10.50.0.1:8035"), "EHOSTUNREACH"),
    same("its own address, echo", |lab| ping(lab, &["10.50.0.1"]), "filtered"),
    same("its own address, by name", |lab| served(lab, &lab.gateway, "10.50.0.5:8036"), "connected"),
    same("its own address, another port", |lab| served(lab, &lab.gateway, "10.50.0.5:22"), "EHOSTUNREACH"),
    same("UDP", |lab| datagrams(lab, "10.50.0.2:8010", &[1, 500, 1392]), "1 500 1392"),
    same("UDP over IPv6", |lab| datagrams(lab, "[fd00:50::2]:8011", &[1, 500, 1372]), "1 500 1372"),
    differ("UDP, larger than a packet", |lab| datagrams(lab, "10.50.0.2:8012", &[4000]), "4000", "silence"),
    same("UDP beyond an MTU of 1300", far_datagram, "it arrives once the way is known"),
    same("UDP, port refused", |lab| ask(lab, "10.50.0.2:8013"), "ECONNREFUSED"),
    same("UDP over IPv6, port refused", |lab| ask(lab, "[fd00:50::2]:8013"), "ECONNREFUSED"),
    same("UDP, port not allowed", |lab| ask(lab, "10.50.0.2:53"), "EHOSTUNREACH"),
    same("echo", |lab| ping(lab, &["10.50.0.2"]), "answered"),
    same("echo over IPv6", |lab| ping(lab, &["fd00:50::2"]), "answered"),
    differ(
        "echo, larger than a packet",
        |lab| ping(lab, &["-s", "3000", "10.50.0.2"]),
        "answered",
        "silence",
    ),
    differ("echo, no such host", |lab| ping(lab, &["10.50.0.77"]), "host unreachable", "silence"),
    same("echo, no such network", |lab| ping(lab, &["10.60.0.1"]), "net unreachable"),
    same("echo, not allowed", |lab| ping(lab, &["10.51.0.2"]), "filtered"),
    same("the hub begins", from_hub, "not connected"),
    same("another's source address", spoofed, "nothing came"),
];

fn code(error: &anyhow::Error) -> String {
    let raw = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    match raw.map(Errno::from_raw_os_error) {
        Some(Errno::CONNREFUSED) => "ECONNREFUSED".into(),
        Some(Errno::HOSTUNREACH) => "EHOSTUNREACH".into(),
        Some(Errno::NETUNREACH) => "ENETUNREACH".into(),
        Some(Errno::ACCESS) => "EACCES".into(),
        Some(Errno::AGAIN) => "silence".into(),
        _ => format!("{error:#}"),
    }
}

fn stream(lab: &Lab, to: &str, up: bool) -> String {
    moved(lab, &lab.server, to, up)
}

fn far_stream(lab: &Lab, to: &str, up: bool) -> String {
    moved(lab, &lab.far, to, up)
}

fn moved(lab: &Lab, host: &Namespace, to: &str, up: bool) -> String {
    let to = to.parse().unwrap();
    let length = 4_000_000;
    let begun = if up {
        Stream::upload((&lab.pod, to), (host, to), length)
    } else {
        Stream::download((&lab.pod, to), (host, to), length)
    };
    match begun.and_then(Stream::finish) {
        Ok(_) => "all came".into(),
        Err(error) => format!("{error:#}"),
    }
}

fn half_close(lab: &Lab) -> String {
    let (mut near, mut far) = match lab.connected(8020) {
        Ok(both) => both,
        Err(error) => return code(&error),
    };
    near.write_all(b"question").unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let (mut asked, mut answered) = (String::new(), String::new());
    far.read_to_string(&mut asked).unwrap();
    far.write_all(b"answer").unwrap();
    drop(far);
    near.read_to_string(&mut answered).unwrap();
    format!("{asked}, {answered}")
}

/// Closing it from now on resets.
fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// What a reader sees.
pub(crate) fn seen(stream: &mut TcpStream) -> String {
    match stream.read(&mut [0; 8]) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => "reset".into(),
        other => format!("{other:?}"),
    }
}

fn reset_by_host(lab: &Lab) -> String {
    let (mut near, far) = lab.connected(8021).unwrap();
    reset(far);
    seen(&mut near)
}

fn reset_by_pod(lab: &Lab) -> String {
    let (near, mut far) = lab.connected(8022).unwrap();
    reset(near);
    seen(&mut far)
}

fn unread(lab: &Lab) -> String {
    let (near, mut far) = lab.connected(8023).unwrap();
    far.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let block = vec![7; 1 << 20];
    let mut sent = 0;
    while let Ok(length) = far.write(&block) {
        sent += length;
        if sent > 128 << 20 {
            return format!("{sent} bytes were taken");
        }
    }
    drop(near);
    "the sender waits".into()
}

fn connect(lab: &Lab, to: &str) -> String {
    match lab.connect(to) {
        Ok(_) => "connected".into(),
        Err(error) => code(&error),
    }
}

/// A connection to a port where somebody listens.
fn served(lab: &Lab, host: &Namespace, at: &'static str) -> String {
    let _listener = host.inside(move || listen(at)).unwrap();
    connect(lab, at)
}

/// The sizes that come back.
fn datagrams(lab: &Lab, at: &'static str, sizes: &'static [usize]) -> String {
    echo(&lab.server, at, sizes.len());
    let near = lab.datagrams(at);
    let mut buffer = vec![0; 65_536];
    let mut back = Vec::new();
    for size in sizes {
        near.send(&vec![5; *size]).unwrap();
        match near.recv(&mut buffer) {
            Ok(length) => back.push(length.to_string()),
            Err(error) => back.push(code(&error.into())),
        }
    }
    back.join(" ")
}

/// The first one is answered by "too big", to the pod or to the gateway; whoever sends again gets through.
fn far_datagram(lab: &Lab) -> String {
    let at = "10.51.0.2:8014";
    echo(&lab.far, at, 100);
    let near = lab.datagrams(at);
    near.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut buffer = vec![0; 65_536];
    for _ in 0..20 {
        _ = near.send(&[6; 1392]);
        if near.recv(&mut buffer).is_ok_and(|length| length == 1392) {
            return "it arrives once the way is known".into();
        }
    }
    "silence".into()
}

/// What a datagram to where nobody answers brings.
fn ask(lab: &Lab, to: &'static str) -> String {
    let near = lab.datagrams(to);
    near.set_read_timeout(Some(Duration::from_secs(6))).unwrap();
    near.send(b"anybody?").unwrap();
    match near.recv(&mut [0; 16]) {
        Ok(_) => "answered".into(),
        Err(error) => code(&error.into()),
    }
}

fn ping(lab: &Lab, arguments: &[&str]) -> String {
    let all = [&["-c", "2", "-i", "0.3", "-W", "5"], arguments].concat();
    let told = match lab.pod.run("ping", &all) {
        Ok(told) => told,
        Err(error) => format!("{error:#}"),
    };
    let words = [
        (" 0% packet loss", "answered"),
        ("filtered", "filtered"),
        ("Host Unreachable", "host unreachable"),
        ("Net Unreachable", "net unreachable"),
        ("100% packet loss", "silence"),
    ];
    words.iter().find(|(text, _)| told.contains(text)).map_or(told.clone(), |(_, means)| (*means).to_owned())
}

/// Somebody in the hub who has a route to the pod.
fn from_hub(lab: &Lab) -> String {
    let pod = lab.pod.ip(&format!("-4 -o addr show dev {}", lab.interface)).unwrap();
    let address = pod.split_whitespace().nth(3).unwrap().split('/').next().unwrap().to_owned();
    let _listener = lab.pod.inside(|| listen("0.0.0.0:8040")).unwrap();
    let connected = lab.server.inside(move || {
        let to = format!("{address}:8040").parse()?;
        Ok(TcpStream::connect_timeout(&to, Duration::from_secs(2))?)
    });
    connected.map_or("not connected", |_| "connected").into()
}

fn spoofed(lab: &Lab) -> String {
    let listening = lab.server.inside(|| Ok(UdpSocket::bind("10.50.0.2:8041")?)).unwrap();
    listening.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    lab.pod.ip(&format!("addr add 10.100.0.99/32 dev {}", lab.interface)).unwrap();
    let sent = lab.pod.inside(|| {
        let socket = UdpSocket::bind("10.100.0.99:0")?;
        Ok(socket.send_to(b"not mine", "10.50.0.2:8041")?)
    });
    assert_eq!(sent.unwrap(), 8);
    match listening.recv(&mut [0; 16]) {
        Ok(_) => "it came".into(),
        Err(_) => "nothing came".into(),
    }
}
