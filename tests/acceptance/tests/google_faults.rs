//! A fault at every kind of call to Google Cloud: an apply, changes in place and a destroy converge all the same.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use warren_acceptance::GoogleStage;
use warren_harness::{Fault, GoogleConfig};

/// One object of every kind, and with `later` a change of each that changes in place.
const EVERY_KIND: &str = r#"
variable "later" { default = false }

resource "warren_gcp_network" "all" {
  for_each = toset(["hub", "data"])

  name                  = each.key
  routing_mode          = var.later ? "GLOBAL" : "REGIONAL"
  delete_default_routes = true
}

resource "warren_gcp_subnetwork" "data" {
  name                     = "data"
  network                  = warren_gcp_network.all["data"].id
  ip_cidr_range            = var.later ? "10.1.0.0/19" : "10.1.0.0/20"
  secondary_ip_ranges      = { pods = var.later ? "10.1.128.0/18" : "10.1.64.0/18" }
  private_ip_google_access = !var.later
}

resource "warren_gcp_route" "internet" {
  name             = "internet"
  network          = warren_gcp_network.all["data"].id
  dest_range       = "0.0.0.0/0"
  next_hop_gateway = "default-internet-gateway"
}

resource "warren_gcp_router_nat" "data" {
  name       = "data"
  network    = warren_gcp_network.all["data"].id
  log_filter = var.later ? "ALL" : "ERRORS_ONLY"
}

resource "warren_gcp_firewall" "deny" {
  name          = "deny"
  network       = warren_gcp_network.all["data"].id
  priority      = var.later ? 65533 : 65534
  deny          = [{ protocol = "all" }]
  source_ranges = ["0.0.0.0/0"]
}

resource "warren_gcp_network_peering" "data" {
  name                 = "data-to-hub"
  network              = warren_gcp_network.all["data"].id
  peer_network         = warren_gcp_network.all["hub"].id
  import_custom_routes = var.later
}

resource "warren_gcp_network_peering" "hub" {
  name         = "hub-to-data"
  network      = warren_gcp_network.all["hub"].id
  peer_network = warren_gcp_network.all["data"].id

  depends_on = [warren_gcp_network_peering.data]
}

resource "warren_gcp_private_service_connect" "hub" {
  name    = "hub"
  network = warren_gcp_network.all["hub"].id
  address = "10.0.255.254"
}

resource "warren_gcp_artifact_registry_repository" "images" {
  name        = "images"
  description = var.later ? "Later." : "First."
}

resource "warren_gcp_service_perimeter" "training" {
  access_policy = "123"
  name          = "training"
  title         = var.later ? "Later" : "First"
  status        = { restricted_services = ["storage.googleapis.com"] }
}
"#;

#[derive(Clone, Copy, Debug)]
enum Step {
    Apply,
    Change,
    Destroy,
}

const STEPS: [Step; 3] = [Step::Apply, Step::Change, Step::Destroy];

impl Step {
    /// Whether Terraform was content.
    fn run(self, stage: &GoogleStage) -> Result<(bool, String)> {
        let terraform = &stage.terraform;
        let run = match self {
            Step::Apply => terraform.apply(&[])?,
            Step::Change => terraform.apply(&["-var", "later=true"])?,
            Step::Destroy => terraform.destroy(&[])?,
        };
        Ok((run.code == 0, run.output()))
    }
}

fn is_read(action: &str) -> bool {
    let verb = action.rsplit('.').next().unwrap_or_default();
    ["get", "list", "aggregatedList"].iter().any(|read| verb.starts_with(read))
}

fn is_operation(action: &str) -> bool {
    action.contains(".operations.") || action.contains("Operations.")
}

