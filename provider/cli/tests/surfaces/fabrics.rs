//! How severe an overlap is: by what connects the networks, and by the fabrics that a team declares.

use crate::{warren, write};
use serde_json::{Value, json};
use std::path::Path;
use warren_cli::{FINDINGS, FINE, UNUSABLE};

/// A plan of resources that exist: address and attributes.
pub(crate) fn plan(resources: &[(&str, Value)]) -> String {
    let change = |(address, after): &(&str, Value)| {
        let (kind, name) = address.split_once('.').expect("an address");
        json!({"address": address, "mode": "managed", "type": kind, "name": name,
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": ["no-op"], "before": after, "after": after, "after_unknown": {}}})
    };
    let changes: Vec<Value> = resources.iter().map(change).collect();
    json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}

pub(crate) fn vpc(name: &str) -> Value {
    json!({"id": format!("vpc-{name}"), "cidr_block": "10.0.0.0/16", "tags": {"fabric": name}})
}

/// The check of VPCs `a` and `b` with one range, and of what may connect them.
pub(crate) fn check(more: &[(&str, Value)], options: &[&str]) -> (u8, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut resources = vec![("aws_vpc.a", vpc("a")), ("aws_vpc.b", vpc("b"))];
    resources.extend(more.iter().cloned());
    let file = write(folder.path(), "plan.json", &plan(&resources));
    let (code, out, err) = warren(&[&["check", &file], options].concat());
    assert_eq!(err, "");
    (code, out)
}

pub(crate) fn attach(name: &str, gateway: &str) -> Value {
    json!({"id": format!("attach-{name}"), "vpc_id": format!("vpc-{name}"), "transit_gateway_id": gateway})
}

#[test]
fn networks_that_nothing_connects_are_a_warning() {
    let (code, out) = check(&[], &[]);
    assert_eq!(code, FINE, "{out}");
    assert!(
        out.starts_with("warning[overlap]: ") && out.contains("nothing in the files connects them"),
        "{out}"
    );
    assert_eq!(check(&[], &["--strict"]).0, FINDINGS);
    assert_eq!(check(&[], &["--unconnected", "error"]).0, FINDINGS);
    let (code, out) = check(&[], &["--unconnected", "ignore", "--strict"]);
    assert_eq!(code, FINE, "{out}");
    assert!(!out.contains("[overlap]") && out.contains("nothing connects are ignored"), "{out}");
}

#[test]
fn connected_networks_are_an_error_that_names_the_connection() {
    let peering = json!({"id": "pcx-1", "vpc_id": "vpc-a", "peer_vpc_id": "vpc-b"});
    let hub = ("aws_ec2_transit_gateway.hub", json!({"id": "tgw-1"}));
    let vpn = |name: &str| json!({"id": format!("vpn-{name}"), "customer_gateway_id": "cgw-1", "vpn_gateway_id": format!("vgw-{name}")});
    let gateway = |name: &str| json!({"id": format!("vgw-{name}"), "vpc_id": format!("vpc-{name}")});
    let table: &[(&[(&str, Value)], &str)] = &[
        (&[("aws_vpc_peering_connection.ab", peering)], "connected by aws_vpc_peering_connection.ab\n"),
        (
            &[
                hub.clone(),
                ("aws_ec2_transit_gateway_vpc_attachment.a", attach("a", "tgw-1")),
                ("aws_ec2_transit_gateway_vpc_attachment.b", attach("b", "tgw-1")),
            ],
            "connected by aws_ec2_transit_gateway_vpc_attachment.a and aws_ec2_transit_gateway_vpc_attachment.b\n",
        ),
        (
            &[
                ("aws_ec2_transit_gateway_vpc_attachment.a", attach("a", "tgw-1")),
                ("aws_ec2_transit_gateway_vpc_attachment.b", attach("b", "tgw-2")),
                (
                    "aws_ec2_transit_gateway_peering_attachment.p",
                    json!({"id": "p", "transit_gateway_id": "tgw-1", "peer_transit_gateway_id": "tgw-2"}),
                ),
            ],
            "aws_ec2_transit_gateway_peering_attachment.p and aws_ec2_transit_gateway_vpc_attachment.b\n",
        ),
        (
            &[
                ("aws_vpn_gateway.a", gateway("a")),
                ("aws_vpn_gateway.b", gateway("b")),
                ("aws_vpn_connection.a", vpn("a")),
                ("aws_vpn_connection.b", vpn("b")),
            ],
            "connected by aws_vpn_gateway.a, aws_vpn_connection.a, aws_vpn_connection.b and 1 more\n",
        ),
    ];
    for (more, said) in table {
        let (code, out) = check(more, &[]);
        assert_eq!(code, FINDINGS, "{out}");
        assert!(out.contains("error[overlap]: ") && out.contains(said), "{said}\n{out}");
        let (code, out) = check(more, &["--connected", "warning"]);
        // A peering of overlapping networks is an error by a rule of its own.
        assert_eq!(code, if out.contains("error[peering]") { FINDINGS } else { FINE }, "{out}");
        assert!(out.contains("warning[overlap]: "), "{out}");
    }
    // Two transit gateways connect nothing.
    let apart = [
        hub,
        ("aws_ec2_transit_gateway_vpc_attachment.a", attach("a", "tgw-1")),
        ("aws_ec2_transit_gateway_vpc_attachment.b", attach("b", "tgw-2")),
    ];
    let (code, out) = check(&apart, &[]);
    assert_eq!((code, out.contains("nothing in the files connects them")), (FINE, true), "{out}");
}

/// Links of Google Cloud and Azure, and of AWS through hubs of other services.
#[test]
fn every_cloud_has_its_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let google = |name: &str| {
        let id = format!("projects/p/global/networks/{name}");
        [
            (format!("google_compute_network.{name}"), json!({"id": id, "name": name})),
            (
                format!("google_compute_subnetwork.{name}"),
                json!({"id": format!("s-{name}"), "network": id, "ip_cidr_range": "10.0.0.0/24"}),
            ),
        ]
    };
    let aws = |name: &str| [(format!("aws_vpc.{name}"), vpc(name))];
    let azure = |name: &str| {
        let values = json!({"id": format!("vnet-{name}"), "name": name, "address_space": ["10.0.0.0/16"]});
        [(format!("azurerm_virtual_network.{name}"), values)]
    };
    let network = |name: &str| format!("projects/p/global/networks/{name}");
    type Links = Vec<(&'static str, Value)>;
    let mut table: Vec<(Vec<(String, Value)>, Links)> = vec![
        (
            google("a").into_iter().chain(google("b")).collect(),
            vec![
                (
                    "google_network_connectivity_spoke.a",
                    json!({"id": "sa", "hub": "hub", "linked_vpc_network": [{"uri": network("a")}]}),
                ),
                (
                    "google_network_connectivity_spoke.b",
                    json!({"id": "sb", "hub": "hub", "linked_vpc_network": [{"uri": network("b")}]}),
                ),
            ],
        ),
        (
            google("a").into_iter().chain(google("b")).collect(),
            vec![
                ("google_compute_ha_vpn_gateway.a", json!({"id": "ga", "network": network("a")})),
                ("google_compute_ha_vpn_gateway.b", json!({"id": "gb", "network": network("b")})),
                (
                    "google_compute_vpn_tunnel.t",
                    json!({"id": "t", "vpn_gateway": "ga", "peer_gcp_gateway": "gb"}),
                ),
            ],
        ),
        (
            azure("a").into_iter().chain(azure("b")).collect(),
            vec![
                (
                    "azurerm_virtual_hub_connection.a",
                    json!({"id": "ca", "virtual_hub_id": "h", "remote_virtual_network_id": "vnet-a"}),
                ),
                (
                    "azurerm_virtual_hub_connection.b",
                    json!({"id": "cb", "virtual_hub_id": "h", "remote_virtual_network_id": "vnet-b"}),
                ),
            ],
        ),
        (
            aws("a").into_iter().chain(aws("b")).collect(),
            vec![
                (
                    "aws_networkmanager_vpc_attachment.a",
                    json!({"id": "na", "core_network_id": "n", "vpc_arn": "arn:aws:ec2:eu-west-1:1:vpc/vpc-a"}),
                ),
                (
                    "aws_networkmanager_vpc_attachment.b",
                    json!({"id": "nb", "core_network_id": "n", "vpc_arn": "arn:aws:ec2:eu-west-1:1:vpc/vpc-b"}),
                ),
            ],
        ),
        (
            aws("a").into_iter().chain(aws("b")).collect(),
            vec![
                ("aws_vpn_gateway.a", json!({"id": "vgw-a", "vpc_id": "vpc-a"})),
                (
                    "aws_dx_gateway_association.a",
                    json!({"id": "da", "dx_gateway_id": "dx", "associated_gateway_id": "vgw-a"}),
                ),
                ("aws_ec2_transit_gateway_vpc_attachment.b", attach("b", "tgw-1")),
                (
                    "aws_dx_gateway_association.b",
                    json!({"id": "db", "dx_gateway_id": "dx", "associated_gateway_id": "tgw-1"}),
                ),
            ],
        ),
    ];
    // A VPN between two clouds, which each side shows by an address of the other one.
    let vpn = |site: &str, tunnel: &str| {
        vec![
            ("aws_vpn_gateway.a", json!({"id": "vgw-a", "vpc_id": "vpc-a"})),
            ("aws_customer_gateway.b", json!({"id": "cgw-b", "ip_address": site})),
            (
                "aws_vpn_connection.b",
                json!({"id": "vpn-b", "vpn_gateway_id": "vgw-a", "customer_gateway_id": "cgw-b",
                    "tunnel1_address": "198.51.100.1", "tunnel2_address": "198.51.100.2"}),
            ),
            (
                "google_compute_ha_vpn_gateway.b",
                json!({"id": "gb", "network": network("b"), "vpn_interfaces": [{"id": 0, "ip_address": "192.0.2.1"}]}),
            ),
            (
                "google_compute_external_vpn_gateway.a",
                json!({"id": "ea", "interface": [{"id": 0, "ip_address": tunnel}]}),
            ),
            (
                "google_compute_vpn_tunnel.a",
                json!({"id": "ta", "vpn_gateway": "gb", "peer_external_gateway": "ea"}),
            ),
        ]
    };
    let pair = || -> Vec<(String, Value)> { aws("a").into_iter().chain(google("b")).collect() };
    table.push((pair(), vpn("192.0.2.1", "203.0.113.1")));
    table.push((pair(), vpn("203.0.113.1", "198.51.100.2")));
    // Two VPNs to one address lead to one site, also from two clouds.
    let site = |name: &str| {
        let address = json!({"id": format!("cgw-{name}"), "ip_address": "203.0.113.7"});
        json!([
            {"id": format!("vgw-{name}"), "vpc_id": format!("vpc-{name}")},
            address,
            {"id": format!("vpn-{name}"), "vpn_gateway_id": format!("vgw-{name}"), "customer_gateway_id": format!("cgw-{name}")},
        ])
    };
    let (one, other) = (site("a"), site("b"));
    let ours = [
        ("aws_vpn_gateway.a", one[0].clone()),
        ("aws_customer_gateway.a", one[1].clone()),
        ("aws_vpn_connection.a", one[2].clone()),
    ];
    let theirs = [
        ("aws_vpn_gateway.b", other[0].clone()),
        ("aws_customer_gateway.b", other[1].clone()),
        ("aws_vpn_connection.b", other[2].clone()),
    ];
    table
        .push((aws("a").into_iter().chain(aws("b")).collect(), ours.iter().cloned().chain(theirs).collect()));
    let google_side = [
        ("google_compute_vpn_gateway.b", json!({"id": "gb", "network": network("b")})),
        (
            "google_compute_vpn_tunnel.b",
            json!({"id": "tb", "target_vpn_gateway": "gb", "peer_ip": "203.0.113.7"}),
        ),
    ];
    table.push((pair(), ours.into_iter().chain(google_side).collect()));
    for (networks, links) in table {
        let mut all: Vec<(&str, Value)> =
            networks.iter().map(|(address, values)| (address.as_str(), values.clone())).collect();
        let apart = write(folder.path(), "plan.json", &plan(&all));
        assert!(warren(&["check", &apart]).1.contains("nothing in the files connects them"));
        let last = links[links.len() - 1].0;
        all.extend(links);
        let (_, out, _) = warren(&["check", &write(folder.path(), "plan.json", &plan(&all))]);
        assert!(out.contains("error[overlap]") && out.contains("   = connected by "), "{last}: {out}");
    }
}

/// A link whose other end is known only after apply neither connects nor separates.
#[test]
fn a_link_to_something_unknown_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = plan(&[("aws_vpc.a", vpc("a")), ("aws_vpc.b", vpc("b"))]);
    let mut tree: Value = serde_json::from_str(&text).expect("JSON");
    tree["resource_changes"].as_array_mut().expect("a list").push(json!({
        "address": "aws_vpc_peering_connection.x", "mode": "managed", "type": "aws_vpc_peering_connection", "name": "x",
        "change": {"actions": ["create"], "after": {"vpc_id": "vpc-a"}, "after_unknown": {"peer_vpc_id": true}}}));
    let file = write(folder.path(), "plan.json", &tree.to_string());
    let (code, out, _) = warren(&["check", &file]);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("the plan does not show what aws_vpc_peering_connection.x connects"), "{out}");
}

