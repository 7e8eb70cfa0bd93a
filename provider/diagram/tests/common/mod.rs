//! Plans of any size, in the words of hashicorp/aws: a hub with a transit gateway, and spokes.

use serde_json::{Map, Value, json};
use warren_model::topology::Plan;
use warren_planfile::{Source, read_topology};

/// Reads a plan.
pub(crate) fn read(name: &str, text: &str) -> Plan {
    match read_topology(&Source { name, text, owner: None }) {
        Ok(plan) => plan,
        Err(error) => panic!("{error}"),
    }
}

/// One entry of `resource_changes`.
pub(crate) fn change(address: &str, action: &str, values: Value) -> Value {
    let (kind, name) = address.split_once('.').expect("an address");
    let name = name.split('[').next().unwrap_or(name);
    let actions = if action == "replace" { json!(["delete", "create"]) } else { json!([action]) };
    let before = if action == "create" { Value::Null } else { values.clone() };
    let after = if action == "delete" { Value::Null } else { values };
    json!({"address": address, "mode": "managed", "type": kind, "name": name,
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": {},
            "before_sensitive": {}, "after_sensitive": {}}})
}

/// A plan of these changes.
pub(crate) fn plan(changes: Vec<Value>) -> String {
    let mut plan = Map::new();
    plan.insert("format_version".into(), json!("1.2"));
    plan.insert("resource_changes".into(), Value::Array(changes));
    Value::Object(plan).to_string()
}

/// `count` networks, the hub among them. With `changes` some are made, changed, replaced and deleted.
pub(crate) fn spokes(count: usize, changes: bool) -> String {
    let mut all = vec![
        change(
            "aws_vpc.hub",
            "no-op",
            json!({"id": "vpc-hub", "cidr_block": "10.0.0.0/16", "tags": {"Name": "hub"}, "region": "eu-central-1"}),
        ),
        change(
            "aws_internet_gateway.hub",
            "no-op",
            json!({"id": "igw-1", "vpc_id": "vpc-hub", "tags": {"Name": "hub"}}),
        ),
        change("aws_ec2_transit_gateway.hub", "no-op", json!({"id": "tgw-1", "tags": {"Name": "core"}})),
        change(
            "aws_ec2_transit_gateway_vpc_attachment.hub",
            "no-op",
            json!({"id": "att-hub", "transit_gateway_id": "tgw-1", "vpc_id": "vpc-hub", "subnet_ids": ["subnet-hub-1"]}),
        ),
        change(
            "aws_nat_gateway.hub",
            "no-op",
            json!({"id": "nat-1", "subnet_id": "subnet-hub-0", "tags": {"Name": "out"}}),
        ),
        change(
            "aws_vpc_endpoint.s3",
            "no-op",
            json!({"id": "vpce-1", "vpc_id": "vpc-hub", "service_name": "com.amazonaws.eu-central-1.s3", "vpc_endpoint_type": "Gateway", "route_table_ids": ["rtb-hub-private"]}),
        ),
        change(
            "aws_route_table.public",
            "no-op",
            json!({"id": "rtb-hub-public", "vpc_id": "vpc-hub", "tags": {"Name": "public"}, "route": [
            {"cidr_block": "0.0.0.0/0", "gateway_id": "igw-1"}, {"cidr_block": "10.0.0.0/8", "transit_gateway_id": "tgw-1"}]}),
        ),
        change(
            "aws_route_table.private",
            "no-op",
            json!({"id": "rtb-hub-private", "vpc_id": "vpc-hub", "tags": {"Name": "private"}, "route": [
            {"cidr_block": "0.0.0.0/0", "nat_gateway_id": "nat-1"}, {"cidr_block": "10.0.0.0/8", "transit_gateway_id": "tgw-1"}]}),
        ),
        change(
            "aws_route_table_association.a",
            "no-op",
            json!({"subnet_id": "subnet-hub-0", "route_table_id": "rtb-hub-public"}),
        ),
        change(
            "aws_route_table_association.b",
            "no-op",
            json!({"subnet_id": "subnet-hub-1", "route_table_id": "rtb-hub-private"}),
        ),
    ];
    for (at, name) in ["public", "private"].iter().enumerate() {
        all.push(change(&format!("aws_subnet.hub[{at}]"), "no-op", json!({"id": format!("subnet-hub-{at}"), "vpc_id": "vpc-hub",
            "cidr_block": format!("10.0.{at}.0/24"), "availability_zone": "eu-central-1a", "tags": {"Name": name}, "map_public_ip_on_launch": false})));
    }
    for at in 1..count {
        let action = match at % 9 {
            _ if !changes => "no-op",
            2 => "create",
            5 => "update",
            7 => "replace",
            8 => "delete",
            _ => "no-op",
        };
        let words = ["train", "serve", "data", "build", "eval"];
        let name = format!("{}-{at:03}", words[at % words.len()]);
        // A /20 each, from 10.1.0.0 on; beyond 4,000 they overlap, which pictures do not mind.
        let base = 0x0a01_0000_u32 + ((at as u32 - 1) % 4000) * 4096;
        let cidr = |offset: u32, prefix: u8| format!("{}/{prefix}", std::net::Ipv4Addr::from(base + offset));
        let vpc = format!("vpc-{at}");
        all.push(change(
            &format!("aws_vpc.spoke[{at}]"),
            action,
            json!({"id": vpc, "cidr_block": cidr(0, 20), "tags": {"Name": name}}),
        ));
        for zone in 0..1 + at % 3 {
            let subnet = format!("subnet-{at}-{zone}");
            all.push(change(&format!("aws_subnet.spoke[\"{at}-{zone}\"]"), action, json!({"id": subnet, "vpc_id": vpc,
                "cidr_block": cidr(zone as u32 * 1024, 22), "availability_zone": format!("eu-central-1{}", ["a", "b", "c"][zone]),
                "tags": {"Name": format!("{name}-{zone}")}})));
            all.push(change(
                &format!("aws_route_table_association.spoke[\"{at}-{zone}\"]"),
                action,
                json!({"subnet_id": subnet, "route_table_id": format!("rtb-{at}")}),
            ));
        }
        all.push(change(
            &format!("aws_route_table.spoke[{at}]"),
            action,
            json!({"id": format!("rtb-{at}"), "vpc_id": vpc,
            "tags": {"Name": name}, "route": [{"cidr_block": "10.0.0.0/16", "transit_gateway_id": "tgw-1"}]}),
        ));
        all.push(change(
            &format!("aws_ec2_transit_gateway_vpc_attachment.spoke[{at}]"),
            action,
            json!({"id": format!("att-{at}"),
            "transit_gateway_id": "tgw-1", "vpc_id": vpc, "subnet_ids": [format!("subnet-{at}-0")]}),
        ));
        // Some also talk to a neighbour directly.
        if at % 7 == 3 && at + 1 < count {
            all.push(change(
                &format!("aws_vpc_peering_connection.p[{at}]"),
                "no-op",
                json!({"id": format!("pcx-{at}"), "vpc_id": vpc,
                "peer_vpc_id": format!("vpc-{}", at + 1), "tags": {"Name": format!("peer-{at}")}}),
            ));
        }
    }
    plan(all)
}
