//! AWS: names, endpoints, transit gateways, network ACLs and policies.

use crate::{HTTPS, explain, name, service, state, subnet, with};
use serde_json::{Value, json};
use warren_model::reach::Place;
use warren_model::topology::Protocol;

/// A hub with NAT and endpoints, and a spoke that reaches it through a transit gateway with a table of its own.
fn hub_and_spoke() -> Value {
    json!({
        "aws_vpc.hub": { "cidr_block": "10.0.0.0/16", "enable_dns_hostnames": true, "region": "eu-west-1" },
        "aws_subnet.public": { "vpc_id": "aws_vpc.hub", "cidr_block": "10.0.0.0/24", "availability_zone": "eu-west-1a" },
        "aws_subnet.private": { "vpc_id": "aws_vpc.hub", "cidr_block": "10.0.1.0/24", "availability_zone": "eu-west-1a" },
        "aws_subnet.tgw": { "vpc_id": "aws_vpc.hub", "cidr_block": "10.0.2.0/24", "availability_zone": "eu-west-1a" },
        "aws_internet_gateway.hub": { "vpc_id": "aws_vpc.hub" },
        "aws_nat_gateway.hub": { "subnet_id": "aws_subnet.public" },
        "aws_ec2_transit_gateway.hub": { "default_route_table_association": "disable", "default_route_table_propagation": "disable" },
        "aws_ec2_transit_gateway_vpc_attachment.hub": { "transit_gateway_id": "aws_ec2_transit_gateway.hub", "vpc_id": "aws_vpc.hub", "subnet_ids": ["aws_subnet.tgw"] },
        "aws_ec2_transit_gateway_vpc_attachment.spoke": { "transit_gateway_id": "aws_ec2_transit_gateway.hub", "vpc_id": "aws_vpc.spoke", "subnet_ids": ["aws_subnet.spoke"] },
        "aws_ec2_transit_gateway_vpc_attachment.other": { "transit_gateway_id": "aws_ec2_transit_gateway.hub", "vpc_id": "aws_vpc.other", "subnet_ids": ["aws_subnet.other"] },
        "aws_ec2_transit_gateway_route_table.hub": { "transit_gateway_id": "aws_ec2_transit_gateway.hub" },
        "aws_ec2_transit_gateway_route_table.spokes": { "transit_gateway_id": "aws_ec2_transit_gateway.hub" },
        "aws_ec2_transit_gateway_route_table_association.hub": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.hub", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.hub" },
        "aws_ec2_transit_gateway_route_table_association.spoke": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.spokes", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.spoke" },
        "aws_ec2_transit_gateway_route_table_association.other": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.spokes", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.other" },
        "aws_ec2_transit_gateway_route_table_propagation.spoke": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.hub", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.spoke" },
        "aws_ec2_transit_gateway_route_table_propagation.other": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.hub", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.other" },
        "aws_ec2_transit_gateway_route.default": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.spokes", "destination_cidr_block": "0.0.0.0/0", "transit_gateway_attachment_id": "aws_ec2_transit_gateway_vpc_attachment.hub" },
        "aws_ec2_transit_gateway_route.isolated": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.spokes", "destination_cidr_block": "10.1.0.0/16", "blackhole": true },
        "aws_ec2_transit_gateway_route.isolated_too": { "transit_gateway_route_table_id": "aws_ec2_transit_gateway_route_table.spokes", "destination_cidr_block": "10.2.0.0/16", "blackhole": true },
        "aws_route_table.public": { "vpc_id": "aws_vpc.hub", "route": [
            { "cidr_block": "0.0.0.0/0", "gateway_id": "aws_internet_gateway.hub" },
            { "cidr_block": "10.0.0.0/8", "transit_gateway_id": "aws_ec2_transit_gateway.hub" },
        ] },
        "aws_route_table_association.public": { "route_table_id": "aws_route_table.public", "subnet_id": "aws_subnet.public" },
        "aws_route_table.private": { "vpc_id": "aws_vpc.hub", "route": [
            { "cidr_block": "0.0.0.0/0", "nat_gateway_id": "aws_nat_gateway.hub" },
            { "cidr_block": "10.0.0.0/8", "transit_gateway_id": "aws_ec2_transit_gateway.hub" },
        ] },
        "aws_route_table_association.private": { "route_table_id": "aws_route_table.private", "subnet_id": "aws_subnet.private" },
        "aws_route_table_association.tgw": { "route_table_id": "aws_route_table.private", "subnet_id": "aws_subnet.tgw" },
        "aws_vpc.spoke": { "cidr_block": "10.1.0.0/16", "enable_dns_hostnames": true, "region": "eu-west-1" },
        "aws_subnet.spoke": { "vpc_id": "aws_vpc.spoke", "cidr_block": "10.1.0.0/24", "availability_zone": "eu-west-1a" },
        "aws_route_table.spoke": { "vpc_id": "aws_vpc.spoke", "route": [{ "cidr_block": "0.0.0.0/0", "transit_gateway_id": "aws_ec2_transit_gateway.hub" }] },
        "aws_route_table_association.spoke": { "route_table_id": "aws_route_table.spoke", "subnet_id": "aws_subnet.spoke" },
        "aws_vpc.other": { "cidr_block": "10.2.0.0/16", "region": "eu-west-1" },
        "aws_subnet.other": { "vpc_id": "aws_vpc.other", "cidr_block": "10.2.0.0/24", "availability_zone": "eu-west-1a" },
        "aws_route_table.other": { "vpc_id": "aws_vpc.other", "route": [{ "cidr_block": "0.0.0.0/0", "transit_gateway_id": "aws_ec2_transit_gateway.hub" }] },
        "aws_route_table_association.other": { "route_table_id": "aws_route_table.other", "subnet_id": "aws_subnet.other" },
    })
}

