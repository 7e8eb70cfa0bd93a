use tf_provider_rs::Resource;

use super::*;
use crate::session::tests::session;
use warren_guard::Role;
use warren_managed::{Managed, listed};

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Subnet::schema()));
}

#[tokio::test]
async fn ipv6_addresses_need_a_range() {
    let resource = Managed::<Subnet>::new(&session([]).await);
    let mut config = Subnet { assign_ipv6_on_creation: true.into(), ..Subnet::default() };
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    insta::assert_snapshot!(diagnostics.0[0].detail);
    config.ipv6_cidr_block = tf_provider_rs::Attr::Unknown;
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    assert!(diagnostics.is_empty());
}

#[test]
fn the_guard_is_told_what_is_known() {
    let subnet = Subnet {
        name: "data".into(),
        vpc_id: tf_provider_rs::Attr::Unknown,
        vpc_cidr_block: "172.16.0.0/16".into(),
        cidr_block: "172.16.1.0/24".into(),
        ipv6_cidr_block: tf_provider_rs::Attr::Unknown,
        ..Subnet::default()
    };
    let part = schema::part(&subnet).unwrap();
    assert_eq!(part.ranges.len(), 1);
    assert_eq!(part.unknown.len(), 1);
    let Role::Part(parent) = &part.ranges[0].role else { panic!("a subnet is a part") };
    assert_eq!(parent.id, None);
    assert_eq!(parent.cidrs, ["172.16.0.0/16".parse().unwrap()]);
}
