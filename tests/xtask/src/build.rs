//! Builds what the tasks run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_harness::workspace_root;

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

/// The folder with the provider's binaries, built now.
///
/// A debug build is that of all targets of the workspace, so that it resolves the same features as lints and tests do
/// and the cloud SDKs are compiled once.
pub(crate) fn provider(release: bool) -> Result<PathBuf> {
    let mut command = cargo();
    if release {
        command.args([
            "build",
            "--release",
            "--package",
            "warren-provider",
            "--package",
            "warren-cli",
            "--bins",
            "--locked",
        ]);
    } else {
        command.args(["build", "--workspace", "--all-targets", "--locked"]);
    }
    success(&mut command, "the provider's build")?;
    Ok(target_folder().join(if release { "release" } else { "debug" }))
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}
