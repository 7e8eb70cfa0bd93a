//! Known bytes.

use tf_provider_rs::codec::msgpack;
use tf_provider_rs::value::Refinement;
use tf_provider_rs::{Number, Type, Value};

fn number(text: &str) -> Value {
    Value::Number(Number::parse(text).unwrap())
}

fn unknown(refinement: Refinement) -> Value {
    Value::Unknown(Some(Box::new(refinement)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn known_bytes_are_written_and_read() {
    let pair = Type::object([("a", Type::Number), ("b", Type::set(Type::String))]);
    let vectors = [
        (Value::Null, Type::String, "c0"),
        (Value::Bool(true), Type::Bool, "c3"),
        (Value::string("hello"), Type::String, "a568656c6c6f"),
        (number("0"), Type::Number, "00"),
        (number("-1"), Type::Number, "ff"),
        (number("200"), Type::Number, "ccc8"),
        (number("70000"), Type::Number, "ce00011170"),
        (number("9223372036854775807"), Type::Number, "cf7fffffffffffffff"),
        // More than 64 bits with a sign. A float would be exact, but Terraform would round its decimal form.
        (number("9223372036854775808"), Type::Number, "b339323233333732303336383534373735383038"),
        (number("18446744073709551615"), Type::Number, "b43138343436373434303733373039353531363135"),
        (number("1.5"), Type::Number, "cb3ff8000000000000"),
        // No float is a tenth.
        (number("0.1"), Type::Number, "a3302e31"),
        (Value::UNKNOWN, Type::String, "d40000"),
        (unknown(Refinement { null: Some(false), ..Refinement::default() }), Type::String, "c7030c8101c2"),
        (
            unknown(Refinement {
                null: Some(false),
                prefix: Some("ami-".to_owned()),
                ..Refinement::default()
            }),
            Type::String,
            "c7090c8201c202a4616d692d",
        ),
        (
            unknown(Refinement {
                lower: Number::parse("1").map(|one| (one, true)),
                upper: Number::parse("10").map(|ten| (ten, false)),
                ..Refinement::default()
            }),
            Type::Number,
            "c7090c82039201c304920ac2",
        ),
        (
            unknown(Refinement { min_length: Some(1), max_length: Some(3), ..Refinement::default() }),
            Type::list(Type::Bool),
            "c7050c8205010603",
        ),
        (
            Value::Dynamic(Box::new(Type::String), Box::new(Value::string("x"))),
            Type::Dynamic,
            "92c40822737472696e6722a178",
        ),
        (Value::UNKNOWN, Type::Dynamic, "d40000"),
        (
            Value::object([("b", Value::set(vec!["y".into(), "x".into()])), ("a", Value::from(7))]),
            pair,
            "82a16107a16292a178a179",
        ),
    ];
    for (value, ty, expected) in vectors {
        assert_eq!(hex(&msgpack::encode(&value, &ty).unwrap()), expected, "{value:?}");
        assert_eq!(msgpack::decode(&bytes(expected), &ty).unwrap(), value, "{expected}");
    }
}

#[test]
fn other_spellings_are_read() {
    for (spelling, value) in [
        // Not the smallest integer; a float of half the size; text.
        ("d30000000000000007", number("7")),
        ("cd0007", number("7")),
        ("ca3fc00000", number("1.5")),
        ("cb401c000000000000", number("7")),
        ("a437653230", number("7e20")),
        // An unknown value of a kind that is not known yet, and refinements that are not.
        ("c7020d0102", Value::UNKNOWN),
        ("c7050c8163a17801", Value::UNKNOWN),
        ("c70100ff", Value::UNKNOWN),
    ] {
        let read = msgpack::decode(&bytes(spelling), &Type::Number);
        match read {
            Ok(read) => assert_eq!(read, value, "{spelling}"),
            Err(error) => panic!("{spelling}: {error}"),
        }
    }
}

#[test]
fn long_prefixes_are_cut_at_a_character() {
    let prefix = "ü".repeat(400);
    let long = unknown(Refinement { prefix: Some(prefix), ..Refinement::default() });
    let bytes = msgpack::encode(&long, &Type::String).unwrap();
    let read = msgpack::decode(&bytes, &Type::String).unwrap();
    let expected = unknown(Refinement { prefix: Some("ü".repeat(128)), ..Refinement::default() });
    assert_eq!(read, expected);
}

#[test]
fn elements_of_a_set_that_are_unknown_all_stay() {
    let set = Type::set(Type::String);
    let read = msgpack::decode(&bytes("94d40000a178d40000a178"), &set).unwrap();
    assert_eq!(read, Value::Set(vec![Value::UNKNOWN, Value::UNKNOWN, "x".into()]));
}
