//! What decides whether two ranges are in conflict: the network that each belongs to, and who has routes to both.

use crate::fabrics::{attach, check, plan, vpc};
use crate::{warren, write};
use serde_json::{Value, json};
use warren_cli::{FINDINGS, FINE};

/// A check of several files: name, resources.
fn files(files: &[(&str, &[(&str, Value)])], settings: &str) -> (u8, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "warren.toml", settings);
    let mut words: Vec<String> = ["check", "--config", &config].map(str::to_owned).to_vec();
    words.extend(files.iter().map(|(name, resources)| write(folder.path(), name, &plan(resources))));
    let (code, out, err) = warren(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(err, "");
    (code, out)
}

/// A plan that creates resources: address, known attributes, unknown attributes, and expressions of the configuration.
fn created(resources: &[(&str, Value, &[&str], Value)], more: &Value) -> String {
    let part = |address: &str| {
        let (kind, name) = address.split_once('.').expect("an address");
        (kind.to_owned(), name.to_owned())
    };
    let changes: Vec<Value> = resources
        .iter()
        .map(|(address, after, unknown, _)| {
            let (kind, name) = part(address);
            let unknown: serde_json::Map<String, Value> =
                unknown.iter().map(|key| ((*key).to_owned(), json!(true))).collect();
            json!({"address": address, "mode": "managed", "type": kind, "name": name,
                "change": {"actions": ["create"], "after": after, "after_unknown": unknown}})
        })
        .collect();
    let written: Vec<Value> = resources
        .iter()
        .map(|(address, _, _, expressions)| {
            let (kind, name) = part(address);
            json!({"address": address, "mode": "managed", "type": kind, "name": name, "provider_config_key": kind.split('_').next(),
                "expressions": expressions})
        })
        .collect();
    let mut tree = json!({"format_version": "1.2", "resource_changes": changes,
        "configuration": {"root_module": {"resources": written}}});
    for (key, value) in more.as_object().expect("an object") {
        match key.as_str() {
            "provider_config" => tree["configuration"][key] = value.clone(),
            _ => tree[key] = value.clone(),
        }
    }
    tree.to_string()
}

fn check_text(text: &str, options: &[&str]) -> (u8, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", text);
    let (code, out, err) = warren(&[&["check", &file], options].concat());
    assert_eq!(err, "");
    (code, out)
}

const FABRICS: &str = "[[fabric]]\nname = \"lab\"\nfiles = [\"*/lab.json\"]\n[[fabric]]\nname = \"prod\"\nfiles = [\"*/prod.json\"]\n";

/// A Shared VPC has its subnets in several files, and a network of Google Cloud has no range that shows its file.
#[test]
fn subnets_of_one_network_are_compared_across_fabrics() {
    let id = "projects/host/global/networks/shared";
    let subnet = |name: &str| json!({"id": name, "network": id, "ip_cidr_range": "10.0.0.0/24"});
    let network = ("google_compute_network.shared", json!({"id": id, "name": "shared"}));
    let host = [network, ("google_compute_subnetwork.host", subnet("host"))];
    let service = [("google_compute_subnetwork.service", subnet("service"))];
    let (code, out) = files(&[("prod.json", &host), ("lab.json", &service)], FABRICS);
    assert_eq!((code, out.matches("error[subnet-overlap]").count()), (FINDINGS, 1), "{out}");
    // The VPC is in no file.
    let subnet = |name: &str| json!({"id": name, "vpc_id": "vpc-gone", "cidr_block": "10.0.0.0/24"});
    let (one, other) = ([("aws_subnet.a", subnet("a"))], [("aws_subnet.b", subnet("b"))]);
    let (code, out) = files(&[("prod.json", &one), ("lab.json", &other)], FABRICS);
    assert_eq!((code, out.matches("error[subnet-overlap]").count()), (FINDINGS, 1), "{out}");
    // The network belongs to the fabric of the file that manages it, and so does a subnet in another file.
    let other = json!({"id": "projects/host/global/networks/other", "name": "other"});
    let far = json!({"id": "far", "network": "projects/host/global/networks/other", "ip_cidr_range": "10.0.0.0/24"});
    let prod =
        [host[0].clone(), ("google_compute_network.other", other), ("google_compute_subnetwork.far", far)];
    let (code, out) = files(&[("prod.json", &prod), ("lab.json", &service)], FABRICS);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("both belong to the fabric prod"), "{out}");
}

