//! IAM API calls for a role, its policy and its instance profile, which all have one name.

use std::collections::BTreeSet;

use aws_config::retry::RetryConfig;
use aws_sdk_iam::types::Tag;
use percent_encoding::percent_decode_str;

use super::document;
use super::model::GatewayRole;
use crate::error::{ApiError, Named, OrMissing};
use crate::session::Aws;
use crate::tags::Tags;
use warren_managed::{Failure, sets};

/// Name of the inline policy.
const POLICY: &str = "read-own-secrets";

/// A role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) arn: String,
    pub(super) tags: Tags,
}

/// An instance profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) arn: String,
    pub(super) roles: BTreeSet<String>,
    pub(super) tags: Tags,
}

/// The role of `before` with its policy and instance profile; an error if the role does not exist.
pub(super) async fn get(aws: &Aws, before: &GatewayRole) -> Result<GatewayRole, ApiError> {
    let name = before.object.id()?;
    let role = role(aws, name).await?;
    let policy = ApiError::if_found(policy(aws, name).await)?;
    let profile = ApiError::if_found(profile(aws, name).await)?;
    state(aws, (role, policy, profile), before)
}

/// The state of the objects that were found, based on `before`.
pub(super) fn state(
    aws: &Aws,
    (role, policy, profile): (Role, Option<String>, Option<Profile>),
    before: &GatewayRole,
) -> Result<GatewayRole, ApiError> {
    let name = before.object.id()?;
    let account = role.arn.split(':').nth(4).or_missing("GetRole", "Role.Arn")?;
    // A tag that one of the two lacks appears as missing, so that the next apply sets it.
    let mut tags = role.tags;
    if let Some(profile) = &profile {
        tags.retain(|key, value| profile.tags.get(key) == Some(value));
    }
    // Without its instance profile a role appears as one that allows nothing, so that the next apply completes it. The
    // ARN follows from the name: what refers to it goes on while a destroy is repeated.
    let linked = profile.filter(|profile| profile.roles.contains(name));
    let allowed = match policy.filter(|_| linked.is_some()) {
        Some(policy) => document::read(aws, account, &policy, before),
        None => GatewayRole { parameters: sets::of([]), ..before.clone() },
    };
    let profile_arn =
        linked.map_or_else(|| role.arn.replacen(":role/", ":instance-profile/", 1), |profile| profile.arn);
    Ok(GatewayRole {
        object: before.object.found(aws, name, &tags),
        instance_profile_arn: profile_arn.into(),
        arn: role.arn.into(),
        ..allowed
    })
}

pub(super) async fn role(aws: &Aws, name: &str) -> Result<Role, ApiError> {
    let answer = aws.iam().get_role().role_name(name).send().await.named("GetRole")?;
    let role = answer.role.ok_or_else(|| ApiError::absent("GetRole", name))?;
    Ok(Role { arn: role.arn, tags: from_sdk(role.tags) })
}

/// Creates the role. Its name is its identity, so a retry finds the role of the first attempt.
pub(super) async fn create_role(aws: &Aws, planned: &GatewayRole, tags: &Tags) -> Result<(), ApiError> {
    let call = aws
        .iam()
        .create_role()
        .role_name(planned.object.name()?)
        .assume_role_policy_document(document::TRUST)
        .description("Warren gateway: reads its own secrets")
        .set_permissions_boundary(planned.permissions_boundary.known().cloned())
        .set_tags(Some(to_sdk(tags)?))
        .customize()
        .config_override(aws_sdk_iam::Config::builder().retry_config(RetryConfig::disabled()));
    call.send().await.named("CreateRole").map(drop)
}

pub(super) async fn retag_role(aws: &Aws, name: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = aws.difference(have, want);
    if !set.is_empty() {
        let call = aws.iam().tag_role().role_name(name).set_tags(Some(to_sdk(&set)?));
        call.send().await.named("TagRole")?;
    }
    if !unset.is_empty() {
        let call = aws.iam().untag_role().role_name(name).set_tag_keys(Some(unset.into_iter().collect()));
        call.send().await.named("UntagRole")?;
    }
    Ok(())
}

