use tf_provider_rs::{Function, Number, Type, Value};

use super::contains::CidrContains;
use super::merge::CidrMerge;
use super::next::CidrNext;
use super::overlaps::CidrOverlaps;
use super::subtract::CidrSubtract;

fn list(items: &[&str]) -> Value {
    Value::List(items.iter().map(|item| Value::from(*item)).collect())
}

fn number(text: &str) -> Value {
    Value::Number(Number::parse(text).unwrap())
}

/// The result, or the error with the position of its argument.
fn call(function: &impl Function, arguments: &[Value]) -> String {
    match function.call(arguments) {
        Ok(value) => {
            assert_eq!(value.clone().conform(&function.signature().result), value, "of the declared type");
            show(&value)
        }
        Err(error) => format!("argument {:?}: {error}", error.argument),
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(truth) => truth.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        Value::Object(items) => {
            let items: Vec<String> =
                items.iter().map(|(name, item)| format!("{name}={}", show(item))).collect();
            format!("{{{}}}", items.join(" "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn results() {
    let next = |within: &[&str], taken: &[&str], prefix: &str| {
        call(&CidrNext, &[list(within), list(taken), number(prefix)])
    };
    insta::assert_snapshot!(
        [
            call(&CidrContains, &[list(&["10.0.0.0/9", "10.128.0.0/9"]), "10.0.0.0/8".into()]),
            call(&CidrContains, &[list(&["10.0.0.0/9"]), "10.0.0.0/8".into()]),
            call(&CidrContains, &[list(&[]), "10.0.0.0/8".into()]),
            call(&CidrContains, &[list(&["0.0.0.0/0"]), "fd00::/8".into()]),
            call(&CidrMerge, &[list(&["fd00::/9", "10.0.1.0/24", "10.0.0.0/24", "10.0.0.0/25"])]),
            call(&CidrMerge, &[list(&[])]),
            call(&CidrSubtract, &[list(&["10.0.0.0/22"]), list(&["10.0.1.0/24", "192.168.0.0/16"])]),
            call(&CidrSubtract, &[list(&["10.0.0.0/24"]), list(&["10.0.0.0/8"])]),
            next(&["10.0.0.0/16"], &["10.0.0.0/24"], "24"),
            next(&["fd00::/48"], &["fd00::/64"], "64"),
            call(&CidrOverlaps, &[list(&["10.0.1.0/24", "10.0.0.0/16", "192.168.0.0/16", "10.0.1.0/24"])]),
            call(&CidrOverlaps, &[list(&["10.0.1.0/24", "10.0.2.0/24"])]),
        ]
        .join("\n")
    );
}

#[test]
fn errors_name_the_argument() {
    let next = |within: &[&str], taken: &[&str], prefix: &str| {
        call(&CidrNext, &[list(within), list(taken), number(prefix)])
    };
    insta::assert_snapshot!(
        [
            call(&CidrContains, &[list(&["10.0.0.0/8"]), "10.0.0.1/8".into()]),
            call(&CidrContains, &[list(&["10.0.0.0/8", "10.0.0.0/33"]), "10.0.0.0/8".into()]),
            call(&CidrMerge, &[list(&["10.0.0.0"])]),
            call(&CidrMerge, &[Value::List(vec![Value::Null])]),
            call(&CidrSubtract, &[list(&["10.0.0.0/8"]), list(&["ten"])]),
            call(&CidrOverlaps, &[list(&["10.0.0.0/x"])]),
            next(&[], &[], "24"),
            next(&["10.0.0.0/16"], &[], "33"),
            next(&["10.0.0.0/16"], &[], "24.5"),
            next(&["10.0.0.0/24"], &["10.0.0.0/26"], "24"),
            next(&["10.0.0.0/24"], &["10.0.0.0/8"], "28"),
        ]
        .join("\n")
    );
}

#[test]
fn every_parameter_is_described_and_known() {
    let functions: [&dyn Function; 5] = [&CidrContains, &CidrMerge, &CidrNext, &CidrOverlaps, &CidrSubtract];
    let mut names = Vec::new();
    for function in functions {
        let signature = function.signature();
        assert!(signature.parameters.iter().all(|p| !p.description.is_empty() && !p.allow_null));
        assert!(signature.variadic.is_none() && signature.result != Type::Dynamic);
        names.push(signature.name);
    }
    assert_eq!(names, ["cidr_contains", "cidr_merge", "cidr_next", "cidr_overlaps", "cidr_subtract"]);
}
