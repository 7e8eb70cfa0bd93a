//! `cargo xtask site`: the documentation site, and the links of all documentation.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build;
use crate::prose::script;

const MDBOOK: &str = "0.5.4";

/// Checks the links of all Markdown files, builds the site in `target/site/book` and checks its links.
pub(crate) fn run() -> Result<()> {
    let markdown = script("links.mjs", &[])?.success();
    let mdbook = mdbook()?;
    let site = build::target_folder().join("site");
    let staged = site.to_str().context("the path of the target folder is not UTF-8")?;
    ensure!(script("site.mjs", &[staged])?.success(), "the pages of the site cannot be collected");
    let built = Command::new(&mdbook)
        .args(["build", staged])
        .env("RUST_LOG", "warn")
        .status()
        .with_context(|| format!("cannot start {}", mdbook.display()))?;
    ensure!(built.success(), "mdBook failed");
    let book = format!("{staged}/book");
    let site = script("links.mjs", &["--site", &book])?.success();
    ensure!(markdown, "links in Markdown files are broken");
    ensure!(site, "links in the built site are broken");
    println!("{book}/index.html");
    Ok(())
}

/// mdBook of the pinned version, installed on first use.
fn mdbook() -> Result<PathBuf> {
    let tools = build::target_folder().join("tools");
    let program = tools.join("bin/mdbook");
    if version(&program).is_some_and(|found| found.ends_with(MDBOOK)) {
        return Ok(program);
    }
    eprintln!("installing mdBook {MDBOOK}, about a minute");
    // The workspace's lints are not mdBook's: CI sets them for every build.
    let status = Command::new("cargo")
        .args(["install", "mdbook", "--version", MDBOOK, "--locked", "--debug", "--quiet", "--force"])
        .args(["--no-default-features", "--features", "search", "--root"])
        .arg(&tools)
        .arg("--target-dir")
        .arg(tools.join("build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CLIPPY_ARGS")
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "mdBook {MDBOOK} cannot be installed");
    Ok(program)
}

fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
