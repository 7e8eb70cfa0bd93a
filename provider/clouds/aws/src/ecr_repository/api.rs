//! ECR API calls for repositories.

use aws_sdk_ecr::types::{
    self, EncryptionConfiguration, EncryptionType, ImageScanningConfiguration, ImageTagMutability, Tag,
};
use tf_provider_rs::Attr;
use warren_managed::Failure;

use super::model::{Encryption, Mutability, Repository};
use super::policies;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::Tags;

const DESCRIBE: &str = "DescribeRepositories";

fn to_sdk(tags: &Tags) -> Result<Vec<Tag>, ApiError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().key(key).value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::unsent("TagResource", &error))
}

/// Creates a repository. Its name is its identity, so a retry finds the repository of the first attempt.
pub(super) async fn create(aws: &Aws, planned: &Repository, tags: &Tags) -> Result<(), ApiError> {
    let encryption = EncryptionConfiguration::builder()
        .encryption_type(EncryptionType::from(planned.encryption_type.value()?.as_str()))
        .set_kms_key(planned.kms_key.known().cloned())
        .build()
        .map_err(|error| ApiError::unsent("CreateRepository", &error))?;
    aws.ecr()
        .create_repository()
        .repository_name(planned.object.name()?)
        .set_tags(Some(to_sdk(tags)?))
        .image_tag_mutability(ImageTagMutability::from(planned.image_tag_mutability.value()?.as_str()))
        .image_scanning_configuration(
            ImageScanningConfiguration::builder().scan_on_push(planned.scan_on_push.is_true()).build(),
        )
        .encryption_configuration(encryption)
        .send()
        .await
        .named("CreateRepository")
        .map(drop)
}

/// A repository with what further calls return.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Details {
    pub(super) repository: types::Repository,
    pub(super) lifecycle: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) tags: Tags,
}

/// The repository of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Repository) -> Result<Repository, ApiError> {
    let name = before.object.name()?;
    let ecr = aws.ecr();
    let answer = ecr.describe_repositories().repository_names(name).send().await.named(DESCRIBE)?;
    let repository = answer.repositories.and_then(|repositories| repositories.into_iter().next());
    let repository = repository.ok_or_else(|| ApiError::absent(DESCRIBE, name))?;
    let arn = repository.repository_arn.clone().or_missing(DESCRIBE, "RepositoryArn")?;
    let tags = ecr.list_tags_for_resource().resource_arn(&arn).send().await.named("ListTagsForResource")?;
    let lifecycle = ecr.get_lifecycle_policy().repository_name(name).send().await.named("GetLifecyclePolicy");
    let policy = ecr.get_repository_policy().repository_name(name).send().await.named("GetRepositoryPolicy");
    let details = Details {
        repository,
        lifecycle: ApiError::if_found(lifecycle)?.and_then(|answer| answer.lifecycle_policy_text),
        policy: ApiError::if_found(policy)?.and_then(|answer| answer.policy_text),
        tags: tags.tags.unwrap_or_default().into_iter().map(|tag| (tag.key, tag.value)).collect(),
    };
    state(aws, details, before)
}

pub(super) fn state(aws: &Aws, details: Details, before: &Repository) -> Result<Repository, ApiError> {
    let Details { repository, lifecycle, policy, tags } = details;
    let name = repository.repository_name.or_missing(DESCRIBE, "RepositoryName")?;
    let mutability = repository.image_tag_mutability.map(|mutability| mutability.as_str().to_owned());
    let encryption = repository.encryption_configuration;
    let encryption_type =
        encryption.as_ref().map(|encryption| encryption.encryption_type.as_str().to_owned());
    let (keep_last_images, lifecycle_policy, repository_policy) = policies::state(before, lifecycle, policy);
    Ok(Repository {
        object: before.object.found(aws, &name, &tags),
        // A mode that this resource does not offer appears as drift.
        image_tag_mutability: mutability.parsed::<Mutability>(DESCRIBE, "ImageTagMutability").ok().into(),
        scan_on_push: repository
            .image_scanning_configuration
            .is_some_and(|scanning| scanning.scan_on_push)
            .into(),
        // AES256 is the default of AWS.
        encryption_type: encryption_type
            .parsed_if_set(DESCRIBE, "EncryptionType")?
            .unwrap_or(Encryption::Aes256)
            .into(),
        kms_key: encryption.and_then(|encryption| encryption.kms_key).non_empty().into(),
        lifecycle_policy,
        keep_last_images,
        repository_policy,
        force_delete: before.force_delete.is_true().into(),
        repository_url: Attr::Known(repository.repository_uri.or_missing(DESCRIBE, "RepositoryUri")?),
        registry_id: Attr::Known(repository.registry_id.or_missing(DESCRIBE, "RegistryId")?),
        arn: Attr::Known(repository.repository_arn.or_missing(DESCRIBE, "RepositoryArn")?),
    })
}

pub(super) async fn retag(aws: &Aws, arn: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = aws.difference(have, want);
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

pub(super) async fn set_mutability(aws: &Aws, name: &str, mutability: Mutability) -> Result<(), ApiError> {
    let call = aws
        .ecr()
        .put_image_tag_mutability()
        .repository_name(name)
        .image_tag_mutability(ImageTagMutability::from(mutability.as_str()));
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
