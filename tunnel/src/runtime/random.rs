//! Randomness of the kernel, for keys and for the engine.

use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::problem::{Problem, Result};

/// 32 random bytes of the kernel.
///
/// # Errors
/// When the kernel provides none.
pub fn random() -> Result<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    SystemRandom::new().fill(&mut *bytes).map_err(|_| {
        Problem::new("the kernel provides no random bytes").hint("permit getrandom(2) in this sandbox")
    })?;
    Ok(bytes)
}
