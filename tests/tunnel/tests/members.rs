//! A gateway without any privilege, and pods that enrol with it.
//!
//! ```text
//! pod 10.200.0.1 ---wire--- 10.200.0.2 gateway 10.50.0.1 ---lan--- 10.50.0.2 server
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::{Fabric, Implementation, Namespace, program, wait_for};

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
reserved = ["10.100.0.99"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.0/24"]
ports = ["8000-8100"]
protocols = ["tcp", "udp"]
[[groups.gpu.allow]]
to = ["10.50.0.2/32"]
protocols = ["icmp"]
[limits]
requests_per_minute_and_source = 100000
"#;

struct Lab {
    fabric: Fabric,
    pod: Arc<Namespace>,
    gateway: Arc<Namespace>,
    server: Arc<Namespace>,
}

impl Lab {
    fn new() -> Self {
        let hosts = [(); 3].map(|()| Arc::new(Namespace::new().unwrap()));
        let [pod, gateway, server] = hosts;
        pod.join(&gateway).unwrap();
        gateway.join_as(&server, "lan").unwrap();
        for (host, address, name) in [
            (&pod, "10.200.0.1", "wire"),
            (&gateway, "10.200.0.2", "wire"),
            (&gateway, "10.50.0.1", "lan"),
            (&server, "10.50.0.2", "lan"),
        ] {
            host.ip(&format!("addr add {address}/24 dev {name}")).unwrap();
        }
        gateway.run("sysctl", &["-qw", "net.ipv4.ping_group_range=0 2147483647"]).unwrap();
        Self { fabric: Fabric::new(&[GATEWAY], REST).unwrap(), pod, gateway, server }
    }

    fn gateway(&self) -> Gateway {
        self.fabric.start(0, &self.gateway).unwrap()
    }

    fn member(&self, token: &str, arguments: &[&str]) -> Member {
        self.fabric.pod(&self.pod, token, arguments).unwrap()
    }

    /// A server of HTTP that has one file.
    fn serve(&self, port: u16, file: &'static [u8]) {
        let listener = self.server.inside(move || Ok(TcpListener::bind(("10.50.0.2", port))?)).unwrap();
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                thread::spawn(move || {
                    let mut request = [0; 4096];
                    _ = stream.read(&mut request);
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                        file.len()
                    );
                    _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(file));
                });
            }
        });
    }

    fn fetch(&self, url: &str) -> Result<String, String> {
        let arguments =
            ["--silent", "--show-error", "--fail", "--max-time", "20", "--proxy", "http://127.0.0.1:3128"];
        let arguments = [&arguments[..], &["--proxytunnel", url]].concat();
        self.pod.run(program("curl").unwrap(), &arguments).map_err(|error| format!("{error:#}"))
    }
}

/// Three million bytes that are not all the same.
fn file() -> &'static [u8] {
    Vec::leak((0..3_000_000_u32).map(|n| b'a' + (n * 7 / 3 % 26) as u8).collect())
}

#[test]
fn a_pod_enrols_fetches_and_leaves() {
    let lab = Lab::new();
    let mut gateway = lab.gateway();
    let file = file();
    lab.serve(8000, file);
    let mut member = lab.member(&lab.fabric.token("gpu", &[]).unwrap(), &[]);
    let fetched = lab.fetch("http://10.50.0.2:8000/").unwrap_or_else(|error| {
        panic!("{error}\nagent:\n{}\ngateway:\n{}", member.daemon.log(), gateway.daemon.log())
    });
    assert!(fetched.as_bytes() == file, "{} bytes came", fetched.len());
    let peers = gateway.peers().unwrap();
    assert_eq!(peers.len(), 1);
    assert_eq!((peers[0]["state"].as_str(), peers[0]["group"].as_str()), (Some("live"), Some("gpu")));
    assert!(member.daemon.terminate().unwrap().success());
    let peers = gateway.peers().unwrap();
    assert_eq!(peers[0]["state"], "released", "{}", member.daemon.log());
    assert!(gateway.daemon.terminate().unwrap().success());
    let audit = gateway.audit();
    assert!(audit.contains("\"destination\":\"10.50.0.2\"") && audit.contains("\"port\":8000"), "{audit}");
}

