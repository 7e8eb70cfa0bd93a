//! Our initiations and what comes back to them.

use std::time::Duration;

use super::peers::{Cookie, Outgoing, PeerState};
use super::{Engine, Output};
use crate::Now;
use crate::handshake::message::{INITIATION, blank, u32_at};
use crate::handshake::noise::read_response;
use crate::plane::Endpoint;
use crate::time::limits::{COOKIE_LIFETIME, FIRST_RETRY, REKEY_JITTER, REKEY_TIMEOUT};

impl Engine {
    /// Begins an attempt to make a session, or prolongs the one under way.
    pub(super) fn begin(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        state.attempt = now.mono;
        if state.timers.retry.is_none() {
            self.initiate(now, slot);
        }
    }

    /// Sends an initiation, or arranges for it when the last handshake message is too recent.
    pub(super) fn initiate(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let Some(to) = state.shared.endpoint() else {
            // Nobody knows where the peer is; packets wait until it comes by itself.
            state.shared.set_pursuing(false);
            return;
        };
        state.shared.set_pursuing(true);
        let pause = state.pause();
        if let Some(last) = state.last_sent
            && now.mono.saturating_sub(last) < pause
        {
            state.timers.retry = Some(last + pause);
            return;
        }
        let jitter = REKEY_JITTER.mul_f64(f64::from(self.rng.u32()) / f64::from(u32::MAX));
        state.last_sent = Some(now.mono);
        self.send_initiation(now, slot, to, false);
        let Some(state) = self.peers.get_mut(slot) else { return };
        let pause = state.pause();
        state.timers.retry =
            Some(now.mono + pause + if pause == FIRST_RETRY { Duration::ZERO } else { jitter });
    }

    /// Sends an initiation in place of the one that may be on its way. A `probe` is one that nothing depends on.
    pub(super) fn send_initiation(&mut self, now: Now, slot: u32, to: Endpoint, probe: bool) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        if let Some(old) = state.outgoing.take() {
            self.indices.release(old.index);
        }
        let Some(index) = self.indices.allocate(&mut self.rng, slot) else { return };
        let stamp = self.stamps.next(now.wall, state.stamp_sent);
        state.stamp_sent = Some(stamp);
        let mut bytes = blank(1, index, INITIATION);
        let remote = *state.shared.public_key();
        let Ok(noise) = self.identity.initiate(self.rng.child(), &remote, stamp, &mut bytes) else {
            // A public key of low order: no session is possible with it.
            self.indices.release(index);
            return;
        };
        let cookie =
            state.cookie.as_ref().filter(|cookie| now.mono.saturating_sub(cookie.received) < COOKIE_LIFETIME);
        let mac1 = state.mac_keys().seal(&mut bytes, cookie.map(|cookie| &cookie.bytes));
        state.last_message = Some((index, mac1));
        state.outgoing = Some(Box::new(Outgoing { index, state: noise, sent: now.mono, probe }));
        state.initiations += 1;
        if !probe {
            state.waiting.get_or_insert(now.mono);
        }
        state.shared.count_handshake(now.mono, bytes.len() as u64, 0);
        self.outputs.push_back(Output::Transmit { to, peer: Some(state.shared.id()), bytes });
    }

    /// A response: if it belongs to our handshake, the session is there.
    pub(super) fn response(&mut self, now: Now, from: Endpoint, message: &[u8]) {
        if self.try_response(now, from, message).is_none() {
            self.stats.refused_responses += 1;
        }
    }

    fn try_response(&mut self, now: Now, from: Endpoint, message: &[u8]) -> Option<()> {
        let (theirs, ours) = (u32_at(message, 4)?, u32_at(message, 8)?);
        let slot = self.indices.owner(ours)?;
        let state = self.peers.get_mut(slot)?;
        let outgoing = state.outgoing.as_mut().filter(|outgoing| outgoing.index == ours)?;
        let keys = read_response(&mut outgoing.state, state.psk.as_deref(), message).ok()?;
        let sent = outgoing.sent;
        // The index is the session's from here on.
        state.outgoing = None;
        state.rtt = Some(now.mono.saturating_sub(sent));
        state.initiated += 1;
        state.waiting = None;
        state.shared.set_endpoint(from);
        state.shared.count_handshake(now.mono, 0, message.len() as u64);
        state.shared.clear_unanswered();
        self.install(now, slot, ours, theirs, true, &keys);
        Some(())
    }

    /// A cookie reply: the next handshake message to this peer has mac2. It is not sent at once, or a forged or
    /// replayed reply could make us send (whitepaper section 6.6).
    pub(super) fn cookie_reply(&mut self, now: Now, message: &[u8]) {
        let cookie = u32_at(message, 4).and_then(|index| {
            let slot = self.indices.owner(index)?;
            let state = self.peers.get_mut(slot)?;
            let (_, mac1) = state.last_message.filter(|last| last.0 == index)?;
            let bytes = state.mac_keys().open_cookie(message, &mac1)?;
            state.cookie = Some(Box::new(Cookie { bytes, received: now.mono }));
            Some(())
        });
        match cookie {
            Some(()) => self.stats.cookies_received += 1,
            None => self.stats.refused_cookies += 1,
        }
    }
}

impl PeerState {
    /// Time from our last handshake message to the next initiation: short after the first one that this engine ever
    /// sent to the peer, unless there was a session meanwhile.
    fn pause(&self) -> Duration {
        let first = self.initiations == 1 && self.last_handshake.is_none();
        if first { FIRST_RETRY } else { REKEY_TIMEOUT }
    }
}
