//! From a packet to its connection: keyed hash tables, and the table of TIME-WAIT (RFC 9293 §3.6.1).

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use hashbrown::HashMap;

use crate::random::{Keyed, address_bits};
use crate::seq::{MS, Nanos};

/// Both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

impl Hash for Flow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(address_bits(self.local.ip()));
        state.write_u128(address_bits(self.remote.ip()));
        state.write_u64(u64::from(self.local.port()) << 16 | u64::from(self.remote.port()));
    }
}

/// Connections by flow, with the last one found at hand: bulk traffic comes in trains.
pub(crate) struct Demux {
    table: HashMap<Flow, u32, Keyed>,
    last: Option<(Flow, u32)>,
}

impl Demux {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self { table: HashMap::with_hasher(keyed), last: None }
    }

    pub(crate) fn find(&mut self, flow: &Flow) -> Option<u32> {
        if let Some((known, index)) = &self.last
            && known == flow
        {
            return Some(*index);
        }
        let index = self.table.get(flow).copied()?;
        self.last = Some((*flow, index));
        Some(index)
    }

    pub(crate) fn insert(&mut self, flow: Flow, index: u32) {
        self.table.insert(flow, index);
    }

    pub(crate) fn remove(&mut self, flow: &Flow) {
        self.last = None;
        self.table.remove(flow);
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.table.allocation_size()
    }
}

/// What is left of a connection that both ends have closed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) window: u16,
    /// Our clock's offset and the peer's last value.
    pub(crate) timestamps: Option<(u32, u32)>,
    expires: Nanos,
    /// Of its one entry in the order, which may be earlier than the end of a wait that began anew.
    queued: Nanos,
    answered_at: Option<Nanos>,
}

/// Least time between two answers to one flow.
const ANSWERS: Nanos = 20 * MS;

/// Connections in TIME-WAIT, oldest first, bounded.
pub(crate) struct TimeWait {
    table: HashMap<Flow, Waiting, Keyed>,
    order: VecDeque<(Nanos, Flow)>,
    maximum: usize,
    duration: Nanos,
}

impl TimeWait {
    pub(crate) fn new(keyed: Keyed, maximum: usize, duration: Nanos) -> Self {
        Self { table: HashMap::with_hasher(keyed), order: VecDeque::new(), maximum, duration }
    }

    pub(crate) fn insert(&mut self, now: Nanos, flow: Flow, mut waiting: Waiting) {
        self.sweep(now);
        // Flows that were taken up again have left an entry in the order, so that is bounded, too.
        while self.order.len() >= self.maximum {
            let Some((queued, oldest)) = self.order.pop_front() else { return };
            if self.table.get(&oldest).is_some_and(|waiting| waiting.queued == queued) {
                self.table.remove(&oldest);
            }
        }
        waiting.expires = now + self.duration;
        waiting.queued = waiting.expires;
        self.order.push_back((waiting.expires, flow));
        self.table.insert(flow, waiting);
    }

    pub(crate) fn find(&mut self, now: Nanos, flow: &Flow) -> Option<Waiting> {
        self.sweep(now);
        self.table.get(flow).filter(|waiting| waiting.expires > now).copied()
    }

    pub(crate) fn contains(&mut self, now: Nanos, flow: &Flow) -> bool {
        self.find(now, flow).is_some()
    }

    /// The wait of a flow begins anew.
    pub(crate) fn refresh(&mut self, now: Nanos, flow: &Flow) {
        if let Some(waiting) = self.table.get_mut(flow) {
            waiting.expires = now + self.duration;
        }
    }

    /// Whether an answer may leave now. Two confused ends must not loop, and a flood has no more answers than this.
    pub(crate) fn may_answer(&mut self, now: Nanos, flow: &Flow) -> bool {
        let Some(waiting) = self.table.get_mut(flow) else { return false };
        let may = waiting.answered_at.is_none_or(|at| now.saturating_sub(at) >= ANSWERS);
        if may {
            waiting.answered_at = Some(now);
        }
        may
    }

    pub(crate) fn remove(&mut self, flow: &Flow) {
        self.table.remove(flow);
    }

    pub(crate) fn memory(&self) -> usize {
        self.table.allocation_size() + self.order.capacity() * size_of::<(Nanos, Flow)>()
    }

    pub(crate) fn sweep(&mut self, now: Nanos) {
        while let Some((expires, flow)) = self.order.front().copied() {
            if expires > now {
                break;
            }
            self.order.pop_front();
            match self.table.get_mut(&flow).filter(|waiting| waiting.queued == expires) {
                Some(waiting) if waiting.expires > now => {
                    waiting.queued = waiting.expires;
                    self.order.push_back((waiting.expires, flow));
                }
                Some(_) => {
                    self.table.remove(&flow);
                }
                None => {}
            }
        }
    }
}

impl Waiting {
    pub(crate) fn new(seq: u32, ack: u32, window: u16, timestamps: Option<(u32, u32)>) -> Self {
        Self { seq, ack, window, timestamps, expires: 0, queued: 0, answered_at: None }
    }
}
