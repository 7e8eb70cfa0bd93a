//! Attributes and state of `warren_aws_ecr_repository`.

use serde_json::{Value as Json, json};
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Value, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::policy;
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// An ECR repository.
    pub struct Repository {
        /// The name of the repository.
        pub name: Attr<String>,
        /// The same.
        pub id: Attr<String>,
        /// `MUTABLE` or `IMMUTABLE`.
        pub image_tag_mutability: Attr<String>,
        /// Whether images are scanned when they are pushed.
        pub scan_on_push: Attr<bool>,
        /// `AES256` or `KMS`.
        pub encryption_type: Attr<String>,
        /// ARN of a KMS key.
        pub kms_key: Attr<String>,
        /// JSON.
        pub lifecycle_policy: Attr<String>,
        /// The number of images that the lifecycle policy keeps.
        pub keep_last_images: Attr<i64>,
        /// JSON.
        pub repository_policy: Attr<String>,
        /// Whether a repository with images may be deleted.
        pub force_delete: Attr<bool>,
        /// The URL of the repository.
        pub repository_url: Attr<String>,
        /// Account ID.
        pub registry_id: Attr<String>,
        /// Amazon Resource Name.
        pub arn: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Repository, "warren_aws_ecr_repository");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a repository of container images in Amazon ECR. By default image tags are immutable and \
         images are scanned when they are pushed.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(name).describe(
            "Name of the repository, 2 to 256 characters from `a-z`, `0-9`, `.`, `_`, `-` and `/`, \
             beginning with a letter or digit. Changing this replaces the repository.",
        ),
        Attribute::string("id").computed().keeps().describe("Name of the repository."),
        Attribute::string("image_tag_mutability")
            .default("IMMUTABLE")
            .validate(|value, path, diagnostics| one_of(value, path, &["IMMUTABLE", "MUTABLE"], diagnostics))
            .describe(
                "Whether image tags can be moved to another image: `IMMUTABLE` or `MUTABLE`. Updated in \
                 place. Defaults to `IMMUTABLE`.",
            ),
        Attribute::bool("scan_on_push").default(true).describe(
            "Whether images are scanned when they are pushed. Updated in place. Defaults to `true`.",
        ),
        Attribute::string("encryption_type")
            .default("AES256")
            .replaces()
            .validate(|value, path, diagnostics| one_of(value, path, &["AES256", "KMS"], diagnostics))
            .describe(
                "Encryption of the images: `AES256` or `KMS`. Changing this replaces the repository. \
                 Defaults to `AES256`.",
            ),
        Attribute::string("kms_key").optional().computed().keeps().replaces().describe(
            "ARN of the KMS key that encrypts the images. Only valid if `encryption_type` is `KMS`. \
             Changing this replaces the repository. Defaults to the AWS managed key for ECR.",
        ),
        Attribute::string("lifecycle_policy").optional().validate(policy::json_object).describe(
            "Lifecycle policy as JSON. Differences in formatting are ignored. Conflicts with \
             `keep_last_images`. Updated in place.",
        ),
        Attribute::number("keep_last_images")
            .optional()
            .validate(|value, path, diagnostics| {
                let count = match value {
                    Value::Number(number) => number.to_i64(),
                    _ => None,
                };
                if !count.is_some_and(|count| (1..=1_000_000).contains(&count)) {
                    diagnostics.error_at(
                        path.clone(),
                        "Invalid number of images",
                        "`keep_last_images` is out of range. Use a whole number from 1 to 1000000.",
                    );
                }
            })
            .describe(
                "Number of images to keep, the most recently pushed, 1 to 1000000. Warren writes the \
                 lifecycle policy for it. Conflicts with `lifecycle_policy`. Updated in place.",
            ),
        Attribute::string("repository_policy")
            .optional()
            .validate(policy::json_object)
            .describe("Repository policy as JSON. Differences in formatting are ignored. Updated in place."),
        Attribute::bool("force_delete").default(false).describe(
            "Whether destroying the repository also deletes the images in it. A repository with images \
             cannot be destroyed otherwise. Updated in place. Defaults to `false`.",
        ),
        Attribute::string("repository_url")
            .computed()
            .keeps()
            .describe("URL of the repository without a tag, as used by `docker push`."),
        Attribute::string("registry_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the registry."),
        Attribute::string("arn").computed().keeps().describe("Amazon Resource Name (ARN) of the repository."),
    ])
    .attributes(common::tail())
}

