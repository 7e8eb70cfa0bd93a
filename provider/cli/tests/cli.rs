//! The command, run through the library with captured output.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::ffi::OsString;
use warren_cli::{FINDINGS, FINE, Streams, UNUSABLE, run};

/// Exit code, standard output, standard error; inputs are named relative to the fixtures.
fn warren_in(stdin: &str, arguments: &[&str]) -> (u8, String, String) {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../planfile/tests/fixtures/");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/address-plan/");
    let words = std::iter::once("warren".to_owned())
        .chain(arguments.iter().map(|word| word.replace("F:", fixtures).replace("E:", examples)));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = stdin.as_bytes();
    let streams = Streams { stdin: &mut stdin, stdout: &mut out, stderr: &mut err, colour: false };
    let code = run(words.map(OsString::from), streams);
    let text =
        |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(fixtures, "").replace(examples, "");
    (code, text(out), text(err))
}

fn warren(arguments: &[&str]) -> (u8, String, String) {
    warren_in("", arguments)
}

#[test]
fn a_good_plan_is_fine_in_both_syntaxes() {
    for file in ["E:network.yaml", "E:network.toml"] {
        let (code, out, err) = warren(&["check", file]);
        assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    }
    let (_, yaml, _) = warren(&["plan", "E:network.yaml", "--format", "json"]);
    let (_, toml, _) = warren(&["plan", "E:network.toml", "--format", "json"]);
    assert_eq!(yaml, toml);
    insta::assert_snapshot!(warren(&["plan", "E:network.yaml"]).1);
}

#[test]
fn every_rule_of_an_aws_plan() {
    let (code, out, _) = warren(&["check", "F:plan_aws.json"]);
    assert_eq!(code, FINDINGS);
    assert!(!out.contains("10.77"), "a sensitive range was printed");
    assert!(!out.contains("aws_vpc.gone"), "a deleted network was counted");
    insta::assert_snapshot!(out);
}

