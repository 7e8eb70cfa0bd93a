//! JSON outputs have the schemas of the documentation, and no member that these do not describe.

use crate::{FIXTURES, PLANS, equal_vpcs, warren, warren_in};
use serde_json::{Value, json};

fn schema(name: &str) -> Value {
    let file = format!("{}/../../docs/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).expect("the schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert!(schema["$id"].as_str().is_some_and(|id| id.ends_with(name)));
    schema
}

/// Forbids members that the schema does not describe. Users get them from later versions.
fn strict(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            object.entry("additionalProperties").or_insert(json!(false));
        }
        object.values_mut().for_each(strict);
    } else if let Some(list) = schema.as_array_mut() {
        list.iter_mut().for_each(strict);
    }
}

fn holds(name: &str, text: &str) {
    let mut schema = schema(name);
    jsonschema::meta::validate(&schema).expect("a valid schema");
    strict(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let output: Value = serde_json::from_str(text).expect("JSON");
    let errors: Vec<String> = validator
        .iter_errors(&output)
        .map(|error| format!("{}: {error:.300}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}

#[test]
fn reports_have_their_schema() {
    let mut files: Vec<String> = std::fs::read_dir(format!("{PLANS}/corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    files.sort();
    for name in ["plan_aws.json", "plan_google.json", "plan_warren.json", "infeasible.yaml", "hostbits.toml"]
    {
        files.push(format!("{FIXTURES}/{name}"));
    }
    for file in &files {
        holds("check.v1.json", &warren(&["check", file, "--format", "json"]).1);
    }
    let all = files.iter().map(String::as_str);
    holds(
        "check.v1.json",
        &warren(&["check", "--format", "json"].into_iter().chain(all).collect::<Vec<_>>()).1,
    );
    let claims = format!("{FIXTURES}/claims.json");
    holds("check.v1.json", &warren(&["check", &files[0], "--claims", &claims, "--format", "json"]).1);
    holds(
        "check.v1.json",
        &warren_in(&equal_vpcs(30), &["check", "-", "--max-findings", "0", "--format", "json"]).1,
    );
    holds("check.v1.json", &warren(&["check", "missing.json", "--format", "json"]).1);
}

#[test]
fn capacity_plans_have_their_schema() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/capacity/capacity.yaml");
    holds("capacity.v1.json", &warren(&["capacity", example, "--format", "json"]).1);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/capacity");
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path().display().to_string();
        holds("capacity.v1.json", &warren(&["capacity", &file, "--format", "json"]).1);
    }
}

#[test]
fn address_plans_have_their_schema() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/address-plan/network.yaml");
    holds("plan.v1.json", &warren(&["plan", examples, "--format", "json"]).1);
    let warned = "networks: { a: { cidr: 172.17.0.0/16, cloud: aws } }";
    holds("plan.v1.json", &warren_in(warned, &["plan", "-", "--format", "json"]).1);
    let folder = tempfile::tempdir().unwrap();
    let before = crate::write(folder.path(), "before.json", r#"{"networks": {"a": "10.0.0.0/26"}}"#);
    let moved = "pools: { p: [10.1.0.0/24] }\nnetworks: { a: { pool: p, prefix: 26 } }";
    let (_, out, _) = warren_in(moved, &["plan", "-", "--previous", &before, "--format", "json"]);
    assert!(out.contains("renumbered") && out.contains("10.0.0.0/26"), "{out}");
    holds("plan.v1.json", &out);
    let full = "networks: { a: { cidr: 10.0.0.0/16 }, b: { cidr: 10.0.0.0/16 } }";
    holds("check.v1.json", &warren_in(full, &["plan", "-", "--format", "json"]).1);
}
