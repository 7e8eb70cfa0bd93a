//! `cargo xtask prose`: the prose linter of `tests/prose`.

use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result, bail, ensure};
use warren_harness::workspace_root;

/// Tests the dictionary, then lints the prose of the repository, or of `paths` in it.
pub(crate) fn run(paths: &[String]) -> Result<()> {
    ensure!(script("test.mjs", &[])?.success(), "the tests of the prose linter fail");
    let arguments: Vec<&str> = std::iter::once("--").chain(paths.iter().map(String::as_str)).collect();
    match script("lint.mjs", &arguments)?.code() {
        Some(0) => Ok(()),
        Some(1) => bail!("the prose has findings; docs/contributing/writing.md explains the style"),
        _ => bail!("the prose linter did not run"),
    }
}

/// Runs a script of `tests/prose` with Node.js.
pub(crate) fn script(name: &str, arguments: &[&str]) -> Result<ExitStatus> {
    let runner = workspace_root().join("tests/prose/run.sh");
    Command::new(&runner)
        .arg(name)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot start {}", runner.display()))
}
