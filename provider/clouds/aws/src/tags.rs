//! Tags that identify an object, default tags and tags from the configuration.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{Filter, ResourceType, Tag, TagSpecification};
use tf_provider_rs::{Attr, Diagnostics, Path, Value};

use crate::common::Tagged;
use crate::error::{ApiError, Named};
use crate::session::{Aws, Work};

/// Tags in a configuration.
pub(crate) type TagMap = Attr<BTreeMap<String, Attr<String>>>;
/// Tags of an object.
pub(crate) type Tags = BTreeMap<String, String>;

const FABRIC: &str = "warren:fabric";
const OWNER: &str = "warren:owner";
const NAME: &str = "warren:name";
/// Marks an address that belongs to a resource of the type in the value, as opposed to a separate address
/// with the same name.
pub(crate) const PART_OF: &str = "warren:part-of";
/// Shown in consoles; a user's own `Name` has precedence.
const SHOWN: &str = "Name";

impl Aws {
    /// All tags of the object `name` with the user's `tags`.
    pub(crate) fn tags(&self, name: &str, tags: &TagMap) -> Tags {
        let mut all = Tags::from([(SHOWN.to_owned(), name.to_owned())]);
        all.extend(self.default_tags.clone());
        all.extend(known(tags));
        all.extend([
            (FABRIC.to_owned(), self.scope.fabric.clone()),
            (OWNER.to_owned(), self.scope.owner.clone()),
            (NAME.to_owned(), name.to_owned()),
        ]);
        all
    }

    /// Filters of describe calls that find the objects of this fabric and owner called `name`.
    pub(crate) fn filters(&self, name: &str) -> Vec<Filter> {
        vec![
            filter(&format!("tag:{FABRIC}"), &self.scope.fabric),
            filter(&format!("tag:{OWNER}"), &self.scope.owner),
            filter(&format!("tag:{NAME}"), name),
        ]
    }

    /// Whether the tags belong to an object of this fabric and owner named `name`.
    pub(crate) fn owns(&self, tags: &Tags, name: &str) -> bool {
        scope(tags) == (Some(self.scope.fabric.clone()), Some(self.scope.owner.clone()))
            && tags.get(NAME).is_some_and(|tag| tag == name)
    }

    /// The tags of an object that belong in the `tags` attribute. `before` is the last value of that
    /// attribute: a tag that equals a default tag counts only if it is in there.
    pub(crate) fn user_tags(&self, all: &Tags, before: &TagMap) -> TagMap {
        let was = known(before);
        let name = all.get(NAME);
        let user: BTreeMap<String, Attr<String>> = all
            .iter()
            .filter(|(key, value)| {
                let ours = [FABRIC, OWNER, NAME].contains(&key.as_str()) || key.starts_with("aws:");
                let by_default = self.default_tags.contains_key(*key)
                    || (key.as_str() == SHOWN && (name == Some(*value) || name.is_none()));
                !ours && (was.contains_key(*key) || !by_default)
            })
            .map(|(key, value)| (key.clone(), Attr::Known(value.clone())))
            .collect();
        if user.is_empty() && !before.is_known() { Attr::Null } else { Attr::Known(user) }
    }

    /// Reconciles the tags of `id`.
    pub(crate) async fn retag(&self, id: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
        let (set, unset) = difference(have, want);
        if !set.is_empty() {
            let call = self.ec2().create_tags().resources(id).set_tags(Some(to_sdk(&set)));
            call.send().await.named("CreateTags")?;
        }
        if !unset.is_empty() {
            let gone = unset.iter().map(|key| Tag::builder().key(key).build()).collect();
            self.ec2().delete_tags().resources(id).set_tags(Some(gone)).send().await.named("DeleteTags")?;
        }
        Ok(())
    }
}

/// Reconciles the tags of the object, which are `have`, with the plan.
pub(crate) async fn retag(work: &Work<'_>, planned: &impl Tagged, have: &Tags) -> Result<(), Diagnostics> {
    let want = planned.marks(&work.cloud);
    work.op.call(|| work.cloud.retag(planned.id().text(), have, &want)).await
}

/// The planned `tags_all`; unknown while part of it is unknown.
pub(crate) fn planned(aws: Option<&Aws>, name: &Attr<String>, tags: &TagMap) -> TagMap {
    let unknown =
        tags.is_unknown() || tags.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
    match (aws, name) {
        (Some(aws), Attr::Known(name)) if !unknown => all(&aws.tags(name, tags)),
        _ => Attr::Unknown,
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

fn to_sdk(tags: &Tags) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

fn known(tags: &TagMap) -> Tags {
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

    #[tokio::test]
    async fn the_users_tags_are_told_from_the_providers() {
        let aws = crate::session::tests::account([("team", "ml")]).await;
        let wrote = Attr::Known(BTreeMap::from([("env".to_owned(), Attr::from("prod"))]));
        let all = aws.tags("hub", &wrote);
        insta::assert_json_snapshot!(all);
        assert_eq!(aws.user_tags(&all, &wrote), wrote);
        assert_eq!(aws.user_tags(&aws.tags("hub", &Attr::Null), &Attr::Null), Attr::Null);
        let mut drifted = all;
        drifted.insert("by-hand".into(), "1".into());
        drifted.remove("env");
        let expected = Attr::Known(BTreeMap::from([("by-hand".to_owned(), Attr::from("1"))]));
        assert_eq!(aws.user_tags(&drifted, &wrote), expected);
    }
}
