//! The connections that reach one peer.
//!
//! A lost packet stops all that follows on its connection for a round trip or more, and a kernel without BBR slows the connection
//! down for much longer. With several connections it stops a part of the flows, for the others have connections of their own.
//!
//! * A flow stays on one connection, so its packets keep their order. If this connection has more than its socket accepts, the
//!   next one whose socket accepts more takes the packet. Only a flow that fills a connection is spread over several.
//! * The peer's endpoint is the bundle: it stays while one connection is left, and the loss of any other moves nothing.
//! * Connections belong together if their requests had the same [`Token`], which only their two ends know. Another connection
//!   joins only after an authentic WireGuard message has arrived on one of the bundle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use warren_proto::plane::{Endpoint, StreamId};
use warren_wire::stream::http::Token;

use super::stream::Stream;
use super::streams::Role;

/// One or several connections to a peer. Shared between threads; sending never waits.
pub struct Bundle {
    id: StreamId,
    endpoint: Endpoint,
    role: Role,
    opened: Duration,
    token: Option<Token>,
    /// Connections that the other end accepts.
    most: usize,
    proven: AtomicBool,
    members: RwLock<Vec<Arc<Stream>>>,
}

/// Statistics of a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleStats {
    /// Its id.
    pub id: StreamId,
    /// Connections now.
    pub connections: usize,
    /// Datagrams that these connections dropped because they are congested.
    pub dropped: u64,
    /// The shortest round trip of their pings, the wait for the socket included; `None` before the first.
    pub rtt: Option<Duration>,
    /// The kernel's congestion control of the first of them.
    pub congestion: Option<String>,
    /// Whether an authentic WireGuard message arrived on one of them.
    pub proven: bool,
}

impl Bundle {
    /// With its first connection, whose endpoint it has.
    pub(super) fn new(first: &Arc<Stream>, token: Option<Token>, most: usize) -> Self {
        let endpoint = *first.from();
        Self {
            id: endpoint.carrier.stream().unwrap_or(StreamId::NONE),
            endpoint,
            role: first.role(),
            opened: first.opened(),
            token,
            most,
            proven: AtomicBool::new(false),
            members: RwLock::new(vec![Arc::clone(first)]),
        }
    }

    /// Its id, by which it is the endpoint of a peer.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// It as the endpoint of a peer: the other end of its first connection.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// Connections that it may have, as the other end accepts them. One where the other end is of an earlier version.
    #[must_use]
    pub fn most(&self) -> usize {
        if self.token.is_some() { self.most } else { 1 }
    }

    pub(super) fn token(&self) -> Option<Token> {
        self.token
    }

    pub(super) fn opened(&self) -> Duration {
        self.opened
    }

    /// Sends `bytes` as datagrams of `segment` bytes, of which the last may be shorter, or lets them wait for a socket, or drops
    /// what there is no room for. All are of one `flow`, any number that its packets share. False: all connections have ended.
    pub fn send(&self, now: Duration, flow: u32, bytes: &[u8], segment: usize) -> bool {
        let members = self.members.read();
        let own = flow as usize % members.len().max(1);
        let in_turn = || members.iter().cycle().skip(own).take(members.len());
        let free = in_turn().find(|member| !member.is_congested());
        free.is_some_and(|member| member.send(now, bytes, segment))
            || in_turn().any(|member| member.send(now, bytes, segment))
    }

    /// Records that an authentic WireGuard message arrived on one of its connections.
    pub fn prove(&self) {
        if !self.proven.swap(true, Ordering::Relaxed) {
            self.members.read().iter().for_each(|member| member.prove());
        }
    }

    pub(super) fn proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    pub(super) fn is_stranger(&self) -> bool {
        self.role == Role::Server && !self.proven()
    }

    /// Adds a connection. False: it has ended, or there are enough.
    pub(super) fn add(&self, member: &Arc<Stream>) -> bool {
        let mut members = self.members.write();
        let room = (1..self.most.max(1)).contains(&members.len());
        if room {
            members.push(Arc::clone(member));
        }
        room
    }

    /// Removes a connection. True: it was the last one.
    pub(super) fn remove(&self, member: &Stream) -> bool {
        let mut members = self.members.write();
        members.retain(|one| one.number() != member.number());
        members.is_empty()
    }

    pub(super) fn members(&self) -> Vec<Arc<Stream>> {
        self.members.read().clone()
    }

    /// Connections now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.members.read().len()
    }

    /// Its statistics.
    #[must_use]
    pub fn stats(&self) -> BundleStats {
        let members = self.members();
        BundleStats {
            id: self.id,
            connections: members.len(),
            dropped: members.iter().map(|member| member.dropped()).sum(),
            rtt: members.iter().filter_map(|member| member.rtt()).min(),
            congestion: members.first().and_then(|member| member.congestion()),
            proven: self.proven(),
        }
    }
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle")
            .field("id", &self.id)
            .field("connections", &self.count())
            .finish_non_exhaustive()
    }
}
