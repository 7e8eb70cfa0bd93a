use std::collections::BTreeSet;

use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::{Direction, Traffic};
use super::*;

fn rule() -> Firewall {
    Firewall {
        direction: Direction::Ingress.into(),
        allow: Attr::Known(BTreeSet::from([Traffic { protocol: "tcp".into(), ports: Attr::Null }])),
        source_ranges: sets::of(["10.0.0.0/8".to_owned()]),
        ..Firewall::default()
    }
}

fn told(rule: &Firewall) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    check::rule(rule, &mut diagnostics);
    diagnostics.0.into_iter().map(|d| format!("{}: {}", d.path.unwrap_or_default(), d.detail)).collect()
}

#[test]
fn what_google_refuses_is_told() {
    assert_eq!(told(&rule()), Vec::<String>::new());
    assert_eq!(
        told(&Firewall { allow: Attr::Unknown, source_ranges: Attr::Unknown, ..rule() }),
        Vec::<String>::new()
    );
    let wrong = [
        Firewall { allow: Attr::Null, ..rule() },
        Firewall { source_ranges: Attr::Null, ..rule() },
        Firewall { direction: Direction::Egress.into(), ..rule() },
        Firewall { source_ranges: sets::of(["10.0.0.1/8".to_owned()]), ..rule() },
        Firewall {
            source_tags: sets::of(["a".to_owned()]),
            target_service_accounts: sets::of(["b@p.iam.gserviceaccount.com".to_owned()]),
            ..rule()
        },
    ];
    let told: Vec<String> = wrong.iter().map(|rule| told(rule).join("\n")).collect();
    insta::assert_snapshot!(told.join("\n---\n"));
}

/// `later` stands for what Google's API gets after this provider was built.
#[test]
fn a_change_keeps_what_the_resource_does_not_have() {
    let found = serde_json::json!({
        "name": "data",
        "network": "projects/p/global/networks/hub",
        "direction": "INGRESS",
        "priority": 1000,
        "allowed": [{"IPProtocol": "tcp", "ports": ["443"], "later": 1}],
        "sourceRanges": ["10.0.0.0/8"],
        "logConfig": {"enable": true, "metadata": "INCLUDE_ALL_METADATA", "later": 2},
        "disabled": false,
        "later": 3,
    });
    let mut planned = rule();
    planned.object.name = "data".into();
    planned.network = "projects/p/global/networks/hub".parse::<crate::link::NetworkRef>().unwrap().into();
    planned.priority = 900.into();
    let mut expected = found.clone();
    expected["description"] = "ours".into();
    expected["priority"] = 900.into();
    expected["allowed"][0].as_object_mut().unwrap().remove("ports");
    // Google accepts metadata only while logging is enabled.
    expected["logConfig"] = serde_json::json!({"enable": false, "later": 2});
    let before = serde_json::from_value(found).unwrap();
    assert_eq!(serde_json::to_value(api::body(&planned, "ours", before).unwrap()).unwrap(), expected);
}
