//! A second encoder, written from the format's description over the `rmpv` crate's value tree.

use rmpv::Value as Tree;
use tf_provider_rs::value::Refinement;
use tf_provider_rs::{Number, Type, Value};

/// The canonical bytes.
pub(crate) fn encode(value: &Value, ty: &Type) -> Vec<u8> {
    write(&tree(value, ty))
}

/// Bytes that mean the same: keys in reverse order, integers as decimal text, strings as binary.
pub(crate) fn wasteful(value: &Value, ty: &Type) -> Vec<u8> {
    write(&waste(tree(value, ty), ty))
}

fn write(tree: &Tree) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, tree).unwrap();
    bytes
}

fn tree(value: &Value, ty: &Type) -> Tree {
    match (value, ty) {
        (Value::Null, _) => Tree::Nil,
        (Value::Unknown(None), _) => Tree::Ext(0, vec![0]),
        (Value::Unknown(Some(refinement)), _) => Tree::Ext(12, write(&Tree::Map(refined(refinement)))),
        (Value::Dynamic(ty, value), Type::Dynamic) => {
            Tree::Array(vec![Tree::Binary(serde_json::to_vec(&ty.to_json()).unwrap()), tree(value, ty)])
        }
        (Value::Bool(value), _) => Tree::Boolean(*value),
        (Value::Number(value), _) => number(value),
        (Value::String(value), _) => value.as_str().into(),
        (Value::List(items), Type::List(ty)) | (Value::Set(items), Type::Set(ty)) => {
            Tree::Array(items.iter().map(|item| tree(item, ty)).collect())
        }
        (Value::Tuple(items), Type::Tuple(types)) => {
            Tree::Array(items.iter().zip(types).map(|(item, ty)| tree(item, ty)).collect())
        }
        (Value::Map(items), Type::Map(ty)) => {
            Tree::Map(items.iter().map(|(key, item)| (key.as_str().into(), tree(item, ty))).collect())
        }
        (Value::Object(items), Type::Object(types)) => Tree::Map(
            items
                .iter()
                .zip(types.values())
                .map(|((name, item), ty)| (name.as_str().into(), tree(item, ty)))
                .collect(),
        ),
        (value, ty) => panic!("{value:?} is not of type {ty:?}"),
    }
}

fn refined(refinement: &Refinement) -> Vec<(Tree, Tree)> {
    let bound = |(limit, inclusive): &(Number, bool)| Tree::Array(vec![number(limit), (*inclusive).into()]);
    [
        (1, refinement.null.map(Tree::from)),
        (2, refinement.prefix.as_deref().map(Tree::from)),
        (3, refinement.lower.as_ref().map(bound)),
        (4, refinement.upper.as_ref().map(bound)),
        (5, refinement.min_length.map(Tree::from)),
        (6, refinement.max_length.map(Tree::from)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.into(), value?)))
    .collect()
}

/// A small integer, or for a fraction a float where that is exact, judged by the decimal digits alone.
fn number(number: &Number) -> Tree {
    let digits = number.to_string();
    if let Ok(whole) = digits.parse::<i64>() {
        return whole.into();
    }
    if !digits.contains('.') {
        return digits.into();
    }
    let near: f64 = digits.parse().unwrap();
    // Every finite float has at most 1074 decimal places.
    if near.is_finite() && trimmed(&format!("{near:.1074}")) == trimmed(&digits) {
        return near.into();
    }
    digits.into()
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

fn waste(tree: Tree, ty: &Type) -> Tree {
    match (tree, ty) {
        (Tree::Integer(whole), Type::Number) => whole.to_string().into(),
        (Tree::String(text), Type::String) => Tree::Binary(text.into_bytes()),
        (Tree::Array(items), Type::List(ty) | Type::Set(ty)) => {
            Tree::Array(items.into_iter().map(|item| waste(item, ty)).collect())
        }
        (Tree::Map(items), Type::Map(ty)) => {
            Tree::Map(items.into_iter().rev().map(|(key, item)| (key, waste(item, ty))).collect())
        }
        (Tree::Map(items), Type::Object(types)) => {
            let items = items.into_iter().zip(types.values());
            Tree::Map(items.rev().map(|((key, item), ty)| (key, waste(item, ty))).collect())
        }
        (tree, _) => tree,
    }
}
