use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, named};
use crate::session::tests::session;
use warren_managed::{Managed, adopt};

fn vpc(cidr: &str) -> Vpc {
    Vpc {
        object: named("hub"),
        cidr_block: known(cidr),
        assign_generated_ipv6: false.into(),
        enable_dns_support: true.into(),
        enable_dns_hostnames: true.into(),
        instance_tenancy: model::Tenancy::Default.into(),
        lock_default_security_group: true.into(),
        ..Vpc::default()
    }
}

fn change(prior: Option<Vpc>, planned: Vpc) -> Change<Vpc> {
    Change { prior, config: planned.clone(), planned, requires_replace: Vec::new(), deferred: None }
}

fn shown(diagnostics: &Diagnostics) -> String {
    diagnostics
        .0
        .iter()
        .map(|d| format!("{}: {}\n{}", d.path.clone().unwrap_or_default(), d.summary, d.detail))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn ranges_and_dns_are_checked_together() {
    let resource = Managed::<Vpc>::new(&session([]).await);
    let mut config = vpc("172.16.0.0/16");
    config.secondary_cidr_blocks = Attr::Known([known("10.0.0.0/16"), Attr::Unknown].into());
    config.enable_dns_support = false.into();
    config.enable_dns_hostnames = Attr::Null;
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    insta::assert_snapshot!(shown(&diagnostics));
}

#[tokio::test]
async fn a_plan_knows_all_tags_and_tells_other_resources() {
    let session = session([("team", "ml")]).await;
    let resource = Managed::<Vpc>::new(&session);
    let mut change = change(None, vpc("172.16.0.0/16"));
    resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.object.tags_all.known().map(|tags| tags.len()), Some(5));
    assert_eq!(change.planned.ipv6_cidr_block, Attr::Null);
    let seen = session.run().vpcs.by_name("hub@us-east-1").unwrap();
    assert_eq!(seen.ranges, ["172.16.0.0/16".parse().unwrap()]);
    assert!(seen.dns_support.is_true());
}

#[tokio::test]
async fn a_create_does_not_adopt_what_a_state_holds() {
    let resource = Managed::<Vpc>::new(&session([]).await);
    let mut prior = vpc("172.16.0.0/16");
    prior.set_id("vpc-old");
    let ctx = Context::default();
    let mut diagnostics = Diagnostics::default();
    resource.plan(&ctx, &mut change(Some(prior), vpc("172.18.0.0/16")), &mut diagnostics).await;
    assert_eq!(ctx.private.get(adopt::EXCLUDED_IDS), None);
    resource.plan(&ctx, &mut change(None, vpc("172.18.0.0/16")), &mut diagnostics).await;
    assert_eq!(ctx.private.get(adopt::EXCLUDED_IDS), Some(serde_json::json!(["vpc-old"])));
}

/// A VPC whose configuration or state has this region.
fn in_region(region: Attr<String>) -> Vpc {
    let mut vpc = vpc("172.16.0.0/16");
    vpc.object.reach.region = region;
    vpc
}

/// The plan of a change, with the attributes that replace as the server found them.
async fn plan(prior: Option<Vpc>, config: Vpc, planned: Vpc) -> (Change<Vpc>, Diagnostics) {
    let resource = Managed::<Vpc>::new(&session([]).await);
    let region = |vpc: &Vpc| vpc.object.reach.region.clone();
    let replaced = prior.as_ref().is_some_and(|prior| region(prior) != region(&planned));
    let requires_replace = replaced.then(|| Path::of("region")).into_iter().collect();
    let mut change = Change { prior, config, planned, requires_replace, deferred: None };
    let mut diagnostics = Diagnostics::default();
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    (change, diagnostics)
}

#[tokio::test]
async fn the_region_is_that_of_the_provider_or_of_the_resource() {
    let planned = |change: &Change<Vpc>| change.planned.object.reach.region.clone();
    let (created, told) = plan(None, in_region(Attr::Null), in_region(Attr::Unknown)).await;
    assert_eq!((planned(&created), told), ("us-east-1".into(), Diagnostics::default()));
    let (created, told) = plan(None, in_region("eu-west-1".into()), in_region("eu-west-1".into())).await;
    assert_eq!((planned(&created), told), ("eu-west-1".into(), Diagnostics::default()));
    // An unknown region passes, and everything that follows from it is unknown.
    let (created, told) = plan(None, in_region(Attr::Unknown), in_region(Attr::Unknown)).await;
    assert_eq!((planned(&created), told), (Attr::Unknown, Diagnostics::default()));
    assert!(created.planned.object.tags_all.is_unknown());

    let prior = || {
        let mut prior = in_region("us-east-1".into());
        prior.set_id("vpc-1");
        prior
    };
    let (moved, told) =
        plan(Some(prior()), in_region("eu-west-1".into()), in_region("eu-west-1".into())).await;
    assert_eq!((moved.requires_replace, told), (vec![Path::of("region")], Diagnostics::default()));
}

#[tokio::test]
async fn a_state_without_a_region_is_not_replaced() {
    let mut old = in_region(Attr::Null);
    // Without an account, which no call names here.
    old.arn = "arn:aws:ec2:us-east-1::vpc/vpc-1".into();
    old.set_id("vpc-1");
    for config in [in_region(Attr::Null), in_region("us-east-1".into())] {
        let planned =
            if config.object.reach.region.is_null() { in_region(Attr::Unknown) } else { config.clone() };
        let (change, told) = plan(Some(old.clone()), config, planned).await;
        assert_eq!(change.planned.object.reach.region, "us-east-1".into());
        assert_eq!((change.requires_replace, told), (vec![], Diagnostics::default()));
    }
}

#[tokio::test]
async fn another_default_region_is_refused() {
    let mut old = in_region("eu-west-1".into());
    old.set_id("vpc-1");
    let (_, told) = plan(Some(old.clone()), in_region(Attr::Null), old.clone()).await;
    insta::assert_snapshot!(shown(&told));
    let (_, told) = plan(Some(old.clone()), old.clone(), old).await;
    assert_eq!(told, Diagnostics::default(), "the resource sets the region");
}

#[test]
fn opened_default_groups_show_as_drift() {
    let before = vpc("172.16.0.0/16");
    assert_eq!(api::locked(&before, true), Attr::Known(true));
    assert_eq!(api::locked(&before, false), Attr::Known(false));
    let unlocked = Vpc { lock_default_security_group: false.into(), ..before };
    assert_eq!(api::locked(&unlocked, true), Attr::Known(false));
}
