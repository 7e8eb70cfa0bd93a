//! What all resources have: name, id, tags, timeouts, identity.

use tf_provider_rs::schema::{Attribute, IdentitySchema};
use tf_provider_rs::{Attr, Context, Diagnostics, ImportRequest, Model, Path, Type, Value};

use warren_guard::Key;

use crate::session::{Aws, Session};
use crate::tags::{self, TagMap, Tags};
use crate::timeouts::{self, Operation, Timeouts};
use crate::wait::Op;

/// A model with the attributes that every resource has.
pub(crate) trait Common: Model {
    /// The resource type, such as `warren_aws_vpc`.
    const KIND: &'static str;
    fn name(&self) -> &Attr<String>;
    fn id(&self) -> &Attr<String>;
    fn tags(&self) -> &TagMap;
    fn timeouts(&self) -> &Attr<Timeouts>;
    fn set_name(&mut self, name: Attr<String>);
    fn set_id(&mut self, id: &str);
    fn set_tags(&mut self, tags: TagMap);
    fn set_tags_all(&mut self, tags: TagMap);

    /// How messages call the object: `warren_aws_vpc "hub" (vpc-1)`.
    fn label(&self) -> String {
        let mut label = Self::KIND.to_owned();
        if let Some(name) = self.name().known() {
            label += &format!(" {name:?}");
        }
        if let Some(id) = self.id().known() {
            label += &format!(" ({id})");
        }
        label
    }

    /// An operation on the object.
    fn op(&self, ctx: &Context, operation: Operation) -> Op {
        Op::new(ctx, self.label(), timeouts::of(self.timeouts(), operation))
    }

    /// Takes name and tags from what the object has.
    fn take_tags(&mut self, aws: &Aws, found: &Tags) {
        let user = aws.user_tags(found, self.tags());
        self.set_tags(user);
        self.set_name(tags::name(found));
        self.set_tags_all(tags::all(found));
    }
}

/// Implements [`Common`] for a model with the fields `name`, `id`, `tags`, `tags_all`, `timeouts`.
macro_rules! common {
    ($model:ty, $kind:literal) => {
        impl $crate::common::Common for $model {
            const KIND: &'static str = $kind;
            fn name(&self) -> &tf_provider_rs::Attr<String> {
                &self.name
            }
            fn id(&self) -> &tf_provider_rs::Attr<String> {
                &self.id
            }
            fn tags(&self) -> &$crate::tags::TagMap {
                &self.tags
            }
            fn timeouts(&self) -> &tf_provider_rs::Attr<$crate::timeouts::Timeouts> {
                &self.timeouts
            }
            fn set_name(&mut self, name: tf_provider_rs::Attr<String>) {
                self.name = name;
            }
            fn set_id(&mut self, id: &str) {
                self.id = id.into();
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
            "Name of the {what}, 1 to 255 characters; unique among those of one fabric and owner. Changes in place."
        )),
        Attribute::string("id").computed().keeps().describe("Assigned by AWS."),
    ]
}

/// The attributes `tags`, `tags_all` and `timeouts`, which come last in every schema.
pub(crate) fn tail() -> [Attribute; 3] {
    [
        Attribute::of("tags", Type::map(Type::String)).optional().validate(tags::check).describe(
            "Tags; keys of 1 to 128 characters that begin neither with `aws:` nor with `warren:`, values of \
             up to 256.",
        ),
        Attribute::of("tags_all", Type::map(Type::String)).computed().describe(
            "All tags: `tags`, the provider's `default_tags`, `Name`, and those that find the object again \
             (`warren:fabric`, `warren:owner`, `warren:name`).",
        ),
        timeouts::attribute(),
    ]
}

/// What the guard calls the resource.
pub(crate) fn key<M: Common>(model: &M) -> Key {
    Key::new(M::KIND, model.name().text())
}

/// The state after create or update: what was planned, and what was found out where the plan did not know.
///
/// A description read right after a change may still tell the old value; what AWS has confirmed counts.
pub(crate) fn settle<M: Model>(planned: &M, found: &M) -> Result<M, Diagnostics> {
    let (Value::Object(planned), Value::Object(mut found)) = (planned.to_value(), found.to_value()) else {
        return Ok(found.clone());
    };
    for (name, value) in planned {
        if value.is_wholly_known() {
            found.insert(name, value);
        }
    }
    Ok(M::from_value(&Value::Object(found), &Path::root())?)
}

/// Identity of an object: region and id.
pub(crate) fn identity() -> IdentitySchema {
    IdentitySchema::new()
        .required("id", "Assigned by AWS.")
        .optional("region", "Region; the provider's when not given.")
}

/// The identity of an object in state.
pub(crate) fn identity_of<M: Common>(session: &Session, state: &M) -> Option<Value> {
    let id = state.id().known()?;
    let region = session.known().map_or(Value::Null, |aws| Value::from(aws.region.clone()));
    Some(Value::object([("id", Value::from(id.clone())), ("region", region)]))
}

/// A model with just the id, to be read next.
pub(crate) fn import<M: Common>(session: &Session, request: &ImportRequest) -> Result<M, Diagnostics> {
    if let ImportRequest::Identity(identity) = request
        && let Some(region) = identity.get("region").and_then(Value::as_str)
    {
        let ours = &session.get()?.region;
        if ours != region {
            return Err(tf_provider_rs::Diagnostic::error(
                "Identity of another region",
                format!(
                    "The identity is of region {region}, but the provider works in {ours}. Import it with a \
                     provider of that region."
                ),
            )
            .into());
        }
    }
    let mut model = M::default();
    model.set_id(&request.id_or("id")?);
    Ok(model)
}

fn check_name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    if !(1..=255).contains(&name.chars().count()) {
        diagnostics.error_at(path.clone(), "Name not possible", "A name has 1 to 255 characters.");
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tf_provider_rs::schema::{Keep, Schema, Shape};

    /// The attributes of a schema, a line each, for snapshots.
    pub(crate) fn listed(schema: &Schema) -> String {
        let mut lines = vec![schema.description.clone()];
        list(&schema.attributes, 1, &mut lines);
        lines.join("\n")
    }

    fn list(attributes: &[Attribute], depth: usize, lines: &mut Vec<String>) {
        for attribute in attributes {
            let flags = [
                (attribute.required, "required"),
                (attribute.optional, "optional"),
                (attribute.computed, "computed"),
                (attribute.keep == Keep::Prior, "keeps"),
                (attribute.replace, "replaces"),
                (!attribute.validators.is_empty(), "checked"),
            ];
            let flags: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
            let default = attribute.default.as_ref().map(|value| format!(" = {value:?}")).unwrap_or_default();
            lines.push(format!(
                "{}{} {} [{}]{default}: {}",
                "  ".repeat(depth),
                attribute.name,
                match &attribute.shape {
                    Shape::Plain(ty) => ty.to_json().to_string(),
                    Shape::Nested(nesting, _) => format!("{nesting:?}"),
                },
                flags.join(" "),
                attribute.description
            ));
            if let Shape::Nested(_, inner) = &attribute.shape {
                list(inner, depth + 1, lines);
            }
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_told() {
        let mut diagnostics = Diagnostics::default();
        check_name(&Value::from("x".repeat(256)), &Path::of("name"), &mut diagnostics);
        insta::assert_snapshot!(diagnostics.0[0].detail);
    }
}
