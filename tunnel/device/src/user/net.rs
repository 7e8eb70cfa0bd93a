//! What programs ask of the device.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use warren_netstack::{
    Congestion, ConnectError as Refusal, Listen, Memory, Ping, Pong, Stack, State, StreamId,
};

use super::error::{down, undelivered};
use super::shared::{Shared, Side, remember};
use super::{BindError, ConnectError, Datagrams, Listener, Stream};

/// A handle of the device; cheap to clone.
#[derive(Clone)]
pub struct Net {
    pub(super) shared: Arc<Shared>,
}

impl Net {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Whether the tunnel carries packets to this address.
    pub fn reaches(&self, to: IpAddr) -> bool {
        (self.shared.routes)(to)
    }

    /// Connects. Cancelling (dropping the future) gives the attempt up.
    ///
    /// # Errors
    /// Why there is no connection, see [`ConnectError`].
    pub async fn connect(&self, to: SocketAddr) -> Result<Stream, ConnectError> {
        // Addresses of IPv4 in IPv6's clothes mean IPv4.
        let to = SocketAddr::new(to.ip().to_canonical(), to.port());
        if !self.reaches(to.ip()) {
            return Err(ConnectError::NoRoute(to.ip()));
        }
        self.begin(to, |stack, now| stack.connect(now, to)).await
    }

    /// Connects in the name of another host, from its port if that is free towards this destination; requires
    /// [`UserConfig::forward`](super::UserConfig::forward).
    ///
    /// # Errors
    /// Why there is no connection, see [`ConnectError`].
    pub async fn connect_as(&self, from: SocketAddr, to: SocketAddr) -> Result<Stream, ConnectError> {
        if !self.reaches(to.ip()) {
            return Err(ConnectError::NoRoute(to.ip()));
        }
        self.begin(to, |stack, now| match stack.connect_from(now, from, to) {
            Err(Refusal::InUse) => stack.connect_as(now, from.ip(), to),
            begun => begun,
        })
        .await
    }

    async fn begin(
        &self,
        to: SocketAddr,
        connect: impl FnOnce(&mut Stack, Duration) -> Result<StreamId, Refusal>,
    ) -> Result<Stream, ConnectError> {
        let begun = self.shared.with(|state, now| {
            if state.closed {
                return Err(ConnectError::Down);
            }
            let id = connect(&mut state.stack, now).map_err(|refusal| match refusal {
                Refusal::NoAddress => ConnectError::NoAddress(to.ip()),
                Refusal::NoPort | Refusal::InUse | Refusal::TooMany => ConnectError::TooMany,
            })?;
            state.adopt(id);
            Ok((id, state.stack.ends(id)))
        });
        let (id, ends) = begun?;
        let local = ends.map_or(to, |(local, _)| local);
        let stream = Stream::new(Arc::clone(&self.shared), id, local, to);
        self.shared.set_controller(id, to.ip());
        established(&self.shared, id).await?;
        Ok(stream)
    }

    /// Listens on an own address, or on all of them if it is unspecified.
    ///
    /// # Errors
    /// The port is in use or 0.
    pub fn listen(&self, at: SocketAddr) -> Result<Listener, BindError> {
        if at.port() == 0 {
            return Err(BindError::NoPort);
        }
        let id = self.shared.with(|state, _| {
            if state.closed {
                return Err(BindError::Down);
            }
            let listen = Listen { address: specific(at), ..Listen::port(at.port()) };
            let id = state.stack.listen(listen).ok_or(BindError::InUse(at.port()))?;
            state.add_listener(id);
            Ok(id)
        })?;
        Ok(Listener::new(Arc::clone(&self.shared), id, at))
    }

