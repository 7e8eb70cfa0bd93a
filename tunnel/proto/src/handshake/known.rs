//! The peers' public keys, and for each the shared secret of both static keys.
//!
//! That secret (`ss` of the Noise pattern) is the same in every handshake of two peers. It is computed in the
//! first one and kept, which saves each end a Diffie-Hellman; and an initiation of a key that is no peer's is
//! refused before it.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use warren_wire::PublicKey;
use zeroize::Zeroizing;

type Secret = Zeroizing<[u8; 32]>;

#[derive(Default)]
struct Entry {
    slot: u32,
    shared: Option<Box<Secret>>,
}

/// Public keys are from the configuration, so their own bytes are a good hash.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks_exact(8) {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[expect(clippy::disallowed_types, reason = "the hasher has no seed, and nothing depends on the order")]
type KeyMap = std::collections::HashMap<PublicKey, Entry, BuildHasherDefault<KeyHasher>>;

/// One engine has one; its handshakes hold it too, but only one of them works at a time.
pub(crate) type SharedKnown = Arc<Mutex<Known>>;

/// All peers by key.
#[derive(Default)]
pub(crate) struct Known(KeyMap);

impl Known {
    pub(crate) fn slot(&self, key: &PublicKey) -> Option<u32> {
        self.0.get(key).map(|entry| entry.slot)
    }

    pub(crate) fn insert(&mut self, key: PublicKey, slot: u32) {
        self.0.insert(key, Entry { slot, shared: None });
    }

    pub(crate) fn remove(&mut self, key: &PublicKey) {
        self.0.remove(key);
    }

    /// Forgets the secrets: our own key is another one.
    pub(crate) fn forget(&mut self) {
        self.0.values_mut().for_each(|entry| entry.shared = None);
    }

    /// The secret with a peer, computed on first use; `None` if the key is no peer's.
    pub(crate) fn shared(
        &mut self,
        key: &PublicKey,
        compute: impl FnOnce() -> Option<Secret>,
    ) -> Option<&[u8; 32]> {
        let entry = self.0.get_mut(key)?;
        if entry.shared.is_none() {
            entry.shared = compute().map(Box::new);
        }
        entry.shared.as_ref().map(|secret| &***secret)
    }
}
