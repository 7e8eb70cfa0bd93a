//! A pod that takes all it can, beside one that works: what the honest pod experiences. Pods have shares of what a gateway has, so
//! that a pod at its limit does not affect others.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warren_tunnel_tests::fabric::{By, Gateway, Member};
use warren_tunnel_tests::{Fabric, Namespace, wait_for};

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 50, 0, 2);
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[groups.gpu]
[[groups.gpu.allow]]
to = ["10.50.0.0/24", "10.51.0.0/16"]
[limits]
requests_per_minute_and_source = 100000
"#;
/// How long the greedy pod is at work.
const ATTACK: Duration = Duration::from_secs(6);
const PATIENCE: Duration = Duration::from_secs(3);

struct Lab {
    _fabric: Fabric,
    gateway: Gateway,
    greedy: Arc<Namespace>,
    honest: Arc<Namespace>,
    _server: Arc<Namespace>,
    _members: [Member; 2],
}

impl Lab {
    fn new(by: By) -> Lab {
        let [greedy, honest, host, server] = [(); 4].map(|()| Arc::new(Namespace::new().unwrap()));
        greedy.join(&host).unwrap();
        honest.join_as(&host, "other").unwrap();
        host.join_as(&server, "lan").unwrap();
        for (at, address, name) in [
            (&greedy, "10.200.0.1/24", "wire"),
            (&host, "10.200.0.2/24", "wire"),
            (&honest, "10.201.0.1/24", "other"),
            (&host, "10.201.0.2/24", "other"),
            (&host, "10.50.0.1/24", "lan"),
            (&server, "10.50.0.2/24", "lan"),
        ] {
            at.ip(&format!("addr add {address} dev {name}")).unwrap();
        }
        honest.ip("route add 10.200.0.0/24 via 10.201.0.2").unwrap();
        // What is sent there is lost behind the server, without a word, and costs the gateway no entries for neighbours.
        host.ip("route add 10.51.0.0/16 via 10.50.0.2").unwrap();
        host.run("sysctl", &["-qw", "net.ipv4.ping_group_range=0 2147483647"]).unwrap();
        serve(&server);
        let fabric = Fabric::new(&[GATEWAY], REST).unwrap();
        let gateway = fabric.start_by(by, 0, &host).unwrap();
        let member = |host: &Arc<Namespace>, name: &str| {
            let token = fabric.token("gpu", &[]).unwrap();
            let interface = format!("{name}{}", std::process::id() % 100_000);
            fabric
                .machine_as(host, &token, &format!("{interface}{}", if by == By::User { "u" } else { "k" }))
                .unwrap()
        };
        let members = [member(&greedy, "gr"), member(&honest, "ho")];
        let lab = Lab { _fabric: fabric, gateway, greedy, honest, _server: server, _members: members };
        wait_for(Duration::from_secs(20), "both pods", || {
            Ok((lab.of(&lab.greedy, tcp) && lab.of(&lab.honest, tcp)).then_some(()))
        })
        .unwrap();
        lab
    }

    /// Whether something works on a host.
    fn of(&self, host: &Namespace, once: fn() -> anyhow::Result<()>) -> bool {
        host.inside(once).is_ok()
    }

    /// Repeats something on the honest pod while the greedy one is at work. Returns how often, and how often it failed.
    fn during(
        &self,
        attackers: Vec<JoinHandle<anyhow::Result<()>>>,
        once: fn() -> anyhow::Result<()>,
    ) -> (u32, u32) {
        // The attack is on its way.
        thread::sleep(Duration::from_secs(1));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let (mut all, mut failed) = (0_u32, 0_u32);
            while !stopped.load(Ordering::Relaxed) {
                all += 1;
                failed += u32::from(once().is_err());
                thread::sleep(Duration::from_millis(30));
            }
            Ok((all, failed))
        };
        let honest = self.honest.thread(work).unwrap();
        for attacker in attackers {
            attacker.join().unwrap().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        honest.join().unwrap().unwrap()
    }
}

