//! Keys and gateways in Google Cloud, by real Terraform against a double that is held to Google's discovery documents.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::journey::{self, changes, in_no_file};
use warren_acceptance::overlay::{Instance, Process};
use warren_acceptance::{GoogleStage, KillSample, flat, kill_points, rotation};
use warren_harness::{Fault, GoogleConfig, NetNs};

const GATEWAY: &str = "projects/acme-ml/zones/us-central1-a/instances/gw-a";
const KEY: &str = "projects/acme-ml/secrets/warren-llm-training-gw-a-wireguard";
const ACCOUNT: &str = "projects/acme-ml/serviceAccounts/warren-gw-a@acme-ml.iam.gserviceaccount.com";
/// A group with grants.
const GRANTS: &str = r#"groups={gpu={grants=[{objects="gs://acme-data/llm/",access="read-write"}]}}"#;

fn stage(habits: GoogleConfig) -> Result<GoogleStage> {
    GoogleStage::example("gcp-gateway", habits)
}

/// All secret values that were added to Secret Manager so far.
fn secrets(stage: &GoogleStage) -> Result<Vec<String>> {
    journey::google_secrets(&stage.cloud.front().calls_of("secretmanager.projects.secrets.addVersion"))
}

fn instances_made(stage: &GoogleStage) -> usize {
    stage.cloud.front().calls_of("compute.instances.insert").len()
}

fn versions(stage: &GoogleStage, secret: &str) -> usize {
    let adds = stage.cloud.front().calls_of("secretmanager.projects.secrets.addVersion");
    adds.iter().filter(|call| call.params.get("parent") == secret).count()
}

#[test]
fn groups_and_keys_change_without_replacing_a_gateway_and_no_secret_leaves_the_store() -> Result<()> {
    let mut stage = stage(GoogleConfig::realistic())?;
    let log = stage.terraform.folder().join("terraform.log");
    stage.terraform.env("TF_LOG", "TRACE");
    stage.terraform.env("TF_LOG_PATH", log.clone());
    let terraform = &stage.terraform;
    terraform.plan(&["-out=first.tfplan"])?.success()?;
    let applied = terraform.apply(&[])?.success()?;
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);

    let objects = stage.cloud.objects();
    let gateway = &objects[GATEWAY];
    assert_eq!((&gateway["canIpForward"], &gateway["status"]), (&json!(true), &json!("RUNNING")));
    assert_eq!(gateway["shieldedInstanceConfig"]["enableSecureBoot"], true);
    assert_eq!(gateway["labels"]["warren-name"], "gw-a");
    let address = &objects["projects/acme-ml/regions/us-central1/addresses/gw-a"];
    assert_eq!(gateway["networkInterfaces"][0]["accessConfigs"][0]["natIP"], address["address"]);
    let tunnel = &objects["projects/acme-ml/global/firewalls/gw-tunnel"]["targetTags"];
    assert_eq!((tunnel, &gateway["tags"]["items"]), (&json!(["gw-gateway"]), &json!(["gw-gateway"])));
    let hop = &objects["projects/acme-ml/global/routes/gw-a-10-100-0-0-17"]["nextHopInstance"];
    ensure!(hop.as_str().is_some_and(|hop| hop.ends_with(GATEWAY)), "{hop}");
    let first = secrets(&stage)?;
    assert_eq!(first.len(), 5, "two WireGuard keys, two TLS keys, one signing key");

    let changed = rotation::in_place(terraform, "gcp")?;

    // A third key: the first one's payload is destroyed.
    terraform.apply(&["-var", "rotation=2026-12"])?.success()?;
    let destroyed = stage.cloud.front().calls_of("secretmanager.projects.secrets.versions.destroy");
    let first = format!("{KEY}/versions/1");
    ensure!(destroyed.iter().any(|call| call.params.get("name") == first), "{destroyed:?}");
    assert_eq!(instances_made(&stage), 2);

    let all = secrets(&stage)?;
    assert_eq!(all.len(), 15);
    rotation::nowhere(terraform, &log, &[&applied, &changed], &all)?;

    terraform.destroy(&["-var", "rotation=2026-12"])?.success()?;
    in_no_file(&terraform.folder(), &all)?;
    stage.permitted()?;
    stage.nothing_left()
}

