use aws_sdk_ec2::types;
use tf_provider_rs::Resource;
use warren_managed::Managed;

use super::*;
use crate::common::tests::{known, named};
use crate::session::tests::session;

#[tokio::test]
async fn ipv6_addresses_need_a_range() {
    let resource = Managed::<Subnet>::new(&session([]).await);
    let mut config = Subnet { assign_ipv6_on_creation: true.into(), ..Subnet::default() };
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    insta::assert_snapshot!(diagnostics.0[0].detail);
    config.ipv6_cidr_block = Attr::Unknown;
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    assert!(diagnostics.is_empty());
}

#[test]
fn the_guard_is_told_what_is_known() {
    let subnet = Subnet {
        object: named("data"),
        vpc_id: Attr::Unknown,
        vpc_cidr_block: known("172.16.0.0/16"),
        cidr_block: known("172.16.1.0/24"),
        ipv6_cidr_block: Attr::Unknown,
        ..Subnet::default()
    };
    let part = part(&subnet, None).unwrap();
    assert_eq!(part.ranges.len(), 1);
    assert_eq!(part.unknown.len(), 1);
    let Role::Part(parent) = &part.ranges[0].role else { panic!("a subnet is a part") };
    assert_eq!(parent.id, None);
    assert_eq!(parent.cidrs, ["172.16.0.0/16".parse().unwrap()]);
}

#[tokio::test]
async fn a_response_without_an_id_is_an_error() {
    let aws = crate::session::tests::account([]).await;
    let error = api::live(&aws, types::Subnet::builder().build(), &Subnet::default()).unwrap_err();
    insta::assert_snapshot!(error.to_string());
}
