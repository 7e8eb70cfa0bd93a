//! Datagrams: one socket per pair of a peer's port and a host's port (RFC 4787: address- and port-dependent filtering). Between
//! peers there is no socket: datagrams keep their addresses and ports, and those of the other direction belong to the same flow.

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
use warren_device::user::{Arrival, Datagram, Unreachable};
use warren_lease::policy::Flow;
use warren_proxy::net::DialError;
use warren_wire::PublicKey;
use warren_wire::gateway::Protocol;

use super::outside::Socket;
use super::{Nat, Now, Parties, REPORT};
use crate::gateway::access::Direction;
use crate::gateway::audit::Entry;

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
/// A datagram in the queue of a flow.
struct Queued {
    datagram: Datagram,
    /// Whether it goes back to the peer that began the flow.
    back: bool,
    /// What its sender holds of the memory for it.
    _held: Part<PublicKey>,
}

/// A direction of a flow.
#[derive(Clone)]
struct Known {
    sender: PublicKey,
    back: bool,
    queue: mpsc::Sender<Queued>,
}

type Flows = Arc<Mutex<HashMap<Ends, Known>>>;

/// Forwards datagrams until the tunnel ends.
pub(super) async fn serve(nat: Arc<Nat>) {
    let flows = Flows::default();
    let (places, bytes) = (Shares::new(FLOWS), Shares::new(BYTES));
    while let Ok(arrival) = nat.inside.datagram().await {
        let datagram = match arrival {
            Arrival::Datagram(datagram) => datagram,
            Arrival::Undelivered(error) => {
                // Only the peer itself says so, and of a datagram that was sent to it.
                if error.by == error.remote.ip() && flows.lock().contains_key(&(error.local, error.remote)) {
                    nat.counters.failed.fetch_add(1, Ordering::Relaxed);
                    let sent = Datagram { local: error.remote, remote: error.local, data: Vec::new() };
                    nat.inside.unreachable(&sent, error.why);
                }
                continue;
            }
        };
        let ends = (datagram.remote, datagram.local);
        let known = flows.lock().get(&ends).cloned();
        if let Some(Known { sender, back, queue }) = known {
            let held = bytes.take(sender, datagram.data.len());
            if !held.is_ok_and(|_held| queue.try_send(Queued { datagram, back, _held }).is_ok()) {
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
        let parties = match nat.admit(&flow) {
            Ok(parties) => parties,
            Err(why) => {
                nat.inside.unreachable(&datagram, why);
                continue;
            }
        };
        let key = parties.member.key;
        let (Ok(place), Ok(_held)) = (places.take(key, 1), bytes.take(key, datagram.data.len())) else {
            nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let (queue, datagrams) = mpsc::channel(QUEUE_LENGTH);
        // The new queue is empty and accepts it.
        _ = queue.try_send(Queued { datagram, back: false, _held });
        let answers = (ends.1, ends.0);
        let mut all = flows.lock();
        if let Some(to) = &parties.to {
            all.insert(answers, Known { sender: to.key, back: true, queue: queue.clone() });
        }
        all.insert(ends, Known { sender: key, back: false, queue });
        drop(all);
        let (nat, flows) = (Arc::clone(&nat), Arc::clone(&flows));
        tokio::spawn(async move {
            let _place = place;
            run(&nat, ends, datagrams, &parties, &flow).await;
            let mut all = flows.lock();
            all.remove(&ends);
            if parties.to.is_some() {
                all.remove(&answers);
            }
        });
    }
}

async fn run(nat: &Nat, ends: Ends, mut datagrams: mpsc::Receiver<Queued>, parties: &Parties, flow: &Flow) {
    let Parties { member, to } = parties;
    let _now = Now::count(&nat.counters.udp_now);
    let _flow = member.flow();
    let by_tunnel = nat.outside.by_tunnel(flow.destination);
    nat.counters.udp.fetch_add(1, Ordering::Relaxed);
    let entry = Entry::new(member, flow, None);
    nat.audit.add(&entry, 1, 0, 0);
    let bound = match to {
        Some(_) => Ok(None),
        None => nat.outside.bind(ends.1).await.map(Some),
    };
    let socket = match bound {
        Ok(socket) => socket,
        Err(error) => {
            nat.counters.failed.fetch_add(1, Ordering::Relaxed);
            if let Ok(Queued { datagram, .. }) = datagrams.try_recv() {
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
            queued = datagrams.recv() => {
                let Some(Queued { datagram, back: is_answer, .. }) = queued else { break };
                until = Instant::now() + idle;
                let length = datagram.data.len();
                match &socket {
                    _ if is_answer => back += between(nat, parties, Direction::Back, ends, &datagram.data).await,
                    None => out += between(nat, parties, Direction::Out, ends, &datagram.data).await,
                    Some(socket) if takes(nat, parties, Direction::Out, length) => {
                        match socket.send(&datagram.data).await {
                            Ok(sent) => out += sent as u64,
                            Err(error) => refused(nat, &datagram, &error),
                        }
                        last = Some(datagram);
                    }
                    Some(_) => {}
                }
            }
            received = receive(socket.as_ref()) => match received {
                Ok(data) => {
                    until = Instant::now() + idle;
                    back += between(nat, parties, Direction::Back, ends, &data).await;
                }
                Err(error) => if let Some(datagram) = &last {
                    refused(nat, datagram, &error);
                },
            },
            _ = tick.tick() => report(nat, &entry, &mut out, &mut back),
            () = sleep_until(until) => break,
            () = parties.gone() => break,
            _ = rules.changed() => if !nat.may_go_on(parties, flow, by_tunnel) {
                break;
            },
        }
    }
    report(nat, &entry, &mut out, &mut back);
}

/// Sends a datagram into the tunnel, within the rate limits: to the other peer, or back in the name of the destination. Returns
/// how many bytes were sent.
async fn between(nat: &Nat, parties: &Parties, way: Direction, ends: Ends, data: &[u8]) -> u64 {
    if !takes(nat, parties, way, data.len()) {
        return 0;
    }
    let (from, to) = if way == Direction::Out { ends } else { (ends.1, ends.0) };
    match nat.inside.send(from, to, data).await {
        Ok(()) => data.len() as u64,
        // Larger than the tunnel's MTU: packets are not fragmented inside.
        Err(_) => {
            nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            0
        }
    }
}

/// What the socket of a flow receives; nothing if it has none.
async fn receive(socket: Option<&Socket>) -> io::Result<Vec<u8>> {
    match socket {
        Some(socket) => socket.recv().await,
        None => std::future::pending().await,
    }
}

fn takes(nat: &Nat, parties: &Parties, way: Direction, bytes: usize) -> bool {
    let taken = parties.take(way, bytes);
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