pub(super) async fn policy(aws: &Aws, name: &str) -> Result<String, ApiError> {
    let call = aws.iam().get_role_policy().role_name(name).policy_name(POLICY);
    let document = call.send().await.named("GetRolePolicy")?.policy_document;
    // IAM returns the document percent-encoded.
    Ok(percent_decode_str(&document).decode_utf8_lossy().into_owned())
}

pub(super) async fn put_policy(aws: &Aws, name: &str, document: &str) -> Result<(), ApiError> {
    let call = aws.iam().put_role_policy().role_name(name).policy_name(POLICY).policy_document(document);
    call.send().await.named("PutRolePolicy").map(drop)
}

pub(super) async fn delete_policy(aws: &Aws, name: &str) -> Result<(), ApiError> {
    let call = aws.iam().delete_role_policy().role_name(name).policy_name(POLICY);
    ApiError::unless_gone(call.send().await.named("DeleteRolePolicy").map(drop))
}

pub(super) async fn profile(aws: &Aws, name: &str) -> Result<Profile, ApiError> {
    let call = aws.iam().get_instance_profile().instance_profile_name(name);
    let profile = call.send().await.named("GetInstanceProfile")?.instance_profile;
    let profile = profile.ok_or_else(|| ApiError::absent("GetInstanceProfile", name))?;
    let roles = profile.roles.into_iter().map(|role| role.role_name).collect();
    Ok(Profile { arn: profile.arn, roles, tags: from_sdk(profile.tags) })
}

/// Creates the instance profile; an existing one is accepted.
pub(super) async fn create_profile(aws: &Aws, name: &str, tags: &Tags) -> Result<(), ApiError> {
    let call = aws.iam().create_instance_profile().instance_profile_name(name).set_tags(Some(to_sdk(tags)?));
    unless_there(call.send().await.named("CreateInstanceProfile").map(drop))
}

pub(super) async fn retag_profile(aws: &Aws, name: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = aws.difference(have, want);
    if !set.is_empty() {
        let call = aws.iam().tag_instance_profile().instance_profile_name(name);
        call.set_tags(Some(to_sdk(&set)?)).send().await.named("TagInstanceProfile")?;
    }
    if !unset.is_empty() {
        let call = aws.iam().untag_instance_profile().instance_profile_name(name);
        let call = call.set_tag_keys(Some(unset.into_iter().collect()));
        call.send().await.named("UntagInstanceProfile")?;
    }
    Ok(())
}

/// Adds the role to the profile. AWS reports a role that is already in it as an exceeded limit.
pub(super) async fn add(aws: &Aws, name: &str) -> Result<(), ApiError> {
    let call = aws.iam().add_role_to_instance_profile().instance_profile_name(name).role_name(name);
    match call.send().await.named("AddRoleToInstanceProfile").map(drop) {
        Err(error) if error.code == "LimitExceeded" && profile(aws, name).await?.roles.contains(name) => {
            Ok(())
        }
        done => unless_there(done),
    }
}

pub(super) async fn remove(aws: &Aws, name: &str) -> Result<(), ApiError> {
    let call = aws.iam().remove_role_from_instance_profile().instance_profile_name(name).role_name(name);
    ApiError::unless_gone(call.send().await.named("RemoveRoleFromInstanceProfile").map(drop))
}

pub(super) async fn delete_profile(aws: &Aws, name: &str) -> Result<(), ApiError> {
    let call = aws.iam().delete_instance_profile().instance_profile_name(name);
    ApiError::unless_gone(call.send().await.named("DeleteInstanceProfile").map(drop))
}

/// Deletes the role; an error if it does not exist.
pub(super) async fn delete_role(aws: &Aws, name: &str) -> Result<(), ApiError> {
    aws.iam().delete_role().role_name(name).send().await.named("DeleteRole").map(drop)
}

fn unless_there(result: Result<(), ApiError>) -> Result<(), ApiError> {
    match result {
        Err(error) if error.is_conflict() => Ok(()),
        other => other,
    }
}

fn from_sdk(tags: Option<Vec<Tag>>) -> Tags {
    tags.into_iter().flatten().map(|tag| (tag.key, tag.value)).collect()
}

fn to_sdk(tags: &Tags) -> Result<Vec<Tag>, ApiError> {
    let tag = |(key, value)| Tag::builder().key(key).value(value).build();
    tags.iter().map(tag).collect::<Result<_, _>>().map_err(|error| ApiError::unsent("TagRole", &error))
}
