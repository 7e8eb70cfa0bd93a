//! Private zones, records and the Route 53 Resolver, by real Terraform: slow and lost answers, updates, import, and what AWS
//! refuses.

use anyhow::{Result, ensure};
use warren_acceptance::{AwsStage, KillSample, flat, kill_points};
use warren_harness::{Fault, Kind, ProxyConfig};

const NETWORK: &str = r#"
resource "warren_aws_vpc" "hub" {
  name       = "hub"
  cidr_block = "10.0.0.0/16"
}

resource "warren_aws_vpc" "spoke" {
  name       = "spoke"
  cidr_block = "10.1.0.0/16"
}
"#;

/// A zone for these VPCs with further attributes, and its records.
fn zone(vpcs: &str, more: &str, records: &str) -> String {
    let record = format!(
        "resource \"warren_aws_route53_record\" \"db\" {{\n zone_id = warren_aws_route53_zone.one.id\n name = \
         \"*.db.example.internal\"\n type = \"A\"\n ttl = 60\n records = {records}\n}}\n"
    );
    let record = if records.is_empty() { String::new() } else { record };
    format!(
        "{NETWORK}resource \"warren_aws_route53_zone\" \"one\" {{\n name = \"one\"\n domain_name = \"example.internal\"\n \
         vpcs = [{vpcs}]\n {more}\n}}\n{record}"
    )
}

const HUB: &str = "{ vpc_id = warren_aws_vpc.hub.id }";
const SPOKE: &str = "{ vpc_id = warren_aws_vpc.spoke.id }";

const ASSOCIATION: &str = r#"
resource "warren_aws_route53_zone_association" "spoke" {
  zone_id = warren_aws_route53_zone.one.id
  vpc_id  = warren_aws_vpc.spoke.id
}
"#;

const RESOLVER: &str = r#"
resource "warren_aws_subnet" "a" {
  name              = "a"
  vpc_id            = warren_aws_vpc.hub.id
  cidr_block        = "10.0.0.0/24"
  availability_zone = "us-east-1a"
}

resource "warren_aws_subnet" "b" {
  name              = "b"
  vpc_id            = warren_aws_vpc.hub.id
  cidr_block        = "10.0.1.0/24"
  availability_zone = "us-east-1b"
}

resource "warren_aws_security_group" "dns" {
  name   = "dns"
  vpc_id = warren_aws_vpc.hub.id
}

resource "warren_aws_resolver_endpoint" "out" {
  name               = "out"
  direction          = "OUTBOUND"
  security_group_ids = [warren_aws_security_group.dns.id]
  ip_addresses       = [ADDRESSES]
}

resource "warren_aws_resolver_rule" "corp" {
  name                 = "corp"
  domain_name          = "corp.example"
  resolver_endpoint_id = warren_aws_resolver_endpoint.out.id
  target_ips           = [{ ip = "TARGET" }]
  vpc_ids              = [VPCS]
}
"#;

fn resolver(addresses: &str, target: &str, vpcs: &str) -> String {
    let filled = RESOLVER.replace("ADDRESSES", addresses).replace("TARGET", target).replace("VPCS", vpcs);
    format!("{NETWORK}{filled}")
}

/// Applies, and sees that nothing more is planned.
fn converges(stage: &AwsStage, configuration: &str) -> Result<()> {
    stage.terraform.write("main.tf", configuration)?;
    stage.terraform.apply(&[])?.success()?;
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "the second plan is not empty:\n{}", plan.output());
    Ok(())
}

/// The configuration that was applied last.
fn stage_text(stage: &AwsStage) -> Result<String> {
    Ok(std::fs::read_to_string(stage.terraform.folder().join("main.tf"))?)
}

fn calls(stage: &AwsStage, action: &str) -> usize {
    stage.cloud.proxy().calls_of(action).len()
}

