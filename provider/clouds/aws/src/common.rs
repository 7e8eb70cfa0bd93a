//! The attributes that all AWS resources share: name, ID, tags and timeouts.

use std::fmt::Debug;

use tf_provider_rs::schema::Attribute;
use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Type, Value};
pub(crate) use warren_managed::Common;
use warren_managed::{Cloud, Shared, Timeouts, timeouts};

use crate::session::{Aws, Work};
use crate::tags::{self, TagMap, Tags};

/// The attributes of every AWS object.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct AwsObject<N: Naming = Named> {
    #[attr(flatten)]
    pub(crate) naming: N,
    /// Tags to set on the object. Keys have 1 to 128 characters and must not begin with `aws:` or `warren:`; values
    /// have up to 256 characters. Updated in place.
    #[attr(optional, validate = tags::check)]
    pub(crate) tags: TagMap,
    /// All tags of the object: `tags`, the provider's `default_tags`, `Name`, and the tags by which Warren identifies
    /// the object (`warren:fabric`, `warren:owner` and `warren:name`).
    #[attr(computed)]
    pub(crate) tags_all: TagMap,
    /// Timeouts for operations that wait for AWS.
    #[attr(optional)]
    pub(crate) timeouts: Attr<Timeouts>,
}

/// The attributes `name` and `id`.
pub(crate) trait Naming:
    tf_provider_rs::model::Object + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// Unique among the objects of one type, fabric and owner.
    fn name(&self) -> &Attr<String>;

    /// Assigned by AWS.
    fn id(&self) -> &Attr<String>;

    /// Sets the ID.
    fn set_id(&mut self, id: &str);

    /// Name and ID of the object `id` with these tags.
    fn found(id: &str, tags: &Tags) -> Self;
}

/// The name is in the tags of the object, and AWS assigns the ID.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Named {
    /// Name of the {noun}, 1 to 255 characters. Must be unique among objects of the same type, fabric and owner.
    /// Updated in place.
    #[attr(required, validate = check_name)]
    pub(crate) name: Attr<String>,
    /// ID assigned by AWS.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
}

impl Naming for Named {
    fn name(&self) -> &Attr<String> {
        &self.name
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn found(id: &str, tags: &Tags) -> Named {
        Named { name: tags::name(tags), id: id.into() }
    }
}

impl<N: Naming> AwsObject<N> {
    /// The name.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn name(&self) -> Result<&str, NotKnown> {
        self.naming.name().value().map(String::as_str)
    }

    /// The ID.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn id(&self) -> Result<&str, NotKnown> {
        self.naming.id().value().map(String::as_str)
    }

    /// The attributes of the object `id` with these tags; `self` is what they were before.
    pub(crate) fn found(&self, aws: &Aws, id: &str, tags: &Tags) -> AwsObject<N> {
        AwsObject {
            naming: N::found(id, tags),
            tags: aws.user_tags(tags, &self.tags),
            tags_all: tags::all(tags),
            timeouts: self.timeouts.clone(),
        }
    }

    /// Reconciles the tags of an EC2 object, which are those in `have`, with the plan.
    pub(crate) async fn retag(&self, work: &Work<'_>, have: &AwsObject<N>) -> Result<(), Diagnostics> {
        let (want, have) = (self.marks(&work.cloud)?, tags::known(&have.tags_all));
        let id = self.id()?;
        work.op.call(|| work.cloud.retag(id, &have, &want)).await
    }
}

impl<N: Naming> Shared for AwsObject<N> {
    type Cloud = Aws;

    fn name(&self) -> &Attr<String> {
        self.naming.name()
    }

    fn id(&self) -> &Attr<String> {
        self.naming.id()
    }

    fn set_id(&mut self, id: &str) {
        self.naming.set_id(id);
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }

    fn marks(&self, aws: &Aws) -> Result<Tags, NotKnown> {
        Ok(aws.tags(self.name()?, &self.tags))
    }

    fn plan_marks(&mut self, aws: Option<&Aws>) {
        self.tags_all = planned_tags(aws, self.naming.name(), &self.tags);
    }
}

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
    let want = planned.marks(&work.cloud)?;
    let id = planned.id().value()?;
    work.op.call(|| work.cloud.retag(id, have, &want)).await
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
            fn marks(
                &self,
                aws: &$crate::session::Aws,
            ) -> Result<$crate::tags::Tags, tf_provider_rs::NotKnown> {
                Ok(aws.tags(self.name.value()?, &self.tags))
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
