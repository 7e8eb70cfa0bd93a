//! A thread's own view of the plane: repeated look-ups write to no shared memory.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::direct::Directs;
use super::{Peer, Plane, Routes, Session};

/// Sessions kept at hand, by the low bits of the index.
const SESSIONS: usize = 16;

/// A cached reader of a [`Plane`], one a thread.
///
/// It holds the routing snapshot and some sessions. A version number, which is only read, tells when they are
/// out of date. A thread that is going to sleep for long should [`Reader::release`], or the keys of an ended
/// session live as long as it sleeps.
pub struct Reader {
    plane: Arc<Plane>,
    routes: Arc<Routes>,
    routes_version: u64,
    directs: Arc<Directs>,
    /// The last destination that was noted.
    noted: Option<IpAddr>,
    /// The last destination with its peer's place.
    last: Option<(IpAddr, usize)>,
    sessions: [Option<Arc<Session>>; SESSIONS],
    sessions_version: u64,
}

impl Reader {
    pub(super) fn new(plane: Arc<Plane>) -> Self {
        let routes_version = plane.routes_version.load(Ordering::Acquire);
        let sessions_version = plane.sessions_version.load(Ordering::Acquire);
        let routes = plane.routes.load_full();
        let directs = plane.directs.load_full();
        Self {
            plane,
            routes,
            routes_version,
            directs,
            noted: None,
            last: None,
            sessions: Default::default(),
            sessions_version,
        }
    }

    /// The plane.
    #[must_use]
    pub fn plane(&self) -> &Arc<Plane> {
        &self.plane
    }

    /// The peer that a packet is sent to: the one at the other end of a [direct path](super::Direct) if the packet takes it,
    /// otherwise as [`Reader::route_from`].
    #[inline]
    pub fn route_packet(
        &mut self,
        now: Duration,
        src: impl FnOnce() -> Option<IpAddr>,
        dst: IpAddr,
        packet: &[u8],
    ) -> Option<&Arc<Peer>> {
        self.refresh_routes();
        if self.noted != Some(dst)
            && let Some(watch) = self.directs.watch()
        {
            self.noted = Some(dst);
            watch.note(dst);
        }
        if self.takes_direct_path(now, dst, packet) {
            return self.directs.at(dst).map(|direct| direct.peer());
        }
        self.route_from(src, dst)
    }

    /// Whether there are direct paths.
    #[inline]
    #[must_use]
    pub fn has_direct_paths(&self) -> bool {
        !self.directs.is_empty()
    }

    /// Whether a packet takes a direct path.
    #[must_use]
    #[inline]
    pub fn takes_direct_path(&self, now: Duration, dst: IpAddr, packet: &[u8]) -> bool {
        !self.directs.is_empty() && self.directs.at(dst).is_some_and(|direct| direct.sends(now, dst, packet))
    }

    /// Whether a packet of `peer` may come by a direct path; `None` if it came by none.
    #[inline]
    pub fn direct_permits(&mut self, now: Duration, peer: &Peer, src: IpAddr, packet: &[u8]) -> Option<bool> {
        self.refresh_routes();
        if self.directs.is_empty() {
            return None;
        }
        let direct = self.directs.at(src)?;
        if direct.peer().id() == peer.id() {
            return Some(direct.takes(now, src, packet));
        }
        direct.came_by_gateway(src, packet);
        None
    }

    /// The peer that a packet from `src` is sent to: that of the destination, or the one [through](Peer::via) which it is reached.
    /// What came through another peer is not sent to a third: two gateways that each believe a peer at the other would pass its
    /// packets on forever.
    #[inline]
    pub fn route_from(&mut self, src: impl FnOnce() -> Option<IpAddr>, dst: IpAddr) -> Option<&Arc<Peer>> {
        let Some(via) = self.route(dst)?.via() else { return self.route(dst) };
        let owner = src().and_then(|src| self.owner(src));
        if owner.is_some_and(|owner| owner.via().is_some()) {
            return None;
        }
        let place = via.slot as usize;
        let is_there =
            self.routes.peers.get(place).is_some_and(|it| it.as_ref().is_some_and(|it| it.id() == via));
        if is_there { self.routes.peers.get(place)?.as_ref() } else { self.route(dst) }
    }

    /// As [`Plane::route`].
    #[inline]
    pub fn route(&mut self, dst: IpAddr) -> Option<&Arc<Peer>> {
        self.refresh_routes();
        let place = match self.last {
            Some((last, place)) if last == dst => place,
            _ => {
                let id = self.routes.table.lookup(dst)?;
                self.last = Some((dst, id.slot as usize));
                id.slot as usize
            }
        };
        self.routes.peers.get(place)?.as_ref()
    }

    /// As [`Plane::session`].
    #[inline]
    pub fn session(&mut self, index: u32) -> Option<&Arc<Session>> {
        let version = self.plane.sessions_version.load(Ordering::Acquire);
        if version != self.sessions_version {
            self.sessions = Default::default();
            self.sessions_version = version;
        }
        let entry = &mut self.sessions[index as usize % SESSIONS];
        if entry.as_ref().is_none_or(|session| session.index != index) {
            *entry = Some(self.plane.session(index)?);
        }
        entry.as_ref()
    }

    /// Whether an inner packet from `src` may come from this peer: its own, or one of a peer that is reached
    /// [through](Peer::via) it.
    #[inline]
    pub fn permits(&mut self, peer: &Peer, src: IpAddr) -> bool {
        self.refresh_routes();
        let Some(owner) = self.owner(src) else { return false };
        owner.id() == peer.id() || owner.via() == Some(peer.id())
    }

    #[inline]
    fn owner(&self, address: IpAddr) -> Option<&Arc<Peer>> {
        let id = self.routes.table.lookup(address)?;
        self.routes.peers.get(id.slot as usize)?.as_ref()
    }

    /// Lets go of sessions and peers.
    pub fn release(&mut self) {
        self.sessions = Default::default();
        self.refresh_routes();
    }

    #[inline]
    fn refresh_routes(&mut self) {
        let version = self.plane.routes_version.load(Ordering::Acquire);
        if version != self.routes_version {
            self.routes = self.plane.routes.load_full();
            self.directs = self.plane.directs.load_full();
            self.routes_version = version;
            self.last = None;
            self.noted = None;
        }
    }
}
