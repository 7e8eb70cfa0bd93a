//! Initiations of others.
//!
//! The checks go from cheap to dear, and nothing is kept before the last of them: mac1 (a hash), the cookie
//! and the source's limit when under load (hashes), the Noise message (two Diffie-Hellman), the peer, its stamp
//! and its limit; only then the response (three more).

use super::{Engine, Output};
use crate::Now;
use crate::handshake::message::{RESPONSE, blank, u32_at};
use crate::handshake::noise::respond;
use crate::plane::{Carrier, Endpoint};
use crate::time::limits::{COOKIE_LIFETIME, INITIATION_INTERVAL};

impl Engine {
    /// The checks that need no peer; false if the message is not to be looked at further.
    pub(super) fn admit(&mut self, now: Now, from: Endpoint, message: &[u8]) -> bool {
        if !self.own_macs.verify_mac1(message) {
            self.stats.bad_mac1 += 1;
            return false;
        }
        if !self.load.offered(now.mono, 1) {
            return true;
        }
        if !self.jar.verify_mac2(&mut self.rng, now.mono, from.remote, message) {
            self.send_cookie(now, from, message);
            return false;
        }
        let allowed = self.limiter.allow(now.mono, from.remote);
        self.stats.source_limited += u64::from(!allowed);
        allowed
    }

    fn send_cookie(&mut self, now: Now, from: Endpoint, message: &[u8]) {
        let reply = self.jar.reply(&mut self.rng, now.mono, from.remote, message, &self.own_macs);
        if let Some(bytes) = reply {
            self.stats.cookies_sent += 1;
            self.outputs.push_back(Output::Transmit { to: from, peer: None, bytes });
        }
    }

    /// A refused initiation whose sender knows our public key. The reply is shorter than the initiation, so a forged source
    /// address gains nothing. Under load there is none: what costs least is done then.
    fn stranger(&mut self, now: Now, from: Endpoint, message: &[u8]) {
        let Some(limiter) = &mut self.strangers else { return };
        let permitted = from.carrier == Carrier::Udp && !self.load.is_under(now.mono);
        if permitted && limiter.allow(now.mono, from.remote) {
            self.send_cookie(now, from, message);
        }
    }

    /// An initiation: answers it, and the session waits for its first data message.
    pub(super) fn initiation(&mut self, now: Now, from: Endpoint, message: &[u8]) {
        let rng = self.rng.child();
        let read = self.identity.read_initiation(rng, message).ok();
        let known = read.and_then(|(noise, key, stamp)| Some((noise, self.peers.by_key(&key)?, stamp)));
        let Some((noise, slot, stamp)) = known else {
            self.stats.refused_initiations += 1;
            self.stranger(now, from, message);
            return;
        };
        let Some(state) = self.peers.get_mut(slot) else { return };
        if state.stamp_received.is_some_and(|last| stamp <= last) {
            self.stats.replayed_initiations += 1;
            return;
        }
        if state.initiation_received.is_some_and(|last| now.mono.saturating_sub(last) < INITIATION_INTERVAL) {
            self.stats.peer_limited += 1;
            return;
        }
        state.stamp_received = Some(stamp);
        state.initiation_received = Some(now.mono);
        // Where the peer tries another carrier, the answer must be seen to arrive before its data takes that way: it
        // moves with the first message of the session.
        if state.shared.endpoint().is_none_or(|known| known.carrier.same_kind(from.carrier)) {
            state.shared.set_endpoint(from);
        }
        let (Some(theirs), Some(ours)) = (u32_at(message, 4), self.indices.allocate(&mut self.rng, slot))
        else {
            return;
        };
        let mut bytes = blank(2, ours, RESPONSE);
        bytes[8..12].copy_from_slice(&theirs.to_le_bytes());
        let Ok(keys) = respond(noise, state.psk.as_deref(), &mut bytes) else {
            self.indices.release(ours);
            self.stats.refused_initiations += 1;
            return;
        };
        let cookie =
            state.cookie.as_ref().filter(|cookie| now.mono.saturating_sub(cookie.received) < COOKIE_LIFETIME);
        let mac1 = state.mac_keys().seal(&mut bytes, cookie.map(|cookie| &cookie.bytes));
        state.last_message = Some((ours, mac1));
        state.last_sent = Some(now.mono);
        state.shared.count_handshake(now.mono, bytes.len() as u64, message.len() as u64);
        let output = Output::Transmit { to: from, peer: Some(state.shared.id()), bytes };
        self.outputs.push_back(output);
        self.install(now, slot, ours, theirs, false, &keys);
    }
}
