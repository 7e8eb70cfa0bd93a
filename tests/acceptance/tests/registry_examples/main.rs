//! The examples of the registry's pages, by real Terraform against emulated clouds.
//!
//! Each is applied, planned again, and destroyed. The calls that this makes are compared with the permissions that the page
//! files list. One test for each cloud, so that they run side by side; `WARREN_EXAMPLE=aws_vpc` runs those with this in their path.
//!
//! With `WARREN_STORE_STATE=1`, the state of each complete example of a resource is stored for the test `old_state`, unless
//! that type has one.

#![expect(clippy::print_stdout, reason = "the time of each example")]

mod permissions;

use std::time::Instant;

use anyhow::{Result, ensure};
use warren_acceptance::emulated_clouds::{EmulatedClouds, spread};
use warren_acceptance::old_state;
use warren_acceptance::registry::{Clouds, Example, examples, pages};

use permissions::Recorded;

const NONE: Clouds = Clouds { aws: false, gcp: false, runpod: false };
const AWS: Clouds = Clouds { aws: true, ..NONE };
const GCP: Clouds = Clouds { gcp: true, ..NONE };
const RUNPOD: Clouds = Clouds { runpod: true, ..NONE };

/// How many emulators one cloud's examples are spread over.
const SPREAD: usize = 2;

#[test]
fn examples_without_a_cloud() -> Result<()> {
    group(|clouds| clouds == NONE)
}

#[test]
fn examples_of_aws() -> Result<()> {
    group(|clouds| clouds == AWS)
}

#[test]
fn examples_of_google() -> Result<()> {
    group(|clouds| clouds == GCP)
}

#[test]
fn examples_of_runpod() -> Result<()> {
    group(|clouds| clouds == RUNPOD)
}

#[test]
fn examples_of_several_clouds() -> Result<()> {
    group(|clouds| ![NONE, AWS, GCP, RUNPOD].contains(&clouds))
}

/// Runs the examples of a group, and reports all that fail.
fn group(wanted: impl Fn(Clouds) -> bool) -> Result<()> {
    let filter = std::env::var("WARREN_EXAMPLE").ok();
    let mut waiting = examples()?;
    waiting.retain(|example| wanted(example.clouds()));
    let all = waiting.len();
    waiting.retain(|example| {
        filter.as_ref().is_none_or(|filter| example.file.display().to_string().contains(filter.as_str()))
    });
    let whole = waiting.len() == all;
    let done = spread(waiting, SPREAD, |example, clouds| {
        let begun = Instant::now();
        let outcome = prove(example, clouds);
        println!("{:6.1}s {}", begun.elapsed().as_secs_f64(), example.file.display());
        clouds.reset()?;
        outcome
    })?;
    let pages = pages()?;
    let mut failures = Vec::new();
    let mut recorded = Vec::new();
    for (example, outcome) in done {
        match outcome {
            Ok(calls) => recorded.push((example, calls)),
            Err(error) => failures.push(format!("{}: {error:#}", example.file.display())),
        }
    }
    for (example, calls) in &recorded {
        failures.extend(permissions::unlisted(example, calls, &pages)?);
    }
    if whole && failures.is_empty() {
        failures.extend(permissions::unexplained(&recorded, &pages)?);
    }
    failures.sort();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Applies an example, plans it again, and destroys it.
fn prove(example: &Example, clouds: &EmulatedClouds) -> Result<Recorded> {
    let terraform = clouds.workspace(example)?;
    terraform.apply(&[])?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    if std::env::var_os("WARREN_STORE_STATE").is_some() {
        old_state::store(example, &terraform)?;
    }
    terraform.destroy(&[])?.success()?;
    clouds.nothing_left(example.clouds())?;
    Ok(Recorded::of(clouds))
}
