//! A hub in AWS and one in Google Cloud, joined from site to site: by real Terraform against emulated clouds, with the
//! gateways that it makes.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::journey::{self, changes};
use warren_acceptance::overlay::Instance;
use warren_acceptance::{AllStage, KillSample, build_folder, kill_points};
use warren_harness::{GoogleConfig, NetNs, ProxyConfig, RunPodConfig};

const GOOGLES: &str = "projects/acme-ml/zones/us-central1-a/instances/gw-gcp";

fn stage() -> Result<AllStage> {
    let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
    AllStage::example("multi-cloud", habits)
}

/// The lines that `warren-tunnel topology` gives to a site about the other.
fn topology(stage: &AllStage, sites: &Value, name: &str) -> Result<Vec<String>> {
    let mut text = "topology = \"mesh\"\n".to_owned();
    for site in sites.as_array().context("sites")? {
        text += "[[sites]]\n";
        for (key, value) in site.as_object().context("a site")? {
            text += &format!("{key} = {value}\n");
        }
    }
    let file = stage.terraform.folder().join("topology.toml");
    std::fs::write(&file, text)?;
    let mut command = Command::new(build_folder()?.join("warren-tunnel"));
    let output = command.arg("topology").arg(&file).args(["--site", name]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout)?;
    let own = told.lines().take_while(|line| !line.starts_with("[[groups"));
    Ok(own.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

/// The gateway's own word about its link to the other site.
fn link(instance: &Instance) -> Result<Value> {
    let status: Value = serde_json::from_str(&instance.ask(&["status", "--json"])?)?;
    status["sites"].get(0).cloned().with_context(|| format!("no site in {status}"))
}

#[test]
fn two_hubs_are_joined_and_their_gateways_find_each_other() -> Result<()> {
    let stage = stage()?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    stage.permitted()?;
    let outputs = terraform.outputs()?;

    // Both gateways boot from what their clouds have of them.
    let run = stage.cloud.aws.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let mut aws = Instance::boot(&run)?;
    aws.fetch(&stage.cloud.aws.endpoint())?;
    let mut gcp = Instance::boot_in_google(&stage.cloud.google, GOOGLES)?;
    gcp.fetch(&stage.cloud.google.endpoint())?;

    // What they have of each other is what the tunnel's own tool makes of the two ends.
    for (name, instance) in [("aws", &aws), ("gcp", &gcp)] {
        let config = instance.fetched("gateway.toml")?;
        let wanted = topology(&stage, &outputs["sites"]["value"], name)?;
        ensure!(wanted.len() >= 8, "{wanted:?}");
        // The module writes lists as JSON, without spaces.
        let same = |have: &str, line: &str| have.replace("\",\"", "\", \"") == line;
        for line in wanted {
            ensure!(config.lines().any(|have| same(have, &line)), "{name} has no `{line}`:\n{config}");
        }
        // The tests of the rules, which each gateway runs when it starts.
        ensure!(config.matches("[[tests]]").count() == 2, "{config}");
    }

    // Each at its own address, with nothing but a wire in between.
    let here = NetNs::new()?;
    let there = here.neighbour("internet")?;
    let public = |place: usize| -> Result<String> {
        let udp = outputs["gateways"]["value"][place]["udp"].as_str().context("no endpoint")?;
        Ok(udp.trim_end_matches(":51820").to_owned())
    };
    for (host, own, other, public, others) in [
        (&here, "203.0.113.1", "203.0.113.2", public(0)?, public(1)?),
        (&there, "203.0.113.2", "203.0.113.1", public(1)?, public(0)?),
    ] {
        host.ip(&format!("address add {own}/24 dev internet"))?;
        host.ip(&format!("address add {public}/32 dev lo"))?;
        host.ip(&format!("route add {others}/32 via {other} src {public}"))?;
    }
    aws.start(&here)?;
    gcp.start(&there)?;
    for (instance, other) in [(&aws, "gcp"), (&gcp, "aws")] {
        let up = (0..300).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            link(instance).ok().filter(|link| link["up"] == json!(true))
        });
        let up = up.with_context(|| format!("no session with {other}: {}", instance.log()))?;
        assert_eq!(up["name"], other);
    }

    // The overlay and the other hub's ranges lead to the gateways, on both sides.
    let objects = stage.cloud.google.objects();
    for range in ["172-16-0-0-16", "10-100-128-0-17"] {
        let hop = &objects[&format!("projects/acme-ml/global/routes/gw-gcp-{range}")]["nextHopInstance"];
        ensure!(hop.as_str().is_some_and(|hop| hop.ends_with(GOOGLES)), "{range}: {hop}");
    }
    let routes = stage.cloud.aws.proxy().calls_of("CreateRoute");
    for range in ["10.0.0.0/16", "10.100.0.0/17"] {
        ensure!(
            routes.iter().any(|call| call.params.get("DestinationCidrBlock") == range),
            "{range}: {routes:?}"
        );
    }

    // Other keys on both sides replace no gateway, and no secret leaves the stores.
    let rotated = ["-var", "rotation=2026-11"];
    terraform.plan(&["-out=keys.tfplan", rotated[0], rotated[1]])?.success()?;
    let planned = changes(&terraform.show(Some("keys.tfplan"))?);
    ensure!(planned.len() == 7 && planned.iter().all(|(_, actions)| actions == "update"), "{planned:?}");
    terraform.apply(&rotated)?.success()?;
    let mut secrets = journey::secrets(&stage.cloud.aws.proxy().calls_of("PutParameter"));
    let added = stage.cloud.google.front().calls_of("secretmanager.projects.secrets.addVersion");
    secrets.extend(journey::google_secrets(&added)?);
    assert_eq!(secrets.len(), 10);
    journey::unpack(&terraform.folder().join("keys.tfplan"))?;
    journey::in_no_file(&terraform.folder(), &secrets)?;

    terraform.destroy(&rotated)?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points; `cargo xtask kill --example multi-cloud` tries them all.
#[test]
fn a_provider_killed_in_either_cloud_leaves_nothing_behind() -> Result<()> {
    let report = kill_points(stage, KillSample { first: 7, ..KillSample::every(67) }, &mut |line| {
        println!("{line}");
    })?;
    println!("{report}");
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}
