//! `warren diagram` and `warren check --policy`, and the pictures of the documentation.

#[path = "../../diagram/tests/common/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod common;

use std::ffi::OsString;
use std::path::Path;
use warren_cli::{FINDINGS, FINE, Streams, UNUSABLE, run};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../diagram/tests/fixtures/");
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans/corpus/");
const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/");

fn warren_in(stdin: &str, arguments: &[&str]) -> (u8, Vec<u8>, String) {
    let words = std::iter::once("warren".to_owned())
        .chain(arguments.iter().map(|word| word.replace("F:", FIXTURES).replace("P:", PLANS)));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = stdin.as_bytes();
    let streams = Streams { stdin: &mut stdin, stdout: &mut out, stderr: &mut err, colour: false };
    let code = run(words.map(OsString::from), streams);
    (code, out, String::from_utf8_lossy(&err).replace(FIXTURES, ""))
}

fn text(arguments: &[&str]) -> (u8, String) {
    let (code, out, err) = warren_in("", arguments);
    (code, format!("{}{err}", String::from_utf8_lossy(&out).replace(FIXTURES, "")))
}

/// Every picture of the documentation: its file, and the words that make it.
const MADE: &[(&str, &[&str])] = &[
    ("example.svg", &["F:example.json", "--title", "aws-hub-spoke"]),
    ("change.svg", &["F:change.json", "--diff", "--title", "aws-hub-spoke: one spoke added, one renumbered"]),
    (
        "change-dark.svg",
        &[
            "F:change.json",
            "--diff",
            "--theme",
            "dark",
            "--title",
            "aws-hub-spoke: one spoke added, one renumbered",
        ],
    ),
    ("change.md", &["F:change.json", "--format", "markdown", "--title", "aws-hub-spoke"]),
    ("change.mmd", &["F:change.json", "--diff", "--format", "mermaid"]),
    ("change.dot", &["F:change.json", "--diff", "--format", "dot"]),
    ("change.html", &["F:change.json", "--diff", "--format", "html", "--title", "aws-hub-spoke"]),
    ("space.svg", &["F:change.json", "--diff", "--format", "space", "--title", "aws-hub-spoke"]),
    ("overlay.svg", &["F:overlay.json", "--diff", "--title", "a gateway added, an allow-list changed"]),
    ("overlay.md", &["F:overlay.json", "--format", "markdown", "--title", "a gateway added"]),
    ("overlay.mmd", &["F:overlay.json", "--diff", "--format", "mermaid"]),
    ("clusters.svg", &["P:clusters.json", "--title", "clusters and load balancers"]),
    ("multicloud.svg", &["P:multicloud.json", "--title", "VPNs between two clouds"]),
    ("overlaps.svg", &["F:overlaps.json", "--title", "overlaps in two clouds"]),
    ("clouds.svg", &["F:clouds.json", "--diff", "--title", "hashicorp/aws and hashicorp/google"]),
];

/// `WARREN_BLESS=1` writes the pictures anew.
fn compare(name: &str, made: &[u8]) {
    let path = Path::new(PICTURES).join(name);
    if std::env::var_os("WARREN_BLESS").is_some() {
        std::fs::write(&path, made).expect("the folder is there");
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/pictures/{name} is not what the code draws; WARREN_BLESS=1 cargo test -p warren-cli writes it"
    );
}

#[test]
fn pictures_of_the_documentation_are_what_the_code_draws() {
    for (name, words) in MADE {
        let (code, out, err) = warren_in("", &[&["diagram"], *words].concat());
        assert_eq!((code, err.as_str()), (FINE, ""), "{name}");
        let again = warren_in("", &[&["diagram"], *words].concat()).1;
        assert!(out == again, "{name} differs from run to run");
        compare(name, &out);
    }
    for (name, count, diff) in [("30.svg", 30, true), ("300.svg", 300, true), ("10000.svg", 10_000, true)] {
        let plan = common::spokes(count, diff);
        let title = format!("{count} networks");
        let (code, out, _) = warren_in(&plan, &["diagram", "-", "--diff", "--title", &title]);
        assert_eq!(code, FINE);
        compare(name, &out);
    }
}

#[test]
fn png_is_a_picture_and_always_the_same() {
    let words = ["diagram", "F:change.json", "--diff", "--format", "png"];
    let (code, out, _) = warren_in("", &words);
    assert_eq!(code, FINE);
    assert!(out.starts_with(b"\x89PNG") && out.len() > 50_000);
    assert!(out == warren_in("", &words).1);
}

