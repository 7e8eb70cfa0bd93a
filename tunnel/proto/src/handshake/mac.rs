//! mac1, mac2 and cookies (whitepaper sections 5.4.4 and 5.4.7).
//!
//! mac1 shows that the sender knows the receiver's public key. Under load the receiver also wants mac2, which is
//! made with a cookie, and a cookie goes only to the address it is made for. Neither needs state or a
//! Diffie-Hellman at the receiver.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use blake2::digest::consts::U16;
use blake2::digest::{Digest, KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac};
use chacha20poly1305::aead::AeadInPlace;
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use warren_wire::PublicKey;
use zeroize::Zeroize;

use super::message::{COOKIE_BODY, COOKIE_NONCE, COOKIE_REPLY, MAC, MACS, blank};
use super::random::Rng;
use crate::time::limits::COOKIE_LIFETIME;

type Mac16 = Blake2sMac<U16>;

/// Keys for the messages to one public key.
#[derive(Debug, Clone)]
pub(crate) struct MacKeys {
    mac1: [u8; 32],
    cookie: [u8; 32],
}

impl MacKeys {
    pub(crate) fn new(public: &PublicKey) -> Self {
        Self { mac1: hash(b"mac1----", public.as_bytes()), cookie: hash(b"cookie--", public.as_bytes()) }
    }

    /// Writes both MACs into an initiation or response and returns mac1. Without a cookie mac2 is zero.
    pub(crate) fn seal(&self, message: &mut [u8], cookie: Option<&[u8; MAC]>) -> [u8; MAC] {
        let at = message.len() - MACS;
        let mac1 = mac(&self.mac1, &[&message[..at]]);
        message[at..at + MAC].copy_from_slice(&mac1);
        if let Some(cookie) = cookie {
            let mac2 = mac(cookie, &[&message[..at + MAC]]);
            message[at + MAC..].copy_from_slice(&mac2);
        }
        mac1
    }

    /// Whether mac1 of a message to this key fits.
    pub(crate) fn verify_mac1(&self, message: &[u8]) -> bool {
        let at = message.len() - MACS;
        verify(&self.mac1, &[&message[..at]], &message[at..at + MAC])
    }

    /// Opens the cookie of a reply from this key to the message that had `mac1`.
    pub(crate) fn open_cookie(&self, reply: &[u8], mac1: &[u8; MAC]) -> Option<[u8; MAC]> {
        let mut cookie = [0; MAC];
        let body = &reply[COOKIE_BODY];
        cookie.copy_from_slice(&body[..MAC]);
        let cipher = XChaCha20Poly1305::new((&self.cookie).into());
        let nonce = XNonce::from_slice(&reply[COOKIE_NONCE]);
        cipher.decrypt_in_place_detached(nonce, mac1, &mut cookie, Tag::from_slice(&body[MAC..])).ok()?;
        Some(cookie)
    }

    fn seal_cookie(&self, rng: &mut Rng, receiver: u32, mac1: &[u8], cookie: &[u8; MAC]) -> Option<Vec<u8>> {
        let mut reply = blank(3, receiver, COOKIE_REPLY);
        let nonce: [u8; 24] = rng.array();
        let mut body = *cookie;
        let cipher = XChaCha20Poly1305::new((&self.cookie).into());
        let tag = cipher.encrypt_in_place_detached(XNonce::from_slice(&nonce), mac1, &mut body).ok()?;
        reply[COOKIE_NONCE].copy_from_slice(&nonce);
        reply[COOKIE_BODY.start..COOKIE_BODY.start + MAC].copy_from_slice(&body);
        reply[COOKIE_BODY.start + MAC..].copy_from_slice(&tag);
        Some(reply)
    }
}

/// Makes and checks the cookies that we hand out. The secret changes every two minutes; the one before is still
/// good, so that a cookie lives as long as its receiver thinks.
pub(crate) struct CookieJar {
    secret: [u8; 32],
    before: Option<[u8; 32]>,
    made: Option<Duration>,
}

impl CookieJar {
    pub(crate) fn new() -> Self {
        Self { secret: [0; 32], before: None, made: None }
    }

    fn refresh(&mut self, rng: &mut Rng, now: Duration) {
        let age = self.made.map(|made| now.saturating_sub(made));
        if age.is_some_and(|age| age < COOKIE_LIFETIME) {
            return;
        }
        self.before = age.filter(|age| *age < 2 * COOKIE_LIFETIME).map(|_| self.secret);
        self.secret = rng.array();
        self.made = Some(now);
    }

    /// Whether mac2 of a message was made with a cookie for this address.
    pub(crate) fn verify_mac2(
        &mut self,
        rng: &mut Rng,
        now: Duration,
        from: SocketAddr,
        message: &[u8],
    ) -> bool {
        self.refresh(rng, now);
        let at = message.len() - MAC;
        let fits = |secret: &[u8; 32]| verify(&cookie(secret, from), &[&message[..at]], &message[at..]);
        fits(&self.secret) || self.before.as_ref().is_some_and(fits)
    }

    /// The reply that hands a cookie to the sender of `message`.
    pub(crate) fn reply(
        &mut self,
        rng: &mut Rng,
        now: Duration,
        from: SocketAddr,
        message: &[u8],
        own: &MacKeys,
    ) -> Option<Vec<u8>> {
        self.refresh(rng, now);
        let at = message.len() - MACS;
        let sender = super::message::u32_at(message, 4)?;
        own.seal_cookie(rng, sender, &message[at..at + MAC], &cookie(&self.secret, from))
    }
}

impl Drop for CookieJar {
    fn drop(&mut self) {
        self.secret.zeroize();
        self.before.zeroize();
    }
}

fn cookie(secret: &[u8; 32], from: SocketAddr) -> [u8; MAC] {
    let port = from.port().to_be_bytes();
    match from.ip() {
        IpAddr::V4(address) => mac(secret, &[&address.octets(), &port]),
        IpAddr::V6(address) => mac(secret, &[&address.octets(), &port]),
    }
}

fn hash(label: &[u8], key: &[u8; 32]) -> [u8; 32] {
    Blake2s256::new().chain_update(label).chain_update(key).finalize().into()
}

fn keyed(key: &[u8], parts: &[&[u8]]) -> Mac16 {
    let Ok(mut mac) = <Mac16 as KeyInit>::new_from_slice(key) else {
        unreachable!("BLAKE2s takes keys of up to 32 bytes")
    };
    for part in parts {
        Mac::update(&mut mac, part);
    }
    mac
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; MAC] {
    keyed(key, parts).finalize().into_bytes().into()
}

/// Compares in constant time.
fn verify(key: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
    keyed(key, parts).verify_slice(tag).is_ok()
}
