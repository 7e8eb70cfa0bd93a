//! A team with a history adopts the check: it sees new conflicts, and nothing else is in the way.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use warren_cli::{FINDINGS, FINE, Streams, UNUSABLE, run};

fn warren(arguments: &[&str]) -> (u8, String, String) {
    // Nothing connects the networks of these plans.
    plain(&[arguments, &["--unconnected", "error"]].concat())
}

/// The command with its default settings.
fn plain(arguments: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = Streams { stdin: &mut &b""[..], stdout: &mut out, stderr: &mut err, colour: false };
    let words = std::iter::once("warren").chain(arguments.iter().copied());
    let code = run(words.map(OsString::from), streams);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (code, text(out), text(err))
}

/// Writes a file and returns its path.
fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// A plan that creates VPCs: names and ranges.
fn plan(vpcs: &[(String, String)]) -> String {
    let change = |(name, cidr): &(String, String)| {
        json!({"address": format!("aws_vpc.{name}"), "mode": "managed", "type": "aws_vpc", "name": name,
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": ["create"], "after": {"cidr_block": cidr}, "after_unknown": {"id": true}}})
    };
    let changes: Vec<Value> = vpcs.iter().map(change).collect();
    json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}

/// Pairs of VPCs with equal ranges.
fn pairs(indices: std::ops::Range<usize>) -> Vec<(String, String)> {
    indices
        .flat_map(|index| {
            let cidr = format!("10.{index}.0.0/16");
            [(format!("a{index}"), cidr.clone()), (format!("b{index}"), cidr)]
        })
        .collect()
}

#[test]
fn thirty_old_overlaps_do_not_hide_a_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..30)));
    let baseline = folder.path().join("baseline.json").display().to_string();
    let (code, out, _) = warren(&["check", &file]);
    assert_eq!((code, out.matches("error[overlap]").count()), (FINDINGS, 30), "{out}");

    let (code, out, err) = warren(&["check", &file, "--write-baseline", &baseline]);
    assert_eq!((code, err.as_str()), (FINE, ""));
    assert!(out.contains("30 findings written"), "{out}");
    let compare = ["check", &file, "--baseline", &baseline];
    let (code, out, _) = warren(&compare);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("note: 30 findings of the baseline") && out.contains("0 errors"), "{out}");
    assert!(!out.contains("fixed"), "{out}");

    // The limit counts new findings only.
    write(folder.path(), "plan.json", &plan(&pairs(0..31)));
    for limit in ["1", "0", "1000"] {
        let (code, out, _) = warren(&[&compare[..], &["--max-findings", limit, "--quiet"]].concat());
        assert_eq!(code, FINDINGS);
        assert!(out.starts_with("error[overlap]: aws_vpc.") && out.contains("aws_vpc.b30"), "{out}");
        assert_eq!(out.matches("error[").count(), 1, "{out}");
    }

    write(folder.path(), "plan.json", &plan(&pairs(1..30)));
    let (code, out, _) = warren(&compare);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("fixed: overlap of aws_vpc.a0.cidr_block and aws_vpc.b0.cidr_block"), "{out}");
    assert_eq!(out.matches("fixed: ").count(), 1, "{out}");
    let report: Value =
        serde_json::from_str(&warren(&[&compare[..], &["--format", "json"]].concat()).1).expect("JSON");
    assert_eq!((&report["known"], &report["errors"]), (&json!(29), &json!(0)));
    assert_eq!(report["fixed"][0]["rule"], "overlap");
}