/// The provider refuses overlaps of the networks that it manages, and so does the check.
#[test]
fn networks_of_the_provider_are_one_fabric() {
    let warren_vpc = |name: &str| json!({"id": format!("vpc-{name}"), "cidr_block": "10.0.0.0/16"});
    let folder = tempfile::tempdir().expect("a folder");
    let one = write(folder.path(), "a.json", &plan(&[("warren_aws_vpc.a", warren_vpc("a"))]));
    let other = write(folder.path(), "b.json", &plan(&[("warren_aws_vpc.b", warren_vpc("b"))]));
    let (code, out, _) = warren(&["check", &one, &other]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("connected by the provider `warren`"), "{out}");
}

/// Whoever names an address plan or claims wants to be compared with them.
#[test]
fn entries_of_address_plans_are_always_in_the_fabric() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&[("aws_vpc.a", vpc("a"))]));
    let network = write(folder.path(), "network.yaml", "networks: {n: {cidr: 10.0.0.0/12}}");
    let (code, out, _) = warren(&["check", &file, &network, "--unconnected", "ignore"]);
    assert_eq!((code, out.matches("error[foreign-reservation]").count()), (FINDINGS, 1), "{out}");
    // Two networks inside one reservation are in its fabric.
    let two = write(folder.path(), "plan.json", &plan(&[("aws_vpc.a", vpc("a")), ("aws_vpc.b", vpc("b"))]));
    let owned = |file: &str| format!("team={file}");
    let (code, out, _) = warren(&["check", "--owner", &owned(&two), "--owner", &owned(&network)]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("an address plan reserves the range of both"), "{out}");
}

