use tf_provider_rs::{Attr, Context, Resource};

use super::model::{Ingress, Protocol};
use super::rules::{Grant, Peer};
use super::*;
use crate::common::tests::{known, named};
use crate::session::tests::session;
use ipnet::Ipv4Net;
use std::collections::BTreeSet;
use warren_managed::{Managed, sets::Set};

type Rule = model::Rule<Ingress>;

fn set<const N: usize>(items: [&str; N]) -> Set<Ipv4Net> {
    Attr::Known(items.into_iter().map(known).collect())
}

fn https<const N: usize>(ranges: [&str; N]) -> Rule {
    Rule {
        protocol: Protocol::Tcp.into(),
        from_port: 443.into(),
        to_port: 443.into(),
        cidr_blocks: set(ranges),
        same_group: false.into(),
        ..Rule::default()
    }
}

fn group(ingress: Vec<Rule>) -> SecurityGroup {
    let ingress = Attr::Known(ingress.into_iter().collect());
    SecurityGroup { object: named("endpoints"), ingress, ..SecurityGroup::default() }
}

async fn told(config: &SecurityGroup) -> String {
    let resource = Managed::<SecurityGroup>::new(&session([]).await);
    let mut diagnostics = Diagnostics::default();
    resource.validate(config, &mut diagnostics).await;
    let told: Vec<String> = diagnostics.0.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect();
    told.join("\n")
}

#[tokio::test]
async fn the_internet_is_refused_unless_allowed() {
    let mut config = group(vec![https(["0.0.0.0/0", "10.0.0.0/8", "203.0.113.7/32"])]);
    insta::assert_snapshot!(told(&config).await);
    config.allow_public_ingress = true.into();
    assert_eq!(told(&config).await, "");
    let session = session([]).await;
    let mut diagnostics = Diagnostics::default();
    let mut change = Change {
        prior: None,
        config: config.clone(),
        planned: config,
        requires_replace: Vec::new(),
        deferred: None,
    };
    Managed::<SecurityGroup>::new(&session).plan(&Context::default(), &mut change, &mut diagnostics).await;
    insta::assert_snapshot!(diagnostics.0[0].detail);
    assert!(!diagnostics.has_error());
}

#[tokio::test]
async fn rules_are_checked() {
    let nobody = Rule { cidr_blocks: Attr::Null, ..https([]) };
    let no_ports = Rule { to_port: Attr::Null, ..https(["10.1.0.0/16"]) };
    let reversed = Rule { from_port: 500.into(), ..https(["10.2.0.0/16"]) };
    let all = Rule { protocol: Protocol::All.into(), ..https(["10.3.0.0/16"]) };
    let ping = Rule { protocol: Protocol::Icmp.into(), to_port: (-1).into(), ..https(["10.4.0.0/16"]) };
    let twice = https(["10.5.0.0/16"]);
    let rules =
        vec![nobody, no_ports, reversed, all, ping, twice.clone(), Rule { description: "b".into(), ..twice }];
    insta::assert_snapshot!(told(&group(rules)).await);
}

#[tokio::test]
async fn what_is_unknown_is_not_refused() {
    let later =
        Rule { from_port: Attr::Unknown, to_port: Attr::Unknown, cidr_blocks: Attr::Unknown, ..https([]) };
    let mut config = group(vec![later]);
    config.egress = Attr::Unknown;
    assert_eq!(told(&config).await, "");
}

#[test]
fn found_rules_are_grouped_as_before() {
    let id = "sg-1".parse().unwrap();
    let before = BTreeSet::from([
        https(["10.0.0.0/8", "192.168.0.0/16"]),
        Rule { same_group: true.into(), ..https([]) },
    ]);
    let found = rules::grants(before.iter(), &id);
    assert_eq!(found.len(), 3);
    assert_eq!(rules::grouped(found.clone(), before.iter(), &id), before);

    let all = Rule { same_group: true.into(), ..https(["10.0.0.0/8", "192.168.0.0/16"]) };
    assert_eq!(
        rules::grouped(found.clone(), std::iter::empty::<&Rule>(), &id),
        BTreeSet::from([Rule {
            prefix_list_ids: Attr::Null,
            security_group_ids: Attr::Null,
            ipv6_cidr_blocks: Attr::Null,
            ..all
        }]),
        "an imported group has one rule for each protocol, ports and description"
    );

    let mut drifted = found;
    let grant = |port, range: &str| Grant {
        protocol: Protocol::Tcp,
        ports: Some((port, port)),
        peer: Peer::Ipv4(range.parse().unwrap()),
    };
    drifted.remove(&grant(443, "10.0.0.0/8"));
    drifted.insert(grant(22, "10.9.0.0/16"), Some("by hand".into()));
    let ssh = Rule {
        from_port: 22.into(),
        to_port: 22.into(),
        description: "by hand".into(),
        ..https(["10.9.0.0/16"])
    };
    assert_eq!(
        rules::grouped(drifted, before.iter(), &id),
        BTreeSet::from([https(["192.168.0.0/16"]), Rule { same_group: true.into(), ..https([]) }, ssh])
    );
}

#[test]
fn other_resources_learn_who_reaches_443() {
    let planned = rules::planned(&group(vec![https(["172.16.0.0/16"])]));
    assert_eq!(planned.https_from, ["172.16.0.0/16".parse().unwrap()]);
    assert!(planned.known && !planned.https_from_group);
    let closed = rules::planned(&group(vec![Rule {
        from_port: 80.into(),
        to_port: 80.into(),
        ..https(["10.0.0.0/8"])
    }]));
    assert!(closed.known && closed.https_from.is_empty() && !closed.https_from_group);
    let later = rules::planned(&group(vec![Rule { cidr_blocks: Attr::Unknown, ..https([]) }]));
    assert!(!later.known && later.https_from.is_empty() && !later.https_from_group);
    let unset = rules::planned(&SecurityGroup::default());
    assert!(unset.known && unset.https_from.is_empty() && !unset.https_from_group);
}
