//! Policies of repositories: what is planned, what was found, and whether they mean the same.

use serde_json::{Value as Json, json};
use tf_provider_rs::Attr;

use super::model::Repository;
use crate::policy;

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

/// The policies of the state: `keep_last_images`, `lifecycle_policy` and `repository_policy`. They keep the spelling of
/// `before` where they mean the same.
pub(super) fn state(
    before: &Repository,
    lifecycle: Option<String>,
    repository: Option<String>,
) -> (Attr<i64>, Attr<String>, Attr<String>) {
    let by_count = lifecycle.as_deref().and_then(kept).filter(|_| !before.lifecycle_policy.is_known());
    let (count, lifecycle) = match by_count {
        Some(count) => (count.into(), Attr::Null),
        None => {
            let same = policy::same_lifecycle;
            (Attr::Null, policy::keep_spelling(&before.lifecycle_policy, lifecycle, same))
        }
    };
    (count, lifecycle, policy::keep_spelling(&before.repository_policy, repository, policy::equivalent))
}
