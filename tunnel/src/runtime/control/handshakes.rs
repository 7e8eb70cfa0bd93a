//! Handshakes of the control thread: how often each was tried, when its name is resolved again, and when a warning is due.

use warren_proto::plane::{Carrier, Endpoint, PeerId};

use super::{
    Lookup,
    state::{Control, HandshakeAttempts, now},
};

/// An unanswered initiation is repeated every 5 s, the very first one sooner. After this many the name is resolved again.
const TRIES_BEFORE_LOOKUP: u32 = 3;

/// After this many a warning is logged: 10 to 16 s without an answer.
const TRIES_BEFORE_WARNING: u32 = 4;

fn needs_warning(attempts: Option<&HandshakeAttempts>) -> bool {
    attempts.is_some_and(|attempts| attempts.initiations >= TRIES_BEFORE_WARNING && !attempts.warned)
}

impl Control {
    pub(super) fn transmit(&mut self, to: &Endpoint, peer: Option<PeerId>, bytes: &[u8]) {
        match to.carrier {
            Carrier::Udp => {
                if let Err(error) = self.datapath.udp().send_one(to, bytes) {
                    tracing::debug!(to = %to.remote, %error, "handshake not sent");
                }
            }
            Carrier::Stream(id) => {
                if !self.datapath.streams().send_one(id, bytes) {
                    tracing::debug!(to = %to.remote, "handshake not sent: no TLS connection");
                }
            }
        }
        // Type 1 is an initiation (whitepaper section 5.4.2).
        let (Some(id), Some(1)) = (peer, bytes.first()) else { return };
        if self.direct.is_of(id) {
            // No answer is nothing unusual there.
            return;
        }
        let attempts = self.attempts.entry(id).or_default();
        attempts.initiations += 1;
        if attempts.initiations.is_multiple_of(TRIES_BEFORE_LOOKUP) {
            self.look_up(id);
        }
        if needs_warning(self.attempts.get(&id)) {
            self.warn_unanswered(id);
        }
    }

    pub(super) fn look_up(&mut self, id: PeerId) {
        let Some(status) = self.engine.peer(now(), id) else { return };
        let Some(name) = self.model.name(&status.public_key) else { return };
        let udp = status.endpoint.filter(|endpoint| endpoint.carrier == Carrier::Udp);
        let unresponsive = udp.map(|endpoint| endpoint.remote);
        // If the queue is full, later initiations request the lookup again.
        _ = self.lookups.try_send(Lookup { peer: status.public_key, name: name.clone(), unresponsive });
    }

    pub(super) fn established(&mut self, id: PeerId) {
        let Some(peer) = self.engine.peer(now(), id) else { return };
        let attempts = self.attempts.entry(id).or_default();
        let remote = peer.endpoint.map(|endpoint| endpoint.remote);
        let moved = attempts.up && attempts.remote != remote;
        let first = !attempts.up || attempts.warned;
        *attempts = HandshakeAttempts { initiations: 0, warned: false, up: true, remote };
        let rtt = peer.handshake_rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
        let at = remote.map(tracing::field::display);
        if first {
            tracing::info!(peer = %peer.public_key, endpoint = at, rtt_ms = rtt, "handshake completed");
        } else {
            tracing::debug!(peer = %peer.public_key, endpoint = at, rtt_ms = rtt, "session renewed");
        }
        if moved {
            tracing::info!(peer = %peer.public_key, endpoint = at, "peer endpoint changed");
        }
    }

    pub(super) fn expired(&mut self, id: PeerId) {
        if self.engine.plane().peer(id).is_none() {
            self.attempts.remove(&id);
            return;
        }
        let attempts = self.attempts.entry(id).or_default();
        attempts.up = false;
        if attempts.initiations > 0 && !attempts.warned {
            self.warn_unanswered(id);
        }
    }

    /// Warns that a peer does not answer, once until its next handshake.
    pub(super) fn warn_unanswered(&mut self, id: PeerId) {
        self.attempts.entry(id).or_default().warned = true;
        let Some(peer) = self.engine.peer(now(), id) else { return };
        tracing::warn!(
            peer = %peer.public_key,
            endpoint = peer.endpoint.map(|endpoint| tracing::field::display(endpoint.remote)),
            hint = "check that UDP passes in both directions, that public keys and preshared key match at both ends, and that the clock is right",
            "the peer does not answer handshakes"
        );
    }
}
