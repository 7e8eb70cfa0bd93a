//! Two networks, each with a gateway, and a pod that enrolled with one and reaches servers of both; by sockets and by the kernel.
//!
//! ```text
//!                    +-- 10.200.0.2 gateway 10.50.0.1 --lan-- 10.50.0.2 server        "AWS", pool 10.100.0.0/24
//! pod 10.200.0.1 ----+
//!                    +-- 10.200.0.3 gateway 10.60.0.1 --lan-- 10.60.0.2 server        "GCP", pool 10.101.0.0/24
//! ```
//! What the gateways have of each other was made by `warren-tunnel topology`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use warren_tunnel_tests::dns;
use warren_tunnel_tests::fabric::{By, Gateway, Member};
use warren_tunnel_tests::{Fabric, Implementation, Namespace, wait_for};

const NAMES: [&str; 2] = ["aws", "gcp"];
const GATEWAYS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 200, 0, 2), Ipv4Addr::new(10, 200, 0, 3)];
const SERVERS: [&str; 2] = ["10.50.0.2", "10.60.0.2"];
const PATIENCE: Duration = Duration::from_secs(30);

struct Lab {
    by: [By; 2],
    /// The pod's: all labs share one folder of run-time files, so each has a name of its own.
    interface: String,
    fabrics: [Fabric; 2],
    pod: Arc<Namespace>,
    gateways: [Arc<Namespace>; 2],
    servers: [Arc<Namespace>; 2],
    _bridge: Arc<Namespace>,
}

impl Lab {
    fn new(by: [By; 2]) -> Self {
        let bridge = Arc::new(Namespace::new().unwrap());
        bridge.ip("link add br0 type bridge").unwrap();
        bridge.ip("link set br0 up").unwrap();
        let host = |number: u8, address: &str| {
            let host = Arc::new(Namespace::new().unwrap());
            host.ip(&format!("link add wire type veth peer name port{number} netns {}", bridge.name()))
                .unwrap();
            bridge.ip(&format!("link set port{number} master br0 up")).unwrap();
            host.ip("link set wire up").unwrap();
            host.ip(&format!("addr add {address}/24 dev wire")).unwrap();
            host
        };
        let pod = host(0, "10.200.0.1");
        let gateways = [1, 2].map(|number| host(number, &GATEWAYS[usize::from(number) - 1].to_string()));
        let servers = [0, 1].map(|index: usize| {
            let server = Arc::new(Namespace::new().unwrap());
            gateways[index].join_as(&server, "lan").unwrap();
            let network = SERVERS[index].strip_suffix(".2").unwrap();
            gateways[index].ip(&format!("addr add {network}.1/24 dev lan")).unwrap();
            server.ip(&format!("addr add {network}.2/24 dev lan")).unwrap();
            // As in a cloud, there is a way for everything.
            gateways[index].ip(&format!("route add default via {network}.2")).unwrap();
            gateways[index].run("sysctl", &["-qw", "net.ipv4.ping_group_range=0 2147483647"]).unwrap();
            server
        });
        let fabrics = [0, 1].map(|index: usize| {
            let rest = format!(
                "STORE\n[pool]\nprefixes = [\"10.10{index}.0.0/24\"]\nreserved = [\"10.10{index}.0.1\"]\n\
                 [groups.gpu]\n[[groups.gpu.allow]]\nto = [\"10.50.0.0/24\", \"10.60.0.0/24\"]\nports = [\"8000-8999\"]\n\
                 [[groups.gpu.allow]]\nto = [\"10.60.0.0/24\"]\nports = [9000]\n\
                 [[groups.gpu.allow]]\nto = [\"10.60.0.2/32\"]\nprotocols = [\"icmp\"]\n\
                 [limits]\nrequests_per_minute_and_source = 100000\n# SITES\n"
            );
            Fabric::new(&[IpAddr::from(GATEWAYS[index])], &rest).unwrap()
        });
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let interface =
            format!("si{}x{}", std::process::id() % 1_000_000, COUNTER.fetch_add(1, Ordering::Relaxed));
        let lab = Self { by, interface, fabrics, pod, gateways, servers, _bridge: bridge };
        let sections = lab.sections();
        for (index, (fabric, section)) in lab.fabrics.iter().zip(&sections).enumerate() {
            // The rule at its end lets all in that is sent this way: here only these ports, and echo.
            let narrowed = format!(
                "{section}ports = [\"8000-8999\"]\n[[groups.site-{}.allow]]\nto = [\"{}/32\"]\nprotocols = [\"icmp\"]\n",
                NAMES[1 - index],
                SERVERS[index]
            );
            fabric.configure(0, &[("# SITES\n", &narrowed)]).unwrap();
        }
        lab
    }

