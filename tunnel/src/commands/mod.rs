//! Commands that ask or make something and end.

pub mod gateway;
pub mod keys;
pub mod reload;
pub mod status;
mod text;
pub mod token;
pub mod topology;

use std::io::{self, Write};

use crate::problem::{Context, Result};

/// Writes a command's result. A reader that has gone (`| head`) is no failure.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.while_doing(|| "standard output".into()),
    }
}
