//! TCP connections, each forwarded as two.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};
use warren_device::user::{Incoming, Unreachable};
use warren_lease::policy::Flow;
use warren_proxy::net::DialError;
use warren_proxy::relay::{Moved, Timeouts, relay};
use warren_wire::gateway::Protocol;

use super::shaped::Shaped;
use super::{Nat, Now, Parties, REPORT, icmp_reason};
use crate::gateway::audit::Entry;

/// Connect timeout: less than a peer's own.
const CONNECT: Duration = Duration::from_secs(15);
/// Idle timeouts (RFC 5382 section 5).
const TIMEOUTS: Timeouts =
    Timeouts { idle: Duration::from_secs(2 * 3600 + 240), half_closed: Duration::from_secs(240) };

/// Forwards connections until the tunnel ends.
pub(super) async fn serve(nat: Arc<Nat>) {
    while let Ok(incoming) = nat.inside.incoming().await {
        let flow = Flow {
            source: incoming.from().ip(),
            destination: incoming.to().ip(),
            protocol: Protocol::Tcp,
            port: incoming.to().port(),
        };
        let parties = match nat.admit(&flow) {
            Ok(parties) => parties,
            Err(why) => {
                incoming.deny(Some(why));
                continue;
            }
        };
        if nat.peer_table.draining(&parties.member) {
            // Drop it instead of accepting a connection that ends at once: the retransmission reaches the next gateway.
            tokio::spawn(async move {
                parties.member.gone().await;
                drop(incoming);
            });
            continue;
        }
        let Ok(place) = nat.streams.take(parties.member.key, 1) else {
            nat.counters.failed.fetch_add(1, Ordering::Relaxed);
            incoming.deny(Some(Unreachable::Host));
            continue;
        };
        let nat = Arc::clone(&nat);
        tokio::spawn(async move {
            let _place = place;
            connection(&nat, incoming, &parties, &flow).await;
        });
    }
}

async fn connection(nat: &Nat, incoming: Incoming, parties: &Parties, flow: &Flow) {
    let Parties { member, to } = parties;
    let _now = Now::count(&nat.counters.tcp_now);
    let _flow = member.flow();
    let by_tunnel = nat.outside.by_tunnel(flow.destination);
    nat.counters.tcp.fetch_add(1, Ordering::Relaxed);
    let dialled = tokio::select! {
        dialled = timeout(CONNECT, nat.outside.connect(&incoming, to.as_ref())) => {
            dialled.unwrap_or(Err(DialError::TimedOut))
        }
        () = parties.gone() => return,
    };
    let entry = Entry::new(member, flow, None);
    let outside = match dialled {
        Ok(outside) => outside,
        Err(error) => {
            nat.counters.failed.fetch_add(1, Ordering::Relaxed);
            nat.audit.add(&entry, 1, 0, 0);
            return incoming.deny(icmp_reason(error));
        }
    };
    nat.audit.add(&entry, 1, 0, 0);
    // A peer that gave up has reset the connection; dropping it resets the host's side.
    let admitted = tokio::select! {
        admitted = incoming.admit() => admitted,
        () = parties.gone() => return,
    };
    let Ok(inside) = admitted else { return };
    let (out, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut reported = (0, 0);
    let mut report = || {
        let moved = (out.load(Ordering::Relaxed), back.load(Ordering::Relaxed));
        let (more_out, more_back) = (moved.0 - reported.0, moved.1 - reported.1);
        if more_out > 0 || more_back > 0 {
            nat.counters.bytes_out.fetch_add(more_out, Ordering::Relaxed);
            nat.counters.bytes_in.fetch_add(more_back, Ordering::Relaxed);
            nat.audit.add(&entry, 0, more_out, more_back);
        }
        reported = moved;
    };
    let moved = Moved { there: &out, back: &back };
    let relayed = relay(Shaped::new(inside, Arc::clone(member)), outside, &[], &nat.buffers, TIMEOUTS, moved);
    tokio::pin!(relayed);
    let mut tick = interval(REPORT);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rules = nat.access.changes();
    loop {
        tokio::select! {
            // The relay has passed the end on to both sides.
            _ = &mut relayed => break,
            _ = tick.tick() => report(),
            () = parties.gone() => break,
            _ = rules.changed() => if !nat.may_go_on(parties, flow, by_tunnel) {
                break;
            },
        }
    }
    report();
}
