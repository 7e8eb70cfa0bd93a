//! ChaCha20-Poly1305 (RFC 8439) for data messages, by one of two implementations.
//!
//! | suite | where |
//! |---|---|
//! | ring | everywhere |
//! | Intel's Multi-Buffer Crypto library (ipsec-mb) | x86-64 with AVX-512 and IFMA, if the machine has the library |
//!
//! [`load`] looks for the library and tests it against ring. A [`Key`] belongs to one [`Suite`]. Decision 8 has the measurements.
//!
//! Unsafe code is confined to the module `library`. Everything else in the workspace uses [`Key`], which is safe: the result of
//! [`Key::open`] is the only access to a plaintext, and exists only if the tag is correct.

#[cfg(all(
    target_arch = "x86_64",
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod library;
#[cfg(not(all(
    target_arch = "x86_64",
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
)))]
#[path = "absent.rs"]
mod library;
mod selftest;

use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use library::Library;

/// Messages with fewer bytes are for ring, which is as fast for them as version 1.3 of the library, and faster than 2.0.
const SHORT: usize = 512;

/// Bytes of a tag.
pub const TAG: usize = 16;
/// Bytes of a nonce.
pub const NONCE: usize = 12;

/// A message that was not sealed, or is not authentic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cipher refused the message")]
pub struct Refused;

/// Why ring is used instead of the library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The build cannot load it.
    #[error("{0}")]
    Build(&'static str),
    /// The processor lacks what makes it faster than ring.
    #[error("the processor has no {0}, without which ring is faster")]
    Processor(&'static str),
    /// It is not installed, or the loader refuses it.
    #[error("libIPSec_MB cannot be loaded: {0}")]
    Loader(String),
    /// A version whose structures were not compared.
    #[error("version {0} of libIPSec_MB is not supported")]
    Version(String),
    /// It was built without the option that clears keys from memory and registers.
    #[error("libIPSec_MB was built without SAFE_DATA")]
    SafeData,
    /// It did not initialize itself.
    #[error("libIPSec_MB cannot be initialized (error {0})")]
    Initialization(i32),
    /// Its results differ from those of ring.
    #[error("libIPSec_MB failed the self-test: {0}")]
    SelfTest(String),
}

/// The implementation of a key.
#[derive(Clone, Copy, Default)]
pub struct Suite {
    library: Option<&'static Library>,
    /// The length from which messages are for the library.
    from: usize,
}

impl Suite {
    /// The implementation that every machine has.
    pub const RING: Self = Self { library: None, from: 0 };

    /// Its name, with the version of a library.
    #[must_use]
    pub fn name(self) -> String {
        match self.library {
            None => "ring".to_owned(),
            Some(library) => format!("ipsec-mb {}", library.version()),
        }
    }

    /// Whether this is ring.
    #[must_use]
    pub fn is_ring(self) -> bool {
        self.library.is_none()
    }
}

impl std::fmt::Debug for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Suite({})", self.name())
    }
}

/// Loads the library of this machine, and tests it. It stays loaded.
///
/// # Errors
/// It is not available, not faster than ring here, or fails the test.
pub fn load() -> Result<Suite, Unavailable> {
    Ok(Suite { from: SHORT, ..tested(Library::installed()?)? })
}

/// Loads the library at this path for tests: also on processors for which ring is faster, and for messages of any length.
///
/// # Errors
/// As for [`load`].
#[doc(hidden)]
pub fn load_from(path: &Path) -> Result<Suite, Unavailable> {
    tested(Library::at(path)?)
}

fn tested(library: Library) -> Result<Suite, Unavailable> {
    let suite = Suite { library: Some(Box::leak(Box::new(library))), from: 0 };
    selftest::run(suite).map_err(Unavailable::SelfTest)?;
    Ok(suite)
}

/// A key of one implementation.
pub struct Key {
    ring: LessSafeKey,
    library: Option<library::Key>,
    from: usize,
}

impl Key {
    /// A key of `suite`.
    #[must_use]
    pub fn new(suite: Suite, key: &[u8; 32]) -> Self {
        let ring = match UnboundKey::new(&CHACHA20_POLY1305, key) {
            Ok(key) => LessSafeKey::new(key),
            // The only error is a wrong length, and the length is in the type.
            Err(_) => unreachable!("ChaCha20-Poly1305 keys have 32 bytes"),
        };
        Self { ring, library: suite.library.map(|library| library::Key::new(library, key)), from: suite.from }
    }

    /// The key of the library, for a message of this length.
    #[inline]
    fn library(&self, length: usize) -> Option<&library::Key> {
        self.library.as_ref().filter(|_| length >= self.from)
    }

    /// Encrypts `body` in place, and returns the tag. A nonce is used once.
    ///
    /// # Errors
    /// The body is longer than 256 GiB, or the library has failed. The body is unspecified then, and must not be sent.
    #[inline]
    pub fn seal(&self, nonce: &[u8; NONCE], aad: &[u8], body: &mut [u8]) -> Result<[u8; TAG], Refused> {
        if let Some(key) = self.library(body.len())
            && let Some(sealed) = key.seal(nonce, aad, body)
        {
            return sealed;
        }
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = self.ring.seal_in_place_separate_tag(nonce, Aad::from(aad), body).map_err(|_| Refused)?;
        tag.as_ref().try_into().map_err(|_| Refused)
    }

    /// Decrypts `sealed`, which ends with the tag, in place, and returns the plaintext.
    ///
    /// # Errors
    /// The message is not authentic. Its bytes are unspecified then, and not those of the plaintext.
    #[inline]
    pub fn open<'a>(
        &self,
        nonce: &[u8; NONCE],
        aad: &[u8],
        sealed: &'a mut [u8],
    ) -> Result<&'a mut [u8], Refused> {
        let length = sealed.len().checked_sub(TAG).ok_or(Refused)?;
        if let Some(key) = self.library(length) {
            let (body, tag) = sealed.split_at_mut(length);
            match key.open(nonce, aad, body, tag) {
                Some(Ok(())) => return Ok(&mut sealed[..length]),
                Some(Err(refused)) => return Err(refused),
                None => {}
            }
        }
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.ring.open_in_place(nonce, Aad::from(aad), sealed).map_err(|_| Refused)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(redacted)")
    }
}