/// The fault for the first call of a kind; `None` where the call knows no such fault.
type Table = (&'static str, fn(&str) -> Option<Fault>);

const FAULTS: [Table; 4] = [
    ("429", |_| Some(Fault::throttle())),
    ("503", |_| Some(Fault::error(503, "backendError", "The service is currently unavailable."))),
    ("late failure", |action| {
        // The change of a repository is no operation.
        let at_once = is_read(action) || action.ends_with("repositories.patch");
        let code = if action.starts_with("compute.") { "RESOURCE_NOT_READY" } else { "ABORTED" };
        (!at_once).then(|| Fault::fail_late(code, "Another change was in its way."))
    }),
    ("stale fingerprint", |action| {
        let fingerprints = ["subnetworks.patch", "servicePerimeters.patch"];
        fingerprints.iter().any(|verb| action.ends_with(verb)).then(Fault::overtaken)
    }),
];

#[test]
fn a_fault_at_every_kind_of_call_converges() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig { polls: 1, ..GoogleConfig::default() }, EVERY_KIND)?;
    let front = stage.cloud.front();
    let mut kinds = Vec::new();
    for step in STEPS {
        front.clear_calls();
        let (fine, output) = step.run(&stage)?;
        ensure!(fine, "{step:?} without a fault: {output}");
        kinds.push((step, front.calls().into_iter().map(|call| call.action).collect::<BTreeSet<_>>()));
    }
    stage.nothing_left()?;
    let all: BTreeSet<&String> = kinds.iter().flat_map(|(_, actions)| actions).collect();
    ensure!(all.iter().filter(|action| !is_read(action)).count() >= 26, "{all:#?}");

    for (name, fault) in FAULTS {
        let mut struck = 0;
        for (step, actions) in &kinds {
            front.clear_calls();
            let hit: Vec<&String> = actions.iter().filter(|action| fault(action).is_some()).collect();
            for (action, fault) in actions.iter().filter_map(|action| Some((action, fault(action)?))) {
                front.inject(fault.on(action).times(1));
            }
            let mut runs = 0;
            loop {
                let (fine, output) = step.run(&stage)?;
                runs += 1;
                if fine {
                    break;
                }
                // A create that fails late fails its run, and those that wait for it are not begun.
                if name != "late failure" || runs > 8 {
                    bail!("{step:?} with {name}, run {runs}: {output}");
                }
            }
            for action in hit {
                let calls = front.calls_of(action);
                let met = match name {
                    "late failure" => calls.len() > 1,
                    _ => calls
                        .iter()
                        .any(|call| call.error.is_some() || call.status.is_some_and(|status| status >= 400)),
                };
                ensure!(met || is_operation(action), "{step:?}: {name} at {action} was never met: {calls:?}");
                struck += 1;
            }
            front.clear_faults();
            let variables: &[&str] = if matches!(step, Step::Change) { &["-var", "later=true"] } else { &[] };
            if !matches!(step, Step::Destroy) {
                let plan = stage.terraform.plan(&[&["-detailed-exitcode"], variables].concat())?;
                ensure!(plan.code == 0, "{step:?} after {name} plans changes:\n{}", plan.output());
            }
        }
        println!("{name}: {struck} kinds of calls");
        ensure!(struck > 1, "{name} struck nothing");
        stage.nothing_left()?;
    }
    Ok(())
}

const ACCOUNT: &str = r#"
resource "warren_gcp_wireguard_key" "gw" {
  name = "gateway-a"
}

resource "warren_gcp_gateway_service_account" "gw" {
  name    = "gateway-a"
  secrets = [warren_gcp_wireguard_key.gw.id]
}
"#;

/// IAM answers 404 and then 403 about an account that it has made (hashicorp/google issues 15042 and 19624).
#[test]
fn a_new_service_account_is_not_known_at_first() -> Result<()> {
    let config = GoogleConfig { account_delay: 4, ..GoogleConfig::default() };
    let stage = GoogleStage::with(config, ACCOUNT)?;
    stage.terraform.apply(&[])?.success()?;
    let mut calls = stage.cloud.front().calls();
    calls.retain(|call| call.action.contains("serviceAccounts"));
    let refused = |status| calls.iter().filter(|call| call.status == Some(status)).count();
    // The create first looks for an account of its name.
    ensure!(refused(404) == 2 && refused(403) == 3, "{calls:#?}");
    assert_eq!(stage.terraform.plan(&["-detailed-exitcode"])?.code, 0);
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}