fn ask(resources: &Value, from: &str, to: &Place) -> String {
    explain(&state(resources), &subnet(from), to, HTTPS)
}

fn interface(service: &str, private_dns: bool) -> Value {
    json!({
        "vpc_id": "aws_vpc.hub", "service_name": format!("com.amazonaws.eu-west-1.{service}"), "vpc_endpoint_type": "Interface",
        "subnet_ids": ["aws_subnet.private"], "private_dns_enabled": private_dns,
    })
}

fn shared_zone() -> Value {
    with(
        &hub_and_spoke(),
        &json!({
            "aws_vpc_endpoint.api": with(&json!({ "it": interface("ecr.api", false) }), &json!({ "it": { "id": "vpce-0a1b" } }))["it"],
            "aws_route53_zone.api": { "name": "api.ecr.eu-west-1.amazonaws.com", "vpc": [{ "vpc_id": "aws_vpc.hub" }] },
            "aws_route53_record.api": {
                "zone_id": "aws_route53_zone.api", "name": "api.ecr.eu-west-1.amazonaws.com", "type": "A",
                "alias": [{ "name": "vpce-0a1b-2c3d.api.ecr.eu-west-1.vpce.amazonaws.com", "zone_id": "Z1" }],
            },
        }),
    )
}

#[test]
fn private_dns_of_an_endpoint_resolves_in_its_own_network_only() {
    let all = with(&hub_and_spoke(), &json!({ "aws_vpc_endpoint.api": interface("ecr.api", true) }));
    insta::assert_snapshot!("private_dns_own", ask(&all, "aws_subnet.public", &service("ecr.api")));
    insta::assert_snapshot!("private_dns_spoke", ask(&all, "aws_subnet.spoke", &service("ecr.api")));
    let off = with(&all, &json!({ "aws_vpc.hub": { "enable_dns_hostnames": false } }));
    assert!(ask(&off, "aws_subnet.private", &service("ecr.api")).starts_with("reached over the internet"));
    let off = with(&all, &json!({ "aws_vpc.hub": { "enable_dns_support": false } }));
    insta::assert_snapshot!("no_resolver", ask(&off, "aws_subnet.public", &service("ecr.api")));
}

