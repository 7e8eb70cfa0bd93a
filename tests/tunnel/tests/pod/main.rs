//! A tunnel that ends in a process without any privilege: in its netstack, or in the kernel's stack in a user namespace.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lab;
mod memory;
mod namespace;
mod restarts;

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::Duration;

use rustix::process::Signal;
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{Implementation, Namespace, Pair, Pod, Settings, program, wait_for};

use lab::{DEVICES, Lab, accept, reset};

#[test]
fn bytes_arrive_both_ways_without_any_privilege() {
    let both = [Implementation::WarrenTunnel, Implementation::WireguardGo];
    for (gateway, device) in both.iter().flat_map(|gateway| DEVICES.map(|device| (gateway, device))) {
        let lab = Lab::new(gateway, device);
        let (backend, why) =
            if device == "auto" { ("user", "CAP_NET_ADMIN is missing") } else { ("userns", "requested") };
        let network = |host: &Namespace| {
            ["link show", "-4 route show table all", "rule show"].map(|what| host.ip(what).unwrap())
        };
        let before = network(&lab.hosts[0]);
        for port in [7001, 7006] {
            Stream::upload(lab.client(port), lab.server(port), 12_000_000).unwrap().finish().unwrap();
            Stream::download(lab.client(port), lab.server(port), 12_000_000).unwrap().finish().unwrap();
        }
        for (field, value) in
            [("CapEff", "0000000000000000"), ("CapBnd", "0000000000000000"), ("NoNewPrivs", "1")]
        {
            assert_eq!(lab.pod.status_line(field).unwrap(), value, "{field}");
        }
        assert_eq!(lab.pod.status_line("Uid").unwrap(), "65534\t65534\t65534\t65534");
        assert_eq!(network(&lab.hosts[0]), before);
        assert!(!before[0].contains("pod"), "{}", before[0]);
        assert!(lab.pod.log().contains(why), "{}", lab.pod.log());

        let told = lab.pod.run(&["status", "--interval", "0"]).unwrap();
        assert!(told.contains(&format!("{backend} ({why}")), "{told}");
        assert!(told.contains("latest handshake"), "{told}");
        assert!(lab.get("/healthz").contains("200 OK") && lab.get("/readyz").contains("200 OK"));
        let metrics = lab.get("/metrics");
        assert!(metrics.contains(&format!("backend=\"{backend}\"")), "{metrics}");
        assert!(metrics.contains("peer_handshakes_total"), "{metrics}");
        assert_eq!(metrics.contains("netstack_buffer_bytes"), backend == "user", "{metrics}");
        let folder = fs::metadata(lab.pod.runtime()).unwrap();
        assert_eq!((folder.permissions().mode() & 0o777, folder.uid()), (0o700, 65534));
    }
}