/// A data source that reads a network does not move it to the fabric of the reader.
#[test]
fn whoever_manages_a_network_decides_on_its_fabric() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = json!({"format_version": "1.2", "resource_changes": [], "prior_state": {"values": {"root_module": {
        "resources": [{"address": "data.aws_vpc.prod", "mode": "data", "type": "aws_vpc", "name": "prod",
            "values": {"id": "vpc-a", "cidr_block": "10.0.0.0/16"}}]}}}});
    let lab = write(folder.path(), "lab.json", &read.to_string());
    let prod = write(folder.path(), "prod.json", &plan(&[("aws_vpc.a", vpc("a")), ("aws_vpc.b", vpc("b"))]));
    let config = write(folder.path(), "warren.toml", FABRICS);
    let (code, out, _) = warren(&["check", &lab, &prod, "--config", &config]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("both belong to the fabric prod"), "{out}");
}

/// Traffic does not pass through a network from one peering to the next.
#[test]
fn peerings_are_not_transitive() {
    let peer = |one: &str, other: &str| {
        let values = json!({"id": format!("pcx-{one}{other}"), "vpc_id": format!("vpc-{one}"), "peer_vpc_id": format!("vpc-{other}")});
        (format!("aws_vpc_peering_connection.{one}{other}"), values)
    };
    let far = |name: &str, at: u8| {
        (
            format!("aws_vpc.{name}"),
            json!({"id": format!("vpc-{name}"), "cidr_block": format!("10.{at}.0.0/16")}),
        )
    };
    // a and b have one range: a - x - y - b.
    let chain = [far("x", 1), far("y", 2), peer("a", "x"), peer("x", "y"), peer("y", "b")];
    let all = |list: &[(String, Value)]| -> (u8, String) {
        check(&list.iter().map(|(name, value)| (name.as_str(), value.clone())).collect::<Vec<_>>(), &[])
    };
    let (code, out) = all(&chain);
    assert_eq!((code, out.contains("nothing in the files connects them")), (FINE, true), "{out}");
    // x has routes to both.
    let star = [far("x", 1), peer("a", "x"), peer("x", "b")];
    let (code, out) = all(&star);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(
        out.contains("connected by aws_vpc_peering_connection.ax and aws_vpc_peering_connection.xb"),
        "{out}"
    );
    // x has routes to a by a peering, and to b through a hub.
    let hub = |name: &str, gateway: &str| {
        (format!("aws_ec2_transit_gateway_vpc_attachment.{name}_{gateway}"), attach(name, gateway))
    };
    let (code, out) = all(&[far("x", 1), peer("a", "x"), hub("x", "tgw-1"), hub("b", "tgw-1")]);
    assert_eq!(code, FINDINGS, "{out}");
    // A network at two hubs does not connect them, but has routes to both.
    let (code, out) =
        all(&[far("x", 1), hub("a", "tgw-1"), hub("x", "tgw-1"), hub("x", "tgw-2"), hub("b", "tgw-2")]);
    assert_eq!(code, FINDINGS, "{out}");
    let two = [
        far("x", 1),
        far("y", 2),
        hub("a", "tgw-1"),
        hub("x", "tgw-1"),
        hub("x", "tgw-2"),
        hub("y", "tgw-2"),
        peer("y", "b"),
    ];
    let (code, out) = all(&two);
    assert_eq!(code, FINE, "{out}");
}

