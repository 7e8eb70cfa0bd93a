use std::collections::BTreeMap;

use aws_sdk_route53resolver::types::{ResolverRule, ResolverRuleAssociation, RuleTypeOption, TargetAddress};

use super::*;
use crate::common::tests::known;
use crate::session::tests::account;
use model::Target;

fn answer() -> ResolverRule {
    ResolverRule::builder()
        .id("rslvr-rr-1")
        .arn("arn:aws:route53resolver:us-east-1:123456789012:resolver-rule/rslvr-rr-1")
        .domain_name("corp.example.com.")
        .rule_type(RuleTypeOption::Forward)
        .resolver_endpoint_id("rslvr-out-1")
        .target_ips(TargetAddress::builder().ip("10.8.0.2").port(53).build())
        .owner_id("123456789012")
        .status(Status::Complete)
        .build()
}

fn associations() -> BTreeMap<VpcId, ResolverRuleAssociation> {
    let one = |status| ResolverRuleAssociation::builder().status(status).build();
    let states = [
        ("vpc-1", Association::Complete),
        ("vpc-2", Association::Deleting),
        ("vpc-3", Association::Creating),
    ];
    states.map(|(id, status)| (id.parse().unwrap(), one(status))).into()
}

#[tokio::test]
async fn associations_of_others_are_left_out() {
    let aws = account([]).await;
    let before = Rule {
        domain_name: "Corp.example.com".into(),
        vpc_ids: sets::of(["vpc-1", "vpc-2"].map(|id| id.parse().unwrap())),
        ..Rule::default()
    };
    let found =
        |before: &Rule| api::found(&aws, answer(), associations(), &Tags::new(), before).unwrap().state;
    let state = found(&before);
    assert_eq!(state.vpc_ids, sets::of(["vpc-1".parse().unwrap()]));
    assert_eq!(state.domain_name, before.domain_name);
    let target = Target { ip: known("10.8.0.2"), port: 53.into() };
    assert_eq!(state.target_ips, Attr::Known([target].into()));
    assert_eq!(found(&Rule { vpc_ids: Attr::Null, ..before }).vpc_ids, Attr::Null);
    // An import.
    assert_eq!(found(&Rule::default()).vpc_ids, sets::of(["vpc-1", "vpc-3"].map(|id| id.parse().unwrap())));
}

#[test]
fn a_rule_has_what_its_type_needs() {
    let told = |rule: &Rule| {
        let mut diagnostics = Diagnostics::default();
        check(rule, &mut diagnostics);
        diagnostics.0.iter().map(|d| format!("{}: {}\n", d.summary, d.detail)).collect::<String>()
    };
    let forward = Rule {
        resolver_endpoint_id: known("rslvr-out-1"),
        target_ips: Attr::Known([Target::default()].into()),
        ..Rule::default()
    };
    assert_eq!(told(&forward), "");
    assert_eq!(told(&Rule { target_ips: Attr::Unknown, ..forward.clone() }), "");
    let system = Rule { rule_type: Attr::Known(RuleType::System), ..Rule::default() };
    assert_eq!(told(&system), "");
    let wrong = [Rule::default(), Rule { rule_type: Attr::Known(RuleType::System), ..forward }];
    insta::assert_snapshot!(wrong.iter().map(told).collect::<Vec<_>>().join("---\n"));
}