#[test]
fn a_restarted_pod_has_its_address_again_and_an_evicted_one_stays_out() {
    let lab = Lab::new();
    let gateway = lab.gateway();
    lab.serve(8000, b"hello");
    let token = lab.fabric.token("gpu", &[]).unwrap();
    let state = tempfile::tempdir_in("/tmp").unwrap();
    rustix::fs::chown(state.path(), Some(rustix::fs::Uid::from_raw(65534)), None).unwrap();
    let arguments = ["--state", state.path().to_str().unwrap()];
    let address =
        |gateway: &Gateway| gateway.peers().unwrap()[0]["addresses"][0].as_str().unwrap().to_owned();
    let mut first = lab.member(&token, &arguments);
    let had = address(&gateway);
    first.daemon.kill().unwrap();
    let mut second = lab.member(&token, &arguments);
    assert_eq!((gateway.peers().unwrap().len(), address(&gateway)), (1, had));
    assert_eq!(lab.fetch("http://10.50.0.2:8000/").unwrap(), "hello");

    let key = gateway.peers().unwrap()[0]["public_key"].as_str().unwrap().to_owned();
    let said = gateway.run(&["gateway", "evict", &key]).unwrap();
    assert!(said.contains("is evicted until"), "{said}");
    assert!(lab.fetch("http://10.50.0.2:8000/").is_err());
    let refused = wait_for(Duration::from_secs(30), "refusal", || {
        Ok(second.daemon.log().contains("has been evicted").then_some(()))
    });
    refused.unwrap_or_else(|error| panic!("{error:#}\n{}", second.daemon.log()));
    gateway.run(&["gateway", "readmit", &key]).unwrap();
    let back = || {
        wait_for(Duration::from_secs(40), "return", || Ok(lab.fetch("http://10.50.0.2:8000/").ok())).unwrap()
    };
    back();

    // The same for all that came of its token.
    let id = inspect(&lab, &token)["id"].as_str().unwrap().to_owned();
    let said = gateway.run(&["gateway", "evict", "--token", &id]).unwrap();
    assert!(said.contains("its leases are ended"), "{said}");
    wait_for(Duration::from_secs(5), "end", || {
        Ok(lab.fetch("http://10.50.0.2:8000/").is_err().then_some(()))
    })
    .unwrap();
    gateway.run(&["gateway", "readmit", "--token", &id]).unwrap();
    back();
    assert!(second.daemon.terminate().unwrap().success());
}

