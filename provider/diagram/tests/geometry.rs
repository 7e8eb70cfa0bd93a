//! Nothing overlaps, texts lie in their boxes, links go around boxes, and every text can be read.

mod common;

use proptest::prelude::*;
use serde_json::json;
use warren_diagram::theme::{DARK, LIGHT, Palette};
use warren_diagram::{Block, BoxKind, Detail, Line, LinkKind, Options, Rect, Scene, scene, space_scene};
use warren_model::topology::Plan;
use warren_model::verdict::{Overlap, Path, Side, Verdict};

fn picture(plan: &Plan) -> Scene {
    scene(plan, &Options { diff: true, ..Options::default() })
}

/// Everything that must hold of a picture.
fn sound(scene: &Scene) {
    let page = Rect { x: 0, y: 0, w: scene.w, h: scene.h };
    apart(&scene.blocks, &page);
    for label in &scene.labels {
        assert!(page.contains(&label.rect()), "{label:?} leaves the page");
        assert!(
            scene.blocks.iter().all(|block| !block.rect.overlaps(&label.rect())),
            "{label:?} lies on a box"
        );
    }
    for (at, label) in scene.labels.iter().enumerate() {
        let others = &scene.labels[at + 1..];
        assert!(
            others.iter().all(|other| !other.rect().overlaps(&label.rect())),
            "{label:?} lies on another"
        );
    }
    let boxes: Vec<&Block> = scene.blocks.iter().flat_map(|cloud| &cloud.inner).collect();
    for line in &scene.lines {
        for pair in line.points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            assert!(x1 == x2 || y1 == y2, "{line:?} is slanted");
            // A line touches the edge of the box it ends at and enters none.
            let way = Rect { x: x1.min(x2), y: y1.min(y2), w: (x1 - x2).abs(), h: (y1 - y2).abs() };
            assert!(page.contains(&way), "{line:?} leaves the page");
            for name in scene.blocks.iter().flat_map(|cloud| &cloud.labels) {
                let area = Rect { w: way.w.max(1), h: way.h.max(1), ..way };
                assert!(!name.rect().overlaps(&area), "{line:?} crosses {:?}", name.text);
            }
            for block in &boxes {
                let rect = block.rect;
                let inside = way.x < rect.right() && rect.x < way.right().max(way.x + 1)
                    && way.y < rect.bottom() && rect.y < way.bottom().max(way.y + 1)
                    // On the edge is not inside.
                    && !(way.w == 0 && (way.x == rect.x || way.x == rect.right()))
                    && !(way.h == 0 && (way.y == rect.y || way.y == rect.bottom()));
                assert!(!inside, "{line:?} crosses {:?} {rect:?}", block.key);
            }
        }
    }
    // Two links never lie upon each other: they could not be told apart.
    let mut runs: Vec<(bool, i32, i32, i32, usize)> = Vec::new();
    for line in &scene.lines {
        for pair in line.points.windows(2) {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            if x1 == x2 {
                runs.push((true, x1, y1.min(y2), y1.max(y2), line.net));
            } else {
                runs.push((false, y1, x1.min(x2), x1.max(x2), line.net));
            }
        }
    }
    runs.sort();
    for (at, a) in runs.iter().enumerate() {
        for b in runs[at + 1..].iter().take_while(|b| (b.0, b.1) == (a.0, a.1) && b.2 < a.3) {
            assert!(a.4 == b.4, "links {} and {} lie upon each other at {:?} and {:?}", a.4, b.4, a, b);
        }
    }
}