/// "It must match that of the networkTier associated with the Address resource" (discovery document, `AccessConfig`).
#[test]
fn a_gateway_has_the_network_tier_of_its_address() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let main = stage.terraform.folder().join("modules/wireguard-gateway/google/main.tf");
    let module = std::fs::read_to_string(&main)?;
    let address = "  region = var.region\n}";
    ensure!(module.matches(address).count() == 1, "{module}");
    let standard = module.replace(address, "  region = var.region\n\n  network_tier = \"STANDARD\"\n}");
    std::fs::write(&main, standard)?;
    stage.terraform.apply(&[])?.success()?;
    let outside = stage.cloud.objects()[GATEWAY]["networkInterfaces"][0]["accessConfigs"][0].clone();
    let address = &stage.cloud.objects()["projects/acme-ml/regions/us-central1/addresses/gw-a"];
    assert_eq!((&outside["networkTier"], &outside["natIP"]), (&json!("STANDARD"), &address["address"]));
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    stage.terraform.destroy(&[])?.success()?;
    stage.permitted()?;
    stage.nothing_left()
}

#[test]
fn lost_answers_make_no_second_version() -> Result<()> {
    let stage = stage(GoogleConfig::realistic())?;
    let front = stage.cloud.front();
    front.inject(Fault::throttle().every(7).times(10));
    front.inject(Fault::cut_after().on("secretmanager.projects.secrets.addVersion").times(2));
    front.inject(Fault::cut_after().on("secretmanager.projects.secrets.create").times(1));
    front.inject(Fault::cut_after().on("iam.projects.serviceAccounts.create").times(1));
    front.inject(Fault::cut_after().on("compute.instances.insert").times(1));
    front.inject(Fault::overtaken().on("secretmanager.projects.secrets.setIamPolicy").times(1));
    front.inject(Fault::overtaken().on("secretmanager.projects.secrets.patch").times(1));
    stage.terraform.apply(&[])?.success()?;
    front.clear_faults();
    front.inject(Fault::cut_after().on("secretmanager.projects.secrets.addVersion").times(1));
    let rotated = ["-var", "rotation=2"];
    stage.terraform.apply(&rotated)?.success()?;
    front.clear_faults();
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode", "-var", "rotation=2"])?.success()?.code, 0);
    let state = stage.terraform.show(None)?.to_string();
    ensure!(!state.contains("\"version\":3"), "a rotation made two versions");
    stage.terraform.destroy(&rotated)?.success()?;
    stage.nothing_left()
}