    /// Binds a UDP socket to an own address, or to all of them if it is unspecified; port 0 selects a free one.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind_udp(&self, at: SocketAddr) -> Result<Datagrams, BindError> {
        let (id, port) = self.shared.with(|state, _| {
            if state.closed {
                return Err(BindError::Down);
            }
            let bound = state.stack.udp_bind(specific(at), at.port());
            let id = bound.map_err(|_| BindError::InUse(at.port()))?;
            state.add_socket(id);
            Ok((id, state.stack.udp_port(id).unwrap_or(at.port())))
        })?;
        Ok(Datagrams::new(Arc::clone(&self.shared), id, SocketAddr::new(at.ip(), port)))
    }

    /// Sends an echo request, in the name of any host, and waits for its answer. Dropping the future gives up.
    ///
    /// # Errors
    /// `NetworkDown`: the tunnel has ended. `ResourceBusy`: the same request waits already, or too many do. `InvalidInput`: the
    /// families differ, or it does not fit into a packet. Else the error has an [`Undeliverable`](super::Undeliverable).
    pub async fn ping(&self, ping: Ping, data: &[u8]) -> io::Result<()> {
        let sent = self.shared.with(|state, now| {
            if state.closed {
                return Err(down());
            }
            let fits = data.len() + ping_headers(ping.source) <= state.mtu;
            if !fits || ping.source.is_ipv4() != ping.destination.is_ipv4() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            if !state.stack.ping(now, ping, data) {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            state.pings.insert(ping, None);
            Ok(())
        });
        sent?;
        let waits = Waits { shared: &self.shared, ping };
        std::future::poll_fn(|context| {
            waits.shared.with(|state, _| {
                if state.closed {
                    return Poll::Ready(Err(down()));
                }
                match state.stack.pong(&ping) {
                    Some(Pong::Answered) => return Poll::Ready(Ok(())),
                    Some(Pong::Undelivered { by, why }) => return Poll::Ready(Err(undelivered(by, why))),
                    None => {}
                }
                if let Some(slot) = state.pings.get_mut(&ping) {
                    remember(slot, context);
                }
                Poll::Pending
            })
        })
        .await
    }

    /// The device's own address for packets to a host.
    pub fn address_towards(&self, to: IpAddr) -> Option<IpAddr> {
        self.shared.lock().stack.address_towards(to)
    }

    /// Changes the device's own addresses. Streams of an address that is gone end.
    pub fn set_addresses(&self, addresses: Vec<IpAddr>) {
        self.shared.with(|state, now| state.stack.set_addresses(now, addresses));
    }

    /// Changes the device's MTU.
    pub fn set_mtu(&self, mtu: usize) {
        self.shared.with(|state, now| {
            state.mtu = mtu;
            state.stack.set_mtu(now, mtu);
        });
        // Its batch is made anew before the next packet is.
        self.shared.wake_driver();
    }

    /// Reports that the tunnel carries packets again after an outage: streams that wait for a timer continue at once.
    pub fn nudge(&self) {
        self.shared.with(|state, now| state.stack.nudge(now));
    }

    /// Another gateway carries packets from now on, and knows of no connection: streams that are up are reset, those that begin
    /// try again at once.
    pub fn abort_all(&self) {
        self.shared.with(|state, now| state.stack.abort_all(now));
    }

    /// Connections that are not yet over.
    pub fn streams(&self) -> usize {
        self.shared.lock().stack.streams()
    }

    /// Connections with this congestion control that are not yet over.
    pub fn streams_with(&self, congestion: Congestion) -> usize {
        self.shared.lock().stack.streams_with(congestion)
    }

    /// Bytes in use. Looks at every stream: not for often.
    pub fn memory(&self) -> Memory {
        self.shared.lock().stack.memory()
    }
}

/// The headers of an echo request.
fn ping_headers(source: IpAddr) -> usize {
    if source.is_ipv4() { 28 } else { 48 }
}

/// An echo request without an answer; forgotten when it is dropped.
struct Waits<'a> {
    shared: &'a Shared,
    ping: Ping,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.shared.with(|state, _| {
            state.pings.remove(&self.ping);
            state.stack.forget_ping(&self.ping);
        });
    }
}

/// Waits until a connection is up.
pub(super) async fn established(shared: &Shared, id: StreamId) -> Result<(), ConnectError> {
    std::future::poll_fn(|context| {
        shared.with(|state, _| match state.stack.state(id) {
            _ if state.closed => Poll::Ready(Err(ConnectError::Down)),
            State::SynSent | State::SynReceived => {
                state.wait(id, Side::Write, context);
                Poll::Pending
            }
            State::Closed => {
                Poll::Ready(Err(state.stack.reason(id).map_or(ConnectError::Down, ConnectError::from)))
            }
            _ => Poll::Ready(Ok(())),
        })
    })
    .await
}

fn specific(at: SocketAddr) -> Option<IpAddr> {
    (!at.ip().is_unspecified()).then(|| at.ip().to_canonical())
}
