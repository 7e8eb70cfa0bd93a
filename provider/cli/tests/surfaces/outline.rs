//! The reader keeps only parts of a plan, whatever the order of its keys.

use serde_json::{Map, Value, json};
use warren_planfile::{Input, Source, read, read_topology};

/// JSON with the keys of every map in reverse order.
fn reversed(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            out.push('{');
            for (index, (key, inner)) in map.iter().rev().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                reversed(inner, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, inner) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                reversed(inner, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn model(text: &str) -> warren_model::Model {
    match read(&Source { name: "plan.json", text, owner: None }) {
        Ok(Input::Terraform { model, .. }) => *model,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans/corpus");
    let states = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans/states");
    let mut count = 0;
    for folder in [corpus, states] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let mut other = String::new();
            reversed(&value, &mut other);
            let text = value.to_string();
            assert_eq!(model(&text), model(&other), "{}", path.display());
            let plan = |text| read_topology(&Source { name: "plan.json", text, owner: None }).unwrap();
            assert_eq!(plan(&text), plan(&other), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 15, "{count} files");
}

/// Old plans, and states, have values only. In a plan with changes, these values are not read.
#[test]
fn planned_values_are_read_if_there_are_no_changes() {
    let resource = |range: &str| json!({"address": "aws_vpc.a", "mode": "managed", "type": "aws_vpc", "name": "a", "values": {"cidr_block": range}});
    let values = json!({"root_module": {"child_modules": [{"address": "module.m", "resources": [resource("10.1.0.0/16")]}]}});
    let mut plan =
        Map::from_iter([("format_version".to_owned(), "1.2".into()), ("planned_values".to_owned(), values)]);
    let nets = |plan: &Map<String, Value>| {
        let text = Value::Object(plan.clone()).to_string();
        model(&text).networks.iter().map(|network| network.blocks[0].net.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(nets(&plan), ["10.1.0.0/16"]);
    let change = json!({"address": "aws_vpc.a", "mode": "managed", "type": "aws_vpc", "name": "a",
        "change": {"actions": ["create"], "after": {"cidr_block": "10.2.0.0/16"}}});
    plan.insert("resource_changes".to_owned(), json!([change]));
    assert_eq!(nets(&plan), ["10.2.0.0/16"]);
}

/// What is not kept must still be JSON.
#[test]
fn errors_in_other_parts_are_reported_with_their_place() {
    for (text, place) in [
        (
            "{\"format_version\": \"1.2\",\n \"resource_drift\": [{\"a\": tru}],\n \"resource_changes\": []}",
            "plan.json:2:27",
        ),
        ("{\"planned_values\": {\"a\": [1,]}, \"resource_changes\": []}", "plan.json:1:29"),
        ("{\"variables\": {\"a\": \"\u{1}\"}, \"resource_changes\": []}", "plan.json:1:22"),
    ] {
        let errors = read(&Source { name: "plan.json", text, owner: None }).unwrap_err();
        assert!(errors[0].to_string().starts_with(place), "{}", errors[0]);
    }
}
