//! Groups and keys of an example with two gateways, which change without a gateway being replaced.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use warren_harness::{Run, Terraform};

use crate::flat;
use crate::journey::{changes, in_no_file, unpack};

/// Other groups of peers.
pub const GROUPS: &str =
    r#"groups={gpu={allow=[{to=["10.0.0.0/16"]}]},eval={allow=[{to=["10.0.0.7/32"],ports=["443"]}]}}"#;

/// Changes the groups and then the keys of what was applied, and proves from the saved plans, `groups.tfplan` and
/// `keys.tfplan`, that configurations and keys alone change, in place. Returns the last apply. `cloud` is that in the names of
/// resources, such as `aws`.
///
/// # Errors
/// Something else changes, or Terraform fails.
pub fn in_place(terraform: &Terraform, cloud: &str) -> Result<Run> {
    // Another group of peers: only configurations change.
    terraform.plan(&["-out=groups.tfplan", "-var", GROUPS])?.success()?;
    let planned = changes(&terraform.show(Some("groups.tfplan"))?);
    let config = |key: &str| {
        (format!("module.gateway.warren_{cloud}_gateway_config.gateway[\"{key}\"]"), "update".to_owned())
    };
    ensure!(planned == [config("a"), config("b")], "{planned:?}");
    terraform.apply(&["-var", GROUPS])?.success()?;

    // Other keys: keys and configurations change, in place; the ones before stay readable and accepted.
    let rotated = ["-var", "rotation=2026-11"];
    terraform.plan(&["-out=keys.tfplan", rotated[0], rotated[1]])?.success()?;
    let planned = changes(&terraform.show(Some("keys.tfplan"))?);
    ensure!(planned.len() == 7, "{planned:?}");
    ensure!(planned.iter().all(|(_, actions)| actions == "update"), "{planned:?}");
    let gateway = format!("warren_{cloud}_gateway.");
    ensure!(!planned.iter().any(|(address, _)| address.contains(&gateway)), "{planned:?}");
    let changed = terraform.apply(&rotated)?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 7 changed, 0 destroyed"), "{}", changed.stdout);
    let again = terraform.plan(&["-detailed-exitcode", rotated[0], rotated[1]])?.success()?;
    ensure!(again.code == 0, "{}", again.output());
    let outputs = terraform.outputs()?;
    let pins = outputs["gateways"]["value"][0]["pins"].as_array().context("pins")?;
    ensure!(pins.len() == 2, "the pin before is accepted too: {pins:?}");
    Ok(changed)
}

/// Proves that none of the secrets is in what Terraform printed, in its log, in its state, or in the plans of [`in_place`] and
/// `first.tfplan`.
///
/// # Errors
/// Where one is, or there was nothing to search.
pub fn nowhere(terraform: &Terraform, log: &Path, printed: &[&Run], secrets: &[String]) -> Result<()> {
    for run in printed {
        let output = run.output();
        ensure!(
            !secrets.iter().any(|secret| output.contains(secret.trim())),
            "a secret is in Terraform's output"
        );
    }
    ensure!(std::fs::metadata(log)?.len() > 100_000, "there is no log to search");
    for plan in ["first.tfplan", "groups.tfplan", "keys.tfplan"] {
        unpack(&terraform.folder().join(plan))?;
    }
    let files = in_no_file(&terraform.folder(), secrets)?;
    ensure!(files > 20, "{files} files were searched");
    Ok(())
}
