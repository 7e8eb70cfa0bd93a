//! Plans against what uses address space outside the run: networks of others, and what leads to them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};
use warren_acceptance::{AwsStage, GoogleStage, flat};
use warren_harness::{Fault, GoogleConfig, InternalRange, ProxyConfig};

const ATTACHED: &str = r#"
resource "warren_aws_vpc" "spoke" {
  name       = "spoke"
  cidr_block = "10.1.0.0/16"
}

resource "warren_aws_subnet" "spoke" {
  name       = "spoke"
  vpc_id     = warren_aws_vpc.spoke.id
  cidr_block = "10.1.0.0/24"
}

resource "warren_aws_transit_gateway" "this" {
  name                            = "hub"
  default_route_table_association = false
  default_route_table_propagation = false
}

resource "warren_aws_transit_gateway_attachment" "spoke" {
  name               = "spoke"
  transit_gateway_id = warren_aws_transit_gateway.this.id
  vpc_id             = warren_aws_vpc.spoke.id
  subnet_ids         = [warren_aws_subnet.spoke.id]
}

resource "warren_aws_transit_gateway_route_table" "this" {
  name               = "spokes"
  transit_gateway_id = warren_aws_transit_gateway.this.id
}

resource "warren_aws_transit_gateway_route_table_propagation" "spoke" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this.id
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id
}

resource "warren_aws_transit_gateway_route" "everything" {
  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.this.id
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_attachment_id  = warren_aws_transit_gateway_attachment.spoke.id
}
"#;

/// A VPC with this range.
fn vpc(name: &str, cidr: &str) -> String {
    format!(
        "resource \"warren_aws_vpc\" \"{name}\" {{\n  name       = \"{name}\"\n  cidr_block = \"{cidr}\"\n}}\n"
    )
}

/// `UnauthorizedOperation`, as the documentation of EC2 ("Client error codes") has it.
fn denied(action: &str) -> Fault {
    let message = "You are not authorized to perform this operation.";
    Fault::error(403, "UnauthorizedOperation", message).on(action).times(u32::MAX)
}

#[test]
fn routes_of_a_transit_gateway_show_networks_that_cannot_be_read() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), ATTACHED)?;
    stage.terraform.apply(&[])?.success()?;
    // Its own routes are no news.
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0 && !flat(&plan.output()).contains("overlap"), "{}", plan.output());

    // To another configuration, the VPC behind the gateway belongs to an account that it cannot read.
    let forgotten = stage.terraform.run(&["state", "list"])?.success()?.stdout;
    let rm: Vec<&str> = ["state", "rm"].into_iter().chain(forgotten.lines()).collect();
    stage.terraform.run(&rm)?.success()?;
    stage.terraform.write("main.tf", &vpc("new", "10.1.128.0/20"))?;
    stage.cloud.proxy().inject(denied("DescribeVpcs"));
    let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
    for said in [
        "Address conflict in warren_aws_vpc \"new\"",
        "is inside 10.1.0.0/16 of live route in tgw-rtb-",
        " to vpc-",
        "Could not read VPCs of AWS us-east-1",
        "DescribeVpcs failed: UnauthorizedOperation: You are not authorized to perform this operation.",
        "Allow ec2:DescribeVpcs for the identity that runs Terraform.",
    ] {
        ensure!(output.contains(said), "{said:?} in {output}");
    }
    // The default route takes nothing.
    stage.terraform.write("main.tf", &vpc("new", "10.2.0.0/16"))?;
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    ensure!(!output.contains("overlap warren_aws_vpc"), "{output}");
    Ok(())
}

