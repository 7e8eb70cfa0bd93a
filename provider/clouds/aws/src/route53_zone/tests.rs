use std::collections::BTreeSet;

use aws_sdk_route53::types::{HostedZone, HostedZoneConfig};

use super::*;
use crate::common::tests::known;
use crate::route53::{Place, ZoneVpc};
use crate::session::tests::account;

fn vpc(id: &str, region: Option<&str>) -> ZoneVpc {
    ZoneVpc { vpc_id: known(id), region: region.map(str::to_owned).into() }
}

fn place(id: &str, region: &str) -> Place {
    Place { vpc_id: id.parse().unwrap(), region: region.to_owned() }
}

/// A zone with these VPCs as AWS returns it.
fn details(vpcs: &[(&str, &str)]) -> api::Details {
    let config = HostedZoneConfig::builder().private_zone(true).comment("Managed by Warren").build();
    let zone = HostedZone::builder()
        .id("/hostedzone/Z1")
        .name("api.ecr.us-east-1.amazonaws.com.")
        .caller_reference("warren-1")
        .config(config);
    api::Details {
        zone: zone.build().unwrap(),
        vpcs: vpcs.iter().map(|(id, region)| place(id, region)).collect(),
        authorized: BTreeSet::new(),
        name_servers: vec!["ns-0.awsdns-00.com".into()],
        tags: Tags::new(),
    }
}

#[tokio::test]
async fn vpcs_of_others_are_left_out_and_spellings_stay() {
    let aws = account([]).await;
    let before = Zone {
        domain_name: "API.ecr.us-east-1.amazonaws.com".into(),
        vpcs: Attr::Known([vpc("vpc-1", None), vpc("vpc-2", Some("us-east-1")), vpc("vpc-9", None)].into()),
        ..Zone::default()
    };
    let live = details(&[("vpc-1", "us-east-1"), ("vpc-2", "us-east-1"), ("vpc-3", "eu-west-1")]);
    let found = api::found(&aws, live.clone(), &before);
    assert_eq!(found.state.domain_name, before.domain_name);
    assert_eq!(found.state.vpcs, Attr::Known([vpc("vpc-1", None), vpc("vpc-2", Some("us-east-1"))].into()));
    assert_eq!(found.vpcs.len(), 3);
    assert_eq!(found.state.arn, "arn:aws:route53:::hostedzone/Z1".into());

    let imported = api::found(&aws, live, &Zone::default()).state;
    assert_eq!(imported.domain_name, "api.ecr.us-east-1.amazonaws.com".into());
    let all = [vpc("vpc-1", None), vpc("vpc-2", None), vpc("vpc-3", Some("eu-west-1"))];
    assert_eq!(imported.vpcs, Attr::Known(all.into()));
}

#[tokio::test]
async fn a_mark_tells_names_and_owners_apart() {
    let aws = account([]).await;
    assert_eq!(aws.mark("hub"), aws.mark("hub"));
    assert_ne!(aws.mark("hub"), aws.mark("spoke"));
    assert!(aws.reference("hub").starts_with(&aws.mark("hub")));
    assert_ne!(aws.reference("hub"), aws.reference("hub"));
    // CallerReference of CreateHostedZone has at most 128 characters.
    assert!(aws.reference(&"x".repeat(255)).len() <= 128);
}

#[test]
fn a_zone_answers_in_its_vpcs() {
    let zone = |vpcs| PlannedZone { domain: "ecr.us-east-1.amazonaws.com".into(), vpcs };
    let name = "api.ecr.us-east-1.amazonaws.com";
    assert!(answers(&[zone(vec![known("vpc-1")])], &known("vpc-1"), name));
    assert!(answers(&[zone(vec![Attr::Unknown])], &known("vpc-1"), name));
    assert!(!answers(&[zone(vec![known("vpc-2")])], &known("vpc-1"), name));
    assert!(!answers(&[zone(vec![known("vpc-1")])], &known("vpc-1"), "api.ecr.eu-west-1.amazonaws.com"));
}