#[test]
fn a_shared_zone_serves_the_networks_that_it_is_associated_with() {
    let alone = shared_zone();
    assert!(ask(&alone, "aws_subnet.public", &service("ecr.api")).starts_with("reached through an endpoint"));
    assert!(ask(&alone, "aws_subnet.spoke", &service("ecr.api")).starts_with("reached over the internet"));
    let association = json!({ "aws_route53_zone_association.spoke": { "zone_id": "aws_route53_zone.api", "vpc_id": "aws_vpc.spoke" } });
    insta::assert_snapshot!(
        "shared_zone",
        ask(&with(&alone, &association), "aws_subnet.spoke", &service("ecr.api"))
    );
    // An authorization without an association makes nothing visible.
    let authorized = json!({ "aws_route53_vpc_association_authorization.spoke": { "zone_id": "aws_route53_zone.api", "vpc_id": "aws_vpc.spoke" } });
    assert_eq!(
        ask(&with(&alone, &authorized), "aws_subnet.spoke", &service("ecr.api")),
        ask(&alone, "aws_subnet.spoke", &service("ecr.api"))
    );
}

#[test]
fn a_zone_without_the_record_hides_the_public_name() {
    let all = with(
        &shared_zone(),
        &json!({ "aws_route53_record.api": { "name": "other.api.ecr.eu-west-1.amazonaws.com" } }),
    );
    insta::assert_snapshot!("no_record", ask(&all, "aws_subnet.public", &service("ecr.api")));
}

#[test]
fn wildcards_and_aliases_of_records_are_followed() {
    let record = |kind: &str, name: &str, values: &[&str]| json!({ "zone_id": "aws_route53_zone.inner", "name": name, "type": kind, "records": values });
    let all = with(
        &hub_and_spoke(),
        &json!({
            "aws_route53_zone.inner": { "name": "inner", "vpc": [{ "vpc_id": "aws_vpc.spoke" }] },
            "aws_route53_record.star": record("A", "*.data.inner", &["10.0.1.9"]),
            "aws_route53_record.alias": record("CNAME", "store.inner", &["a.data.inner."]),
            "aws_route53_record.text": record("TXT", "text.inner", &["x"]),
        }),
    );
    insta::assert_snapshot!("alias", ask(&all, "aws_subnet.spoke", &name("store.inner")));
    assert!(ask(&all, "aws_subnet.spoke", &name("text.inner")).contains("has no record for it"));
    assert!(ask(&all, "aws_subnet.spoke", &name("data.inner")).contains("has no record for it"));
    // The hub does not see the zone: the name is public there.
    assert!(ask(&all, "aws_subnet.private", &name("store.inner")).starts_with("reached over the internet"));
}

#[test]
fn rules_forward_to_inbound_endpoints() {
    let all = with(
        &hub_and_spoke(),
        &json!({
            "aws_vpc_endpoint.api": interface("ecr.api", true),
            "aws_security_group.dns": { "vpc_id": "aws_vpc.hub", "ingress": [{ "protocol": "udp", "from_port": 53, "to_port": 53, "cidr_blocks": ["10.1.0.0/16"] }] },
            "aws_route53_resolver_endpoint.in": { "direction": "INBOUND", "security_group_ids": ["aws_security_group.dns"], "ip_address": [{ "subnet_id": "aws_subnet.private", "ip": "10.0.1.53" }] },
            "aws_route53_resolver_endpoint.out": { "direction": "OUTBOUND", "security_group_ids": [], "ip_address": [{ "subnet_id": "aws_subnet.spoke" }] },
            "aws_route53_resolver_rule.aws": { "domain_name": "amazonaws.com.", "rule_type": "FORWARD", "resolver_endpoint_id": "aws_route53_resolver_endpoint.out", "target_ip": [{ "ip": "10.0.1.53" }] },
            "aws_route53_resolver_rule_association.spoke": { "resolver_rule_id": "aws_route53_resolver_rule.aws", "vpc_id": "aws_vpc.spoke" },
        }),
    );
    insta::assert_snapshot!("rule", ask(&all, "aws_subnet.spoke", &service("ecr.api")));
    let closed = with(&all, &json!({ "aws_security_group.dns": { "ingress": [] } }));
    insta::assert_snapshot!("rule_closed", ask(&closed, "aws_subnet.spoke", &service("ecr.api")));
    let system = json!({ "aws_route53_resolver_rule.aws": { "rule_type": "SYSTEM" } });
    assert!(
        ask(&with(&all, &system), "aws_subnet.spoke", &service("ecr.api"))
            .starts_with("reached over the internet")
    );
    let elsewhere = json!({ "aws_route53_resolver_rule.aws": { "target_ip": [{ "ip": "192.168.0.1" }] } });
    assert!(ask(&with(&all, &elsewhere), "aws_subnet.spoke", &service("ecr.api")).starts_with("unknown"));
}