#[test]
fn prefix_lists_are_read_and_what_cannot_be_read_is_a_warning() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), &vpc("new", "10.1.0.0/16"))?;
    let list = stage.cloud.ec2(
        "CreateManagedPrefixList",
        &[
            ("PrefixListName", "on-prem"),
            ("AddressFamily", "IPv4"),
            ("MaxEntries", "3"),
            ("Entry.1.Cidr", "10.1.4.0/22"),
            ("Entry.2.Cidr", "10.0.0.0/8"),
        ],
        "prefixList/prefixListId",
    )?;
    ensure!(list.starts_with("pl-"), "{list}");
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    let said = format!("contains 10.1.4.0/22 of live prefix list {list} \"on-prem\"");
    ensure!(output.contains("Live routes or prefix lists overlap warren_aws_vpc \"new\""), "{output}");
    ensure!(output.contains(&said) && !output.contains("10.0.0.0/8 of live"), "{output}");

    // The provider block can ignore it, or stop reading it.
    let file = stage.terraform.folder().join("provider.tf");
    let provider = std::fs::read_to_string(&file)?;
    for setting in [format!("ignore_live = [\"{list}\"]"), "live_ranges = []".to_owned()] {
        std::fs::write(&file, provider.replace("endpoint_url =", &format!("{setting}, endpoint_url =")))?;
        let output = flat(&stage.terraform.plan(&[])?.success()?.output());
        ensure!(!output.contains("prefix list"), "{setting}: {output}");
    }
    std::fs::write(&file, &provider)?;

    let calls = ["DescribeManagedPrefixLists", "DescribeTransitGatewayRouteTables", "DescribeSubnets"];
    calls.into_iter().for_each(|call| stage.cloud.proxy().inject(denied(call)));
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    for said in [
        "Could not read prefix lists of AWS us-east-1",
        "Could not read transit gateway routes of AWS us-east-1",
        "Could not read subnets of AWS us-east-1",
        "Allow ec2:DescribeManagedPrefixLists and ec2:GetManagedPrefixListEntries",
    ] {
        ensure!(output.matches(said).count() == 1, "{said:?} once in {output}");
    }
    stage.cloud.proxy().assert_valid();
    Ok(())
}

#[test]
fn further_regions_are_read_on_request() -> Result<()> {
    let elsewhere =
        format!("{}\n", vpc("there", "10.1.0.0/16")).replace("  name ", "  region = \"eu-west-1\"\n  name ");
    let stage = AwsStage::with(ProxyConfig::default(), &elsewhere)?;
    stage.terraform.apply(&[])?.success()?;
    stage.terraform.run(&["state", "rm", "warren_aws_vpc.there"])?.success()?;
    stage.terraform.write("main.tf", &vpc("here", "10.1.0.0/16"))?;
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    ensure!(!output.contains("Live networks overlap"), "{output}");
    let file = stage.terraform.folder().join("provider.tf");
    let provider = std::fs::read_to_string(&file)?;
    let asked = "live_regions = [\"eu-west-1\"], endpoint_url =";
    std::fs::write(&file, provider.replace("endpoint_url =", asked))?;
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    ensure!(output.contains("Live networks overlap warren_aws_vpc \"here\""), "{output}");
    Ok(())
}

/// A hub that is peered with a network of another project, whose subnetwork is 10.2.0.0/20 with 10.3.0.0/20.
const PEERED: &str = r#"
resource "warren_gcp_network" "hub" {
  name = "hub"
}

resource "warren_gcp_network" "peer" {
  name    = "peer"
  project = "acme-net"
}

resource "warren_gcp_subnetwork" "peer" {
  name                = "data"
  project             = "acme-net"
  network             = warren_gcp_network.peer.id
  ip_cidr_range       = "10.2.0.0/20"
  secondary_ip_ranges = { pods = "10.3.0.0/20" }
}

resource "warren_gcp_network_peering" "hub" {
  name         = "hub-peer"
  network      = warren_gcp_network.hub.id
  peer_network = warren_gcp_network.peer.id
}

resource "warren_gcp_network_peering" "peer" {
  name         = "peer-hub"
  network      = warren_gcp_network.peer.id
  peer_network = warren_gcp_network.hub.id
}
"#;

/// The hub with a subnetwork of this range.
fn subnetwork(range: &str) -> String {
    let hub = PEERED.split("resource \"warren_gcp_network\" \"peer\"").next().unwrap_or_default();
    format!(
        "{hub}\nresource \"warren_gcp_subnetwork\" \"new\" {{\n  name = \"new\"\n  network = warren_gcp_network.hub.id\n  \
         ip_cidr_range = \"{range}\"\n}}\n"
    )
}

fn object(value: &Value) -> Result<Map<String, Value>> {
    value.as_object().cloned().context("an object")
}

