//! Hints that can all be followed, and reasons where there is none.

use crate::{warren, warren_in, write};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A plan that creates or keeps these resources: address, attributes, whether it exists.
fn plan(resources: &[(String, Value, bool)]) -> String {
    let change = |(address, after, live): &(String, Value, bool)| {
        let (kind, name) = address.split_once('.').expect("an address");
        let actions = if *live { ["no-op"] } else { ["create"] };
        json!({"address": address, "mode": "managed", "type": kind, "name": name,
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {"actions": actions, "after": after, "after_unknown": {}}})
    };
    let changes: Vec<Value> = resources.iter().map(change).collect();
    json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}

fn vpc(name: &str, range: &str) -> (String, Value, bool) {
    (format!("aws_vpc.{name}"), json!({"id": format!("vpc-{name}"), "cidr_block": range}), false)
}

fn report(resources: &[(String, Value, bool)]) -> Value {
    let (_, out, err) =
        warren_in(&plan(resources), &["check", "-", "--format", "json", "--max-findings", "0"]);
    assert_eq!(err, "");
    serde_json::from_str(&out).expect("JSON")
}

/// The findings as address of the side to move, and its new range.
fn hints(report: &Value) -> Vec<(String, Option<String>)> {
    let findings = report["findings"].as_array().expect("findings");
    let hint = |finding: &Value| {
        let range = finding["hint"].as_str().and_then(|hint| hint.strip_prefix("use "));
        let range = range.and_then(|hint| hint.split(',').next()).map(str::to_owned);
        (finding["sides"][0]["name"].as_str().expect("a name").to_owned(), range)
    };
    findings.iter().map(hint).collect()
}

#[test]
fn no_two_hints_propose_the_same_range() {
    let all: Vec<_> = (0..120).map(|at| vpc(&format!("v{at}"), &format!("10.{}.0.0/16", at % 60))).collect();
    let hints = hints(&report(&all));
    let ranges: BTreeSet<&String> = hints.iter().filter_map(|(_, range)| range.as_ref()).collect();
    // The 51st conflict and those after it have hints, too.
    assert_eq!((hints.len(), ranges.len()), (60, 60), "{hints:?}");
}

#[test]
fn what_exists_stays() {
    for (a, b, moves) in [(true, false, "aws_vpc.b"), (false, true, "aws_vpc.a")] {
        let mut both = [vpc("a", "10.0.0.0/16"), vpc("b", "10.0.0.0/16")];
        (both[0].2, both[1].2) = (a, b);
        assert_eq!(hints(&report(&both)), [(moves.to_owned(), Some("10.1.0.0/16".to_owned()))]);
    }
}

#[test]
fn a_default_vpc_stays() {
    let default = |name: &str| {
        let values = json!({"id": format!("vpc-{name}"), "cidr_block": "172.31.0.0/16"});
        (format!("aws_default_vpc.{name}"), values, false)
    };
    let (_, out, _) = warren_in(&plan(&[default("d"), vpc("a", "172.31.0.0/16")]), &["check", "-"]);
    assert!(
        out.contains("warning[overlap]: aws_vpc.a (172.31.0.0/16) has the same range as aws_default_vpc.d"),
        "{out}"
    );
    assert!(out.contains("hint: use 172.30.0.0/16, the nearest free range of this size; a default VPC cannot be renumbered\n"), "{out}");
    let (_, out, _) = warren_in(&plan(&[default("d"), default("e")]), &["check", "-"]);
    assert!(out.contains("no range is proposed: AWS gives every default VPC the same range"), "{out}");
    assert!(out.contains("hint: delete the default VPC, or replace it with a VPC of another range"), "{out}");
}

#[test]
fn a_missing_hint_has_a_reason() {
    for (range, said) in [
        ("10.0.0.0/7", "10.0.0.0/7 is not private"),
        ("8.8.0.0/16", "8.8.0.0/16 is not private, so it is not known which ranges are free"),
        ("10.0.0.0/8", "no free /8 in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16"),
    ] {
        let (_, out, _) = warren_in(&plan(&[vpc("a", range), vpc("b", range)]), &["check", "-"]);
        assert!(out.contains(&format!("no range is proposed: {said}")), "{out}");
    }
    // A subnet that is as large as its network.
    let mut all = vec![vpc("a", "10.0.0.0/16")];
    for name in ["x", "y"] {
        let values = json!({"id": name, "vpc_id": "vpc-a", "cidr_block": "10.0.0.0/16"});
        all.push((format!("aws_subnet.{name}"), values, false));
    }
    let (_, out, _) = warren_in(&plan(&all), &["check", "-"]);
    assert!(out.contains("no range is proposed: no free /16 in 10.0.0.0/16"), "{out}");
}

