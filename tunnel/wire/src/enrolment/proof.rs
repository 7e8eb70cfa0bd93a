//! Proof of possession of a WireGuard key, bound to one TLS connection.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake2::digest::{FixedOutput as _, KeyInit, Mac as _};
use blake2::{Blake2s256, Blake2sMac256, Digest as _};
use x25519_dalek::{PublicKey as Point, StaticSecret};
use zeroize::Zeroizing;

use crate::key::{PrivateKey, PublicKey};

/// The label of the TLS exporter for the [`ChannelBinding`] (RFC 9266), used without a context.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-Channel-Binding";

/// 32 bytes that both ends of one TLS connection know and no other connection has: `tls-exporter` of RFC 9266.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChannelBinding(pub [u8; 32]);

impl ChannelBinding {
    /// The text of 32 random bytes that take the binding's place on a connection without TLS: who has them sends them first.
    #[must_use]
    pub fn to_challenge(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads such a text.
    #[must_use]
    pub fn from_challenge(text: &str) -> Option<Self> {
        let mut buffer = [0; 34];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut buffer).ok()?;
        buffer.get(..length)?.try_into().ok().map(Self)
    }
}

impl fmt::Debug for ChannelBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelBinding(redacted)")
    }
}

/// The request that a proof is valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Enrolment.
    Enrol,
    /// Release of a lease.
    Release,
    /// The report of a gateway, for another one.
    Report,
    /// Credentials of clouds, requested through the tunnel.
    Credentials,
    /// Direct paths to other peers, requested through the tunnel.
    Direct,
}

impl Purpose {
    fn tag(self) -> &'static [u8] {
        match self {
            Self::Enrol => b"warren enrol 1",
            Self::Release => b"warren release 1",
            Self::Report => b"warren report 1",
            Self::Credentials => b"warren credentials 1",
            Self::Direct => b"warren direct 1",
        }
    }
}

/// BLAKE2s-256 MAC; in texts 43 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof([u8; 32]);

crate::text::serde_as_text!(Proof);

/// The error for a text that is not a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a proof; write 32 bytes as 43 characters of base64url")]
pub struct ProofError;

impl Proof {
    /// The pod's side: shows `gateway` that the sender has `own`.
    ///
    /// `None` if the gateway's key is one with which nothing can be agreed.
    #[must_use]
    pub fn make(
        purpose: Purpose,
        own: &PrivateKey,
        gateway: &PublicKey,
        binding: &ChannelBinding,
    ) -> Option<Self> {
        let mac = mac(purpose, own, gateway, &own.public(), gateway, binding)?;
        Some(Self(mac.finalize_fixed().into()))
    }

    /// The gateway's side: whether the sender has the private key of `peer`. In constant time.
    #[must_use]
    pub fn verify(
        &self,
        purpose: Purpose,
        own: &PrivateKey,
        peer: &PublicKey,
        binding: &ChannelBinding,
    ) -> bool {
        mac(purpose, own, peer, peer, &own.public(), binding)
            .is_some_and(|mac| mac.verify(&self.0.into()).is_ok())
    }
}

fn mac(
    purpose: Purpose,
    secret: &PrivateKey,
    other: &PublicKey,
    pod: &PublicKey,
    gateway: &PublicKey,
    binding: &ChannelBinding,
) -> Option<Blake2sMac256> {
    let secret = StaticSecret::from(*secret.as_bytes());
    let shared = secret.diffie_hellman(&Point::from(*other.as_bytes()));
    // With a point of small order the result is known to everybody.
    if !shared.was_contributory() {
        return None;
    }
    // The same pair of keys agrees on WireGuard's handshakes too: the tag makes another key of it.
    let mut hash = Blake2s256::new();
    hash.update(purpose.tag());
    hash.update(shared.as_bytes());
    let key = Zeroizing::new(<[u8; 32]>::from(hash.finalize()));
    let mut mac = <Blake2sMac256 as KeyInit>::new_from_slice(&key[..]).ok()?;
    mac.update(pod.as_bytes());
    mac.update(gateway.as_bytes());
    mac.update(&binding.0);
    Some(mac)
}

impl FromStr for Proof {
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, ProofError> {
        let mut buffer = [0; 34];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut buffer) {
            Ok(32) => buffer[..32].try_into().map(Self).map_err(|_| ProofError),
            _ => Err(ProofError),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(..)")
    }
}