/// A check of two files, `a` with VPC `a` and `b` with VPC `b`, and settings.
fn declared(folder: &Path, settings: &str, more: &[(&str, Value)]) -> (u8, String, String) {
    let mut ours = vec![("aws_vpc.a", vpc("a"))];
    ours.extend(more.iter().cloned());
    let one = write(folder, "prod/plan.json", &plan(&ours));
    let other = write(folder, "lab/plan.json", &plan(&[("aws_vpc.b", vpc("b"))]));
    let config = write(folder, "warren.toml", settings);
    warren(&["check", &one, &other, "--config", &config])
}

#[test]
fn fabrics_are_declared_by_file_tag_and_connectivity() {
    let folder = tempfile::tempdir().expect("a folder");
    let fabric = |name: &str, by: &str| format!("[[fabric]]\nname = \"{name}\"\n{by}\n");
    let attached = [("aws_ec2_transit_gateway_vpc_attachment.a", attach("a", "tgw-1"))];
    for (prod, lab) in [
        ("files = [\"*/prod/*\"]", "files = [\"*/lab/*\"]"),
        ("tags = { fabric = \"a\" }", "tags = { fabric = \"b*\" }"),
        ("connected_to = [\"tgw-1\"]", "connected_to = [\"aws_vpc.b\"]"),
        ("connected_to = [\"aws_ec2_transit_gateway_vpc_attachment.*\"]", "tags = { fabric = \"b\" }"),
    ] {
        let (code, out, err) =
            declared(folder.path(), &(fabric("prod", prod) + &fabric("lab", lab)), &attached);
        assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
        assert!(!out.contains("[overlap]"), "{out}");
        assert!(out.contains("networks of different fabrics (prod, lab) were not compared"), "{out}");
        // The first one counts.
        let both = format!("{}\n{}", fabric("all", "files = [\"*\"]"), fabric("prod", prod));
        let (code, out, _) = declared(folder.path(), &both, &attached);
        assert_eq!(code, FINDINGS, "{out}");
        assert!(out.contains("error[overlap]") && out.contains("both belong to the fabric all"), "{out}");
    }
    let (code, out, _) = declared(folder.path(), &fabric("prod", "files = [\"*/prod/*\"]"), &[]);
    assert_eq!(code, FINE);
    assert!(out.contains("warning[overlap]"), "an undeclared network is not in another fabric: {out}");
    let (_, out, _) = declared(folder.path(), &fabric("gone", "files = [\"old/*\"]"), &[]);
    assert!(out.contains("the fabric gone (") && out.contains("warren.toml:2:8) matches nothing"), "{out}");
}