/// The nearest range may be one that the cloud advises against.
#[test]
fn hints_are_ranges_that_the_cloud_allows() {
    let both = [vpc("a", "172.16.0.0/16"), vpc("b", "172.16.0.0/16")];
    assert_eq!(hints(&report(&both))[0].1.as_deref(), Some("172.18.0.0/16"));
}

/// An entry of an address plan and the network in it move together.
#[test]
fn a_network_moves_with_its_reservation() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "plan.json", &plan(&[vpc("n", "10.0.0.0/16")]));
    let own = write(folder.path(), "own.yaml", "networks: {n: {cidr: 10.0.0.0/16}}");
    let subnets = "{a: {cidr: 10.0.0.0/24}, b: {cidr: 10.0.1.0/24}}";
    let text = format!("owner: other\nnetworks: {{wide: {{cidr: 10.0.0.0/14, subnets: {subnets}}}}}");
    let other = write(folder.path(), "other.yaml", &text);
    let owned = |file: &str| format!("team={file}");
    let (_, out, _) = warren(&["check", "--owner", &owned(&file), "--owner", &owned(&own), &other]);
    assert_eq!(out.matches("hint: use 10.4.0.0/16").count(), 2, "{out}");
}

fn any_plan() -> impl Strategy<Value = Vec<(String, Value, bool)>> {
    let one = (16..19u8, 0..12u32, any::<bool>(), prop::collection::vec(0..6u32, 0..3));
    prop::collection::vec(one, 1..7).prop_map(|all| {
        let mut found = Vec::new();
        for (at, (prefix, slot, live, subnets)) in all.into_iter().enumerate() {
            let start = ((10 << 24) | (slot << 14)) & (u32::MAX << (32 - prefix));
            let range = |start: u32, prefix: u8| format!("{}/{prefix}", std::net::Ipv4Addr::from(start));
            let (address, values, _) = vpc(&format!("v{at}"), &range(start, prefix));
            found.push((address, values, live));
            for (index, place) in subnets.into_iter().enumerate() {
                let values = json!({"id": format!("s{at}-{index}"), "vpc_id": format!("vpc-v{at}"),
                    "cidr_block": range(start + (place << 8), 24)});
                found.push((format!("aws_subnet.v{at}_{index}"), values, live));
            }
        }
        found
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// Follows every hint. Subnets without one keep their offset in their network.
    #[test]
    fn following_all_hints_leaves_no_conflict(mut resources in any_plan()) {
        let mut new = BTreeMap::new();
        for (name, range) in hints(&report(&resources)) {
            // The planner counts networks that will move as taken inside another network, so a subnet may get no hint.
            prop_assume!(range.is_some());
            let range = range.unwrap_or_default();
            let known = new.insert(name.clone(), range.clone());
            prop_assert!(known.is_none_or(|known| known == range), "{name} has two hints");
        }
        let start = |text: &str| {
            let address: std::net::Ipv4Addr = text.split('/').next().expect("an address").parse().expect("an address");
            u32::from(address)
        };
        let mut offsets = BTreeMap::new();
        for (address, values, _) in &mut resources {
            let old = values["cidr_block"].as_str().expect("a range").to_owned();
            let offset = offsets.get(&values["vpc_id"].to_string()).copied().unwrap_or(0);
            let moved = format!("{}/{}", std::net::Ipv4Addr::from(start(&old).wrapping_add(offset)), old.split('/').next_back().expect("a prefix"));
            let next = new.get(address.as_str()).cloned().unwrap_or(moved);
            if address.starts_with("aws_vpc.") {
                offsets.insert(values["id"].to_string(), start(&next).wrapping_sub(start(&old)));
            }
            values["cidr_block"] = json!(next);
        }
        let after = report(&resources);
        prop_assert_eq!(&after["findings"], &json!([]));
    }
}
