//! The kernel's sockets in a namespace, as a network for the proxies.

use std::{
    io,
    net::{SocketAddr, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::Arc,
};

use rustix::net::{AddressFamily, SocketType, sockopt::set_tcp_congestion};
use tokio::net::TcpSocket;
use warren_device::{namespace::Namespace, user::Congestion};
use warren_proxy::net::{Dial, DialError, Listen, SystemDatagrams, SystemListener, SystemStream};

use super::TunnelNetwork;
use crate::runtime::status::Buffers;

/// Length of the accept queue.
const BACKLOG: u32 = 1024;

/// The inside of a tunnel that ends in a kernel namespace.
#[derive(Clone)]
pub(crate) struct Sockets {
    namespace: Arc<Namespace>,
    congestion: Congestion,
    /// Called once when the namespace no longer creates sockets.
    gone: Arc<dyn Fn() + Send + Sync>,
}

impl Sockets {
    pub(crate) fn new(
        namespace: Arc<Namespace>,
        congestion: Congestion,
        gone: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self { namespace, congestion, gone: Arc::new(gone) }
    }

    fn socket(&self, ipv6: bool, kind: SocketType) -> io::Result<OwnedFd> {
        let family = if ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
        self.namespace.socket(family, kind, None).inspect_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                (self.gone)();
            }
        })
    }

    fn tcp(&self, at: SocketAddr) -> io::Result<TcpSocket> {
        let socket = self.socket(at.is_ipv6(), SocketType::STREAM)?;
        // A kernel may lack it: transfers are correct with any.
        _ = set_tcp_congestion(&socket, self.congestion.name());
        Ok(TcpSocket::from_std_stream(TcpStream::from(socket)))
    }

    fn udp(&self, at: SocketAddr) -> io::Result<SystemDatagrams> {
        let socket = self.socket(at.is_ipv6(), SocketType::DGRAM)?;
        rustix::net::bind(&socket, &at)?;
        tokio::net::UdpSocket::from_std(UdpSocket::from(socket)).map(SystemDatagrams::from)
    }
}

impl TunnelNetwork for Sockets {
    /// None: the kernel holds the buffers.
    fn buffers(&self) -> Option<Buffers> {
        None
    }
}

impl Dial for Sockets {
    type Stream = SystemStream;
    type Datagrams = SystemDatagrams;

    async fn connect(&self, to: SocketAddr) -> Result<SystemStream, DialError> {
        let socket = self.tcp(to).map_err(|error| DialError::from(&error))?;
        socket.connect(to).await.map(SystemStream::new).map_err(|error| DialError::from(&error))
    }

    async fn bind_udp(&self, ipv6: bool) -> io::Result<SystemDatagrams> {
        self.udp(if ipv6 { ([0_u16; 8], 0).into() } else { ([0, 0, 0, 0], 0).into() })
    }
}

impl Listen for Sockets {
    type Listener = SystemListener;
    type Datagrams = SystemDatagrams;

    async fn listen(&self, at: SocketAddr) -> io::Result<SystemListener> {
        let socket = self.tcp(at)?;
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(BACKLOG).map(SystemListener::from)
    }

    async fn bind(&self, at: SocketAddr) -> io::Result<SystemDatagrams> {
        self.udp(at)
    }
}
