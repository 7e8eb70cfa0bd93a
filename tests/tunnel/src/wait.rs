//! Waiting with an end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Asks `probe` every few milliseconds until it has an answer.
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
        if begun.elapsed() > limit {
            match last {
                Err(error) => return Err(error.context(format!("no {what} within {limit:?}"))),
                Ok(_) => bail!("no {what} within {limit:?}"),
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}
