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
