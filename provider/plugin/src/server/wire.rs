//! Converts between the framework's types and the generated messages.

use crate::codec;
use crate::deferral::DeferReason;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::function::{Parameter, Signature};
use crate::log::rpc;
use crate::path::{Path, Step};
use crate::proto::tfplugin6 as proto;
use crate::schema::{Attribute, IdentitySchema, Nesting, Schema, Shape};
use crate::types::Type;
use crate::value::Value;

/// Decodes a value. An absent value is null.
pub(crate) fn decode(value: Option<&proto::DynamicValue>, ty: &Type) -> Result<Value, Diagnostic> {
    let Some(value) = value else { return Ok(Value::Null) };
    let decoded = if !value.msgpack.is_empty() {
        codec::msgpack::decode(&value.msgpack, ty)
    } else if !value.json.is_empty() {
        codec::json::decode(&value.json, ty)
    } else {
        return Ok(Value::Null);
    };
    decoded.map_err(|error| unreadable(&error))
}

/// The error for a value that does not match the schema.
pub(crate) fn unreadable(error: &codec::CodecError) -> Diagnostic {
    // What a configuration can contain, but no provider can read.
    let advice = match &error.reason {
        codec::Reason::NotANumber => "Use a number of at most 100,000 digits.",
        codec::Reason::TooDeep | codec::Reason::InvalidType => "Use a value with fewer levels of nesting.",
        _ => "The client and the provider use different schemas. Run `terraform init -upgrade`.",
    };
    Diagnostic::error("Value from the client cannot be decoded", format!("{error}. {advice}"))
}

/// Encodes a value as msgpack.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<proto::DynamicValue, Diagnostic> {
    let msgpack = codec::msgpack::encode(value, ty).map_err(|error| {
        Diagnostic::error(
            "Value from the provider does not match its schema",
            format!("{error}. This is a bug in the provider."),
        )
    })?;
    Ok(proto::DynamicValue { msgpack, json: Vec::new() })
}

/// All messages, in order.
pub(crate) fn diagnostics(diagnostics: Diagnostics) -> Vec<proto::Diagnostic> {
    rpc::diagnostics(&diagnostics);
    diagnostics
        .0
        .into_iter()
        .map(|diagnostic| proto::Diagnostic {
            severity: match diagnostic.severity {
                Severity::Error => proto::diagnostic::Severity::Error,
                Severity::Warning => proto::diagnostic::Severity::Warning,
            }
            .into(),
            summary: diagnostic.summary,
            detail: match &diagnostic.path {
                // Terraform points at top-level attributes alone; below them the user sees only text.
                Some(path) if path.0.len() > 1 => format!("{}\n\nAttribute: {path}", diagnostic.detail),
                _ => diagnostic.detail,
            },
            attribute: diagnostic.path.as_ref().map(path),
        })
        .collect()
}

/// An attribute path.
pub(crate) fn path(path: &Path) -> proto::AttributePath {
    use proto::attribute_path::step::Selector;
    let steps = path
        .0
        .iter()
        .map(|step| match step {
            Step::Attribute(name) => Selector::AttributeName(name.clone()),
            Step::Key(key) => Selector::ElementKeyString(key.clone()),
            Step::Index(index) => Selector::ElementKeyInt(*index),
        })
        .map(|selector| proto::attribute_path::Step { selector: Some(selector) })
        .collect();
    proto::AttributePath { steps }
}

/// A schema.
pub(crate) fn schema(schema: &Schema) -> proto::Schema {
    let block = proto::schema::Block {
        version: schema.version,
        description: schema.description.clone(),
        deprecated: schema.deprecated.is_some(),
        deprecation_message: schema.deprecated.clone().unwrap_or_default(),
        ..block(&schema.attributes)
    };
    proto::Schema { version: schema.version, block: Some(block) }
}

fn block(all: &[Attribute]) -> proto::schema::Block {
    proto::schema::Block {
        attributes: attributes(all.iter().filter(|attribute| attribute.block.is_none())),
        block_types: all.iter().filter_map(nested_block).collect(),
        description_kind: proto::StringKind::Markdown.into(),
        ..Default::default()
    }
}

fn nested_block(attribute: &Attribute) -> Option<proto::schema::NestedBlock> {
    use proto::schema::nested_block::NestingMode;
    let (Shape::Nested(nesting, nested), Some(items)) = (&attribute.shape, attribute.block) else {
        return None;
    };
    // Clients accept no limits for maps, and one number for a single block.
    let (nesting, min, max) = match nesting {
        Nesting::Single => (NestingMode::Single, items.min.min(1), items.min.min(1)),
        Nesting::List => (NestingMode::List, items.min, items.max.unwrap_or_default()),
        Nesting::Set => (NestingMode::Set, items.min, items.max.unwrap_or_default()),
        Nesting::Map => (NestingMode::Map, 0, 0),
    };
    Some(proto::schema::NestedBlock {
        type_name: attribute.name.clone(),
        block: Some(proto::schema::Block {
            description: attribute.description.clone(),
            deprecated: attribute.deprecated.is_some(),
            deprecation_message: attribute.deprecated.clone().unwrap_or_default(),
            ..block(nested)
        }),
        nesting: nesting.into(),
        min_items: min.into(),
        max_items: max.into(),
    })
}

