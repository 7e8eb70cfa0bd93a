//! Plans whose values are known only after apply, and the plan of an example as it was.

use crate::{HTTPS, explain, service, subnet};
use serde_json::{Value, json};
use warren_model::reach::{Lists, Place};
use warren_model::topology::{Protocol, Topology};
use warren_planfile::{Source, read_topology};

/// The plan of a hub whose endpoints no spoke could use, although its policy said so.
const OLD: &str = include_str!("../../../diagram/tests/fixtures/example.json");

#[test]
fn endpoints_of_a_hub_without_zones_serve_no_spoke() {
    let all = read_topology(&Source { name: "plan.json", text: OLD, owner: None }).unwrap().after;
    let spoke = all.subnets.values().find(|it| it.head.name.starts_with("training")).unwrap();
    let from = Place::Subnet(spoke.head.key.clone());
    for (snapshot, to) in [("old_ecr_api", "ecr.api"), ("old_ecr", "ecr"), ("old_s3", "s3")] {
        insta::assert_snapshot!(snapshot, explain(&all, &from, &service(to), HTTPS));
    }
    let hub = all.subnets.values().find(|it| it.head.name == "aws-ml").unwrap();
    let answer = explain(&all, &Place::Subnet(hub.head.key.clone()), &service("ecr"), HTTPS);
    assert!(answer.starts_with("reached through an endpoint"), "{answer}");
}

#[test]
fn every_pair_has_an_answer() {
    let all = read_topology(&Source { name: "plan.json", text: OLD, owner: None }).unwrap().after;
    let pairs = Lists::new(&all).all(&[service("s3"), service("ecr")], Protocol::Tcp(443, 443));
    // Four subnets and the internet as sources; these and two services as destinations.
    assert_eq!(pairs.len(), 5 * 6);
    assert!(pairs.iter().all(|pair| pair.answer.reached || pair.answer.why.is_some()));
}

/// A plan that creates everything: IDs are unknown, and the configuration refers to them.
fn plan(resources: &[(&str, Value, Value)]) -> Topology {
    let mut changes = Vec::new();
    let mut configured = Vec::new();
    for (address, values, references) in resources {
        let (base, index) = address.split_once('[').map_or((*address, ""), |(base, index)| (base, index));
        let (kind, name) = base.split_once('.').expect("TYPE.NAME");
        let mut unknown: Value = json!({ "id": true });
        let mut expressions = json!({});
        for (attribute, to) in references.as_object().expect("references by attribute") {
            unknown[attribute] = true.into();
            // Null: the configuration does not set it, and the provider computes it.
            if !to.is_null() {
                expressions[attribute] = json!({ "references": to });
            }
        }
        let each = expressions.as_object_mut().expect("an object").remove("for_each");
        unknown.as_object_mut().expect("an object").remove("for_each");
        changes.push(json!({
            "address": address, "mode": "managed", "type": kind, "name": name,
            "change": { "actions": ["create"], "before": null, "after": values, "after_unknown": unknown },
        }));
        if index.is_empty() || !configured.iter().any(|it: &Value| it["address"] == base) {
            configured.push(json!({
                "address": base, "mode": "managed", "type": kind, "name": name, "expressions": expressions, "for_each_expression": each,
            }));
        }
    }
    let text = json!({
        "format_version": "1.2", "resource_changes": changes, "configuration": { "root_module": { "resources": configured } },
    });
    read_topology(&Source { name: "plan.json", text: &text.to_string(), owner: None }).expect("a plan").after
}

fn base() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("aws_vpc.b", json!({ "cidr_block": "10.1.0.0/16", "enable_dns_hostnames": true }), json!({})),
        (
            "aws_vpc.a",
            json!({ "cidr_block": "10.0.0.0/16", "enable_dns_hostnames": true, "region": "eu-west-1" }),
            json!({}),
        ),
        (
            "aws_subnet.a",
            json!({ "cidr_block": "10.0.0.0/24" }),
            json!({ "vpc_id": ["aws_vpc.a.id", "aws_vpc.a"] }),
        ),
        (
            "aws_vpc_endpoint.api",
            json!({ "service_name": "com.amazonaws.eu-west-1.ecr.api", "vpc_endpoint_type": "Interface", "private_dns_enabled": false }),
            json!({ "vpc_id": ["aws_vpc.a.id", "aws_vpc.a"], "subnet_ids": ["aws_subnet.a.id", "aws_subnet.a"] }),
        ),
        (
            "aws_route53_zone.z[\"api\"]",
            json!({ "name": "api.ecr.eu-west-1.amazonaws.com" }),
            json!({ "vpc": ["aws_vpc.b.id", "aws_vpc.b"] }),
        ),
        (
            "aws_route53_zone.z[\"dkr\"]",
            json!({ "name": "dkr.ecr.eu-west-1.amazonaws.com" }),
            json!({ "vpc": ["aws_vpc.b.id", "aws_vpc.b"] }),
        ),
        (
            "aws_route53_record.api",
            json!({ "name": "api.ecr.eu-west-1.amazonaws.com", "type": "A", "alias": [{ "evaluate_target_health": false }] }),
            json!({
                "zone_id": ["aws_route53_zone.z[\"api\"].id", "aws_route53_zone.z[\"api\"]", "aws_route53_zone.z"],
                "alias": ["aws_vpc_endpoint.api.dns_entry[0].dns_name", "aws_vpc_endpoint.api.dns_entry", "aws_vpc_endpoint.api"],
            }),
        ),
    ]
}

