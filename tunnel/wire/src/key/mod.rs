//! Keys: 32 bytes each, written as 44 characters of base64 in files and as 64 hexadecimal digits in the UAPI.
//!
//! | type | secret | equality | `Debug` |
//! |---|---|---|---|
//! | [`PrivateKey`] | yes, zeroised on drop | constant time | redacted |
//! | [`PresharedKey`] | yes, zeroised on drop | constant time | redacted |
//! | [`PublicKey`] | no | ordinary | base64 |

#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use x25519_dalek::{PublicKey as DalekPublic, StaticSecret};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Length of every key in bytes.
pub const KEY_LEN: usize = 32;

/// The reason why a text is not a key. It never contains the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Base64 of 32 bytes has 44 characters.
    #[error("a key has 44 characters of base64, this text has {0}; create one with `warren-tunnel genkey`")]
    Base64Length(usize),
    /// A character outside of the alphabet, misplaced padding, or bits after the end.
    #[error("the text is not canonical base64; copy the key again, it ends with `=`")]
    Base64,
    /// Hexadecimal of 32 bytes has 64 digits.
    #[error("a key has 64 hexadecimal digits, this text has {0}")]
    HexLength(usize),
    /// A character that is no hexadecimal digit.
    #[error("the text has characters that are not hexadecimal digits")]
    Hex,
}

/// A static private key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey([u8; KEY_LEN]);

/// A key that both ends know beforehand and mix into the handshake.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PresharedKey([u8; KEY_LEN]);

/// A static public key: the identity of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_LEN]);

impl PrivateKey {
    /// Creates a key from random bytes, clamped as X25519 requires (RFC 7748 section 5).
    #[must_use]
    pub fn from_random(mut random: [u8; KEY_LEN]) -> Self {
        random[0] &= 248;
        random[31] &= 127;
        random[31] |= 64;
        let key = Self(random);
        random.zeroize();
        key
    }

    /// The public key that belongs to this one.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(DalekPublic::from(&StaticSecret::from(self.0)).to_bytes())
    }
}

macro_rules! secret {
    ($name:ident) => {
        impl $name {
            /// Uses the bytes unchanged.
            #[must_use]
            pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
                Self(bytes)
            }

            /// The bytes. Copy them only to memory that is zeroised.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
                &self.0
            }

            /// Reads 44 characters of canonical base64.
            pub fn from_base64(text: &str) -> Result<Self, KeyError> {
                text::from_base64(text).map(|bytes| Self(*bytes))
            }

            /// Reads 64 hexadecimal digits of either case.
            pub fn from_hex(text: &str) -> Result<Self, KeyError> {
                text::from_hex(text).map(|bytes| Self(*bytes))
            }

            /// The key as in files: base64.
            #[must_use]
            pub fn to_base64(&self) -> Zeroizing<String> {
                text::to_base64(&self.0)
            }

            /// The key as in the UAPI: hexadecimal.
            #[must_use]
            pub fn to_hex(&self) -> Zeroizing<String> {
                text::to_hex(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(redacted)"))
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                same(&self.0, &other.0)
            }
        }

        impl Eq for $name {}

        impl FromStr for $name {
            type Err = KeyError;

            fn from_str(text: &str) -> Result<Self, KeyError> {
                Self::from_base64(text)
            }
        }
    };
}

crate::text::serde_as_text!(PublicKey);
secret!(PrivateKey);
secret!(PresharedKey);

impl PublicKey {
    /// Uses the bytes unchanged.
    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    /// Reads 44 characters of canonical base64.
    pub fn from_base64(text: &str) -> Result<Self, KeyError> {
        text::from_base64(text).map(|bytes| Self(*bytes))
    }

    /// Reads 64 hexadecimal digits of either case.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        text::from_hex(text).map(|bytes| Self(*bytes))
    }

    /// The key as in the UAPI: hexadecimal. [`fmt::Display`] prints base64.
    #[must_use]
    pub fn to_hex(&self) -> String {
        text::to_hex(&self.0).to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::to_base64(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::from_base64(text)
    }
}

/// Compares without a branch on the contents.
fn same(a: &[u8; KEY_LEN], b: &[u8; KEY_LEN]) -> bool {
    let difference = a.iter().zip(b).fold(0_u8, |acc, (x, y)| black_box(acc | (x ^ y)));
    black_box(difference) == 0
}