#[test]
fn google_plan() {
    let (code, out, _) = warren(&["check", "F:plan_google.json"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
}

/// A plan that creates these resources: type, name, attributes.
fn planned(resources: &[(&str, &str, Value)]) -> String {
    let changes = resources.iter().map(|(kind, name, after)| {
        let provider = if kind.starts_with("aws_") { "aws" } else { "google" };
        json!({
            "address": format!("{kind}.{name}"), "mode": "managed", "type": kind, "name": name,
            "provider_name": format!("registry.terraform.io/hashicorp/{provider}"),
            "change": {
                "actions": ["create"], "before": null, "after": after, "after_unknown": {},
                "before_sensitive": false, "after_sensitive": {},
            },
        })
    });
    let changes: Vec<Value> = changes.collect();
    json!({"format_version": "1.2", "terraform_version": "1.11.4", "resource_changes": changes}).to_string()
}

const HUB: &str = "projects/acme/global/networks/hub";

/// RunPod isolates the networks of clusters from each other, but their pods reach no network with the same addresses.
#[test]
fn the_range_of_a_cluster_is_compared_with_networks_only() {
    let cluster =
        |name| ("warren_runpod_cluster", name, json!({"name": name, "network_cidr": "10.65.0.0/16"}));
    let vpc = |range: &str| ("aws_vpc", "lab", json!({"cidr_block": range}));
    let plan = planned(&[cluster("a"), cluster("b"), vpc("10.66.0.0/16")]);
    let (code, out, err) = warren_in(&plan, &["check", "-"]);
    assert_eq!(code, FINE, "{out}{err}");
    let (code, out, err) = warren_in(&planned(&[cluster("a"), vpc("10.65.8.0/21")]), &["check", "-"]);
    assert_eq!(code, FINDINGS, "{out}{err}");
    insta::assert_snapshot!(out);
}

/// Every attribute of hashicorp/google that holds a range, against a VPC of AWS that has it already.
#[test]
fn google_ranges_of_every_kind_are_compared() {
    let network = ("google_compute_network", "hub", json!({"name": "hub", "id": HUB}));
    let cluster =
        |block: &str, key: &str| json!({"name": "c", "network": HUB, block: [{key: "10.60.8.0/21"}]});
    let table = [
        (
            "google_compute_subnetwork",
            "ip_cidr_range",
            json!({"network": HUB, "ip_cidr_range": "10.60.8.0/21"}),
        ),
        (
            "google_compute_subnetwork",
            "secondary_ip_range[0].ip_cidr_range",
            json!({"network": HUB, "ip_cidr_range": "10.9.0.0/24",
                "secondary_ip_range": [{"range_name": "pods", "ip_cidr_range": "10.60.8.0/21"}]}),
        ),
        (
            "google_compute_global_address",
            "address",
            json!({"network": HUB, "purpose": "VPC_PEERING", "address": "10.60.8.0", "prefix_length": 21}),
        ),
        (
            "google_container_cluster",
            "cluster_ipv4_cidr",
            json!({"network": HUB, "cluster_ipv4_cidr": "10.60.8.0/21"}),
        ),
        (
            "google_container_cluster",
            "private_cluster_config[0].master_ipv4_cidr_block",
            cluster("private_cluster_config", "master_ipv4_cidr_block"),
        ),
        (
            "google_container_cluster",
            "ip_allocation_policy[0].cluster_ipv4_cidr_block",
            cluster("ip_allocation_policy", "cluster_ipv4_cidr_block"),
        ),
        (
            "google_container_cluster",
            "ip_allocation_policy[0].services_ipv4_cidr_block",
            cluster("ip_allocation_policy", "services_ipv4_cidr_block"),
        ),
    ];
    for (kind, path, after) in table {
        let vpc = |cidr: &str| ("aws_vpc", "lab", json!({"cidr_block": cidr}));
        let check = |cidr: &str| {
            let plan = planned(&[network.clone(), vpc(cidr), (kind, "one", after.clone())]);
            warren_in(&plan, &["check", "-", "--strict"])
        };
        let (code, out, err) = check("10.60.0.0/16");
        assert_eq!(code, FINDINGS, "{kind}.{path}: {out}{err}");
        assert!(out.contains("10.60.8.0/21") && out.contains("aws_vpc.lab"), "{out}");
        assert!(out.contains(&format!("{kind}.one.{path}")), "no {path} in {out}");
        let (code, out, err) = check("10.70.0.0/16");
        assert_eq!(code, FINE, "{kind}.{path}: {out}{err}");
    }
    // Ranges of one network, and of two that are peered.
    let subnet = |network: &str, name: &'static str, range: &str| {
        ("google_compute_subnetwork", name, json!({"network": network, "ip_cidr_range": range}))
    };
    let spoke = "projects/acme/global/networks/spoke";
    let two = ("google_compute_network", "spoke", json!({"name": "spoke", "id": spoke}));
    let peering =
        ("google_compute_network_peering", "p", json!({"name": "p", "network": HUB, "peer_network": spoke}));
    for (one, other, code) in [("10.1.0.0/20", "10.1.8.0/24", FINDINGS), ("10.1.0.0/20", "10.2.0.0/20", FINE)]
    {
        let plan = planned(&[network.clone(), subnet(HUB, "a", one), subnet(HUB, "b", other)]);
        assert_eq!(warren_in(&plan, &["check", "-"]).0, code);
        let plan = planned(&[
            network.clone(),
            two.clone(),
            peering.clone(),
            subnet(HUB, "a", one),
            subnet(spoke, "b", other),
        ]);
        assert_eq!(warren_in(&plan, &["check", "-"]).0, code);
    }
}

/// Cloud NAT, and peering of one and of both sides, as a policy sees them.
#[test]
fn google_paths_follow_from_nat_and_from_both_sides_of_a_peering() {
    let folder = tempfile::tempdir().unwrap();
    let link = |name: &str| format!("projects/acme/global/networks/{name}");
    let network =
        |name: &'static str| ("google_compute_network", name, json!({"name": name, "id": link(name)}));
    let subnet = |network: &'static str, range: &str| {
        let after = json!({"name": network, "network": link(network), "ip_cidr_range": range});
        ("google_compute_subnetwork", network, after)
    };
    let open = |network: &'static str| {
        let after = json!({"name": network, "network": link(network), "direction": "INGRESS",
            "source_ranges": ["10.0.0.0/8"], "allow": [{"protocol": "all"}]});
        ("google_compute_firewall", network, after)
    };
    let side = |name: &'static str, from: &str, to: &str| {
        let after = json!({"name": name, "network": link(from), "peer_network": link(to)});
        ("google_compute_network_peering", name, after)
    };
    let mut plan = vec![network("hub"), network("data"), network("ml")];
    plan.extend([subnet("hub", "10.0.0.0/20"), subnet("data", "10.1.0.0/20"), subnet("ml", "10.2.0.0/20")]);
    plan.extend([open("hub"), open("data"), open("ml"), side("a", "data", "hub")]);
    let holds = |plan: &[(&str, &str, Value)], from: &str, to: &str| {
        let (file, policy) = (folder.path().join("plan.json"), folder.path().join("policy.yaml"));
        std::fs::write(&file, planned(plan)).unwrap();
        let rule =
            format!("{{name: x, from: {from:?}, to: {to:?}, protocol: tcp, port: 443, expect: reachable}}");
        std::fs::write(&policy, format!("assertions: [{rule}]\n")).unwrap();
        let (code, out, err) =
            warren(&["check", file.to_str().unwrap(), "--policy", policy.to_str().unwrap()]);
        assert!(code == FINE || code == FINDINGS, "{out}{err}");
        (code == FINE, out)
    };
    assert!(!holds(&plan, "network:data", "network:hub").0, "a peering with one side is not active");
    plan.extend([side("b", "hub", "data"), side("c", "hub", "ml"), side("d", "ml", "hub")]);
    for (from, to) in [("data", "hub"), ("hub", "data"), ("ml", "hub")] {
        let (held, told) = holds(&plan, &format!("network:{from}"), &format!("network:{to}"));
        assert!(held, "{from} to {to}: {told}");
    }
    let (held, told) = holds(&plan, "network:data", "network:ml");
    assert!(
        !held && told.contains("data and ml are both peered with hub, and peering is not transitive"),
        "{told}"
    );

    assert!(!holds(&plan, "network:hub", "internet").0);
    let router = json!({"name": "r", "region": "us-central1", "network": link("hub")});
    let nat = json!({"name": "n", "router": "r", "region": "us-central1",
        "source_subnetwork_ip_ranges_to_nat": "ALL_SUBNETWORKS_ALL_IP_RANGES"});
    plan.extend([("google_compute_router", "r", router), ("google_compute_router_nat", "n", nat)]);
    assert!(holds(&plan, "network:hub", "internet").0);
    assert!(!holds(&plan, "network:data", "internet").0, "the hub's Cloud NAT serves no spoke");
}