/// With the default settings, a new overlap fails the check if the networks are connected, and is a warning otherwise.
#[test]
fn thirty_old_overlaps_and_the_default_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    // Each pair is at a transit gateway of its own, except for the last one.
    let of = |count: usize, joined: usize| {
        let mut tree: Value = serde_json::from_str(&plan(&pairs(0..count))).expect("JSON");
        let changes = tree["resource_changes"].as_array_mut().expect("a list");
        for change in changes.iter_mut() {
            change["change"]["after"]["id"] = change["address"].clone();
            change["change"]["after_unknown"] = json!({});
        }
        for name in (0..joined).flat_map(|at| [format!("a{at}"), format!("b{at}")]) {
            let after = json!({"vpc_id": format!("aws_vpc.{name}"), "transit_gateway_id": format!("tgw-{}", &name[1..])});
            changes.push(
                json!({"address": format!("aws_ec2_transit_gateway_vpc_attachment.{name}"), "mode": "managed",
                "type": "aws_ec2_transit_gateway_vpc_attachment", "name": name,
                "change": {"actions": ["create"], "after": after, "after_unknown": {"id": true}}}),
            );
        }
        tree.to_string()
    };
    let file = write(folder.path(), "plan.json", &of(30, 30));
    let baseline = folder.path().join("baseline.json").display().to_string();
    let (code, out, _) = plain(&["check", &file]);
    assert_eq!((code, out.matches("error[overlap]").count()), (FINDINGS, 30), "{out}");
    assert_eq!(plain(&["check", &file, "--write-baseline", &baseline]).0, FINE);
    let compare = ["check", &file, "--baseline", &baseline];
    assert_eq!(plain(&compare).0, FINE);
    for (joined, expected, said) in [(31, FINDINGS, "error[overlap]: "), (30, FINE, "warning[overlap]: ")] {
        write(folder.path(), "plan.json", &of(31, joined));
        let (code, out, err) = plain(&compare);
        assert_eq!((code, err.as_str()), (expected, ""), "{out}");
        assert!(out.starts_with(said), "{out}");
        assert!(out.contains("aws_vpc.a30") && out.contains("aws_vpc.b30"), "{out}");
        assert_eq!(out.matches("[overlap]").count(), 1, "{out}");
        assert!(out.contains("30 findings of the baseline"), "{out}");
    }
}

/// Equal findings of several files have one fingerprint, but a further one is new.
#[test]
fn a_further_finding_with_the_same_addresses_is_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = plan(&[("main".to_owned(), "10.0.0.0/16".to_owned())]);
    let files: Vec<String> =
        (0..3).map(|index| write(folder.path(), &format!("{index}.json"), &one)).collect();
    let baseline = folder.path().join("baseline.json").display().to_string();
    warren(&["check", &files[0], &files[1], "--write-baseline", &baseline]);
    assert_eq!(warren(&["check", &files[0], &files[1], "--baseline", &baseline]).0, FINE);
    let (code, out, _) = warren(&["check", &files[0], &files[1], &files[2], "--baseline", &baseline]);
    assert_eq!((code, out.matches("has the same range").count()), (FINDINGS, 2), "{out}");
}

#[test]
fn a_file_that_is_no_baseline_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..1)));
    for (text, said) in
        [("{}", "no `version`"), (r#"{"version": 9}"#, "update `warren`"), ("x", "not valid JSON")]
    {
        let baseline = write(folder.path(), "baseline.json", text);
        let (code, out, err) = warren(&["check", &file, "--baseline", &baseline]);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""));
        assert!(err.contains("baseline.json") && err.contains(said), "{err}");
    }
    let (code, _, err) = warren(&["check", &file, "--baseline", "missing.json"]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("create it with `--write-baseline missing.json`"), "{err}");
    let (code, _, err) = warren(&["check", &file, "--write-baseline", "/missing/b.json"]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("cannot write /missing/b.json"), "{err}");
}

/// The check of three pairs of VPCs with a settings file.
fn configured(settings: &str) -> (u8, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..3)));
    let config = write(folder.path(), "warren.toml", settings);
    let (code, out, err) = warren(&["check", &file, "--config", &config]);
    let clean = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
    (code, clean(out), clean(err))
}

#[test]
fn exceptions_expire_and_are_told_if_unused() {
    let entry = |address: &str, more: &str| {
        format!("[[ignore]]\nrule = \"overlap\"\naddress = \"{address}\"\nreason = \"NET-7\"\n{more}\n")
    };
    let (code, out, err) = configured(&(entry("aws_vpc.a*", "until = 9999-12-31") + &entry("aws_vpc.c", "")));
    assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    assert!(out.contains("note: 3 findings hidden by exceptions"), "{out}");
    assert!(out.contains("overlap:aws_vpc.c (warren.toml:7:8) matches no finding"), "{out}");

    let (code, out, _) = configured(&(entry("aws_vpc.a0", "until = 2001-02-03") + &entry("*.b1.*", "")));
    assert_eq!(code, FINDINGS);
    assert_eq!(out.matches("error[overlap]").count(), 2, "{out}");
    assert!(out.contains("(warren.toml:2:8) expired after 2001-02-03 and no longer applies"), "{out}");
    assert!(!out.contains("aws_vpc.b1 ") && out.contains("1 finding hidden"), "{out}");
}

