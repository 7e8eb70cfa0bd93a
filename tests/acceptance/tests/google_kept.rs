//! What another tool has set in objects of Google Cloud, and what the API does not return, by real Terraform against the double.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use warren_acceptance::{GoogleStage, flat};
use warren_harness::GoogleConfig;

const OBJECTS: &str = r#"
variable "later" { default = false }

resource "warren_gcp_network" "data" {
  name         = "data"
  routing_mode = var.later ? "GLOBAL" : "REGIONAL"
}

resource "warren_gcp_network" "peer" { name = "peer" }

resource "warren_gcp_network_peering" "data" {
  name                 = "data-peer"
  network              = warren_gcp_network.data.id
  peer_network         = warren_gcp_network.peer.id
  export_custom_routes = var.later
}

resource "warren_gcp_subnetwork" "data" {
  name                = "data"
  network             = warren_gcp_network.data.id
  ip_cidr_range       = "10.1.0.0/20"
  secondary_ip_ranges = merge({ pods = "10.1.64.0/18" }, var.later ? { jobs = "10.1.128.0/18" } : {})
  flow_logs           = { sampling = var.later ? 0.2 : 0.1 }
}

resource "warren_gcp_router_nat" "egress" {
  name             = "egress"
  network          = warren_gcp_network.data.id
  subnetworks      = [warren_gcp_subnetwork.data.id]
  min_ports_per_vm = var.later ? 128 : 64
  log_filter       = "ERRORS_ONLY"
}

resource "warren_gcp_firewall" "data" {
  name          = "data"
  network       = warren_gcp_network.data.id
  direction     = "INGRESS"
  allow         = [{ protocol = "tcp", ports = ["443"] }]
  source_ranges = ["10.0.0.0/8"]
  priority      = var.later ? 900 : 1000
}
"#;

const DATA: &str = "projects/acme-ml/global/networks/data";
const RULE: &str = "projects/acme-ml/global/firewalls/data";
const ROUTER: &str = "projects/acme-ml/regions/us-central1/routers/egress";
const SUBNETWORK: &str = "projects/acme-ml/regions/us-central1/subnetworks/data";

/// A gateway of another tool in the same router, which it came into first.
fn another() -> Value {
    json!({
        "name": "a-private-one", "type": "PRIVATE", "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{"name": format!("https://www.googleapis.com/compute/v1/{SUBNETWORK}"), "sourceIpRangesToNat": ["ALL_IP_RANGES"]}],
    })
}

#[test]
fn a_change_keeps_what_another_tool_has_set() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::default(), OBJECTS)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let rules =
        json!([{"ruleNumber": 100, "match": "destination.ip == '192.0.2.1'", "description": "by hand"}]);
    let set = |path: &str, at: &str, value: Value| -> Result<()> {
        let mut found = false;
        cloud.change(path, |body| {
            let mut all = Value::Object(std::mem::take(body));
            if let Some((holder, member)) = at.rsplit_once('/')
                && let Some(Value::Object(holder)) = all.pointer_mut(holder)
            {
                holder.insert(member.to_owned(), value);
                found = true;
            }
            if let Value::Object(all) = all {
                *body = all;
            }
        });
        ensure!(found, "no {at} in {path}");
        Ok(())
    };
    set(ROUTER, "/nats/0/rules", rules.clone())?;
    set(ROUTER, "/nats/0/autoNetworkTier", json!("STANDARD"))?;
    set(ROUTER, "/nats/0/tcpTransitoryIdleTimeoutSec", json!(60))?;
    cloud.change(ROUTER, |body| {
        if let Some(nats) = body.get_mut("nats").and_then(Value::as_array_mut) {
            nats.insert(0, another());
        }
    });
    set(
        SUBNETWORK,
        "/secondaryIpRanges/0/reservedInternalRange",
        json!("networkconnectivity.googleapis.com/pods"),
    )?;
    set(DATA, "/routingConfig/bgpBestPathSelectionMode", json!("STANDARD"))?;
    set(DATA, "/routingConfig/bgpAlwaysCompareMed", json!(true))?;
    set(DATA, "/peerings/0/importSubnetRoutesWithPublicIp", json!(true))?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "what the provider does not manage is no change:\n{}", plan.output());

    let changed = terraform.apply(&["-var", "later=true"])?.success()?;
    ensure!(flat(&changed.stdout).contains("0 added, 5 changed, 0 destroyed"), "{}", changed.stdout);
    let objects = cloud.objects();
    let at = |path: &str, at: &str| objects[path].pointer(at).cloned().unwrap_or_default();
    assert_eq!(
        (at(ROUTER, "/nats/0/name"), at(ROUTER, "/nats/0/type")),
        (json!("a-private-one"), json!("PRIVATE"))
    );
    let kept = ["rules", "autoNetworkTier", "tcpTransitoryIdleTimeoutSec", "minPortsPerVm"];
    let kept = kept.map(|member| at(ROUTER, &format!("/nats/1/{member}")));
    assert_eq!(kept, [rules, json!("STANDARD"), json!(60), json!(128)]);
    let range = objects[SUBNETWORK]["secondaryIpRanges"].as_array().into_iter().flatten();
    let reserved: Vec<&str> = range.filter_map(|range| range["reservedInternalRange"].as_str()).collect();
    assert_eq!(reserved, ["networkconnectivity.googleapis.com/pods"]);
    let routing = &objects[DATA]["routingConfig"];
    let routing =
        ["routingMode", "bgpBestPathSelectionMode", "bgpAlwaysCompareMed"].map(|member| &routing[member]);
    assert_eq!(routing, [&json!("GLOBAL"), &json!("STANDARD"), &json!(true)]);
    let side = &objects[DATA]["peerings"][0];
    assert_eq!(
        (&side["exportCustomRoutes"], &side["importSubnetRoutesWithPublicIp"]),
        (&json!(true), &json!(true))
    );

    // What the resource does manage is shown before it is put right.
    cloud.change(RULE, |body| {
        body.insert("targetServiceAccounts".to_owned(), json!(["b@acme-ml.iam.gserviceaccount.com"]));
        body.insert("logConfig".to_owned(), json!({"enable": true, "metadata": "INCLUDE_ALL_METADATA"}));
    });
    let drift = flat(&terraform.plan(&["-var", "later=true"])?.success()?.stdout);
    ensure!(drift.contains("target_service_accounts") && drift.contains("log_metadata"), "{drift}");
    terraform.apply(&["-var", "later=true"])?.success()?;
    let rule = cloud.objects()[RULE].clone();
    assert_eq!((rule.get("targetServiceAccounts"), &rule["logConfig"]), (None, &json!({"enable": false})));
    cloud.change(ROUTER, |body| {
        if let Some(nats) = body.get_mut("nats").and_then(Value::as_array_mut) {
            nats.remove(0);
        }
    });
    terraform.destroy(&["-var", "later=true"])?.success()?;
    stage.nothing_left()
}

