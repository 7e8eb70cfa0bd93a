//! Overlaps and forbidden paths are marked where they are, and listed.

#[expect(dead_code, reason = "other tests use the rest")]
mod common;
mod sound;

use serde_json::{Value, json};
use sound::{sound, texts};
use warren_diagram::{Detail, Line, LinkKind, Options, Scene, scene};
use warren_model::topology::Plan;
use warren_model::verdict::{Overlap, Path, Side, Verdict};

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
        ..Verdict::default()
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

fn overlap(left: (&str, &str), right: (&str, &str)) -> Overlap {
    let side = |(name, net): (&str, &str)| Side { name: name.into(), net: net.parse().expect("a range") };
    Overlap { sides: [side(left), side(right)], warning: false, rule: "overlap" }
}

fn vpc(at: usize, range: &str) -> Value {
    let values =
        json!({"id": format!("vpc-{at}"), "cidr_block": range, "tags": {"Name": format!("net-{at}")}});
    common::change(&format!("aws_vpc.n[{at}]"), "no-op", values)
}

fn draw(all: Vec<Value>, verdict: &Verdict, detail: Detail) -> (Plan, Scene) {
    let plan = common::read("plan.json", &common::plan(all));
    let scene = scene(&plan, &Options { detail, verdict: verdict.clone(), ..Options::default() });
    sound(&scene);
    (plan, scene)
}

/// The numbers of findings at the box with this key.
fn marks(scene: &Scene, key: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in &scene.blocks {
        block.walk(&mut |block| {
            if block.key == key {
                found.extend(block.labels.iter().filter(|it| it.mark).map(|it| it.text.clone()));
            }
        });
    }
    found
}

/// Two places have the same number, also beyond the number of lines. In two clouds, a line joins them.
#[test]
fn both_places_refer_to_each_other_also_between_clouds() {
    let azure = common::change(
        "azurerm_virtual_network.core",
        "no-op",
        json!({"name": "core", "resource_group_name": "n", "address_space": ["10.0.0.0/8"]}),
    );
    let mut all: Vec<Value> = (0..90).map(|at| vpc(at, &format!("10.{}.0.0/16", at / 2))).collect();
    all.push(azure);
    let name = |at: usize| format!("aws_vpc.n[{at}]");
    let mut overlaps =
        vec![overlap((&name(0), "10.0.0.0/16"), ("azurerm_virtual_network.core", "10.0.0.0/8"))];
    let pairs = (0..89).map(|at| {
        let range = |at: usize| format!("10.{}.0.0/16", at / 2);
        overlap((&name(at), &range(at)), (&name(at + 1), &range(at + 1)))
    });
    overlaps.extend(pairs);
    let verdict = Verdict { overlaps, ..Verdict::default() };
    for detail in [Detail::Full, Detail::Compact] {
        let (_, scene) = draw(all.clone(), &verdict, detail);
        assert_eq!(marks(&scene, "azurerm_virtual_network.core"), ["1"]);
        assert_eq!(marks(&scene, &name(0)), ["1", "2"]);
        for at in 1..89 {
            assert_eq!(marks(&scene, &name(at)), [(at + 1).to_string(), (at + 2).to_string()]);
        }
        let lines = scene.lines.iter().filter(|line| line.kind == LinkKind::Clash && line.ends.is_some());
        // A line joins the two clouds, from the boxes that have an overlap in the other one.
        let ends = lines.clone().filter_map(|line| line.ends.clone());
        let [mut between, mut inside] = [Vec::new(), Vec::new()];
        for (from, to) in ends {
            match from.as_str() {
                "cloud:AWS" => between.push(to),
                "overlaps" => inside.push(to),
                _ => {}
            }
        }
        assert_eq!(between, ["cloud:Azure", "cloud:Azure"]);
        assert_eq!(inside, [name(0), "azurerm_virtual_network.core".to_owned()]);
        let lines = lines.count() - 4;
        assert!((60..89).contains(&lines), "{lines} lines");
        let texts = texts(&scene);
        assert!(texts.contains(&"overlaps 10.0.0.0/8 of core".to_owned()), "{texts:?}");
        assert!(texts.contains(&"and 30 more".to_owned()), "{texts:?}");
    }
    // A group has the numbers of its networks.
    let (_, scene) = draw(all, &verdict, Detail::Grouped);
    assert!(marks(&scene, "group:net-*").contains(&"1–90".to_owned()), "{:?}", texts(&scene));
}

