//! Tags: those that find an object again, the provider's and the user's.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{Filter, ResourceType, Tag, TagSpecification};
use tf_provider_rs::{Attr, Diagnostics, Path, Value};

use crate::common::Tagged;
use crate::error::{ApiError, Named};
use crate::session::{Aws, Work};

/// Tags as a configuration writes them.
pub(crate) type TagMap = Attr<BTreeMap<String, Attr<String>>>;
/// Tags as an object has them.
pub(crate) type Tags = BTreeMap<String, String>;

const FABRIC: &str = "warren:fabric";
const OWNER: &str = "warren:owner";
const NAME: &str = "warren:name";
/// Of an address that belongs to a resource of the type in its value: what tells it from an address of the same name
/// that is an object of its own.
pub(crate) const PART_OF: &str = "warren:part-of";
/// What consoles show; a user's own `Name` wins.
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

    /// Whether these are the tags of an object of this fabric and owner called `name`.
    pub(crate) fn owns(&self, tags: &Tags, name: &str) -> bool {
        scope(tags) == (Some(self.scope.fabric.clone()), Some(self.scope.owner.clone()))
            && tags.get(NAME).is_some_and(|tag| tag == name)
    }

    /// The part of an object's tags that the user's `tags` attribute stands for. `before` is that
    /// attribute's last value: a tag that equals a default one is the user's only if it is in there.
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

    /// Makes the tags of `id` what they should be.
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

/// Makes the tags of the object, which are `have`, what is planned.
pub(crate) async fn retag(work: &Work<'_>, planned: &impl Tagged, have: &Tags) -> Result<(), Diagnostics> {
    let want = planned.marks(&work.cloud);
    work.op.call(|| work.cloud.retag(planned.id().text(), have, &want)).await
}

/// The planned `tags_all`; unknown while a part of it is.
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

/// The name that an object's tags give it.
pub(crate) fn name(tags: &Tags) -> Attr<String> {
    tags.get(NAME).or_else(|| tags.get(SHOWN)).cloned().into()
}

/// The fabric and the owner that an object's tags name.
pub(crate) fn scope(tags: &Tags) -> (Option<String>, Option<String>) {
    (tags.get(FABRIC).cloned(), tags.get(OWNER).cloned())
}

/// The error of a create whose name somebody else's object has.
pub(crate) fn taken(operation: &'static str, code: &str, what: &str, tags: &Tags) -> ApiError {
    let owner = match scope(tags) {
        (Some(fabric), Some(owner)) => format!("It belongs to owner {owner:?} of fabric {fabric:?}."),
        _ => "It has no warren tags: import it to manage it here.".to_owned(),
    };
    let message = format!("{what} exists already. {owner}");
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

/// Refuses keys that AWS or this provider keeps for itself, and sizes that AWS does not take.
pub(crate) fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Value::Map(tags) = value else { return };
    for (key, value) in tags {
        let why = if ["aws:", "warren:"].iter().any(|kept| key.to_lowercase().starts_with(kept)) {
            "its prefix is kept for AWS (`aws:`) and this provider (`warren:`)"
        } else if key.is_empty() || key.chars().count() > 128 {
            "a key has 1 to 128 characters"
        } else if value.as_str().is_some_and(|value| value.chars().count() > 256) {
            "a value has at most 256 characters"
        } else {
            continue;
        };
        diagnostics.error_at(
            path.key(key),
            "Tag not possible",
            format!("The tag {key:?} cannot be set: {why}."),
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

/// What to set and what to take away; AWS's own tags stay.
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
