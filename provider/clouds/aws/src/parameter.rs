//! Systems Manager API calls for parameters, which store keys and configurations. No other file uses the
//! types of its SDK.

use aws_config::retry::RetryConfig;
use aws_sdk_ssm::types::{ParameterTier, ParameterType, ResourceTypeForTagging, Tag};
use tf_provider_rs::{Attr, Diagnostics, Object, Path, Value};
use zeroize::Zeroizing;

use crate::common::{AwsObject, Naming};
use crate::error::{ApiError, Named, OrMissing};
use crate::session::{Aws, Work};
use crate::tags::{self, Tags};
use warren_managed::Failure;

/// The name of a parameter is its ID.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct ParameterName {
    /// Name of the parameter, such as {example}. Changing this replaces the {noun}.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
    /// Name of the parameter.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
}

impl Naming for ParameterName {
    fn name(&self) -> &Attr<String> {
        &self.name
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn found(id: &str, _tags: &Tags) -> ParameterName {
        ParameterName { name: id.into(), id: id.into() }
    }
}

/// The key that AWS uses if none is named.
const AWS_KEY: &str = "alias/aws/ssm";

/// A version of a parameter, without its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// Counted from 1.
    pub(crate) number: i64,
    /// Written together with the value.
    pub(crate) description: Option<String>,
    /// The KMS key of a secret, unless it is the AWS managed key.
    pub(crate) kms_key_id: Option<String>,
}

/// A value to store.
pub(crate) struct Put<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
    pub(crate) description: &'a str,
    /// Encrypted with this key or with the AWS managed key; `None` for no encryption.
    pub(crate) secure: Option<Option<&'a str>>,
    /// Tags of a new parameter; `None` adds a version to an existing parameter.
    pub(crate) tags: Option<&'a Tags>,
}

/// Stores a value and returns its version. The SDK does not retry, because a retry would create another
/// version.
pub(crate) async fn put(aws: &Aws, put: &Put<'_>) -> Result<i64, ApiError> {
    let kind = if put.secure.is_some() { ParameterType::SecureString } else { ParameterType::String };
    let call = aws
        .ssm()
        .put_parameter()
        .name(put.name)
        .value(put.value)
        .description(put.description)
        .r#type(kind)
        .set_key_id(put.secure.flatten().map(str::to_owned))
        .tier(ParameterTier::IntelligentTiering)
        .overwrite(put.tags.is_none())
        .set_tags(put.tags.map(to_sdk).transpose()?)
        .customize()
        .config_override(aws_sdk_ssm::Config::builder().retry_config(RetryConfig::disabled()));
    Ok(call.send().await.named("PutParameter")?.version)
}

/// The last two versions, the current one last; an error if there are none. Nothing is decrypted.
pub(crate) async fn versions(aws: &Aws, name: &str) -> Result<Vec<Version>, ApiError> {
    let mut pages = aws.ssm().get_parameter_history().name(name).into_paginator().send();
    let mut versions = Vec::new();
    while let Some(page) = pages.next().await {
        let found = page.named("GetParameterHistory")?.parameters.unwrap_or_default();
        versions.extend(found.into_iter().map(|version| Version {
            number: version.version,
            description: version.description,
            kms_key_id: version.key_id.filter(|key| key != AWS_KEY),
        }));
    }
    versions.sort_by_key(|version| version.number);
    if versions.is_empty() {
        return Err(ApiError::absent("GetParameterHistory", name));
    }
    Ok(versions.split_off(versions.len().saturating_sub(2)))
}

/// The value of a parameter; `name:3` is its third version. An error if it does not exist.
pub(crate) async fn read(aws: &Aws, name: &str) -> Result<(i64, Zeroizing<String>), ApiError> {
    let call = aws.ssm().get_parameter().name(name).with_decryption(true);
    let parameter = call.send().await.named("GetParameter")?.parameter;
    let parameter = parameter.ok_or_else(|| ApiError::absent("GetParameter", name))?;
    let value = parameter.value.map(Zeroizing::new).or_missing("GetParameter", "Parameter.Value")?;
    Ok((parameter.version, value))
}

/// The tags of a parameter; an error if it does not exist.
pub(crate) async fn tags(aws: &Aws, name: &str) -> Result<Tags, ApiError> {
    let call =
        aws.ssm().list_tags_for_resource().resource_type(ResourceTypeForTagging::Parameter).resource_id(name);
    let tags = call.send().await.named("ListTagsForResource")?.tag_list.unwrap_or_default();
    Ok(tags.into_iter().map(|tag| (tag.key, tag.value)).collect())
}

/// The parameter of this name if this owner manages it; an error if another one does.
pub(crate) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let Some(tags) = ApiError::if_found(tags(aws, name).await)? else { return Ok(Vec::new()) };
    if aws.owns(&tags, name) {
        return Ok(vec![name.to_owned()]);
    }
    Err(tags::taken("PutParameter", "ParameterAlreadyExists", &format!("the parameter {name}"), &tags))
}

/// Reconciles the tags of a parameter.
pub(crate) async fn settle_tags(
    work: &Work<'_>,
    planned: &AwsObject<ParameterName>,
) -> Result<(), Diagnostics> {
    let Work { cloud: aws, op, .. } = work;
    let name = planned.id()?;
    let have = op.call(|| tags(aws, name)).await?;
    let want = aws.tags(name, &planned.tags);
    op.call(|| retag(aws, name, &have, &want)).await
}

async fn retag(aws: &Aws, name: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = aws.difference(have, want);
    let kind = ResourceTypeForTagging::Parameter;
    if !set.is_empty() {
        let call = aws.ssm().add_tags_to_resource().resource_type(kind.clone()).resource_id(name);
        call.set_tags(Some(to_sdk(&set)?)).send().await.named("AddTagsToResource")?;
    }
    if !unset.is_empty() {
        let call = aws.ssm().remove_tags_from_resource().resource_type(kind).resource_id(name);
        call.set_tag_keys(Some(unset.into_iter().collect())).send().await.named("RemoveTagsFromResource")?;
    }
    Ok(())
}

/// Deletes a parameter with all its versions; an error if it does not exist.
pub(crate) async fn delete(aws: &Aws, name: &str) -> Result<(), ApiError> {
    aws.ssm().delete_parameter().name(name).send().await.named("DeleteParameter").map(drop)
}

/// Validates the name of a parameter.
pub(crate) fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let levels = name.strip_prefix('/').unwrap_or("").split('/').collect::<Vec<_>>();
    let reserved = levels.first().is_some_and(|first| {
        let first = first.to_ascii_lowercase();
        first.starts_with("aws") || first.starts_with("ssm")
    });
    let fits = name.len() <= 900 && levels.len() <= 15 && levels.iter().all(|level| !level.is_empty());
    if !name.starts_with('/') || !name.chars().all(allowed) || reserved || !fits {
        diagnostics.error_at(
            path.clone(),
            "Invalid parameter name",
            "The value is not a valid name for a parameter. Use a path such as `/warren/gw-a/wireguard`: \
             up to 15 parts of `a-z A-Z 0-9`, `.`, `_` and `-`, up to 900 characters, not beginning with \
             `/aws` or `/ssm`.",
        );
    }
}

fn to_sdk(tags: &Tags) -> Result<Vec<Tag>, ApiError> {
    let tag = |(key, value)| Tag::builder().key(key).value(value).build();
    tags.iter()
        .map(tag)
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::unsent("AddTagsToResource", &error))
}