#[test]
fn a_policy_that_is_not_known_yet_may_refuse() {
    let vpc = || json!(["aws_vpc.a.id", "aws_vpc.a"]);
    let table = || json!(["aws_route_table.a.id", "aws_route_table.a"]);
    let ask = |endpoint: &'static str, policy: Value| {
        let mut resources = base();
        resources.extend([
            ("aws_route_table.a", json!({}), json!({ "vpc_id": vpc() })),
            (
                "aws_route_table_association.a",
                json!({}),
                json!({ "subnet_id": ["aws_subnet.a.id", "aws_subnet.a"], "route_table_id": table() }),
            ),
            (
                endpoint,
                json!({ "service": "s3", "service_name": "com.amazonaws.eu-west-1.s3", "vpc_endpoint_type": "Gateway" }),
                json!({ "vpc_id": vpc(), "route_table_ids": table(), "policy": policy }),
            ),
        ]);
        let to = Place::Name("mine.s3.eu-west-1.amazonaws.com".to_owned());
        explain(&plan(&resources), &subnet("aws_subnet.a"), &to, HTTPS)
    };
    for endpoint in ["warren_aws_vpc_endpoint.s3", "aws_vpc_endpoint.s3"] {
        let answer = ask(endpoint, vpc());
        assert!(answer.starts_with("unknown") && answer.contains("known only after apply"), "{answer}");
    }
    let answer = ask("aws_vpc_endpoint.s3", Value::Null);
    assert!(answer.starts_with("reached through an endpoint"), "{answer}");
}

fn association(key: &'static str) -> (&'static str, Value, Value) {
    let references = json!({
        "zone_id": ["each.value.id", "each.value"], "vpc_id": ["aws_vpc.a.id", "aws_vpc.a"], "for_each": ["aws_route53_zone.z"],
    });
    (key, json!({}), references)
}

#[test]
fn unknown_associations_prove_nothing_unless_every_zone_is_meant() {
    let mut resources = base();
    resources.push(association("aws_route53_zone_association.z[\"api\"]"));
    let answer = explain(&plan(&resources), &subnet("aws_subnet.a"), &service("ecr.api"), HTTPS);
    insta::assert_snapshot!("unknown_association", answer);
    resources.push(association("aws_route53_zone_association.z[\"dkr\"]"));
    let answer = explain(&plan(&resources), &subnet("aws_subnet.a"), &service("ecr.api"), HTTPS);
    insta::assert_snapshot!("known_associations", answer);
}

#[test]
fn an_unknown_alias_is_known_only_after_apply() {
    let mut resources = base();
    resources.push(association("aws_route53_zone_association.z[\"api\"]"));
    resources.push(association("aws_route53_zone_association.z[\"dkr\"]"));
    resources[6].2["alias"] = json!(["local.targets"]);
    let answer = explain(&plan(&resources), &subnet("aws_subnet.a"), &service("ecr.api"), HTTPS);
    assert!(answer.starts_with("unknown"), "{answer}");
}

#[test]
fn an_unknown_association_of_a_transit_gateway_is_known_only_after_apply() {
    let tgw = json!(["aws_ec2_transit_gateway.t.id", "aws_ec2_transit_gateway.t"]);
    let attachment = |vpc: &str, subnet: &str| json!({ "transit_gateway_id": tgw.clone(), "vpc_id": [format!("aws_vpc.{vpc}")], "subnet_ids": [format!("aws_subnet.{subnet}")] });
    let mut resources = base();
    resources.extend([
        ("aws_subnet.b", json!({ "cidr_block": "10.1.0.0/24" }), json!({ "vpc_id": ["aws_vpc.b"] })),
        ("aws_ec2_transit_gateway.t", json!({}), json!({})),
        ("aws_ec2_transit_gateway_vpc_attachment.a", json!({}), attachment("a", "a")),
        ("aws_ec2_transit_gateway_vpc_attachment.b", json!({}), attachment("b", "b")),
        ("aws_ec2_transit_gateway_route_table.one", json!({}), json!({ "transit_gateway_id": tgw.clone() })),
        ("aws_ec2_transit_gateway_route_table.two", json!({}), json!({ "transit_gateway_id": tgw.clone() })),
        (
            "aws_ec2_transit_gateway_route_table_association.a",
            json!({}),
            json!({
                "transit_gateway_route_table_id": ["aws_ec2_transit_gateway_route_table.one.id", "aws_ec2_transit_gateway_route_table.two.id"],
                "transit_gateway_attachment_id": ["aws_ec2_transit_gateway_vpc_attachment.a"],
            }),
        ),
        (
            "aws_route_table.a",
            json!({ "route": [{ "cidr_block": "10.1.0.0/16" }] }),
            json!({ "vpc_id": ["aws_vpc.a"] }),
        ),
        ("aws_route_table_association.a", json!({}), json!({ "route_table_id": ["aws_route_table.a"], "subnet_id": ["aws_subnet.a"] })),
        ("aws_route.a", json!({ "destination_cidr_block": "10.1.0.0/16" }), json!({ "route_table_id": ["aws_route_table.a"], "transit_gateway_id": tgw.clone() })),
    ]);
    let answer = explain(&plan(&resources), &subnet("aws_subnet.a"), &subnet("aws_subnet.b"), Protocol::Any);
    insta::assert_snapshot!("unknown_transit_table", answer);
}
