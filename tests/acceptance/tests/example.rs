//! The example, by real Terraform against an emulated AWS.

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, KillSample, flat, kill_points};
use warren_harness::{Fault, Kind, ProxyConfig};

fn counts(stage: &AwsStage) -> Result<Vec<(Kind, usize)>> {
    let mut counts = std::collections::BTreeMap::new();
    for (kind, object) in stage.cloud.leftovers()?.added {
        if !object.implicit {
            *counts.entry(kind).or_insert(0) += 1;
        }
    }
    Ok(counts.into_iter().collect())
}

#[test]
fn it_is_built_changed_in_place_and_taken_down() -> Result<()> {
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let built = counts(&stage)?;
    for (kind, expected) in [
        (Kind::Vpc, 3),
        (Kind::Subnet, 5),
        (Kind::InternetGateway, 1),
        (Kind::NatGateway, 1),
        (Kind::ElasticIp, 1),
        (Kind::VpcEndpoint, 4),
        (Kind::TransitGateway, 1),
        (Kind::TransitGatewayAttachment, 3),
        (Kind::TransitGatewayRouteTable, 2),
        (Kind::HostedZone, 3),
        (Kind::Record, 5),
        (Kind::EcrRepository, 1),
    ] {
        let found = built.iter().find(|(built, _)| *built == kind).map(|(_, count)| *count);
        assert_eq!(found, Some(expected), "{kind:?} of {built:?}");
    }
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);

    let outputs = terraform.outputs()?;
    assert_eq!(outputs["network"]["value"]["aws/ml"], "172.16.2.0/24");
    assert_eq!(outputs["network"]["value"]["aws/data"], "172.16.1.0/24");

    let changed = terraform.apply(&["-var", r#"tags={team="research"}"#])?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 29 changed, 0 destroyed"), "{}", changed.stdout);
    assert_eq!(counts(&stage)?, built);

    terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

#[test]
fn spokes_may_have_endpoints_of_their_own() -> Result<()> {
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::default())?;
    let terraform = &stage.terraform;
    let mut main = std::fs::read_to_string(terraform.folder().join("main.tf"))?;
    for (shared, own) in [
        ("endpoints         = \"hub\"", "endpoints = \"spoke\""),
        ("zone_ids             = module.hub.dns_zone_ids", "buckets = [\"acme-datasets\"]"),
    ] {
        ensure!(main.contains(shared), "{shared}: {main}");
        main = main.replace(shared, own);
    }
    terraform.write("main.tf", &main)?;
    terraform.get()?.success()?;
    terraform.apply(&[])?.success()?;
    let built = counts(&stage)?;
    ensure!(built.contains(&(Kind::VpcEndpoint, 9)), "three in the hub and in each spoke: {built:?}");
    ensure!(!built.iter().any(|(kind, _)| *kind == Kind::HostedZone), "{built:?}");
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_slow_forgetful_and_failing_cloud_is_survived() -> Result<()> {
    let stage = AwsStage::example("aws-hub-spoke", ProxyConfig::realistic())?;
    let proxy = stage.cloud.proxy();
    proxy.inject(Fault::throttle().every(7).times(20));
    proxy.inject(Fault::internal_error().every(11).times(10));
    proxy.inject(Fault::cut_after().on("CreateSubnet").times(1));
    proxy.inject(Fault::cut_before().on("CreateVpc").times(1));
    stage.terraform.apply(&[])?.success()?;
    let twice = stage.cloud.inventory()?.duplicates(&["warren:owner", "warren:name"]);
    assert_eq!(twice, vec![], "objects made twice by a repeated call");
    proxy.clear_faults();
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    proxy.inject(Fault::throttle().every(7).times(20));
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points; `cargo xtask kill` tries them all.
#[test]
fn a_killed_provider_leaves_nothing_behind() -> Result<()> {
    let stage = || AwsStage::example("aws-hub-spoke", ProxyConfig::default());
    let report = kill_points(stage, KillSample::every(41), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 4, "{report}");
    Ok(())
}
