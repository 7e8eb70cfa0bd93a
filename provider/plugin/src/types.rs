//! The Terraform type system (cty) as used by the plugin protocol.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

/// A type constraint.
///
/// Source: plugin protocol 6, `Schema.Attribute.type`, which contains the JSON form returned by [`Type::to_json`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// A decimal number of any size.
    Number,
    /// A Unicode string.
    String,
    /// Any type; the value includes its own type.
    Dynamic,
    /// An ordered collection of one element type.
    List(Box<Type>),
    /// An unordered collection of distinct elements of one type.
    Set(Box<Type>),
    /// String keys to elements of one type.
    Map(Box<Type>),
    /// A fixed sequence, each position with its own type.
    Tuple(Vec<Type>),
    /// Named attributes, each with its own type.
    Object(BTreeMap<String, Type>),
}

impl Type {
    /// A list of `element`.
    pub fn list(element: Type) -> Type {
        Type::List(Box::new(element))
    }

    /// A set of `element`.
    pub fn set(element: Type) -> Type {
        Type::Set(Box::new(element))
    }

    /// A map from strings to `element`.
    pub fn map(element: Type) -> Type {
        Type::Map(Box::new(element))
    }

    /// An object with the given attributes.
    pub fn object<'a>(attributes: impl IntoIterator<Item = (&'a str, Type)>) -> Type {
        Type::Object(attributes.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect())
    }

    /// The JSON form used on the wire: `"string"`, `["list","string"]`, `["object",{"a":"bool"}]`.
    pub fn to_json(&self) -> Json {
        match self {
            Type::Bool => json!("bool"),
            Type::Number => json!("number"),
            Type::String => json!("string"),
            Type::Dynamic => json!("dynamic"),
            Type::List(element) => json!(["list", element.to_json()]),
            Type::Set(element) => json!(["set", element.to_json()]),
            Type::Map(element) => json!(["map", element.to_json()]),
            Type::Tuple(elements) => json!(["tuple", elements.iter().map(Type::to_json).collect::<Vec<_>>()]),
            Type::Object(attributes) => {
                let attributes: serde_json::Map<String, Json> =
                    attributes.iter().map(|(name, ty)| (name.clone(), ty.to_json())).collect();
                json!(["object", attributes])
            }
        }
    }

    /// Parses the JSON form. Returns `None` if it is not a type constraint.
    ///
    /// The list of optional attributes that Terraform may add to objects is ignored, because a value that reaches a
    /// provider has every attribute.
    pub fn from_json(json: &Json) -> Option<Type> {
        if let Some(name) = json.as_str() {
            return match name {
                "bool" => Some(Type::Bool),
                "number" => Some(Type::Number),
                "string" => Some(Type::String),
                "dynamic" => Some(Type::Dynamic),
                _ => None,
            };
        }
        let parts = json.as_array()?;
        let argument = parts.get(1)?;
        match parts.first()?.as_str()? {
            "list" => Type::from_json(argument).map(Type::list),
            "set" => Type::from_json(argument).map(Type::set),
            "map" => Type::from_json(argument).map(Type::map),
            "tuple" => {
                argument.as_array()?.iter().map(Type::from_json).collect::<Option<_>>().map(Type::Tuple)
            }
            "object" => argument
                .as_object()?
                .iter()
                .map(|(name, ty)| Some((name.clone(), Type::from_json(ty)?)))
                .collect::<Option<_>>()
                .map(Type::Object),
            _ => None,
        }
    }
}