fn projects() -> GoogleConfig {
    let projects = ["acme-ml", "acme-net", "acme-host"].map(str::to_owned).to_vec();
    GoogleConfig { projects, ..GoogleConfig::realistic() }
}

#[test]
fn ranges_of_google_outside_of_the_project() -> Result<()> {
    let stage = GoogleStage::with(projects(), PEERED)?;
    let (terraform, google) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let plan = terraform.plan(&["-detailed-exitcode"])?;
    let told = flat(&plan.output());
    ensure!(plan.code == 0 && !told.contains("Could not read") && !told.contains("overlap"), "{told}");

    // To another configuration, the peer is a network of a project that it does not read.
    let peer = ["network.peer", "subnetwork.peer", "network_peering.peer", "network_peering.hub"];
    let peer = peer.map(|name| format!("warren_gcp_{name}"));
    let rm: Vec<&str> = ["state", "rm"].into_iter().chain(peer.iter().map(String::as_str)).collect();
    terraform.run(&rm)?.success()?;
    let hub = "projects/acme-ml/global/networks/hub";
    let link = |path: &str| format!("https://www.googleapis.com/compute/v1/{path}");
    google.configure(|config| {
        let range = InternalRange { network: hub.to_owned(), net: "10.5.0.0/20".to_owned() };
        let name = "projects/acme-ml/locations/global/internalRanges/later".to_owned();
        config.internal_ranges = BTreeMap::from([(name, range)]);
        let router = "projects/acme-ml/regions/us-central1/routers/vpn".to_owned();
        let learned = ["0.0.0.0/0", "10.6.0.0/20"].map(str::to_owned).to_vec();
        config.learned_routes = BTreeMap::from([(router, learned)]);
        config.shared_vpc_hosts = BTreeMap::from([("acme-ml".to_owned(), "acme-host".to_owned())]);
    });
    let psa = json!({
        "address": "10.4.0.0", "prefixLength": 20, "purpose": "VPC_PEERING", "addressType": "INTERNAL",
        "network": link(hub), "labelFingerprint": "AAAAAAAAAAA=",
    });
    google.place("projects/acme-ml/global/addresses/sql", "compute#address", object(&psa)?);
    let router = json!({"network": link(hub), "bgp": {"asn": 64512}, "bgpPeers": [{"name": "on-prem"}]});
    google.place("projects/acme-ml/regions/us-central1/routers/vpn", "compute#router", object(&router)?);
    let route = json!({
        "network": link(hub), "destRange": "10.7.0.0/20", "nextHopIp": "10.9.0.2", "priority": 100, "routeType": "STATIC",
    });
    google.place("projects/acme-ml/global/routes/appliance", "compute#route", object(&route)?);
    let shared = "projects/acme-host/global/networks/shared";
    google.place(shared, "compute#network", object(&json!({"autoCreateSubnetworks": false}))?);
    let subnet = json!({
        "network": link(shared), "ipCidrRange": "10.8.0.0/20", "purpose": "PRIVATE", "stackType": "IPV4_ONLY",
        "secondaryIpRanges": [{"rangeName": "pods", "ipCidrRange": "10.10.0.0/20"}],
    });
    google.place(
        "projects/acme-host/regions/us-east1/subnetworks/shared",
        "compute#subnetwork",
        object(&subnet)?,
    );

    let plan = |range: &str| -> Result<String> {
        terraform.write("main.tf", &subnetwork(range))?;
        Ok(flat(&terraform.plan(&[])?.output()))
    };
    let peering = "of live peering projects/acme-ml/global/networks/hub/peerings/hub-peer to projects/acme-net/global/networks/peer";
    let conflicts = [
        ("10.2.0.0/24", format!("is inside 10.2.0.0/20 {peering}")),
        ("10.3.0.0/20", format!("equals 10.3.0.0/20 {peering}")),
        (
            "10.4.0.0/16",
            "contains 10.4.0.0/20 of live Private Services Access range projects/acme-ml/global/addresses/sql in"
                .to_owned(),
        ),
        (
            "10.5.0.0/20",
            "equals 10.5.0.0/20 of live internal range projects/acme-ml/locations/global/internalRanges/later in"
                .to_owned(),
        ),
        ("10.8.15.0/24", "of live projects/acme-host/regions/us-east1/subnetworks/shared".to_owned()),
        ("10.10.0.0/24", "of live projects/acme-host/regions/us-east1/subnetworks/shared".to_owned()),
    ];
    for (range, said) in conflicts {
        let output = plan(range)?;
        ensure!(output.contains("Address conflict in warren_gcp_subnetwork \"new\""), "{range}: {output}");
        ensure!(output.contains(&said), "{range}: {said:?} in {output}");
    }
    let suspicions = [
        ("10.6.0.0/20", "of live route of projects/acme-ml/regions/us-central1/routers/vpn"),
        ("10.7.0.0/20", "of live route projects/acme-ml/global/routes/appliance"),
    ];
    for (range, said) in suspicions {
        let output = plan(range)?;
        ensure!(output.contains("Live routes or prefix lists overlap"), "{range}: {output}");
        ensure!(output.contains(said) && !output.contains("Address conflict"), "{range}: {output}");
    }
    let output = plan("10.20.0.0/20")?;
    let told = ["Could not read", "overlap", "Error"];
    ensure!(!told.iter().any(|told| output.contains(told)), "{output}");
    google.front().assert_valid();
    Ok(())
}

