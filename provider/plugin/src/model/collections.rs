//! Conversions of [`Attr`] and of collections.

use std::collections::{BTreeMap, BTreeSet};

use super::{Attr, AttributeType, FromValue, ToValue, ValueError};
use crate::path::Path;
use crate::schema::{Nesting, Shape};
use crate::types::Type;
use crate::value::Value;

impl<T: FromValue> FromValue for Attr<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
        match value {
            Value::Null => Ok(Attr::Null),
            Value::Unknown(_) => Ok(Attr::Unknown),
            known => match T::from_value(known, path) {
                // A part is unknown and `T` cannot represent that, so the whole value is unknown.
                Err(_) if !known.is_wholly_known() => Ok(Attr::Unknown),
                read => read.map(Attr::Known),
            },
        }
    }
}

impl<T: ToValue> ToValue for Attr<T> {
    fn to_value(&self) -> Value {
        match self {
            Attr::Null => Value::Null,
            Attr::Unknown => Value::UNKNOWN,
            Attr::Known(value) => value.to_value(),
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
        let items = value.as_slice().ok_or_else(|| ValueError::shape(path, "a sequence", value))?;
        items.iter().enumerate().map(|(index, item)| T::from_value(item, &path.index(index))).collect()
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn to_value(&self) -> Value {
        Value::List(self.iter().map(ToValue::to_value).collect())
    }
}

impl<T: FromValue + Ord> FromValue for BTreeSet<T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
        let items = value.as_slice().ok_or_else(|| ValueError::shape(path, "a set", value))?;
        items.iter().map(|item| T::from_value(item, path)).collect()
    }
}

impl<T: ToValue> ToValue for BTreeSet<T> {
    fn to_value(&self) -> Value {
        Value::set(self.iter().map(ToValue::to_value).collect())
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
        match value {
            Value::Map(items) | Value::Object(items) => items
                .iter()
                .map(|(key, item)| Ok((key.clone(), T::from_value(item, &path.key(key))?)))
                .collect(),
            other => Err(ValueError::shape(path, "a map", other)),
        }
    }
}

impl<T: ToValue> ToValue for BTreeMap<String, T> {
    fn to_value(&self) -> Value {
        Value::Map(self.iter().map(|(key, item)| (key.clone(), item.to_value())).collect())
    }
}

/// The shape of a collection of `element`s. Collections of collections of objects are collections of plain objects,
/// because Terraform nests attributes one level deep.
fn collection(element: Shape, nesting: Nesting, of: fn(Type) -> Type) -> Shape {
    match element {
        Shape::Plain(ty) => Shape::Plain(of(ty)),
        Shape::Nested(Nesting::Single, attributes) => Shape::Nested(nesting, attributes),
        nested @ Shape::Nested(..) => Shape::Plain(of(nested.ty())),
    }
}

impl<T: AttributeType> AttributeType for Attr<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: AttributeType> AttributeType for Vec<T> {
    fn shape() -> Shape {
        collection(T::shape(), Nesting::List, Type::list)
    }
}

impl<T: AttributeType + Ord> AttributeType for BTreeSet<T> {
    fn shape() -> Shape {
        collection(T::shape(), Nesting::Set, Type::set)
    }
}

impl<T: AttributeType> AttributeType for BTreeMap<String, T> {
    fn shape() -> Shape {
        collection(T::shape(), Nesting::Map, Type::map)
    }
}
