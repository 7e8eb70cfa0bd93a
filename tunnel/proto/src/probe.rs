//! Measures the path to another end: initiations, and whatever it answers.
//!
//! ```text
//! with a key that the other end knows:  initiation ──► response       the session is not used, and ends by itself
//! with a key of this probe alone:       initiation ──► cookie reply   of a gateway, or of any WireGuard under load
//! ```
//!
//! Both answers are authentic: only the holder of the other end's private key, or of a cookie of this very initiation, makes
//! them. A session of the same key at the other end is replaced, so a probe must not use the key of a running tunnel.

use std::sync::Arc;
use std::time::Duration;

use snow::HandshakeState;
use warren_wire::{PresharedKey, PrivateKey, PublicKey};

use crate::handshake::known::SharedKnown;
use crate::handshake::mac::MacKeys;
use crate::handshake::message::{INITIATION, Kind, MAC, blank, kind, u32_at};
use crate::handshake::noise::{Identity, read_response};
use crate::handshake::random::Rng;
use crate::handshake::stamp::{Stamp, Stamps};

/// A prober of one other end.
pub struct Prober {
    identity: Identity,
    own_macs: MacKeys,
    remote: PublicKey,
    macs: MacKeys,
    psk: Option<PresharedKey>,
    rng: Rng,
    stamps: Stamps,
    last: Option<Stamp>,
    sent: Vec<Sent>,
}

/// An initiation that has no answer yet.
struct Sent {
    number: usize,
    index: u32,
    state: HandshakeState,
    mac1: [u8; MAC],
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The other end knows the key.
    Response,
    /// It does not, or is under load.
    Cookie,
}

impl Prober {
    /// A prober that is known to the other end by `key`, or a stranger to it. `seed` is all its randomness.
    #[must_use]
    pub fn new(
        key: Option<PrivateKey>,
        remote: PublicKey,
        psk: Option<PresharedKey>,
        seed: [u8; 32],
    ) -> Self {
        let mut rng = Rng::new(seed);
        let key = key.unwrap_or_else(|| PrivateKey::from_random(rng.array()));
        let known = SharedKnown::default();
        known.lock().insert(remote, 0);
        let identity = Identity::new(key, Arc::clone(&known));
        Self {
            own_macs: MacKeys::new(&identity.public()),
            identity,
            macs: MacKeys::new(&remote),
            remote,
            psk,
            rng,
            stamps: Stamps::default(),
            last: None,
            sent: Vec::new(),
        }
    }

    /// The initiation with this number, to be sent at once. `wall` is the time since the UNIX epoch. `None`: the public key of
    /// the other end is none with which a session is possible.
    #[must_use]
    pub fn ask(&mut self, number: usize, wall: Duration) -> Option<Vec<u8>> {
        let stamp = self.stamps.next(wall, self.last);
        self.last = Some(stamp);
        let index = self.rng.u32();
        let mut bytes = blank(1, index, INITIATION);
        let state = self.identity.initiate(self.rng.child(), &self.remote, stamp, &mut bytes).ok()?;
        let mac1 = self.macs.seal(&mut bytes, None);
        self.sent.push(Sent { number, index, state, mac1 });
        Some(bytes)
    }

    /// Reads a datagram. If it is the first answer to an initiation, returns the number of that.
    #[must_use]
    pub fn answered(&mut self, datagram: &[u8]) -> Option<(usize, Answer)> {
        let (receiver, answer) = match kind(datagram)? {
            Kind::Response => (u32_at(datagram, 8)?, Answer::Response),
            Kind::CookieReply => (u32_at(datagram, 4)?, Answer::Cookie),
            Kind::Initiation => return None,
        };
        let at = self.sent.iter().position(|sent| sent.index == receiver)?;
        let sent = &mut self.sent[at];
        let authentic = match answer {
            Answer::Response => {
                self.own_macs.verify_mac1(datagram)
                    && read_response(&mut sent.state, self.psk.as_ref(), datagram).is_ok()
            }
            Answer::Cookie => self.macs.open_cookie(datagram, &sent.mac1).is_some(),
        };
        authentic.then(|| (self.sent.swap_remove(at).number, answer))
    }
}

impl std::fmt::Debug for Prober {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prober").field("remote", &self.remote).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Now;
    use crate::engine::{Engine, EngineConfig, Output, PeerConfig};
    use crate::plane::Endpoint;

    fn key(byte: u8) -> PrivateKey {
        PrivateKey::from_random([byte; 32])
    }

    fn engine(answer_strangers: bool) -> Engine {
        let mut engine = Engine::new(EngineConfig { answer_strangers, ..EngineConfig::new(key(1)) }, [1; 32]);
        engine.upsert_peer(now(0), PeerConfig::new(key(2).public()));
        engine
    }

    fn now(milliseconds: u64) -> Now {
        let mono = Duration::from_millis(milliseconds);
        Now { mono, wall: Duration::from_secs(1_800_000_000) + mono }
    }

    fn exchange(engine: &mut Engine, at: Now, message: &[u8]) -> Vec<Vec<u8>> {
        let from = Endpoint::new("192.0.2.1:7".parse().unwrap());
        engine.handle(at, from, &mut message.to_vec());
        let sent = std::iter::from_fn(|| engine.poll_output());
        sent.filter_map(|output| match output {
            Output::Transmit { bytes, .. } => Some(bytes),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_peer_gets_a_response_and_a_stranger_of_a_gateway_a_cookie() {
        for (own, strangers, expected) in [
            (Some(key(2)), false, Some(Answer::Response)),
            (None, true, Some(Answer::Cookie)),
            (None, false, None),
        ] {
            let mut engine = engine(strangers);
            let mut prober = Prober::new(own, key(1).public(), None, [9; 32]);
            for number in [4, 5] {
                let at = now(1000 * number as u64);
                let message = prober.ask(number, at.wall).unwrap();
                let answers = exchange(&mut engine, at, &message);
                let read: Vec<_> = answers.iter().filter_map(|answer| prober.answered(answer)).collect();
                assert_eq!(read, expected.map(|answer| (number, answer)).into_iter().collect::<Vec<_>>());
                assert!(answers.iter().all(|answer| prober.answered(answer).is_none()), "counted twice");
                assert!(answers.iter().all(|answer| answer.len() < message.len()), "amplified");
            }
        }
    }

    #[test]
    fn forged_answers_and_questions_to_another_key_count_for_nothing() {
        let mut engine = engine(true);
        let mut prober = Prober::new(None, key(1).public(), None, [9; 32]);
        let message = prober.ask(0, now(0).wall).unwrap();
        let [answer] = &exchange(&mut engine, now(0), &message)[..] else { panic!("one answer") };
        let mut forged = answer.clone();
        forged[40] ^= 1;
        assert_eq!(prober.answered(&forged), None);
        assert_eq!(prober.answered(answer), Some((0, Answer::Cookie)));
        // Who does not know the gateway's key hears nothing.
        let mut stranger = Prober::new(None, key(7).public(), None, [8; 32]);
        let message = stranger.ask(0, now(1).wall).unwrap();
        assert!(exchange(&mut engine, now(1), &message).is_empty());
    }

    #[test]
    fn strangers_are_answered_at_a_rate() {
        let mut engine = engine(true);
        let mut prober = Prober::new(None, key(1).public(), None, [9; 32]);
        let mut answers = 0;
        for number in 0..200 {
            let at = now(number * 10);
            let message = prober.ask(0, at.wall).unwrap();
            answers += exchange(&mut engine, at, &message).len();
        }
        assert!((35..=50).contains(&answers), "{answers} in two seconds");
    }
}
