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
        /// The repository's own name.
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
        /// A lifecycle policy in one number.
        pub keep_last_images: Attr<i64>,
        /// JSON.
        pub repository_policy: Attr<String>,
        /// Whether a repository with images may be deleted.
        pub force_delete: Attr<bool>,
        /// Where images are pushed.
        pub repository_url: Attr<String>,
        /// Account id.
        pub registry_id: Attr<String>,
        /// Amazon resource name.
        pub arn: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Repository, "warren_aws_ecr_repository");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A repository of container images in ECR. Tags of images cannot be moved and images are scanned, unless said \
         otherwise.",
    )
    .attributes([
        Attribute::string("name").required().replaces().validate(name).describe(
            "Name of the repository, 2 to 256 characters of `a-z`, `0-9`, `.`, `_`, `-` and `/`. A change replaces \
             the repository.",
        ),
        Attribute::string("id").computed().keeps().describe("The name."),
        Attribute::string("image_tag_mutability")
            .default("IMMUTABLE")
            .validate(|value, path, diagnostics| one_of(value, path, &["IMMUTABLE", "MUTABLE"], diagnostics))
            .describe("`IMMUTABLE` or `MUTABLE`: whether a tag can be moved. Changes in place. Default: `IMMUTABLE`."),
        Attribute::bool("scan_on_push")
            .default(true)
            .describe("Whether images are scanned when they are pushed. Changes in place. Default: `true`."),
        Attribute::string("encryption_type")
            .default("AES256")
            .replaces()
            .validate(|value, path, diagnostics| one_of(value, path, &["AES256", "KMS"], diagnostics))
            .describe("`AES256` or `KMS`. A change replaces the repository. Default: `AES256`."),
        Attribute::string("kms_key").optional().computed().keeps().replaces().describe(
            "ARN of the KMS key; only with `KMS`, where AWS's own key is the default. A change replaces the \
             repository.",
        ),
        Attribute::string("lifecycle_policy")
            .optional()
            .validate(policy::json_object)
            .describe("Lifecycle policy as JSON, compared by meaning. Changes in place."),
        Attribute::number("keep_last_images")
            .optional()
            .validate(|value, path, diagnostics| {
                let count = match value {
                    Value::Number(number) => number.to_i64(),
                    _ => None,
                };
                if !count.is_some_and(|count| (1..=1_000_000).contains(&count)) {
                    diagnostics.error_at(path.clone(), "Count not possible", "It is 1 to 1000000 images.");
                }
            })
            .describe("A lifecycle policy in one number: how many images stay, the newest. Instead of `lifecycle_policy`."),
        Attribute::string("repository_policy")
            .optional()
            .validate(policy::json_object)
            .describe("Resource policy as JSON, compared by meaning. Changes in place."),
        Attribute::bool("force_delete")
            .default(false)
            .describe("Whether the repository may be deleted with the images in it. Default: `false`."),
        Attribute::string("repository_url").computed().keeps().describe("Where images are pushed, without a tag."),
        Attribute::string("registry_id").computed().keeps().describe("Id of the account, 12 digits."),
        Attribute::string("arn").computed().keeps().describe("Amazon resource name."),
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
            "Name not possible",
            "A repository name has 2 to 256 characters of `a-z`, `0-9`, `.`, `_`, `-` and `/`, a letter or digit first.",
        );
    }
}

fn one_of(value: &Value, path: &Path, allowed: &[&str], diagnostics: &mut Diagnostics) {
    if !allowed.contains(&value.as_str().unwrap_or_default()) {
        let detail = format!("`{path}` is one of {}.", allowed.join(", "));
        diagnostics.error_at(path.clone(), "Value not possible", detail);
    }
}

/// Checks what belongs together; unknown values are passed over.
pub(super) fn check(config: &Repository, diagnostics: &mut Diagnostics) {
    if config.lifecycle_policy.is_known() && config.keep_last_images.is_known() {
        diagnostics.error_at(
            Path::of("keep_last_images"),
            "Two lifecycle policies",
            "`keep_last_images` is a lifecycle policy by itself: leave out one of it and `lifecycle_policy`.",
        );
    }
    if config.kms_key.is_known()
        && !config.encryption_type.is_unknown()
        && config.encryption_type.text() != "KMS"
    {
        diagnostics.error_at(
            Path::of("kms_key"),
            "A key without KMS",
            "`kms_key` is used only with `encryption_type = \"KMS\"`.",
        );
    }
}

/// The lifecycle policy that a plan asks for.
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

/// Whether there is, or is no, lifecycle policy of the same meaning.
pub(super) fn same_lifecycle(one: Option<&str>, other: Option<&str>) -> bool {
    same(one, other, policy::same_lifecycle)
}

/// Whether there is, or is no, resource policy of the same meaning.
pub(super) fn same_policy(one: Option<&str>, other: Option<&str>) -> bool {
    same(one, other, policy::equivalent)
}

fn same(one: Option<&str>, other: Option<&str>, equal: impl Fn(&str, &str) -> bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => equal(one, other),
        (one, other) => one == other,
    }
}

/// The state that what was found makes of `before`.
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
