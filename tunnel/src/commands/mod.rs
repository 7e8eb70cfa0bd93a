//! The commands beside `agent` and `gateway`: those that run once and exit, and `exec`.

pub mod attach;
mod cloud;
pub mod doctor;
pub mod exec;
pub mod fetch;
mod files;
pub mod gateway;
pub mod keys;
pub mod logs;
pub mod netcheck;
pub mod ping;
pub mod reload;
pub mod status;
pub mod sync;
mod text;
pub mod token;
pub mod topology;

use std::io::{self, Write};

use crate::runtime::problem::{Context, Problem, Result};

/// Prints the result of a command. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.while_doing(|| "cannot write to standard output".into()),
    }
}

/// Prints the error of a command.
pub fn print_error(problem: &Problem) {
    _ = writeln!(io::stderr(), "warren-tunnel: {problem}");
}
