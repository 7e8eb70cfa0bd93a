//! Members' connections and their traffic, read periodically for counters and the audit log.
//!
//! The kernel keeps closed connections for longer than the interval between two reads ([`PERIOD`]), so none is missed:
//! TCP for 10 s at least, UDP and ICMP for 30 s.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use warren_lease::policy::{Denial, Flow};
use warren_wire::gateway::Protocol;

use super::conntrack::Connection;
use super::nft::Denied;
use crate::gateway::audit::{Audit, Entry};
use crate::gateway::peers::{Member, PeerTable};

/// Interval between two reads.
pub(super) const PERIOD: Duration = Duration::from_secs(4);

/// The state at the last read.
pub(super) struct Flows {
    peer_table: Arc<PeerTable>,
    audit: Arc<Audit>,
    known: HashMap<u32, Known>,
    /// Bytes of connections that an earlier gateway has already logged.
    old: HashMap<u32, (u64, u64)>,
    denied: HashMap<&'static str, Counted>,
    /// The gateway's own addresses: connections with its name server are not forwarded.
    own: Vec<IpAddr>,
}

/// Packets so far, by source, destination, protocol and port.
type Counted = HashMap<(IpAddr, IpAddr, Protocol, u16), u64>;

struct Known {
    entry: Entry,
    source: IpAddr,
    bytes: (u64, u64),
}

impl Flows {
    /// Starts with existing `connections`.
    pub(super) fn new(
        peer_table: Arc<PeerTable>,
        audit: Arc<Audit>,
        own: Vec<IpAddr>,
        connections: &[Connection],
    ) -> Self {
        let old = connections.iter().map(|connection| (connection.id, connection.bytes)).collect();
        Self { peer_table, audit, known: HashMap::new(), old, denied: HashMap::new(), own }
    }

    /// Records all connections and returns how many TCP and UDP connections members have.
    pub(super) fn look(&mut self, connections: &[Connection]) -> (u64, u64) {
        let mut now: HashMap<IpAddr, u64> = HashMap::new();
        let (mut tcp, mut udp) = (0, 0);
        let mut before = std::mem::take(&mut self.known);
        for connection in connections {
            let Some(protocol) = protocol(connection.protocol) else { continue };
            if self.own.contains(&connection.destination) {
                continue;
            }
            // A removed member's traffic up to the last read is logged already.
            let seen = before.remove(&connection.id).filter(|seen| seen.source == connection.source);
            let (entry, counted, count) = match seen {
                Some(seen) => (seen.entry, seen.bytes, 0),
                None => {
                    let Some(member) = self.peer_table.of(connection.source) else { continue };
                    let logged = self.old.remove(&connection.id);
                    (
                        entry(&member, connection, protocol),
                        logged.unwrap_or_default(),
                        u64::from(logged.is_none()),
                    )
                }
            };
            let bytes = connection.bytes;
            let more = (bytes.0.saturating_sub(counted.0), bytes.1.saturating_sub(counted.1));
            if count > 0 || more != (0, 0) {
                self.audit.add(&entry, count, more.0, more.1);
            }
            self.known.insert(connection.id, Known { entry, source: connection.source, bytes });
            if !connection.ended {
                tcp += u64::from(protocol == Protocol::Tcp);
                udp += u64::from(protocol == Protocol::Udp);
                *now.entry(connection.source).or_default() += u64::from(protocol != Protocol::Icmp);
            }
        }
        for member in self.peer_table.all() {
            let flows = member.addresses.iter().filter_map(|address| now.get(address)).sum();
            member.flows.store(flows, Ordering::Relaxed);
        }
        (tcp, udp)
    }

    /// Records the refused packets of one set.
    pub(super) fn refused(&mut self, set: &'static str, all: &[Denied]) {
        let mut now = Counted::new();
        let before = self.denied.remove(set).unwrap_or_default();
        for denied in all {
            let key = (denied.source, denied.destination, denied.protocol, denied.port);
            let counted = before.get(&key).copied().filter(|counted| *counted <= denied.packets).unwrap_or(0);
            let more = denied.packets - counted;
            if more > 0
                && let Some(member) = self.peer_table.of(denied.source)
            {
                let Denied { source, destination, protocol, port, .. } = *denied;
                let flow = Flow { source, destination, protocol, port };
                self.audit.deny(&member, &flow, Denial::Destination, more);
            }
            now.insert(key, denied.packets);
        }
        self.denied.insert(set, now);
    }
}

fn entry(member: &Member, connection: &Connection, protocol: Protocol) -> Entry {
    let Connection { source, destination, port, .. } = *connection;
    Entry::new(member, &Flow { source, destination, protocol, port }, None)
}

fn protocol(number: u8) -> Option<Protocol> {
    match number {
        6 => Some(Protocol::Tcp),
        17 => Some(Protocol::Udp),
        1 | 58 => Some(Protocol::Icmp),
        _ => None,
    }
}
