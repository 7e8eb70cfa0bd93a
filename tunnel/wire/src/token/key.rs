//! Keys that sign tokens, in the text forms of PASERK.
//!
//! | text | what |
//! |---|---|
//! | `k4.secret.` | [`SigningKey`]: seed and public key, 64 bytes; a secret |
//! | `k4.public.` | [`VerifyingKey`], 32 bytes |
//! | `k4.pid.` | [`KeyId`], a digest of the public key |
//!
//! <https://github.com/paseto-standard/paserk/tree/master/types>

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake2::Blake2bVar;
use blake2::digest::{Update as _, VariableOutput as _};
use ed25519_dalek::Signer as _;
use zeroize::{Zeroize as _, Zeroizing};

use crate::text::serde_as_text;

const SECRET: &str = "k4.secret.";
const PUBLIC: &str = "k4.public.";
const ID: &str = "k4.pid.";
const ID_LEN: usize = 33;

/// The reason why a text is not a key. It never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    /// The text has another prefix.
    #[error("the text does not begin with `{0}`; `warren-tunnel token keygen` generates such keys")]
    Kind(&'static str),
    /// What follows is not base64url of the right length.
    #[error("the key after `{0}` is incomplete or damaged; copy the key again")]
    Body(&'static str),
    /// The 32 bytes are no point of the curve, or a point of small order.
    #[error("the bytes are not an Ed25519 public key; copy the key again")]
    Point,
    /// The public half does not belong to the secret half.
    #[error("the two halves of the secret key do not match; copy the key again")]
    Halves,
}

/// An Ed25519 key that signs tokens. Zeroised on drop; `Debug` is redacted.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

/// The public half: verifies tokens. Not a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// Names a [`VerifyingKey`] in a token's footer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; ID_LEN]);

impl SigningKey {
    /// Makes a key of 32 random bytes.
    #[must_use]
    pub fn from_random(mut random: [u8; 32]) -> Self {
        let key = Self(ed25519_dalek::SigningKey::from_bytes(&random));
        random.zeroize();
        key
    }

    /// Reads `k4.secret.…`.
    ///
    /// # Errors
    /// The text is no such key, or its halves do not belong together.
    pub fn parse(text: &str) -> Result<Self, SigningKeyError> {
        let bytes: Zeroizing<[u8; 64]> = decode(SECRET, text)?;
        ed25519_dalek::SigningKey::from_keypair_bytes(&bytes).map(Self).map_err(|_| SigningKeyError::Halves)
    }

    /// The text form, `k4.secret.…`. Keep it in memory that is zeroised.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let bytes = Zeroizing::new(self.0.to_keypair_bytes());
        // Room for all of it at once: a growing string leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(SECRET.len() + 88));
        text.push_str(SECRET);
        URL_SAFE_NO_PAD.encode_string(&bytes[..], &mut text);
        text
    }

    /// The key that verifies what this one signs.
    #[must_use]
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(redacted)")
    }
}

impl VerifyingKey {
    /// The key's name.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut id = [0; ID_LEN];
        if let Ok(mut hash) = Blake2bVar::new(ID_LEN) {
            hash.update(ID.as_bytes());
            hash.update(self.to_string().as_bytes());
            // The two lengths are the same constant.
            _ = hash.finalize_variable(&mut id);
        }
        KeyId(id)
    }

    /// Strict: no malleable signature, no key of small order.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

impl FromStr for VerifyingKey {
    type Err = SigningKeyError;

    fn from_str(text: &str) -> Result<Self, SigningKeyError> {
        let bytes: Zeroizing<[u8; 32]> = decode(PUBLIC, text)?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes).map_err(|_| SigningKeyError::Point)?;
        if key.is_weak() { Err(SigningKeyError::Point) } else { Ok(Self(key)) }
    }
}

impl FromStr for KeyId {
    type Err = SigningKeyError;

    fn from_str(text: &str) -> Result<Self, SigningKeyError> {
        decode(ID, text).map(|bytes| Self(*bytes))
    }
}

fn decode<const N: usize>(kind: &'static str, text: &str) -> Result<Zeroizing<[u8; N]>, SigningKeyError> {
    let body = text.strip_prefix(kind).ok_or(SigningKeyError::Kind(kind))?;
    // The decoder estimates up to two bytes more than there are.
    let mut buffer = Zeroizing::new([0_u8; 72]);
    let room = buffer.get_mut(..N + 2).ok_or(SigningKeyError::Body(kind))?;
    let length = URL_SAFE_NO_PAD.decode_slice(body, room).map_err(|_| SigningKeyError::Body(kind))?;
    if length != N {
        return Err(SigningKeyError::Body(kind));
    }
    let mut bytes = Zeroizing::new([0; N]);
    bytes.copy_from_slice(&buffer[..N]);
    Ok(bytes)
}

macro_rules! as_text {
    ($name:ident, $prefix:expr, $bytes:expr) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let bytes: fn(&$name) -> &[u8] = $bytes;
                f.pad(&format!("{}{}", $prefix, URL_SAFE_NO_PAD.encode(bytes(self))))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

serde_as_text!(VerifyingKey);
serde_as_text!(KeyId);
as_text!(VerifyingKey, PUBLIC, |key| key.0.as_bytes());
as_text!(KeyId, ID, |id| &id.0);
