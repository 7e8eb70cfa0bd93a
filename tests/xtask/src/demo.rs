//! The main job, end to end, on emulated clouds.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::journey;

use crate::build;

/// What the demo prints when it has passed.
const NEXT: &str = "
What to look at next:
  examples/llm-training         the configuration that the demo applied
  docs/guides/first-fabric.md   build a network of your own; `cargo xtask sandbox` starts these emulated clouds for it
  docs/status.md                what was tested, and what only emulated clouds have proved";

/// Builds the binaries and runs the main job. Each step is printed with the time since the start.
pub(crate) fn run() -> Result<()> {
    let begun = Instant::now();
    let mut report = |line: &str| {
        if line.starts_with(' ') {
            println!("          {line}");
        } else {
            println!("[{:6.1}s] {line}", begun.elapsed().as_secs_f64());
        }
    };
    report(
        "building the provider and the tunnel (a first build takes about ten minutes: the AWS SDK is large)",
    );
    let folder = build::products()?;
    ensure!(folder.join("terraform-provider-warren").is_file(), "no provider in {}", folder.display());
    if std::fs::metadata("/proc/self")?.uid() != 0 {
        return in_user_namespace();
    }
    journey::run(&mut report)?;
    report("the demo passed");
    println!("{NEXT}");
    Ok(())
}

/// Runs the demo again as root of a user namespace, which may create networks of its own.
fn in_user_namespace() -> Result<()> {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]).arg(std::env::current_exe()?).arg("demo");
    let status = command.status().context("cannot start `unshare` (package util-linux)")?;
    ensure!(status.success(), "the demo failed in a user namespace");
    Ok(())
}
