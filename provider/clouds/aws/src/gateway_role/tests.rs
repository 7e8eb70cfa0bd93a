use super::*;
use crate::common::{AwsObject, Naming as _};
use crate::session::tests::account;
use crate::tags::TagMap;
use model::RoleName;
use tf_provider_rs::Attr;
use warren_managed::sets;

fn role() -> GatewayRole {
    GatewayRole {
        object: AwsObject { naming: RoleName::found("gw-a", &Tags::new()), ..AwsObject::default() },
        parameters: sets::of(["/warren/gw-a/wireguard".to_owned(), "/warren/gw-a/config".to_owned()]),
        ..GatewayRole::default()
    }
}

fn profile(aws: &Aws) -> api::Profile {
    let tags = aws.tags("gw-a", &Attr::Null);
    api::Profile { arn: "arn:profile".into(), roles: ["gw-a".to_owned()].into(), tags }
}

fn read(aws: &Aws, policy: Option<String>) -> GatewayRole {
    let found = api::Role { arn: "arn:aws:iam::123456789012:role/gw-a".into(), ..api::Role::default() };
    api::state(aws, (found, policy, Some(profile(aws))), &role()).unwrap()
}

#[tokio::test]
async fn it_may_read_its_own_secrets_only() {
    let aws = account([]).await;
    insta::assert_snapshot!(document::policy(&aws, "123456789012", &role()));
    let mut with_key = role();
    with_key.kms_key_arns = sets::of(["arn:aws:kms:us-east-1:123456789012:key/1".to_owned()]);
    insta::assert_snapshot!(document::policy(&aws, "123456789012", &with_key));
}

#[tokio::test]
async fn sessions_and_logs_are_allowed_if_asked_for_and_read_back() {
    let aws = account([]).await;
    let group = "arn:aws:logs:us-east-1:123456789012:log-group:/warren/gw-a";
    // hashicorp/aws appended `:*` to the ARN of a log group until version 3.
    for written in [group.to_owned(), format!("{group}:*")] {
        let role =
            GatewayRole { session_manager: true.into(), log_group_arn: written.clone().into(), ..role() };
        let policy = document::policy(&aws, "123456789012", &role);
        assert!(policy.contains(&format!("\"{group}:log-stream:*\"")), "{policy}");
        let found = document::read(&aws, "123456789012", &policy, &role);
        assert_eq!((found.session_manager, found.log_group_arn), (true.into(), written.into()));
        assert_eq!(found.parameters, role.parameters);
    }
    let mut all = role();
    all.session_manager = true.into();
    all.log_group_arn = group.into();
    insta::assert_snapshot!(document::policy(&aws, "123456789012", &all));
    let plain = document::policy(&aws, "123456789012", &role());
    let found = document::read(&aws, "123456789012", &plain, &all);
    assert_eq!((found.session_manager, found.log_group_arn), (false.into(), Attr::Null), "removed by hand");
}

#[tokio::test]
async fn a_policy_that_was_widened_shows_as_drift() {
    let aws = account([]).await;
    let ours = document::policy(&aws, "123456789012", &role());
    let state = read(&aws, Some(ours.clone()));
    assert_eq!(state.parameters, role().parameters);
    assert_eq!(state.instance_profile_arn, "arn:profile".into());
    let widened = ours.replace("ssm:GetParameter", "ssm:*");
    assert_eq!(read(&aws, Some(widened)).parameters, sets::of([]));
    let more = ours.replace("[{", r#"[{"Effect":"Allow","Action":"s3:*","Resource":"*"},{"#);
    assert_eq!(read(&aws, Some(more)).parameters, sets::of([]));
    assert_eq!(read(&aws, None).parameters, sets::of([]));
}

#[tokio::test]
async fn a_tag_that_the_profile_lacks_shows_as_drift() {
    let aws = account([]).await;
    let wrote: TagMap = Attr::Known([("team".to_owned(), "ml".into())].into());
    let mut before = role();
    before.object.tags = wrote.clone();
    let tags = aws.tags("gw-a", &wrote);
    let found = |profile: api::Profile| {
        let role = api::Role { arn: "arn:aws:iam::123456789012:role/gw-a".into(), tags: tags.clone() };
        api::state(&aws, (role, None, Some(profile)), &before).unwrap().object.tags
    };
    assert_eq!(found(api::Profile { tags: tags.clone(), ..profile(&aws) }), wrote);
    assert_eq!(found(profile(&aws)), Attr::Known([].into()));
}

#[tokio::test]
async fn a_role_without_its_profile_shows_as_drift_and_keeps_the_arn() {
    let aws = account([]).await;
    let arn = "arn:aws:iam::123456789012:role/gw-a";
    let found = api::Role { arn: arn.into(), tags: aws.tags("gw-a", &Attr::Null) };
    let policy = document::policy(&aws, "123456789012", &role());
    let state = api::state(&aws, (found, Some(policy), None), &role()).unwrap();
    assert_eq!(state.parameters, sets::of([]));
    assert_eq!(state.instance_profile_arn, "arn:aws:iam::123456789012:instance-profile/gw-a".into());
}
