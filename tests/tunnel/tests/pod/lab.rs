//! A pod on the left, a gateway on the right, and ways from the one to the other.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use warren_tunnel_tests::{Device, Family, Implementation, Interface, Namespace, Pair, Pod, Settings, Side};

/// What is asked for where nothing is permitted: by itself it is the netstack.
pub(crate) const DEVICES: [&str; 2] = ["auto", "userns"];

/// Both ends.
pub(crate) struct Lab {
    pub(crate) pod: Pod,
    pub(crate) gateway: Option<Device>,
    pub(crate) hosts: [Arc<Namespace>; 2],
    pub(crate) interfaces: [Interface; 2],
}

/// Where the pod's programs connect for a port of the gateway's host.
pub(crate) const FORWARDS: [&str; 8] = [
    "--forward",
    "127.0.0.1:7001=10.77.0.2:7001,127.0.0.1:7002=10.77.0.2:7002,127.0.0.1:7006=[fd00:77::2]:7006",
    "--forward",
    "udp:127.0.0.1:7053=10.77.0.2:7053",
    "--reverse",
    "8022=127.0.0.1:22",
    "--metrics",
    "127.0.0.1:9586",
];

impl Lab {
    /// A pod whose tunnel ends in `device`, and a gateway that `gateway` is.
    pub(crate) fn new(gateway: &Implementation, device: &str) -> Self {
        let settings = Settings { initiator: Some(Side::Left), preshared: true, ..Settings::default() };
        let hosts = Pair::hosts().unwrap();
        let interfaces = Pair::interfaces(&settings).unwrap();
        let far = Device::start(gateway, &hosts[1], &interfaces[1]).unwrap();
        let arguments = [&FORWARDS[..], &["--device", device]].concat();
        let pod = Pod::start(&hosts[0], &interfaces[0], &arguments).unwrap();
        Self { pod, gateway: Some(far), hosts, interfaces }
    }

    /// Where programs of the pod connect to reach that port.
    pub(crate) fn client(&self, port: u16) -> (&Namespace, SocketAddr) {
        (&self.hosts[0], SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
    }

    /// Where that leads.
    pub(crate) fn server(&self, port: u16) -> (&Namespace, SocketAddr) {
        let family = if port == 7006 { Family::V6 } else { Family::V4 };
        (&self.hosts[1], SocketAddr::new(Side::Right.inner(family), port))
    }

    pub(crate) fn listen(&self, port: u16) -> TcpListener {
        let (host, at) = self.server(port);
        host.inside(move || Ok(TcpListener::bind(at)?)).unwrap()
    }

    pub(crate) fn connect(&self, port: u16) -> TcpStream {
        let (host, to) = self.client(port);
        let stream = host.inside(move || Ok(TcpStream::connect(to)?)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// What the agent's port of metrics answers.
    pub(crate) fn get(&self, path: &'static str) -> String {
        let mut stream = self.connect(9586);
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

/// The next connection.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    let stream = listener.accept().unwrap().0;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Closing it from now on resets.
pub(crate) fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}
