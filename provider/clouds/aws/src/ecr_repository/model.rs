//! Schema and state of `warren_aws_ecr_repository`.

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Choice, Diagnostics, Object, Path, Resource, Value};
use warren_managed::HasShared;

use crate::common::{AwsObject, Naming};
use crate::policy;
use crate::tags::Tags;

/// Manages a repository of container images in Amazon ECR. By default image tags are immutable and images are scanned
/// when they are pushed.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_ecr_repository")]
pub(crate) struct Repository {
    #[attr(flatten)]
    pub(crate) object: AwsObject<RepositoryName>,
    /// Whether image tags can be moved to another image: `IMMUTABLE` or `MUTABLE`. Updated in place. Defaults to
    /// `IMMUTABLE`.
    #[attr(default = Mutability::Immutable)]
    pub(crate) image_tag_mutability: Attr<Mutability>,
    /// Whether images are scanned when they are pushed. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) scan_on_push: Attr<bool>,
    /// Encryption of the images: `AES256` or `KMS`. Changing this replaces the repository. Defaults to `AES256`.
    #[attr(default = Encryption::Aes256, replaces)]
    pub(crate) encryption_type: Attr<Encryption>,
    /// ARN of the KMS key that encrypts the images. Only valid if `encryption_type` is `KMS`. Changing this replaces
    /// the repository. Defaults to the AWS managed key for ECR.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) kms_key: Attr<String>,
    /// Lifecycle policy as JSON. Differences in formatting are ignored. Conflicts with `keep_last_images`. Updated in
    /// place.
    #[attr(optional, validate = policy::json_object)]
    pub(crate) lifecycle_policy: Attr<String>,
    /// Number of images to keep, the most recently pushed, 1 to 1000000. Warren writes the lifecycle policy for it.
    /// Conflicts with `lifecycle_policy`. Updated in place.
    #[attr(optional, validate = between(1, 1_000_000))]
    pub(crate) keep_last_images: Attr<i64>,
    /// Repository policy as JSON. Differences in formatting are ignored. Updated in place.
    #[attr(optional, validate = policy::json_object)]
    pub(crate) repository_policy: Attr<String>,
    /// Whether destroying the repository also deletes the images in it. A repository with images cannot be destroyed
    /// otherwise. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) force_delete: Attr<bool>,
    /// URL of the repository without a tag, as used by `docker push`.
    #[attr(computed, keeps)]
    pub(crate) repository_url: Attr<String>,
    /// ID of the AWS account that owns the registry.
    #[attr(computed, keeps)]
    pub(crate) registry_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the repository.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for Repository {
    type Shared = AwsObject<RepositoryName>;
}

/// The name of a repository is its ID.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct RepositoryName {
    /// Name of the repository, 2 to 256 characters from `a-z`, `0-9`, `.`, `_`, `-` and `/`, beginning with a letter
    /// or digit. Changing this replaces the repository.
    #[attr(required, replaces, validate = check_name)]
    pub(crate) name: Attr<String>,
    /// Name of the repository.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
}

impl Naming for RepositoryName {
    fn name(&self) -> &Attr<String> {
        // After an import, only the ID is known.
        if self.name.is_known() { &self.name } else { &self.id }
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn found(id: &str, _tags: &Tags) -> RepositoryName {
        RepositoryName { name: id.into(), id: id.into() }
    }
}

/// Whether image tags can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Mutability {
    #[choice("IMMUTABLE")]
    Immutable,
    #[choice("MUTABLE")]
    Mutable,
}

/// Encryption of the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Encryption {
    #[choice("AES256")]
    Aes256,
    #[choice("KMS")]
    Kms,
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_/".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !(2..=256).contains(&name.len()) || !name.chars().all(allowed) || !begins {
        diagnostics.error_at(
            path.clone(),
            "Invalid repository name",
            "The name is too short, too long, or contains characters that ECR does not accept. Use 2 to \
             256 characters from `a-z`, `0-9`, `.`, `_`, `-` and `/`, beginning with a letter or digit.",
        );
    }
}