#[test]
fn a_gateway_killed_in_mid_work_ends_streams_and_serves_new_ones() {
    let lab = Lab::new();
    let mut gateway = lab.gateway();
    lab.serve(8000, b"hello");
    let token = lab.fabric.token("gpu", &[]).unwrap();
    let mut member = lab.member(&token, &["--forward", "127.0.0.1:7001=10.50.0.2:8001"]);
    let listener = lab.server.inside(|| Ok(TcpListener::bind("10.50.0.2:8001")?)).unwrap();
    let mut near = patient(lab.pod.inside(|| Ok(TcpStream::connect("127.0.0.1:7001")?)).unwrap());
    let mut far = patient(listener.accept().unwrap().0);
    near.write_all(&[7; 100_000]).unwrap();
    far.read_exact(&mut [0; 100_000]).unwrap();

    gateway.daemon.kill().unwrap();
    // The server's connection ended at the gateway, and so with it.
    assert!(matches!(far.read(&mut [0; 9]), Ok(0) | Err(_)), "the server's stream goes on");
    // What the pod says meanwhile waits, until the agent has noticed and met the next gateway.
    near.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    near.write_all(b"anybody?").unwrap();
    let gateway = lab.gateway();
    assert_eq!(near.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(lab.fetch("http://10.50.0.2:8000/").unwrap(), "hello");
    assert_eq!(gateway.peers().unwrap().len(), 1);
    assert!(member.daemon.terminate().unwrap().success());
}

#[test]
fn who_may_not_join_is_told_why() {
    let lab = Lab::new();
    let gateway = lab.gateway();
    let other = Fabric::new(&[GATEWAY], REST).unwrap();
    let refused = |token: &str| {
        let log = lab.fabric.refused(&lab.pod, token).unwrap();
        log.lines().filter(|line| line.contains("gw-0:")).collect::<String>()
    };
    let short = lab.fabric.token("gpu", &["--valid", "1s"]).unwrap();
    thread::sleep(Duration::from_millis(1100));
    assert!(refused(&short).contains("The token has expired"), "{}", refused(&short));
    // Signed by a key that is not the gateway's; its pins are another's too, so that is what is seen first.
    let forged = other.token("gpu", &[]).unwrap();
    assert!(refused(&forged).contains("is not the pinned gateway"), "{}", refused(&forged));
    let once = lab.fabric.token("gpu", &["--uses", "1"]).unwrap();
    let mut only = lab.member(&once, &[]);
    assert!(refused(&once).contains("the token's use limit of 1 is reached"), "{}", refused(&once));
    assert!(only.daemon.terminate().unwrap().success());
    let revoked = lab.fabric.token("gpu", &[]).unwrap();
    let id = inspect(&lab, &revoked)["id"].as_str().unwrap().to_owned();
    gateway.run(&["token", "revoke", &id]).unwrap();
    assert!(refused(&revoked).contains("has revoked the token"), "{}", refused(&revoked));
    // Nothing of all this is left: one pod was there, and has gone.
    let peers = gateway.peers().unwrap();
    assert_eq!((peers.len(), peers[0]["state"].as_str()), (1, Some("released")));
}

fn inspect(lab: &Lab, token: &str) -> serde_json::Value {
    let path = lab.fabric.folder().join("inspected");
    std::fs::write(&path, token).unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(&mut std::fs::metadata(&path).unwrap().permissions(), 0o600);
    let ours = warren_tunnel_tests::Implementation::WarrenTunnel.path().unwrap();
    let mut command = std::process::Command::new(&ours);
    command.args(["token", "inspect", "--json", "-"]).stdin(std::fs::File::open(&path).unwrap());
    let told = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let mut command = std::process::Command::new(ours);
    command.args(["token", "inspect", "--json"]).env("WARREN_TOKEN", token);
    let again: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(again, told, "from the environment");
    told
}

/// Closing it from now on resets.
fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A pod with an interface: Linux's own TCP, UDP and ping at one end, the translation at the other.
#[test]
fn what_happens_at_the_host_happens_in_the_pod() {
    let lab = Lab::new();
    let mut gateway = lab.gateway();
    let member = lab.fabric.machine(&lab.pod, &lab.fabric.token("gpu", &[]).unwrap()).unwrap();
    let connect = |port: u16| {
        lab.pod.inside(move || {
            Ok(TcpStream::connect_timeout(
                &(Ipv4Addr::new(10, 50, 0, 2), port).into(),
                Duration::from_secs(20),
            )?)
        })
    };
    let kind =
        |error: anyhow::Error| error.downcast_ref::<std::io::Error>().map(std::io::Error::raw_os_error);
    let listener = lab.server.inside(|| Ok(TcpListener::bind("10.50.0.2:8000")?)).unwrap();

    // Half a connection: the pod has said all, the host answers then.
    let mut near = patient(
        connect(8000)
            .unwrap_or_else(|error| panic!("{error:#}\n{}\n{}", member.daemon.log(), gateway.daemon.log())),
    );
    let mut far = patient(listener.accept().unwrap().0);
    near.write_all(b"question").unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    far.read_to_string(&mut text).unwrap();
    assert_eq!(text, "question");
    far.write_all(b"answer").unwrap();
    drop(far);
    text.clear();
    near.read_to_string(&mut text).unwrap();
    assert_eq!(text, "answer");

    // Resets, each way.
    let mut near = patient(connect(8000).unwrap());
    reset(listener.accept().unwrap().0);
    assert_eq!(near.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let near = connect(8000).unwrap();
    let mut far = patient(listener.accept().unwrap().0);
    reset(near);
    assert_eq!(far.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);

    // A reader that is slow holds the sender back.
    let near = connect(8000).unwrap();
    let mut far = listener.accept().unwrap().0;
    far.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let block = vec![7; 1 << 20];
    let mut sent = 0;
    while let Ok(length) = far.write(&block) {
        sent += length;
        assert!(sent < 128 << 20, "nobody reads, and {sent} bytes were taken");
    }
    drop((near, far));

    assert_eq!(kind(connect(8001).unwrap_err()), Some(Some(rustix::io::Errno::CONNREFUSED.raw_os_error())));
    // Nobody has that address, and the gateway's neighbour table says so after three seconds.
    let nobody = lab
        .pod
        .inside(|| Ok(TcpStream::connect_timeout(&"10.50.0.77:8000".parse()?, Duration::from_secs(20))?));
    assert_eq!(kind(nobody.unwrap_err()), Some(Some(rustix::io::Errno::HOSTUNREACH.raw_os_error())));
    // Not in the allow-list.
    let denied = kind(connect(22).unwrap_err());
    assert_eq!(denied, Some(Some(rustix::io::Errno::HOSTUNREACH.raw_os_error())));

    let far = lab.server.inside(|| Ok(UdpSocket::bind("10.50.0.2:8053")?)).unwrap();
    let near = lab.pod.inside(|| {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("10.50.0.2:8053")?;
        Ok(socket)
    });
    let near = near.unwrap();
    for socket in [&far, &near] {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let mut buffer = [0; 2000];
    for size in [1, 500, 1392] {
        near.send(&vec![5; size]).unwrap();
        let (length, from) = far.recv_from(&mut buffer).unwrap();
        assert_eq!((length, from.ip().to_string().as_str()), (size, "10.50.0.1"));
        far.send_to(&buffer[..length], from).unwrap();
        assert_eq!(near.recv(&mut buffer).unwrap(), size);
    }
    drop(far);
    near.send(b"anybody?").unwrap();
    assert_eq!(near.recv(&mut buffer).unwrap_err().kind(), ErrorKind::ConnectionRefused);

    let ping = |to: &str| lab.pod.run("ping", &["-c", "2", "-i", "0.2", "-W", "5", to]);
    let told = ping("10.50.0.2").unwrap_or_else(|error| panic!("{error:#}\n{}", gateway.daemon.log()));
    assert!(told.contains(" 0% packet loss"), "{told}");
    let denied = format!("{:#}", ping("10.50.0.1").unwrap_err());
    assert!(denied.contains("Packet filtered") || denied.contains("100% packet loss"), "{denied}");

    // Another's address as source: nothing of it arrives.
    lab.pod.ip("addr add 10.100.0.99/32 dev lab0").unwrap();
    let spoof = lab.pod.inside(|| {
        let socket = UdpSocket::bind("10.100.0.99:0")?;
        socket.send_to(b"not mine", "10.50.0.2:8054")?;
        Ok(())
    });
    spoof.unwrap();
    wait_for(Duration::from_secs(10), "drop", || {
        let status = gateway.run(&["gateway", "status", "--json"])?;
        let metrics = metrics(&lab.gateway)?;
        Ok((metrics.contains("reason=\"not_allowed\"") && status.contains("\"live\": 1")).then_some(()))
    })
    .unwrap();
    assert!(gateway.daemon.terminate().unwrap().success());
    let audit = gateway.audit();
    assert!(
        audit.contains("\"verdict\":\"destination\"") && audit.contains("\"protocol\":\"icmp\""),
        "{audit}"
    );
    assert!(!audit.contains("10.100.0.99"), "{audit}");
}

fn metrics(host: &Namespace) -> anyhow::Result<String> {
    host.inside(|| {
        let mut stream = TcpStream::connect("127.0.0.1:9600")?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    })
}

#[test]
fn a_reload_takes_effect_at_once_and_a_mistake_changes_nothing() {
    let lab = Lab::new();
    let gateway = lab.gateway();
    lab.serve(8000, b"hello");
    lab.serve(9000, b"other");
    let _member = lab.member(&lab.fabric.token("gpu", &[]).unwrap(), &[]);
    assert_eq!(lab.fetch("http://10.50.0.2:8000/").unwrap(), "hello");
    assert!(lab.fetch("http://10.50.0.2:9000/").is_err());
    lab.fabric.configure(0, &[("8000-8100", "9000-9100")]).unwrap();
    assert!(gateway.run(&["gateway", "reload"]).unwrap().contains("groups"));
    assert!(lab.fetch("http://10.50.0.2:8000/").is_err());
    assert_eq!(lab.fetch("http://10.50.0.2:9000/").unwrap(), "other");
    lab.fabric.configure(0, &[("10.100.0.0/24", "10.101.0.0/24"), ("10.100.0.99", "10.101.0.99")]).unwrap();
    let refused = format!("{:#}", gateway.run(&["gateway", "reload"]).unwrap_err());
    assert!(refused.contains("[pool] cannot change"), "{refused}");
    assert_eq!(lab.fetch("http://10.50.0.2:9000/").unwrap(), "other");
}

/// Streams to a pod have the congestion control of its group, or else of the gateway; those of an agent have its own. A reload
/// counts for new streams.
#[test]
fn streams_have_the_congestion_control_of_their_group() {
    const OTHER: &str = "[groups.other]\n[[groups.other.allow]]\nto = [\"10.50.0.0/24\"]\n[limits]\n";
    let lab = Lab::new();
    let gpu = |control: &str| format!("[groups.gpu]\ncongestion = \"{control}\"\n");
    lab.fabric.configure(0, &[("[groups.gpu]\n", &gpu("cubic")), ("[limits]\n", OTHER)]).unwrap();
    let gateway = lab.gateway();
    let listener = lab.server.inside(|| Ok(TcpListener::bind("10.50.0.2:8000")?)).unwrap();
    let pod = |group: &str, port: u16, control: &[&str]| {
        let forward = format!("127.0.0.1:{port}=10.50.0.2:8000");
        let name = format!("pod-{port}");
        let proxies = ["--http-proxy", "off", "--socks5", "off", "--interface", &name, "--host-name", &name];
        let arguments = [&proxies[..], &["--forward", &forward], control].concat();
        lab.member(&lab.fabric.token(group, &[]).unwrap(), &arguments)
    };
    // A byte of the host arrives when the gateway has let the pod's side come up.
    let open = |port: u16| {
        let near = lab.pod.inside(move || Ok(TcpStream::connect(("127.0.0.1", port))?)).unwrap();
        let (mut near, mut far) = (patient(near), listener.accept().unwrap().0);
        far.write_all(b"!").unwrap();
        near.read_exact(&mut [0]).unwrap();
        (near, far)
    };
    let at_gateway = || {
        let streams = gateway.status().unwrap()["figures"]["streams"].clone();
        ["bbr", "cubic"].map(|name| streams[name].as_u64().unwrap())
    };
    let at_agent = |member: &Member, port: u16| {
        let program = Implementation::WarrenTunnel.path().unwrap();
        let mut command = unprivileged(&lab.pod, member.home.path(), &program);
        let output = command.args(["status", &format!("pod-{port}"), "--json"]).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let streams = &status[0]["services"]["buffers"]["streams"];
        ["bbr", "cubic"].map(|name| streams[name].as_u64().unwrap())
    };
    let (of_gpu, of_other) = (pod("gpu", 9001, &["--congestion", "cubic"]), pod("other", 9002, &[]));
    let mut streams = vec![open(9001)];
    assert_eq!((at_gateway(), at_agent(&of_gpu, 9001)), ([0, 1], [0, 1]));
    streams.push(open(9002));
    assert_eq!((at_gateway(), at_agent(&of_other, 9002)), ([1, 1], [1, 0]));
    let listen = "congestion = \"cubic\"\n[listen]\n";
    let changes = [("[listen]\n", listen), ("[groups.gpu]\n", &gpu("bbr")), ("[limits]\n", OTHER)];
    lab.fabric.configure(0, &changes).unwrap();
    let reloaded = gateway.run(&["gateway", "reload"]).unwrap();
    assert!(reloaded.contains("groups, congestion control"), "{reloaded}");
    assert_eq!(at_gateway(), [1, 1]);
    streams.push(open(9002));
    assert_eq!(at_gateway(), [1, 2]);
    streams.push(open(9001));
    assert_eq!(at_gateway(), [2, 2]);
    let metrics = metrics(&lab.gateway).unwrap();
    assert!(
        metrics.contains(
            "warren_gateway_netstack_streams{fabric=\"lab\",gateway=\"gw-0\",congestion=\"cubic\"} 2\n"
        ),
        "{metrics}"
    );
    lab.fabric.configure(0, &[("[groups.gpu]\n", &gpu("reno"))]).unwrap();
    let refused = format!("{:#}", gateway.run(&["gateway", "reload"]).unwrap_err());
    assert!(refused.contains("write `bbr` or `cubic`"), "{refused}");
    drop(streams);
}

/// While a signing key is rotated both keys count, before and after one of them. Who has come in stays.
#[test]
fn a_signing_key_is_rotated_with_an_overlap() {
    let lab = Lab::new();
    let gateway = lab.gateway();
    lab.serve(8000, b"hello");
    let old = lab.fabric.token("gpu", &[]).unwrap();
    let (path, public) = lab.fabric.signing_key("next.key").unwrap();
    let refused = |token: &str| {
        let log = lab.fabric.refused(&lab.pod, token).unwrap();
        assert!(log.contains("The token's signing key is not accepted"), "{log}");
    };
    let signers = |keys: &[&str]| {
        let before = format!("token_keys = [\"{}\"]", lab.fabric.signer());
        lab.fabric.configure(0, &[(&before, &format!("token_keys = {keys:?}"))]).unwrap();
    };
    let reload = || assert!(gateway.run(&["gateway", "reload"]).unwrap().contains("token keys"));
    let joins = |token: &str| {
        let mut member = lab.member(token, &[]);
        assert_eq!(lab.fetch("http://10.50.0.2:8000/").unwrap(), "hello");
        assert!(member.daemon.terminate().unwrap().success());
    };
    joins(&old);
    signers(&[lab.fabric.signer(), &public]);
    let new = lab.fabric.token_by(&path, "gpu", &[]).unwrap();
    // The gateway has not read its file yet.
    refused(&new);
    reload();
    joins(&new);
    let mut stays = lab.member(&old, &[]);
    signers(&[&public]);
    reload();
    refused(&old);
    assert_eq!(lab.fetch("http://10.50.0.2:8000/").unwrap(), "hello", "who came by the old key stays");
    assert!(stays.daemon.terminate().unwrap().success());
    joins(&new);
}

/// What the alert rules for links ask of a gateway: also when the pod that moved the bytes has gone.
#[test]
fn the_share_of_the_planned_rate_is_told() {
    let lab = Lab::new();
    let gateway = lab.gateway();
    lab.serve(8000, file());
    let used = || {
        // Sooner after another, a scrape is the same.
        thread::sleep(Duration::from_millis(600));
        let text = metrics(&lab.gateway).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("warren_tunnel_utilisation_ratio"));
        line.map(|line| line.strip_prefix("{interface=\"gw-0\"} ").unwrap().parse::<f64>().unwrap())
    };
    assert_eq!((used(), used()), (None, None), "no rate was planned");
    lab.fabric.configure(0, &[("fabric = ", "planned_rate_mbit = 100\nfabric = ")]).unwrap();
    assert!(gateway.run(&["gateway", "reload"]).unwrap().contains("planned rate"));
    assert!(gateway.run(&["gateway", "status"]).unwrap().contains("planned rate: 100 Mbit/s"));
    let mut member = lab.member(&lab.fabric.token("gpu", &[]).unwrap(), &[]);
    used();
    lab.fetch("http://10.50.0.2:8000/").unwrap();
    assert!(member.daemon.terminate().unwrap().success());
    let gone = || {
        let moved = gateway.status()?["interface"]["former_peers"]["tx_bytes"].as_u64();
        Ok(moved.filter(|bytes| *bytes > 3_000_000))
    };
    wait_for(Duration::from_secs(10), "end of the peer", gone).unwrap();
    // Three million bytes since the scrape before, which was less than a minute ago.
    let busy = used().unwrap();
    assert!(busy > 24e6 / 60.0 / 100e6, "{busy}");
}

#[test]
fn silent_and_endless_requests_keep_nobody_out() {
    let lab = Lab::new();
    lab.fabric.configure(0, &[("[limits]", "[limits]\nrequest_timeout = \"2s\"")]).unwrap();
    let gateway = lab.gateway();
    let to = "10.200.0.2:4433";
    let crowd = move || Ok((0..300).map(|_| TcpStream::connect(to)).collect::<Result<Vec<_>, _>>()?);
    let crowd = lab.pod.inside(crowd).unwrap();
    let _member = lab.member(&lab.fabric.token("gpu", &[]).unwrap(), &[]);
    // Each is closed when its time is over.
    for stream in crowd {
        let mut stream = patient(stream);
        assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
    let mut endless = lab.pod.inside(move || Ok(TcpStream::connect(to)?)).unwrap();
    endless.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let block = vec![0x16; 1 << 16];
    let taken = (0..1000).take_while(|_| endless.write_all(&block).is_ok()).count();
    assert!(taken < 1000, "64 MB that are no TLS were taken");
    assert!(gateway.run(&["gateway", "status"]).unwrap().contains("leases: 1 live"));
}
