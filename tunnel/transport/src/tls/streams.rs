//! All connections of an interface, and their bundles.

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
use warren_budget::{Full, Slot, Slots, Source};
use warren_proto::plane::{Endpoint, StreamId};
use warren_wire::stream::http::{Membership, Token};

use super::bundle::{Bundle, BundleStats};
use super::limits::{CONNECTIONS, ListenLimits, OTHERS, STREAMS};
use super::refusals::{Refusal, Refusals};
use super::session::Session;
use super::stream::{Holds, Left, Stream};

/// Bytes in the socket that are not on their way: what TCP needs to be kept busy, not more.
const NOT_SENT: u32 = 256 << 10;
/// The congestion control of connections, where the kernel has it: CUBIC, the default, takes a loss for a full path.
const CONGESTION: &str = "bbr";
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
    /// `None`: it is alone.
    pub(super) membership: Option<Membership>,
    /// Connections that its bundle may have.
    pub(super) most: usize,
    /// Its place in a bundle that exists, if it was accepted.
    pub(super) place: Option<Slot<Source>>,
}

/// A bundle whose last connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its id.
    pub id: StreamId,
    /// The other end.
    pub remote: SocketAddr,
    /// Which end this was.
    pub role: Role,
    /// The reason for the end of the last connection.
    pub why: &'static str,
    /// Whether an authentic WireGuard message arrived on it.
    pub proven: bool,
}

