use tf_provider_rs::{Context, Resource};

use super::*;
use crate::memory::PlannedVpc;
use crate::session::tests::{account, session};
use warren_managed::{Managed, listed};

fn peering() -> Peering {
    Peering {
        name: "hub-spoke".into(),
        vpc_id: "vpc-1".into(),
        peer_vpc_id: "vpc-2".into(),
        ..Peering::default()
    }
}

fn found(code: &str, owner: &str, region: &str) -> api::Found {
    let side = |vpc: &str, owner: &str, region: &str| api::Side {
        vpc_id: vpc.into(),
        owner_id: owner.into(),
        region: region.into(),
        dns: false,
    };
    api::Found {
        id: "pcx-1".into(),
        requester: side("vpc-1", "111111111111", "us-east-1"),
        accepter: side("vpc-2", owner, region),
        code: code.into(),
        ..api::Found::default()
    }
}

fn shown(diagnostics: &Diagnostics) -> String {
    let line = |d: &Diagnostic| {
        format!("{:?} {}: {}\n{}", d.severity, d.path.clone().unwrap_or_default(), d.summary, d.detail)
    };
    diagnostics.0.iter().map(line).collect::<Vec<_>>().join("\n\n")
}

async fn planned(session: &Session, config: Peering) -> (Peering, String) {
    let mut change =
        Change { prior: None, planned: config.clone(), config, requires_replace: Vec::new(), deferred: None };
    let mut diagnostics = Diagnostics::default();
    Managed::<Peering>::new(session).plan(&Context::default(), &mut change, &mut diagnostics).await;
    (change.planned, shown(&diagnostics))
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Peering::schema()));
}

#[tokio::test]
async fn overlapping_vpcs_are_refused_at_plan() {
    let session = session([]).await;
    let put = |id: &str, ranges: &[&str]| {
        let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
        session.run().vpcs.put(id, Some(id), PlannedVpc { ranges, ..PlannedVpc::default() });
    };
    put("vpc-1", &["10.0.0.0/16", "10.9.0.0/24"]);
    put("vpc-2", &["10.0.128.0/20", "10.9.0.0/24"]);
    put("vpc-3", &["10.1.0.0/16"]);
    let (_, told) = planned(&session, peering()).await;
    insta::assert_snapshot!(told);
    let (apart, told) = planned(&session, Peering { peer_vpc_id: "vpc-3".into(), ..peering() }).await;
    assert_eq!(told, "");
    assert_eq!(apart.peer_region, "us-east-1".into());
    let elsewhere = Peering { peer_region: "eu-west-1".into(), ..peering() };
    assert_eq!(planned(&session, elsewhere).await.1, "", "ids of another region are other VPCs");
    let unknown = Peering { peer_vpc_id: Attr::Unknown, ..peering() };
    assert_eq!(planned(&session, unknown).await.1, "");
}

#[tokio::test]
async fn a_vpc_has_no_peering_with_itself() {
    let mut diagnostics = Diagnostics::default();
    let config = Peering { peer_vpc_id: "vpc-1".into(), ..peering() };
    Managed::<Peering>::new(&session([]).await).validate(&config, &mut diagnostics).await;
    insta::assert_snapshot!(shown(&diagnostics));
}

#[test]
fn only_what_is_ours_is_accepted() {
    let (ours, theirs) = ("111111111111", "222222222222");
    let accepts = |accept: Attr<bool>, owner: &str, region: &str| {
        let planned = Peering { auto_accept: accept, ..peering() };
        accepts(&planned, &found("pending-acceptance", owner, region))
    };
    assert_eq!(accepts(Attr::Null, ours, "us-east-1"), Ok(true));
    assert_eq!(accepts(Attr::Null, ours, "eu-west-1"), Ok(false));
    assert_eq!(accepts(true.into(), ours, "eu-west-1"), Ok(true));
    assert_eq!(accepts(false.into(), ours, "us-east-1"), Ok(false));
    assert_eq!(accepts(Attr::Null, theirs, "us-east-1"), Ok(false));
    insta::assert_snapshot!(shown(&accepts(true.into(), theirs, "us-east-1").unwrap_err()));
}

#[tokio::test]
async fn options_wait_for_the_acceptance() {
    let aws = account([]).await;
    let before = Peering { allow_remote_dns_resolution: true.into(), ..peering() };
    let read = |code: &str| {
        let found = found(code, "222222222222", "us-east-1");
        schema::state(&aws, found, &before).allow_remote_dns_resolution
    };
    assert_eq!(read("pending-acceptance"), Attr::Known(true));
    assert_eq!(read("active"), Attr::Known(false), "once active, the next apply sets them");
}

#[test]
fn a_failed_connection_is_told() {
    let failed = api::Found { message: "overlapping CIDR range".into(), ..found("failed", "1", "us-east-1") };
    assert!(failed.is_gone() && !found("active", "1", "us-east-1").is_gone());
    insta::assert_snapshot!(shown(&Diagnostic::from(api::failed(&failed)).into()));
}
