//! Builds what the tasks run.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use warren_harness::workspace_root;

use crate::suite::TestProgram;

/// The cargo that runs this.
///
/// What `cargo run` tells this program of its own package must not reach it: build scripts that look at these variables,
/// such as ring's, would be run again, and every cloud SDK behind them compiled a second time.
pub(crate) fn cargo() -> Command {
    let mut command = clean(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
    command.current_dir(workspace_root());
    command
}

/// A command that inherits nothing of this program's package.
pub(crate) fn clean(mut command: Command) -> Command {
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

/// Builds every target of the workspace, and returns the folder of the binaries and the programs with tests.
pub(crate) fn everything() -> Result<(PathBuf, Vec<TestProgram>)> {
    let mut command = cargo();
    command.args([
        "build",
        "--workspace",
        "--all-targets",
        "--locked",
        "--message-format=json-render-diagnostics",
    ]);
    let output = command.stderr(Stdio::inherit()).output().context("cargo cannot be started")?;
    ensure!(output.status.success(), "building the workspace failed: {}", output.status);
    let messages = String::from_utf8(output.stdout)?;
    let programs: Result<Vec<_>> =
        messages.lines().filter_map(|message| TestProgram::of(message).transpose()).collect();
    Ok((target_folder().join("debug"), programs?))
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