/// A server that sends back what it gets, over TCP and UDP.
fn serve(host: &Namespace) {
    let at = SocketAddr::from((SERVER, 8000));
    let (listener, socket) = host.inside(move || Ok((TcpListener::bind(at)?, UdpSocket::bind(at)?))).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            _ = socket.send_to(&buffer[..length], from);
        }
    });
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
}

/// A connection, and a byte there and back.
fn tcp() -> anyhow::Result<()> {
    let mut stream = TcpStream::connect_timeout(&(SERVER, 8000).into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"x")?;
    Ok(stream.read_exact(&mut [0])?)
}

/// A new flow: a datagram there and back. Datagrams may be lost, so it is sent again, as a resolver would.
fn udp() -> anyhow::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect((SERVER, 8000))?;
    socket.set_read_timeout(Some(Duration::from_millis(700)))?;
    for _ in 0..3 {
        socket.send(b"x")?;
        if socket.recv(&mut [0; 8]).is_ok() {
            return Ok(());
        }
    }
    anyhow::bail!("no answer")
}

/// Some thousand new flows a second, to hosts that are not there.
fn flood() -> anyhow::Result<()> {
    let begun = Instant::now();
    let sockets = (0..16).map(|_| UdpSocket::bind("0.0.0.0:0")).collect::<Result<Vec<_>, _>>()?;
    let mut number = 0_u32;
    while begun.elapsed() < ATTACK {
        for socket in &sockets {
            number = number.wrapping_add(1);
            let [_, _, high, low] = number.to_be_bytes();
            // Refusals of earlier ones are of no interest.
            _ = socket.send_to(&[0; 900], (Ipv4Addr::new(10, 51, high, low), 9000));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Connections that stay open and are not used.
fn hoard() -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut held = Vec::new();
    while begun.elapsed() < ATTACK {
        if held.len() < 500
            && let Ok(stream) = TcpStream::connect_timeout(&(SERVER, 8000).into(), PATIENCE)
        {
            held.push(stream);
        } else {
            thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

fn fair(by: By) {
    let lab = Lab::new(by);
    for (name, once) in [("UDP", udp as fn() -> anyhow::Result<()>), ("TCP", tcp)] {
        let attackers = [flood, hoard].map(|attack| lab.greedy.thread(attack).unwrap());
        let (all, failed) = lab.during(attackers.into(), once);
        let counters = lab.gateway.status().unwrap()["figures"].clone();
        eprintln!("{name}: {failed} of {all} failed; gateway {counters}");
        assert!(all >= 20, "{name}: only {all} in {ATTACK:?}");
        assert!(failed * 50 <= all, "{name}: {failed} of {all} failed");
    }
}

#[test]
fn a_greedy_pod_does_not_affect_another_through_sockets() {
    fair(By::User);
}

#[test]
fn a_greedy_pod_does_not_affect_another_through_the_kernel() {
    fair(By::Kernel);
}

/// Echo requests to hosts that do not answer used to hold all slots of the gateway for ten seconds.
#[test]
fn unanswered_echo_requests_of_one_pod_leave_room_for_those_of_another() {
    let lab = Lab::new(By::User);
    let attackers = (0..8_u8).map(|part| {
        let greedy = Arc::clone(&lab.greedy);
        thread::spawn(move || {
            let last = format!("10.51.{part}.1");
            // Sixty requests a second, to a host of which nothing comes back.
            _ = greedy.run("ping", &["-q", "-i", "0.016", "-w", "7", &last]);
            Ok(())
        })
    });
    let attackers: Vec<_> = attackers.collect();
    thread::sleep(Duration::from_secs(1));
    let answered =
        (0..10).filter(|_| lab.honest.run("ping", &["-c", "1", "-W", "1", "10.50.0.2"]).is_ok()).count();
    for attacker in attackers {
        _ = attacker.join().unwrap() as anyhow::Result<()>;
    }
    assert!(answered >= 9, "{answered} of 10");
}