#[test]
fn a_state_comes_from_standard_input() {
    let state = std::fs::read_to_string(format!("{FIXTURES}state.json")).unwrap();
    let (code, out, _) = warren_in(&state, &["diagram", "-"]);
    assert_eq!(code, FINE);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains(">aws-public<") && out.contains("NAT aws"));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    for words in [["diagram", "F:missing.json"], ["diagram", "F:policy.yaml"]] {
        let (code, out) = text(&words);
        assert_eq!(code, UNUSABLE);
        insta::assert_snapshot!(words[1].replace([':', '.'], "-"), out);
    }
    let (code, out, err) = warren_in("{}", &["diagram", "-"]);
    assert_eq!((code, out.as_slice()), (UNUSABLE, &b""[..]));
    insta::assert_snapshot!(err, @"error: -: this is not a Terraform plan or state; create the file with `terraform show -json PLANFILE > plan.json`\n");
}

/// The picture shows what `warren check` finds in the same file, with the same exceptions.
#[test]
fn a_picture_carries_the_verdict() {
    let (code, out) = text(&["diagram", "F:example.json", "--policy", "F:policy.yaml"]);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("training-a of training reaches aws-ml of aws"), "{out}");
    assert!(out.contains("class=\"line forbidden\""), "{out}");
    let plan = format!("{FIXTURES}../../../../tests/plans/corpus/two-vpcs.json");
    let (_, out) = text(&["diagram", &plan]);
    assert!(out.contains("10.30.0.0/16 of prod overlaps 10.30.0.0/16 of dev"), "{out}");
    assert!(out.contains("class=\"line clash\""), "{out}");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("warren.toml");
    let ignore = "[[ignore]]\nrule = \"overlap\"\naddress = \"*\"\nreason = \"never routed\"\n";
    std::fs::write(&config, ignore).unwrap();
    let (_, out) = text(&["diagram", &plan, "--config", &config.display().to_string()]);
    assert!(!out.contains("overlaps"), "{out}");
    for option in ["--unconnected", "--connected"] {
        let (_, out) = text(&["diagram", &plan, option, "ignore"]);
        assert_eq!(out.contains("overlaps"), option == "--connected", "nothing connects the networks");
    }
    let (code, out) = text(&["diagram", &plan, "--policy", "F:missing.yaml"]);
    assert_eq!(code, UNUSABLE, "{out}");
}

/// A team with 30 old overlaps sees the new one only, and the same files without a baseline show all of them.
#[test]
fn a_baseline_hides_old_overlaps_in_pictures() {
    let vpc = |at: usize| {
        let values =
            serde_json::json!({"id": format!("vpc-{at}"), "cidr_block": format!("10.{}.0.0/16", at / 2)});
        common::change(&format!("aws_vpc.n[{at}]"), "no-op", values)
    };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (plan, baseline) = (file("plan.json"), file("baseline.json"));
    std::fs::write(&plan, common::plan((0..60).map(vpc).collect())).unwrap();
    let (code, out) = text(&["check", &plan, "--write-baseline", &baseline]);
    assert_eq!(code, FINE, "{out}");
    let (_, all) = text(&["diagram", &plan]);
    assert_eq!(all.matches("class=\"item is-finding\"").count(), 30, "{all}");
    let (code, known) = text(&["diagram", &plan, "--baseline", &baseline]);
    assert_eq!(code, FINE, "{known}");
    assert!(!known.contains("overlaps") && !known.contains("box network alert"), "{known}");
    std::fs::write(&plan, common::plan((0..62).map(vpc).collect())).unwrap();
    let (_, new) = text(&["diagram", &plan, "--baseline", &baseline]);
    assert_eq!(new.matches("class=\"item is-finding\"").count(), 1, "{new}");
    assert!(new.contains("10.30.0.0/16 of"), "{new}");
    let (code, out) = text(&["diagram", &plan, "--baseline", &file("missing.json")]);
    assert_eq!(code, UNUSABLE, "{out}");
}

