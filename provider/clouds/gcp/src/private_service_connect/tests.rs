use warren_managed::listed;

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Endpoint::schema()));
}

#[test]
fn names_in_dns_follow_the_endpoints() {
    assert_eq!(dns_suffix("apis", &true.into()), "-apis.p.googleapis.com".into());
    assert_eq!(dns_suffix("apis", &false.into()), Attr::Null);
    assert_eq!(dns_suffix("apis", &Attr::Unknown), Attr::Unknown);
}

#[test]
fn the_address_is_told_to_the_guard() {
    let endpoint = Endpoint { name: "apis".into(), address: "10.0.255.254".into(), ..Endpoint::default() };
    assert_eq!(occupied(&endpoint).ranges[0].net.to_string(), "10.0.255.254/32");
}