#[test]
fn what_was_changed_by_hand_is_put_right() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;

    // Somebody stops a gateway, gives it another tag and label, closes a secret to it.
    ensure!(cloud.change(GATEWAY, |body| {
        body.insert("status".to_owned(), json!("TERMINATED"));
        body.insert("tags".to_owned(), json!({"items": ["open"], "fingerprint": "AAAA"}));
        body.insert("labels".to_owned(), json!({"team": "other"}));
    }));
    ensure!(cloud.change(KEY, |body| drop(body.insert("iamPolicy".to_owned(), json!({"etag": "AAAA"})))));
    terraform.plan(&["-out=drift.tfplan"])?.success()?;
    let planned = changes(&terraform.show(Some("drift.tfplan"))?);
    let update = |kind: &str| (format!("module.gateway.{kind}.gateway[\"a\"]"), "update".to_owned());
    assert_eq!(planned, [update("warren_gcp_gateway"), update("warren_gcp_gateway_service_account")]);
    terraform.apply(&[])?.success()?;
    let gateway = &cloud.objects()[GATEWAY];
    assert_eq!((&gateway["status"], &gateway["labels"]["warren-name"]), (&json!("RUNNING"), &json!("gw-a")));
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    assert_eq!(instances_made(&stage), 2);

    // Somebody adds a version that nobody knows the public half of: the next apply puts one on top.
    by_hand(&stage, &format!("v1/{KEY}:addVersion"), &json!({"payload": {"data": "AAAA"}}))?;
    terraform.plan(&["-out=key.tfplan"])?.success()?;
    let planned = changes(&terraform.show(Some("key.tfplan"))?);
    ensure!(planned.contains(&update("warren_gcp_wireguard_key")), "{planned:?}");
    terraform.apply(&[])?.success()?;
    assert_eq!(versions(&stage, KEY), 3);
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);

    // What comes otherwise than it was stored is not taken for a change of the configuration.
    let config = KEY.replace("-wireguard", "-config");
    let (kept, last) = (cloud.objects()[&config].clone(), versions(&stage, &config));
    ensure!(cloud.change(&config, |body| body["versions"][last - 1]["data"] = json!("R2FyYmxlZA==")));
    let refused = flat(&terraform.plan(&[])?.failure()?.output());
    let told = format!("version {last} does not match the one that Google stores");
    ensure!(refused.contains(&told), "{refused}");
    ensure!(cloud.change(&config, |body| body["versions"] = kept["versions"].clone()));

    // Somebody lets it forward no more: that cannot be changed, so it is replaced.
    ensure!(cloud.change(GATEWAY, |body| drop(body.insert("canIpForward".to_owned(), json!(false)))));
    terraform.apply(&[])?.success()?;
    assert_eq!(instances_made(&stage), 3);
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_imported_or_adopted() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    std::fs::remove_file(terraform.folder().join("terraform.tfstate"))?;
    // By blocks: the command evaluates the module before all of its objects are there.
    let imports: String = [
        ("wireguard_key", KEY.to_owned()),
        ("gateway_config", KEY.replace("-wireguard", "-config")),
        ("gateway_service_account", ACCOUNT.to_owned()),
        ("address", "projects/acme-ml/regions/us-central1/addresses/gw-a".to_owned()),
        ("gateway", format!("https://www.googleapis.com/compute/v1/{GATEWAY}")),
    ]
    .map(|(kind, id)| {
        format!("import {{\n  to = module.gateway.warren_gcp_{kind}.gateway[\"a\"]\n  id = \"{id}\"\n}}\n")
    })
    .concat();
    terraform.write("imports.tf", &imports)?;
    terraform.plan(&["-out=imported.tfplan"])?.success()?;
    let planned = changes(&terraform.show(Some("imported.tfplan"))?);
    // What an import cannot know, such as empty labels, is set; nothing that was imported is made anew.
    let imported = planned.iter().filter(|(_, actions)| actions != "create");
    ensure!(
        imported.clone().count() > 0 && imported.clone().all(|(_, actions)| actions == "update"),
        "{planned:?}"
    );
    let made = |kind: &str| (format!("module.gateway.warren_gcp_{kind}.gateway[\"a\"]"), "create".to_owned());
    for kind in ["wireguard_key", "gateway_config", "gateway_service_account", "address", "gateway"] {
        ensure!(!planned.contains(&made(kind)), "{kind}: {planned:?}");
    }
    // What was not imported is found by its labels or its description.
    terraform.apply(&[])?.success()?;
    assert_eq!((instances_made(&stage), secrets(&stage)?.len()), (2, 5));
    assert_eq!(terraform.plan(&["-detailed-exitcode"])?.success()?.code, 0);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// The real binary runs what the instance really got: its startup script, a token of its own service account, the
