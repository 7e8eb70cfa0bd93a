//! The examples of the registry's pages, by real Terraform against emulated clouds.
//!
//! Each is applied, planned again, and destroyed. The calls that this makes are compared with the permissions that the page
//! files list. One test for each cloud, so that they run side by side; `WARREN_EXAMPLE=aws_vpc` runs those with this in their path.

#![expect(clippy::print_stdout, reason = "the time of each example")]

mod permissions;
mod sky;

use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use warren_acceptance::registry::{Clouds, Example, examples, pages};
use warren_acceptance::{SIGNING_KEY, build_folder};
use warren_harness::Terraform;

use permissions::Recorded;
use sky::Sky;

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
    let spread = SPREAD.min(waiting.len());
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let worker = || -> Result<Vec<(Example, Result<Recorded>)>> {
        let mut done = Vec::new();
        let mut sky: Option<Sky> = None;
        while let Some(example) = next() {
            let sky = match &mut sky {
                Some(sky) => sky,
                none => none.insert(Sky::start(example.clouds())?),
            };
            let begun = std::time::Instant::now();
            sky.add(example.clouds())?;
            let outcome = prove(&example, sky);
            println!("{:6.1}s {}", begun.elapsed().as_secs_f64(), example.file.display());
            sky.reset()?;
            done.push((example, outcome));
        }
        Ok(done)
    };
    let done = std::thread::scope(|scope| -> Result<Vec<_>> {
        let workers: Vec<_> = (0..spread).map(|_| scope.spawn(worker)).collect();
        let mut done = Vec::new();
        for worker in workers {
            done.extend(worker.join().ok().context("a worker panicked")??);
        }
        Ok(done)
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
fn prove(example: &Example, sky: &Sky) -> Result<Recorded> {
    let mut terraform = Terraform::new("warren-net/warren", &build_folder()?)?;
    terraform.env("WARREN_SIGNING_KEY", SIGNING_KEY);
    for (name, value) in sky.environment() {
        terraform.env(name, value);
    }
    for (name, value) in VARIABLES {
        terraform.env(&format!("TF_VAR_{name}"), value);
    }
    for name in example.required_variables() {
        ensure!(
            VARIABLES.iter().any(|(known, _)| *known == name),
            "variable `{name}` has no default and no value in VARIABLES of this test"
        );
    }
    terraform.write("provider.tf", &sky.provider_blocks(example.clouds()))?;
    terraform.write("main.tf", &example.text)?;
    terraform.apply(&[])?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    terraform.destroy(&[])?.success()?;
    sky.nothing_left(example.clouds())?;
    Ok(sky.recorded())
}

/// What the reader of an example has to give.
const VARIABLES: [(&str, &str); 4] = [
    ("image_id", "ami-1e749f67"),
    ("registry_password", "registry-password-7f3a"),
    ("signing_key", SIGNING_KEY),
    ("secret_value", "secret-value-5c1d"),
];
