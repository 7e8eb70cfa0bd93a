//! Waiting with an end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// The shortest and the longest pause between two probes.
const PAUSES: (Duration, Duration) = (Duration::from_millis(3), Duration::from_secs(1));

/// Asks `probe` until it has an answer. Pauses grow to a twentieth of the time that has passed, so that long waits cost little.
///
/// # Errors
/// There is none in time: the error says what was awaited, and why the last probe failed if it did.
pub fn wait_for<T>(limit: Duration, what: &str, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        let last = probe();
        if let Ok(Some(answer)) = last {
            return Ok(answer);
        }
        let elapsed = begun.elapsed();
        if elapsed > limit {
            match last {
                Err(error) => return Err(error.context(format!("no {what} within {limit:?}"))),
                Ok(_) => bail!("no {what} within {limit:?}"),
            }
        }
        std::thread::sleep((elapsed / 20).clamp(PAUSES.0, PAUSES.1));
    }
}
