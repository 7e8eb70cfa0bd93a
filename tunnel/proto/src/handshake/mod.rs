//! Messages and cryptography of the handshake (whitepaper section 5.4), without state of peers.
//!
//! * `message`: layouts.
//! * `noise`: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s by `snow`.
//! * `known`: the peers' keys, and the static-static secret of each.
//! * `mac`: mac1, mac2 and cookies (sections 5.3 and 5.4.7).
//! * `stamp`: TAI64N stamps against replayed initiations (section 5.1).
//! * `load`: when to ask for cookies, and the limit a source address has then.
//! * `random`: all randomness, from one seed.

pub(crate) mod known;
pub(crate) mod load;
pub(crate) mod mac;
pub(crate) mod message;
pub(crate) mod noise;
pub(crate) mod random;
pub(crate) mod stamp;
#[cfg(test)]
mod tests;