/// A route that the peer has learned in a region is shown for that region only (`networks.listPeeringRoutes`).
#[test]
fn what_a_peer_has_learned_in_other_regions_is_read() -> Result<()> {
    let custom = |name: &str, setting: &str| {
        (
            format!("  name         = \"{name}\"\n"),
            format!("  name         = \"{name}\"\n  {setting} = true\n"),
        )
    };
    let (hub, peer) =
        (custom("hub-peer", "import_custom_routes"), custom("peer-hub", "export_custom_routes"));
    let peered = PEERED.replace(&hub.0, &hub.1).replace(&peer.0, &peer.1);
    ensure!(peered.contains("import_custom_routes") && peered.contains("export_custom_routes"), "{peered}");
    let stage = GoogleStage::with(projects(), &peered)?;
    let (terraform, google) = (&stage.terraform, &stage.cloud);
    terraform.apply(&[])?.success()?;
    let peer = ["network.peer", "subnetwork.peer", "network_peering.peer", "network_peering.hub"];
    let peer = peer.map(|name| format!("warren_gcp_{name}"));
    let rm: Vec<&str> = ["state", "rm"].into_iter().chain(peer.iter().map(String::as_str)).collect();
    terraform.run(&rm)?.success()?;
    let link = |path: &str| format!("https://www.googleapis.com/compute/v1/{path}");
    let router = "projects/acme-net/regions/europe-west1/routers/vpn";
    google.configure(|config| {
        config.learned_routes = BTreeMap::from([(router.to_owned(), vec!["10.6.0.0/20".to_owned()])]);
    });
    let body = json!({"network": link("projects/acme-net/global/networks/peer"), "bgp": {"asn": 64512}});
    google.place(router, "compute#router", object(&body)?);
    let plan = || -> Result<String> {
        terraform.write("main.tf", &subnetwork("10.6.0.0/20"))?;
        Ok(flat(&terraform.plan(&[])?.success()?.output()))
    };
    // Nothing of the project is in the region of the router.
    let output = plan()?;
    ensure!(!output.contains("overlap"), "{output}");
    let subnet = json!({
        "network": link("projects/acme-ml/global/networks/hub"), "ipCidrRange": "10.40.0.0/20", "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
    });
    google.place(
        "projects/acme-ml/regions/europe-west1/subnetworks/there",
        "compute#subnetwork",
        object(&subnet)?,
    );
    let output = plan()?;
    let said = "equals 10.6.0.0/20 of live peering projects/acme-ml/global/networks/hub/peerings/hub-peer";
    ensure!(output.contains("Live routes or prefix lists overlap") && output.contains(said), "{output}");
    google.front().assert_valid();
    Ok(())
}

