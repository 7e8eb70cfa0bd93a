//! Flows from the other side of the tunnel to other hosts: a gateway ends them here and makes them anew elsewhere.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use warren_netstack::{
    Datagram, Echo, Listen, ListenerId, SocketId, StreamId, UdpError, Undelivered, Unreachable,
};

use super::error::down;
use super::net::established;
use super::shared::{Shared, remember};
use super::{BindError, ConnectError, Net, Stream};

/// All that is not for the device's own addresses. For one task each: [`Forwarded::incoming`], [`Forwarded::datagram`],
/// [`Forwarded::echo`].
pub struct Forwarded {
    shared: Arc<Shared>,
    listener: ListenerId,
    socket: SocketId,
}

/// A requested connection to a host outside, not answered yet. Dropping it resets the connection.
pub struct Incoming {
    shared: Arc<Shared>,
    id: StreamId,
    from: SocketAddr,
    to: SocketAddr,
    decided: bool,
}

/// What comes of datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A datagram for another host.
    Datagram(Datagram),
    /// One that was sent in the name of another host did not arrive.
    Undelivered(Undelivered),
}

/// How a connection came up.
pub type Admission = Result<Stream, ConnectError>;

impl Net {
    /// Accepts all flows that are not for own addresses; requires [`UserConfig::forward`](super::UserConfig::forward).
    ///
    /// # Errors
    /// Somebody does so already, or the tunnel has ended.
    pub fn forward(&self) -> Result<Forwarded, BindError> {
        let (listener, socket) = self.shared.with(|state, _| {
            if state.closed {
                return Err(BindError::Down);
            }
            let socket = state.stack.udp_bind_any().map_err(|_| BindError::InUse(0))?;
            let listener = state.stack.listen(Listen { defer: true, ..Listen::any() });
            let listener = listener.ok_or(BindError::InUse(0))?;
            state.add_socket(socket);
            Ok((listener, socket))
        })?;
        Ok(Forwarded { shared: Arc::clone(&self.shared), listener, socket })
    }
}

impl Forwarded {
    /// The next connection.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub async fn incoming(&self) -> io::Result<Incoming> {
        std::future::poll_fn(|context| {
            self.shared.with(|state, _| {
                if state.closed {
                    return Poll::Ready(Err(down()));
                }
                while let Some(id) = state.incoming.pop_front() {
                    // It may have given up meanwhile.
                    let Some((to, from)) = state.stack.ends(id) else { continue };
                    let shared = Arc::clone(&self.shared);
                    return Poll::Ready(Ok(Incoming { shared, id, from, to, decided: false }));
                }
                remember(&mut state.decider, context);
                Poll::Pending
            })
        })
        .await
    }

    /// The next datagram, from its `remote` to its `local` end, or the news that one was not delivered.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub async fn datagram(&self) -> io::Result<Arrival> {
        std::future::poll_fn(|context| {
            self.shared.with(|state, _| {
                if state.closed {
                    return Poll::Ready(Err(down()));
                }
                if let Some(error) = state.stack.udp_undelivered(self.socket) {
                    return Poll::Ready(Ok(Arrival::Undelivered(error)));
                }
                match state.stack.udp_recv_from(self.socket) {
                    Some(datagram) => Poll::Ready(Ok(Arrival::Datagram(datagram))),
                    None => {
                        state.wait_socket(self.socket, context);
                        Poll::Pending
                    }
                }
            })
        })
        .await
    }

    /// Sends a datagram in the name of a host outside, and waits while too many are under way.
    ///
    /// # Errors
    /// `InvalidInput`: longer than a packet. `NotConnected`: the tunnel has ended.
    pub async fn send(&self, from: SocketAddr, to: SocketAddr, data: &[u8]) -> io::Result<()> {
        std::future::poll_fn(|context| {
            self.shared.with(|state, _| {
                if state.closed {
                    return Poll::Ready(Err(down()));
                }
                match state.stack.udp_send_from(self.socket, from, to, data) {
                    Ok(()) => Poll::Ready(Ok(())),
                    Err(UdpError::Full) => {
                        state.wait_sender(context);
                        Poll::Pending
                    }
                    Err(error @ UdpError::TooLarge(_)) => {
                        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, error)))
                    }
                    Err(error) => Poll::Ready(Err(io::Error::new(io::ErrorKind::NotConnected, error))),
                }
            })
        })
        .await
    }

    /// Reports to the sender of a datagram that it did not arrive.
    pub fn unreachable(&self, datagram: &Datagram, why: Unreachable) {
        self.shared.with(|state, now| state.stack.udp_unreachable(now, datagram, why));
    }

    /// The next echo request.
    ///
    /// # Errors
    /// The tunnel has ended.
    pub async fn echo(&self) -> io::Result<Echo> {
        std::future::poll_fn(|context| {
            self.shared.with(|state, _| {
                if state.closed {
                    return Poll::Ready(Err(down()));
                }
                match state.stack.echo_recv() {
                    Some(echo) => Poll::Ready(Ok(echo)),
                    None => {
                        remember(&mut state.echoer, context);
                        Poll::Pending
                    }
                }
            })
        })
        .await
    }

    /// Answers an echo request: the host is there, or why it is not known to be.
    pub fn echoed(&self, echo: &Echo, answer: Result<(), Unreachable>) {
        self.shared.with(|state, now| match answer {
            Ok(()) => state.stack.echo_reply(now, echo),
            Err(why) => state.stack.echo_unreachable(now, echo, why),
        });
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        self.shared.with(|state, now| {
            state.drop_socket(self.socket);
            state.stack.udp_close(self.socket);
            state.stack.unlisten(now, self.listener);
        });
    }
}

impl Incoming {
    /// The address of the client.
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// To where.
    pub fn to(&self) -> SocketAddr {
        self.to
    }

    /// Lets it come up, and waits until it has.
    ///
    /// # Errors
    /// It has given up meanwhile.
    pub async fn admit(mut self) -> Admission {
        self.decided = true;
        let (shared, id) = (Arc::clone(&self.shared), self.id);
        shared.set_controller(id, self.from.ip());
        let there = shared.with(|state, now| {
            if state.stack.ends(id).is_none() {
                return false;
            }
            state.adopt(id);
            state.stack.admit(now, id);
            true
        });
        if !there {
            return Err(ConnectError::Reset);
        }
        let stream = Stream::new(Arc::clone(&shared), id, self.to, self.from);
        established(&shared, id).await?;
        Ok(stream)
    }

    /// Refuses it: by a reset, as the host itself would, or by an ICMP error.
    pub fn deny(mut self, why: Option<Unreachable>) {
        self.decided = true;
        self.shared.with(|state, now| state.stack.deny(now, self.id, why));
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.decided {
            self.shared.with(|state, now| state.stack.deny(now, self.id, None));
        }
    }
}
