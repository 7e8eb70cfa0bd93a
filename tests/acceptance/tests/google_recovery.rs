//! Gateways that Google Cloud recreates, by real Terraform against a double whose managed instance groups recreate VMs.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::journey::changes;
use warren_acceptance::overlay::Instance;
use warren_acceptance::{GoogleStage, KillSample, kill_points};
use warren_harness::{Fault, GoogleConfig};

const VM: &str = "projects/acme-ml/zones/us-central1-a/instances/gw-a";
const GROUP: &str = "projects/acme-ml/zones/us-central1-a/instanceGroupManagers/gw-a";
const DISK: &str = "projects/acme-ml/zones/us-central1-a/disks/gw-a-leases";
const INTERNAL: &str = "projects/acme-ml/regions/us-central1/addresses/gw-a-internal";
const RESOURCE: &str = "module.gateway.warren_gcp_gateway_group.gateway[\"a\"]";

fn stage(habits: GoogleConfig) -> Result<GoogleStage> {
    let mut stage = GoogleStage::example("gcp-gateway", habits)?;
    stage.terraform.env("TF_VAR_recovery", "true");
    Ok(stage)
}

/// A call of Compute Engine past Terraform.
fn by_hand(stage: &GoogleStage, method: &str, path: &str, body: &Value) -> Result<()> {
    let data = if body.is_null() { Vec::new() } else { vec!["--data".to_owned(), body.to_string()] };
    let output = Command::new(warren_programs::program("curl")?)
        .args(["--silent", "--show-error", "--fail", "--request", method])
        .args(data)
        .args(["--header", "Content-Type: application/json"])
        .arg(format!("{}/compute/v1/{path}", stage.cloud.endpoint()))
        .output()?;
    ensure!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The only VM of a gateway, and what outlives one: its addresses, and the disk with the leases.
fn vm(stage: &GoogleStage) -> Result<(String, BTreeMap<&'static str, Value>)> {
    let objects = stage.cloud.objects();
    let ours = objects.keys().filter(|path| path.contains("/instances/gw-a")).count();
    ensure!(ours == 1, "{ours} VMs");
    let vm = objects.get(VM).context("no VM")?;
    ensure!(vm["status"] == "RUNNING" && vm["canIpForward"] == true, "{vm}");
    ensure!(vm["shieldedInstanceConfig"]["enableSecureBoot"] == true, "{vm}");
    let disks = vm["disks"].as_array().context("no disks")?;
    let leases = disks.iter().find(|disk| disk["deviceName"] == "warren-leases").context("no disk")?;
    ensure!(leases["autoDelete"] == false && leases["boot"] != true, "{leases}");
    let kept = BTreeMap::from([
        ("disk", leases["source"].clone()),
        ("internal", vm["networkInterfaces"][0]["networkIP"].clone()),
        ("external", vm["networkInterfaces"][0]["accessConfigs"][0]["natIP"].clone()),
        ("disk's number", objects[DISK]["id"].clone()),
    ]);
    Ok((vm["id"].as_str().context("no number")?.to_owned(), kept))
}

fn clean(stage: &GoogleStage, arguments: &[&str]) -> Result<()> {
    let plan = stage.terraform.plan(&[&["-detailed-exitcode"], arguments].concat())?.success()?;
    ensure!(plan.code == 0, "{}", plan.output());
    Ok(())
}

#[test]
fn a_deleted_gateway_comes_back_with_its_addresses_keys_and_leases() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    clean(&stage, &[])?;
    let outputs = terraform.outputs()?["gateways"].to_string();
    let (first, had) = vm(&stage)?;
    let objects = stage.cloud.objects();
    assert_eq!(had["external"], objects["projects/acme-ml/regions/us-central1/addresses/gw-a"]["address"]);
    assert_eq!(had["internal"], objects[INTERNAL]["address"]);
    ensure!(outputs.contains(had["external"].as_str().unwrap_or_default()), "{outputs}");
    assert_eq!(objects["projects/acme-ml/global/routes/gw-a-10-100-0-0-17"]["nextHopIp"], had["internal"]);
    let before = Instance::boot_in_google(&stage.cloud, VM)?;
    before.fetch(&stage.cloud.endpoint())?;
    let mounts = std::fs::read_to_string(before.path("usr/local/lib/warren/disk"))?;
    ensure!(mounts.contains("device=/dev/disk/by-id/google-warren-leases\n"), "{mounts}");

    for lost in ["DELETE", "POST"] {
        match lost {
            "DELETE" => by_hand(&stage, lost, VM, &Value::Null)?,
            _ => by_hand(&stage, lost, &format!("{VM}/stop"), &Value::Null)?,
        }
        let (second, kept) = vm(&stage)?;
        ensure!(second != first, "the VM was not recreated after {lost}");
        assert_eq!(kept, had);
        // Terraform notices nothing.
        clean(&stage, &[])?;
    }
    let after = Instance::boot_in_google(&stage.cloud, VM)?;
    after.fetch(&stage.cloud.endpoint())?;
    for key in ["gateway.key", "gateway-tls.pem"] {
        assert_eq!(after.fetched(key)?, before.fetched(key)?, "{key}");
    }
    let (second, _) = vm(&stage)?;

    // Another script recreates the VM, and nothing else.
    let release = "release={url=\"https://downloads.acme.example/warren-tunnel\",sha256=\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}";
    terraform.plan(&["-var", release, "-out=next.tfplan"])?.success()?;
    let planned = changes(&terraform.show(Some("next.tfplan"))?);
    ensure!(planned.len() == 2 && planned.iter().all(|(_, action)| action == "update"), "{planned:?}");
    terraform.apply(&["-var", release])?.success()?;
    let (third, kept) = vm(&stage)?;
    ensure!(third != second, "the VM still runs the script before");
    assert_eq!(kept, had);
    let upgraded = Instance::boot_in_google(&stage.cloud, VM)?;
    ensure!(upgraded.script().contains("downloads.acme.example"), "{}", upgraded.script());
    clean(&stage, &["-var", release])?;
    let templates =
        stage.cloud.objects().keys().filter(|path| path.contains("/instanceTemplates/gw-a-")).count();
    ensure!(templates == 1, "{templates} templates");

    let groups = stage.cloud.front().calls_of("compute.instanceGroupManagers.insert");
    ensure!(groups.len() == 2, "a group was replaced");
    terraform.destroy(&["-var", release])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_single_vm_gives_way_to_a_group() -> Result<()> {
    let mut stage =
        GoogleStage::example("gcp-gateway", GoogleConfig { polls: 1, ..GoogleConfig::default() })?;
    stage.terraform.apply(&[])?.success()?;
    let address = |stage: &GoogleStage| {
        stage.cloud.objects()[VM]["networkInterfaces"][0]["accessConfigs"][0]["natIP"].clone()
    };
    let had = address(&stage);
    stage.terraform.env("TF_VAR_recovery", "true");
    stage.terraform.apply(&[])?.success()?;
    clean(&stage, &[])?;
    vm(&stage)?;
    assert_eq!(address(&stage), had);
    stage.terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

#[test]
fn labels_and_tags_reach_a_running_vm() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let main = std::fs::read_to_string(stage.terraform.folder().join("main.tf"))?;
    stage.terraform.apply(&[])?.success()?;
    let (first, _) = vm(&stage)?;
    let input = "  recovery            = var.recovery\n";
    let labelled = main.replace(input, &format!("{input}  labels              = {{ team = \"ml\" }}\n"));
    stage.terraform.write("main.tf", &labelled)?;
    stage.terraform.apply(&[])?.success()?;
    clean(&stage, &[])?;
    let (second, _) = vm(&stage)?;
    assert_eq!(second, first, "the VM was recreated for a label");
    let objects = stage.cloud.objects();
    for path in [VM, DISK] {
        assert_eq!(objects[path]["labels"]["team"], "ml", "{path}");
    }
    stage.terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

#[test]
fn a_gateway_group_survives_a_slow_cloud_and_lost_answers() -> Result<()> {
    for habits in
        [GoogleConfig::realistic(), GoogleConfig { show_unfinished: false, ..GoogleConfig::realistic() }]
    {
        let stage = stage(habits)?;
        let front = stage.cloud.front();
        front.inject(Fault::throttle().every(7).times(10));
        for call in [
            "disks.insert",
            "addresses.insert",
            "instanceTemplates.insert",
            "instanceGroupManagers.insert",
            "instanceGroupManagers.createInstances",
        ] {
            front.inject(Fault::cut_after().on(&format!("compute.{call}")).times(1));
        }
        stage.terraform.apply(&[])?.success()?;
        front.clear_faults();
        clean(&stage, &[])?;
        vm(&stage)?;
        stage.terraform.destroy(&[])?.success()?;
        stage.nothing_left()?;
    }
    Ok(())
}

#[test]
fn what_was_changed_by_hand_is_put_right() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let (_, had) = vm(&stage)?;
    let repaired = |what: &str| -> Result<()> {
        terraform.plan(&["-out=drift.tfplan"])?.success()?;
        let planned = changes(&terraform.show(Some("drift.tfplan"))?);
        assert_eq!(planned, [(RESOURCE.to_owned(), "update".to_owned())], "{what}");
        terraform.apply(&[])?.success()?;
        clean(&stage, &[])?;
        assert_eq!(vm(&stage)?.1, had, "{what}");
        Ok(())
    };

    // Somebody has the group delete its VM, so it does not create it again.
    let url = json!({"instances": [format!("https://www.googleapis.com/compute/v1/{VM}")]});
    by_hand(&stage, "POST", &format!("{GROUP}/deleteInstances"), &url)?;
    ensure!(!cloud.objects().contains_key(VM), "the VM is still there");
    repaired("deleteInstances")?;

    // Somebody lets the group have a second VM, which has no address of the gateway.
    by_hand(
        &stage,
        "POST",
        &format!("{GROUP}/createInstances"),
        &json!({"instances": [{"name": "gw-a-more"}]}),
    )?;
    repaired("createInstances")?;

    // Somebody deletes the group, which takes the VM along and leaves the leases.
    by_hand(&stage, "DELETE", GROUP, &Value::Null)?;
    ensure!(!cloud.objects().contains_key(VM) && cloud.objects().contains_key(DISK), "{:?}", cloud.left());
    repaired("delete")?;

    // Somebody takes the labels from the disk.
    ensure!(cloud.change(DISK, |body| drop(body.remove("labels"))));
    repaired("labels")?;

    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_imported_or_adopted() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let (first, had) = vm(&stage)?;
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    let import = format!("import {{\n  to = {RESOURCE}\n  id = \"{GROUP}\"\n}}\n");
    terraform.write("imports.tf", &import)?;
    terraform.plan(&["-out=imported.tfplan"])?.success()?;
    let planned = changes(&terraform.show(Some("imported.tfplan"))?);
    ensure!(planned.contains(&(RESOURCE.to_owned(), "update".to_owned())), "{planned:?}");
    // The other gateway, and everything else, is found by labels and markers.
    terraform.apply(&[])?.success()?;
    clean(&stage, &[])?;
    assert_eq!(vm(&stage)?, (first, had));
    let groups = stage.cloud.front().calls_of("compute.instanceGroupManagers.insert");
    ensure!(groups.len() == 2, "a group was created twice");
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points of the whole composition.
#[test]
fn a_provider_killed_at_a_group_leaves_nothing_behind() -> Result<()> {
    let stage = || stage(GoogleConfig { polls: 1, ..GoogleConfig::default() });
    let report = kill_points(stage, KillSample::every(47), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}
