//! Timers (whitepaper sections 6.2 to 6.5).
//!
//! ```text
//!                  data to send, keepalive due, session old
//!        idle ------------------------------------------------> initiation sent <-----+
//!         ^                                                      |      |    |  retry | REKEY_TIMEOUT + jitter
//!         |        REKEY_ATTEMPT_TIME over: staged packets are dropped  |    +--------+
//!         +------------------------------------------------------+      | response, or the peer's own session
//!         |                                                             v
//!         +<---------------- REJECT_AFTER_TIME ------------------- session in use
//! ```
//!
//! * retry: as drawn, but the very first initiation to a peer is repeated after FIRST_RETRY. An initiation that is
//!   wanted within REKEY_TIMEOUT of our last handshake message waits for the end of it.
//! * traffic: data received is answered by a keepalive after KEEPALIVE_TIMEOUT, data sent without any answer for
//!   KEEPALIVE_TIMEOUT + REKEY_TIMEOUT starts a new handshake. The data path only sets marks; the timer looks at
//!   them at least every KEEPALIVE_TIMEOUT while there is one, and stops when there is none.
//! * keepalive: the persistent one, counted from the last authentic message of either direction.
//! * the end of sessions.
//!
//! One heap holds the next time of each peer. A time that moved forward leaves its entry behind, which then finds
//! nothing to do; so a packet costs the heap nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::{Engine, Output};
use crate::Now;
use crate::plane::{ARRIVED, CONFIRMED, DropReason, PeerId, REKEY, TRAFFIC, WANT_SESSION};
use crate::time::limits::{KEEPALIVE_TIMEOUT, REKEY_ATTEMPT_TIME, REKEY_TIMEOUT};
use crate::transport::{DATA_HEADER, TAG};

/// Peers that one call of `handle_timeout` serves: handshake messages that came meanwhile get their turn.
const BATCH: usize = 128;

/// After this long without an answer the configured endpoint is tried too.
const ELSEWHERE: Duration = Duration::from_secs(30);

/// When something is due for a peer.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Send an initiation, again or for the first time.
    pub(super) retry: Option<Duration>,
    /// Send a persistent keepalive, unless something passed meanwhile.
    pub(super) keepalive: Option<Duration>,
    /// Look at the traffic marks.
    pub(super) traffic: Option<Duration>,
    /// Time of the earliest entry in the heap.
    scheduled: Option<Duration>,
}

#[derive(Debug, Default)]
pub(super) struct Heap(BinaryHeap<Reverse<(Duration, u32)>>);

