//! Datagrams: one socket per pair of a peer's port and a host's port (RFC 4787: address- and port-dependent filtering).

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep_until};
use warren_budget::{Part, ShareLimits, Shares};
use warren_device::user::{Datagram, Unreachable};
use warren_lease::policy::Flow;
use warren_proxy::net::DialError;
use warren_wire::PublicKey;
use warren_wire::gateway::Protocol;

use super::{Nat, Now, REPORT};
use crate::gateway::access::Direction;
use crate::gateway::audit::Entry;
use crate::gateway::peers::Member;
use crate::runtime::datapath::Clock;

/// Concurrent flows.
const FLOWS: ShareLimits = ShareLimits { share: 64, each: 4096, total: 32_768 };
/// Bytes that wait in the queues of flows. A share has room for two of the largest datagrams.
const BYTES: ShareLimits = ShareLimits { share: 128 << 10, each: 8 << 20, total: 64 << 20 };
/// Queued datagrams per flow.
const QUEUE_LENGTH: usize = 64;
/// Idle timeout of a flow (RFC 4787 section 4.3), and of one to a name server (RFC 6056).
const IDLE: Duration = Duration::from_secs(120);
const IDLE_DNS: Duration = Duration::from_secs(20);

type Ends = (SocketAddr, SocketAddr);
/// A datagram, and what its peer holds of the memory for it.
type Queued = (Datagram, Part<PublicKey>);
/// Who has a flow, and its queue.
type Flows = Arc<Mutex<HashMap<Ends, (PublicKey, mpsc::Sender<Queued>)>>>;

/// Forwards datagrams until the tunnel ends.
pub(super) async fn serve(nat: Arc<Nat>) {
    let flows = Flows::default();
    let (places, bytes) = (Shares::new(FLOWS), Shares::new(BYTES));
    while let Ok(datagram) = nat.inside.datagram().await {
        let ends = (datagram.remote, datagram.local);
        let known = flows.lock().get(&ends).cloned();
        if let Some((owner, known)) = known {
            let held = bytes.take(owner, datagram.data.len());
            if !held.is_ok_and(|held| known.try_send((datagram, held)).is_ok()) {
                nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
            continue;
        }
        let flow = Flow {
            source: ends.0.ip(),
            destination: ends.1.ip(),
            protocol: Protocol::Udp,
            port: ends.1.port(),
        };
        let member = match nat.admit(&flow) {
            Ok(member) => member,
            Err(_) => {
                nat.inside.unreachable(&datagram, Unreachable::Prohibited);
                continue;
            }
        };
        let (Ok(place), Ok(held)) = (places.take(member.key, 1), bytes.take(member.key, datagram.data.len()))
        else {
            nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let (sender, datagrams) = mpsc::channel(QUEUE_LENGTH);
        // The new queue is empty and accepts it.
        _ = sender.try_send((datagram, held));
        flows.lock().insert(ends, (member.key, sender));
        let (nat, flows) = (Arc::clone(&nat), Arc::clone(&flows));
        tokio::spawn(async move {
            let _place = place;
            run(&nat, ends, datagrams, &member, &flow).await;
            flows.lock().remove(&ends);
        });
    }
}

async fn run(
    nat: &Nat,
    ends: Ends,
    mut datagrams: mpsc::Receiver<Queued>,
    member: &Arc<Member>,
    flow: &Flow,
) {
    let _now = Now::count(&nat.counters.udp_now);
    let _flow = member.flow();
    let by_tunnel = nat.outside.by_tunnel(flow.destination);
    nat.counters.udp.fetch_add(1, Ordering::Relaxed);
    let entry = Entry::new(member, flow, None);
    nat.audit.add(&entry, 1, 0, 0);
    let socket = match nat.outside.bind(ends.1).await {
        Ok(socket) => socket,
        Err(error) => {
            nat.counters.failed.fetch_add(1, Ordering::Relaxed);
            if let Ok((datagram, _)) = datagrams.try_recv() {
                let why = super::icmp_reason(DialError::from(&error)).unwrap_or(Unreachable::Port);
                nat.inside.unreachable(&datagram, why);
            }
            return;
        }
    };
    let idle = if ends.1.port() == 53 { IDLE_DNS } else { IDLE };
    let (mut out, mut back) = (0, 0);
    let mut last = None;
    let mut until = Instant::now() + idle;
    let mut tick = interval(REPORT);
    let mut rules = nat.access.changes();
    loop {
        tokio::select! {
            datagram = datagrams.recv() => {
                let Some((datagram, _held)) = datagram else { break };
                until = Instant::now() + idle;
                if !takes(nat, member, Direction::Out, datagram.data.len()) {
                    continue;
                }
                match socket.send(&datagram.data).await {
                    Ok(sent) => out += sent as u64,
                    Err(error) => refused(nat, &datagram, &error),
                }
                last = Some(datagram);
            }
            received = socket.recv() => match received {
                Ok(data) => {
                    until = Instant::now() + idle;
                    if takes(nat, member, Direction::Back, data.len()) {
                        match nat.inside.send(ends.1, ends.0, &data).await {
                            Ok(()) => back += data.len() as u64,
                            // Larger than the tunnel's MTU: packets are not fragmented inside.
                            Err(_) => _ = nat.counters.dropped.fetch_add(1, Ordering::Relaxed),
                        }
                    }
                }
                Err(error) => if let Some(datagram) = &last {
                    refused(nat, datagram, &error);
                },
            },
            _ = tick.tick() => report(nat, &entry, &mut out, &mut back),
            () = sleep_until(until) => break,
            () = member.gone() => break,
            _ = rules.changed() => if !nat.may_go_on(member, flow, by_tunnel) {
                break;
            },
        }
    }
    report(nat, &entry, &mut out, &mut back);
}

fn takes(nat: &Nat, member: &Member, way: Direction, bytes: usize) -> bool {
    let taken = member.rate_limits.load().take(way, Clock.mono(), bytes);
    if !taken {
        nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
    }
    taken
}

/// The ICMP error that the socket received.
fn refused(nat: &Nat, datagram: &Datagram, error: &io::Error) {
    let why = super::icmp_reason(DialError::from(error)).unwrap_or(Unreachable::Port);
    nat.counters.failed.fetch_add(1, Ordering::Relaxed);
    nat.inside.unreachable(datagram, why);
}

fn report(nat: &Nat, entry: &Entry, out: &mut u64, back: &mut u64) {
    if *out > 0 || *back > 0 {
        nat.counters.bytes_out.fetch_add(*out, Ordering::Relaxed);
        nat.counters.bytes_in.fetch_add(*back, Ordering::Relaxed);
        nat.audit.add(entry, 0, std::mem::take(out), std::mem::take(back));
    }
}