/// Of several paths, the finding names the shortest.
#[test]
fn the_shortest_path_is_named() {
    let hub = |name: &str, gateway: &str| json!({"id": format!("{name}-{gateway}"), "vpc_id": format!("vpc-{name}"), "transit_gateway_id": gateway});
    let peer = |one: &str, other: &str| json!({"id": format!("{one}-{other}"), "transit_gateway_id": one, "peer_transit_gateway_id": other});
    let (code, out) = check(
        &[
            ("aws_vpc.0", json!({"id": "vpc-0", "cidr_block": "10.9.0.0/16"})),
            ("aws_ec2_transit_gateway_vpc_attachment.0", hub("0", "tgw-1")),
            ("aws_ec2_transit_gateway_vpc_attachment.a", hub("a", "tgw-2")),
            ("aws_ec2_transit_gateway_vpc_attachment.b", hub("b", "tgw-3")),
            ("aws_ec2_transit_gateway_peering_attachment.12", peer("tgw-1", "tgw-2")),
            ("aws_ec2_transit_gateway_peering_attachment.13", peer("tgw-1", "tgw-3")),
            ("aws_ec2_transit_gateway_peering_attachment.23", peer("tgw-2", "tgw-3")),
        ],
        &[],
    );
    assert_eq!(code, FINDINGS, "{out}");
    let said = "connected by aws_ec2_transit_gateway_vpc_attachment.a, aws_ec2_transit_gateway_peering_attachment.23 and aws_ec2_transit_gateway_vpc_attachment.b";
    assert!(out.contains(said) || out.contains("aws_ec2_transit_gateway_vpc_attachment.b, aws_ec2_transit_gateway_peering_attachment.23 and aws_ec2_transit_gateway_vpc_attachment.a"), "{out}");
}

/// Hubs of one Virtual WAN, gateways that use those of a peer, and sites of VPNs and interconnects.
#[test]
fn links_of_azure_and_google_are_complete() {
    let network = |name: &str| {
        let values = json!({"id": format!("/net/{name}"), "name": name, "address_space": ["10.0.0.0/16"]});
        (format!("azurerm_virtual_network.{name}"), values)
    };
    let wan = |name: &str| {
        [
            (
                format!("azurerm_virtual_hub.{name}"),
                json!({"id": format!("h-{name}"), "virtual_wan_id": "w"}),
            ),
            (
                format!("azurerm_virtual_hub_connection.{name}"),
                json!({"id": format!("c-{name}"), "virtual_hub_id": format!("h-{name}"), "remote_virtual_network_id": format!("/net/{name}")}),
            ),
        ]
    };
    let gateway = |name: &str| {
        let subnet = format!("/net/{name}/subnets/GatewaySubnet");
        let values = json!({"id": format!("g-{name}"), "ip_configuration": [{"subnet_id": subnet}]});
        (format!("azurerm_virtual_network_gateway.{name}"), values)
    };
    let vpn = |name: &str, of: &str| {
        let values = json!({"id": format!("v-{name}"), "virtual_network_gateway_id": of, "local_network_gateway_id": "site"});
        (format!("azurerm_virtual_network_gateway_connection.{name}"), values)
    };
    let hub = (
        "azurerm_virtual_network.hub".to_owned(),
        json!({"id": "/net/hub", "name": "hub", "address_space": ["10.9.0.0/16"]}),
    );
    let spoke = json!({"id": "p", "virtual_network_name": "a", "remote_virtual_network_id": "/net/hub", "use_remote_gateways": true});
    let plain = |network: &str, at: u8| {
        let id = format!("projects/p/global/networks/{network}");
        [
            (format!("google_compute_network.{network}"), json!({"id": id, "name": network})),
            (
                format!("google_compute_subnetwork.{network}"),
                json!({"id": format!("s-{network}"), "network": id, "ip_cidr_range": format!("10.{at}.0.0/24")}),
            ),
            (
                format!("google_compute_router.{network}"),
                json!({"id": format!("r-{network}"), "name": network, "network": id}),
            ),
        ]
    };
    let attachment = |name: &str| {
        let values =
            json!({"id": format!("i-{name}"), "router": format!("r-{name}"), "interconnect": "circuit"});
        (format!("google_compute_interconnect_attachment.{name}"), values)
    };
    let azure = || vec![network("a"), network("b")];
    let google = || plain("a", 0).into_iter().chain(plain("b", 0)).collect::<Vec<_>>();
    for (mut all, links) in [
        (azure(), [wan("a"), wan("b")].concat()),
        (azure(), vec![gateway("a"), gateway("b"), vpn("a", "g-a"), vpn("b", "g-b")]),
        (
            [azure(), vec![hub]].concat(),
            vec![
                ("azurerm_virtual_network_peering.a".to_owned(), spoke),
                (
                    "azurerm_virtual_network_gateway.hub".to_owned(),
                    json!({"id": "g-hub", "ip_configuration": [{"subnet_id": "/net/hub/subnets/GatewaySubnet"}]}),
                ),
                vpn("hub", "g-hub"),
                gateway("b"),
                vpn("b", "g-b"),
            ],
        ),
        (google(), vec![attachment("a"), attachment("b")]),
    ] {
        let run = |all: &[(String, Value)]| {
            let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            check_text(&plan(&all), &[])
        };
        let (code, out) = run(&all);
        assert_eq!((code, out.contains("nothing in the files connects them")), (FINE, true), "{out}");
        all.extend(links);
        let (code, out) = run(&all);
        assert_eq!(code, FINDINGS, "{out}");
        assert!(out.contains("connected by "), "{out}");
    }
}

