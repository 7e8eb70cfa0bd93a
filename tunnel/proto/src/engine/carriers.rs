//! The way to a peer: what it looks like, and how it is tried and changed from outside.
//!
//! A peer moves by itself as WireGuard's roaming has it: to wherever its last authentic message came from. What is
//! here is for an end that has several ways to choose from, such as UDP and a TLS connection.

use std::time::Duration;

use super::Engine;
use crate::Now;
use crate::plane::{Endpoint, PeerId};
use crate::time::limits::REKEY_TIMEOUT;

/// A handshake so young may still be answered: no probe takes its place.
const YOUNG: Duration = Duration::from_secs(2);

/// Signs of life on a peer's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Liveness {
    /// Where it is.
    pub endpoint: Option<Endpoint>,
    /// Since when something that was sent, data or an initiation, has had no answer of any kind.
    pub waiting: Option<Duration>,
    /// Whether there is a session to send with.
    pub session: bool,
    /// Data packets received so far.
    pub received: u64,
    /// When anything authentic came last.
    pub heard: Option<Duration>,
    /// Handshakes of ours that were answered so far.
    pub handshakes: u64,
    /// Handshakes of the other end whose answer has arrived there, so far.
    pub confirmed: u64,
    /// Round trip of the last of them.
    pub rtt: Option<Duration>,
}

impl Engine {
    /// The signs of life of a peer; `None` if there is no such peer.
    #[must_use]
    pub fn liveness(&self, now: Now, id: PeerId) -> Option<Liveness> {
        let state = self.peers.slot(id).and_then(|slot| self.peers.get(slot))?;
        let peer = &state.shared;
        Some(Liveness {
            endpoint: peer.endpoint(),
            waiting: [peer.unanswered(), state.waiting].into_iter().flatten().min(),
            session: peer.sealer(now.mono).is_some(),
            received: peer.traffic().rx_packets,
            heard: peer.last_received(),
            handshakes: state.initiated,
            confirmed: state.answered,
            rtt: state.rtt,
        })
    }

    /// Sends an initiation to `to` at once. The peer stays where it is until it answers from there, which moves
    /// it; without an answer nothing has changed. False: a handshake is under way, whose answer will tell as much.
    pub fn probe(&mut self, now: Now, id: PeerId, to: Endpoint) -> bool {
        let Some(slot) = self.peers.slot(id) else { return false };
        let Some(state) = self.peers.get(slot) else { return false };
        let young = |sent: Duration| now.mono.saturating_sub(sent) < YOUNG;
        if state.outgoing.as_ref().is_some_and(|outgoing| !outgoing.probe && young(outgoing.sent)) {
            return false;
        }
        self.send_initiation(now, slot, to, true);
        self.serve_wakeups(now);
        true
    }

    /// Moves a peer to `to`, and makes a new session there at once: the other end then learns of the move although
    /// there may be nothing to send, and it may have lost the old session.
    pub fn relocate(&mut self, now: Now, id: PeerId, to: Endpoint) {
        let Some(slot) = self.peers.slot(id) else { return };
        self.hold(id, to);
        let Some(state) = self.peers.get_mut(slot) else { return };
        state.attempt = now.mono;
        state.last_sent = Some(now.mono);
        state.timers.retry = Some(now.mono + REKEY_TIMEOUT);
        state.shared.set_pursuing(true);
        self.send_initiation(now, slot, to, false);
        self.reschedule(slot);
        self.serve_wakeups(now);
    }

    /// Moves a peer to `to` and does no more: for a peer that a late datagram has led astray.
    pub fn hold(&mut self, id: PeerId, to: Endpoint) {
        if let Some(state) = self.peers.slot(id).and_then(|slot| self.peers.get(slot)) {
            state.shared.set_endpoint(to);
        }
    }
}
