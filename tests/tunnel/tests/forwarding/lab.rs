//! A pod, a gateway, and what lies behind it.
//!
//! ```text
//! pod 10.200.0.1 ---wire--- 10.200.0.2 gateway 10.50.0.1 ---lan--- 10.50.0.2 server 10.51.0.1 ---far, MTU 1300--- 10.51.0.2 far
//!                                 10.50.0.5, fd00:50::1            fd00:50::2, 169.254.169.254, fd00:ec2::254, 64:ff9b::a9fe:a9fe
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) use warren_tunnel_tests::fabric::By;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::{Fabric, Namespace, wait_for};

const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
/// What a group may reach; 10.60.0.0/16 is a network that the gateway has no route to, and 10.50.0.5 is the gateway itself.
pub(crate) const ALLOWED: &str = r#"to = ["10.50.0.0/24", "10.51.0.0/24", "10.60.0.0/16", "10.50.0.5/32", "169.254.0.0/16", "fd00:50::/64",
  "fd00:ec2::/32", "64:ff9b::/96"]
ports = ["8000-8100"]
protocols = ["tcp", "udp"]"#;
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24", "fd00:100::/64"]
reserved = ["10.100.0.99"]
[groups.gpu]
[[groups.gpu.allow]]
ALLOWED
[[groups.gpu.allow]]
to = ["10.50.0.2/32", "10.50.0.77/32", "10.60.0.0/16", "fd00:50::2/128"]
protocols = ["icmp"]
[limits]
requests_per_minute_and_source = 100000
"#;

pub(crate) struct Lab {
    pub(crate) by: By,
    /// The pod's: all labs share one folder of run-time files, so each has a name of its own.
    pub(crate) interface: String,
    pub(crate) fabric: Fabric,
    pub(crate) pod: Arc<Namespace>,
    pub(crate) gateway: Arc<Namespace>,
    pub(crate) server: Arc<Namespace>,
    pub(crate) far: Arc<Namespace>,
}

impl Lab {
    pub(crate) fn new(by: By) -> Self {
        let hosts = [(); 4].map(|()| Arc::new(Namespace::new().unwrap()));
        let [pod, gateway, server, far] = hosts;
        pod.join(&gateway).unwrap();
        gateway.join_as(&server, "lan").unwrap();
        server.join_as(&far, "far").unwrap();
        for (host, address, name) in [
            (&pod, "10.200.0.1/24", "wire"),
            (&gateway, "10.200.0.2/24", "wire"),
            (&gateway, "10.50.0.1/24", "lan"),
            (&gateway, "10.50.0.5/24", "lan"),
            (&gateway, "fd00:50::1/64", "lan"),
            (&server, "10.50.0.2/24", "lan"),
            (&server, "fd00:50::2/64", "lan"),
            (&server, "169.254.169.254/32", "lan"),
            (&server, "fd00:ec2::254/128", "lan"),
            (&server, "64:ff9b::a9fe:a9fe/128", "lan"),
            (&server, "10.51.0.1/24", "far"),
            (&far, "10.51.0.2/24", "far"),
        ] {
            let at_once = if address.contains(':') { " nodad" } else { "" };
            host.ip(&format!("addr add {address} dev {name}{at_once}")).unwrap();
        }
        for host in [&server, &far] {
            host.ip("link set far mtu 1300").unwrap();
        }
        server.run("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).unwrap();
        // As in a cloud, there is a way to link-local addresses.
        for to in ["10.51.0.0/24", "169.254.0.0/16"] {
            gateway.ip(&format!("route add {to} via 10.50.0.2")).unwrap();
        }
        for to in ["fd00:ec2::/32", "64:ff9b::/96"] {
            gateway.ip(&format!("-6 route add {to} via fd00:50::2")).unwrap();
        }
        far.ip("route add default via 10.51.0.1").unwrap();
        // Somebody in the hub who would like to reach pods.
        server.ip("route add 10.100.0.0/24 via 10.50.0.1").unwrap();
        gateway.run("sysctl", &["-qw", "net.ipv4.ping_group_range=0 2147483647"]).unwrap();
        // The kernel gives each pod one error a second, and the table has more of them.
        gateway.run("sysctl", &["-qw", "net.ipv4.icmp_ratelimit=0"]).unwrap();
        let fabric = Fabric::new(&[GATEWAY], &REST.replace("ALLOWED", ALLOWED)).unwrap();
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let interface =
            format!("fw{}x{}", std::process::id() % 1_000_000, COUNTER.fetch_add(1, Ordering::Relaxed));
        Self { by, interface, fabric, pod, gateway, server, far }
    }

    /// A gateway that forwards as this lab wants it.
    pub(crate) fn start(&self) -> Gateway {
        self.fabric.start_by(self.by, 0, &self.gateway).unwrap()
    }

    pub(crate) fn member(&self) -> Member {
        let token = self.fabric.token("gpu", &[]).unwrap();
        self.fabric.machine_as(&self.pod, &token, &self.interface).unwrap()
    }

    /// A connection from the pod.
    pub(crate) fn connect(&self, to: &str) -> anyhow::Result<TcpStream> {
        let to: SocketAddr = to.parse()?;
        self.pod.inside(move || Ok(patient(TcpStream::connect_timeout(&to, PATIENCE)?)))
    }

    /// A connection to a port of the server's, and its other end.
    pub(crate) fn connected(&self, port: u16) -> anyhow::Result<(TcpStream, TcpStream)> {
        let listener = self.server.inside(move || listen(&format!("10.50.0.2:{port}")))?;
        let near = self.connect(&format!("10.50.0.2:{port}"))?;
        Ok((near, patient(listener.accept()?.0)))
    }

    /// A socket of the pod's, connected to an address.
    pub(crate) fn datagrams(&self, to: &'static str) -> UdpSocket {
        let made = self.pod.inside(move || {
            let to: SocketAddr = to.parse()?;
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any)?;
            socket.connect(to)?;
            socket.set_read_timeout(Some(Duration::from_secs(3)))?;
            Ok(socket)
        });
        made.unwrap()
    }
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A child that is just being started may hold a socket that was closed meanwhile.
pub(crate) fn listen(at: &str) -> anyhow::Result<TcpListener> {
    let at: SocketAddr = at.parse()?;
    wait_for(PATIENCE, "port", || match TcpListener::bind(at) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(None),
        bound => Ok(Some(bound?)),
    })
}

/// Sends back what comes, once for each of `count` datagrams.
pub(crate) fn echo(host: &Namespace, at: &'static str, count: usize) {
    let socket = host.inside(move || Ok(UdpSocket::bind(at)?)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        for _ in 0..count {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
            _ = socket.send_to(&buffer[..length], from);
        }
    });
}
