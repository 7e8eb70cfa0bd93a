use aws_sdk_ec2::types::{self, DnsSupportValue, TransitGatewayOptions};
use tf_provider_rs::{Attr, Model, Path, Value};

use super::*;
use crate::session::tests::account;

#[tokio::test]
async fn a_public_bgp_number_is_refused() {
    let schema = <TransitGateway as Model>::schema();
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
    let options =
        TransitGatewayOptions::builder().amazon_side_asn(64512).dns_support(DnsSupportValue::Enable);
    let answer = types::TransitGateway::builder()
        .transit_gateway_id("tgw-1")
        .transit_gateway_arn("arn:aws:ec2:us-east-1:111111111111:transit-gateway/tgw-1")
        .owner_id("111111111111")
        .description("")
        .options(options.build());
    let state = api::state(&aws, answer.clone().build(), &TransitGateway::default()).unwrap();
    assert_eq!(state.object.id(), Ok("tgw-1"));
    assert_eq!((state.dns_support, state.vpn_ecmp_support), (true.into(), false.into()));
    assert_eq!(state.description, Attr::Null);

    let nameless = answer.set_transit_gateway_id(None).build();
    let error = api::state(&aws, nameless, &TransitGateway::default()).unwrap_err();
    assert!(error.message.contains("TransitGatewayId"), "{error}");
}
