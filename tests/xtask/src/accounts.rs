//! Acceptance on real accounts.

use anyhow::Result;

use crate::build;

/// Builds the provider and the command, and runs it. It is a program of its own, because it needs the clouds' SDKs, which
/// no other task should wait for.
pub(crate) fn run(rest: &[String]) -> Result<()> {
    build::products()?;
    let mut command = build::cargo();
    command.args(["run", "--quiet", "--locked", "--bin", "warren-accounts", "--"]).args(rest);
    build::success(&mut command, "the command")
}
