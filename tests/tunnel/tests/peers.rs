//! Pods that reach each other through a gateway, by the rules of their groups: both ways to forward give the same answers.
//!
//! ```text
//! trainer 0, trainer 1, worker, idle --wires-- gateway 10.210.0.1
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use warren_tunnel_tests::fabric::{By, Gateway, Member, both};
use warren_tunnel_tests::fleet::Fleet;
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::{Daemon, Fabric, Implementation, Namespace, dns, wait_for, web};

const PATIENCE: Duration = Duration::from_secs(20);
const RULES: &str = r#"[[groups.trainers.allow]]
to = ["group:trainers"]
ports = [29500]
protocols = ["tcp", "udp", "icmp"]
"#;
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24", "fd00:100::/64"]
RULES
[[groups.workers.allow]]
to = ["group:trainers"]
ports = [29500]
protocols = ["tcp"]
[groups.idle]
[limits]
requests_per_minute_and_source = 100000
"#;

/// One host, its agent, and its addresses in the pool.
struct Pod {
    host: Arc<Namespace>,
    member: Member,
    v4: IpAddr,
    v6: IpAddr,
}

struct Lab {
    fabric: Fabric,
    gateway: Arc<Namespace>,
}

impl Lab {
    fn new() -> Self {
        let gateway = Arc::new(Namespace::new().unwrap());
        gateway.ip("addr add 10.210.0.1/32 dev lo").unwrap();
        gateway.run("sysctl", &["-qw", "net.ipv4.icmp_ratelimit=0"]).unwrap();
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], &REST.replace("RULES\n", RULES)).unwrap();
        Self { fabric, gateway }
    }

    /// A host with a wire to the gateway.
    fn host(&self) -> Arc<Namespace> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let (host, name) = (Arc::new(Namespace::new().unwrap()), format!("pod{number}"));
        host.join_as(&self.gateway, &name).unwrap();
        let net = format!("10.220.{number}");
        host.ip(&format!("addr add {net}.1/24 dev {name}")).unwrap();
        self.gateway.ip(&format!("addr add {net}.2/24 dev {name}")).unwrap();
        host.ip(&format!("route add default via {net}.2")).unwrap();
        host
    }

    fn pod(&self, gateway: &Gateway, group: &str) -> Pod {
        let host = self.host();
        let token = self.fabric.token(group, &[]).unwrap();
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let interface =
            format!("pp{}x{}", std::process::id() % 1_000_000, COUNTER.fetch_add(1, Ordering::Relaxed));
        let member = self.fabric.machine_as(&host, &token, &interface).unwrap();
        let [v4, v6] = addresses(gateway, &host).unwrap();
        Pod { host, member, v4, v6 }
    }
}

/// The addresses of a host's lease.
fn addresses(gateway: &Gateway, host: &Namespace) -> Result<[IpAddr; 2]> {
    let peers = gateway.peers()?;
    let live = |peer: &&serde_json::Value| peer["host"] == host.name() && peer["state"] == "live";
    let peer = peers.iter().find(live).with_context(|| format!("no {} in {peers:?}", host.name()))?;
    let mut all = Vec::new();
    for address in peer["addresses"].as_array().context("no addresses")? {
        all.push(address.as_str().context("no text")?.parse::<IpAddr>()?);
    }
    all.sort();
    all.try_into().map_err(|all| anyhow::anyhow!("not two addresses: {all:?}"))
}

fn connect(from: &Pod, to: SocketAddr) -> std::io::Result<TcpStream> {
    from.host.inside(move || Ok(TcpStream::connect_timeout(&to, PATIENCE))).unwrap()
}

/// Why a connection does not come up.
fn refusal(from: &Pod, to: SocketAddr) -> ErrorKind {
    connect(from, to).unwrap_err().kind()
}

/// A connection from one pod to another, which sees the first one's own address and port.
fn connected(from: &Pod, to: &Pod, at: SocketAddr) -> (TcpStream, TcpStream) {
    from.host.stream(&to.host, at, PATIENCE).unwrap()
}