impl Engine {
    /// Monotonic time at which [`Engine::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.heap.0.peek().map(|Reverse((time, _))| *time)
    }

    /// Does what is due. May be called early. It may leave some for the next call, so that handshake messages
    /// get their turn: [`Engine::poll_timeout`] is then not in the future.
    pub fn handle_timeout(&mut self, now: Now) {
        for _ in 0..BATCH {
            let Some(Reverse((time, slot))) =
                self.heap.0.peek().copied().filter(|entry| entry.0.0 <= now.mono)
            else {
                break;
            };
            self.heap.0.pop();
            let Some(state) = self.peers.get_mut(slot) else { continue };
            if state.timers.scheduled != Some(time) {
                continue;
            }
            state.timers.scheduled = None;
            self.run(now, slot);
            self.reschedule(slot);
        }
        self.serve_wakeups(now);
    }

    /// Serves a request of the data path, reported by a `Wakeup`.
    pub fn serve_wakeups(&mut self, now: Now) {
        for id in self.plane.take_attention() {
            let Some(slot) = self.peers.slot(id) else { continue };
            let Some(state) = self.peers.get(slot) else { continue };
            let wants = state.shared.take_wants();
            if wants & CONFIRMED != 0 {
                self.confirmed(now, slot);
            }
            if wants & ARRIVED != 0 {
                self.outputs.push_back(Output::Arrived(id));
            }
            if wants & REKEY != 0 {
                self.rekey(now, slot);
            }
            if wants & WANT_SESSION != 0 {
                self.want(now, slot);
            }
            if wants & TRAFFIC != 0 {
                self.traffic(now, slot);
            }
            self.reschedule(slot);
        }
    }

    /// Makes a session with a peer unless there is one or one is being made.
    pub fn want_session(&mut self, now: Now, id: PeerId) {
        if let Some(slot) = self.peers.slot(id) {
            self.want(now, slot);
            self.reschedule(slot);
        }
        self.serve_wakeups(now);
    }

    /// Puts the peer's next time into the heap if it is earlier than what is there.
    pub(super) fn reschedule(&mut self, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let timers = &mut state.timers;
        let due = [timers.retry, timers.keepalive, timers.traffic, state.sessions.expiry()];
        let Some(due) = due.into_iter().flatten().min() else { return };
        if timers.scheduled.is_none_or(|scheduled| due < scheduled) {
            timers.scheduled = Some(due);
            self.heap.0.push(Reverse((due, slot)));
        }
    }

    /// Sends a keepalive, or asks for a session if there is none.
    pub(super) fn keepalive(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get(slot) else { return };
        let peer = &state.shared;
        let Some(to) = peer.endpoint() else { return };
        let key = peer.sealer(now.mono).and_then(|key| key.reserve(1).map(|counter| (key, counter)));
        let Some((key, counter)) = key else {
            self.begin(now, slot);
            return;
        };
        let mut bytes = vec![0; DATA_HEADER + TAG];
        key.seal(counter, &mut bytes);
        // The caller drains the queue of wakeups: every input ends with `serve_wakeups`.
        let _ = peer.sent(now.mono, 0, bytes.len() as u64);
        let output = Output::Transmit { to, peer: Some(peer.id()), bytes };
        self.outputs.push_back(output);
    }

    fn want(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get(slot) else { return };
        if state.shared.sealer(now.mono).is_none() {
            self.begin(now, slot);
        } else if state.shared.has_staged() {
            self.outputs.push_back(Output::Flush(state.shared.id()));
        }
    }

    fn rekey(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get(slot) else { return };
        // Once a session: the retries do the rest.
        state.shared.set_rekey(None, None);
        self.begin(now, slot);
    }

    fn run(&mut self, now: Now, slot: u32) {
        let due = |time: Option<Duration>| time.is_some_and(|time| time <= now.mono);
        let Some(state) = self.peers.get(slot) else { return };
        if due(state.sessions.expiry()) {
            self.expire(now, slot);
        }
        if self.peers.get(slot).is_some_and(|state| due(state.timers.retry)) {
            self.retry(now, slot);
        }
        if self.peers.get(slot).is_some_and(|state| due(state.timers.traffic)) {
            self.traffic(now, slot);
        }
        if self.peers.get(slot).is_some_and(|state| due(state.timers.keepalive)) {
            self.persistent(now, slot);
        }
    }

    fn retry(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        state.timers.retry = None;
        let elapsed = now.mono.saturating_sub(state.attempt);
        if elapsed < REKEY_ATTEMPT_TIME {
            if state.outgoing.is_some() {
                state.try_elsewhere(elapsed >= ELSEWHERE);
            }
            self.initiate(now, slot);
            return;
        }
        let outgoing = state.outgoing.take();
        state.waiting = None;
        state.shared.set_pursuing(false);
        let dropped = state.shared.take_staged().len() as u64;
        state.shared.drops().count(DropReason::GivenUp, dropped);
        let id = state.shared.id();
        if let Some(outgoing) = outgoing {
            self.indices.release(outgoing.index);
        }
        self.outputs.push_back(Output::Expired(id));
    }

    fn traffic(&mut self, now: Now, slot: u32) {
        loop {
            let Some(state) = self.peers.get_mut(slot) else { return };
            let peer = &state.shared;
            let silent = peer.unanswered().map(|since| since + KEEPALIVE_TIMEOUT + REKEY_TIMEOUT);
            let answer = peer.unacknowledged().map(|since| since + KEEPALIVE_TIMEOUT);
            if silent.is_some_and(|due| due <= now.mono) {
                peer.clear_unanswered();
                state.try_elsewhere(false);
                self.begin(now, slot);
                continue;
            }
            if answer.is_some_and(|due| due <= now.mono) {
                peer.clear_unacknowledged();
                self.keepalive(now, slot);
                continue;
            }
            if let Some(due) = [silent, answer].into_iter().flatten().min() {
                // Not later than that: a mark set from now on may be due then.
                state.timers.traffic = Some(due.min(now.mono + KEEPALIVE_TIMEOUT));
                return;
            }
            state.timers.traffic = None;
            peer.disarm();
            if peer.unanswered().is_none() && peer.unacknowledged().is_none() {
                return;
            }
            peer.rearm();
        }
    }

    fn persistent(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let Some(interval) = state.keepalive else {
            state.timers.keepalive = None;
            return;
        };
        let last = state.shared.last_traversal();
        let due = last.map_or(now.mono, |last| last + interval);
        if due > now.mono {
            state.timers.keepalive = Some(due);
            return;
        }
        state.timers.keepalive = Some(now.mono + interval);
        self.keepalive(now, slot);
    }
}