#[test]
fn mistakes_in_the_settings_have_a_place_and_a_suggestion() {
    let entry = "[[ignore]]\nrule = \"overlap\"\naddress = \"a\"\n";
    for (settings, said) in [
        (format!("{entry}reson = \"x\"\n"), "warren.toml:4:1: unknown key `reson`; did you mean `reason`?"),
        (
            format!("{entry}owner = \"x\"\n"),
            "warren.toml:4:1: unknown key `owner`; known are rule, address, reason, until",
        ),
        (entry.to_owned(), "warren.toml:1:1: `reason` is missing; state why"),
        (format!("{entry}reason = \" \"\n"), "warren.toml:4:10: `reason` is empty; state why"),
        (format!("{entry}reason = 1\n"), "warren.toml:4:10: the value has another type; write a string"),
        (format!("{entry}reason = \"x\"\nuntil = \"2027-01-31\"\n"), "warren.toml:5:9: `until` is not a day"),
        (
            format!("{entry}reason = \"x\"\nuntil = 2027-01-31T10:00:00Z\n"),
            "warren.toml:5:9: `until` is not a day",
        ),
        (format!("{entry}reason = \"x\"\nuntil = 2027-02-31\n"), "warren.toml:5:9: "),
        (
            "[[ignore]]\nrule = \"overlp\"\naddress = \"a\"\nreason = \"x\"\n".to_owned(),
            "warren.toml:2:8: unknown rule `overlp`; did you mean `overlap`?",
        ),
        ("[[ignored]]\n".to_owned(), "warren.toml:1:3: unknown key `ignored`; did you mean `ignore`?"),
        ("[[ignore\n".to_owned(), "warren.toml:1:9: "),
    ] {
        let (code, out, err) = configured(&settings);
        assert_eq!((code, out.as_str()), (UNUSABLE, ""), "{settings}");
        assert!(err.contains(said), "{said}\n{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn the_command_line_has_exceptions_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..2)));
    let (code, out, _) =
        warren(&["check", &file, "--ignore", "overlap:aws_vpc.a0", "--ignore", "overlap:aws_vpc.b1"]);
    assert_eq!(code, FINE, "{out}");
    // A baseline does not contain what an exception covers.
    let baseline = folder.path().join("b.json").display().to_string();
    warren(&["check", &file, "--ignore", "overlap:aws_vpc.a0", "--write-baseline", &baseline]);
    let text = std::fs::read_to_string(&baseline).expect("a baseline");
    assert!(text.contains("aws_vpc.a1.cidr_block") && !text.contains("aws_vpc.a0"), "{text}");
    for (value, said) in [
        ("overlap", "expected RULE:ADDRESS"),
        ("overlap:", "expected RULE:ADDRESS"),
        ("overlap:,until=2027-01-31", "expected RULE:ADDRESS"),
        ("overlaps:a", "did you mean `overlap`?"),
        ("overlap:a,until=soon", "`until` is not a day: \"soon\"; write one like 2027-01-31"),
        ("overlap:a,until=2027-02-31", "`until` is not a day"),
        ("overlap:a,until=2027-01-31T10:00:00Z", "`until` is not a day"),
        ("overlap:a,until=2027-01-31,until=2028-01-31", "`until` is not a day"),
        ("overlap:a,until=2027-01-31,reason=x,until=2028-01-31", "`until` is set twice"),
        ("overlap:a,unitl=2027-01-31", "unknown key `unitl`; did you mean `until`?"),
        ("overlap:a,reason= ", "`reason` is empty; state why"),
    ] {
        let (code, _, err) = warren(&["check", &file, "--ignore", value]);
        assert_eq!(code, UNUSABLE);
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn exceptions_of_the_command_line_expire_and_have_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..1)));
    let ignore = |value: &str| warren(&["check", &file, "--ignore", value]);
    for value in [
        "overlap:aws_vpc.a0,until=9999-12-31",
        "overlap:aws_vpc.a0,until=9999-12-31,reason=NET-7, see there",
        "overlap:aws_vpc.a0,reason=NET-7, see there,until=9999-12-31",
        "overlap:aws_vpc.a0,reason=NET-7",
    ] {
        let (code, out, _) = ignore(value);
        assert_eq!(code, FINE, "{value}: {out}");
        assert!(out.contains("note: 1 finding hidden by exceptions") && !out.contains("expired"), "{out}");
    }
    for value in [
        "overlap:aws_vpc.a0,until=2001-02-03,reason=NET-7",
        "overlap:aws_vpc.a0,reason=NET-7,until=2001-02-03",
    ] {
        let (code, out, _) = ignore(value);
        assert_eq!(code, FINDINGS, "{value}: {out}");
        let said =
            "overlap:aws_vpc.a0 (--ignore) expired after 2001-02-03 and no longer applies (reason: NET-7)";
        assert!(out.contains(said), "{out}");
    }
    // Keys of instances may contain commas.
    let (code, out, _) = ignore("overlap:aws_vpc.a[\"x,y=z\"]");
    assert_eq!(code, FINDINGS);
    assert!(out.contains("matches no finding"), "{out}");
}

