//! A provider that is configured for another account than the state refuses to read, change and delete. One that is
//! configured for another region refuses to plan, and otherwise works on the objects where they are.

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use warren_acceptance::{AwsStage, flat};
use warren_harness::ProxyConfig;

const VPC: &str =
    "resource \"warren_aws_vpc\" \"one\" {\n name = \"one\"\n cidr_block = \"10.0.0.0/16\"\n}\n";
/// Its attributes name neither region nor account.
const ADDRESS: &str = "resource \"warren_aws_elastic_ip\" \"one\" {\n name = \"one\"\n}\n";

fn configure(stage: &AwsStage, aws: &str) -> Result<()> {
    stage.configure_aws(&format!("endpoint_url = var.endpoint_url, {aws}"))
}

/// The objects of the state that an error lists.
const ORPHANS: &str = "These objects of the state are in";

/// No way of running Terraform removes or duplicates the object; each says `expected`.
fn refused(stage: &AwsStage, expected: &str) -> Result<()> {
    let runs = [
        stage.terraform.plan(&[])?,
        stage.terraform.plan(&["-refresh=false"])?,
        stage.terraform.apply(&[])?,
        stage.terraform.apply(&["-refresh-only"])?,
        stage.terraform.destroy(&[])?,
        stage.terraform.destroy(&["-refresh=false"])?,
    ];
    for run in runs {
        let output = flat(&run.failure()?.output());
        ensure!(output.contains(expected), "{expected:?} is not in:\n{output}");
    }
    Ok(())
}

fn empty_plan(stage: &AwsStage) -> Result<()> {
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    Ok(())
}

#[test]
fn in_another_region() -> Result<()> {
    for (resource, label) in [(VPC, "warren_aws_vpc"), (ADDRESS, "warren_aws_elastic_ip")] {
        let stage = AwsStage::with(ProxyConfig::default(), "")?;
        configure(&stage, "region = \"us-east-1\"")?;
        stage.terraform.write("main.tf", resource)?;
        stage.terraform.apply(&[])?.success()?;
        empty_plan(&stage)?;
        configure(&stage, "region = \"eu-west-1\"")?;
        for run in [
            stage.terraform.plan(&[])?,
            stage.terraform.plan(&["-refresh=false"])?,
            stage.terraform.apply(&[])?,
            // Terraform plans before it destroys, unless it is told not to refresh.
            stage.terraform.destroy(&[])?,
        ] {
            let output = flat(&run.failure()?.output());
            let object = format!("The state says that {label} \"one\"");
            let place = "is in region us-east-1, but the provider is configured for region eu-west-1.";
            ensure!(output.contains(&object) && output.contains(place), "{output}");
        }
        // What the error advises: the object stays, and a read finds it.
        stage.terraform.write("main.tf", &resource.replace("name =", "region = \"us-east-1\"\n name ="))?;
        empty_plan(&stage)?;
        stage.terraform.apply(&["-refresh-only"])?.success()?;
        // Without a plan, a destroy deletes it where it is, whatever the provider block says.
        stage.terraform.write("main.tf", resource)?;
        stage.terraform.destroy(&["-refresh=false"])?.success()?;
        stage.nothing_left()?;
    }
    Ok(())
}

#[test]
fn in_another_account() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    configure(&stage, "region = \"us-east-1\"")?;
    stage.terraform.write("main.tf", &[VPC, ADDRESS].concat())?;
    stage.terraform.apply(&[])?.success()?;
    let role = "assume_role = { role_arn = \"arn:aws:iam::222222222222:role/other\" }";
    configure(&stage, &format!("region = \"us-east-1\", {role}"))?;
    refused(&stage, "is in account 123456789012, but the provider is configured for account 222222222222.")?;
    for listed in
        ["- warren_aws_elastic_ip \"one\" (eipalloc-", "- warren_aws_vpc \"one\" (vpc-", "in us-east-1"]
    {
        let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
        let (_, orphans) = output.split_once(ORPHANS).unwrap_or_default();
        ensure!(orphans.contains(listed), "{listed:?} is not listed in:\n{output}");
    }
    configure(&stage, "region = \"us-east-1\"")?;
    empty_plan(&stage)?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_state_without_stored_identity_is_read_and_its_arn_counts() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    configure(&stage, "region = \"us-east-1\"")?;
    stage.terraform.write("main.tf", &[VPC, ADDRESS].concat())?;
    stage.terraform.apply(&[])?.success()?;
    let file = stage.terraform.folder().join("terraform.tfstate");
    let mut state: Json = serde_json::from_slice(&std::fs::read(&file)?)?;
    for resource in state["resources"].as_array_mut().into_iter().flatten() {
        let private =
            resource["instances"][0].as_object_mut().and_then(|instance| instance.remove("private"));
        ensure!(private.is_some(), "{resource}");
    }
    std::fs::write(&file, state.to_string())?;
    empty_plan(&stage)?;
    configure(&stage, "region = \"eu-west-1\"")?;
    let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(output.contains("is in region us-east-1"), "{output}");
    configure(&stage, "region = \"us-east-1\"")?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
