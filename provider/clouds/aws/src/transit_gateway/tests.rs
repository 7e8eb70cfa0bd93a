use tf_provider_rs::{Attr, Path, Value};

use super::*;
use crate::session::tests::account;
use warren_managed::listed;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&TransitGateway::schema()));
}

#[tokio::test]
async fn a_public_bgp_number_is_refused() {
    let schema = TransitGateway::schema();
    let asn = schema.attributes.iter().find(|attribute| attribute.name == "amazon_side_asn").unwrap();
    let told = |number: i64| {
        let mut diagnostics = Diagnostics::default();
        asn.validators[0](&Value::from(number), &Path::of("amazon_side_asn"), &mut diagnostics);
        diagnostics
    };
    assert!(told(64512).is_empty() && told(4_294_967_294).is_empty());
    insta::assert_snapshot!(told(7224).0[0].detail);
}

#[tokio::test]
async fn what_is_found_becomes_state() {
    let aws = account([]).await;
    let found = api::Found {
        id: "tgw-1".into(),
        asn: Some(64512),
        settings: api::Settings { dns: true, ..api::Settings::default() },
        ..api::Found::default()
    };
    let state = schema::state(&aws, found, &TransitGateway::default());
    assert_eq!(state.id, Attr::from("tgw-1"));
    assert_eq!((state.dns_support, state.vpn_ecmp_support), (true.into(), false.into()));
    assert!(schema::settings(&state).dns);
}