    /// What each gateway's file has of the other.
    fn sections(&self) -> [String; 2] {
        let mut text = "topology = \"mesh\"\n".to_owned();
        for (index, name) in NAMES.iter().enumerate() {
            let config = std::fs::read_to_string(self.fabrics[index].config(0)).unwrap();
            let key = config.lines().find(|line| line.starts_with("key = ")).unwrap();
            let network = SERVERS[index].strip_suffix(".2").unwrap();
            text += &format!(
                "[[sites]]\nname = \"{name}\"\n{key}\nendpoint = \"{}:51820\"\naddresses = [\"10.10{index}.0.1\"]\n\
                 prefixes = [\"{network}.0/24\"]\n",
                GATEWAYS[index]
            );
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        NAMES.map(|name| {
            let mut command = std::process::Command::new(Implementation::WarrenTunnel.path().unwrap());
            let output = command.arg("topology").arg(file.path()).args(["--site", name]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        })
    }

    fn start(&self, index: usize) -> Gateway {
        self.fabrics[index].start_by(self.by[index], 0, &self.gateways[index]).unwrap()
    }

    /// A pod with an interface: its programs need no proxy.
    fn member(&self) -> Member {
        let token = self.fabrics[0].token("gpu", &[]).unwrap();
        self.fabrics[0].machine_as(&self.pod, &token, &self.interface).unwrap()
    }

    fn connect(&self, index: usize, port: u16, within: Duration) -> std::io::Result<TcpStream> {
        let to = (SERVERS[index].parse::<Ipv4Addr>().unwrap(), port).into();
        let connected = self.pod.inside(move || Ok(TcpStream::connect_timeout(&to, within))).unwrap();
        connected.inspect(|stream| stream.set_read_timeout(Some(within)).unwrap())
    }

    /// What a server sees of who asks it, or why there was no answer.
    fn ask(&self, index: usize, port: u16) -> std::io::Result<String> {
        let mut stream = self.connect(index, port, Duration::from_secs(2))?;
        stream.write_all(b"?")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// A server that says who asked.
    fn serve(&self, index: usize, port: u16) {
        let at = format!("{}:{port}", SERVERS[index]);
        let listener = self.servers[index].inside(move || Ok(TcpListener::bind(at)?)).unwrap();
        thread::spawn(move || {
            while let Ok((mut stream, from)) = listener.accept() {
                _ = stream.read(&mut [0]);
                _ = stream.write_all(from.ip().to_string().as_bytes());
            }
        });
    }
}

/// All pairs of gateways.
fn pairs() -> impl Iterator<Item = [By; 2]> {
    let kinds = [By::User, By::Kernel];
    kinds.into_iter().flat_map(move |first| kinds.map(|second| [first, second]))
}

fn site(gateway: &Gateway) -> serde_json::Value {
    let text = gateway.run(&["gateway", "status", "--json"]).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["sites"][0].clone()
}

#[test]
fn a_pod_reaches_a_server_behind_the_other_gateway() {
    let threads: Vec<_> = pairs().map(|by| (by, thread::spawn(move || reaches(by)))).collect();
    let mut failed = Vec::new();
    for (by, thread) in threads {
        match thread.join() {
            Ok([link, gateway]) => {
                println!(
                    "{by:?}: the site answers {link:?} after its link is back, {gateway:?} after its gateway is"
                );
            }
            Err(_) => failed.push(by),
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// How long it took until the site answered again: after its link was back, and after its gateway was.
fn reaches(by: [By; 2]) -> [Duration; 2] {
    let lab = Lab::new(by);
    let mut gateways = [lab.start(0), lab.start(1)];
    for index in [0, 1] {
        lab.serve(index, 8000);
        lab.serve(index, 9000);
    }
    for (gateway, by) in gateways.iter().zip(by) {
        assert_eq!(gateway.status().unwrap()["forward"], if by == By::Kernel { "kernel" } else { "user" });
    }
    let member = lab.member();
    wait_for(PATIENCE, "site link", || Ok((site(&gateways[0])["up"] == true).then_some(()))).unwrap();
    let logs = |gateways: &[Gateway; 2]| {
        format!(
            "{}\n---\n{}\n---\n{}",
            member.daemon.log(),
            gateways[0].daemon.log(),
            gateways[1].daemon.log()
        )
    };

    // Each server sees the gateway that stands before it.
    assert_eq!(lab.ask(0, 8000).unwrap(), "10.50.0.1");
    let seen = lab.ask(1, 8000).unwrap_or_else(|error| panic!("{error}\n{}", logs(&gateways)));
    assert_eq!(seen, "10.60.0.1");

    // Much, by two connections end to end.
    let listener = lab.servers[1].inside(|| Ok(TcpListener::bind("10.60.0.2:8001")?)).unwrap();
    let mut near = lab.connect(1, 8001, PATIENCE).unwrap();
    let mut far = listener.accept().unwrap().0;
    let sent: Vec<u8> = (0..8_000_000_u32).map(|n| (n * 7 / 3) as u8).collect();
    let copy = sent.clone();
    let writer = thread::spawn(move || far.write_all(&copy).unwrap());
    let mut received = Vec::new();
    near.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());

    // Refused there is refused here; and what only the first gateway allows is refused by the second.
    assert_eq!(lab.connect(1, 8002, PATIENCE).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(lab.connect(1, 9000, PATIENCE).unwrap_err().kind(), ErrorKind::HostUnreachable);
    // Sockets send no echo through a tunnel.
    let pinged = lab.pod.run("ping", &["-c", "2", "-i", "0.3", "-W", "5", SERVERS[1]]);
    match by[0] {
        By::Kernel => assert!(pinged.unwrap().contains(" 0% packet loss")),
        By::User => assert!(format!("{:#}", pinged.unwrap_err()).contains("filtered")),
    }

    // Datagrams, there and back.
    let far = lab.servers[1].inside(|| Ok(UdpSocket::bind("10.60.0.2:8053")?)).unwrap();
    let near = lab
        .pod
        .inside(|| {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect("10.60.0.2:8053")?;
            Ok(socket)
        })
        .unwrap();
    for socket in [&far, &near] {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let mut buffer = [0; 2000];
    for size in [1, 1392] {
        near.send(&vec![5; size]).unwrap();
        let (length, from) = far.recv_from(&mut buffer).unwrap();
        assert_eq!((length, from.ip().to_string().as_str()), (size, "10.60.0.1"));
        far.send_to(&buffer[..length], from).unwrap();
        assert_eq!(near.recv(&mut buffer).unwrap(), size);
    }

    // The link is lost without a word, and comes back; the first gateway's own network does not notice.
    let rule = "add table inet cut; add chain inet cut in { type filter hook input priority 0; }; \
                add rule inet cut in ip saddr 10.200.0.2 drop";
    lab.gateways[1].run("nft", &[rule]).unwrap();
    assert!(lab.ask(1, 8000).is_err());
    assert_eq!(lab.ask(0, 8000).unwrap(), "10.50.0.1");
    lab.gateways[1].run("nft", &["delete table inet cut"]).unwrap();
    let back = Instant::now();
    wait_for(PATIENCE, "answer after the link is back", || Ok(lab.ask(1, 8000).ok())).unwrap();
    let link = back.elapsed();

    // So does a gateway that died.
    gateways[1].daemon.kill().unwrap();
    assert!(lab.ask(1, 8000).is_err());
    gateways[1] = lab.start(1);
    let back = Instant::now();
    wait_for(PATIENCE, "answer after the gateway is back", || Ok(lab.ask(1, 8000).ok())).unwrap();
    let gateway = back.elapsed();

    // Sites are taken out and in while it runs. What goes there ends.
    let listener = lab.servers[1].inside(|| Ok(TcpListener::bind("10.60.0.2:8003")?)).unwrap();
    let mut near = lab.connect(1, 8003, PATIENCE).unwrap();
    let _far = listener.accept().unwrap().0;
    let config = lab.fabrics[0].config(0);
    let whole = std::fs::read_to_string(&config).unwrap();
    let (head, tail) = whole.split_once("[[site.peers]]").unwrap();
    let (_, rest) = tail.split_once("[[groups.site-gcp").unwrap();
    std::fs::write(&config, format!("{head}[[groups.site-gcp{rest}")).unwrap();
    assert!(gateways[0].run(&["gateway", "reload"]).unwrap().contains("sites"));
    let ended = near.write_all(b"more").and_then(|()| near.read(&mut [0]));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(lab.ask(1, 8000).is_err());
    std::fs::write(&config, whole).unwrap();
    assert!(gateways[0].run(&["gateway", "reload"]).unwrap().contains("sites"));
    wait_for(PATIENCE, "answer after a reload", || Ok(lab.ask(1, 8000).ok())).unwrap();

    assert!(lab.ask(1, 9000).is_err());
    for gateway in &mut gateways {
        assert!(gateway.daemon.terminate().unwrap().success());
    }
    for gateway in &lab.gateways {
        assert_eq!(gateway.run("nft", &["list", "tables"]).unwrap(), "");
        assert!(!gateway.ip("route show").unwrap().contains("10.101.0.1"));
    }
    // Who reached what is known at both: the pod here, the site there.
    assert!(gateways[0].audit().contains("\"group\":\"gpu\"") && gateways[0].audit().contains("10.60.0.2"));
    let there = gateways[1].audit();
    assert!(
        there.contains("\"group\":\"site-aws\"") && there.contains("\"verdict\":\"destination\""),
        "{there}"
    );
    [link, gateway]
}

#[test]
fn a_gateway_asks_the_other_for_the_names_of_its_network() {
    let threads: Vec<_> = pairs().map(|by| (by, thread::spawn(move || asks(by)))).collect();
    let failed: Vec<_> =
        threads.into_iter().filter_map(|(by, thread)| thread.join().is_err().then_some(by)).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn asks(by: [By; 2]) {
    let lab = Lab::new(by);
    let long = format!("--txt-record=long.googleapis.com,{}", vec!["x".repeat(250); 8].join(","));
    let resolver = dns::dnsmasq(
        &lab.servers[1],
        &["--listen-address=10.60.0.2", "--address=/googleapis.com/10.60.0.2", &long],
    )
    .unwrap();
    // Each sends questions for loop.test to the other.
    let zones = ["10.101.0.1", "10.100.0.1"].map(|other| {
        format!("[[dns.zones]]\ndomains = [\"loop.test\"]\nresolvers = [\"{other}\"]\n[[dns.zones]]\ndomains = [\"googleapis.com\"]\n")
    });
    let rule =
        "[[groups.site-aws.allow]]\nto = [\"10.101.0.1/32\"]\nports = [53]\nprotocols = [\"udp\", \"tcp\"]\n";
    for (index, more) in [
        format!("{}resolvers = [\"10.101.0.1\"]\n", zones[0]),
        format!("{}resolvers = [\"10.60.0.2\"]\n{rule}", zones[1]),
    ]
    .iter()
    .enumerate()
    {
        let path = lab.fabrics[index].config(0);
        let text = std::fs::read_to_string(&path).unwrap() + more;
        std::fs::write(&path, text).unwrap();
    }
    let gateways = [lab.start(0), lab.start(1)];
    lab.serve(1, 8000);
    let _member = lab.member();
    wait_for(PATIENCE, "site link", || Ok((site(&gateways[0])["up"] == true).then_some(()))).unwrap();
    let ask = |name: &str, kind| {
        let answer = dns::ask(&lab.pod, "10.100.0.1", dns::query(name, kind).unwrap()).unwrap();
        let logs =
            || format!("{by:?} {name}\n{}\n---\n{}", gateways[0].daemon.log(), gateways[1].daemon.log());
        Message::from_vec(&answer.unwrap_or_else(|| panic!("{}", logs()))).unwrap()
    };
    let found = ask("storage.googleapis.com.", RecordType::A);
    assert_eq!(found.answers[0].data.ip_addr().unwrap().to_string(), "10.60.0.2", "{by:?}");
    assert_eq!(lab.ask(1, 8000).unwrap(), "10.60.0.1");
    let long = dns::query("long.googleapis.com.", RecordType::TXT).unwrap();
    let whole = dns::ask_tcp(&lab.pod, "10.100.0.1", long).unwrap().unwrap();
    assert!(whole.len() > 2000, "both gateways fetched it over TCP");
    let begun = Instant::now();
    assert_ne!(ask("x.loop.test.", RecordType::A).metadata.response_code, ResponseCode::NoError);
    assert!(begun.elapsed() < Duration::from_secs(2), "a loop: {:?}", begun.elapsed());

    // Without the rule of its group, the site is refused, and its pods with it.
    let path = lab.fabrics[1].config(0);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(rule, "")).unwrap();
    gateways[1].run(&["gateway", "reload"]).unwrap();
    assert_eq!(ask("new.googleapis.com.", RecordType::A).metadata.response_code, ResponseCode::Refused);
    assert!(!dns::was_asked(&resolver, "new.googleapis.com"));
    // Nothing else of that gateway's host is open to the other site, though a program listens at all of its addresses.
    let _listener = lab.gateways[1].inside(|| Ok(TcpListener::bind("0.0.0.0:9700")?)).unwrap();
    let is_open = |from: &Namespace, at: &'static str| {
        let connect = move || Ok(TcpStream::connect_timeout(&at.parse()?, Duration::from_secs(1)).is_ok());
        from.inside(connect).unwrap()
    };
    assert!(is_open(&lab.gateways[1], "127.0.0.1:9700"));
    assert!(!is_open(&lab.gateways[0], "10.101.0.1:9700"), "{by:?}");
}
