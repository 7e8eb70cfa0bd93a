//! The reachability model and packets agree on random topologies, and a planted fault in either of the two is found.
//!
//! `cargo xtask oracle` compares as many as there is time for.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use warren_dataplane::oracle::{Fault, Oracle, Report};

/// The outcome, and what was told on the way.
fn compare(topologies: usize, seed: u64, fault: Option<Fault>) -> Result<(Report, String)> {
    let build_folder = match std::env::var_os("WARREN_BUILD_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_exe()?
            .ancestors()
            .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
            .context("this program is not in a build folder; set WARREN_BUILD_FOLDER")?
            .to_owned(),
    };
    let mut told = String::new();
    let oracle = Oracle { topologies, seed, together: 8, fault, build_folder };
    let report = oracle.run(&mut |line| told += &format!("{line}\n"))?;
    Ok((report, told))
}

#[test]
fn model_and_packets_agree() -> Result<()> {
    let (report, told) = compare(8, 1000, None)?;
    ensure!(report.differences.is_empty(), "{told}{report}");
    ensure!(report.pairs > 200 && report.connected > 50 && report.known_in_plans > 200, "{report}");
    Ok(())
}

#[test]
fn a_fault_in_either_of_the_two_is_found() -> Result<()> {
    for fault in [Fault::Model, Fault::DataPlane, Fault::ModelPolicies, Fault::DataPlanePolicies] {
        let (report, _) = compare(3, 1000, Some(fault))?;
        ensure!(!report.differences.is_empty(), "{fault:?} was not found: {report}");
    }
    Ok(())
}
