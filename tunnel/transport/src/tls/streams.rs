//! All connections of an interface.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustix::event::epoll;
use rustix::net::sockopt;
use warren_budget::{Full, Slots, Source};
use warren_proto::plane::{Endpoint, StreamId};

use super::limits::{ListenLimits, STREAMS};
use super::refusals::{Refusal, Refusals};
use super::session::Session;
use super::stream::{Holds, Left, Stream, StreamStats};

/// Bytes in the socket that are not on their way: what TCP needs to be kept busy, not more.
const NOT_SENT: u32 = 256 << 10;
/// After so long without an acknowledgement the kernel ends a connection.
const USER_TIMEOUT_MS: u32 = 15_000;

/// The role of this end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It connected.
    Client,
    /// It was connected to.
    Server,
}

/// A connection that is ready to carry datagrams.
pub struct Opened {
    pub(super) socket: OwnedFd,
    pub(super) remote: SocketAddr,
    pub(super) session: Session,
    pub(super) left: Left,
    pub(super) role: Role,
}

/// A connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its id.
    pub id: StreamId,
    /// The other end.
    pub remote: SocketAddr,
    /// Which end this was.
    pub role: Role,
    /// The reason for the end.
    pub why: &'static str,
    /// Whether an authentic WireGuard message arrived on it.
    pub proven: bool,
}

/// The connections of an interface, shared between threads.
pub struct Streams {
    pub(super) epoll: OwnedFd,
    table: RwLock<HashMap<u64, Arc<Stream>>>,
    next: AtomicU64,
    /// Accepted connections, by source.
    tunnels: Slots<Source>,
    /// Those of them that no known peer has used yet.
    strangers: Slots<Source>,
    pub(super) refusals: Refusals,
    closed: Mutex<Vec<Closed>>,
    clock: fn() -> Duration,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Streams {
    /// None yet. `clock` is monotonic time, `wake` is called when [`Streams::take_closed`] has something.
    ///
    /// # Errors
    /// When the kernel gives no epoll instance.
    pub fn new(clock: fn() -> Duration, wake: Box<dyn Fn() + Send + Sync>) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            table: RwLock::default(),
            next: AtomicU64::new(1),
            tunnels: Slots::new(STREAMS, STREAMS),
            strangers: Slots::new(STREAMS, STREAMS),
            refusals: Refusals::default(),
            closed: Mutex::default(),
            clock,
            wake,
        }))
    }

    pub(super) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Limits the accepted connections of a source. Those that exist stay.
    pub(super) fn set_limits(&self, limits: &ListenLimits) {
        self.tunnels.set_limits(limits.tunnels_of_one, STREAMS);
        self.strangers.set_limits(limits.handshakes_of_one, STREAMS);
    }

    /// Adds a connection. Data that it has already received is processed now.
    ///
    /// # Errors
    /// When there are too many, in total or of its source.
    pub fn adopt(&self, opened: Opened) -> io::Result<Endpoint> {
        let (remote, role) = (opened.remote, opened.role);
        if self.count() >= STREAMS && !(role == Role::Server && self.end_oldest_stranger()) {
            return Err(self.refuse(role, Refusal::Tunnels, "too many connections"));
        }
        let mut holds = Holds::default();
        if role == Role::Server {
            let source = Source::from(remote.ip());
            let refuse = |full, own| {
                let refusal = if full == Full::Each { own } else { Refusal::Tunnels };
                self.refuse(role, refusal, "too many connections of this source")
            };
            let strangers = self.strangers.take(source);
            holds.stranger = Some(strangers.map_err(|full| refuse(full, Refusal::SourceStrangers))?);
            let tunnels = self.tunnels.take(source);
            holds.tunnel = Some(tunnels.map_err(|full| refuse(full, Refusal::SourceTunnels))?);
        }
        let socket = &opened.socket;
        sockopt::set_tcp_nodelay(socket, true)?;
        crate::udp::tcp_limits(socket.as_fd(), NOT_SENT, USER_TIMEOUT_MS)?;
        let id = StreamId::new(self.next.fetch_add(1, Ordering::Relaxed));
        let stream = Arc::new(Stream::new(id, opened, holds, self.now()));
        self.table.write().insert(id.number(), Arc::clone(&stream));
        // That it can be written to is an event at once: what is left is then looked at.
        let flags =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        if let Err(error) =
            epoll::add(&self.epoll, &stream.socket, epoll::EventData::new_u64(id.number()), flags)
        {
            self.table.write().remove(&id.number());
            return Err(error.into());
        }
        Ok(Endpoint::stream(remote, id))
    }

    fn refuse(&self, role: Role, refusal: Refusal, what: &'static str) -> io::Error {
        if role == Role::Server {
            self.refusals.count(refusal);
        }
        io::Error::other(what)
    }

    /// Makes room: a known peer needs one round trip to prove itself, so the oldest stranger is the least likely to be one.
    /// False: there is no stranger.
    fn end_oldest_stranger(&self) -> bool {
        let strangers = self.all().into_iter().filter(|stream| stream.is_stranger());
        let Some(oldest) = strangers.min_by_key(|stream| stream.opened()) else { return false };
        self.refusals.count(Refusal::Tunnels);
        self.ended(&oldest, "a newer connection replaced it");
        true
    }

    /// The connection of an id, if it has not ended.
    #[must_use]
    pub fn get(&self, id: StreamId) -> Option<Arc<Stream>> {
        self.table.read().get(&id.number()).cloned()
    }

    /// Sends one datagram; false: the connection has ended.
    pub fn send_one(&self, id: StreamId, bytes: &[u8]) -> bool {
        self.get(id).is_some_and(|stream| stream.send(self.now(), bytes, bytes.len()))
    }

    /// Ends a connection without reporting it through [`Streams::take_closed`].
    pub fn close(&self, id: StreamId) {
        if let Some(stream) = self.remove(id) {
            stream.close();
        }
    }

    /// Connections that ended on their own since the last call.
    #[must_use]
    pub fn take_closed(&self) -> Vec<Closed> {
        std::mem::take(&mut *self.closed.lock())
    }

    /// Statistics of all connections.
    #[must_use]
    pub fn stats(&self) -> Vec<StreamStats> {
        self.all().iter().map(|stream| stream.stats()).collect()
    }

    /// Connections now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.read().len()
    }

    pub(super) fn all(&self) -> Vec<Arc<Stream>> {
        self.table.read().values().cloned().collect()
    }

    /// A connection has ended: it is told once.
    pub(super) fn ended(&self, stream: &Stream, why: &'static str) {
        if self.remove(stream.id()).is_some() {
            stream.close();
            self.closed.lock().push(Closed {
                id: stream.id(),
                remote: stream.remote(),
                role: stream.role(),
                why,
                proven: stream.proven(),
            });
            (self.wake)();
        }
    }

    fn remove(&self, id: StreamId) -> Option<Arc<Stream>> {
        let stream = self.table.write().remove(&id.number())?;
        let _ = epoll::delete(&self.epoll, &stream.socket);
        Some(stream)
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Streams({})", self.count())
    }
}
