//! The codec against an independent encoder, known bytes, and hostile input.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod arbitrary;
mod hostile;
mod reference;
mod vectors;

use proptest::prelude::*;
use tf_provider_rs::codec::{json, msgpack};
use tf_provider_rs::{Type, Value};

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_those_of_an_independent_encoder((ty, value) in arbitrary::typed(true)) {
        prop_assert_eq!(msgpack::encode(&value, &ty).unwrap(), reference::encode(&value, &ty));
    }

    #[test]
    fn every_value_comes_back((ty, value) in arbitrary::typed(true)) {
        let bytes = msgpack::encode(&value, &ty).unwrap();
        prop_assert_eq!(msgpack::decode(&bytes, &ty).unwrap(), value);
    }

    #[test]
    fn other_encodings_of_the_same_value_are_read((ty, value) in arbitrary::typed(true)) {
        prop_assert_eq!(msgpack::decode(&reference::wasteful(&value, &ty), &ty).unwrap(), value);
    }

    #[test]
    fn known_values_come_back_from_json((ty, value) in arbitrary::typed(false)) {
        let bytes = json::encode(&value, &ty).unwrap();
        prop_assert_eq!(json::decode(&bytes, &ty).unwrap(), value);
    }

    #[test]
    fn types_come_back((ty, _) in arbitrary::typed(true)) {
        prop_assert_eq!(Type::from_json(&ty.to_json()), Some(ty));
    }

    #[test]
    fn a_message_that_is_cut_is_refused((ty, value) in arbitrary::typed(true), at in any::<prop::sample::Index>()) {
        let bytes = msgpack::encode(&value, &ty).unwrap();
        prop_assert!(msgpack::decode(&bytes[..at.index(bytes.len())], &ty).is_err());
    }

    #[test]
    fn a_message_with_more_behind_it_is_refused((ty, value) in arbitrary::typed(true), more in 0_u8..) {
        let mut bytes = msgpack::encode(&value, &ty).unwrap();
        bytes.push(more);
        prop_assert!(msgpack::decode(&bytes, &ty).is_err());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), ty in arbitrary::ty()) {
        // Whatever is taken for a value can be written again.
        if let Ok(value) = msgpack::decode(&bytes, &ty) {
            prop_assert!(msgpack::encode(&value, &ty).is_ok());
        }
        if let Ok(value) = json::decode(&bytes, &ty) {
            prop_assert!(json::encode(&value, &ty).is_ok());
        }
    }

    #[test]
    fn damaged_messages_never_panic(
        (ty, value) in arbitrary::typed(true),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = msgpack::encode(&value, &ty).unwrap();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(value) = msgpack::decode(&bytes, &ty) {
            prop_assert!(msgpack::encode(&value, &ty).is_ok());
        }
    }
}

#[test]
fn the_generator_reaches_what_matters() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut refined, mut dynamic, mut deep) = (0, 0, 0);
    for _ in 0..500 {
        let (_, value) = arbitrary::typed(true).new_tree(&mut runner).unwrap().current();
        refined += usize::from(has(&value, &|value| matches!(value, Value::Unknown(Some(_)))));
        dynamic += usize::from(has(&value, &|value| matches!(value, Value::Dynamic(..))));
        deep += usize::from(depth(&value) > 3);
    }
    assert!(refined > 20 && dynamic > 20 && deep > 20, "{refined} refined, {dynamic} dynamic, {deep} deep");
}

fn parts(value: &Value) -> Vec<&Value> {
    match value {
        Value::List(items) | Value::Set(items) | Value::Tuple(items) => items.iter().collect(),
        Value::Map(items) | Value::Object(items) => items.values().collect(),
        Value::Dynamic(_, value) => vec![value],
        _ => Vec::new(),
    }
}

fn has(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> bool {
    wanted(value) || parts(value).into_iter().any(|part| has(part, wanted))
}

fn depth(value: &Value) -> usize {
    1 + parts(value).into_iter().map(depth).max().unwrap_or_default()
}
