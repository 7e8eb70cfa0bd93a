use super::*;
use crate::common::GcpObject;

#[test]
fn names_in_dns_follow_the_endpoints() {
    assert_eq!(dns_suffix("apis", true.into()), "-apis.p.googleapis.com".into());
    assert_eq!(dns_suffix("apis", false.into()), Attr::Null);
    assert_eq!(dns_suffix("apis", Attr::Unknown), Attr::Unknown);
}

#[test]
fn the_address_is_told_to_the_guard() {
    let object = GcpObject { name: "apis".into(), ..GcpObject::default() };
    let address = std::net::Ipv4Addr::new(10, 0, 255, 254).into();
    let endpoint = Endpoint { object, address, ..Endpoint::default() };
    assert_eq!(occupied(&endpoint, false, None).unwrap().ranges[0].net.to_string(), "10.0.255.254/32");
}