#[test]
fn what_google_denies_is_a_warning() -> Result<()> {
    let stage = GoogleStage::with(projects(), &subnetwork("10.8.0.0/24"))?;
    let google = &stage.cloud;
    google.configure(|config| {
        config.shared_vpc_hosts = BTreeMap::from([("acme-ml".to_owned(), "acme-host".to_owned())]);
    });
    let link = "https://www.googleapis.com/compute/v1/projects/acme-host/global/networks/shared";
    let subnet = json!({"network": link, "ipCidrRange": "10.8.0.0/20", "purpose": "PRIVATE", "stackType": "IPV4_ONLY"});
    google.place(
        "projects/acme-host/regions/us-east1/subnetworks/shared",
        "compute#subnetwork",
        object(&subnet)?,
    );
    let denied = |action: &str, permission: &str| {
        let message = format!("Required '{permission}' permission for 'projects/acme'");
        Fault::error(403, "forbidden", &message).on(action).times(u32::MAX)
    };
    // A service project that may only use the subnetworks of its host, and whose owner has not enabled every API.
    let host = denied("compute.subnetworks.aggregatedList", "compute.subnetworks.list");
    google.front().inject(host.with_param("project", "acme-host"));
    let disabled = "Network Connectivity API has not been used in project 1000000 before or it is disabled.";
    let disabled = Fault::error(403, "SERVICE_DISABLED", disabled).times(u32::MAX);
    let disabled = disabled.on("networkconnectivity.projects.locations.internalRanges.list");
    google.front().inject(disabled.with_param("parent", "projects/acme-ml/locations/global"));
    let routers = denied("compute.routers.aggregatedList", "compute.routers.list");
    google.front().inject(routers.with_param("project", "acme-ml"));
    let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
    for said in [
        "Could not read subnetworks of the Shared VPC host of Google Cloud project acme-host",
        "Could not read internal ranges of Google Cloud project acme-ml",
        "Network Connectivity API has not been used in project",
        "Allow networkconnectivity.internalRanges.list for the identity that runs Terraform.",
        "change `gcp.live_ranges` in the provider block",
        "Could not read learned routes of Google Cloud project acme-ml",
        "Allow compute.routers.list and compute.routers.get",
        // What the project can use in the host is still known.
        "is inside 10.8.0.0/20 of live projects/acme-host/regions/us-east1/subnetworks/shared",
    ] {
        let often = output.matches(said).count();
        ensure!(
            often == 1 || (often > 1 && said.starts_with("change ")),
            "{said:?} {often} times in {output}"
        );
    }
    Ok(())
}

/// A router and a peer that cannot be read hide nothing of the others.
#[test]
fn what_google_denies_of_one_router_leaves_the_others() -> Result<()> {
    let stage = GoogleStage::with(projects(), &subnetwork("10.6.0.0/20"))?;
    let google = &stage.cloud;
    let router = |name: &str| format!("projects/acme-ml/regions/us-central1/routers/{name}");
    google.configure(|config| {
        let learned = |net: &str| vec![net.to_owned()];
        config.learned_routes = BTreeMap::from([
            (router("denied"), learned("10.9.0.0/20")),
            (router("garbled"), learned("10.9.0.0/99")),
            (router("later"), learned("10.6.0.0/20")),
        ]);
    });
    let hub = "projects/acme-ml/global/networks/other";
    google.place(hub, "compute#network", object(&json!({"autoCreateSubnetworks": false}))?);
    let link = format!("https://www.googleapis.com/compute/v1/{hub}");
    let body = json!({"network": link, "bgp": {"asn": 64512}, "bgpPeers": [{"name": "on-prem"}]});
    for name in ["denied", "garbled", "later"] {
        google.place(&router(name), "compute#router", object(&body)?);
    }
    let denied = Fault::error(403, "forbidden", "Required 'compute.routers.get' permission");
    let denied = denied.on("compute.routers.getRouterStatus").with_param("router", "denied");
    google.front().inject(denied.times(u32::MAX));
    let output = flat(&stage.terraform.plan(&[])?.success()?.output());
    for said in [
        "Could not read learned routes of Google Cloud project acme-ml",
        "equals 10.6.0.0/20 of live route of projects/acme-ml/regions/us-central1/routers/later",
    ] {
        ensure!(output.contains(said), "{said:?} is not in {output}");
    }
    Ok(())
}
