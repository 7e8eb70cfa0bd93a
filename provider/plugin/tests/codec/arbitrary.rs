//! Types and values of every shape.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tf_provider_rs::value::Refinement;
use tf_provider_rs::{Number, Type, Value};

/// Types up to five levels deep.
pub(crate) fn ty() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        2 => Just(Type::Bool),
        4 => Just(Type::Number),
        4 => Just(Type::String),
        1 => Just(Type::Dynamic),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            vec(inner.clone(), 0..4).prop_map(Type::Tuple),
            btree_map("[a-z_]{1,8}", inner, 0..4).prop_map(Type::Object),
        ]
    })
}

/// A type and a value of it; `unknown`: with unknown parts.
pub(crate) fn typed(unknown: bool) -> impl Strategy<Value = (Type, Value)> {
    ty().prop_flat_map(move |ty| {
        let value = value(&ty, unknown, 2);
        (Just(ty), value)
    })
}

/// A value of `ty`; dynamic parts nest up to `dynamics` times.
fn value(ty: &Type, unknown: bool, dynamics: u32) -> BoxedStrategy<Value> {
    let known = known(ty, unknown, dynamics);
    let null = Just(Value::Null);
    if !unknown {
        return prop_oneof![1 => null, 8 => known].boxed();
    }
    prop_oneof![1 => null, 1 => Just(Value::UNKNOWN), 1 => refined(ty), 8 => known].boxed()
}

fn known(ty: &Type, unknown: bool, dynamics: u32) -> BoxedStrategy<Value> {
    let part = |ty: &Type| value(ty, unknown, dynamics);
    match ty {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Number => number().prop_map(Value::Number).boxed(),
        Type::String => text().prop_map(Value::String).boxed(),
        Type::Dynamic if dynamics == 0 => Just(Value::Null).boxed(),
        Type::Dynamic => self::ty()
            .prop_filter("a dynamic value has a type", |ty| *ty != Type::Dynamic)
            .prop_flat_map(move |ty| {
                let value = value(&ty, unknown, dynamics - 1);
                value.prop_map(move |value| Value::Dynamic(Box::new(ty.clone()), Box::new(value)))
            })
            .boxed(),
        Type::List(element) => vec(part(element), 0..20).prop_map(Value::List).boxed(),
        Type::Set(element) => vec(part(element), 0..5).prop_map(Value::set).boxed(),
        Type::Map(element) => btree_map(text(), part(element), 0..5).prop_map(Value::Map).boxed(),
        Type::Tuple(types) => types.iter().map(part).collect::<Vec<_>>().prop_map(Value::Tuple).boxed(),
        Type::Object(attributes) => {
            let names: Vec<String> = attributes.keys().cloned().collect();
            let parts: Vec<_> = attributes.values().map(part).collect();
            parts
                .prop_map(move |parts| {
                    Value::Object(names.iter().cloned().zip(parts).collect::<BTreeMap<_, _>>())
                })
                .boxed()
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    // Lengths around the borders of the wire format's string markers.
    prop_oneof![8 => ".{0,8}", 1 => ".{30,34}", 1 => "[a-z]{250,260}"]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        (-40_000_i64..40_000).prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        "-?[0-9]{1,60}(\\.[0-9]{1,60})?".prop_filter_map("a number", |text| Number::parse(&text)),
        ("-?[1-9][0-9]{0,20}", -400_i32..400)
            .prop_filter_map("a number", |(digits, exponent)| Number::parse(&format!("{digits}e{exponent}"))),
    ]
}

/// An unknown value with promises that `ty` can have.
fn refined(ty: &Type) -> BoxedStrategy<Value> {
    let null = prop::option::of(any::<bool>());
    let bound = || prop::option::of((number(), any::<bool>()));
    let length = || prop::option::of(any::<u64>());
    let refinement = match ty {
        Type::Dynamic => return Just(Value::UNKNOWN).boxed(),
        Type::String => (null, prop::option::of("\\PC{0,60}"))
            .prop_map(|(null, prefix)| Refinement { null, prefix, ..Refinement::default() })
            .boxed(),
        Type::Number => (null, bound(), bound())
            .prop_map(|(null, lower, upper)| Refinement { null, lower, upper, ..Refinement::default() })
            .boxed(),
        Type::List(_) | Type::Set(_) | Type::Map(_) => (null, length(), length())
            .prop_map(|(null, min_length, max_length)| Refinement {
                null,
                min_length,
                max_length,
                ..Refinement::default()
            })
            .boxed(),
        Type::Bool | Type::Tuple(_) | Type::Object(_) => {
            null.prop_map(|null| Refinement { null, ..Refinement::default() }).boxed()
        }
    };
    refinement
        .prop_map(|refinement| {
            let promises = refinement != Refinement::default();
            Value::Unknown(promises.then(|| Box::new(refinement)))
        })
        .boxed()
}