const ENDPOINT: &str = r#"
resource "warren_gcp_network" "hub" { name = "hub" }

resource "warren_gcp_private_service_connect" "apis" {
  name         = "apis"
  network      = warren_gcp_network.hub.id
  address      = "10.255.0.2"
  automate_dns = false
}
"#;

#[test]
fn what_google_does_not_return_of_an_endpoint_is_no_change() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig::realistic(), ENDPOINT)?;
    let terraform = &stage.terraform;
    terraform.apply(&[])?.success()?;
    let sent = stage.cloud.front().calls_of("compute.globalForwardingRules.insert");
    let sent = sent.first().context("a create")?.params.get("resource.noAutomateDnsZone").to_owned();
    let rule = "projects/acme-ml/global/forwardingRules/apis";
    assert_eq!((sent.as_str(), stage.cloud.objects()[rule].get("noAutomateDnsZone")), ("true", None));
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    terraform.run(&["apply", "-refresh-only", "-auto-approve"])?.success()?;

    // An import does not know the value either: whatever is configured, the endpoint stays.
    for (setting, dns) in [("automate_dns = false", "false"), ("automate_dns = true", "true"), ("", "null")] {
        terraform.run(&["state", "rm", "warren_gcp_private_service_connect.apis"])?.success()?;
        stage.configure(&ENDPOINT.replace("automate_dns = false", setting))?;
        terraform.import("warren_gcp_private_service_connect.apis", rule)?.success()?;
        let applied = flat(&terraform.apply(&[])?.success()?.stdout);
        ensure!(applied.contains("0 added,") && applied.contains("0 destroyed"), "{setting}: {applied}");
        let plan = terraform.plan(&["-detailed-exitcode"])?;
        ensure!(plan.code == 0, "{setting}: {}", plan.output());
        let state = terraform.show(None)?.to_string();
        ensure!(state.contains(&format!("\"automate_dns\":{dns}")), "{setting}: {state}");
    }
    assert_eq!(stage.cloud.front().calls_of("compute.globalForwardingRules.insert").len(), 1);
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A network that was made without an MTU has none in the API's answers (recordings of k8s-config-connector, and
/// PaloAltoNetworks/terraform-google-vmseries-modules pull request 155). It is 1460.
#[test]
fn a_network_without_an_mtu_has_1460() -> Result<()> {
    let network = "resource \"warren_gcp_network\" \"hub\" {\n  name = \"hub\"\n}\n";
    let stage = GoogleStage::with(GoogleConfig::default(), network)?;
    let (terraform, cloud) = (&stage.terraform, &stage.cloud);
    let hub = "projects/acme-ml/global/networks/hub";
    let body = json!({"autoCreateSubnetworks": false, "routingConfig": {"routingMode": "REGIONAL"}});
    cloud.place(hub, "compute#network", body.as_object().cloned().unwrap_or_default());
    terraform.import("warren_gcp_network.hub", hub)?.success()?;
    let state = terraform.show(None)?.to_string();
    ensure!(state.contains("\"mtu\":1460") && cloud.objects()[hub].get("mtu").is_none(), "{state}");
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "{}", plan.output());
    // Another one replaces the network.
    terraform.write("main.tf", &network.replace("}", "  mtu = 1500\n}"))?;
    let plan = flat(&terraform.plan(&[])?.success()?.stdout);
    ensure!(plan.contains("1460 -> 1500 # forces replacement"), "{plan}");
    terraform.write("main.tf", network)?;
    terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
