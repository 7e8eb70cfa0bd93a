//! Randomness from a seed: keyed BLAKE2s in counter mode, with the key replaced after every request.
//!
//! Replacing the key means that what was given out cannot be computed from a later state. The caller seeds an
//! engine with 32 bytes of the system's randomness; tests seed it with constants and get equal runs.

use blake2::Blake2sMac256;
use blake2::digest::{KeyInit, Mac};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A generator of random bytes.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Rng {
    key: [u8; 32],
}

impl Rng {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { key: block(&seed, 0) }
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for (counter, chunk) in (1_u64..).zip(bytes.chunks_mut(32)) {
            let mut random = block(&self.key, counter);
            chunk.copy_from_slice(&random[..chunk.len()]);
            random.zeroize();
        }
        self.key = block(&self.key, 0);
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A generator of its own.
    pub(crate) fn child(&mut self) -> Self {
        Self::new(self.array())
    }
}

impl snow::types::Random for Rng {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        self.fill(dest);
        Ok(())
    }
}

fn block(key: &[u8; 32], counter: u64) -> [u8; 32] {
    let mut mac = <Blake2sMac256 as KeyInit>::new(key.into());
    mac.update(&counter.to_le_bytes());
    mac.finalize().into_bytes().into()
}
