//! Direct paths to peers whose packets pass another peer, a gateway, otherwise.
//!
//! Such a peer has no allowed IPs of its own: routes are as without it. What takes its path is decided for each flow, because a
//! gateway may end connections and make them anew: one that began there has other sequence numbers at its two ends, and must stay.
//!
//! ```text
//! connection begins while the path is up, and a rule permits it --> kept in a table at both ends --> direct, else by the gateway
//! connection begins by the gateway ---------------------------------------------------------------> always by the gateway
//! datagrams, echo ----------------------------------------------------------------> direct while the path is up and a rule permits it
//! ```
//!
//! The same table and rules are the filter for what arrives directly: the gateway does not see it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use warren_wire::gateway::{Opening, Protocol};

use super::Peer;
use super::flow::{Role, parse, quoted_ends};

/// Flows of one path that are remembered. Others that begin pass the gateway.
const FLOWS: usize = 4096;
/// When there are so many, those that were idle for so long make way: connections, and others.
const IDLE: (Duration, Duration) = (Duration::from_secs(600), Duration::from_secs(60));

/// What a gateway has offered about a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectRules {
    /// Its addresses inside the tunnel.
    pub addresses: Vec<IpAddr>,
    /// Flows that this end may begin.
    pub opens: Vec<Opening>,
    /// Flows that the peer may begin.
    pub accepts: Vec<Opening>,
}

/// A direct path.
#[derive(Debug)]
pub struct Direct {
    peer: Arc<Peer>,
    rules: DirectRules,
    up: AtomicBool,
    flows: Mutex<BTreeMap<Flow, Duration>>,
    refused: AtomicU64,
}

/// A flow by its ends other than this one's address, of which there is one in each family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    peer: IpAddr,
    protocol: Protocol,
    own_port: u16,
    peer_port: u16,
}

impl Direct {
    /// A path that is not in use yet.
    #[must_use]
    pub fn new(peer: Arc<Peer>, rules: DirectRules) -> Self {
        Self { peer, rules, up: AtomicBool::new(false), flows: Mutex::default(), refused: AtomicU64::new(0) }
    }

    /// A path after another one to the same pod, whose flows return to it as far as the rules still allow them. Until then, the
    /// former one must have seen all packets, not [in use](Self::set_up).
    #[must_use]
    pub fn after(peer: Arc<Peer>, rules: DirectRules, before: &Self) -> Self {
        let next = Self::new(peer, rules);
        let mut flows = before.flows.lock().clone();
        flows.retain(|flow, _| {
            next.rules.addresses.contains(&flow.peer)
                && (permits(&next.rules.opens, flow.protocol, flow.peer_port)
                    || permits(&next.rules.accepts, flow.protocol, flow.own_port))
        });
        *next.flows.lock() = flows;
        next
    }

    /// The peer at its other end.
    #[must_use]
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// What it permits.
    #[must_use]
    pub fn rules(&self) -> &DirectRules {
        &self.rules
    }

