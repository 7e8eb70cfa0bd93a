//! The number of versions to keep, as two cleanup policies of Artifact Registry: the keep policy overrides the other.

use std::collections::HashMap;

use google_cloud_artifactregistry_v1::model::cleanup_policy::Action;
use google_cloud_artifactregistry_v1::model::cleanup_policy_condition::TagState;
use google_cloud_artifactregistry_v1::model::{
    CleanupPolicy, CleanupPolicyCondition, CleanupPolicyMostRecentVersions,
};

use super::model::Repository;

const KEEP: &str = "warren-keep";
const REST: &str = "warren-rest";

/// The policies of a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cleanup {
    /// None of ours. Policies of others stay until ours are wanted.
    #[default]
    NotOurs,
    /// Keep this many versions of each package.
    Keep(i32),
    /// Ours, but changed outside the provider.
    Changed,
}

impl Cleanup {
    pub(super) fn wanted(planned: &Repository) -> Cleanup {
        let count = planned.keep_last_versions.known();
        count.map_or(Cleanup::NotOurs, |count| Cleanup::Keep(*count))
    }

    pub(super) fn found(policies: &HashMap<String, CleanupPolicy>) -> Cleanup {
        let Some(keep) = policies.get(KEEP) else { return Cleanup::NotOurs };
        let count = keep.most_recent_versions().and_then(|versions| versions.keep_count);
        match count.map(Cleanup::Keep) {
            Some(ours) if ours.policies() == *policies => ours,
            _ => Cleanup::Changed,
        }
    }

    /// The number of versions to keep, if the policies are ours and unchanged.
    pub(super) fn count(&self) -> Option<i32> {
        match self {
            Cleanup::Keep(count) => Some(*count),
            Cleanup::NotOurs | Cleanup::Changed => None,
        }
    }

    /// The policies for the API.
    pub(super) fn policies(&self) -> HashMap<String, CleanupPolicy> {
        let Cleanup::Keep(count) = self else { return HashMap::new() };
        let newest = CleanupPolicyMostRecentVersions::new().set_keep_count(*count);
        let any = CleanupPolicyCondition::new().set_tag_state(TagState::Any);
        let keep =
            CleanupPolicy::new().set_id(KEEP).set_action(Action::Keep).set_most_recent_versions(newest);
        let rest = CleanupPolicy::new().set_id(REST).set_action(Action::Delete).set_condition(any);
        [(KEEP.to_owned(), keep), (REST.to_owned(), rest)].into()
    }
}
