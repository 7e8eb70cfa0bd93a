//! The three syntaxes read alike, and the own JSON reader takes what `serde_json` takes.

use proptest::prelude::*;
use warren_planfile::{Input, Source, read};

fn plan(name: &str, text: &str) -> warren_planfile::AddressPlan {
    match read(&Source { name, text, owner: None }) {
        Ok(Input::AddressPlan(plan)) => *plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn three_syntaxes_ask_the_same() {
    let yaml =
        plan("a.yaml", "pools:\n  p: [10.0.0.0/8]\nnetworks:\n  n: { pool: p, hosts: 200, growth: 1.5 }\n");
    let json = plan(
        "a.json",
        r#"{"pools": {"p": ["10.0.0.0/8"]}, "networks": {"n": {"pool": "p", "hosts": 200, "growth": 1.5}}}"#,
    );
    let toml =
        plan("a.toml", "pools.p = ['10.0.0.0/8']\n[networks.n]\npool = 'p'\nhosts = 200\ngrowth = 1.5\n");
    assert_eq!(yaml.request, json.request);
    assert_eq!(yaml.request, toml.request);
    assert_eq!(yaml.sites["n"].to_string(), "a.yaml:4:6: networks.n");
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    for (name, text) in [
        ("a.json", r#"{"networks": {"n": {"prefix": 8}, "n": {"prefix": 9}}}"#),
        ("a.yaml", "networks:\n  n: {prefix: 8}\n  n: {prefix: 9}\n"),
        ("a.toml", "[networks]\nn = {prefix = 8}\nn = {prefix = 9}\n"),
    ] {
        assert!(read(&Source { name, text, owner: None }).is_err(), "{name}");
    }
}

proptest! {
    /// Whether the text is JSON: both readers agree. The own reader says "not valid JSON" only for errors of syntax.
    #[test]
    fn json_is_what_serde_json_takes(text in r#"[\[\]{}",:0-9eE.+\\u\-a-f truefalsn\x00\n]{0,24}"#) {
        let own = match read(&Source { name: "a.json", text: &text, owner: None }) {
            Err(errors) => !errors.iter().any(|error| error.message.starts_with("not valid JSON")),
            Ok(_) => true,
        };
        prop_assert_eq!(own, serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{:?}", text);
    }

    /// Parts that nothing needs are passed over. They have the same errors, at the same place, as parts that are kept: where
    /// `serde_json` finds one.
    #[test]
    fn json_that_is_passed_over_is_what_is_kept(
        start in " {0,9}",
        text in r"[a-zé{}0-9,: ]{0,20}",
        mark in r#"|\\\\|\\"|\\x|\\u00e9|\\ud800|"|\x00|\x1f|\x7f|\n"#,
        end in r#"[a-zé ]{0,20}"?[, ]{0,2}"#,
    ) {
        let (mut found, mut valid) = (Vec::new(), true);
        for key in ["outputs", "outputz"] {
            let text = format!("{{\"{key}\":{start}[\"{text}{mark}{end}]}}");
            valid = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            let errors = read(&Source { name: "a.json", text: &text, owner: None }).unwrap_err();
            found.extend(errors.into_iter().find(|error| error.message.starts_with("not valid JSON")));
        }
        prop_assert_eq!(found.len(), if valid { 0 } else { 2 });
        prop_assert!(valid || found[0] == found[1], "{:?}", found);
    }

    #[test]
    fn quoted_texts_are_read_as_serde_json_reads_them(name in "\\PC{1,40}") {
        prop_assume!(!name.contains('/'));
        let key = serde_json::to_string(&name).unwrap();
        let read = plan("a.json", &format!("{{\"networks\": {{{key}: {{\"prefix\": 8}}}}}}"));
        prop_assert!(read.request.networks.contains_key(&name));
    }
}

/// The region of the resource comes first, and then that of its provider block.
#[test]
fn a_network_is_in_the_region_of_its_resource() {
    let text = serde_json::json!({
        "format_version": "1.2",
        "configuration": {
            "provider_config": {
                "warren": { "name": "warren", "expressions": { "aws": { "constant_value": { "region": "us-east-1" } } } },
                "aws.west": { "name": "aws", "expressions": { "region": { "constant_value": "us-west-2" } } },
            },
            "root_module": { "resources": [
                { "address": "warren_aws_vpc.home", "provider_config_key": "warren", "expressions": {} },
                { "address": "warren_aws_vpc.away", "provider_config_key": "warren", "expressions": {} },
                { "address": "warren_aws_vpc.later", "provider_config_key": "warren", "expressions": {} },
                { "address": "aws_vpc.west", "provider_config_key": "aws.west", "expressions": {} },
            ] },
        },
        "resource_changes": [
            created("warren_aws_vpc", "home", &serde_json::json!({}), &serde_json::json!({})),
            created("warren_aws_vpc", "away", &serde_json::json!({ "region": "eu-west-1" }), &serde_json::json!({})),
            created("warren_aws_vpc", "later", &serde_json::json!({}), &serde_json::json!({ "region": true })),
            created("aws_vpc", "west", &serde_json::json!({}), &serde_json::json!({})),
        ],
    });
    let text = text.to_string();
    let plan =
        warren_planfile::read_topology(&Source { name: "plan.json", text: &text, owner: None }).unwrap();
    let region = |key: &str| plan.after.networks[key].region.as_deref();
    assert_eq!(region("warren_aws_vpc.home"), Some("us-east-1"));
    assert_eq!(region("warren_aws_vpc.away"), Some("eu-west-1"));
    assert_eq!(region("warren_aws_vpc.later"), None);
    assert_eq!(region("aws_vpc.west"), Some("us-west-2"));
}

#[test]
fn a_cluster_is_a_host_with_several_machines_and_its_range_is_taken() {
    let cluster = |name: &str, count: serde_json::Value, unknown: &serde_json::Value| {
        let gpu = serde_json::json!({ "id": "NVIDIA H100", "count": count });
        let after =
            serde_json::json!({ "name": name, "pod_count": 4, "gpu": gpu, "network_cidr": "10.65.0.0/16" });
        created("warren_runpod_cluster", name, &after, unknown)
    };
    let none = serde_json::json!({});
    let text = serde_json::json!({ "format_version": "1.2", "resource_changes": [
        cluster("train", 8.into(), &none),
        cluster("tune", 1.into(), &serde_json::json!({ "network_cidr": true })),
        created("warren_runpod_pod", "one", &serde_json::json!({ "name": "one", "gpu": { "count": 1 } }), &none),
        created("warren_runpod_pod", "cpu", &serde_json::json!({ "name": "cpu" }), &none),
    ] })
    .to_string();
    let source = Source { name: "plan.json", text: &text, owner: None };
    let plan = warren_planfile::read_topology(&source).unwrap();
    let hosts =
        plan.after.hosts.values().map(|host| (host.head.name.as_str(), host.what.as_str(), host.machines));
    let expected = [
        ("train", "cluster of 4 pods with 8 GPUs each", 4),
        ("tune", "cluster of 4 pods with 1 GPU each", 4),
        ("cpu", "pod", 1),
        ("one", "pod with 1 GPU", 1),
    ];
    assert_eq!(hosts.collect::<Vec<_>>(), expected);
    let Ok(Input::Terraform { model, .. }) = read(&source) else { panic!("a plan") };
    let taken: Vec<String> =
        model.excluded.iter().map(|one| format!("{} {}", one.name, one.block.net)).collect();
    assert_eq!(taken, ["warren_runpod_cluster.train 10.65.0.0/16"]);
    assert_eq!(model.unknown, ["warren_runpod_cluster.tune.network_cidr"], "the range of a new cluster");
}

fn created(
    kind: &str,
    name: &str,
    after: &serde_json::Value,
    unknown: &serde_json::Value,
) -> serde_json::Value {
    serde_json::json!({
        "address": format!("{kind}.{name}"),
        "mode": "managed",
        "type": kind,
        "name": name,
        "change": { "actions": ["create"], "before": null, "after": after, "after_unknown": unknown },
    })
}