/// Subnets in neighbouring columns of one network have a line, and those further apart their number.
#[test]
fn overlaps_between_columns_have_a_line_or_a_number() {
    let mut all = vec![vpc(0, "10.0.0.0/16")];
    for at in 0..18 {
        all.push(common::change(
            &format!("aws_subnet.s[{at}]"),
            "no-op",
            json!({"id": format!("s-{at}"), "vpc_id": "vpc-0", "cidr_block": format!("10.0.{at}.0/24"), "tags": {"Name": format!("s-{at}")}}),
        ));
    }
    let of = |left: usize, right: usize| {
        let side = |at: usize| (format!("aws_subnet.s[{at}]"), format!("10.0.{at}.0/24"));
        let (left, right) = (side(left), side(right));
        overlap((&left.0, &left.1), (&right.0, &right.1))
    };
    // Three columns: 0 and 1 are neighbours, 1 and 2 too, 0 and 2 are not, and 0 is above 3.
    for ((left, right), lines) in [((0, 1), 1), ((2, 1), 1), ((0, 2), 0), ((0, 3), 1)] {
        let verdict = Verdict { overlaps: vec![of(left, right)], ..Verdict::default() };
        let (_, scene) = draw(all.clone(), &verdict, Detail::Full);
        let mut clashes = 0;
        scene.blocks.iter().for_each(|block| block.walk(&mut |block| clashes += block.clashes.len()));
        assert_eq!(clashes, lines, "{left} and {right}");
        for at in [left, right] {
            assert_eq!(marks(&scene, &format!("aws_subnet.s[{at}]")), ["1"]);
        }
    }
}

/// A finding has all its lines, so that no range and no hop is lost, and the count includes what the check left out.
#[test]
fn findings_are_whole_and_counted() {
    let long = |at: usize| format!("a-name-{}-{at}", "of-a-team-with-a-long-name-".repeat(20));
    let mut all = vec![vpc(0, "10.0.0.0/16"), vpc(1, "10.0.128.0/17")];
    for (at, change) in all.iter_mut().enumerate() {
        for side in ["before", "after"] {
            change["change"][side]["tags"]["Name"] = long(at).into();
        }
    }
    let hops: Vec<(String, String)> = (0..30)
        .map(|at| (String::new(), format!("a step of the path with a longer text: 10.{at}.0.0/16")))
        .collect();
    let verdict = Verdict {
        overlaps: vec![overlap(("aws_vpc.n[0]", "10.0.0.0/16"), ("aws_vpc.n[1]", "10.0.128.0/17"))],
        paths: vec![Path { name: "p".into(), message: "m".into(), warning: false, hops }],
        omitted: 4321,
    };
    let plan = common::read("plan.json", &common::plan(all));
    let options = Options { verdict, ..Options::default() };
    let drawn = scene(&plan, &options);
    sound(&drawn);
    let list = drawn.blocks.iter().find(|block| block.key == "findings").expect("a list");
    let rows: Vec<String> = list
        .inner
        .iter()
        .map(|row| row.labels.iter().map(|label| label.text.clone()).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(
        rows[1].starts_with("2 10.0.0.0/16 of ") && rows[1].contains("overlaps 10.0.128.0/17 of "),
        "{rows:?}"
    );
    for at in 0..30 {
        assert!(rows[0].contains(&format!("{}. a step of the path", at + 1)), "{rows:?}");
        assert!(rows[0].contains(&format!("10.{at}.0.0/16")), "{rows:?}");
    }
    assert!(list.labels.iter().any(|label| label.text == "and 4321 more"), "{:?}", list.labels);
    let markdown = warren_diagram::markdown(&plan, &options).expect("a summary");
    assert!(markdown.contains("and 4321 more findings"), "{markdown}");
}