/// The fabric that an address plan names is the declared one.
#[test]
fn address_plans_name_their_fabric() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = |fabric: &str| format!("fabric: {fabric}\nnetworks: {{n: {{cidr: 10.0.0.0/16}}}}");
    let one = write(folder.path(), "a.yaml", &plan("prod"));
    let other = write(folder.path(), "b.yaml", &plan("lab"));
    let (code, out, _) = warren(&["check", &one, &other]);
    assert_eq!(code, FINDINGS);
    assert!(out.contains("belong to different fabrics (lab, prod) and were checked as one"), "{out}");
    let config =
        write(folder.path(), "warren.toml", "[[fabric]]\nname = \"prod\"\n[[fabric]]\nname = \"lab\"\n");
    let (code, out, _) = warren(&["check", &one, &other, "--config", &config]);
    assert_eq!(code, FINE, "{out}");
    assert!(!out.contains("checked as one"), "{out}");
}

#[test]
fn the_settings_of_overlaps_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, _) = declared(folder.path(), "[overlap]\nunconnected = \"error\"\n", &[]);
    assert_eq!(code, FINDINGS, "{out}");
    for (settings, said) in [
        ("[overlap]\nunconnected = \"off\"\n", "warren.toml:2:15: unknown severity `off`; write \"error\""),
        (
            "[overlap]\nunconected = \"error\"\n",
            "warren.toml:2:1: unknown key `unconected`; did you mean `unconnected`?",
        ),
        ("[[fabric]]\nfiles = [\"a\"]\n", "warren.toml:1:1: `name` is missing; name the fabric"),
        ("[[fabric]]\nname = \" \"\n", "warren.toml:2:8: `name` is empty"),
        (
            "[[fabric]]\nname = \"a\"\n[[fabric]]\nname = \"a\"\n",
            "warren.toml:4:8: the fabric `a` is declared twice",
        ),
        (
            "[[fabric]]\nname = \"a\"\nfile = [\"x\"]\n",
            "warren.toml:3:1: unknown key `file`; did you mean `files`?",
        ),
        (
            "[[fabric]]\nname = \"a\"\nfiles = \"x\"\n",
            "warren.toml:3:9: the value has another type; write a list, such as [\"a\"]\n",
        ),
        (
            "[[fabric]]\nname = \"a\"\ntags = \"x\"\n",
            "warren.toml:3:8: the value has another type; write a table, such as {",
        ),
        ("overlap = 1\n", "warren.toml:1:11: the value has another type; write a table\n"),
        ("[[ignore]]\nrule = 1\n", "warren.toml:2:8: the value has another type; write a string\n"),
    ] {
        let (code, out, err) = declared(folder.path(), settings, &[]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""), "{settings}");
        assert!(err.contains(said), "{said}\n{err}");
    }
}