fn name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
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

fn one_of(value: &Value, path: &Path, allowed: &[&str], diagnostics: &mut Diagnostics) {
    if !allowed.contains(&value.as_str().unwrap_or_default()) {
        let detail = format!("The value of `{path}` is not supported. Use one of {}.", allowed.join(", "));
        diagnostics.error_at(path.clone(), "Invalid value", detail);
    }
}

/// Checks attributes that depend on each other; unknown values are skipped.
pub(super) fn check(config: &Repository, diagnostics: &mut Diagnostics) {
    if config.lifecycle_policy.is_known() && config.keep_last_images.is_known() {
        diagnostics.error_at(
            Path::of("keep_last_images"),
            "Conflicting lifecycle policies",
            "`keep_last_images` and `lifecycle_policy` both define the lifecycle policy of the \
             repository. Remove one of them.",
        );
    }
    if config.kms_key.is_known()
        && !config.encryption_type.is_unknown()
        && config.encryption_type.text() != "KMS"
    {
        diagnostics.error_at(
            Path::of("kms_key"),
            "KMS key without KMS encryption",
            "`kms_key` is only valid with KMS encryption. Set `encryption_type = \"KMS\"`, or remove \
             `kms_key`.",
        );
    }
}

/// The planned lifecycle policy.
pub(super) fn lifecycle(planned: &Repository) -> Option<String> {
    if let Some(count) = planned.keep_last_images.known() {
        return Some(keep_last(*count).to_string());
    }
    planned.lifecycle_policy.known().cloned()
}

fn keep_last(count: i64) -> Json {
    json!({"rules": [{
        "rulePriority": 1,
        "description": format!("keep the last {count} images"),
        "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": count},
        "action": {"type": "expire"},
    }]})
}

/// The count of a policy that [`keep_last`] has written.
fn kept(policy: &str) -> Option<i64> {
    let policy: Json = serde_json::from_str(policy).ok()?;
    let count = policy["rules"][0]["selection"]["countNumber"].as_i64()?;
    (policy == keep_last(count)).then_some(count)
}

/// Whether two optional lifecycle policies have the same meaning.
pub(super) fn same_lifecycle(one: Option<&str>, other: Option<&str>) -> bool {
    same(one, other, policy::same_lifecycle)
}

/// Whether two optional repository policies have the same meaning.
pub(super) fn same_policy(one: Option<&str>, other: Option<&str>) -> bool {
    same(one, other, policy::equivalent)
}

fn same(one: Option<&str>, other: Option<&str>, equal: impl Fn(&str, &str) -> bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => equal(one, other),
        (one, other) => one == other,
    }
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Repository) -> Repository {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.name = found.name.clone().into();
    state.id = found.name.into();
    state.image_tag_mutability = found.mutability.into();
    state.scan_on_push = found.scan.into();
    state.encryption_type = found.encryption.into();
    state.kms_key = found.kms_key.into();
    let by_count = found.lifecycle.as_deref().and_then(kept).filter(|_| !before.lifecycle_policy.is_known());
    (state.keep_last_images, state.lifecycle_policy) = match by_count {
        Some(count) => (count.into(), Attr::Null),
        None => (
            Attr::Null,
            policy::keep_spelling(&before.lifecycle_policy, found.lifecycle, policy::same_lifecycle),
        ),
    };
    state.repository_policy =
        policy::keep_spelling(&before.repository_policy, found.policy, policy::equivalent);
    state.force_delete = before.force_delete.is_true().into();
    state.repository_url = found.url.into();
    state.registry_id = found.registry.into();
    state.arn = found.arn.into();
    state
}
