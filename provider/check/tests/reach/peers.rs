//! Peers of an overlay: their gateway resolves names, or public resolvers do.

use crate::{HTTPS, explain, name, service, state, with};
use serde_json::{Value, json};
use warren_model::reach::Place;

fn content(dns: &str, to: &str) -> String {
    format!(
        "fabric = \"f\"\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n{dns}\n[[groups.gpu.allow]]\nto = [{to}]\nports = [443]\nprotocols = [\"tcp\"]\n"
    )
}

fn hub(content: &str) -> Value {
    json!({
        "warren_aws_vpc.hub": { "cidr_block": "10.0.0.0/16", "region": "eu-west-1" },
        "warren_aws_subnet.public": { "vpc_id": "warren_aws_vpc.hub", "cidr_block": "10.0.0.0/24" },
        "warren_aws_subnet.private": { "vpc_id": "warren_aws_vpc.hub", "cidr_block": "10.0.1.0/24" },
        "warren_aws_internet_gateway.hub": { "vpc_id": "warren_aws_vpc.hub" },
        "warren_aws_route_table.public": { "vpc_id": "warren_aws_vpc.hub", "subnet_ids": ["warren_aws_subnet.public"], "routes": [{ "destination_cidr_block": "0.0.0.0/0", "gateway_id": "warren_aws_internet_gateway.hub" }] },
        "warren_aws_vpc_endpoint.api": { "vpc_id": "warren_aws_vpc.hub", "service": "ecr.api", "type": "Interface", "subnet_ids": ["warren_aws_subnet.private"] },
        "warren_aws_vpc_endpoint.s3": { "vpc_id": "warren_aws_vpc.hub", "service": "s3", "type": "Gateway", "route_table_ids": ["warren_aws_route_table.public"], "cidr_blocks": ["52.218.0.0/17"] },
        "warren_aws_gateway_config.gw": { "name": "gw", "content": content },
        "warren_aws_gateway.gw": { "subnet_id": "warren_aws_subnet.public", "config": "gw", "public_ip": "3.3.3.3", "security_group_ids": ["sg-1"] },
    })
}

fn ask(resources: &Value, to: &Place) -> String {
    let peers = Place::Peers { fabric: "f".to_owned(), group: "gpu".to_owned() };
    explain(&state(resources), &peers, to, HTTPS)
}

const ZONES: &str = "[[dns.zones]]\ndomains = [\"amazonaws.com\"]\nresolvers = [\"10.0.0.2\"]";

#[test]
fn a_gateway_that_answers_names_leads_to_endpoints() {
    let all = hub(&content(ZONES, "\"10.0.0.0/16\""));
    insta::assert_snapshot!("served", ask(&all, &service("ecr.api")));
    // The rule has no address of S3.
    insta::assert_snapshot!("no_rule", ask(&all, &name("mine.s3.eu-west-1.amazonaws.com")));
    let both = hub(&content(ZONES, "\"10.0.0.0/16\", \"52.218.0.0/17\""));
    insta::assert_snapshot!("served_s3", ask(&both, &name("mine.s3.eu-west-1.amazonaws.com")));
    // Another range of the internet is not S3.
    let other = hub(&content(ZONES, "\"10.0.0.0/16\", \"53.0.0.0/8\""));
    assert!(ask(&other, &service("s3")).starts_with("not reached"));
}

#[test]
fn without_names_peers_use_public_addresses() {
    let all = hub(&content("", "\"0.0.0.0/0\""));
    insta::assert_snapshot!("unserved", ask(&all, &service("ecr.api")));
    let elsewhere = ZONES.replace("10.0.0.2", "192.0.2.1");
    insta::assert_snapshot!(
        "unknown_resolver",
        ask(&hub(&content(&elsewhere, "\"0.0.0.0/0\"")), &service("ecr.api"))
    );
}

#[test]
fn servers_are_asked_through_the_gateway() {
    let servers = "[dns]\nservers = [\"10.0.0.2\"]\ndomains = [\"eu-west-1.amazonaws.com\"]";
    insta::assert_snapshot!(
        "server_closed",
        ask(&hub(&content(servers, "\"10.0.0.0/16\"")), &service("ecr.api"))
    );
    let open = content(servers, "\"10.0.0.0/16\"")
        + "[[groups.gpu.allow]]\nto = [\"10.0.0.2/32\"]\nports = [53]\nprotocols = [\"udp\"]\n";
    assert!(ask(&hub(&open), &service("ecr.api")).starts_with("reached through an endpoint"));
}

#[test]
fn a_gateway_asks_the_gateway_of_another_network() {
    let dns = "[[dns.zones]]\ndomains = [\"eu-west-1.amazonaws.com\"]\nresolvers = [\"10.101.0.1\"]";
    let far = format!("{}[site]\naddresses = [\"10.101.0.1\"]\n", content(ZONES, "\"10.0.0.0/16\""));
    let all = with(
        &hub(&far),
        &json!({
            "warren_aws_gateway_config.near": { "name": "near", "content": content(dns, "\"10.0.0.0/16\"") },
            "warren_aws_gateway.near": { "subnet_id": "warren_aws_subnet.private", "config": "near", "security_group_ids": ["sg-1"] },
        }),
    );
    assert!(ask(&all, &service("ecr.api")).starts_with("reached through an endpoint"));
}

#[test]
fn links_between_gateways_carry_their_ranges() {
    let near = |allowed: &str| {
        let site = "[[site.peers]]\nname = \"far\"\nprefixes = [\"10.0.1.0/24\"]\ngroup = \"site\"\n";
        format!("name = \"near\"\n{}{site}", content("", allowed))
    };
    let far = "fabric = \"f\"\nname = \"far\"\n[pool]\nprefixes = [\"10.101.0.0/24\"]\n[[site.peers]]\nname = \"near\"\nprefixes = []\ngroup = \"site\"\n[[groups.site.allow]]\nto = [\"10.0.1.0/24\"]\nports = [443]\nprotocols = [\"tcp\"]\n";
    let all = with(
        &hub(far),
        &json!({
            "warren_aws_vpc.near": { "cidr_block": "10.9.0.0/16", "region": "eu-west-1" },
            "warren_aws_subnet.near": { "vpc_id": "warren_aws_vpc.near", "cidr_block": "10.9.0.0/24" },
            "warren_aws_gateway_config.near": { "name": "near", "content": near("\"10.0.0.0/16\"") },
            "warren_aws_gateway.near": { "subnet_id": "warren_aws_subnet.near", "config": "near", "security_group_ids": ["sg-1"] },
        }),
    );
    let to = |key: &str| Place::Subnet(format!("warren_aws_subnet.{key}"));
    insta::assert_snapshot!("site", ask(&all, &to("private")));
    // The link does not carry the other subnet, and the network of the gateway has no route to it.
    assert!(ask(&all, &to("public")).starts_with("not reached"));
    // The far gateway holds its own rules against the link.
    let closed = far.replace("[443]", "[80]");
    let closed = with(&all, &json!({ "warren_aws_gateway_config.gw": { "content": closed } }));
    assert!(ask(&closed, &to("private")).starts_with("not reached"));
    // A gateway that the plan does not have may carry it.
    let gone = with(
        &all,
        &json!({ "warren_aws_gateway_config.gw": { "content": far.replace("\"far\"", "\"other\"") } }),
    );
    assert!(ask(&gone, &to("private")).starts_with("unknown"));
}
