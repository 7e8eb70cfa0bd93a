use super::*;
use crate::session::tests::account;
use warren_managed::{listed, sets};

fn role() -> GatewayRole {
    GatewayRole {
        name: "gw-a".into(),
        parameters: sets::of(["/warren/gw-a/wireguard".to_owned(), "/warren/gw-a/config".to_owned()]),
        ..GatewayRole::default()
    }
}

fn found(policy: String) -> api::Found {
    api::Found {
        name: "gw-a".into(),
        role: api::Role { arn: "arn:aws:iam::123456789012:role/gw-a".into(), ..api::Role::default() },
        policy: Some(policy),
        profile: Some(api::Profile { arn: "arn:profile".into(), roles: ["gw-a".to_owned()].into() }),
    }
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&GatewayRole::schema()));
}

#[tokio::test]
async fn it_may_read_its_own_secrets_only() {
    let aws = account([]).await;
    insta::assert_snapshot!(schema::policy(&aws, "123456789012", &role()));
    let mut with_key = role();
    with_key.kms_key_arns = sets::of(["arn:aws:kms:us-east-1:123456789012:key/1".to_owned()]);
    insta::assert_snapshot!(schema::policy(&aws, "123456789012", &with_key));
}

#[tokio::test]
async fn a_policy_that_was_widened_shows_as_drift() {
    let aws = account([]).await;
    let ours = schema::policy(&aws, "123456789012", &role());
    let state = schema::state(&aws, found(ours.clone()), &role());
    assert_eq!(state.parameters, role().parameters);
    assert_eq!(state.instance_profile_arn.text(), "arn:profile");
    let widened = ours.replace("ssm:GetParameter", "ssm:*");
    assert_eq!(schema::state(&aws, found(widened), &role()).parameters, sets::of([]));
    let more = ours.replace("[{", r#"[{"Effect":"Allow","Action":"s3:*","Resource":"*"},{"#);
    assert_eq!(schema::state(&aws, found(more), &role()).parameters, sets::of([]));
}
