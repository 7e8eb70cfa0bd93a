use super::*;
use crate::session::tests::account;
use tf_provider_rs::Attr;
use warren_managed::listed;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&InternetGateway::schema()));
}

#[tokio::test]
async fn a_detached_gateway_shows_as_drift() {
    let aws = account([]).await;
    let before = InternetGateway { vpc_id: "vpc-1".into(), ..InternetGateway::default() };
    let found = api::Found { id: "igw-1".into(), owner: "123456789012".into(), ..api::Found::default() };
    let state = schema::state(&aws, found, &before);
    assert_eq!(state.vpc_id, Attr::Null);
    assert_eq!(state.arn.text(), "arn:aws:ec2:us-east-1:123456789012:internet-gateway/igw-1");
}
