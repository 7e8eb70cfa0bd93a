//! `cargo xtask site`: the documentation site, and the links of all documentation.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::prose::script;
use crate::{build, tools};

const MDBOOK: &str = "0.5.4";

/// Checks the links of all Markdown files, builds the site in `target/site/book` and checks its links.
pub(crate) fn run() -> Result<()> {
    let markdown = script("links.mjs", &[])?.success();
    let mdbook =
        tools::from_source("mdbook", MDBOOK, &["--debug", "--no-default-features", "--features", "search"])?;
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