#[test]
fn gateway_endpoints_serve_their_own_network_only() {
    let endpoint = |tables: &[&str]| json!({ "aws_vpc_endpoint.s3": { "vpc_id": "aws_vpc.hub", "service_name": "com.amazonaws.eu-west-1.s3", "route_table_ids": tables } });
    let private = with(&hub_and_spoke(), &endpoint(&["aws_route_table.private"]));
    insta::assert_snapshot!("gateway_endpoint", ask(&private, "aws_subnet.private", &service("s3")));
    insta::assert_snapshot!("gateway_endpoint_guest", ask(&private, "aws_subnet.spoke", &service("s3")));
    assert!(ask(&private, "aws_subnet.public", &service("dynamodb")).starts_with("not reached"));
    // Behind NAT, the packets are those of a host of the hub.
    let public = with(&hub_and_spoke(), &endpoint(&["aws_route_table.public"]));
    assert!(ask(&public, "aws_subnet.spoke", &service("s3")).starts_with("reached through an endpoint"));
}

#[test]
fn an_image_pull_needs_three_names() {
    let all = with(
        &hub_and_spoke(),
        &json!({ "aws_vpc_endpoint.api": interface("ecr.api", true), "aws_vpc_endpoint.dkr": interface("ecr.dkr", true) }),
    );
    // The layers come over the internet.
    assert!(ask(&all, "aws_subnet.private", &service("ecr")).starts_with("reached over the internet"));
    let s3 = json!({ "aws_vpc_endpoint.s3": interface("s3", true) });
    insta::assert_snapshot!("image_pull", ask(&with(&all, &s3), "aws_subnet.private", &service("ecr")));
    let inbound = json!({ "aws_vpc_endpoint.s3": { "dns_options": [{ "private_dns_only_for_inbound_resolver_endpoint": true }] } });
    assert!(
        ask(&with(&with(&all, &s3), &inbound), "aws_subnet.private", &service("ecr"))
            .starts_with("reached over the internet")
    );
}

#[test]
fn tables_of_a_transit_gateway_isolate_spokes_and_lead_out() {
    let all = hub_and_spoke();
    insta::assert_snapshot!("isolated", ask(&all, "aws_subnet.spoke", &subnet("aws_subnet.other")));
    insta::assert_snapshot!("central_egress", ask(&all, "aws_subnet.spoke", &Place::Internet));
    // Without its association, the spoke has no table.
    let mut unassociated = all.clone();
    unassociated.as_object_mut().unwrap().remove("aws_ec2_transit_gateway_route_table_association.spoke");
    assert!(
        ask(&unassociated, "aws_subnet.spoke", &Place::Internet)
            .contains("is associated with no route table")
    );
    // Without propagation, replies do not return.
    let mut lost = all.clone();
    lost.as_object_mut().unwrap().remove("aws_ec2_transit_gateway_route_table_propagation.spoke");
    insta::assert_snapshot!("no_propagation", ask(&lost, "aws_subnet.spoke", &Place::Internet));
    // Without the blackhole, the default route leads through the hub's own table to the other spoke.
    let mut open = all;
    for key in ["isolated", "isolated_too"] {
        open.as_object_mut().unwrap().remove(&format!("aws_ec2_transit_gateway_route.{key}"));
    }
    assert!(ask(&open, "aws_subnet.spoke", &subnet("aws_subnet.other")).starts_with("reached"));
}