/// Something that connects a network to what the file does not show.
#[test]
fn a_link_with_a_hidden_end_is_open() {
    let id = "projects/p/global/networks/a";
    let subnet =
        |name: &str, network: &str| json!({"id": name, "network": network, "ip_cidr_range": "10.0.0.0/24"});
    let base: Vec<(&str, Value, &[&str], Value)> = vec![
        ("google_compute_network.a", json!({"id": id, "name": "a"}), &[], json!({})),
        (
            "google_compute_network.b",
            json!({"id": "projects/p/global/networks/b", "name": "b"}),
            &[],
            json!({}),
        ),
        ("google_compute_subnetwork.a", subnet("s-a", id), &[], json!({})),
        ("google_compute_subnetwork.b", subnet("s-b", "projects/p/global/networks/b"), &[], json!({})),
    ];
    let (code, out) = check_text(&created(&base, &json!({})), &[]);
    assert_eq!((code, out.contains("nothing in the files connects them")), (FINE, true), "{out}");
    // The tunnels of a spoke are known only after apply, and its network is not.
    let mut tree: Value = serde_json::from_str(&created(&base, &json!({}))).expect("JSON");
    tree["resource_changes"].as_array_mut().expect("a list").push(json!({
        "address": "google_network_connectivity_spoke.s", "mode": "managed", "type": "google_network_connectivity_spoke", "name": "s",
        "change": {"actions": ["create"], "after": {"hub": "hub", "linked_vpc_network": [{"uri": id}], "linked_vpn_tunnels": [{}]},
            "after_unknown": {"linked_vpn_tunnels": [{"uris": true}]}}}));
    let (_, out) = check_text(&tree.to_string(), &[]);
    assert!(
        out.contains("the plan does not show what google_network_connectivity_spoke.s connects"),
        "{out}"
    );
    // A sensitive end is an end.
    let mut tree: Value =
        serde_json::from_str(&plan(&[("aws_vpc.a", vpc("a")), ("aws_vpc.b", vpc("b"))])).expect("JSON");
    tree["resource_changes"].as_array_mut().expect("a list").push(json!({
        "address": "aws_ec2_transit_gateway_vpc_attachment.a", "mode": "managed", "type": "aws_ec2_transit_gateway_vpc_attachment", "name": "a",
        "change": {"actions": ["create"], "after": {"vpc_id": "vpc-a", "transit_gateway_id": "tgw-1"}, "after_unknown": {},
            "after_sensitive": {"transit_gateway_id": true}}}));
    let (_, out) = check_text(&tree.to_string(), &[]);
    assert!(
        out.contains("the plan does not show what aws_ec2_transit_gateway_vpc_attachment.a connects"),
        "{out}"
    );
}

