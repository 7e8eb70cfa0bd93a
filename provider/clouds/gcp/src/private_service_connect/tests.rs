use warren_managed::listed;

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Endpoint::schema()));
}

#[test]
fn names_in_dns_follow_the_endpoints() {
    assert_eq!(schema::dns_suffix("apis", &true.into()).text(), "-apis.p.googleapis.com");
    assert_eq!(schema::dns_suffix("apis", &false.into()), Attr::Null);
    assert_eq!(schema::dns_suffix("apis", &Attr::Unknown), Attr::Unknown);
}

#[test]
fn the_address_is_told_to_the_guard() {
    let endpoint = Endpoint { name: "apis".into(), address: "10.0.255.254".into(), ..Endpoint::default() };
    assert_eq!(schema::occupied(&endpoint).unwrap().ranges[0].net.to_string(), "10.0.255.254/32");
}