#[test]
fn a_zone_follows_its_configuration_in_a_slow_cloud() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::realistic(), "")?;
    let proxy = stage.cloud.proxy();
    proxy.inject(Fault::throttle().on("GetChange").times(3));
    proxy.inject(
        Fault::error(
            400,
            "PriorRequestNotComplete",
            "The request was rejected because Route 53 was still processing a prior request.",
        )
        .on("ChangeResourceRecordSets")
        .times(2),
    );
    converges(&stage, &zone(HUB, "", "[\"10.0.0.5\"]"))?;
    ensure!(calls(&stage, "GetChange") >= 4, "changes were not awaited");
    converges(
        &stage,
        &zone(&format!("{HUB}, {SPOKE}"), "comment = \"changed\"", "[\"10.0.0.6\", \"10.0.0.7\"]"),
    )?;
    // VPCs are never gone, even if none stays.
    converges(&stage, &zone(SPOKE, "tags = { a = \"b\" }", "[\"10.0.0.6\"]"))?;
    ensure!(calls(&stage, "CreateHostedZone") == 1, "the zone was replaced");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_answer_makes_no_second_object() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig { pending: 1, ..ProxyConfig::default() }, "")?;
    for action in [
        "CreateHostedZone",
        "AssociateVPCWithHostedZone",
        "ChangeResourceRecordSets",
        "CreateResolverEndpoint",
        "CreateResolverRule",
        "AssociateResolverRule",
    ] {
        stage.cloud.proxy().inject(Fault::cut_after().on(action));
    }
    let addresses = "{ subnet_id = warren_aws_subnet.a.id }, { subnet_id = warren_aws_subnet.b.id }";
    // The second association is that of the zone itself.
    stage.cloud.proxy().inject(Fault::cut_after().on("AssociateVPCWithHostedZone").skip(1));
    let more = "{ vpc_id = warren_aws_vpc.more.id }";
    let dns = zone(&format!("{HUB}, {more}"), "", "[\"10.0.0.5\"]")
        + ASSOCIATION
        + "resource \"warren_aws_vpc\" \"more\" {\n name = \"more\"\n cidr_block = \"10.2.0.0/16\"\n}\n";
    let resolver = resolver(addresses, "10.8.0.2", "warren_aws_vpc.spoke.id").replace(NETWORK, "");
    converges(&stage, &(dns + &resolver))?;
    let made = stage.cloud.leftovers()?.added;
    for kind in [
        Kind::HostedZone,
        Kind::Record,
        Kind::ResolverEndpoint,
        Kind::ResolverRule,
        Kind::ResolverRuleAssociation,
    ] {
        let found = made.iter().filter(|(found, _)| *found == kind).count();
        ensure!(found == 1, "{found} of {kind:?}");
    }
    // An address more, whose answer is lost: the endpoint has three, not four.
    stage.cloud.proxy().inject(Fault::cut_after().on("AssociateResolverEndpointIpAddress"));
    let three = format!("{addresses}, {{ subnet_id = warren_aws_subnet.b.id }}");
    converges(&stage, &stage_text(&stage)?.replace(addresses, &three))?;
    ensure!(calls(&stage, "AssociateResolverEndpointIpAddress") == 1, "an address was added twice");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn a_lost_state_is_adopted_or_imported() -> Result<()> {
    // A zone that is imported lists all of its VPCs.
    let configuration = zone(&format!("{HUB}, {SPOKE}"), "", "[\"10.0.0.5\"]");
    let stage = AwsStage::with(ProxyConfig::default(), &configuration)?;
    stage.terraform.apply(&[])?.success()?;
    let state = stage.terraform.show(None)?;
    let file = stage.terraform.folder().join("terraform.tfstate");
    std::fs::remove_file(&file)?;
    converges(&stage, &configuration)?;
    ensure!(calls(&stage, "CreateHostedZone") == 1, "a second zone was created");

    std::fs::remove_file(&file)?;
    let resources = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
    for resource in &resources {
        let (address, id) = (&resource["address"], &resource["values"]["id"]);
        let run =
            stage.terraform.import(address.as_str().unwrap_or_default(), id.as_str().unwrap_or_default());
        run?.success()?;
    }
    let plan = stage.terraform.plan(&["-detailed-exitcode"])?;
    ensure!(plan.code == 0, "an imported state plans changes:\n{}", plan.output());
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn what_route_53_refuses_is_explained() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    let refused = |configuration: &str, parts: &[&str]| -> Result<()> {
        stage.terraform.write("main.tf", configuration)?;
        let output = flat(&stage.terraform.apply(&[])?.failure()?.output());
        for part in parts {
            ensure!(output.contains(part), "{part:?} is not in:\n{output}");
        }
        Ok(())
    };
    converges(&stage, &zone(HUB, "", "[\"10.0.0.5\"]"))?;
    let twin = zone(HUB, "", "[\"10.0.0.5\"]")
        + &zone(HUB, "", "").replace(NETWORK, "").replace("\"one\"", "\"two\"");
    refused(&twin, &["ConflictingDomainExists", "one private zone for each domain name"])?;
    let outside = zone(HUB, "", "[\"10.0.0.5\"]").replace("*.db.example.internal", "db.example.org");
    refused(&outside, &["InvalidChangeBatch", "is not permitted in zone"])?;
    let nowhere = zone(HUB, "", "")
        + "resource \"warren_aws_route53_record\" \"db\" {\n zone_id = warren_aws_route53_zone.one.id\n name = \
           \"db.example.internal\"\n type = \"A\"\n alias = { dns_name = \"vpce-1.s3.us-east-1.vpce.amazonaws.com\", \
           zone_id = \"Z7HUB22UULQXV\" }\n}\n";
    refused(&nowhere, &["InvalidChangeBatch", "that target was not found"])?;
    converges(&stage, &zone(HUB, "", ""))?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn records_that_others_made_need_force_destroy() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig { pending: 1, ..ProxyConfig::default() }, "")?;
    let record = zone(HUB, "", "[\"10.0.0.5\"]");
    converges(&stage, &record)?;
    stage.terraform.run(&["state", "rm", "warren_aws_route53_record.db"])?.success()?;
    stage.terraform.write("main.tf", &zone(HUB, "", ""))?;
    let output =
        flat(&stage.terraform.destroy(&["-target=warren_aws_route53_zone.one"])?.failure()?.output());
    ensure!(output.contains("HostedZoneNotEmpty") && output.contains("force_destroy = true"), "{output}");
    converges(&stage, &zone(HUB, "force_destroy = true", ""))?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn ecr_without_private_dns_needs_a_zone() -> Result<()> {
    let endpoint = |depends: &str| {
        format!(
            "{NETWORK}resource \"warren_aws_subnet\" \"a\" {{\n name = \"a\"\n vpc_id = warren_aws_vpc.hub.id\n cidr_block \
             = \"10.0.0.0/24\"\n}}\nresource \"warren_aws_security_group\" \"https\" {{\n name = \"https\"\n vpc_id = \
             warren_aws_vpc.hub.id\n ingress = [{{ protocol = \"tcp\", from_port = 443, to_port = 443, cidr_blocks = \
             [\"10.0.0.0/8\"] }}]\n}}\nresource \"warren_aws_vpc_endpoint\" \"api\" {{\n name = \"api\"\n vpc_id = \
             warren_aws_vpc.hub.id\n service = \"ecr.api\"\n subnet_ids = [warren_aws_subnet.a.id]\n security_group_ids = \
             [warren_aws_security_group.https.id]\n private_dns_enabled = false\n {depends}\n}}\n"
        )
    };
    let stage = AwsStage::with(ProxyConfig::default(), "")?;
    stage.terraform.write("main.tf", &endpoint(""))?;
    let output = flat(&stage.terraform.plan(&[])?.failure()?.output());
    ensure!(output.contains("ECR endpoint without DNS"), "{output}");
    ensure!(output.contains("api.ecr.us-east-1.amazonaws.com"), "{output}");
    let zone =
        zone(HUB, "", "").replace(NETWORK, "").replace("example.internal", "ecr.us-east-1.amazonaws.com");
    converges(&stage, &(endpoint("depends_on = [warren_aws_route53_zone.one]") + &zone))?;
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

#[test]
fn the_resolver_follows_its_configuration_in_a_slow_cloud() -> Result<()> {
    let stage = AwsStage::with(ProxyConfig::realistic(), "")?;
    let (a, b) = ("{ subnet_id = warren_aws_subnet.a.id }", "{ subnet_id = warren_aws_subnet.b.id }");
    converges(&stage, &resolver(&format!("{a}, {b}"), "10.8.0.2", "warren_aws_vpc.hub.id"))?;
    // Another order, one address more, another target and another VPC: nothing is replaced.
    let named = "{ subnet_id = warren_aws_subnet.b.id, ip = \"10.0.1.77\" }";
    converges(&stage, &resolver(&format!("{b}, {a}, {named}"), "10.8.0.3", "warren_aws_vpc.spoke.id"))?;
    ensure!(calls(&stage, "AssociateResolverEndpointIpAddress") == 1, "addresses were moved");
    ensure!(calls(&stage, "DisassociateResolverEndpointIpAddress") == 0, "addresses were moved");
    converges(&stage, &resolver(&format!("{named}, {a}"), "10.8.0.3", ""))?;
    ensure!(calls(&stage, "CreateResolverEndpoint") == 1, "the endpoint was replaced");
    ensure!(calls(&stage, "CreateResolverRule") == 1, "the rule was replaced");
    stage.terraform.destroy(&[])?.success()?;
    stage.nothing_left()
}

/// A sample of the kill points.
#[test]
fn a_provider_killed_at_zones_leaves_nothing_behind() -> Result<()> {
    let configuration = zone(HUB, "", "[\"10.0.0.5\"]") + ASSOCIATION;
    let stage = || AwsStage::with(ProxyConfig { pending: 1, ..ProxyConfig::default() }, &configuration);
    let report = kill_points(stage, KillSample::every(7), &mut |line| println!("{line}"))?;
    println!("{report}");
    ensure!(report.survived >= 3, "{report}");
    Ok(())
}
