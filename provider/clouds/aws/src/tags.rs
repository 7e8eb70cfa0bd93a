//! Tags that identify an object, default tags and tags from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{Filter, ResourceType, Tag, TagSpecification};
use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_managed::sets;

use crate::config::IgnoreTags;
use crate::error::ApiError;
use crate::session::Aws;

/// Tags in a configuration.
pub(crate) type TagMap = Attr<BTreeMap<String, Attr<String>>>;
/// Tags of an object.
pub(crate) type Tags = BTreeMap<String, String>;

pub(crate) const FABRIC: &str = "warren:fabric";
pub(crate) const OWNER: &str = "warren:owner";
pub(crate) const NAME: &str = "warren:name";
/// Marks an address that belongs to a resource of the type in the value, as opposed to a separate address
/// with the same name.
pub(crate) const PART_OF: &str = "warren:part-of";
/// Shown in consoles; a user's own `Name` has precedence.
pub(crate) const SHOWN: &str = "Name";

/// The keys of tags that other tools manage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ignored {
    keys: BTreeSet<String>,
    prefixes: BTreeSet<String>,
}

impl Ignored {
    /// From the provider block.
    pub(crate) fn new(config: &Attr<IgnoreTags>) -> Ignored {
        let Some(config) = config.known() else { return Ignored::default() };
        Ignored { keys: sets::known(&config.keys), prefixes: sets::known(&config.key_prefixes) }
    }

    /// Whether another tool manages the tag.
    pub(crate) fn contains(&self, key: &str) -> bool {
        let ours = [FABRIC, OWNER, NAME, PART_OF].contains(&key);
        !ours && (self.keys.contains(key) || self.prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }
}

/// The attribute `tags_all` of an object with these tags.
pub(crate) fn all(tags: &Tags) -> TagMap {
    Attr::Known(
        tags.iter()
            .filter(|(key, _)| !key.starts_with("aws:"))
            .map(|(key, value)| (key.clone(), Attr::Known(value.clone())))
            .collect(),
    )
}

/// The name of the object in its tags.
pub(crate) fn name(tags: &Tags) -> Attr<String> {
    tags.get(NAME).or_else(|| tags.get(SHOWN)).cloned().into()
}

/// The fabric and the owner of the object in its tags.
pub(crate) fn scope(tags: &Tags) -> (Option<String>, Option<String>) {
    (tags.get(FABRIC).cloned(), tags.get(OWNER).cloned())
}

/// The tags that identify the object `name` of this fabric and owner.
pub(crate) fn identity(aws: &Aws, name: &str) -> [(&'static str, String); 3] {
    [(FABRIC, aws.scope.fabric.clone()), (OWNER, aws.scope.owner.clone()), (NAME, name.to_owned())]
}

/// The error for a create whose name belongs to an object of another owner.
pub(crate) fn taken(operation: &'static str, code: &str, what: &str, tags: &Tags) -> ApiError {
    let owner = match scope(tags) {
        (Some(fabric), Some(owner)) => {
            format!("It belongs to owner {owner:?} of fabric {fabric:?}. Choose another name.")
        }
        _ => "It has no Warren tags. Import it to manage it with this resource, or choose another name."
            .to_owned(),
    };
    let message = format!("{what} already exists. {owner}");
    ApiError { operation, code: code.to_owned(), message, status: 400 }
}

/// For the create call.
pub(crate) fn specification(kind: ResourceType, tags: &Tags) -> TagSpecification {
    TagSpecification::builder().resource_type(kind).set_tags(Some(to_sdk(tags))).build()
}

/// From a describe call.
pub(crate) fn from_sdk(tags: &[Tag]) -> Tags {
    tags.iter().filter_map(|tag| Some((tag.key.clone()?, tag.value.clone().unwrap_or_default()))).collect()
}

/// A filter of a describe call.
pub(crate) fn filter(name: &str, value: &str) -> Filter {
    Filter::builder().name(name).values(value).build()
}

/// Rejects reserved keys, and sizes that AWS does not accept.
pub(crate) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(tags) = value else { return };
    for (key, value) in tags {
        let why = if ["aws:", "warren:"].iter().any(|kept| key.to_lowercase().starts_with(kept)) {
            "the prefixes `aws:` and `warren:` are reserved for AWS and this provider"
        } else if key.is_empty() || key.chars().count() > 128 {
            "a key must have 1 to 128 characters"
        } else if value.as_str().is_some_and(|value| value.chars().count() > 256) {
            "a value must have at most 256 characters"
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(key),
            "Invalid tag",
            format!("The tag {key:?} cannot be set: {why}. Rename or shorten it."),
        );
    }
}

/// For calls that change tags.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// The known tags of a configuration.
pub(crate) fn known(tags: &TagMap) -> Tags {
    tags.known()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.known()?.clone())))
        .collect()
}

/// The tags to set and to remove. Tags that AWS manages stay.
pub(crate) fn difference(have: &Tags, want: &Tags) -> (Tags, BTreeSet<String>) {
    let set = want.iter().filter(|(key, value)| have.get(*key) != Some(*value));
    let unset = have.keys().filter(|key| !want.contains_key(*key) && !key.starts_with("aws:"));
    (set.map(|(key, value)| (key.clone(), value.clone())).collect(), unset.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_difference_leaves_the_tags_of_aws_alone() {
        let have = tags(&[("a", "1"), ("b", "2"), ("aws:cloudformation:stack-name", "x")]);
        let want = tags(&[("a", "1"), ("c", "3")]);
        assert_eq!(difference(&have, &want), (tags(&[("c", "3")]), BTreeSet::from(["b".to_owned()])));
    }

    #[test]
    fn kept_keys_and_sizes_are_told() {
        let long = "x".repeat(129);
        let map = ["aws:x", "Warren:owner", "", &long, "fine"].map(|key| (key.to_owned(), Value::from("v")));
        let mut diagnostics = Diagnostics::default();
        check(&Value::Map(map.into()), &Path::of("tags"), &mut diagnostics);
        let told: Vec<&str> = diagnostics.0.iter().map(|d| d.detail.as_str()).collect();
        insta::assert_snapshot!(told.join("\n").replace(&long, "(129 characters)"));
    }
}