/// The schema of an action.
pub(crate) fn action_schema(schema: &Schema) -> proto::ActionSchema {
    proto::ActionSchema { schema: Some(self::schema(schema)) }
}

fn attributes<'a>(attributes: impl IntoIterator<Item = &'a Attribute>) -> Vec<proto::schema::Attribute> {
    attributes
        .into_iter()
        .map(|attribute| {
            // `type` and `nested_type` exclude each other.
            let (ty, nested_type) = match &attribute.shape {
                Shape::Plain(ty) => (type_bytes(ty), None),
                Shape::Nested(nesting, nested) => (Vec::new(), Some(object(*nesting, nested))),
            };
            proto::schema::Attribute {
                name: attribute.name.clone(),
                r#type: ty,
                nested_type,
                description: attribute.description.clone(),
                required: attribute.required,
                optional: attribute.optional,
                computed: attribute.computed,
                sensitive: attribute.sensitive,
                description_kind: proto::StringKind::Markdown.into(),
                deprecated: attribute.deprecated.is_some(),
                deprecation_message: attribute.deprecated.clone().unwrap_or_default(),
                write_only: attribute.write_only,
            }
        })
        .collect()
}

fn object(nesting: Nesting, nested: &[Attribute]) -> proto::schema::Object {
    use proto::schema::object::NestingMode;
    let nesting = match nesting {
        Nesting::Single => NestingMode::Single,
        Nesting::List => NestingMode::List,
        Nesting::Set => NestingMode::Set,
        Nesting::Map => NestingMode::Map,
    };
    proto::schema::Object { attributes: attributes(nested), nesting: nesting.into() }
}

fn type_bytes(ty: &Type) -> Vec<u8> {
    ty.to_json().to_string().into_bytes()
}

/// An identity schema.
pub(crate) fn identity_schema(identity: &IdentitySchema) -> proto::ResourceIdentitySchema {
    proto::ResourceIdentitySchema {
        version: identity.version,
        identity_attributes: identity
            .attributes
            .iter()
            .map(|attribute| proto::resource_identity_schema::IdentityAttribute {
                name: attribute.name.clone(),
                r#type: type_bytes(&attribute.ty),
                required_for_import: attribute.required_for_import,
                optional_for_import: !attribute.required_for_import,
                description: attribute.description.clone(),
            })
            .collect(),
    }
}

/// A function's signature.
pub(crate) fn function(signature: &Signature) -> proto::Function {
    proto::Function {
        parameters: signature.parameters.iter().map(parameter).collect(),
        variadic_parameter: signature.variadic.as_ref().map(parameter),
        r#return: Some(proto::function::Return { r#type: type_bytes(&signature.result) }),
        summary: signature.summary.clone(),
        description: signature.description.clone(),
        description_kind: proto::StringKind::Markdown.into(),
        deprecation_message: signature.deprecated.clone().unwrap_or_default(),
    }
}

fn parameter(parameter: &Parameter) -> proto::function::Parameter {
    proto::function::Parameter {
        name: parameter.name.clone(),
        r#type: type_bytes(&parameter.ty),
        allow_null_value: parameter.allow_null,
        allow_unknown_values: parameter.allow_unknown,
        description: parameter.description.clone(),
        description_kind: proto::StringKind::Markdown.into(),
    }
}

/// The reason for deferring a change.
pub(crate) fn deferred(reason: DeferReason) -> proto::Deferred {
    use proto::deferred::Reason;
    let reason = match reason {
        DeferReason::ResourceConfigUnknown => Reason::ResourceConfigUnknown,
        DeferReason::ProviderConfigUnknown => Reason::ProviderConfigUnknown,
        DeferReason::AbsentPrerequisite => Reason::AbsentPrereq,
    };
    proto::Deferred { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_beyond_the_limits_is_not_blamed_on_the_schemas() {
        let told = |json: &str, ty: &Type| {
            let value = proto::DynamicValue { json: json.as_bytes().to_vec(), msgpack: Vec::new() };
            decode(Some(&value), ty).unwrap_err().detail
        };
        assert_eq!(
            told("1e400000", &Type::Number),
            "not a number that Terraform supports. Use a number of at most 100,000 digits."
        );
        assert!(told("true", &Type::Number).ends_with("Run `terraform init -upgrade`."));
    }
}
