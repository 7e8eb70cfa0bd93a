//! Throttling, lost answers and changes in progress at every call: an apply converges in one run, and makes nothing twice.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, Emulated, GoogleStage, RunPodStage, Stage};
use warren_harness::{Call, Consistency, Fault, GoogleConfig, ProxyConfig, RunPodConfig};

/// Applies and destroys with these faults at the calls of each run; each must succeed at once.
fn survive<C: Emulated>(stage: &Stage<C>, faults: &dyn Fn() -> Vec<Fault>) -> Result<Vec<Call>> {
    let mut struck = Vec::new();
    for destroy in [false, true] {
        for (_, front) in stage.cloud.fronts() {
            front.clear_calls();
            faults().into_iter().for_each(|fault| front.inject(fault));
        }
        let run = if destroy { stage.terraform.destroy(&[])? } else { stage.terraform.apply(&[])? };
        ensure!(run.code == 0, "{}", run.output());
        for (_, front) in stage.cloud.fronts() {
            front.clear_faults();
            let failed = |call: &Call| call.status.is_none_or(|status| status >= 400);
            struck.extend(front.calls().into_iter().filter(failed));
        }
        if !destroy {
            let twice = stage.cloud.made_twice()?;
            ensure!(twice.is_empty(), "made twice: {twice}");
            let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
            ensure!(plan.code == 0, "changes after the apply:\n{}", plan.output());
        }
    }
    stage.nothing_left()?;
    Ok(struck)
}

fn actions(calls: &[Call]) -> BTreeMap<&str, usize> {
    let mut actions = BTreeMap::new();
    for call in calls {
        *actions.entry(call.action.as_str()).or_default() += 1;
    }
    actions
}

/// Objects of every type whose create accepts a token, and some whose create does not.
const AWS: &str = r#"
resource "warren_aws_vpc" "one" {
  name       = "one"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_internet_gateway" "one" {
  name   = "one"
  vpc_id = warren_aws_vpc.one.id
}

resource "warren_aws_subnet" "a" {
  name       = "a"
  vpc_id     = warren_aws_vpc.one.id
  cidr_block = "10.0.0.0/24"
}

resource "warren_aws_security_group" "a" {
  name   = "a"
  vpc_id = warren_aws_vpc.one.id
}

resource "warren_aws_nat_gateway" "a" {
  name       = "a"
  subnet_id  = warren_aws_subnet.a.id
  depends_on = [warren_aws_internet_gateway.one]
}

resource "warren_aws_route_table" "a" {
  name       = "a"
  vpc_id     = warren_aws_vpc.one.id
  subnet_ids = [warren_aws_subnet.a.id]
  routes     = [{ destination_cidr_block = "0.0.0.0/0", nat_gateway_id = warren_aws_nat_gateway.a.id }]
}

resource "warren_aws_vpc_endpoint" "s3" {
  name            = "s3"
  vpc_id          = warren_aws_vpc.one.id
  service         = "s3"
  route_table_ids = [warren_aws_route_table.a.id]
}
"#;

/// Every call is throttled once, whatever it is for: creates, polls, reads and deletes. Changes are throttled several times.
#[test]
fn every_call_to_aws_is_throttled() -> Result<()> {
    let habits = ProxyConfig { pending: 2, deleting: 2, ..ProxyConfig::default() };
    let stage = AwsStage::with(habits, AWS)?;
    for faults in [|| Fault::throttle().each(1), || Fault::throttle().on_writes().each(3)] {
        let struck = survive(&stage, &|| vec![faults()])?;
        let actions = actions(&struck);
        println!("{} calls throttled: {actions:?}", struck.len());
        for action in ["CreateVpc", "CreateNatGateway", "DeleteNatGateway"] {
            ensure!(actions.contains_key(action), "{action} was never throttled");
        }
    }
    Ok(())
}

/// The cloud makes the object, and the answer is lost. Describes do not show the object for a while.
#[test]
fn no_lost_answer_of_aws_makes_a_second_object() -> Result<()> {
    let habits = ProxyConfig { consistency: Consistency { reads: 2, writes: 0 }, ..ProxyConfig::default() };
    let stage = AwsStage::with(habits, AWS)?;
    let struck = survive(&stage, &|| vec![Fault::cut_after().on_writes().each(1)])?;
    let actions = actions(&struck);
    println!("{} answers lost: {actions:?}", struck.len());
    for action in ["CreateVpc", "CreateSubnet", "CreateNatGateway", "CreateRouteTable", "CreateVpcEndpoint"] {
        ensure!(actions.contains_key(action), "the answer of {action} was never lost");
    }
    Ok(())
}

/// A gateway that AWS replaces has parts that are made after its interface, and a group that is known by its name.
#[test]
fn no_lost_answer_makes_a_second_part_of_a_gateway() -> Result<()> {
    let habits = ProxyConfig { consistency: Consistency { reads: 2, writes: 0 }, ..ProxyConfig::default() };
    let mut stage = AwsStage::example("aws-gateway", habits)?;
    stage.terraform.env("TF_VAR_recovery", "true");
    let struck = survive(&stage, &|| vec![Fault::cut_after().on_writes().each(1)])?;
    let actions = actions(&struck);
    println!("{} answers lost: {actions:?}", struck.len());
    for action in [
        "CreateNetworkInterface",
        "CreateVolume",
        "CreateLaunchTemplate",
        "CreateAutoScalingGroup",
        "CreateRole",
    ] {
        ensure!(actions.contains_key(action), "the answer of {action} was never lost");
    }
    Ok(())
}

