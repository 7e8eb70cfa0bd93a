//! Users of earlier versions of the modules keep their objects.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_acceptance::{GoogleStage, flat};
use warren_harness::GoogleConfig;

/// `gcp-hub` and `gcp-spoke` declared the objects that `gcp-network` has now.
#[test]
fn objects_of_a_hub_and_its_spokes_are_moved() -> Result<()> {
    let stage = GoogleStage::example("gcp-hub-spoke", GoogleConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;

    let file = terraform.folder().join("terraform.tfstate");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let mut renamed = 0;
    for resource in state["resources"].as_array_mut().context("a state lists resources")? {
        let module = resource["module"].as_str().unwrap_or_default();
        let Some(role) = module.strip_suffix(".module.network").map(str::to_owned) else { continue };
        if resource["name"] == "main" {
            resource["name"] = if role == "module.hub" { "hub" } else { "spoke" }.into();
        }
        resource["module"] = role.into();
        renamed += 1;
    }
    ensure!(renamed > 20, "only {renamed} objects are in the shared module");
    std::fs::write(&file, serde_json::to_string(&state)?)?;

    let plan = flat(&terraform.plan(&["-refresh=false"])?.success()?.stdout);
    ensure!(plan.contains("has moved to module.hub.module.network.warren_gcp_network.main"), "{plan}");
    ensure!(plan.contains("Plan: 0 to add, 0 to change, 0 to destroy."), "{plan}");
    terraform.apply(&[])?.success()?;
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