#[test]
fn a_state_is_fine_alone_and_overlaps_another_repo() {
    assert_eq!(warren(&["check", "F:state_aws.json"]).0, FINE);
    let (code, out, _) = warren(&["check", "F:state_aws.json", "F:plan_aws.json", "--format", "json"]);
    assert_eq!(code, FINDINGS);
    let report: Value = serde_json::from_str(&out).unwrap();
    let across = report["findings"].as_array().unwrap().iter().filter(|finding| {
        let names: Vec<&str> =
            finding["sides"].as_array().unwrap().iter().filter_map(|side| side["name"].as_str()).collect();
        finding["rule"] == "overlap" && names.contains(&"aws_vpc.main") && names.contains(&"aws_vpc.a")
    });
    assert_eq!(across.count(), 1);
}

#[test]
fn owners_and_claims() {
    let stdin = r#"{"networks": {"a": {"cidr": "10.0.0.0/16"}}}"#;
    let (code, out, _) = warren_in(stdin, &["check", "-", "F:state_aws.json"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
    let same = ["check", "--owner", "me=-", "--owner", "me=F:state_aws.json"];
    assert_eq!(warren_in(stdin, &same).0, FINE);
    let (code, out, _) = warren(&["check", "F:plan_google.json", "--claims", "F:claims.json"]);
    assert_eq!(code, FINDINGS);
    assert!(out.contains("(owner team-b)"), "{out}");
}

#[test]
fn warrens_own_resources() {
    let (code, out, _) = warren(&["check", "F:plan_warren.json"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
    assert_eq!(
        warren(&["check", "--claims", "F:claims.json"]).0,
        FINE,
        "claims of one file are not compared"
    );
}

#[test]
fn refused_input() {
    let (code, out, err) = warren(&["check", "F:bad.yaml"]);
    assert_eq!((code, out.as_str()), (UNUSABLE, ""));
    insta::assert_snapshot!(err);
    assert_eq!(warren(&["check"]).0, UNUSABLE);
    assert_eq!(warren(&["check", "F:missing.json"]).0, UNUSABLE);
}

#[test]
fn infeasible_and_host_bits() {
    let (code, out, _) = warren(&["check", "F:infeasible.yaml", "F:hostbits.toml"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
    assert_eq!(warren(&["plan", "F:infeasible.yaml"]).0, FINDINGS);
}

#[test]
fn sarif_has_what_code_scanning_needs() {
    // Owners are named: a fingerprint holds the owner, which is else the path of the file.
    let inputs = ["--owner", "g=F:plan_google.json", "--owner", "h=F:hostbits.toml"];
    let (code, out, _) = warren(&[&["check", "--format", "sarif"], &inputs[..]].concat());
    assert_eq!(code, FINDINGS);
    let log: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
        assert!(place["artifactLocation"]["uri"].is_string());
        assert_eq!(result["partialFingerprints"]["warren/v1"].as_str().unwrap().len(), 16);
    }
    insta::assert_snapshot!(out);
}

#[test]
fn warnings_fail_only_when_strict() {
    let stdin = "networks: { a: { cidr: 172.17.0.0/16, cloud: aws } }";
    let (code, out, _) = warren_in(stdin, &["check", "-"]);
    assert_eq!(code, FINE, "{out}");
    assert!(out.contains("warning[service-block]"), "{out}");
    assert_eq!(warren_in(stdin, &["check", "-", "--strict"]).0, FINDINGS);
}

#[test]
fn help_and_explain() {
    let (code, out, _) = warren(&["check", "--help"]);
    assert_eq!(code, FINE);
    insta::assert_snapshot!(out);
    insta::assert_snapshot!("explain", warren(&["check", "--explain", "overlap"]).1);
}

#[test]
fn the_earlier_plan_stays() {
    let directory = tempfile::tempdir().unwrap();
    let old = directory.path().join("old.json");
    std::fs::write(&old, r#"{"networks": {"a": "10.0.64.0/20"}}"#).unwrap();
    let stdin = "pools: { p: [10.0.0.0/16] }\nnetworks: { a: { pool: p, prefix: 20 } }";
    let (code, out, _) = warren_in(stdin, &["plan", "-", "--previous", old.to_str().unwrap()]);
    assert_eq!(code, FINE);
    assert!(out.contains("10.0.64.0/20"), "{out}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let name = format!("\\u001b[31mred\\u202e{}", "x".repeat(10_000));
    let stdin =
        format!(r#"{{"networks": {{"{name}": {{"cidr": "10.0.0.1/16"}}, "b": {{"cidr": "10.0.0.0/16"}}}}}}"#);
    let (code, out, _) = warren_in(&stdin, &["check", "-"]);
    assert_eq!(code, FINDINGS);
    assert!(!out.contains(['\u{1b}', '\u{202e}']));
    assert!(out.len() < 6_000, "{}", out.len());
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[".repeat(100_000), format!("{{\"a\":{}", "{\"a\":".repeat(50_000)), "{a: ".repeat(5_000)] {
        assert_eq!(warren_in(&text, &["check", "-"]).0, UNUSABLE);
    }
}

/// A plan of as many networks and subnets as there are numbers, in the order of `order`.
fn shuffled(ranges: &[(u8, u8)], order: &[usize]) -> String {
    let changes: Vec<Value> = order
        .iter()
        .map(|&index| {
            let (octet, bits) = ranges[index];
            let net = format!("10.{}.0.0/{}", u32::from(octet) & !((1 << (16 - bits)) - 1), bits);
            serde_json::json!({"address": format!("aws_vpc.v{index}"), "mode": "managed", "type": "aws_vpc",
                "name": format!("v{index}"),
                "change": {"actions": ["create"], "after": {"cidr_block": net}, "after_unknown": {"id": true}}})
        })
        .collect();
    serde_json::json!({"format_version": "1.2", "resource_changes": changes}).to_string()
}

/// As many networks as asked for, all with one range.
fn identical(count: usize) -> String {
    let order: Vec<usize> = (0..count).collect();
    shuffled(&vec![(0, 16); count], &order)
}

#[test]
fn a_report_as_json() {
    let (code, out, _) = warren(&["check", "F:plan_google.json", "F:hostbits.toml", "--format", "json"]);
    assert_eq!(code, FINDINGS);
    insta::assert_snapshot!(out);
}

#[test]
fn of_very_many_findings_some_are_listed_and_all_are_counted() {
    let stdin = identical(1_000);
    let (code, out, _) = warren_in(&stdin, &["check", "-", "--format", "json", "--strict"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, FINDINGS);
    assert_eq!(report["warnings"], 499_500);
    assert_eq!(report["omitted"], 498_500);
    assert_eq!(report["findings"].as_array().unwrap().len(), 1_000);
    let (_, out, _) = warren_in(&stdin, &["check", "-", "--format", "sarif", "--max-findings", "10"]);
    let log: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 10);
    assert_eq!(log["runs"][0]["properties"]["omitted"], 499_490);
    insta::assert_snapshot!(
        log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .unwrap()
    );
    let all = warren_in(&identical(50), &["check", "-", "--format", "json", "--max-findings", "0"]).1;
    let report: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 1_225);
    assert_eq!(report["omitted"], 0);
}

#[test]
fn many_conflicts_of_one_network_are_one_paragraph() {
    let (_, out, _) = warren_in(&identical(6), &["check", "-", "--max-findings", "13", "--quiet"]);
    insta::assert_snapshot!(out);
}

#[test]
fn a_plan_with_very_many_contradictions_counts_them() {
    let networks: Vec<String> = (0..100).map(|at| format!("n{at}: {{ cidr: 10.0.0.0/16 }}")).collect();
    let stdin = format!("networks: {{ {} }}", networks.join(", "));
    for words in [&["check", "-", "--format", "json"][..], &["plan", "-", "--format", "json"]] {
        let (code, out, _) = warren_in(&stdin, words);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(code, FINDINGS);
        assert_eq!((&report["errors"], &report["omitted"]), (&Value::from(4_950), &Value::from(3_950)));
        assert_eq!(report["findings"].as_array().unwrap().len(), 1_000);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "format_version",
        "1.2",
        "resource_changes",
        "change",
        "actions",
        "create",
        "after",
        "after_unknown",
        "address",
        "aws_vpc.a",
        "type",
        "aws_vpc",
        "aws_subnet",
        "name",
        "a",
        "mode",
        "managed",
        "cidr_block",
        "10.0.0.0/16",
        "vpc_id",
        "configuration",
        "root_module",
        "networks",
        "pools",
        "cidr",
        "\u{1b}[0m",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_order_of_resources_does_not_show(
        (ranges, order) in prop::collection::vec((any::<u8>(), 8_u8..=16), 1..12).prop_flat_map(|ranges| {
            let order: Vec<usize> = (0..ranges.len()).collect();
            (Just(ranges), Just(order).prop_shuffle())
        })
    ) {
        let sorted: Vec<usize> = (0..ranges.len()).collect();
        for (format, most) in [("human", "1000"), ("json", "1000"), ("sarif", "1000"), ("json", "3")] {
            let words = ["check", "-", "--format", format, "--max-findings", most];
            prop_assert_eq!(
                warren_in(&shuffled(&ranges, &sorted), &words),
                warren_in(&shuffled(&ranges, &order), &words)
            );
        }
    }

    #[test]
    fn every_overlapping_pair_is_counted_whatever_is_listed(
        ranges in prop::collection::vec((any::<u8>(), 8_u8..=16), 1..40),
        most in 1_usize..20,
    ) {
        let order: Vec<usize> = (0..ranges.len()).collect();
        let text = shuffled(&ranges, &order);
        let counted = |most: &str| {
            let (_, out, _) = warren_in(&text, &["check", "-", "--format", "json", "--max-findings", most]);
            serde_json::from_str::<Value>(&out).unwrap()
        };
        let (all, some) = (counted("0"), counted(&most.to_string()));
        let nets: Vec<(u32, u32)> = ranges.iter().map(|&(octet, bits)| {
            let start = u32::from(octet) & !((1 << (16 - bits)) - 1);
            (start, start + (1 << (16 - bits)) - 1)
        }).collect();
        let pairs = (0..nets.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let brute = pairs.filter(|&(i, j)| nets[i].0 <= nets[j].1 && nets[j].0 <= nets[i].1).count();
        let listed = all["findings"].as_array().unwrap();
        prop_assert_eq!(listed.iter().filter(|finding| finding["rule"] == "overlap").count(), brute);
        prop_assert_eq!(&all["omitted"], 0);
        prop_assert_eq!((&some["errors"], &some["warnings"]), (&all["errors"], &all["warnings"]));
        let shown = some["findings"].as_array().unwrap().len();
        prop_assert_eq!(shown, listed.len().min(most));
        prop_assert_eq!(&some["omitted"], listed.len() - shown);
    }

    #[test]
    fn the_order_of_files_does_not_show(swap in any::<bool>()) {
        let files = if swap { ["F:plan_aws.json", "F:plan_google.json"] } else { ["F:plan_google.json", "F:plan_aws.json"] };
        let one = warren(&["check", "F:plan_aws.json", "F:plan_google.json"]);
        prop_assert_eq!(one, warren(&["check", files[0], files[1]]));
    }

    #[test]
    fn no_json_panics(mut value in any_json()) {
        if let Value::Object(map) = &mut value {
            map.insert("format_version".into(), "1.2".into());
        }
        let (code, _, _) = warren_in(&value.to_string(), &["check", "-"]);
        prop_assert!(code <= UNUSABLE);
    }
}

/// The new network needs a block that ranges of the earlier plan cut up: with `--allow-renumber`, one of them moves.
#[test]
fn as_few_ranges_as_possible_move() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let plan = file(
        "plan.yaml",
        "pools: { p: [10.0.0.0/24] }\nnetworks:\n  a: { pool: p, prefix: 26 }\n  b: { pool: p, prefix: 26 }\n  new: { pool: p, prefix: 25 }\n",
    );
    let before = file("before.json", r#"{"networks": {"a": "10.0.0.0/26", "b": "10.0.0.128/26"}}"#);
    let (code, out, _) = warren(&["plan", &plan, "--previous", &before]);
    assert_eq!(code, FINDINGS, "{out}");
    assert!(out.contains("warren plan --allow-renumber"), "{out}");
    let (code, out, err) = warren(&["plan", &plan, "--previous", &before, "--allow-renumber"]);
    assert_eq!((code, err.as_str()), (FINE, ""), "{out}");
    assert_eq!(out.lines().filter(|line| line.starts_with("moved: ")).count(), 1, "{out}");
    let (code, _, err) = warren(&["plan", &plan, "--allow-renumber"]);
    assert_eq!(code, UNUSABLE);
    assert!(err.contains("--previous"), "{err}");
    let limited = warren(&["plan", &plan, "--previous", &before, "--allow-renumber", "--time-limit", "60"]);
    assert_eq!(limited.1, out);
}