/// Compute's spellings of throttling, one with a reason that the client drops.
const SPELLINGS: [(u16, &str, &str); 5] = [
    (429, "rateLimitExceeded", "Rate Limit Exceeded"),
    (403, "rateLimitExceeded", "Rate Limit Exceeded"),
    (403, "userRateLimitExceeded", "User Rate Limit Exceeded"),
    (
        403,
        "quotaExceeded",
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service \
         'compute.googleapis.com' for consumer 'project_number:1'.",
    ),
    (403, "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "Rate Limit Exceeded"),
];

/// Peerings and routes of a hub with two spokes, none of which waits for another.
const PEERINGS: &str = r#"
locals { spokes = toset(["a", "b"]) }

resource "warren_gcp_network" "hub" {
  name = "hub"
}

resource "warren_gcp_network" "spoke" {
  for_each = local.spokes
  name     = each.key
}

resource "warren_gcp_network_peering" "to" {
  for_each     = local.spokes
  name         = "to-${each.key}"
  network      = warren_gcp_network.hub.id
  peer_network = warren_gcp_network.spoke[each.key].id
}

resource "warren_gcp_network_peering" "from" {
  for_each     = local.spokes
  name         = "from-${each.key}"
  network      = warren_gcp_network.spoke[each.key].id
  peer_network = warren_gcp_network.hub.id
}

resource "warren_gcp_route" "internet" {
  for_each         = local.spokes
  name             = "internet-${each.key}"
  network          = warren_gcp_network.hub.id
  dest_range       = "192.0.${length(each.key)}.0/24"
  priority         = 100 + index(tolist(local.spokes), each.key)
  next_hop_gateway = "default-internet-gateway"
}
"#;

#[test]
fn every_call_to_google_is_throttled_in_every_spelling() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig { polls: 2, ..GoogleConfig::default() }, PEERINGS)?;
    // Each fault hits every tenth call that the others spare.
    let faults = || {
        let fault = |(place, (status, code, message)): (u32, (u16, &str, &str))| {
            Fault::error(status, code, message).skip(place * 2).every(10).times(u32::MAX)
        };
        (0..).zip(SPELLINGS).map(fault).collect()
    };
    let struck = survive(&stage, &faults)?;
    for (status, code, _) in SPELLINGS {
        let struck = struck.iter().filter(|call| call.status == Some(status)).count();
        println!("{struck} calls with {status}, such as {code}");
        ensure!(struck > 5, "only {struck} calls were answered with {status} {code}");
    }
    Ok(())
}

/// One change per network at a time, and others wait: the double refuses a change of a peering or route while another one of
/// the network or its peer runs.
#[test]
fn peerings_and_routes_take_turns() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig { polls: 3, ..GoogleConfig::default() }, PEERINGS)?;
    let struck = survive(&stage, &Vec::new)?;
    let refused = struck.iter().filter(|call| call.error.as_deref() == Some("badRequest")).count();
    println!("{refused} changes refused because of others");
    ensure!(refused == 0, "changes met others of the same run: {struck:#?}");
    // Those of somebody else are waited for.
    for message in [
        "There is a peering operation in progress on the local or peer network. Try again later.",
        "There is a route operation in progress on the local or peer network. Try again later.",
    ] {
        let changes = ["networks.addPeering", "networks.removePeering", "routes.insert", "routes.delete"];
        let faults = || {
            let fault =
                |method| Fault::error(400, "badRequest", message).on(&format!("compute.{method}")).times(2);
            changes.map(fault).to_vec()
        };
        let mut struck = survive(&stage, &faults)?;
        struck.retain(|call| call.error.as_deref() == Some("badRequest"));
        ensure!(actions(&struck).len() == changes.len(), "{:?}", actions(&struck));
    }
    Ok(())
}

#[test]
fn no_lost_answer_of_google_makes_a_second_change() -> Result<()> {
    let stage = GoogleStage::with(GoogleConfig { polls: 1, ..GoogleConfig::default() }, PEERINGS)?;
    let struck = survive(&stage, &|| vec![Fault::cut_after().on_writes().times(u32::MAX).every(2)])?;
    println!("{} answers lost", struck.len());
    ensure!(struck.iter().any(|call| call.action == "compute.networks.insert"));
    Ok(())
}

const PODS: &str = r#"
resource "warren_runpod_network_volume" "data" {
  name        = "data"
  size        = 10
  data_center = "EU-RO-1"
}
"#;

#[test]
fn every_call_to_runpod_is_throttled_or_loses_its_answer() -> Result<()> {
    let stage = RunPodStage::with(RunPodConfig::default(), PODS)?;
    let throttled = survive(&stage, &|| vec![Fault::throttle().each(2)])?;
    let lost = survive(&stage, &|| vec![Fault::cut_after().each(1)])?;
    println!("{} calls throttled, {} answers lost", throttled.len(), lost.len());
    ensure!(throttled.len() > 2 && lost.len() > 2);
    Ok(())
}
