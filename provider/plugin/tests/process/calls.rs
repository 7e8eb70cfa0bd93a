//! Functions, ephemeral resources, data sources, schemas.

use serde_json::json;
use tf_provider_rs::proto::tfplugin6 as proto;
use tf_provider_rs::test::Plugin;
use tf_provider_rs::{FunctionError, Number, Value};

use crate::common::example;
use crate::proving;

#[test]
fn functions_compute_refuse_and_survive_a_panic() {
    let plugin = proving();
    let sum = |numbers: &[&str]| {
        let numbers: Vec<Value> =
            numbers.iter().filter_map(|text| Number::parse(text).map(Value::Number)).collect();
        plugin.call_function("sum", &numbers).unwrap()
    };
    assert_eq!(sum(&["1"]), Ok(Value::from(1)));
    assert_eq!(sum(&["1", "20", "-300"]), Ok(Value::from(-279)));
    assert_eq!(
        sum(&["1", "2", "1.5"]),
        Err(FunctionError::argument(2, "1.5 is not a whole number of 64 bits"))
    );
    let error = plugin.call_function("fall", &[]).unwrap().unwrap_err();
    assert!(error.text.contains("asked to fall"), "{error:?}");
    assert_eq!(sum(&["2", "2"]), Ok(Value::from(4)));
}

#[test]
fn ephemeral_resources_open_renew_and_close() {
    let plugin = proving();
    let opened = plugin.open("proving_token", &json!({ "seed": "stuck" })).unwrap();
    assert!(opened.diagnostics.is_empty());
    assert_eq!(opened.result.get("token"), Some(&"token-of-stuck".into()));
    assert!(opened.renew_at.is_some());
    let renewed = plugin.renew("proving_token", opened.private.clone()).unwrap();
    assert_eq!(renewed.private.as_deref(), Some(&b"stuck+"[..]));
    assert!(renewed.renew_at >= opened.renew_at);
    assert!(plugin.close("proving_token", renewed.private).unwrap().has_error());
    assert!(plugin.close("proving_token", opened.private).unwrap().is_empty());
}

#[test]
fn data_sources_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("todo.txt"), "buy milk").unwrap();
    let plugin = Plugin::launch(&example("notes"), &[]).unwrap();
    plugin.configure(&json!({ "directory": folder.path() })).unwrap();
    let (value, diagnostics) = plugin.read_data("notes_size", &json!({ "name": "todo" })).unwrap();
    assert!(diagnostics.is_empty());
    assert_eq!(value.get("size"), Some(&Value::from(8)));
    let (_, diagnostics) = plugin.read_data("notes_size", &json!({ "name": "other" })).unwrap();
    assert!(diagnostics.has_error());
}

#[test]
fn validators_name_the_attribute() {
    let plugin = Plugin::launch(&example("notes"), &[]).unwrap();
    let config = json!({ "name": "two words", "text": "t", "links": { "home": { "url": "http://x" } } });
    let config = plugin.value("notes_note", &config).unwrap();
    let told: Vec<String> = plugin
        .validate("notes_note", &config)
        .unwrap()
        .0
        .into_iter()
        .map(|message| format!("{}: {}", message.path.unwrap_or_default(), message.summary))
        .collect();
    assert_eq!(told, ["name: Invalid name", "links[\"home\"].url: Invalid link"]);
}

#[test]
fn unknown_types_and_calls_are_errors_not_ends() {
    let plugin = proving();
    let answer = plugin
        .call(async |mut client| {
            let request =
                proto::read_resource::Request { type_name: "proving_other".to_owned(), ..Default::default() };
            client.read_resource(request).await
        })
        .unwrap();
    assert_eq!(answer.diagnostics.len(), 1);
    let answer = plugin
        .call(async |mut client| {
            let request = proto::plan_resource_change::Request {
                type_name: "proving_thing".to_owned(),
                prior_state: Some(proto::DynamicValue { msgpack: vec![0xc1; 50], json: Vec::new() }),
                ..Default::default()
            };
            client.plan_resource_change(request).await
        })
        .unwrap();
    assert_eq!(answer.diagnostics.len(), 1);
    assert!(plugin.schema().is_ok());
}

#[test]
fn many_calls_run_at_once() {
    let plugin = proving();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0_i64..8)
            .map(|thread| {
                let plugin = &plugin;
                scope.spawn(move || {
                    for call in 0..100 {
                        let sum = plugin.call_function("sum", &[Value::from(thread), Value::from(call)]);
                        assert_eq!(sum.unwrap(), Ok(Value::from(thread + call)));
                    }
                })
            })
            .collect();
        for call in calls {
            call.join().unwrap();
        }
    });
}
