//! Builds what the tasks run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_harness::workspace_root;

use crate::suite;

/// The cargo that runs this.
///
/// What `cargo run` tells this program of its own package must not reach it: build scripts that look at these variables,
/// such as ring's, would be run again, and every cloud SDK behind them compiled a second time.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace_root());
    let ours = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| ours.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end.
pub(crate) fn success(command: &mut Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("{what} cannot be started"))?;
    ensure!(status.success(), "{what} failed: {status}");
    Ok(())
}

/// The binaries that users run.
const PRODUCTS: [&str; 3] = ["terraform-provider-warren", "warren", "warren-tunnel"];

/// Builds the products as a developer runs them, and returns their folder.
///
/// They are selected by binary and not by package. From the root, cargo then resolves features for the whole workspace, as lints
/// and tests do, and the cloud SDKs compile once.
pub(crate) fn products() -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--locked"]);
    for binary in PRODUCTS {
        command.args(["--bin", binary]);
    }
    success(&mut command, "building the binaries")?;
    Ok(target_folder().join("debug"))
}

/// Builds every target of the workspace, and returns the folder of the binaries.
pub(crate) fn everything() -> Result<PathBuf> {
    success(cargo().args(["build", "--workspace", "--all-targets", "--locked"]), "building the workspace")?;
    // `--all-targets` leaves them out.
    let programs = suite::beside()?;
    let beside = programs.iter().flat_map(|name| ["--test", name]);
    success(
        cargo().args(["build", "--workspace", "--locked"]).args(beside),
        "building the tests that run beside the others",
    )?;
    Ok(target_folder().join("debug"))
}

/// Builds the provider as it is released, and returns its folder.
pub(crate) fn release() -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "warren-provider", "--bins", "--locked"]);
    success(&mut command, "building the provider")?;
    Ok(target_folder().join("release"))
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