/// Boxes lie in their parent, apart from each other, and so do the parent's own texts.
fn apart(blocks: &[Block], parent: &Rect) {
    let mut sorted: Vec<&Block> = blocks.iter().collect();
    sorted.sort_by_key(|block| block.rect.x);
    for (at, block) in sorted.iter().enumerate() {
        assert!(parent.contains(&block.rect), "{:?} {:?} leaves {parent:?}", block.key, block.rect);
        for other in sorted[at + 1..].iter().take_while(|other| other.rect.x < block.rect.right()) {
            assert!(!block.rect.overlaps(&other.rect), "{:?} lies on {:?}", block.key, other.key);
        }
        for (at, label) in block.labels.iter().enumerate() {
            let area = label.rect();
            assert!(block.rect.contains(&area), "{label:?} leaves {:?} {:?}", block.key, block.rect);
            for other in &block.labels[at + 1..] {
                assert!(!other.rect().overlaps(&area), "{label:?} lies on {other:?}");
            }
            for inner in &block.inner {
                assert!(!inner.rect.overlaps(&area), "{label:?} lies on {:?}", inner.key);
            }
            for (x, y, _) in &block.tiles {
                assert!(!area.overlaps(&Rect { x: *x, y: *y, w: 6, h: 6 }), "{label:?} lies on tiles");
            }
            if !block.inner.is_empty() || block.kind != BoxKind::Chip {
                for (bar, _) in &block.bars {
                    assert!(!area.overlaps(bar), "{label:?} lies on a bar");
                }
            }
        }
        if let Some(badge) = block.badge() {
            let texts = block.labels.iter().map(|label| label.rect());
            let boxes = block.inner.iter().map(|inner| inner.rect);
            assert!(
                texts.chain(boxes).all(|it| !it.overlaps(&badge)),
                "something lies on the sign of {:?}",
                block.key
            );
        }
        for (bar, _) in &block.bars {
            assert!(block.rect.contains(bar), "a bar leaves {:?}", block.key);
        }
        apart(&block.inner, &block.rect);
    }
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

/// Overlaps have a line between both places and a text at each, also in one network; the list names all of them.
#[test]
fn overlaps_are_marked_at_both_places() {
    let vpc = |name: &str, range: &str| {
        let values = json!({"id": format!("vpc-{name}"), "cidr_block": range, "tags": {"Name": "child"}});
        let mut change = common::change("aws_vpc.this", "create", values);
        change["address"] = format!("module.{name}.aws_vpc.this").into();
        change
    };
    let subnet = |name: &str, range: &str| {
        common::change(
            &format!("aws_subnet.{name}"),
            "create",
            json!({"id": name, "vpc_id": "vpc-a", "cidr_block": range, "tags": {"Name": name}}),
        )
    };
    let all = vec![
        vpc("a", "10.0.0.0/16"),
        vpc("b", "10.0.128.0/17"),
        subnet("one", "10.0.0.0/23"),
        subnet("two", "10.0.1.0/24"),
    ];
    let plan = common::read("plan.json", &common::plan(all));
    let overlap = |left: (&str, &str), right: (&str, &str)| Overlap {
        sides: [left, right]
            .map(|(name, net)| Side { name: name.into(), net: net.parse().expect("a range") }),
        warning: false,
        rule: "overlap",
    };
    let verdict = Verdict {
        overlaps: vec![
            overlap(("module.a.aws_vpc.this", "10.0.0.0/16"), ("module.b.aws_vpc.this", "10.0.128.0/17")),
            overlap(("aws_subnet.one", "10.0.0.0/23"), ("aws_subnet.two", "10.0.1.0/24")),
        ],
        paths: vec![Path {
            name: "apart".into(),
            message: "a reaches b".into(),
            warning: false,
            hops: vec![
                ("aws_subnet.one".into(), "subnet one".into()),
                ("module.b.aws_vpc.this".into(), String::new()),
            ],
        }],
    };
    for detail in [Detail::Full, Detail::Compact, Detail::Grouped] {
        let options = Options { diff: true, detail, verdict: verdict.clone(), ..Options::default() };
        let scene = scene(&plan, &options);
        sound(&scene);
        let texts = texts(&scene);
        for text in
            ["10.0.0.0/16 of child (module.a) overlaps 10.0.128.0/17 of child (module.b)", "a reaches b"]
        {
            // A long sentence has several lines.
            assert!(texts.join(" ").contains(text), "{text:?} is not in {texts:?}");
        }
        if detail == Detail::Grouped {
            continue;
        }
        for text in ["overlaps 10.0.128.0/17 of child (", "overlaps 10.0.0.0/16 of child ("] {
            assert!(texts.iter().any(|it| it.starts_with(text)), "{text:?} is not in {texts:?}");
        }
        for kind in [LinkKind::Clash, LinkKind::Forbidden] {
            let ends = |line: &&Line| line.kind == kind && line.ends.is_some();
            assert!(scene.lines.iter().filter(ends).count() >= 1, "{kind:?}");
        }
        let mut brackets = 0;
        scene.blocks.iter().for_each(|block| block.walk(&mut |block| brackets += block.clashes.len()));
        assert_eq!(brackets, usize::from(detail == Detail::Full));
    }
    let options = Options { verdict, ..Options::default() };
    let mermaid = warren_diagram::mermaid(&plan, &options);
    assert!(mermaid.contains("x==x|\"10.0.0.0/16 overlaps 10.0.128.0/17\"|"), "{mermaid}");
    assert!(mermaid.contains("==>|\"forbidden#58; apart\"|"), "{mermaid}");
    let dot = warren_diagram::dot(&plan, &options);
    assert!(dot.contains("10.0.0.0/16 overlaps 10.0.128.0/17") && dot.contains("forbidden: apart"), "{dot}");
    let markdown = warren_diagram::markdown(&plan, &options).expect("a summary");
    assert!(markdown.contains("**Overlaps**") && markdown.contains("**Forbidden paths**"), "{markdown}");
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

fn texts(scene: &Scene) -> Vec<String> {
    let mut texts = Vec::new();
    for block in &scene.blocks {
        block.walk(&mut |block| texts.extend(block.labels.iter().map(|label| label.text.clone())));
    }
    texts
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
