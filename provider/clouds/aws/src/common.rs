//! The attributes that all AWS resources share: name, ID, region, tags and timeouts.

use std::fmt::Debug;

use tf_provider_rs::{Attr, Diagnostics, NotKnown, Object, Path, Value};
use warren_managed::{Shared, Timeouts};

use crate::region;
use crate::session::{Aws, Work};
use crate::tags::{self, TagMap, Tags};

/// The attributes of every AWS object. `N` is the form of its name, and `R` says whether it is in a region.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct AwsObject<N: Naming = Named, R: Reach = Regional> {
    #[attr(flatten)]
    pub(crate) naming: N,
    #[attr(flatten)]
    pub(crate) reach: R,
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

/// Whether an object is in a region.
pub(crate) trait Reach:
    tf_provider_rs::model::Object + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The region; `None` for a global object.
    fn region(&self) -> Option<&Attr<String>> {
        None
    }

    /// Sets the region.
    fn set_region(&mut self, _region: &str) {}
}

/// In a region, as in hashicorp/aws ("Enhanced Region Support" of its version 6).
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Regional {
    /// Region, such as `eu-west-1`, in the partition of the provider's region. Changing this replaces the object.
    /// Defaults to the region of the provider.
    #[attr(optional, computed, keeps, replaces, validate = region::check)]
    pub(crate) region: Attr<String>,
}

impl Reach for Regional {
    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.region)
    }

    fn set_region(&mut self, region: &str) {
        self.region = region.into();
    }
}

/// In all regions: an object of IAM or Route 53.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Global {}

impl Reach for Global {}

impl<N: Naming, R: Reach> AwsObject<N, R> {
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
    pub(crate) fn found(&self, aws: &Aws, id: &str, tags: &Tags) -> AwsObject<N, R> {
        let mut reach = self.reach.clone();
        reach.set_region(&aws.region);
        AwsObject {
            naming: N::found(id, tags),
            reach,
            tags: aws.user_tags(tags, &self.tags),
            tags_all: aws.shown_tags(tags, &self.tags),
            timeouts: self.timeouts.clone(),
        }
    }

    /// Reconciles the tags of an EC2 object, which are those in `have`, with the plan.
    pub(crate) async fn retag(&self, work: &Work<'_>, have: &AwsObject<N, R>) -> Result<(), Diagnostics> {
        let (want, have) = (self.marks(&work.cloud)?, tags::known(&have.tags_all));
        let id = self.id()?;
        work.op.call(|| work.cloud.retag(id, &have, &want)).await
    }
}

impl<N: Naming, R: Reach> Shared for AwsObject<N, R> {
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

    fn site(&self) -> Option<&Attr<String>> {
        self.reach.region()
    }

    fn set_site(&mut self, region: &str) {
        self.reach.set_region(region);
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

/// The attributes of a part of other objects, which has neither a name nor tags. Its ID consists of their IDs, so a
/// resource plans it once they are known, and a create that finds the part adopts it.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct AwsPart<R: Reach = Regional> {
    /// ID of the {noun}.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
    #[attr(flatten)]
    pub(crate) reach: R,
    /// Timeouts for operations that wait for AWS.
    #[attr(optional)]
    pub(crate) timeouts: Attr<Timeouts>,
}

impl<R: Reach> AwsPart<R> {
    /// The ID.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn id(&self) -> Result<&str, NotKnown> {
        self.id.value().map(String::as_str)
    }

    /// The attributes of the object `id`; `self` is what they were before.
    pub(crate) fn found(&self, id: &str) -> AwsPart<R> {
        AwsPart { id: id.into(), ..self.clone() }
    }
}

impl<R: Reach> Shared for AwsPart<R> {
    type Cloud = Aws;

    fn name(&self) -> &Attr<String> {
        &self.id
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn site(&self) -> Option<&Attr<String>> {
        self.reach.region()
    }

    fn set_site(&mut self, region: &str) {
        self.reach.set_region(region);
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }

    fn marks(&self, _aws: &Aws) -> Result<Tags, NotKnown> {
        Ok(Tags::new())
    }
}

/// The planned `tags_all`; unknown while part of it is unknown.
fn planned_tags(aws: Option<&Aws>, name: &Attr<String>, tags: &TagMap) -> TagMap {
    let unknown =
        tags.is_unknown() || tags.known().into_iter().flatten().any(|(_, value)| value.is_unknown());
    match (aws, name) {
        (Some(aws), Attr::Known(name)) if !unknown => tags::all(&aws.tags(name, tags)),
        _ => Attr::Unknown,
    }
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
pub(crate) mod tests {
    use super::*;
    use std::str::FromStr;

    /// An attribute that is known.
    pub(crate) fn known<T: FromStr<Err: Debug>>(text: &str) -> Attr<T> {
        Attr::Known(text.parse().unwrap())
    }

    /// The shared attributes of an object with this name.
    pub(crate) fn named(name: &str) -> AwsObject {
        AwsObject { naming: Named { name: name.into(), id: Attr::Null }, ..AwsObject::default() }
    }

    /// The shared attributes of an object with this ID.
    pub(crate) fn with_id(name: &str, id: &str) -> AwsObject {
        AwsObject { naming: Named { name: name.into(), id: id.into() }, ..AwsObject::default() }
    }

    #[test]
    fn a_name_that_is_too_long_is_told() {
        let mut diagnostics = Diagnostics::default();
        check_name(&Value::from("x".repeat(256)), &Path::of("name"), &mut diagnostics);
        insta::assert_snapshot!(diagnostics.0[0].detail);
    }
}