/// double's values, byte for byte.
#[test]
fn a_gateway_comes_up_with_what_terraform_made_and_takes_up_what_it_makes_next() -> Result<()> {
    let stage = stage(GoogleConfig::default())?;
    stage.terraform.apply(&[])?.success()?;
    let mut instance = Instance::boot_in_google(&stage.cloud, GATEWAY)?;
    let no_secret = |told: &str| -> Result<bool> {
        Ok(!secrets(&stage)?.iter().any(|secret| told.contains(secret.trim())))
    };
    ensure!(no_secret(instance.script())?, "a secret is in the startup script");
    let told = instance.fetch(&stage.cloud.endpoint())?;
    ensure!(no_secret(&told)?, "a secret is in the log: {told}");
    let key = instance.fetched("gateway.key")?;
    let all = secrets(&stage)?;
    ensure!(all.contains(&key) && all.contains(&instance.fetched("gateway-tls.pem")?), "other secrets came");

    let host = NetNs::new()?;
    instance.start(&host)?;
    let status: Value = serde_json::from_str(&instance.ask(&["status", "--json"])?)?;
    let outputs = stage.terraform.outputs()?;
    let listed = outputs["gateways"]["value"].as_array().context("gateways")?;
    let own = listed.iter().find(|gateway| gateway["name"] == status["name"]).context("another gateway")?;
    assert_eq!(status["interface"]["public_key"], own["key"]);

    // Another group: read again, without a restart.
    stage.terraform.apply(&["-var", rotation::GROUPS])?.success()?;
    instance.fetch(&stage.cloud.endpoint())?;
    ensure!(instance.ask(&["reload"])?.contains("groups"), "the gateway has not taken up the group");

    // Too many grants for an access boundary are refused at plan time, although the keys in the file are not known yet.
    let grants: Vec<String> =
        (0..11).map(|n| format!(r#"{{objects="gs://acme-data/{n}/",access="read"}}"#)).collect();
    let groups = format!("groups={{gpu={{grants=[{}]}}}}", grants.join(","));
    let told = stage.terraform.plan(&["-refresh=false", "-var", &groups, "-var", "rotation=next"])?;
    let told = flat(&told.failure()?.output());
    ensure!(told.contains("Group gpu has 11 grants for Google Storage, which accepts 10"), "{told}");

    // Other keys and the first grant: a restart, for which the boot script has a unit of its own.
    let rotated = ["-var", GRANTS, "-var", "rotation=next"];
    stage.terraform.apply(&rotated)?.success()?;
    assert_eq!(stage.terraform.plan(&[&["-detailed-exitcode"], &rotated[..]].concat())?.success()?.code, 0);
    instance.fetch(&stage.cloud.endpoint())?;
    ensure!(instance.fetched("gateway.key")? != key, "the gateway has not taken up the rotation");
    instance.start(&host)?;
    let status: Value = serde_json::from_str(&instance.ask(&["status", "--json"])?)?;
    assert_eq!(status["credentials"][0]["cloud"], "google", "{status}");
    ensure!(no_secret(&instance.log())?, "a secret is in the gateway's log");
    ensure!(instances_made(&stage) == 2, "a gateway was replaced");

    // Its account reads its own secrets, not those of another gateway.
    let list = instance.path("etc/warren/fetch.toml");
    std::fs::write(&list, std::fs::read_to_string(&list)?.replace("gw-a-", "gw-b-"))?;
    let mut fetch = Process::start(&mut instance.fetching(&stage.cloud.endpoint())?)?;
    fetch.says("retrying in 2 s")?;
    let told = fetch.log();
    ensure!(told.contains("gw-b-config: 403 PERMISSION_DENIED"), "{told}");
    drop(fetch);
    stage.terraform.destroy(&rotated)?.success()?;
    stage.nothing_left()
}

/// A call past Terraform.
fn by_hand(stage: &GoogleStage, path: &str, body: &Value) -> Result<()> {
    let output = std::process::Command::new(warren_programs::program("curl")?)
        .args(["--silent", "--show-error", "--fail", "--data", &body.to_string()])
        .args(["--header", "Content-Type: application/json"])
        .arg(format!("{}/{path}", stage.cloud.endpoint()))
        .output()?;
    ensure!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A sample of the kill points; `cargo xtask kill --example gcp-gateway` tries them all.
#[test]
fn a_provider_killed_at_keys_and_gateways_leaves_nothing_behind() -> Result<()> {
    let stage = || stage(GoogleConfig { polls: 1, ..GoogleConfig::default() });
    let report = kill_points(stage, KillSample::every(47), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}