#[test]
fn assertions_are_held_against_the_plan() {
    let (code, out) = text(&["check", "F:example.json", "--policy", "F:policy.yaml"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
    let (_, json) = text(&["check", "F:example.json", "--policy", "F:policy.yaml", "--format", "sarif"]);
    assert!(json.contains("\"ruleId\": \"policy\""));
}

#[test]
fn assertions_speak_of_groups_of_peers() {
    let (code, out) = text(&["check", "F:overlay.json", "--policy", "F:overlay-policy.yaml"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
}

/// A rule about a group lets its peers be reached, at its ports and in its direction alone; the picture shows it.
#[test]
fn peers_reach_each_other_by_rules_about_groups() {
    let plan = std::fs::read_to_string(format!("{FIXTURES}overlay.json")).unwrap();
    let before = r#"[groups.ci]\nrate_mbit = 2000\n"#;
    let rule = |group: &str| {
        format!(r#"[[groups.ci.allow]]\nto = [\"group:{group}\"]\nports = [29500]\nprotocols = [\"tcp\"]\n"#)
    };
    let rule = format!("{before}{}{}", rule("gpu"), rule("ci"));
    assert!(plan.contains(before));
    let folder = tempfile::tempdir().unwrap();
    let [file, policy] = ["plan.json", "policy.toml"].map(|name| folder.path().join(name));
    std::fs::write(&file, plan.replace(before, &rule)).unwrap();
    let assertions: String = [
        ("ci", "gpu", 29500, "reachable"),
        ("ci", "gpu", 22, "unreachable"),
        ("gpu", "ci", 29500, "unreachable"),
        ("gpu", "gpu", 29500, "unreachable"),
        ("ci", "ci", 29500, "reachable"),
        ("ci", "ci", 22, "unreachable"),
    ]
    .iter()
    .map(|(from, to, port, expect)| {
        format!(
            "[[assertions]]\nname = '{from} {to} {port}'\nfrom = 'group:{from}'\nto = 'group:{to}'\nport = {port}\nexpect = '{expect}'\n"
        )
    })
    .collect();
    std::fs::write(&policy, &assertions).unwrap();
    let (file, policy) = (file.to_str().unwrap(), policy.to_str().unwrap());
    let (_, out) = text(&["check", file, "--policy", policy]);
    assert!(!out.contains("[policy]"), "{out}");
    let (code, out) = text(&["check", "F:overlay.json", "--policy", policy]);
    assert_eq!(code, FINDINGS);
    for group in ["gpu", "ci"] {
        assert!(out.contains(&format!("no rule of group ci is about the group {group}")), "{out}");
    }
    let (_, picture) = text(&["diagram", file, "--format", "mermaid"]);
    assert!(picture.contains("group gpu tcp 29500"), "{picture}");
}

/// Before the first apply the file holds addresses and keys that nobody knows.
#[test]
fn a_gateways_file_that_is_not_known_is_told_and_proves_nothing() {
    let plan = std::fs::read_to_string(format!("{FIXTURES}overlay.json")).unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    for change in plan["resource_changes"].as_array_mut().unwrap() {
        if change["type"] == "warren_aws_gateway_config" {
            change["change"]["after"]["content"] = serde_json::Value::Null;
            change["change"]["after_unknown"]["content"] = true.into();
        }
    }
    let plan = plan.to_string();
    let (code, out, _) = warren_in(&plan, &["diagram", "-", "--diff"]);
    assert_eq!(code, FINE);
    assert!(String::from_utf8(out).unwrap().contains("known after apply"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.json");
    std::fs::write(&file, plan).unwrap();
    let (code, out) =
        text(&["check", file.to_str().unwrap(), "--policy", "F:overlay-policy.yaml", "--strict"]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("may reach") && out.contains("is known only after apply"), "{out}");
}

#[test]
fn a_policy_that_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    let bad = "[[assertions]]\nname = 'x'\nfrom = 'internet'\nto = 'dev'\nexpect = 'never'\nsurely = true\n[[assertions]]\nname = 'y'\nfrom = []\nto = 'a'\nexpect = 'endpoint'\nport = 70000\n";
    std::fs::write(&file, bad).unwrap();
    let name = file.to_str().unwrap();
    let (code, out) = text(&["check", "F:example.json", "--policy", name]);
    assert_eq!(code, UNUSABLE);
    insta::assert_snapshot!(out.replace(name, "policy.toml"));
    std::fs::write(&file, "[[assertions]]\nname = 'typing error'\nfrom = 'trainning'\nto = 'internet'\nexpect = 'unreachable'\n").unwrap();
    let (code, out) = text(&["check", "F:example.json", "--policy", name]);
    assert_eq!(code, FINDINGS, "an assertion about nobody holds nothing");
    insta::assert_snapshot!(out.replace(name, "policy.toml"));
}
