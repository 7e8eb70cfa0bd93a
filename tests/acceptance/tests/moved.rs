//! Users of earlier versions of the modules keep their objects.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_acceptance::{AwsStage, GoogleStage, flat};
use warren_harness::{GoogleConfig, ProxyConfig};

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
        // Earlier versions had no zones, so nothing of them moves.
        if resource["type"].as_str().is_some_and(|kind| kind.starts_with("warren_gcp_dns_")) {
            continue;
        }
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

/// `aws-hub` declared the endpoints that `aws-endpoints` has now.
#[test]
fn endpoints_of_a_hub_are_moved() -> Result<()> {
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;

    let file = terraform.folder().join("terraform.tfstate");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let mut renamed = 0;
    let earlier = ["endpoints", "s3", "ecr_api", "ecr_dkr"];
    for resource in state["resources"].as_array_mut().context("a state lists resources")? {
        let known = ["warren_aws_security_group", "warren_aws_vpc_endpoint"]
            .iter()
            .any(|kind| resource["type"] == *kind);
        if known
            && resource["module"] == "module.hub.module.endpoints"
            && earlier.iter().any(|name| resource["name"] == *name)
        {
            resource["module"] = "module.hub".into();
            renamed += 1;
        }
    }
    ensure!(renamed == 4, "{renamed} objects are in the shared module");
    std::fs::write(&file, serde_json::to_string(&state)?)?;

    let plan = flat(&terraform.plan(&["-refresh=false"])?.success()?.stdout);
    for endpoint in
        ["security_group.endpoints", "vpc_endpoint.s3", "vpc_endpoint.ecr_api", "vpc_endpoint.ecr_dkr"]
    {
        let moved = format!("has moved to module.hub.module.endpoints.warren_aws_{endpoint}");
        ensure!(plan.contains(&moved), "{moved}: {plan}");
    }
    ensure!(plan.contains("Plan: 0 to add, 0 to change, 0 to destroy."), "{plan}");
    terraform.apply(&[])?.success()?;
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
