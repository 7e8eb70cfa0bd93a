use aws_sdk_ec2::types::{
    VpcPeeringConnection, VpcPeeringConnectionStateReason, VpcPeeringConnectionStateReasonCode as Code,
    VpcPeeringConnectionVpcInfo,
};
use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, named};
use crate::memory::PlannedVpc;
use crate::session::tests::{account, session};
use warren_managed::Managed;

fn peering() -> Peering {
    Peering {
        object: named("hub-spoke"),
        vpc_id: known("vpc-1"),
        peer_vpc_id: known("vpc-2"),
        ..Peering::default()
    }
}

fn answer(code: Code, owner: &str, region: &str) -> VpcPeeringConnection {
    let side = |vpc: &str, owner: &str, region: &str| {
        VpcPeeringConnectionVpcInfo::builder().vpc_id(vpc).owner_id(owner).region(region).build()
    };
    VpcPeeringConnection::builder()
        .vpc_peering_connection_id("pcx-1")
        .requester_vpc_info(side("vpc-1", "111111111111", "us-east-1"))
        .accepter_vpc_info(side("vpc-2", owner, region))
        .status(
            VpcPeeringConnectionStateReason::builder().code(code).message("overlapping CIDR range").build(),
        )
        .build()
}

async fn found(code: Code, owner: &str, region: &str, before: &Peering) -> api::Found {
    api::found(&account([]).await, answer(code, owner, region), before).unwrap()
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
    let (apart, told) = planned(&session, Peering { peer_vpc_id: known("vpc-3"), ..peering() }).await;
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
    let config = Peering { peer_vpc_id: known("vpc-1"), ..peering() };
    Managed::<Peering>::new(&session([]).await).validate(&config, &mut diagnostics).await;
    insta::assert_snapshot!(shown(&diagnostics));
}

#[tokio::test]
async fn only_what_is_ours_is_accepted() {
    let (ours, theirs) = ("111111111111", "222222222222");
    let accepts = async |accept: Attr<bool>, owner: &str, region: &str| {
        let planned = Peering { auto_accept: accept, ..peering() };
        accepts(&planned, &found(Code::PendingAcceptance, owner, region, &planned).await)
    };
    assert_eq!(accepts(Attr::Null, ours, "us-east-1").await, Ok(true));
    assert_eq!(accepts(Attr::Null, ours, "eu-west-1").await, Ok(false));
    assert_eq!(accepts(true.into(), ours, "eu-west-1").await, Ok(true));
    assert_eq!(accepts(false.into(), ours, "us-east-1").await, Ok(false));
    assert_eq!(accepts(Attr::Null, theirs, "us-east-1").await, Ok(false));
    insta::assert_snapshot!(shown(&accepts(true.into(), theirs, "us-east-1").await.unwrap_err()));
}

#[tokio::test]
async fn options_wait_for_the_acceptance() {
    let before = Peering { allow_remote_dns_resolution: true.into(), ..peering() };
    let read = async |code| {
        let found = found(code, "222222222222", "us-east-1", &before).await;
        found.state.allow_remote_dns_resolution
    };
    assert_eq!(read(Code::PendingAcceptance).await, Attr::Known(true));
    assert_eq!(read(Code::Active).await, Attr::Known(false), "once active, the next apply sets them");
}

#[tokio::test]
async fn a_failed_connection_is_told() {
    let failed = found(Code::Failed, "111111111111", "us-east-1", &peering()).await;
    assert!(failed.state.is_gone());
    assert!(!found(Code::Active, "111111111111", "us-east-1", &peering()).await.state.is_gone());
    insta::assert_snapshot!(shown(&Diagnostic::from(api::failed(&failed).unwrap()).into()));
}

#[tokio::test]
async fn a_connection_without_an_id_is_an_error() {
    let mut nameless = answer(Code::Active, "111111111111", "us-east-1");
    nameless.vpc_peering_connection_id = None;
    let error = api::found(&account([]).await, nameless, &peering()).unwrap_err();
    assert!(error.message.contains("VpcPeeringConnectionId"), "{error}");
}
