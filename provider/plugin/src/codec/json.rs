//! The JSON form of values: stored state, and `DynamicValue.json`.
//!
//! Source: plugin protocol 6, `RawState.json`. A value of a `dynamic` attribute is
//! `{"type": .., "value": ..}`; JSON has no unknown values.

use serde_json::{Value as Json, json};

use super::{CodecError, Reason, at_index, kind, mismatch};
use crate::path::Step;
use crate::types::Type;
use crate::value::{Number, Value};

/// Decodes JSON text as a value of type `ty`; see [`from_json`].
///
/// # Errors
/// The text is not JSON or not a value of `ty`. The error names the attribute.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, CodecError> {
    from_json(&parse(bytes)?, ty)
}

/// Encodes a value of type `ty` as JSON text; see [`to_json`].
///
/// # Errors
/// `value` is not of type `ty` or contains unknown values.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, CodecError> {
    Ok(to_json(value, ty)?.to_string().into_bytes())
}

/// Parses JSON text. Numbers keep all digits.
///
/// # Errors
/// The text is not JSON. The error contains line and column.
pub fn parse(bytes: &[u8]) -> Result<Json, CodecError> {
    serde_json::from_slice(bytes)
        .map_err(|error| Reason::InvalidJson { line: error.line(), column: error.column() }.into())
}

/// Converts JSON to a value of type `ty`.
///
/// Stored state may come from an older or newer provider version. Attributes that the type does not have are ignored,
/// missing attributes become null, and strings and other primitives are converted as in the Terraform language.
///
/// # Errors
/// The JSON is not a value of `ty`. The error names the attribute.
pub fn from_json(json: &Json, ty: &Type) -> Result<Value, CodecError> {
    match (ty, json) {
        (_, Json::Null) => Ok(Value::Null),
        (Type::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
        (Type::Bool, Json::String(text)) if text == "true" => Ok(Value::Bool(true)),
        (Type::Bool, Json::String(text)) if text == "false" => Ok(Value::Bool(false)),
        (Type::Number, Json::Number(number)) => parse_number(&number.to_string()),
        (Type::Number, Json::String(text)) => parse_number(text),
        (Type::String, Json::String(text)) => Ok(Value::String(text.clone())),
        (Type::String, Json::Bool(value)) => Ok(Value::String(value.to_string())),
        (Type::String, Json::Number(number)) => Ok(Value::String(number.to_string())),
        (Type::Dynamic, Json::Object(pair)) => {
            let ty = pair.get("type").and_then(Type::from_json).ok_or(Reason::InvalidType)?;
            let value = pair.get("value").ok_or_else(|| Reason::MissingAttribute("value".to_owned()))?;
            let value = from_json(value, &ty)?;
            Ok(Value::Dynamic(Box::new(ty), Box::new(value)))
        }
        (Type::List(element), Json::Array(items)) => elements(items, element).map(Value::List),
        (Type::Set(element), Json::Array(items)) => {
            items.iter().map(|item| from_json(item, element)).collect::<Result<_, _>>().map(Value::set)
        }
        (Type::Tuple(types), Json::Array(items)) => {
            if items.len() != types.len() {
                return Err(Reason::Length { expected: types.len(), got: items.len() }.into());
            }
            let items = items.iter().zip(types).enumerate().map(|(index, (item, ty))| {
                from_json(item, ty).map_err(|error| error.within(|| at_index(index)))
            });
            items.collect::<Result<_, _>>().map(Value::Tuple)
        }
        (Type::Map(element), Json::Object(items)) => {
            let items = items.iter().map(|(name, item)| {
                let item = from_json(item, element).map_err(|e| e.within(|| Step::Key(name.clone())))?;
                Ok((name.clone(), item))
            });
            items.collect::<Result<_, _>>().map(Value::Map)
        }
        (Type::Object(attributes), Json::Object(items)) => {
            let items = attributes.iter().map(|(name, ty)| {
                let item = from_json(items.get(name).unwrap_or(&Json::Null), ty)
                    .map_err(|error| error.within(|| Step::Attribute(name.clone())))?;
                Ok((name.clone(), item))
            });
            items.collect::<Result<_, _>>().map(Value::Object)
        }
        (ty, json) => Err(mismatch(ty, json_kind(json))),
    }
}

/// Converts a value of type `ty` to JSON. Sets become arrays in the order of [`Value::set`].
///
/// # Errors
/// `value` is not of type `ty` or contains unknown values.
pub fn to_json(value: &Value, ty: &Type) -> Result<Json, CodecError> {
    match (value, ty) {
        (Value::Null, _) => Ok(Json::Null),
        (Value::Unknown(_), _) => Err(Reason::UnknownInJson.into()),
        (Value::Dynamic(own, value), Type::Dynamic) => {
            Ok(json!({ "type": own.to_json(), "value": to_json(value, own)? }))
        }
        (Value::Bool(value), Type::Bool) => Ok(Json::Bool(*value)),
        (Value::String(text), Type::String) => Ok(Json::String(text.clone())),
        (Value::Number(number), Type::Number) => {
            serde_json::from_str(&number.to_string()).map(Json::Number).map_err(|_| Reason::NotANumber.into())
        }
        (Value::List(items), Type::List(element)) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                to_json(item, element).map_err(|error| error.within(|| at_index(index)))
            });
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        (Value::Set(items), Type::Set(element)) => {
            items.iter().map(|item| to_json(item, element)).collect::<Result<_, _>>().map(Json::Array)
        }
        (Value::Tuple(items), Type::Tuple(types)) => {
            if items.len() != types.len() {
                return Err(Reason::Length { expected: types.len(), got: items.len() }.into());
            }
            let items = items.iter().zip(types).enumerate().map(|(index, (item, ty))| {
                to_json(item, ty).map_err(|error| error.within(|| at_index(index)))
            });
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        (Value::Map(items), Type::Map(element)) => {
            let items = items.iter().map(|(name, item)| {
                let item = to_json(item, element).map_err(|e| e.within(|| Step::Key(name.clone())))?;
                Ok((name.clone(), item))
            });
            items.collect::<Result<_, _>>().map(Json::Object)
        }
        (Value::Object(items), Type::Object(attributes)) => {
            if let Some(name) = items.keys().find(|name| !attributes.contains_key(*name)) {
                return Err(Reason::UnexpectedAttribute(name.clone()).into());
            }
            let items = attributes.iter().map(|(name, ty)| {
                let item = items.get(name).ok_or_else(|| Reason::MissingAttribute(name.clone()))?;
                let item = to_json(item, ty).map_err(|e| e.within(|| Step::Attribute(name.clone())))?;
                Ok((name.clone(), item))
            });
            items.collect::<Result<_, _>>().map(Json::Object)
        }
        (other, ty) => Err(mismatch(ty, kind(other))),
    }
}

fn elements(items: &[Json], element: &Type) -> Result<Vec<Value>, CodecError> {
    let items = items
        .iter()
        .enumerate()
        .map(|(index, item)| from_json(item, element).map_err(|error| error.within(|| at_index(index))));
    items.collect()
}

fn parse_number(text: &str) -> Result<Value, CodecError> {
    Number::parse(text).map(Value::Number).ok_or_else(|| Reason::NotANumber.into())
}

fn json_kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a bool",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a sequence",
        Json::Object(_) => "a map",
    }
}