/// Moves bytes both ways at once, and compares them.
fn exchange((near, far): (TcpStream, TcpStream)) {
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(|number| (number ^ 0x5a5a).to_le_bytes()).collect();
    let bytes = Arc::new(bytes);
    let ends = [near, far].map(|stream| {
        let (mut writing, bytes) = (stream.try_clone().unwrap(), Arc::clone(&bytes));
        let written = thread::spawn(move || {
            writing.write_all(&bytes).unwrap();
            writing.shutdown(std::net::Shutdown::Write).unwrap();
        });
        (stream, written)
    });
    let read = ends.map(|(mut stream, written)| {
        thread::spawn(move || {
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            written.join().unwrap();
            all
        })
    });
    for reader in read {
        assert!(reader.join().unwrap() == *bytes, "the bytes differ");
    }
}

fn socket(pod: &Pod, at: SocketAddr) -> UdpSocket {
    let socket = pod.host.inside(move || Ok(UdpSocket::bind(at)?)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[test]
fn pods_reach_each_other_as_the_rules_of_their_groups_allow() {
    both(|by| {
        let lab = Lab::new();
        let mut gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
        let [one, two] = ["trainers"; 2].map(|group| lab.pod(&gateway, group));
        let [worker, idle] = ["workers", "idle"].map(|group| lab.pod(&gateway, group));
        let at = |address: IpAddr, port: u16| SocketAddr::new(address, port);

        for (from, to) in [(&one, &two), (&two, &one), (&worker, &one)] {
            exchange(connected(from, to, at(to.v4, 29500)));
        }
        exchange(connected(&one, &two, at(two.v6, 29500)));

        // A closed port, one that no rule allows, the other direction, another group, and an address that nobody has.
        assert_eq!(refusal(&one, at(two.v4, 29500)), ErrorKind::ConnectionRefused, "{by:?}");
        assert_eq!(refusal(&one, at(two.v4, 29501)), ErrorKind::HostUnreachable, "{by:?}");
        assert_eq!(refusal(&one, at(worker.v4, 29500)), ErrorKind::HostUnreachable, "{by:?}");
        assert_eq!(refusal(&worker, at(idle.v4, 29500)), ErrorKind::HostUnreachable, "{by:?}");
        let routes = idle.host.ip("route show").unwrap();
        assert!(!routes.contains("10.100.0.0/24"), "{by:?}: {routes}");
        assert_eq!(refusal(&one, at("10.100.0.250".parse().unwrap(), 29500)), ErrorKind::HostUnreachable);

        // Datagrams keep both ports, and answers belong to the flow although no rule allows them.
        let (near, far) = (socket(&one, at(one.v4, 40_000)), socket(&two, at(two.v4, 29500)));
        near.connect(at(two.v4, 29500)).unwrap();
        let mut buffer = [0; 2_000];
        for length in [1, 700, 1_300] {
            near.send(&vec![7; length]).unwrap();
            let (received, from) = far.recv_from(&mut buffer).unwrap();
            assert_eq!((received, from), (length, at(one.v4, 40_000)), "{by:?}");
            far.send_to(&buffer[..length / 2 + 1], from).unwrap();
            assert_eq!(near.recv(&mut buffer).unwrap(), length / 2 + 1, "{by:?}");
        }
        drop(far);
        near.send(b"is anybody there?").unwrap();
        assert_eq!(near.recv(&mut buffer).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{by:?}");
        let stranger = socket(&worker, at(worker.v4, 0));
        stranger.connect(at(one.v4, 29500)).unwrap();
        stranger.send(b"by UDP").unwrap();
        assert_eq!(stranger.recv(&mut buffer).unwrap_err().kind(), ErrorKind::HostUnreachable, "{by:?}");

        let ping = |from: &Pod, to: IpAddr| from.host.run("ping", &["-c", "2", "-W", "3", &to.to_string()]);
        ping(&one, two.v4).unwrap();
        ping(&two, one.v6).unwrap();
        ping(&worker, one.v4).unwrap_err();
        // The largest request that fits into a packet: 28 bytes are the headers of IPv4 and ICMP.
        let links = one.host.ip("-o link show up").unwrap();
        let (_, rest) = links.split_once("pp").and_then(|(_, link)| link.split_once("mtu ")).expect(&links);
        let mtu: usize = rest.split(' ').next().unwrap().parse().unwrap();
        let (size, to) = ((mtu - 28).to_string(), two.v4.to_string());
        one.host.run("ping", &["-c", "2", "-W", "3", "-M", "do", "-s", &size, &to]).unwrap();

        let audit = |gateway: &Gateway| gateway.audit();
        assert!(gateway.daemon.terminate().unwrap().success(), "{}", gateway.daemon.log());
        let told = audit(&gateway);
        for (to, port, verdict) in [(two.v4, 29500, "allowed"), (two.v4, 29501, "destination")] {
            let part = format!(
                "\"destination\":\"{to}\",\"protocol\":\"tcp\",\"port\":{port},\"verdict\":\"{verdict}\","
            );
            assert!(told.contains(&part), "{by:?}: no {part}\n{told}");
        }
    });
}

#[test]
fn connections_between_pods_end_with_their_rule_and_with_either_pod() {
    both(|by| {
        let lab = Lab::new();
        let gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
        let [one, two, three] = ["trainers"; 3].map(|group| lab.pod(&gateway, group));
        let (mut near, _far) = connected(&one, &two, SocketAddr::new(two.v4, 29500));
        let peers = gateway.peers().unwrap();
        let key = peers.iter().find(|peer| peer["host"] == two.host.name()).unwrap()["public_key"].clone();
        gateway.run(&["gateway", "evict", key.as_str().unwrap()]).unwrap();
        assert_eq!(said(&mut near), "ended", "{by:?}");
        assert_eq!(refusal(&one, SocketAddr::new(two.v4, 29500)), ErrorKind::HostUnreachable, "{by:?}");

        let (mut near, _far) = connected(&one, &three, SocketAddr::new(three.v4, 29500));
        lab.fabric
            .configure(0, &[("ports = [29500]\nprotocols = [\"tcp\", \"udp\", \"icmp\"]", "ports = [29501]")])
            .unwrap();
        gateway.run(&["gateway", "reload"]).unwrap();
        assert_eq!(said(&mut near), "ended", "{by:?}");
        assert_eq!(refusal(&one, SocketAddr::new(three.v4, 29500)), ErrorKind::HostUnreachable, "{by:?}");
        exchange(connected(&one, &three, SocketAddr::new(three.v4, 29501)));
    });
}

/// Whether the connection ends when its program says something more.
fn said(stream: &mut TcpStream) -> &'static str {
    let mut buffer = [0; 1];
    for _ in 0..40 {
        let ends = |kind| {
            matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::HostUnreachable)
        };
        match stream.write_all(b"more") {
            Err(error) if ends(error.kind()) => return "ended",
            written => written.unwrap(),
        }
        stream.set_read_timeout(Some(Duration::from_millis(250))).unwrap();
        match stream.read(&mut buffer) {
            Ok(0) => return "ended",
            Err(error) if ends(error.kind()) => return "ended",
            _ => {}
        }
    }
    "goes on"
}

#[test]
fn pods_have_names_which_those_know_who_may_reach_them() {
    both(|by| {
        let lab = Lab::new();
        let gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
        let [one, two] = ["trainers"; 2].map(|group| lab.pod(&gateway, group));
        let [worker, idle] = ["workers", "idle"].map(|group| lab.pod(&gateway, group));
        let ask = |from: &Pod, name: &str, kind| {
            let question = dns::query(name, kind).unwrap();
            let answer = dns::ask(&from.host, "10.100.0.1", question).unwrap().expect("an answer");
            let message = Message::from_vec(&answer).unwrap();
            let mut found: Vec<IpAddr> =
                message.answers.iter().filter_map(|record| record.data.ip_addr()).collect();
            found.sort();
            (message.metadata.response_code, found)
        };
        let of = |pod: &Pod, group: &str| format!("{}.{group}.Warren.internal.", pod.host.name());
        let all = |mut addresses: Vec<IpAddr>| {
            addresses.sort();
            (ResponseCode::NoError, addresses)
        };
        let nothing = (ResponseCode::NXDomain, Vec::new());
        let group = "trainers.warren.internal.";
        for from in [&one, &worker] {
            assert_eq!(ask(from, &of(&two, "trainers"), RecordType::A), all(vec![two.v4]), "{by:?}");
            assert_eq!(ask(from, &of(&two, "trainers"), RecordType::AAAA), all(vec![two.v6]), "{by:?}");
            assert_eq!(ask(from, group, RecordType::A), all(vec![one.v4, two.v4]), "{by:?}");
        }
        assert_eq!(ask(&one, &of(&two, "trainers"), RecordType::TXT), all(Vec::new()));
        assert_eq!(ask(&one, "nobody.trainers.warren.internal.", RecordType::A), nothing);
        assert_eq!(ask(&one, "warren.internal.", RecordType::A), nothing);
        // A pod knows its own name, and of other groups those that its rules are about.
        assert_eq!(ask(&idle, &of(&idle, "idle"), RecordType::A), all(vec![idle.v4]));
        assert_eq!(ask(&idle, &of(&one, "trainers"), RecordType::A), nothing);
        assert_eq!(ask(&one, &of(&worker, "workers"), RecordType::A), nothing);
        assert_eq!(ask(&one, "example.org.", RecordType::A).0, ResponseCode::Refused);
        // Programs of a machine resolve them without knowing of any of this.
        let found = one.host.run("getent", &["hosts", of(&two, "trainers").trim_end_matches('.')]);
        assert!(
            found.is_ok_and(|text| text.contains("fd00:100:") || text.contains("10.100.0.")),
            "{}",
            one.member.daemon.log()
        );
    });
}

/// Pods without privileges: one offers a service of its own with `--reverse`, another reaches it by name through its proxy.
#[test]
fn pods_without_privileges_reach_each_other_by_name() {
    both(|by| {
        let lab = Lab::new();
        let gateway = lab.fabric.start_by(by, 0, &lab.gateway).unwrap();
        let token = lab.fabric.token("trainers", &[]).unwrap();
        let [server, client] = [(); 2].map(|()| lab.host());
        web::serve(&server, "127.0.0.1".parse().unwrap(), "trained").unwrap();
        let serving = lab.fabric.pod(&server, &token, &["--reverse", "29500=127.0.0.1:8080"]).unwrap();
        let asking = lab.fabric.pod(&client, &token, &[]).unwrap();
        let url = format!("http://{}.trainers.warren.internal:29500/", server.name());
        let got = client.run("curl", &["-sS", "--max-time", "20", "--proxy", "http://127.0.0.1:3128", &url]);
        let logs = || format!("{}\n{}\n{}", serving.daemon.log(), asking.daemon.log(), gateway.daemon.log());
        assert_eq!(got.as_deref().map_err(ToString::to_string), Ok("trained"), "{by:?}\n{}", logs());
        let refused = client.run(
            "curl",
            &["-sS", "--max-time", "20", "--proxy", "http://127.0.0.1:3128", &url.replace("29500", "29501")],
        );
        assert!(refused.is_err() || !refused.unwrap().contains("trained"), "{by:?}");
    });
}

/// Programs that open plain sockets, in pods without privileges: they run inside the tunnel's network.
#[test]
fn programs_inside_the_tunnel_reach_each_other_with_plain_sockets() {
    const SERVE: &str = "$s = IO::Socket::INET->new(LocalPort => 29500, Listen => 5) or die; \
        while ($c = $s->accept) { print $c 'trained with ' . $c->peerhost; close $c }";
    const ASK: &str = "for (1..100) { $c = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 29500) and last; \
        select undef, undef, undef, 0.2 } print <$c>, ' as ', $c->sockhost";
    let lab = Lab::new();
    let gateway = lab.fabric.start(0, &lab.gateway).unwrap();
    let token = lab.fabric.token("trainers", &[]).unwrap();
    let path = Implementation::WarrenTunnel.path().unwrap();
    let homes = [(); 2].map(|()| lab.fabric.home_of_pod().unwrap());
    let [serving, asking] = [(); 2].map(|()| lab.host());
    let exec = |host: &Namespace, home: &std::path::Path, command: &[&str]| {
        let mut exec = unprivileged(host, home, &path);
        exec.args(["exec", "--transparent", "--metrics", "off", "--"]).args(command);
        exec.env("WARREN_TOKEN", &token).env("WARREN_HOST_NAME", host.name());
        exec
    };
    let server = ["perl", "-MIO::Socket::INET", "-e", SERVE];
    let server = Daemon::start(&mut exec(&serving, homes[0].path(), &server)).unwrap();
    let name = format!("{}.trainers.warren.internal", serving.name());
    let output =
        exec(&asking, homes[1].path(), &["perl", "-MIO::Socket::INET", "-e", ASK, &name]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let logs = format!("{}\n{}\n{}", text(&output.stderr), server.log(), gateway.daemon.log());
    let said = text(&output.stdout);
    let (with, own) =
        said.strip_prefix("trained with ").and_then(|said| said.split_once(" as ")).expect(&logs);
    assert!(with == own && own.starts_with("10.100.0."), "{said}\n{logs}");

    // Programs look the machine's name up to learn their own address: it has the one of the tunnel, and the name that others know.
    let script = "getent ahostsv4 \"$(uname -n)\" && getent hosts localhost";
    let output = exec(&asking, homes[1].path(), &["sh", "-c", script]).output().unwrap();
    let said = text(&output.stdout);
    let known = format!(" STREAM {}.trainers.warren.internal\n", asking.name());
    assert!(said.starts_with("10.100.0.") && said.contains(&known), "{said}{}", text(&output.stderr));
    assert!(said.ends_with("localhost\n"), "{said}");

    // What is beside the tunnel is reached through the proxy in the environment, and exit codes are the program's.
    let here = asking.ip("-4 -o addr show scope global").unwrap();
    let here = here.split_whitespace().find_map(|word| word.split_once("/24")).unwrap().0.to_owned();
    web::serve(&asking, here.parse().unwrap(), "beside").unwrap();
    let url = format!("http://{here}:8080/");
    let output = exec(&asking, homes[1].path(), &["curl", "-sS", "--max-time", "10", &url]).output().unwrap();
    assert_eq!(text(&output.stdout), "beside", "{}", text(&output.stderr));
    let status = exec(&asking, homes[1].path(), &["sh", "-c", "exit 7"]).status().unwrap();
    assert_eq!(status.code(), Some(7));
    let output = exec(&asking, homes[1].path(), &["/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", text(&output.stderr));
}

/// What a program wrote before it ended arrives, however slow the way is: the tunnel waits for it.
#[test]
fn the_last_bytes_of_a_program_inside_the_tunnel_arrive() {
    const SERVE: &str = "$s = IO::Socket::INET->new(LocalPort => 29500, Listen => 1) or die; \
        $c = $s->accept; $n += length while sysread $c, $_, 65536; print \"$n bytes\"";
    const SEND: &str = "for (1..100) { $c = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 29500) and last; \
        select undef, undef, undef, 0.2 } print $c 'x' x 3000000; close $c";
    let lab = Lab::new();
    let slow =
        ("[[groups.workers.allow]]", "[groups.trainers]\npeer_rate_mbit = 20\n[[groups.workers.allow]]");
    lab.fabric.configure(0, &[slow]).unwrap();
    let gateway = lab.fabric.start(0, &lab.gateway).unwrap();
    let token = lab.fabric.token("trainers", &["--uses", "2"]).unwrap();
    let path = Implementation::WarrenTunnel.path().unwrap();
    let homes = [(); 2].map(|()| lab.fabric.home_of_pod().unwrap());
    let hosts = [(); 2].map(|()| lab.host());
    let exec = |index: usize, script: &str, to: &str| {
        let mut exec = unprivileged(&hosts[index], homes[index].path(), &path);
        exec.args(["exec", "--transparent", "--metrics", "off", "--log-level", "warn", "--"]);
        exec.args(["perl", "-MIO::Socket::INET", "-e", script, to]);
        exec.env("WARREN_TOKEN", &token).env("WARREN_HOST_NAME", hosts[index].name());
        exec
    };
    let serving = exec(0, SERVE, "").stdout(Stdio::piped()).spawn().unwrap();
    let to = format!("{}.trainers.warren.internal", hosts[0].name());
    let sent = exec(1, SEND, &to).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let received = serving.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&received.stdout), "3000000 bytes", "{}", gateway.daemon.log());
}

/// Two gateways over etcd: pods at different ones reach each other through both, and when one of them moves, too.
#[test]
fn pods_at_different_gateways_reach_each_other() {
    both(|by| {
        let kinds = if by == By::User { [By::User, By::Kernel] } else { [By::Kernel, By::User] };
        let rule = "[[groups.gpu.allow]]\nto = [\"group:gpu\"]\nports = [29500]\n";
        let fleet = Fleet::with(2, rule).unwrap();
        let start =
            |index: usize| fleet.fabric.start_by(kinds[index], index, fleet.gateway_host(index)).unwrap();
        let token = fleet.fabric.token("gpu", &[]).unwrap();
        web::serve(&fleet.pods, "127.0.0.1".parse().unwrap(), "trained").unwrap();
        let echo = socket_on(&fleet.pods, "127.0.0.1:9000");
        thread::spawn(move || {
            let mut buffer = [0; 2_000];
            while let Ok((length, from)) = echo.recv_from(&mut buffer) {
                _ = echo.send_to(&buffer[..length], from);
            }
        });
        // The first pod can only be at the first gateway, and then the second one takes the second pod.
        let mut first = start(0);
        let serving =
            ["--http-proxy", "off", "--socks5", "off", "--interface", "serving", "--host-name", "serving"];
        let reverse = ["--reverse", "29500=127.0.0.1:8080", "--reverse", "udp:29500=127.0.0.1:9000"];
        let server = fleet.fabric.pod(&fleet.pods, &token, &[&serving[..], &reverse].concat()).unwrap();
        let mut second = start(1);
        first.run(&["gateway", "drain", "--stay"]).unwrap();
        let interface = format!("bg{}x{:?}", std::process::id() % 1_000_000, kinds[0]);
        let client =
            fleet.fabric.machine_as(&fleet.pods, &token, &interface[..interface.len().min(15)]).unwrap();
        let logs = |first: &Gateway, second: &Gateway| {
            format!(
                "{kinds:?}\n{}\n---\n{}\n---\n{}\n---\n{}",
                server.daemon.log(),
                client.daemon.log(),
                first.daemon.log(),
                second.daemon.log()
            )
        };
        let peers = second.peers().unwrap();
        let of = |name: &str| {
            let peer = peers.iter().find(|peer| peer["host"] == name).unwrap();
            peer["addresses"][0].as_str().unwrap().to_owned()
        };
        let to = of("serving");
        let reach = || {
            let url = format!("http://{to}:29500/");
            let got = fleet.pods.run("curl", &["-sS", "--max-time", "5", &url]);
            Ok(got.is_ok_and(|text| text == "trained").then_some(()))
        };
        let reached = |what: &str, first: &Gateway, second: &Gateway| {
            // A pod without traffic notices within 30 s that its gateway has gone.
            wait_for(3 * PATIENCE, what, reach)
                .unwrap_or_else(|error| panic!("{error}\n{}", logs(first, second)));
        };
        reached("connection between the gateways", &first, &second);
        let datagrams = socket_on(&fleet.pods, "0.0.0.0:0");
        datagrams.connect(format!("{to}:29500")).unwrap();
        let mut buffer = [0; 2_000];
        for length in [10, 1_000] {
            datagrams.send(&vec![9; length]).unwrap();
            assert_eq!(datagrams.recv(&mut buffer).unwrap(), length, "{}", logs(&first, &second));
        }

        // Both pods come to one gateway, and then to the other.
        first.daemon.kill().unwrap();
        reached("connection at one gateway", &first, &second);
        first = start(0);
        second.daemon.kill().unwrap();
        reached("connection at the other gateway", &first, &second);
    });
}

fn socket_on(host: &Namespace, at: &'static str) -> UdpSocket {
    let socket = host.inside(move || Ok(UdpSocket::bind(at)?)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A file says which flows its rules must allow and deny; one that does not is used neither at a start nor at a reload.
#[test]
fn a_file_whose_rules_fail_its_tests_is_refused() {
    let lab = Lab::new();
    let tests = "\n[[tests]]\nfrom = \"workers\"\nto = \"group:trainers:29500\"\nallow = true\n\n\
                 [[tests]]\nfrom = \"idle\"\nto = \"group:trainers:29500\"\nallow = false\n\n\
                 [[tests]]\nfrom = \"trainers\"\nto = \"group:trainers\"\nprotocol = \"icmp\"\nallow = true\n\n\
                 [[tests]]\nfrom = \"trainers\"\nto = \"169.254.169.254:80\"\nallow = false\n\n[limits]";
    lab.fabric.configure(0, &[("\n[limits]", tests)]).unwrap();
    let gateway = lab.fabric.start(0, &lab.gateway).unwrap();
    let opened = "[[groups.idle.allow]]\nto = [\"group:trainers\"]\n";
    lab.fabric.configure(0, &[("\n[limits]", tests), ("[groups.idle]\n", opened)]).unwrap();
    for command in ["check", "reload"] {
        let config = lab.fabric.config(0).to_string_lossy().into_owned();
        let arguments: &[&str] =
            if command == "check" { &["gateway", "check", &config] } else { &["gateway", "reload"] };
        let error = format!("{:#}", gateway.run(arguments).unwrap_err());
        let told =
            "[[tests]] 2: the rules must deny idle to group:trainers:29500 by tcp, but a rule allows it";
        assert!(error.contains(told), "{command}: {error}");
    }
}
