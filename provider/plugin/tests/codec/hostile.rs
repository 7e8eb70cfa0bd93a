//! Input that is made to hurt, and what is said about it.

use std::fmt::Write as _;

use serde_json::json;
use tf_provider_rs::codec::{self, json, msgpack};
use tf_provider_rs::proto::tfplugin6::DynamicValue;
use tf_provider_rs::{Type, Value};

fn network() -> Type {
    let subnet = Type::object([("prefix", Type::Number), ("tags", Type::set(Type::String))]);
    Type::object([("name", Type::String), ("subnets", Type::map(subnet)), ("routes", Type::list(Type::Bool))])
}

#[test]
fn messages_name_the_attribute_and_never_the_value() {
    let subnet = |prefix| json!({ "name": "n", "subnets": { "data": { "prefix": prefix, "tags": [] } } });
    let mut told = String::new();
    for (what, bytes) in [
        ("nothing", &b""[..]),
        ("a reserved byte", b"\xc1"),
        ("a string for an object", b"\xa4text"),
        ("an array that claims four billion elements", b"\x81\xa6routes\xdd\xff\xff\xff\xff"),
        ("a string that claims four gigabytes", b"\x81\xa4name\xdb\xff\xff\xff\xffx"),
        ("a string that is not UTF-8", b"\x81\xa4name\xa2\xff\xfe"),
        ("an attribute that there is not", b"\x81\xa5color\xc0"),
        ("an attribute twice", b"\x82\xa4name\xc0\xa4name\xc0"),
        ("an attribute missing", b"\x82\xa4name\xc0\xa6routes\xc0"),
        ("an element of the wrong type", b"\x81\xa6routes\x92\xc3\xa1x"),
        ("an infinite number", b"\x81\xa7subnets\x81\xa4data\x81\xa6prefix\xcb\x7f\xf0\0\0\0\0\0\0"),
        ("a number of a billion digits", b"\x81\xa7subnets\x81\xa4data\x81\xa6prefix\xab1e999999999"),
        ("an error inside a set", b"\x81\xa7subnets\x81\xa4data\x81\xa4tags\x91\xc3"),
        ("refinements that are none", b"\x81\xa4name\xc7\x03\x0c\x82\x01\xc2"),
        ("a key that is a number", b"\x81\x07\xc0"),
    ] {
        let error = msgpack::decode(bytes, &network()).unwrap_err();
        writeln!(told, "{what}\n    {error}").unwrap();
    }
    for (what, state) in [
        ("JSON: a list for a map", json!({ "subnets": [] })),
        ("JSON: no number", subnet(json!("sixteen"))),
        ("JSON: a number of a billion digits", subnet(json!("1e-999999999"))),
    ] {
        let error = json::from_json(&state, &network()).unwrap_err();
        writeln!(told, "{what}\n    {error}").unwrap();
    }
    let error = json::decode(b"{\n  \"name\": }", &network()).unwrap_err();
    writeln!(told, "JSON: broken\n    {error}").unwrap();
    let error = codec::decode(&DynamicValue::default(), &network()).unwrap_err();
    writeln!(told, "an empty message\n    {error}").unwrap();
    insta::assert_snapshot!(told);
}

#[test]
fn a_value_of_another_type_is_not_written() {
    let mut told = String::new();
    let whole =
        |subnets| Value::object([("name", Value::Null), ("routes", Value::Null), ("subnets", subnets)]);
    for (what, value) in [
        ("a list for a map", whole(Value::List(vec![]))),
        ("an attribute missing", whole(Value::Map([("a".to_owned(), Value::object([]))].into()))),
        ("an attribute too many", Value::object([("color", Value::Null)])),
        ("a string for a list", Value::object([("name", Value::Null), ("routes", "x".into())])),
    ] {
        let error = msgpack::encode(&value, &network()).unwrap_err();
        writeln!(told, "{what}\n    {error}").unwrap();
        assert_eq!(json::to_json(&value, &network()).unwrap_err(), error);
    }
    let error = msgpack::encode(&"x".into(), &Type::Dynamic).unwrap_err();
    writeln!(told, "a dynamic value without its type\n    {error}").unwrap();
    let error = json::to_json(&whole(Value::UNKNOWN), &network()).unwrap_err();
    writeln!(told, "an unknown value in JSON\n    {error}").unwrap();
    insta::assert_snapshot!(told);
}

#[test]
fn nesting_has_a_limit() {
    // A dynamic value in a dynamic value in ...: its type says nothing about its depth.
    let level = b"\x92\xc4\x09\"dynamic\"";
    let nested = |levels: usize| [level.repeat(levels), vec![0xc0]].concat();
    assert!(msgpack::decode(&nested(codec::MAX_DEPTH), &Type::Dynamic).is_ok());
    let error = msgpack::decode(&nested(codec::MAX_DEPTH + 1), &Type::Dynamic).unwrap_err();
    assert_eq!(error.reason, codec::Reason::TooDeep);
    let error = msgpack::decode(&nested(1_000_000), &Type::Dynamic).unwrap_err();
    assert_eq!(error.reason, codec::Reason::TooDeep);

    let lists = |levels: usize| {
        let ty = format!("{}\"bool\"{}", "[\"list\",".repeat(levels), "]".repeat(levels));
        let mut bytes = vec![0x92, 0xc6];
        bytes.extend(u32::try_from(ty.len()).unwrap().to_be_bytes());
        bytes.extend(ty.bytes());
        bytes.extend(std::iter::repeat_n(0x91, levels));
        bytes.push(0xc3);
        bytes
    };
    assert!(msgpack::decode(&lists(100), &Type::Dynamic).is_ok());
    let error = msgpack::decode(&lists(100_000), &Type::Dynamic).unwrap_err();
    assert_eq!(error.reason, codec::Reason::InvalidType);
}

#[test]
fn stored_state_of_other_versions_is_read() {
    let state = json!({
        "name": 7,
        "color": "gone in this version",
        "subnets": { "data": { "prefix": "123456789012345678901234567890.5" } },
    });
    let text = r#"{"prefix": 123456789012345678901234567890.5, "tags": null}"#;
    let subnet = Type::object([("prefix", Type::Number), ("tags", Type::set(Type::String))]);
    let read = json::from_json(&state, &network()).unwrap();
    assert_eq!(read.get("name"), Some(&"7".into()));
    assert_eq!(read.get("routes"), Some(&Value::Null));
    let data = read.get("subnets").and_then(|subnets| subnets.get("data"));
    assert_eq!(data, Some(&json::decode(text.as_bytes(), &subnet).unwrap()));
}
