use std::sync::Arc;

use regex::Regex;

use super::*;
use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::schema::Validator;
use crate::value::Value;

/// What a validator says about `value` at the path `x`.
fn told(
    check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync,
    value: impl Into<Value>,
) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    check(&value.into(), &Path::of("x"), &mut diagnostics);
    let line = |diagnostic: &crate::Diagnostic| {
        let path = diagnostic.path.clone().unwrap_or_default();
        format!("{path}: {}: {}", diagnostic.summary, diagnostic.detail)
    };
    diagnostics.0.iter().map(line).collect()
}

fn list(items: &[&str]) -> Value {
    Value::List(items.iter().map(|item| (*item).into()).collect())
}

fn map(items: &[(&str, Value)]) -> Value {
    Value::Map(items.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

#[test]
fn choices_lengths_sizes_and_ranges() {
    assert!(told(one_of(["tcp", "udp"]), "tcp").is_empty());
    assert!(told(one_of([1, 2]), 2).is_empty());
    assert!(told(none_of(["root"]), "user").is_empty());
    assert!(told(length_between(1, 3), "äöü").is_empty());
    assert!(told(size_between(1, 2), list(&["a"])).is_empty());
    assert!(told(between(-1, 1), -1).is_empty());
    let all = [
        told(one_of(["tcp", "udp"]), "icmp"),
        told(one_of([1, 2]), 3),
        told(none_of(["root"]), "root"),
        told(length_between(1, 3), "abcd"),
        told(length_at_least(2), "a"),
        told(length_at_most(2), "abc"),
        told(size_between(1, 2), list(&[])),
        told(size_at_least(1), map(&[])),
        told(size_at_most(1), list(&["a", "b"])),
        told(between(1, 10), 11),
        told(at_least(1), 0),
        told(at_most(10_u64), 11),
        told(matches_regex(Regex::new("^[a-z]+$").unwrap(), "lowercase letters"), "A"),
    ];
    assert!(all.iter().all(|told| told.len() == 1));
    insta::assert_snapshot!(all.concat().join("\n"));
}

#[test]
fn parts_that_are_not_known_are_not_validated() {
    let half = Value::List(vec![Value::UNKNOWN, Value::Null, "icmp".into()]);
    assert_eq!(told(each(one_of(["tcp"])), half.clone()).len(), 1);
    assert!(told(size_between(1, 1), Value::Set(vec![Value::UNKNOWN, "a".into()])).is_empty());
    assert_eq!(told(size_at_most(1), half).len(), 1);
}

#[test]
fn elements_keys_and_values() {
    let names = map(&[("a", "x".into()), ("bc", "yz".into())]);
    assert_eq!(
        told(keys(length_at_most(1)), names.clone()),
        ["x[\"bc\"]: Invalid length of a key: `x[\"bc\"]` has 2 characters. Use at most 1 character."]
    );
    assert_eq!(told(values(length_at_most(1)), names).len(), 1);
    assert_eq!(told(each(length_at_most(1)), list(&["a", "bc"]))[0].split(':').next(), Some("x[1]"));
}

#[test]
fn combinations() {
    let checks = || -> [Validator; 2] { [Arc::new(length_at_least(3)), Arc::new(one_of(["a", "abc"]))] };
    assert_eq!(told(all(checks()), "b").len(), 2);
    assert_eq!(told(all(checks()), "a").len(), 1);
    assert!(told(any(checks()), "a").is_empty());
    assert_eq!(told(any(checks()), "b").len(), 2);
}

#[test]
fn attributes_that_depend_on_each_other() {
    let object = |a: Value, b: Value| Value::object([("a", a), ("b", b)]);
    let (null, unknown) = (Value::Null, Value::UNKNOWN);
    let set = || Value::from("set");

    assert!(told(conflicts_with(["a", "b"]), object(set(), null.clone())).is_empty());
    assert!(told(conflicts_with(["a", "b"]), object(set(), unknown.clone())).is_empty());
    assert!(told(at_least_one_of(["a", "b"]), object(null.clone(), unknown.clone())).is_empty());
    assert!(told(exactly_one_of(["a", "b"]), object(set(), null.clone())).is_empty());
    assert!(told(also_requires("a", ["b"]), object(set(), unknown)).is_empty());
    assert!(told(also_requires("a", ["b"]), object(null.clone(), null.clone())).is_empty());

    let all = [
        told(conflicts_with(["a", "b"]), object(set(), set())),
        told(exactly_one_of(["a", "b"]), object(set(), set())),
        told(exactly_one_of(["a", "b"]), object(null.clone(), null.clone())),
        told(at_least_one_of(["a", "b"]), object(null.clone(), null.clone())),
        told(also_requires("a", ["b"]), object(set(), null)),
    ];
    assert!(all.iter().all(|told| told.len() == 1));
    insta::assert_snapshot!(all.concat().join("\n"));
}
