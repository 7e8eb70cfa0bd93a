//! `cargo xtask prose`: the prose linter of `tests/prose`.

use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result, bail, ensure};
use warren_harness::workspace_root;

/// Lints the prose of the repository, or of `paths` in it. Tests the dictionary first.
pub(crate) fn run(paths: &[String]) -> Result<()> {
    ensure!(linter(&["--test"])?.success(), "the dictionary's own tests fail; run tests/prose/lint.sh --test");
    let root = workspace_root();
    let root = root.to_str().context("the path of the repository is not UTF-8")?;
    let arguments: Vec<&str> = std::iter::once(root).chain(paths.iter().map(String::as_str)).collect();
    match linter(&arguments)?.code() {
        Some(0) => Ok(()),
        Some(1) => bail!("the prose has findings; docs/contributing/writing.md explains the style"),
        _ => bail!("the prose linter did not run"),
    }
}

fn linter(arguments: &[&str]) -> Result<ExitStatus> {
    let script = workspace_root().join("tests/prose/lint.sh");
    Command::new(&script).args(arguments).status().with_context(|| format!("cannot start {}", script.display()))
}
