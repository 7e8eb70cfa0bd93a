//! The outgoing side of flows: this machine's network, or the tunnel to the gateway of another network or to another peer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Poll, ready};

use tokio::io::{Interest, ReadBuf};
use tokio::net::UdpSocket;
use warren_device::user::{self, Echo, Incoming, Net, Ping};
use warren_proxy::net::{Dial as _, DialError, Either, System, SystemStream};

use super::shaped::Shaped;
use crate::gateway::peers::Member;
use crate::runtime::netstack::{Netstack, NetstackStream, dial_error};

thread_local! {
    /// For the largest datagram.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 65_535]);
}

/// Routes out of this gateway.
pub(super) struct Outside {
    tunnel: Netstack,
    /// Source addresses towards other gateways.
    addresses: Vec<IpAddr>,
}

/// A connection over one of the routes: to a peer, to a site, or beside the tunnel.
pub(super) type Connection = Either<Either<Shaped, NetstackStream>, SystemStream>;

/// A socket for one flow of datagrams.
pub(super) enum Socket {
    /// A connected socket of this machine.
    System(UdpSocket),
    Tunnel(user::Datagrams, SocketAddr),
}

impl Outside {
    pub(super) fn new(net: Net, addresses: Vec<IpAddr>) -> Self {
        Self { tunnel: Netstack(net), addresses }
    }

    /// Whether a destination is reached through the tunnel: a peer, or behind another gateway.
    pub(super) fn by_tunnel(&self, to: IpAddr) -> bool {
        self.tunnel.0.reaches(to)
    }

    /// Connections inside the tunnel, by congestion control.
    pub(super) fn streams(&self) -> BTreeMap<String, u64> {
        self.tunnel.streams()
    }

    /// Connects to the destination of a connection, or to the peer that has its address.
    pub(super) async fn connect(
        &self,
        incoming: &Incoming,
        peer: Option<&Arc<Member>>,
    ) -> Result<Connection, DialError> {
        let to = incoming.to();
        if let Some(peer) = peer {
            let stream = self.tunnel.0.connect_as(incoming.from(), to).await.map_err(dial_error)?;
            return Ok(Either::Tunnel(Either::Tunnel(Shaped::new(stream, Arc::clone(peer)))));
        }
        if self.by_tunnel(to.ip()) {
            return self.tunnel.connect(to).await.map(Either::Direct).map(Either::Tunnel);
        }
        System.connect(to).await.map(Either::Direct)
    }

    /// Sends a peer's echo request to another peer, and waits for the answer.
    pub(super) async fn ping(&self, echo: &Echo) -> io::Result<()> {
        let ping = Ping { source: echo.source, destination: echo.destination, number: echo.number };
        self.tunnel.0.ping(ping, &echo.data).await
    }

    pub(super) async fn bind(&self, to: SocketAddr) -> io::Result<Socket> {
        if self.by_tunnel(to.ip()) {
            let own = self.addresses.iter().find(|own| own.is_ipv4() == to.is_ipv4());
            let own = own.ok_or(io::ErrorKind::AddrNotAvailable)?;
            return Ok(Socket::Tunnel(self.tunnel.0.bind_udp(SocketAddr::new(*own, 0))?, to));
        }
        let any: SocketAddr =
            if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(to).await?;
        Ok(Socket::System(socket))
    }
}

impl Socket {
    /// Sends a datagram and returns its length.
    pub(super) async fn send(&self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::System(socket) => socket.send(data).await,
            Self::Tunnel(socket, to) => socket.send_to(data, *to).await.map(|()| data.len()),
        }
    }

    /// Receives the next datagram from the destination. Cancel-safe. A flow that waits has no buffer: one of each thread is
    /// enough, since nothing waits while it is in use.
    pub(super) async fn recv(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::System(socket) => loop {
                // The ICMP error that a datagram was answered with makes a socket no readable one.
                let ready = socket.ready(Interest::READABLE | Interest::ERROR).await?;
                if ready.is_error() {
                    // It is taken now, and so is no longer ready.
                    _ = socket.try_io(Interest::ERROR, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    if let Some(error) = socket.take_error()? {
                        return Err(error);
                    }
                }
                match BUFFER
                    .with_borrow_mut(|buffer| socket.try_recv(buffer).map(|length| buffer[..length].to_vec()))
                {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    received => return received,
                }
            },
            Self::Tunnel(socket, to) => {
                std::future::poll_fn(|context| {
                    BUFFER.with_borrow_mut(|buffer| {
                        loop {
                            let mut part = ReadBuf::new(buffer);
                            let from = ready!(socket.poll_recv_from(context, &mut part))?;
                            if from == *to {
                                return Poll::Ready(Ok(part.filled().to_vec()));
                            }
                        }
                    })
                })
                .await
            }
        }
    }
}