/// A hub that a data source reads is not the one of the file, and a gateway without a VPC is attached to nothing.
#[test]
fn references_that_are_hidden_or_absent_make_no_link() {
    let refer = |to: &str| json!({"vpc_id": {"references": ["aws_vpc.a.id", "aws_vpc.a"]}, "transit_gateway_id": {"references": [to]}});
    let other = |to: &str| json!({"vpc_id": {"references": ["aws_vpc.b.id", "aws_vpc.b"]}, "transit_gateway_id": {"references": [to]}});
    let of = |one: &str| -> Vec<(&'static str, Value, &'static [&'static str], Value)> {
        vec![
            ("aws_vpc.a", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
            ("aws_vpc.b", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
            ("aws_ec2_transit_gateway.own", json!({}), &["id"], json!({})),
            (
                "aws_ec2_transit_gateway_vpc_attachment.a",
                json!({}),
                &["vpc_id", "transit_gateway_id"],
                refer(one),
            ),
            (
                "aws_ec2_transit_gateway_vpc_attachment.b",
                json!({}),
                &["vpc_id", "transit_gateway_id"],
                other("aws_ec2_transit_gateway.own"),
            ),
        ]
    };
    for (reference, expected) in [("local.gateway", FINDINGS), ("data.aws_ec2_transit_gateway.other", FINE)] {
        let (code, out) = check_text(&created(&of(reference), &json!({})), &[]);
        assert_eq!(code, expected, "{reference} {out}");
    }
    let gateway: Vec<(&str, Value, &[&str], Value)> = vec![
        ("aws_vpc.a", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
        ("aws_vpc.b", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
        ("aws_vpn_gateway.free", json!({}), &["id", "vpc_id"], json!({})),
        (
            "aws_vpn_gateway_attachment.a",
            json!({}),
            &["vpc_id", "vpn_gateway_id"],
            json!({"vpc_id": {"references": ["aws_vpc.a.id", "aws_vpc.a"]},
                "vpn_gateway_id": {"references": ["aws_vpn_gateway.free.id", "aws_vpn_gateway.free"]}}),
        ),
    ];
    let (_, out) = check_text(&created(&gateway, &json!({})), &[]);
    assert!(out.contains("nothing in the files connects them"), "{out}");
}

/// The fabric of the provider is a variable, that of an alias, or a tag in a state.
#[test]
fn the_fabric_of_the_provider_is_read() {
    let resources: Vec<(&str, Value, &[&str], Value)> = vec![
        ("warren_aws_vpc.a", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
        ("warren_aws_vpc.b", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
    ];
    let block = |fabric: Value| json!({"name": "warren", "expressions": {"fabric": fabric}});
    let of = |one: Value, other: Value, name: &str| {
        let more = json!({"variables": {"fabric": {"value": name}}, "provider_config": {"warren": block(one), "warren.other": block(other)}});
        let mut tree: Value = serde_json::from_str(&created(&resources, &more)).expect("JSON");
        tree["configuration"]["root_module"]["resources"][1]["provider_config_key"] = json!("warren.other");
        check_text(&tree.to_string(), &[])
    };
    let constant = |name: &str| json!({"constant_value": name});
    let variable = || json!({"references": ["var.fabric"]});
    for (one, other, expected) in [
        (constant("prod"), constant("prod"), FINDINGS),
        (constant("prod"), constant("lab"), FINE),
        (constant("prod"), variable(), FINDINGS),
        (constant("lab"), variable(), FINE),
        // It may be the same one.
        (constant("lab"), json!({"references": ["local.fabric"]}), FINDINGS),
    ] {
        let (code, out) = of(one.clone(), other.clone(), "prod");
        assert_eq!(code, expected, "{one} {other} {out}");
    }
    let tagged = |name: &str, fabric: &str| json!({"id": format!("vpc-{name}"), "cidr_block": "10.0.0.0/16", "tags_all": {"warren:fabric": fabric}});
    for (fabric, expected) in [("prod", FINDINGS), ("lab", FINE)] {
        let text =
            plan(&[("warren_aws_vpc.a", tagged("a", "prod")), ("warren_aws_vpc.b", tagged("b", fabric))]);
        let (code, out) = check_text(&text, &[]);
        assert_eq!(code, expected, "{out}");
        assert_eq!(out.contains("connected by the fabric prod of the provider"), code == FINDINGS, "{out}");
    }
}

/// The services of a cluster and the clients of a VPN belong to the network of the cluster and the VPN.
#[test]
fn ranges_of_services_and_clients_belong_to_a_network() {
    let eks = |vpc: &str| {
        json!({"id": "eks", "name": "eks", "vpc_config": [{"vpc_id": vpc, "subnet_ids": []}],
            "kubernetes_network_config": [{"service_ipv4_cidr": "10.0.0.0/20"}]})
    };
    let vpn = |vpc: &str| json!({"id": "vpn", "client_cidr_block": "10.0.0.0/20", "vpc_id": vpc});
    let own = |range: &str| ("aws_vpc.own", json!({"id": "vpc-own", "cidr_block": range}));
    for (address, values) in
        [("aws_eks_cluster.x", eks("vpc-own")), ("aws_ec2_client_vpn_endpoint.x", vpn("vpc-own"))]
    {
        let of = |more: &[(&str, Value)]| {
            let all = [&[(address, values.clone())][..], more].concat();
            check_text(&plan(&all), &[])
        };
        // Its own network.
        let (code, out) = of(&[own("10.0.0.0/16")]);
        assert_eq!((code, out.matches("error[reserved]").count()), (FINDINGS, 1), "{out}");
        assert!(out.contains("its own services or VPN clients"), "{out}");
        // A network that nothing connects, and a connected one.
        let (code, out) = of(&[own("10.9.0.0/16"), ("aws_vpc.a", vpc("a"))]);
        assert_eq!((code, out.matches("warning[reserved]").count()), (FINE, 1), "{out}");
        let peering = json!({"id": "pcx", "vpc_id": "vpc-own", "peer_vpc_id": "vpc-a"});
        let (code, out) =
            of(&[own("10.9.0.0/16"), ("aws_vpc.a", vpc("a")), ("aws_vpc_peering_connection.p", peering)]);
        assert_eq!((code, out.matches("error[reserved]").count()), (FINDINGS, 1), "{out}");
        assert!(out.contains("connected by aws_vpc_peering_connection.p"), "{out}");
    }
    // Before the apply, the subnets show the network.
    let subnets = json!({"references": ["aws_subnet.s.id", "aws_subnet.s"]});
    let resources: Vec<(&str, Value, &[&str], Value)> = vec![
        ("aws_vpc.own", json!({"cidr_block": "10.9.0.0/16"}), &["id"], json!({})),
        ("aws_vpc.a", json!({"cidr_block": "10.0.0.0/16"}), &["id"], json!({})),
        (
            "aws_subnet.s",
            json!({"cidr_block": "10.9.0.0/24"}),
            &["id", "vpc_id"],
            json!({"vpc_id": {"references": ["aws_vpc.own.id", "aws_vpc.own"]}}),
        ),
        (
            "aws_eks_cluster.x",
            json!({"vpc_config": [{}], "kubernetes_network_config": [{"service_ipv4_cidr": "10.0.0.0/20"}]}),
            &["id"],
            json!({"vpc_config": [{"subnet_ids": subnets}]}),
        ),
        (
            "aws_ec2_client_vpn_endpoint.x",
            json!({"client_cidr_block": "10.0.16.0/20"}),
            &["id", "vpc_id"],
            json!({}),
        ),
        (
            "aws_ec2_client_vpn_network_association.x",
            json!({}),
            &["id", "client_vpn_endpoint_id", "subnet_id"],
            json!({"client_vpn_endpoint_id": {"references": ["aws_ec2_client_vpn_endpoint.x.id", "aws_ec2_client_vpn_endpoint.x"]},
                "subnet_id": subnets}),
        ),
    ];
    let (code, out) = check_text(&created(&resources, &json!({})), &[]);
    assert_eq!((code, out.matches("warning[reserved]").count()), (FINE, 2), "{out}");
    assert!(out.contains("nothing in the files connects them"), "{out}");
}

/// A route to a site is in conflict with the networks behind the same gateway.
#[test]
fn routes_to_sites_are_judged_by_connection() {
    let vpn = json!({"id": "vpn-1", "customer_gateway_id": "cgw-1", "transit_gateway_id": "tgw-1"});
    let route = json!({"id": "r", "vpn_connection_id": "vpn-1", "destination_cidr_block": "10.0.1.0/24"});
    let one = |more: &[(&str, Value)], options: &[&str]| {
        let mut all = vec![
            ("aws_vpc.a", vpc("a")),
            ("aws_vpn_connection.v", vpn.clone()),
            ("aws_vpn_connection_route.r", route.clone()),
        ];
        all.extend(more.iter().cloned());
        check_text(&plan(&all), options)
    };
    let (code, out) = one(&[], &[]);
    assert_eq!((code, out.matches("warning[site-route]").count()), (FINE, 1), "{out}");
    assert!(out.contains("nothing in the files connects them"), "{out}");
    let (_, out) = one(&[], &["--unconnected", "ignore"]);
    assert!(!out.contains("[site-route]"), "{out}");
    let joined = [("aws_ec2_transit_gateway_vpc_attachment.a", attach("a", "tgw-1"))];
    let (code, out) = one(&joined, &[]);
    assert_eq!((code, out.matches("error[site-route]").count()), (FINDINGS, 1), "{out}");
    assert!(
        out.contains("connected by aws_vpn_connection.v and aws_ec2_transit_gateway_vpc_attachment.a"),
        "{out}"
    );
    // Declared fabrics.
    let site = [("aws_vpn_connection.v", vpn.clone()), ("aws_vpn_connection_route.r", route.clone())];
    let network = [("aws_vpc.a", vpc("a"))];
    let (code, out) = files(&[("prod.json", &network), ("lab.json", &site)], FABRICS);
    assert_eq!((code, out.contains("[site-route]")), (FINE, false), "{out}");
}

/// Without its network, a subnet may be in that of the other one.
#[test]
fn subnets_without_a_known_network_are_not_called_apart() {
    let hidden = json!({"vpc_id": {"references": ["local.vpc_id"]}});
    let subnet = |address| -> (&'static str, Value, &'static [&'static str], Value) {
        (address, json!({"cidr_block": "10.0.0.0/24"}), &["id", "vpc_id"], hidden.clone())
    };
    let both = created(&[subnet("aws_subnet.a"), subnet("aws_subnet.b")], &json!({}));
    let (code, out) = check_text(&both, &[]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("the plan does not show the network of aws_subnet.a and aws_subnet.b"), "{out}");
    assert!(!out.contains("nothing in the files connects them"), "{out}");
    // In two files, nobody knows.
    let folder = tempfile::tempdir().expect("a folder");
    let one = write(folder.path(), "one.json", &created(&[subnet("aws_subnet.a")], &json!({})));
    let other = write(folder.path(), "other.json", &created(&[subnet("aws_subnet.b")], &json!({})));
    let (code, out, _) = warren(&["check", &one, &other]);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("warning[overlap]") && out.contains("does not show the network of"), "{out}");
}

/// The settings decide between networks, not inside one, and the text follows the connection.
#[test]
fn a_network_is_not_connected_to_itself() {
    let more = json!({"id": "assoc", "vpc_id": "vpc-c", "cidr_block": "10.7.0.0/17"});
    let own = json!({"id": "vpc-c", "cidr_block": "10.7.0.0/16"});
    let all = [("aws_vpc.c", own), ("aws_vpc_ipv4_cidr_block_association.c", more)];
    for level in ["ignore", "warning"] {
        let (code, out) = check_text(&plan(&all), &["--connected", level]);
        assert_eq!((code, out.contains("both are ranges of the same network")), (FINDINGS, true), "{out}");
    }
    let peering =
        [("aws_vpc_peering_connection.ab", json!({"id": "pcx", "vpc_id": "vpc-a", "peer_vpc_id": "vpc-b"}))];
    let (_, out) = check(&peering, &["--connected", "warning"]);
    assert!(
        out.contains("warning[overlap]") && out.contains("a fabric can route an address to one network only"),
        "{out}"
    );
    assert!(!out.contains("cannot be connected later"), "{out}");
    let (_, out) = check(&[], &["--unconnected", "error"]);
    assert!(out.contains("error[overlap]") && out.contains("so they cannot be connected later"), "{out}");
}

/// The address plan of another team does not move, and a range for an entry is one that its cloud allows.
#[test]
fn entries_of_other_teams_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let wide = json!({"id": "vpc-w", "cidr_block": "10.0.0.0/16"});
    let narrow = |name: &str, at: u8| json!({"id": format!("s-{name}"), "vpc_id": "vpc-w", "cidr_block": format!("10.0.{at}.0/24")});
    let subnets: Vec<(String, Value)> =
        (0..6).map(|at| (format!("aws_subnet.s{at}"), narrow(&at.to_string(), at))).collect();
    let mut all = vec![("aws_vpc.w", wide)];
    all.extend(subnets.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let file = write(folder.path(), "plan.json", &plan(&all));
    let entry = write(folder.path(), "other.yaml", "owner: other\nnetworks: {n: {cidr: 10.0.0.0/20}}");
    let (code, out, _) = warren(&["check", &file, &entry]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("hint: use 10.1.0.0/16"), "{out}");
    // 172.17.0.0/16 is Docker's bridge, which the cloud advises against.
    let text =
        |owner: &str| format!("owner: {owner}\nnetworks: {{{owner}: {{cidr: 172.16.0.0/16, cloud: aws}}}}");
    let one = write(folder.path(), "a.yaml", &text("a"));
    let other = write(folder.path(), "b.yaml", &text("b"));
    let (_, out, _) = warren(&["check", &one, &other]);
    assert!(out.contains("hint: use 172.18.0.0/16"), "{out}");
}