#[test]
fn a_zone_without_a_subnet_of_the_attachment_does_not_reach_the_transit_gateway() {
    let all = hub_and_spoke();
    assert!(ask(&all, "aws_subnet.private", &subnet("aws_subnet.spoke")).starts_with("reached"));
    let elsewhere = with(&all, &json!({ "aws_subnet.private": { "availability_zone": "eu-west-1b" } }));
    let why = "attachment hub has no subnet in eu-west-1b, the zone of subnet private";
    assert!(ask(&elsewhere, "aws_subnet.private", &subnet("aws_subnet.spoke")).contains(why));
    // Neither do replies.
    assert!(ask(&elsewhere, "aws_subnet.spoke", &subnet("aws_subnet.private")).contains(why));
}

#[test]
fn network_acls_filter_both_directions() {
    let rule = |number: u16, action: &str, port: (u16, u16), range: &str| json!({ "rule_no": number, "action": action, "protocol": "tcp", "from_port": port.0, "to_port": port.1, "cidr_block": range });
    let acl = |ingress: &[Value], egress: &[Value]| {
        let acl = json!({ "aws_network_acl.private": { "vpc_id": "aws_vpc.hub", "subnet_ids": ["aws_subnet.private"], "ingress": ingress, "egress": egress } });
        ask(&with(&hub_and_spoke(), &acl), "aws_subnet.public", &subnet("aws_subnet.private"))
    };
    let (in_, out) =
        (rule(100, "allow", (443, 443), "10.0.0.0/16"), rule(100, "allow", (1024, 65535), "10.0.0.0/16"));
    assert!(acl(std::slice::from_ref(&in_), std::slice::from_ref(&out)).starts_with("reached"));
    insta::assert_snapshot!(
        "acl_replies",
        acl(std::slice::from_ref(&in_), &[rule(100, "allow", (1024, 40000), "10.0.0.0/16")])
    );
    insta::assert_snapshot!(
        "acl_denied",
        acl(&[rule(90, "deny", (0, 65535), "10.0.0.0/24"), in_], std::slice::from_ref(&out))
    );
    assert!(acl(&[], &[out]).starts_with("not reached"));
    // The default ACL applies to all subnets without another one; what it does not list is denied.
    let default = json!({ "aws_default_network_acl.hub": { "vpc_id": "aws_vpc.hub" } });
    insta::assert_snapshot!(
        "acl_default",
        ask(&with(&hub_and_spoke(), &default), "aws_subnet.spoke", &Place::Internet)
    );
    // Packets inside a subnet and in other networks pass no ACL of the hub.
    assert!(
        ask(&with(&hub_and_spoke(), &default), "aws_subnet.other", &subnet("aws_subnet.spoke"))
            .contains("drops")
    );
}

