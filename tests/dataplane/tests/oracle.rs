//! The reachability model and packets agree on random topologies, and a planted fault in either of the two is found.
//!
//! `cargo xtask oracle` compares as many as there is time for.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use warren_dataplane::oracle::{Fault, GoogleOracle, Oracle, Report};

/// A cloud's comparison, with so many topologies from a seed on.
type Compare = fn(usize, u64, Option<Fault>, PathBuf, &mut dyn FnMut(&str)) -> Result<Report>;

const AWS: Compare = |topologies, seed, fault, build_folder, told| {
    Oracle { topologies, seed, together: 8, fault, build_folder }.run(told)
};

const GOOGLE: Compare = |topologies, seed, fault, build_folder, told| {
    GoogleOracle { topologies, seed, together: 20, fault, build_folder }.run(told)
};

/// The outcome, and what was told on the way.
fn compare(cloud: Compare, topologies: usize, seed: u64, fault: Option<Fault>) -> Result<(Report, String)> {
    let build_folder = match std::env::var_os("WARREN_BUILD_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_exe()?
            .ancestors()
            .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
            .context("this program is not in a build folder; set WARREN_BUILD_FOLDER")?
            .to_owned(),
    };
    let mut told = String::new();
    let report = cloud(topologies, seed, fault, build_folder, &mut |line| told += &format!("{line}\n"))?;
    Ok((report, told))
}

fn agree(cloud: Compare) -> Result<()> {
    let (report, told) = compare(cloud, 8, 1000, None)?;
    ensure!(report.differences.is_empty(), "{told}{report}");
    ensure!(report.pairs > 200 && report.connected > 50 && report.known_in_plans > 200, "{report}");
    Ok(())
}

/// Without the fault, the same topologies show no difference.
fn faults_are_found(cloud: Compare, more: &[Fault]) -> Result<()> {
    let faults = [Fault::Model, Fault::DataPlane].iter().chain(more).copied().map(Some);
    for fault in std::iter::once(None).chain(faults) {
        let (report, _) = compare(cloud, 3, 1000, fault)?;
        ensure!(report.differences.is_empty() == fault.is_none(), "{fault:?}: {report}");
    }
    Ok(())
}

#[test]
fn model_and_packets_agree() -> Result<()> {
    agree(AWS)
}

#[test]
fn a_fault_in_either_of_the_two_is_found() -> Result<()> {
    faults_are_found(AWS, &[Fault::ModelPolicies, Fault::DataPlanePolicies])
}

#[test]
fn model_and_packets_agree_on_google_cloud() -> Result<()> {
    agree(GOOGLE)
}

#[test]
fn a_fault_in_either_of_the_two_is_found_on_google_cloud() -> Result<()> {
    faults_are_found(GOOGLE, &[])
}