/// The settings are those of the nearest folder, from the working directory upwards.
#[test]
fn settings_are_found_upwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&pairs(0..1)));
    let inner = folder.path().join("a/b");
    std::fs::create_dir_all(&inner).expect("folders");
    let ignore = "[[ignore]]\nrule = \"overlap\"\naddress = \"*\"\nreason = \"old\"\n";
    write(folder.path(), "warren.toml", ignore);
    let check = || {
        let command = std::process::Command::new(env!("CARGO_BIN_EXE_warren"))
            .args(["check", &file, "--strict"])
            .current_dir(&inner)
            .output()
            .expect("the command");
        command.status.code()
    };
    assert_eq!(check(), Some(FINE.into()));
    write(&inner, "warren.toml", "");
    assert_eq!(check(), Some(FINDINGS.into()));
}

/// A plan of two VPCs with subnets: range of the second VPC, and the ranges of the subnets of each.
fn two_networks(other: &str, subnets: [&[&str]; 2]) -> String {
    let change = |kind: &str, name: String, after: Value| {
        json!({"address": format!("{kind}.{name}"), "mode": "managed", "type": kind, "name": name,
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": ["no-op"], "before": after, "after": after, "after_unknown": {}}})
    };
    let mut changes = Vec::new();
    for (vpc, cidr, subnets) in [("a", "10.0.0.0/16", subnets[0]), ("b", other, subnets[1])] {
        changes.push(change(
            "aws_vpc",
            vpc.to_owned(),
            json!({"id": format!("vpc-{vpc}"), "cidr_block": cidr}),
        ));
        for (index, net) in subnets.iter().enumerate() {
            let after = json!({"id": format!("subnet-{vpc}{index}"), "vpc_id": format!("vpc-{vpc}"), "cidr_block": net});
            changes.push(change("aws_subnet", format!("{vpc}{index}"), after));
        }
    }
    json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}

#[test]
fn networks_that_overlap_hide_the_conflicts_of_their_subnets() {
    let folder = tempfile::tempdir().expect("a folder");
    let same = ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"];
    for (other, subnets, errors, said) in [
        ("10.0.0.0/16", [&same[..], &same[..]], 1, "10.0.0.0/16), and 3 pairs of their subnets overlap\n"),
        ("10.0.0.0/16", [&same[..1], &same[..1]], 1, ", and 1 pair of their subnets overlaps\n"),
        ("10.0.0.0/16", [&same[..2], &[]], 1, ", and 2 of their subnets conflict as well\n"),
        ("10.0.0.0/16", [&[], &same[..1]], 1, ", and 1 of their subnets conflicts as well\n"),
        ("10.0.0.0/16", [&[], &[]], 1, "aws_vpc.a (10.0.0.0/16)\n"),
        // Subnets of one network are no consequence of anything.
        ("10.1.0.0/16", [&["10.0.0.0/24", "10.0.0.0/25"], &[]], 1, "error[subnet-overlap]"),
        ("10.0.0.0/16", [&["10.0.0.0/24", "10.0.0.0/25"], &[]], 2, "error[subnet-overlap]"),
        // Outside its own network, a subnet overlaps the other one by itself.
        ("10.1.0.0/16", [&["10.1.0.0/24"], &[]], 1, "error[overlap]: aws_subnet.a0"),
    ] {
        let file = write(folder.path(), "plan.json", &two_networks(other, subnets));
        let (_, out, _) = warren(&["check", &file]);
        assert_eq!(out.matches("error[").count(), errors, "{subnets:?} {out}");
        assert!(out.contains(said), "{said}\n{out}");
        // The state of the same run has the same networks.
        let twin = write(folder.path(), "twin.json", &two_networks(other, subnets));
        let both = ["--owner".to_owned(), format!("x={file}"), "--owner".to_owned(), format!("x={twin}")];
        let words: Vec<&str> = ["check"].into_iter().chain(both.iter().map(String::as_str)).collect();
        let (_, twice, _) = warren(&words);
        assert_eq!(twice.matches("error[").count(), errors, "{subnets:?} {twice}");
        assert!(twice.contains(said), "{said}\n{twice}");
    }
}