/// The connections of an interface, shared between threads.
pub struct Streams {
    pub(super) epoll: OwnedFd,
    table: RwLock<HashMap<u64, Arc<Stream>>>,
    bundles: RwLock<HashMap<u64, Arc<Bundle>>>,
    /// The bundles that accepted connections may join.
    tokens: Mutex<HashMap<Token, u64>>,
    next: AtomicU64,
    /// Accepted bundles, by source.
    tunnels: Slots<Source>,
    /// Their connections beyond the first, by source.
    others: Slots<Source>,
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
            bundles: RwLock::default(),
            tokens: Mutex::default(),
            next: AtomicU64::new(1),
            tunnels: Slots::new(STREAMS, STREAMS),
            others: Slots::new(OTHERS, OTHERS),
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
        self.others.set_limits(limits.tunnels_of_one, OTHERS);
        self.strangers.set_limits(limits.handshakes_of_one, STREAMS);
    }

    /// Adds a connection: to its bundle, or as the first of one. Data that it has already received is processed now.
    ///
    /// # Errors
    /// When there are too many, in total or of its source, or the bundle has ended.
    pub fn adopt(&self, opened: Opened) -> io::Result<Endpoint> {
        match opened.membership {
            Some(Membership::Another(token)) => {
                let bundle = self.bundle_of(token).ok_or_else(|| io::Error::other("its tunnel has ended"))?;
                self.join(opened, &bundle)
            }
            _ => self.begin(opened),
        }
    }

    /// A place for another connection of a source in the bundle of this token, in which a peer has proved that it is known.
    pub(super) fn reserve(&self, token: Token, source: Source) -> Option<Slot<Source>> {
        let bundle = self.bundle_of(token).filter(|bundle| bundle.proven())?;
        let place = self.others.take(source).ok().filter(|_| bundle.count() < CONNECTIONS);
        if place.is_none() {
            self.refusals.count(Refusal::Others);
        }
        place
    }

    fn bundle_of(&self, token: Token) -> Option<Arc<Bundle>> {
        let number = *self.tokens.lock().get(&token)?;
        self.bundles.read().get(&number).cloned()
    }

    fn begin(&self, opened: Opened) -> io::Result<Endpoint> {
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
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let from = Endpoint::stream(remote, StreamId::new(number));
        let (membership, most) = (opened.membership, opened.most);
        let stream = Arc::new(Stream::new(number, from, opened, holds, self.now()));
        let token = membership.map(Membership::token);
        let bundle = Arc::new(Bundle::new(&stream, token, most));
        self.bundles.write().insert(number, bundle);
        if let Some(token) = token {
            self.tokens.lock().insert(token, number);
        }
        self.watch(&stream)?;
        Ok(from)
    }

    fn join(&self, mut opened: Opened, bundle: &Bundle) -> io::Result<Endpoint> {
        let holds = Holds { tunnel: opened.place.take(), stranger: None };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(Stream::new(number, bundle.endpoint(), opened, holds, self.now()));
        stream.prove();
        if !bundle.add(&stream) {
            return Err(io::Error::other("its tunnel has ended, or has enough connections"));
        }
        self.watch(&stream)?;
        Ok(bundle.endpoint())
    }

    /// Sets its socket up and begins to receive from it.
    fn watch(&self, stream: &Arc<Stream>) -> io::Result<()> {
        let number = stream.number();
        self.table.write().insert(number, Arc::clone(stream));
        let watched = || {
            let socket = &stream.socket;
            sockopt::set_tcp_nodelay(socket, true)?;
            // The kernel may not have it, or not permit it.
            let _ = sockopt::set_tcp_congestion(socket, CONGESTION);
            crate::udp::tcp_limits(socket.as_fd(), NOT_SENT, USER_TIMEOUT_MS)?;
            // That it can be written to is an event at once: what is left is then looked at.
            let flags = epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET;
            epoll::add(&self.epoll, socket, epoll::EventData::new_u64(number), flags)?;
            io::Result::Ok(())
        };
        watched().inspect_err(|_| drop(self.remove(stream)))
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
        let strangers = self.bundles().into_iter().filter(|bundle| bundle.is_stranger());
        let Some(oldest) = strangers.min_by_key(|bundle| bundle.opened()) else { return false };
        self.refusals.count(Refusal::Tunnels);
        oldest.members().iter().for_each(|member| self.ended(member, "a newer connection replaced it"));
        true
    }

    /// The bundle of an id, if it has not ended.
    #[must_use]
    pub fn get(&self, id: StreamId) -> Option<Arc<Bundle>> {
        self.bundles.read().get(&id.number()).cloned()
    }

    /// A connection, if it has not ended.
    pub(super) fn connection(&self, number: u64) -> Option<Arc<Stream>> {
        self.table.read().get(&number).cloned()
    }

    /// Sends one datagram; false: the bundle has ended.
    pub fn send_one(&self, id: StreamId, bytes: &[u8]) -> bool {
        self.get(id).is_some_and(|bundle| bundle.send(self.now(), 0, bytes, bytes.len()))
    }

    /// Ends a bundle without reporting it through [`Streams::take_closed`].
    pub fn close(&self, id: StreamId) {
        for member in self.get(id).map(|bundle| bundle.members()).unwrap_or_default() {
            self.remove(&member);
            member.close();
        }
    }

    /// Bundles that ended on their own since the last call.
    #[must_use]
    pub fn take_closed(&self) -> Vec<Closed> {
        std::mem::take(&mut *self.closed.lock())
    }

    /// Statistics of all bundles.
    #[must_use]
    pub fn stats(&self) -> Vec<BundleStats> {
        self.bundles().iter().map(|bundle| bundle.stats()).collect()
    }

    /// Bundles now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.bundles.read().len()
    }

    fn bundles(&self) -> Vec<Arc<Bundle>> {
        self.bundles.read().values().cloned().collect()
    }

    /// All connections.
    pub(super) fn all(&self) -> Vec<Arc<Stream>> {
        self.table.read().values().cloned().collect()
    }

    /// A connection has ended. The end of a bundle's last connection is reported once.
    pub(super) fn ended(&self, stream: &Stream, why: &'static str) {
        if self.connection(stream.number()).is_none() {
            return;
        }
        let ended = self.remove(stream);
        stream.close();
        let Some(bundle) = ended else {
            tracing::debug!(remote = %stream.remote(), why, "one of several TLS connections ended");
            return;
        };
        self.closed.lock().push(Closed {
            id: bundle.id(),
            remote: stream.remote(),
            role: stream.role(),
            why,
            proven: bundle.proven(),
        });
        (self.wake)();
    }

    /// Forgets a connection, and its bundle with the last one.
    fn remove(&self, stream: &Stream) -> Option<Arc<Bundle>> {
        self.table.write().remove(&stream.number())?;
        let _ = epoll::delete(&self.epoll, &stream.socket);
        let bundle = self.get(stream.bundle()).filter(|bundle| bundle.remove(stream))?;
        if let Some(token) = bundle.token() {
            self.tokens.lock().remove(&token);
        }
        self.bundles.write().remove(&bundle.id().number())
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Streams({})", self.count())
    }
}