    /// Uses the path from now on, or the gateway. Flows that are known return to it when it is up again.
    pub fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Relaxed);
    }

    /// Whether it is in use.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Flows that are remembered.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.lock().len()
    }

    /// Packets of the peer that no rule allowed.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether a packet to this address of the peer takes the path.
    #[must_use]
    pub fn sends(&self, now: Duration, to: IpAddr, packet: &[u8]) -> bool {
        let Some(seen) = parse(packet) else { return false };
        let up = self.is_up();
        if seen.role == Role::Error {
            // About a packet that came from the peer.
            let of = |(source, _)| Flow::new(source, seen.protocol, seen.destination_port, seen.source_port);
            return up && quoted_ends(packet).map(of).is_some_and(|flow| self.known(now, &flow));
        }
        let flow = Flow::new(to, seen.protocol, seen.source_port, seen.destination_port);
        let permitted = up && permits(&self.rules.opens, seen.protocol, seen.destination_port);
        match seen.role {
            Role::Begin if permitted => self.remember(now, flow) || self.forget(&flow),
            Role::Begin => self.forget(&flow),
            Role::Segment | Role::Reply | Role::Error => up && self.known(now, &flow),
            Role::Datagram => up && (self.known(now, &flow) || (permitted && self.remember(now, flow))),
        }
    }

    /// Whether a packet from this address of the peer may come by the path.
    #[must_use]
    pub fn takes(&self, now: Duration, from: IpAddr, packet: &[u8]) -> bool {
        let taken = self.is_permitted(now, from, packet);
        if !taken {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    fn is_permitted(&self, now: Duration, from: IpAddr, packet: &[u8]) -> bool {
        let Some(seen) = parse(packet) else { return false };
        if seen.role == Role::Error {
            // About a packet that this end sent.
            let of = |(_, destination)| {
                Flow::new(destination, seen.protocol, seen.source_port, seen.destination_port)
            };
            return quoted_ends(packet).map(of).is_some_and(|flow| self.known(now, &flow));
        }
        let flow = Flow::new(from, seen.protocol, seen.destination_port, seen.source_port);
        let accepted = permits(&self.rules.accepts, seen.protocol, seen.destination_port);
        match seen.role {
            Role::Begin => accepted && self.remember(now, flow),
            Role::Datagram => self.known(now, &flow) || (accepted && self.remember(now, flow)),
            Role::Reply | Role::Error => self.known(now, &flow),
            // The tables of both ends differ after one of them has lost its own. Segments open nothing.
            Role::Segment => {
                self.known(now, &flow)
                    || ((accepted || permits(&self.rules.opens, seen.protocol, seen.source_port))
                        && self.remember(now, flow))
            }
        }
    }

    /// To be called for a packet of the peer that came by the gateway: a connection that begins there stays there.
    pub fn came_by_gateway(&self, from: IpAddr, packet: &[u8]) {
        if let Some(seen) = parse(packet)
            && seen.role == Role::Begin
        {
            self.forget(&Flow::new(from, seen.protocol, seen.destination_port, seen.source_port));
        }
    }

    fn known(&self, now: Duration, flow: &Flow) -> bool {
        self.flows.lock().get_mut(flow).map(|last| *last = now).is_some()
    }

    /// False if there are too many.
    fn remember(&self, now: Duration, flow: Flow) -> bool {
        let mut flows = self.flows.lock();
        if flows.len() >= FLOWS && !flows.contains_key(&flow) {
            flows.retain(|of, last| {
                let idle = if of.protocol == Protocol::Tcp { IDLE.0 } else { IDLE.1 };
                now.saturating_sub(*last) < idle
            });
            if flows.len() >= FLOWS {
                return false;
            }
        }
        flows.insert(flow, now);
        true
    }

    /// Always false, for those who ask whether it is remembered.
    fn forget(&self, flow: &Flow) -> bool {
        self.flows.lock().remove(flow);
        false
    }
}

impl Flow {
    fn new(peer: IpAddr, protocol: Protocol, own_port: u16, peer_port: u16) -> Self {
        Self { peer, protocol, own_port, peer_port }
    }
}

fn permits(openings: &[Opening], protocol: Protocol, port: u16) -> bool {
    let port = if protocol == Protocol::Icmp { 0 } else { port };
    openings.iter().any(|opening| opening.permits(protocol, port))
}

/// All direct paths by the addresses of their peers, and the destinations that packets were sent to.
#[derive(Debug, Default)]
pub(super) struct Directs {
    by_address: BTreeMap<IpAddr, Arc<Direct>>,
    watch: Option<Arc<Watch>>,
}

/// Notes which addresses of some ranges packets are sent to.
#[derive(Debug)]
pub(super) struct Watch {
    nets: Vec<IpNet>,
    seen: Mutex<BTreeSet<IpAddr>>,
}

/// Destinations that are noted between two readings.
const SEEN: usize = 256;

impl Directs {
    pub(super) fn new(directs: &[Arc<Direct>], watch: Option<Arc<Watch>>) -> Self {
        let of = |direct: &Arc<Direct>| {
            let direct = Arc::clone(direct);
            direct.rules.addresses.clone().into_iter().map(move |address| (address, Arc::clone(&direct)))
        };
        Self { by_address: directs.iter().flat_map(of).collect(), watch }
    }

    /// The same paths with another watch.
    pub(super) fn watched(&self, watch: Option<Arc<Watch>>) -> Self {
        Self { by_address: self.by_address.clone(), watch }
    }

    pub(super) fn watch(&self) -> Option<&Arc<Watch>> {
        self.watch.as_ref()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    #[inline]
    pub(super) fn at(&self, address: IpAddr) -> Option<&Arc<Direct>> {
        self.by_address.get(&address)
    }
}

impl Watch {
    pub(super) fn new(nets: Vec<IpNet>) -> Self {
        Self { nets, seen: Mutex::default() }
    }

    pub(super) fn is_of(&self, nets: &[IpNet]) -> bool {
        self.nets == nets
    }

    #[cold]
    pub(super) fn note(&self, to: IpAddr) {
        if self.nets.iter().any(|net| net.contains(&to)) {
            let mut seen = self.seen.lock();
            if seen.len() < SEEN {
                seen.insert(to);
            }
        }
    }

    pub(super) fn take(&self) -> Vec<IpAddr> {
        std::mem::take(&mut *self.seen.lock()).into_iter().collect()
    }
}
