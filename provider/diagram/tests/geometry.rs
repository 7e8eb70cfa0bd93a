//! Nothing overlaps, texts lie in their boxes, links go around boxes, and every text can be read.

mod common;
mod sound;

use proptest::prelude::*;
use serde_json::json;
use sound::{sound, texts};
use warren_diagram::theme::{DARK, LIGHT, Palette};
use warren_diagram::{Detail, Line, LinkKind, Options, Scene, scene, space_scene};
use warren_model::topology::Plan;
use warren_model::verdict::{Overlap, Side, Verdict};

fn picture(plan: &Plan) -> Scene {
    scene(plan, &Options { diff: true, ..Options::default() })
}

#[test]
fn pictures_of_every_size() {
    for count in [1, 2, 3, 8, 30, 41, 300, 450, 2000] {
        for changes in [false, true] {
            let plan = common::read("plan.json", &common::spokes(count, changes));
            for detail in [Detail::Auto, Detail::Full, Detail::Compact, Detail::Grouped] {
                if count <= 300 || detail == Detail::Auto {
                    sound(&scene(&plan, &Options { diff: true, detail, ..Options::default() }));
                }
            }
            sound(&space_scene(&plan, &Options { diff: true, ..Options::default() }));
        }
    }
}

#[test]
fn pictures_of_real_plans() {
    for text in [
        include_str!("fixtures/example.json"),
        include_str!("fixtures/change.json"),
        include_str!("fixtures/state.json"),
        include_str!("fixtures/clouds.json"),
        include_str!("fixtures/overlay.json"),
    ] {
        let plan = common::read("plan.json", text);
        sound(&picture(&plan));
        sound(&space_scene(&plan, &Options::default()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Any names, any links.
    #[test]
    fn pictures_of_anything(
        names in prop::collection::vec("\\PC{0,40}", 1..14),
        links in prop::collection::vec((0_usize..14, 0_usize..14, 0_usize..5), 0..24),
    ) {
        let actions = ["no-op", "create", "update", "replace", "delete"];
        let mut all = vec![
            common::change("aws_ec2_transit_gateway.a", "create", json!({"id": "tgw-a"})),
            common::change("aws_ec2_transit_gateway.b", "no-op", json!({"id": "tgw-b"})),
        ];
        for (at, name) in names.iter().enumerate() {
            let action = actions[at % 5];
            all.push(common::change(&format!("aws_vpc.n[{at}]"), action,
                json!({"id": format!("vpc-{at}"), "cidr_block": format!("10.{at}.0.0/16"), "tags": {"Name": name}})));
            for part in 0..at % 4 {
                all.push(common::change(&format!("aws_subnet.n[\"{at}-{part}\"]"), action, json!({"id": format!("s-{at}-{part}"),
                    "vpc_id": format!("vpc-{at}"), "cidr_block": format!("10.{at}.{part}.0/24"), "tags": {"Name": name}})));
            }
        }
        for (at, (left, right, kind)) in links.iter().enumerate() {
            let (left, right) = (format!("vpc-{}", left % names.len()), format!("vpc-{}", right % names.len()));
            let action = actions[at % 5];
            all.push(match kind {
                0 => common::change(&format!("aws_internet_gateway.n[{at}]"), action, json!({"id": format!("igw-{at}"), "vpc_id": left})),
                1 => common::change(&format!("aws_vpc_endpoint.n[{at}]"), action, json!({"id": format!("e-{at}"), "vpc_id": left, "service_name": "s3"})),
                2 | 3 => common::change(&format!("aws_ec2_transit_gateway_vpc_attachment.n[{at}]"), action,
                    json!({"id": format!("a-{at}"), "vpc_id": left, "transit_gateway_id": if *kind == 2 { "tgw-a" } else { "tgw-b" }})),
                _ => common::change(&format!("aws_vpc_peering_connection.n[{at}]"), action, json!({"id": format!("p-{at}"), "vpc_id": left, "peer_vpc_id": right})),
            });
        }
        let plan = common::read("plan.json", &common::plan(all));
        sound(&picture(&plan));
    }
}

/// Gateways in two clouds, groups of any name, lists of any length, pods, and one or two overlays.
#[test]
fn overlays_of_every_size() {
    for (gateways, groups, pods, fabrics) in
        [(1, 0, 0, 1), (2, 3, 1, 1), (3, 30, 70, 1), (4, 7, 12, 2), (9, 2, 3, 1)]
    {
        let spokes: serde_json::Value = serde_json::from_str(&common::spokes(12, true)).expect("JSON");
        let mut all = spokes["resource_changes"].as_array().cloned().unwrap_or_default();
        all.push(common::change(
            "google_compute_network.g",
            "no-op",
            json!({"id": "projects/p/global/networks/g", "name": "g"}),
        ));
        all.push(common::change(
            "google_compute_subnetwork.g",
            "no-op",
            json!({"id": "s-g", "name": "g",
            "network": "projects/p/global/networks/g", "ip_cidr_range": "10.200.0.0/24"}),
        ));
        for at in 0..gateways {
            let fabric = format!("f{}", at % fabrics);
            let mut content =
                format!("fabric = \"{fabric}\"\n[pool]\nprefixes = [\"10.{}.0.0/24\"]\n", 210 + at);
            for group in 0..groups {
                content += &format!("[groups.\"{}-{group}\"]\n", "long-name-".repeat(group % 9));
                for rule in 0..group % 12 {
                    content += &format!(
                        "[[groups.\"{}-{group}\".allow]]\nto = [\"10.0.{rule}.0/24\", \"fd00:{at}::/64\"]\nports = [443, \"8000-8100\"]\n",
                        "long-name-".repeat(group % 9)
                    );
                }
            }
            let action = ["no-op", "create", "delete"][at % 3];
            let (cloud, place) = if at % 2 == 0 {
                (
                    "aws",
                    json!({"name": format!("gw-{at}"), "subnet_id": "subnet-hub-0", "config": format!("c-{at}")}),
                )
            } else {
                ("gcp", json!({"name": format!("gw-{at}"), "subnetwork": "s-g", "config": format!("c-{at}")}))
            };
            all.push(common::change(
                &format!("warren_{cloud}_gateway_config.c[{at}]"),
                action,
                json!({"name": format!("c-{at}"), "content": content}),
            ));
            all.push(common::change(&format!("warren_{cloud}_gateway.c[{at}]"), action, place));
        }
        for at in 0..pods {
            all.push(common::change(
                &format!("warren_runpod_pod.p[{at}]"),
                ["no-op", "create", "delete"][at % 3],
                json!({"name": format!("pod-{at}")}),
            ));
        }
        all.push(common::change(
            "warren_runpod_cluster.train",
            "create",
            json!({"name": "train", "pod_count": 250, "gpu": {"count": 8}}),
        ));
        let plan = common::read("plan.json", &common::plan(all));
        assert_eq!(plan.after.overlays().len() + plan.before.overlays().len() > 0, gateways > 0);
        for detail in [Detail::Full, Detail::Compact, Detail::Grouped] {
            sound(&scene(&plan, &Options { diff: true, detail, ..Options::default() }));
        }
        sound(&space_scene(&plan, &Options { diff: true, ..Options::default() }));
    }
}

/// A link has the colour of its kind, and the sign of its change. Peerings and secondary ranges have names.
#[test]
fn links_keep_their_colour_and_names() {
    let all = vec![
        common::change(
            "google_compute_network.a",
            "no-op",
            json!({"id": "projects/p/global/networks/a", "name": "a"}),
        ),
        common::change(
            "google_compute_network.b",
            "no-op",
            json!({"id": "projects/p/global/networks/b", "name": "b"}),
        ),
        common::change(
            "google_compute_network_peering.p",
            "create",
            json!({"id": "p", "name": "to-b", "network": "projects/p/global/networks/a", "peer_network": "projects/p/global/networks/b"}),
        ),
        common::change(
            "google_compute_subnetwork.s",
            "no-op",
            json!({"id": "s", "name": "nodes", "network": "projects/p/global/networks/a", "ip_cidr_range": "10.0.0.0/20",
                "secondary_ip_range": [{"range_name": "pods", "ip_cidr_range": "10.4.0.0/14"}]}),
        ),
    ];
    let plan = common::read("plan.json", &common::plan(all));
    let options = Options { diff: true, theme: warren_diagram::Theme::Light, ..Options::default() };
    sound(&scene(&plan, &options));
    // Without its subnets, a network names its peerings too.
    let compact = scene(&plan, &Options { detail: Detail::Compact, ..options.clone() });
    sound(&compact);
    assert!(texts(&compact).contains(&"+ peering to-b – b".to_owned()), "{:?}", texts(&compact));
    let svg = warren_diagram::svg(&plan, &options);
    assert!(!svg.contains(".line.create{stroke"), "{svg}");
    for text in [
        "line peering changed create",
        "dot solid peering",
        ">+ peering to-b – b<",
        ">pods<",
        ">10.4.0.0/14<",
    ] {
        assert!(svg.contains(text), "{text:?} is not in {svg}");
    }
    let mermaid = warren_diagram::mermaid(&plan, &options);
    assert!(mermaid.contains("nodes 10.0.0.0/20, pods 10.4.0.0/14"), "{mermaid}");
}

/// Names are shortened beside long ranges, and can still be read as a tooltip. Ranges are never shortened.
#[test]
fn ranges_are_whole() {
    let name = "a-name-that-says-team-stage-region-purpose-and-owner-of-the-network";
    let long = "2001:db8:1111:2222:3333:4444:5555:6600/120";
    let mut all = Vec::new();
    for (at, action) in ["no-op", "create", "update", "replace", "delete"].into_iter().enumerate() {
        all.push(common::change(
            &format!("aws_vpc.n[{at}]"),
            action,
            json!({"id": format!("vpc-{at}"), "cidr_block": format!("10.20{at}.128.0/17"),
                "ipv6_cidr_block": "2001:db8:1111:2200::/56", "tags": {"Name": name}}),
        ));
        all.push(common::change(
            &format!("aws_subnet.n[{at}]"),
            action,
            json!({"id": format!("s-{at}"), "vpc_id": format!("vpc-{at}"), "availability_zone": "ap-southeast-2a",
                "ipv6_cidr_block": long, "tags": {"Name": name}}),
        ));
    }
    let plan = common::read("plan.json", &common::plan(all));
    for detail in [Detail::Full, Detail::Compact] {
        let scene = scene(&plan, &Options { diff: true, detail, ..Options::default() });
        sound(&scene);
        let texts = texts(&scene);
        let shown = |range: &str| texts.iter().filter(|text| text.contains(range)).count();
        for at in 0..5 {
            assert_eq!(shown(&format!("10.20{at}.128.0/17")), 1, "{texts:?}");
        }
        assert_eq!(shown(long), if detail == Detail::Full { 5 } else { 0 }, "{texts:?}");
    }
    let svg = warren_diagram::svg(&plan, &Options { diff: true, ..Options::default() });
    assert!(svg.contains(&format!("<title>{name} (aws_vpc.n[0])</title>a-name-")), "{svg}");
    assert!(!svg.contains("textLength"), "the layout does not rely on an explicit width of measured texts");
}

/// A cluster has a box like a pod, and the overlay counts its pods.
#[test]
fn a_cluster_is_drawn_with_its_pods() {
    let all = vec![
        common::change(
            "warren_aws_gateway_config.c",
            "create",
            json!({"name": "c", "content": "fabric = \"f\"\n[pool]\nprefixes = [\"10.210.0.0/24\"]\n"}),
        ),
        common::change("warren_aws_gateway.g", "create", json!({"name": "g", "config": "c"})),
        common::change("warren_runpod_pod.one", "create", json!({"name": "one"})),
        common::change(
            "warren_runpod_cluster.train",
            "create",
            json!({"name": "train", "pod_count": 4, "gpu": {"count": 8}}),
        ),
    ];
    let plan = common::read("plan.json", &common::plan(all));
    let scene = picture(&plan);
    sound(&scene);
    let svg = warren_diagram::svg(&plan, &Options { diff: true, ..Options::default() });
    for text in ["cluster of 4 pods with 8 GPUs each", "5 pods"] {
        assert!(svg.contains(text), "{text:?} is not in {svg}");
    }
    let mermaid = warren_diagram::mermaid(&plan, &Options { diff: true, ..Options::default() });
    assert!(mermaid.contains("cluster of 4 pods with 8 GPUs each train"), "{mermaid}");
}

/// A group of nodes is in every subnet that it names, with the name of its cluster. One that names none is not drawn.
#[test]
fn node_groups_are_in_their_subnets() {
    let plan = common::read("plan.json", include_str!("../../../tests/plans/corpus/node-groups.json"));
    let full = scene(&plan, &Options { detail: Detail::Full, ..Options::default() });
    sound(&full);
    let mut inside = Vec::new();
    for cloud in &full.blocks {
        cloud.walk(&mut |block| {
            for chip in &block.inner {
                let nodes =
                    |label: &warren_diagram::Label| label.text.contains('/') && !label.text.contains('.');
                let texts = chip.labels.iter().filter(|label| nodes(label));
                inside.extend(texts.map(|label| format!("{} in {}", label.text, block.labels[0].text)));
            }
        });
    }
    inside.sort();
    let expected = [
        "AKS nodes apps/batch in 10.202.16.0/20",
        "AKS nodes apps/batch in 10.202.32.0/20",
        "EKS Fargate training/jobs in 10.200.48.0/20",
        "EKS nodes training/gpu in 10.200.32.0/20",
        "EKS nodes training/nodes in 10.200.16.0/20",
        "GKE nodes serving/fast in 10.201.16.0/20",
        "GKE nodes serving/fast in 10.201.32.0/20",
    ];
    assert_eq!(inside, expected);
    let compact = scene(&plan, &Options { detail: Detail::Compact, ..Options::default() });
    sound(&compact);
    let aws = "4 subnets · 1 cluster · 3 node groups".to_owned();
    assert!(texts(&compact).contains(&aws), "{:?}", texts(&compact));
    // A state has the names of clusters, and pools inside a cluster.
    let google = |name: &str| format!("projects/p/regions/r/subnetworks/{name}");
    let subnet = |name: &str| {
        let values =
            json!({"id": google(name), "name": name, "network": "n", "ip_cidr_range": "10.0.0.0/24"});
        common::change(&format!("google_compute_subnetwork.{name}"), "no-op", values)
    };
    let config = |name: &str| json!([{"additional_node_network_configs": [{"subnetwork": google(name)}]}]);
    let state = common::plan(vec![
        subnet("a"),
        subnet("b"),
        common::change(
            "google_container_node_pool.p",
            "no-op",
            json!({"id": "p", "name": "p", "cluster": "projects/p/locations/r/clusters/far", "network_config": config("a")}),
        ),
        common::change(
            "google_container_cluster.near",
            "no-op",
            json!({"id": "c", "name": "near", "subnetwork": google("a"), "node_pool": [{"name": "x", "network_config": config("b")}]}),
        ),
    ]);
    let plan = common::read("plan.json", &state);
    let places = |key: &str| plan.after.managed[key].subnets.clone();
    assert_eq!(plan.after.managed["google_container_node_pool.p"].head.name, "far/p");
    assert_eq!(places("google_container_node_pool.p"), ["google_compute_subnetwork.a"]);
    let both = ["google_compute_subnetwork.a", "google_compute_subnetwork.b"];
    assert_eq!(places("google_container_cluster.near"), both);
}

/// Lines between two clouds, as their ends.
fn between_clouds(scene: &Scene) -> Vec<&Line> {
    let is_cloud = |key: &str| key.starts_with("cloud:");
    let ends = |line: &Line| line.ends.as_ref().is_some_and(|(a, b)| is_cloud(a) && is_cloud(b));
    scene.lines.iter().filter(|line| line.kind == LinkKind::Vpn && ends(line)).collect()
}

/// A VPN to another cloud is a line between the clouds, from the network or transit gateway that it belongs to. A VPN to a site is
/// not drawn.
#[test]
fn vpns_between_clouds_are_lines_between_them() {
    let plan = common::read("plan.json", include_str!("../../../tests/plans/corpus/multicloud.json"));
    for detail in [Detail::Full, Detail::Compact, Detail::Grouped] {
        let scene = scene(&plan, &Options { diff: true, detail, ..Options::default() });
        sound(&scene);
        let lines = between_clouds(&scene);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| {
            line.tip.contains("aws_vpn_connection.serving[1]: VPN between training and serving")
        }));
        assert!(lines.iter().all(|line| {
            line.tip.contains("google_compute_vpn_tunnel.archive: VPN between archive and core")
        }));
        assert!(!lines[0].tip.contains("office"), "{}", lines[0].tip);
        let ends = |line: &Line| line.ends.as_ref().is_some_and(|(from, _)| from == "vpn");
        let inside = scene.lines.iter().filter(|line| line.kind == LinkKind::Vpn && ends(line));
        let mut to: Vec<&str> = inside.filter_map(|line| Some(line.ends.as_ref()?.1.as_str())).collect();
        to.sort_unstable();
        let expected = [
            "aws_ec2_transit_gateway.core",
            "aws_vpc.main[\"training\"]",
            "google_compute_network.main[\"archive\"]",
            "google_compute_network.main[\"serving\"]",
        ];
        if detail != Detail::Grouped {
            assert_eq!(to, expected);
        }
    }
    let words = texts(&picture(&plan));
    assert!(
        words.contains(&"to Google Cloud".to_owned()) && words.contains(&"to AWS".to_owned()),
        "{words:?}"
    );
    let legend: Vec<_> = picture(&plan).labels.iter().map(|label| label.text.clone()).collect();
    assert!(legend.contains(&"VPN between clouds".to_owned()), "{legend:?}");
}

/// In a state, the addresses show both ends. The overlay, overlaps between three clouds, and all their links stay apart.
#[test]
fn vpns_between_clouds_are_found_by_their_addresses() {
    let network = "projects/p/global/networks/g";
    let all = |site: &str, peer: &str, gateways: usize| {
        let spokes: serde_json::Value = serde_json::from_str(&common::spokes(5, true)).expect("JSON");
        let mut all = spokes["resource_changes"].as_array().cloned().unwrap_or_default();
        let mut add = |address: &str, values| all.push(common::change(address, "no-op", values));
        add("google_compute_network.g", json!({"id": network, "name": "g"}));
        add(
            "google_compute_subnetwork.g",
            json!({"id": "s-g", "name": "g", "network": network, "ip_cidr_range": "10.200.0.0/24"}),
        );
        let azure = json!({"id": "vnet", "name": "z", "address_space": ["10.0.0.0/8"]});
        add("azurerm_virtual_network.z", azure);
        add("aws_customer_gateway.c", json!({"id": "cgw", "ip_address": site}));
        add(
            "aws_vpn_connection.c",
            json!({"id": "vpn", "transit_gateway_id": "tgw-1", "customer_gateway_id": "cgw", "tunnel1_address": "198.51.100.1"}),
        );
        add(
            "google_compute_ha_vpn_gateway.g",
            json!({"id": "vpn-g", "name": "g", "network": network, "vpn_interfaces": [{"id": 0, "ip_address": "192.0.2.1"}]}),
        );
        add("google_compute_vpn_tunnel.t", json!({"id": "t", "vpn_gateway": "vpn-g", "peer_ip": peer}));
        for at in 0..gateways {
            let content = format!("fabric = \"f\"\n[pool]\nprefixes = [\"10.{}.0.0/24\"]\n", 210 + at);
            let (cloud, place) = if at % 2 == 0 { ("aws", "subnet_id") } else { ("gcp", "subnetwork") };
            let subnet = if at % 2 == 0 { "subnet-hub-0" } else { "s-g" };
            let name = format!("c-{at}");
            add(&format!("warren_{cloud}_gateway_config.c[{at}]"), json!({"name": name, "content": content}));
            add(
                &format!("warren_{cloud}_gateway.c[{at}]"),
                json!({"name": name, place: subnet, "config": name}),
            );
        }
        common::read("plan.json", &common::plan(all))
    };
    let side = |name: &str, net: &str| Side { name: name.to_owned(), net: net.parse().expect("a range") };
    let places = [
        side("aws_vpc.hub", "10.0.0.0/16"),
        side("google_compute_subnetwork.g", "10.200.0.0/24"),
        side("azurerm_virtual_network.z", "10.0.0.0/8"),
    ];
    let overlap = |one: usize, other: usize| Overlap {
        sides: [places[one].clone(), places[other].clone()],
        warning: false,
        rule: "overlap",
    };
    let overlaps = [Vec::new(), vec![overlap(0, 1)], vec![overlap(0, 1), overlap(2, 0), overlap(1, 2)]];
    for (gateways, number) in [(0, 0), (1, 1), (4, 2), (0, 2)] {
        let verdict = Verdict { overlaps: overlaps[number].clone(), ..Verdict::default() };
        for (site, peer, links) in [
            ("192.0.2.1", "203.0.113.1", 1),
            ("203.0.113.1", "198.51.100.1", 1),
            ("192.0.2.1", "198.51.100.1", 1),
            ("203.0.113.1", "203.0.113.2", 0),
        ] {
            let plan = all(site, peer, gateways);
            for detail in [Detail::Full, Detail::Compact, Detail::Grouped] {
                let options = Options { diff: true, detail, verdict: verdict.clone(), ..Options::default() };
                let scene = scene(&plan, &options);
                sound(&scene);
                assert_eq!(between_clouds(&scene).len(), 2 * links, "{site} {peer}");
            }
            let mermaid = warren_diagram::mermaid(&plan, &Options::default());
            assert_eq!(mermaid.matches("|\"VPN\"|").count(), links, "{mermaid}");
            let dot = warren_diagram::dot(&plan, &Options::default());
            assert_eq!(dot.matches("[label=\"VPN\"").count(), links, "{dot}");
        }
    }
}

/// Kubernetes clusters and load balancers are in every subnet that they have addresses in, else in their network, else beside
/// the networks, linked to the internet if it reaches them.
#[test]
fn clusters_and_load_balancers_are_where_their_addresses_are() {
    let plan = common::read("plan.json", include_str!("../../../tests/plans/corpus/clusters.json"));
    for detail in [Detail::Full, Detail::Compact] {
        let scene = scene(&plan, &Options { detail, ..Options::default() });
        sound(&scene);
        let texts = texts(&scene);
        let count = |text: &str| texts.iter().filter(|it| *it == text).count();
        let chips = ["EKS training", "NLB metrics", "public ALB web", "GKE serving", "AKS apps"].map(count);
        let azure = count("2 subnets · 1 cluster · 2 load balancers");
        // The network in the middle of a cloud has its subnets in every detail.
        match detail {
            Detail::Full => assert_eq!((chips, azure), ([2, 2, 2, 1, 1], 0), "{texts:?}"),
            _ => assert_eq!((chips, azure), ([2, 2, 2, 1, 0], 1), "{texts:?}"),
        }
        assert_eq!(count("public LB"), 2, "{texts:?}");
        assert!(!texts.iter().any(|text| text.contains("LB esp") || text == "esp"), "{texts:?}");
        let reached = |name: &str| {
            let to = |line: &&Line| {
                line.ends.as_ref().is_some_and(|(from, to)| from == "internet" && to.contains(name))
            };
            scene.lines.iter().filter(to).count()
        };
        assert_eq!(["azurerm_lb.edge", "forwarding_rule.site"].map(reached), [1, 1]);
    }
}

fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn every_text_and_line_can_be_seen() {
    let check = |palette: &Palette| {
        let mut grounds = vec![palette.page, palette.cloud, palette.card, palette.inner, palette.chip];
        grounds.extend(palette.changes.iter().map(|(ground, _)| *ground));
        let mut texts = vec![palette.ink, palette.muted];
        texts.extend(palette.changes.iter().map(|(_, colour)| *colour));
        texts.push(palette.alert);
        for ground in grounds {
            for text in &texts {
                let found = contrast(text, ground);
                assert!(found >= 4.5, "{text} on {ground} has {found:.2}");
            }
        }
        // Lines and edges that carry meaning (WCAG 1.4.11).
        for line in palette.links.iter().chain([&palette.edge]) {
            for ground in [palette.page, palette.cloud] {
                let found = contrast(line, ground);
                assert!(found >= 3.0, "{line} on {ground} has {found:.2}");
            }
        }
    };
    check(&LIGHT);
    check(&DARK);
}
