use aws_sdk_ec2::types;
use tf_provider_rs::Attr;

use super::*;
use crate::common::tests::known;
use crate::session::tests::account;

#[tokio::test]
async fn a_detached_gateway_shows_as_drift() {
    let aws = account([]).await;
    let before = InternetGateway { vpc_id: known("vpc-1"), ..InternetGateway::default() };
    let gateway =
        types::InternetGateway::builder().internet_gateway_id("igw-1").owner_id("123456789012").build();
    let state = api::live(&aws, gateway, &before).unwrap().state;
    assert_eq!(state.vpc_id, Attr::Null);
    assert_eq!(state.arn, "arn:aws:ec2:us-east-1:123456789012:internet-gateway/igw-1".into());
}
