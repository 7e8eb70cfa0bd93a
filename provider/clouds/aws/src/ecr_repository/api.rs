//! ECR API calls for repositories.

use aws_sdk_ecr::types::{
    EncryptionConfiguration, EncryptionType, ImageScanningConfiguration, ImageTagMutability, Tag,
};

use super::schema::Repository;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::Failure;

/// A repository with its policies and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) arn: String,
    pub(super) url: String,
    pub(super) registry: String,
    pub(super) mutability: String,
    pub(super) scan: bool,
    pub(super) encryption: String,
    pub(super) kms_key: Option<String>,
    pub(super) lifecycle: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) tags: Tags,
}

fn to_sdk(tags: &Tags) -> Result<Vec<Tag>, ApiError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError {
            operation: "TagResource",
            code: "InvalidTag".into(),
            message: error.to_string(),
            status: 400,
        })
}

/// Creates a repository. Its name is its identity, so a retry finds the repository of the first attempt.
pub(super) async fn create(aws: &Aws, planned: &Repository, tags: &Tags) -> Result<(), ApiError> {
    let encryption = EncryptionConfiguration::builder()
        .encryption_type(EncryptionType::from(planned.encryption_type.text()))
        .set_kms_key(planned.kms_key.known().cloned())
        .build()
        .map_err(|error| ApiError {
            operation: "CreateRepository",
            code: "InvalidParameter".into(),
            message: error.to_string(),
            status: 400,
        })?;
    aws.ecr()
        .create_repository()
        .repository_name(planned.name.text())
        .set_tags(Some(to_sdk(tags)?))
        .image_tag_mutability(ImageTagMutability::from(planned.image_tag_mutability.text()))
        .image_scanning_configuration(
            ImageScanningConfiguration::builder().scan_on_push(planned.scan_on_push.is_true()).build(),
        )
        .encryption_configuration(encryption)
        .send()
        .await
        .named("CreateRepository")
        .map(drop)
}

/// The repository `name`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, name: &str) -> Result<Found, ApiError> {
    let ecr = aws.ecr();
    let answer =
        ecr.describe_repositories().repository_names(name).send().await.named("DescribeRepositories")?;
    let repository = answer.repositories.unwrap_or_default().into_iter().next();
    let repository = repository.ok_or_else(|| ApiError::absent("DescribeRepositories", name))?;
    let arn = repository.repository_arn.unwrap_or_default();
    let tags = ecr.list_tags_for_resource().resource_arn(&arn).send().await.named("ListTagsForResource")?;
    let lifecycle = ecr.get_lifecycle_policy().repository_name(name).send().await.named("GetLifecyclePolicy");
    let policy = ecr.get_repository_policy().repository_name(name).send().await.named("GetRepositoryPolicy");
    let encryption = repository.encryption_configuration;
    Ok(Found {
        name: repository.repository_name.unwrap_or_default(),
        arn,
        url: repository.repository_uri.unwrap_or_default(),
        registry: repository.registry_id.unwrap_or_default(),
        mutability: repository
            .image_tag_mutability
            .map(|mutability| mutability.as_str().to_owned())
            .unwrap_or_default(),
        scan: repository.image_scanning_configuration.is_some_and(|scanning| scanning.scan_on_push),
        encryption: encryption.as_ref().map_or_else(
            || EncryptionType::Aes256.as_str().to_owned(),
            |encryption| encryption.encryption_type.as_str().to_owned(),
        ),
        kms_key: encryption.and_then(|encryption| encryption.kms_key),
        lifecycle: ApiError::if_found(lifecycle)?.and_then(|answer| answer.lifecycle_policy_text),
        policy: ApiError::if_found(policy)?.and_then(|answer| answer.policy_text),
        tags: tags.tags.unwrap_or_default().into_iter().map(|tag| (tag.key, tag.value)).collect(),
    })
}

pub(super) async fn retag(aws: &Aws, arn: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = tags::difference(have, want);
    let ecr = aws.ecr();
    if !set.is_empty() {
        let call = ecr.tag_resource().resource_arn(arn).set_tags(Some(to_sdk(&set)?));
        call.send().await.named("TagResource")?;
    }
    if !unset.is_empty() {
        let call = ecr.untag_resource().resource_arn(arn).set_tag_keys(Some(unset.into_iter().collect()));
        call.send().await.named("UntagResource")?;
    }
    Ok(())
}

pub(super) async fn set_mutability(aws: &Aws, name: &str, mutability: &str) -> Result<(), ApiError> {
    let call = aws
        .ecr()
        .put_image_tag_mutability()
        .repository_name(name)
        .image_tag_mutability(ImageTagMutability::from(mutability));
    call.send().await.named("PutImageTagMutability").map(drop)
}

pub(super) async fn set_scan(aws: &Aws, name: &str, on: bool) -> Result<(), ApiError> {
    let scanning = ImageScanningConfiguration::builder().scan_on_push(on).build();
    let call = aws
        .ecr()
        .put_image_scanning_configuration()
        .repository_name(name)
        .image_scanning_configuration(scanning);
    call.send().await.named("PutImageScanningConfiguration").map(drop)
}

pub(super) async fn set_lifecycle(aws: &Aws, name: &str, policy: Option<&str>) -> Result<(), ApiError> {
    let ecr = aws.ecr();
    let Some(policy) = policy else {
        let call = ecr.delete_lifecycle_policy().repository_name(name).send().await;
        return ApiError::unless_gone(call.named("DeleteLifecyclePolicy").map(drop));
    };
    let call = ecr.put_lifecycle_policy().repository_name(name).lifecycle_policy_text(policy);
    call.send().await.named("PutLifecyclePolicy").map(drop)
}

pub(super) async fn set_policy(aws: &Aws, name: &str, policy: Option<&str>) -> Result<(), ApiError> {
    let ecr = aws.ecr();
    let Some(policy) = policy else {
        let call = ecr.delete_repository_policy().repository_name(name).send().await;
        return ApiError::unless_gone(call.named("DeleteRepositoryPolicy").map(drop));
    };
    let call = ecr.set_repository_policy().repository_name(name).policy_text(policy);
    call.send().await.named("SetRepositoryPolicy").map(drop)
}

pub(super) async fn delete(aws: &Aws, name: &str, force: bool) -> Result<(), ApiError> {
    let call = aws.ecr().delete_repository().repository_name(name).force(force);
    ApiError::unless_gone(call.send().await.named("DeleteRepository").map(drop))
}