#[test]
fn many_streams_at_once_keep_their_bytes() {
    for device in DEVICES {
        const STREAMS: usize = 100;
        const LENGTH: usize = 200_000;
        let lab = Lab::new(&Implementation::WarrenTunnel, device);
        let listener = lab.listen(7001);
        let server = std::thread::spawn(move || {
            let echoes: Vec<_> = (0..STREAMS)
                .map(|_| {
                    let mut stream = accept(&listener);
                    std::thread::spawn(move || {
                        let mut data = Vec::new();
                        stream.read_to_end(&mut data).unwrap();
                        stream.write_all(&data).unwrap();
                    })
                })
                .collect();
            echoes.into_iter().for_each(|echo| echo.join().unwrap());
        });
        let clients: Vec<_> = (0..STREAMS)
            .map(|number| {
                let mut stream = lab.connect(7001);
                std::thread::spawn(move || {
                    let data: Vec<u8> = (0..LENGTH).map(|at| (at * (number + 3) / 5) as u8).collect();
                    stream.write_all(&data).unwrap();
                    // A half that is closed leaves the other open.
                    stream.shutdown(Shutdown::Write).unwrap();
                    let mut back = Vec::new();
                    stream.read_to_end(&mut back).unwrap();
                    assert!(back == data, "stream {number}: {} bytes came back", back.len());
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        server.join().unwrap();
    }
}

#[test]
fn programs_reach_the_tunnel_by_proxies_and_the_overlay_reaches_programs() {
    for device in DEVICES {
        let lab = Lab::new(&Implementation::WarrenTunnel, device);
        let listener = lab.listen(7001);
        let server = std::thread::spawn(move || (0..3).for_each(|_| greet(accept(&listener))));
        let curl = program("curl").unwrap();
        let get = |arguments: &[&str]| {
            let all = [&["--silent", "--show-error", "--max-time", "20"], arguments].concat();
            lab.hosts[0].run(&curl, &all)
        };
        let url = "http://10.77.0.2:7001/";
        assert_eq!(get(&["--proxy", "http://127.0.0.1:3128", url]).unwrap(), "hello");
        assert_eq!(get(&["--proxy", "http://127.0.0.1:3128", "--proxytunnel", url]).unwrap(), "hello");
        assert_eq!(get(&["--proxy", "socks5h://127.0.0.1:1080", url]).unwrap(), "hello");
        server.join().unwrap();
        let metrics = lab.get("/metrics");
        for (service, total) in [("http", 2), ("socks", 1), ("tcp_forward", 0)] {
            let line = format!(
                "warren_tunnel_proxy_streams_total{{interface=\"pod\",service=\"{service}\"}} {total}\n"
            );
            assert!(metrics.contains(&line), "{line} in {metrics}");
        }
        let status = lab.pod.run(&["status", "--json", "--interval", "0"]).unwrap();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let status = if status.is_array() { &status[0] } else { &status };
        assert_eq!(status["services"]["streams"]["http"]["total"], 2, "{status}");
        assert!(status["services"]["received_bytes"].as_u64() > Some(10), "{status}");
        // What no peer has is reached beside the tunnel: here the gateway's outer address, where nobody listens.
        let outside = ["--proxy", "http://127.0.0.1:3128", "--proxytunnel", "http://10.200.0.2:1/"];
        let refused = get(&outside).unwrap_err();
        assert!(format!("{refused:#}").contains("502"), "{refused:#}");
        let told = lab.pod.run(&["status", "--interval", "0"]).unwrap();
        assert!(told.contains("socks") && told.contains(" open, 1 total"), "{told}");
        assert!(told.contains("refused or failed: 1 refused"), "{told}");

        let ssh = lab.hosts[0].inside(|| Ok(TcpListener::bind("127.0.0.1:22")?)).unwrap();
        let mut caller = lab.hosts[1].inside(|| Ok(TcpStream::connect("10.77.0.1:8022")?)).unwrap();
        let mut called = accept(&ssh);
        called.write_all(b"SSH-2.0").unwrap();
        caller.read_exact(&mut [0; 7]).unwrap();

        let far = lab.hosts[1].inside(|| Ok(UdpSocket::bind("10.77.0.2:7053")?)).unwrap();
        let near = lab.hosts[0].inside(|| Ok(UdpSocket::bind("127.0.0.1:0")?)).unwrap();
        for socket in [&far, &near] {
            socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        }
        near.send_to(b"question", "127.0.0.1:7053").unwrap();
        let mut buffer = [0; 64];
        let (length, from) = far.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"question");
        far.send_to(b"answer", from).unwrap();
        let (length, _) = near.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"answer");
    }
}

/// Answers one request of HTTP.
fn greet(mut stream: TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").unwrap();
}

#[test]
fn resets_and_refusals_arrive() {
    for device in DEVICES {
        let lab = Lab::new(&Implementation::WarrenTunnel, device);
        let listener = lab.listen(7001);
        // The far end resets.
        let mut near = lab.connect(7001);
        near.write_all(b"hello").unwrap();
        let mut far = accept(&listener);
        far.read_exact(&mut [0; 5]).unwrap();
        reset(far);
        assert_eq!(near.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        // The near end resets.
        let mut near = lab.connect(7001);
        near.write_all(b"hello").unwrap();
        let mut far = accept(&listener);
        far.read_exact(&mut [0; 5]).unwrap();
        reset(near);
        assert_eq!(far.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        // Nobody listens.
        let mut refused = lab.connect(7002);
        assert_eq!(refused.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_reload_changes_peers_and_addresses_and_keeps_streams() {
    for device in DEVICES {
        let lab = Lab::new(&Implementation::WarrenTunnel, device);
        let stream = Stream::download(lab.client(7001), lab.server(7001), 40_000_000).unwrap();
        stream.reached(0.02).unwrap();
        // The other address goes, and with it the way to it.
        let text =
            lab.interfaces[0].wg_quick().replace(", fd00:77::2/128", "").replace(", fd00:77::1/64", "");
        assert_ne!(text, lab.interfaces[0].wg_quick());
        fs::write(lab.pod.config(), text).unwrap();
        let said = lab.pod.run(&["reload"]).unwrap();
        assert!(said.contains("1 added or changed") || said.contains("1 peers added or changed"), "{said}");
        stream.finish().unwrap();
        let _listener = lab.listen(7006);
        let mut gone = lab.connect(7006);
        assert_eq!(gone.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        // And comes back, by a signal.
        fs::write(lab.pod.config(), lab.interfaces[0].wg_quick()).unwrap();
        lab.pod.signal(Signal::HUP).unwrap();
        wait_for(Duration::from_secs(10), "reload", || {
            Ok((lab.pod.log().matches("reloaded").count() == 2).then_some(()))
        })
        .unwrap();
        drop(_listener);
        Stream::upload(lab.client(7006), lab.server(7006), 100_000).unwrap().finish().unwrap();
    }
}

#[test]
fn what_needs_an_interface_is_said() {
    let hosts = Pair::hosts().unwrap();
    let mut interfaces = Pair::interfaces(&Settings::default()).unwrap();
    let error = Pod::start(&hosts[0], &interfaces[0], &["--device", "tun"]).unwrap_err();
    assert!(format!("{error:#}").contains("--device user"), "{error:#}");
    interfaces[0].extra = vec!["PostUp = touch /tmp/never".into(), "FwMark = 7".into()];
    let pod = Pod::start(&hosts[0], &interfaces[0], &["--metrics", "off"]).unwrap();
    assert!(pod.log().contains("do not run") && pod.log().contains("FwMark is ignored"), "{}", pod.log());
}
