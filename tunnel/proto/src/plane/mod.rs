//! The data path's view of an interface: routes, sessions and peers, shared between threads.
//!
//! The engine writes, any number of threads read. Look-ups need no lock: the routes are an immutable snapshot
//! that is replaced as a whole, sessions are in a table of two levels by index. Each thread should read through
//! its own [`Reader`].
//!
//! Outbound, for each packet of the device:
//!
//! 1. [`Reader::route`] of the destination gives the [`Peer`];
//! 2. [`Peer::sealer`] gives the key, once a batch, or the packet is [staged](Peer::stage);
//! 3. `SendKey::reserve` and `SendKey::seal`, then to [`Peer::endpoint`];
//! 4. [`Peer::sent`] once a batch.
//!
//! Inbound, for each datagram of type 4 (others go to the engine):
//!
//! 1. [`Reader::session`] of the receiver's index gives the [`Session`];
//! 2. [`Session::open`] decrypts;
//! 3. [`Plane::confirm`] unless [`Session::is_confirmed`];
//! 4. [`Peer::arrived`], unless it is the first message of its session;
//! 5. [`Reader::permits`] checks the inner source;
//! 6. [`Peer::received`] once a batch.
//!
//! If a [`Wakeup`] is `needed`, the control side must be woken.

mod direct;
mod drops;
mod endpoint;
mod flow;
mod index;
mod peer;
mod reader;
mod session;
#[cfg(test)]
mod tests;
mod wakeup;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::allowed::AllowedIps;

pub use direct::{Direct, DirectRules};
use direct::{Directs, Watch};
pub use drops::{DropReason, Drops};
pub use endpoint::{Carrier, Endpoint, StreamId};
pub(crate) use index::PLACE_BITS;
use index::SessionTable;
pub use peer::{Peer, PeerId, STAGED, Traffic};
pub use reader::Reader;
pub use session::Session;
pub use wakeup::Wakeup;
pub(crate) use wakeup::{ARRIVED, CONFIRMED, REKEY, TRAFFIC, WANT_SESSION, WakeupQueue};

/// An immutable state of the routes.
pub(crate) struct Routes {
    pub(crate) table: Arc<AllowedIps<PeerId>>,
    pub(crate) peers: Vec<Option<Arc<Peer>>>,
}

/// The shared half of an interface.
pub struct Plane {
    routes: ArcSwap<Routes>,
    routes_version: AtomicU64,
    /// The table of `routes` alone: peers hold this, and not the peers, or they would keep each other alive.
    table: Arc<ArcSwap<AllowedIps<PeerId>>>,
    /// Beside the routes; a change counts as one of theirs.
    directs: ArcSwap<Directs>,
    sessions: SessionTable,
    sessions_version: AtomicU64,
    queue: Arc<WakeupQueue>,
    drops: Drops,
}

impl Plane {
    pub(crate) fn new() -> Self {
        let table = Arc::new(AllowedIps::new());
        Self {
            routes: ArcSwap::from_pointee(Routes { table: Arc::clone(&table), peers: Vec::new() }),
            routes_version: AtomicU64::new(0),
            table: Arc::new(ArcSwap::new(table)),
            directs: ArcSwap::default(),
            sessions: SessionTable::new(),
            sessions_version: AtomicU64::new(0),
            queue: Arc::default(),
            drops: Drops::default(),
        }
    }

    /// A cached reader for one thread.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader::new(Arc::clone(self))
    }

    /// The peer that owns the destination of a packet.
    #[must_use]
    pub fn route(&self, dst: IpAddr) -> Option<Arc<Peer>> {
        let routes = self.routes.load();
        let id = routes.table.lookup(dst)?;
        routes.peers.get(id.slot as usize)?.clone()
    }

    /// The session of an index.
    #[must_use]
    pub fn session(&self, index: u32) -> Option<Arc<Session>> {
        self.sessions.get(index)
    }

    /// The peer of an id.
    #[must_use]
    pub fn peer(&self, id: PeerId) -> Option<Arc<Peer>> {
        let routes = self.routes.load();
        routes.peers.get(id.slot as usize)?.as_ref().filter(|peer| peer.id() == id).cloned()
    }

    /// To be called after the first authentic data message of a session: the other end has the keys, so a
    /// responder may now send with them (whitepaper section 5.4.5). The data path does so at once: an answer to
    /// that very message, sent with the old key, would be lost on a peer that has restarted. The engine follows in
    /// `serve_wakeups`.
    pub fn confirm(&self, session: &Session, now: Duration) -> Wakeup {
        if session.is_confirmed() || session.expired(now) || session.confirmed.swap(true, Ordering::AcqRel) {
            return Wakeup::NONE;
        }
        session.peer.set_sealer(Some(Arc::clone(&session.send)));
        session.peer.want(CONFIRMED)
    }

    /// Replaces all direct paths.
    pub fn set_directs(&self, directs: &[Arc<Direct>]) {
        let watch = self.directs.load().watch().cloned();
        self.directs.store(Arc::new(Directs::new(directs, watch)));
        self.routes_version.fetch_add(1, Ordering::Release);
    }

    /// The addresses inside these ranges that packets were sent to since the last call. None are noted before the first one.
    #[must_use]
    pub fn take_destinations(&self, nets: &[ipnet::IpNet]) -> Vec<IpAddr> {
        let directs = self.directs.load_full();
        let seen = match directs.watch() {
            Some(watch) if watch.is_of(nets) => watch.take(),
            _ => {
                let watch = (!nets.is_empty()).then(|| Arc::new(Watch::new(nets.to_vec())));
                self.directs.store(Arc::new(directs.watched(watch)));
                Vec::new()
            }
        };
        // Readers note a destination once a version.
        self.routes_version.fetch_add(1, Ordering::Release);
        seen
    }

    /// Counters of dropped packets that belong to no peer.
    #[must_use]
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    pub(crate) fn new_peer(&self, id: PeerId, public_key: warren_wire::PublicKey) -> Peer {
        Peer::new(id, public_key, Arc::clone(&self.queue), Arc::clone(&self.table))
    }

    pub(crate) fn publish(&self, mut table: AllowedIps<PeerId>, peers: Vec<Option<Arc<Peer>>>) {
        table.optimise();
        let table = Arc::new(table);
        self.table.store(Arc::clone(&table));
        self.routes.store(Arc::new(Routes { table, peers }));
        self.routes_version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn put_session(&self, session: Arc<Session>) {
        self.sessions.set(session.index, Some(session));
    }

    pub(crate) fn remove_session(&self, index: u32) {
        self.sessions.set(index, None);
        self.sessions_version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn take_attention(&self) -> Vec<PeerId> {
        self.queue.take()
    }
}

impl std::fmt::Debug for Plane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plane")
    }
}