#[test]
fn policies_decide_on_buckets_by_name() {
    let policy = |statements: &Value| json!({ "Version": "2012-10-17", "Statement": statements }).to_string();
    let only = policy(
        &json!([{ "Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": ["arn:aws:s3:::mine", "arn:aws:s3:::mine/*"] }]),
    );
    let all = with(
        &hub_and_spoke(),
        &json!({
            "aws_vpc_endpoint.s3": { "vpc_id": "aws_vpc.hub", "service_name": "com.amazonaws.eu-west-1.s3", "route_table_ids": ["aws_route_table.private"], "policy": only },
            "aws_s3_bucket.mine": { "bucket": "mine" },
        }),
    );
    let mine = name("mine.s3.eu-west-1.amazonaws.com");
    assert!(ask(&all, "aws_subnet.private", &mine).starts_with("reached through an endpoint"));
    insta::assert_snapshot!(
        "endpoint_policy",
        ask(&all, "aws_subnet.private", &name("yours.s3.eu-west-1.amazonaws.com"))
    );
    let closed = policy(&json!([{
        "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::mine/*",
        "Condition": { "StringNotEquals": { "aws:SourceVpce": "aws_vpc_endpoint.s3" } },
    }]));
    let closed = with(&all, &json!({ "aws_s3_bucket_policy.mine": { "bucket": "mine", "policy": closed } }));
    assert!(ask(&closed, "aws_subnet.private", &mine).starts_with("reached through an endpoint"));
    insta::assert_snapshot!("bucket_policy", ask(&closed, "aws_subnet.public", &mine));
    let deny = |condition: Value| {
        let policy = policy(
            &json!([{ "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::mine/*", "Condition": condition }]),
        );
        with(&all, &json!({ "aws_s3_bucket_policy.mine": { "bucket": "mine", "policy": policy } }))
    };
    // Who calls is not on the path; that requests are encrypted is.
    let unsure = deny(json!({ "StringNotEquals": { "aws:PrincipalOrgID": "o-1" } }));
    assert!(ask(&unsure, "aws_subnet.private", &mine).starts_with("unknown"));
    let plain = deny(json!({ "Bool": { "aws:SecureTransport": "false" } }));
    assert!(ask(&plain, "aws_subnet.private", &mine).starts_with("reached through an endpoint"));
    let warren = json!({ "aws_vpc_endpoint.s3": { "policy": null, "bucket_policy": { "buckets": ["mine"], "ecr_layers": false } } });
    let layers = name("prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com");
    assert!(ask(&with(&all, &warren), "aws_subnet.private", &layers).contains("does not allow bucket"));
}

#[test]
fn conditions_of_a_policy_are_about_the_path() {
    let all = with(
        &hub_and_spoke(),
        &json!({
            "aws_vpc_endpoint.s3": { "vpc_id": "aws_vpc.hub", "service_name": "com.amazonaws.eu-west-1.s3", "route_table_ids": ["aws_route_table.private"] },
            "aws_s3_bucket.mine": { "bucket": "mine" },
            "aws_subnet.public": { "map_public_ip_on_launch": true },
        }),
    );
    // From the private subnet (10.0.1.0/24) through the endpoint, and from the public one over the internet.
    for (operator, key, value, inside, outside) in [
        ("StringNotEquals", "aws:SourceVpc", "aws_vpc.hub", "reached", "not reached"),
        ("StringNotEquals", "aws:SourceVpce", "vpce-other", "not reached", "not reached"),
        ("StringNotEqualsIfExists", "aws:SourceVpc", "aws_vpc.hub", "reached", "not reached"),
        ("StringEqualsIfExists", "aws:SourceVpce", "aws_vpc_endpoint.s3", "not reached", "not reached"),
        ("StringLike", "aws:sourcevpce", "vpce-*", "not reached", "reached"),
        ("StringNotLike", "aws:SourceVpce", "*", "reached", "not reached"),
        ("ForAnyValue:StringNotEquals", "aws:SourceVpc", "aws_vpc.hub", "reached", "reached"),
        ("ForAllValues:StringEquals", "aws:SourceVpc", "aws_vpc.hub", "not reached", "not reached"),
        ("Null", "aws:SourceVpce", "true", "reached", "not reached"),
        ("NotIpAddress", "aws:VpcSourceIp", "10.0.1.0/24", "reached", "not reached"),
        ("IpAddress", "aws:VpcSourceIp", "10.0.0.0/16", "not reached", "reached"),
        ("IpAddress", "aws:VpcSourceIp", "10.0.1.7", "unknown", "reached"),
        ("NotIpAddress", "aws:SourceIp", "10.0.0.0/16", "not reached", "not reached"),
        ("IpAddress", "aws:SourceIp", "0.0.0.0/0", "reached", "not reached"),
        ("IpAddress", "aws:SourceIp", "203.0.113.0/24", "reached", "unknown"),
        ("StringLike", "aws:SourceVpce", "vpce-0a?", "unknown", "unknown"),
    ] {
        let policy = json!({ "Statement": { "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*", "Condition": { operator: { key: value } } } });
        let all = with(
            &all,
            &json!({ "aws_s3_bucket_policy.mine": { "bucket": "mine", "policy": policy.to_string() } }),
        );
        for (from, expected) in [("aws_subnet.private", inside), ("aws_subnet.public", outside)] {
            let answer = ask(&all, from, &name("mine.s3.eu-west-1.amazonaws.com"));
            assert!(answer.starts_with(expected), "{operator} {key} {value} {from}: {answer}");
        }
    }
}

