//! Conversions of booleans, strings and numbers.

use super::{AttributeType, FromValue, Secret, ToValue, ValueError};
use crate::path::Path;
use crate::schema::Shape;
use crate::types::Type;
use crate::value::{Number, Value};

macro_rules! scalar {
    ($ty:ty, $of:expr, $expected:literal, $value:ident => $read:expr, $this:ident => $write:expr) => {
        impl FromValue for $ty {
            fn from_value($value: &Value, path: &Path) -> Result<Self, ValueError> {
                $read.ok_or_else(|| ValueError::shape(path, $expected, $value))
            }
        }
        impl ToValue for $ty {
            fn to_value(&self) -> Value {
                let $this = self;
                $write
            }
        }
        impl AttributeType for $ty {
            fn shape() -> Shape {
                Shape::Plain($of)
            }
        }
    };
}

scalar!(bool, Type::Bool, "a bool", value => match value { Value::Bool(b) => Some(*b), _ => None }, b => Value::Bool(*b));
scalar!(String, Type::String, "a string", value => value.as_str().map(str::to_owned), s => Value::String(s.clone()));
scalar!(Secret, Type::String, "a string", value => value.as_str().map(|s| Secret(s.to_owned())), s => Value::String(s.0.clone()));
scalar!(Number, Type::Number, "a number", value => number(value).cloned(), n => Value::Number(n.clone()));
scalar!(Value, Type::Dynamic, "a value", value => Some(value.clone()), v => v.clone());

fn number(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

macro_rules! numbers {
    ($($ty:ty: $expected:expr, $read:expr, $write:expr;)+) => {$(
        impl FromValue for $ty {
            fn from_value(value: &Value, path: &Path) -> Result<Self, ValueError> {
                let read: fn(&Number) -> Option<$ty> = $read;
                let number = number(value).ok_or_else(|| ValueError::shape(path, "a number", value))?;
                read(number).ok_or_else(|| ValueError::invalid(path, $expected))
            }
        }
        impl ToValue for $ty {
            fn to_value(&self) -> Value {
                let write: fn($ty) -> Option<Number> = $write;
                write(*self).map_or(Value::Null, Value::Number)
            }
        }
        impl AttributeType for $ty {
            fn shape() -> Shape {
                Shape::Plain(Type::Number)
            }
        }
    )+};
}

macro_rules! whole {
    ($ty:ty) => {
        format!("a whole number from {} to {}", <$ty>::MIN, <$ty>::MAX)
    };
}

numbers! {
    i64: "a whole number", Number::to_i64, |n| Some(Number::from(n));
    i32: whole!(i32), |n| n.to_i64().and_then(|n| i32::try_from(n).ok()), |n| Some(Number::from(i64::from(n)));
    u64: "a whole number from 0", Number::to_u64, |n| Some(Number::from(n));
    u32: whole!(u32), |n| n.to_u64().and_then(|n| u32::try_from(n).ok()), |n| Some(Number::from(u64::from(n)));
    u16: whole!(u16), |n| n.to_u64().and_then(|n| u16::try_from(n).ok()), |n| Some(Number::from(u64::from(n)));
    u8: whole!(u8), |n| n.to_u64().and_then(|n| u8::try_from(n).ok()), |n| Some(Number::from(u64::from(n)));
    f64: "a number that a double can represent", Number::to_f64, Number::from_f64;
}
