use super::*;
use crate::session::tests::{account, session};
use tf_provider_rs::Attr;

#[tokio::test]
async fn attributes() {
    let resource = InternetGatewayResource::new(&session([]).await);
    insta::assert_snapshot!(crate::common::tests::listed(&resource.schema()));
}

#[tokio::test]
async fn a_detached_gateway_shows_as_drift() {
    let (session, aws) = (session([]).await, account([]).await);
    let before = InternetGateway { vpc_id: "vpc-1".into(), ..InternetGateway::default() };
    let found = api::Found { id: "igw-1".into(), owner: "123456789012".into(), ..api::Found::default() };
    let state = schema::state(&session, &aws, found, &before);
    assert_eq!(state.vpc_id, Attr::Null);
    assert_eq!(state.arn.text(), "arn:aws:ec2:us-east-1:123456789012:internet-gateway/igw-1");
}
