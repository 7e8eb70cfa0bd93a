//! The attributes that all AWS resources share: name, ID, tags and timeouts.

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value};
pub(crate) use warren_managed::Common;
use warren_managed::{Cloud, timeouts};

use crate::session::{Aws, Work};
use crate::tags::{self, TagMap, Tags};

/// A model with tags.
pub(crate) trait Tagged: Common<Cloud = Aws> {
    fn tags(&self) -> &TagMap;
    fn set_name(&mut self, name: Attr<String>);
    fn set_tags(&mut self, tags: TagMap);
    fn set_tags_all(&mut self, tags: TagMap);

    /// Sets name and tags from the tags of the object.
    fn take_tags(&mut self, aws: &Aws, found: &Tags) {
        let user = aws.user_tags(found, self.tags());
        self.set_tags(user);
        self.set_name(tags::name(found));
        self.set_tags_all(tags::all(found));
    }
}

/// Reconciles the tags of the object, which are `have`, with the plan.
pub(crate) async fn retag(work: &Work<'_>, planned: &impl Tagged, have: &Tags) -> Result<(), Diagnostics> {
    let want = planned.marks(&work.cloud);
    work.op.call(|| work.cloud.retag(planned.id().text(), have, &want)).await
}

/// The planned `tags_all`; unknown while part of it is unknown.
pub(crate) fn planned_tags(aws: Option<&Aws>, name: &Attr<String>, tags: &TagMap) -> TagMap {
    let unknown =
        tags.is_unknown() || tags.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
    match (aws, name) {
        (Some(aws), Attr::Known(name)) if !unknown => tags::all(&aws.tags(name, tags)),
        _ => Attr::Unknown,
    }
}

/// Implements [`Common`] and [`Tagged`] for a model with the fields `name`, `id`, `tags`, `tags_all`, `timeouts`.
macro_rules! common {
    ($model:ty, $kind:literal) => {
        impl $crate::common::Common for $model {
            type Cloud = $crate::session::Aws;
            const KIND: &'static str = $kind;
            warren_managed::accessors!();
            fn marks(&self, aws: &$crate::session::Aws) -> $crate::tags::Tags {
                aws.tags(self.name.text(), &self.tags)
            }
            fn plan_marks(&mut self, aws: Option<&$crate::session::Aws>) {
                self.tags_all = $crate::common::planned_tags(aws, &self.name, &self.tags);
            }
        }

        impl $crate::common::Tagged for $model {
            fn tags(&self) -> &$crate::tags::TagMap {
                &self.tags
            }
            fn set_name(&mut self, name: tf_provider_rs::Attr<String>) {
                self.name = name;
            }
            fn set_tags(&mut self, tags: $crate::tags::TagMap) {
                self.tags = tags;
            }
            fn set_tags_all(&mut self, tags: $crate::tags::TagMap) {
                self.tags_all = tags;
            }
        }
    };
}
pub(crate) use common;

/// The attributes `name` and `id`, which come first in every schema.
pub(crate) fn head(what: &str) -> [Attribute; 2] {
    [
        Attribute::string("name").required().validate(check_name).describe(&format!(
            "Name of the {what}, 1 to 255 characters. Must be unique among objects of the same type, \
             fabric and owner. Updated in place."
        )),
        Attribute::string("id").computed().keeps().describe("ID assigned by AWS."),
    ]
}

/// The attributes `tags`, `tags_all` and `timeouts`, which come last in every schema.
pub(crate) fn tail() -> [Attribute; 3] {
    [
        Attribute::of("tags", Type::map(Type::String)).optional().validate(tags::check).describe(
            "Tags to set on the object. Keys have 1 to 128 characters and must not begin with `aws:` or \
             `warren:`; values have up to 256 characters. Updated in place.",
        ),
        Attribute::of("tags_all", Type::map(Type::String)).computed().describe(
            "All tags of the object: `tags`, the provider's `default_tags`, `Name`, and the tags by which \
             Warren identifies the object (`warren:fabric`, `warren:owner` and `warren:name`).",
        ),
        timeouts::attribute(Aws::NAME),
    ]
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    if !(1..=255).contains(&name.chars().count()) {
        diagnostics.error_at(
            path.clone(),
            "Invalid name",
            "The name is empty or too long. Choose a name of 1 to 255 characters.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_told() {
        let mut diagnostics = Diagnostics::default();
        check_name(&Value::from("x".repeat(256)), &Path::of("name"), &mut diagnostics);
        insta::assert_snapshot!(diagnostics.0[0].detail);
    }
}
