//! Requests to servers on this machine.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use warren_programs::program;

/// Runs curl and returns what it printed.
pub(crate) fn curl(arguments: &[&str]) -> Result<String> {
    curl_data(arguments, b"")
}

/// The same with a body.
pub(super) fn curl_data(arguments: &[&str], body: &[u8]) -> Result<String> {
    let mut command = Command::new(program("curl")?);
    command.args(["--silent", "--show-error", "--fail", "--max-time", "60"]);
    if !body.is_empty() {
        command.args(["--data-binary", "@-"]);
    }
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why itself.
        let _ = stdin.write_all(body);
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
