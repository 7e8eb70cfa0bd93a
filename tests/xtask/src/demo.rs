//! The main job, end to end, on an emulated AWS and doubles of Google Cloud and RunPod.

use std::time::Instant;

use anyhow::{Result, ensure};
use warren_acceptance::journey;

use crate::build;

/// Builds, and runs the main job; each step is told with the time since the start.
pub(crate) fn run() -> Result<()> {
    let begun = Instant::now();
    let mut tell = |line: &str| {
        if line.starts_with(' ') {
            println!("          {line}");
        } else {
            println!("[{:6.1}s] {line}", begun.elapsed().as_secs_f64());
        }
    };
    tell("building provider and tunnel (the first build takes some minutes: the AWS SDK is large)");
    let folder = build::products()?;
    ensure!(folder.join("terraform-provider-warren").is_file(), "no provider in {}", folder.display());
    journey::run(&mut tell)
}