#[test]
fn a_policy_may_be_about_some_objects_or_all_others() {
    let answer = |statements: &Value| {
        let all = with(
            &hub_and_spoke(),
            &json!({
                "aws_vpc_endpoint.s3": {
                    "vpc_id": "aws_vpc.hub", "service_name": "com.amazonaws.eu-west-1.s3", "route_table_ids": ["aws_route_table.private"],
                    "policy": json!({ "Statement": statements }).to_string(),
                },
            }),
        );
        ask(&all, "aws_subnet.private", &name("mine.s3.eu-west-1.amazonaws.com"))
    };
    let allow = |elements: Value| with_elements("Allow", &elements);
    let deny = |elements: Value| with_elements("Deny", &elements);
    let all = || allow(json!({ "Action": "*", "Resource": "*" }));
    for (statements, expected) in [
        (
            json!([allow(json!({ "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine/public/*" }))]),
            "reached",
        ),
        (json!([allow(json!({ "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mine" }))]), "not reached"),
        (json!([all(), deny(json!({ "Action": "*", "Resource": "arn:aws:s3:::mine/secret/*" }))]), "reached"),
        (json!([all(), deny(json!({ "Action": "*", "Resource": "arn:aws:s3:::m?ne/*" }))]), "not reached"),
        (json!([all(), deny(json!({ "Action": "*", "NotResource": "arn:aws:s3:::mine/*" }))]), "reached"),
        (
            json!([all(), deny(json!({ "Action": "*", "NotResource": "arn:aws:s3:::yours/*" }))]),
            "not reached",
        ),
        (json!([all(), deny(json!({ "NotAction": "s3:Get*", "Resource": "*" }))]), "reached"),
        (json!([]), "not reached"),
    ] {
        let said = answer(&statements);
        assert!(said.starts_with(expected), "{statements}: {said}");
    }
    let others = json!({ "Effect": "Deny", "NotPrincipal": { "AWS": "123456789012" }, "Action": "*", "Resource": "*" });
    assert!(answer(&json!([all(), others])).starts_with("unknown"));
}

fn with_elements(effect: &str, elements: &Value) -> Value {
    let mut statement = elements.clone();
    statement["Effect"] = effect.into();
    statement["Principal"] = "*".into();
    statement
}

#[test]
fn replies_that_pass_a_nat_gateway_are_lost() {
    let all = with(
        &hub_and_spoke(),
        &json!({ "aws_route_table.private": { "route": [{ "cidr_block": "0.0.0.0/0", "nat_gateway_id": "aws_nat_gateway.hub" }] } }),
    );
    let answer = |all: &Value| ask(all, "aws_subnet.spoke", &subnet("aws_subnet.private"));
    assert!(answer(&hub_and_spoke()).starts_with("reached"), "{}", answer(&hub_and_spoke()));
    let lost = answer(&all);
    assert!(lost.starts_with("not reached") && lost.contains("the replies pass a NAT gateway"), "{lost}");
}

#[test]
fn a_route_to_a_host_decides_nothing() {
    let all = with(
        &hub_and_spoke(),
        &json!({
            "aws_instance.appliance": { "subnet_id": "aws_subnet.private", "primary_network_interface_id": "eni-1" },
            "aws_route.inspect": { "route_table_id": "aws_route_table.spoke", "destination_cidr_block": "192.168.0.0/16", "network_interface_id": "eni-1" },
        }),
    );
    let all = state(&all);
    let answer = explain(&all, &subnet("aws_subnet.spoke"), &subnet("aws_subnet.private"), Protocol::Any);
    assert!(answer.starts_with("reached"), "{answer}");
}
