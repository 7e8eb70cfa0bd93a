//! What came with Terraform 1.12 and later: list resources, actions, generated configuration, deferral.

use std::time::Duration;

use serde_json::json;
use tf_provider_rs::proto::tfplugin6 as proto;
use tf_provider_rs::test::{List, Outcome, Plugin, State};
use tf_provider_rs::{Diagnostics, Value, codec};

use crate::common::example;

fn workshop() -> Plugin {
    let plugin = Plugin::launch(&example("workshop"), &[]).unwrap();
    assert!(plugin.configure(&json!({})).unwrap().is_empty());
    plugin
}

fn told(diagnostics: &Diagnostics) -> Vec<&str> {
    diagnostics.0.iter().map(|diagnostic| diagnostic.summary.as_str()).collect()
}

#[test]
fn a_list_streams_identities_and_objects() {
    let plugin = workshop();
    let all = plugin.list("workshop_tool", &json!({}), List::default()).unwrap();
    assert!(all.diagnostics.is_empty(), "{all:?}");
    let names: Vec<&str> = all.results.iter().map(|found| found.display_name.as_str()).collect();
    assert_eq!(names, ["The chisel", "The plane", "The saw", "The spokeshave"]);
    assert!(all.results.iter().all(|found| found.resource.is_none()));

    let request = List { include_resource: true, limit: 1 };
    let one = plugin.list("workshop_tool", &json!({ "prefix": "s" }), request).unwrap();
    let [saw] = &one.results[..] else { panic!("{one:?}") };
    assert_eq!(saw.identity, Value::object([("name", "saw".into())]));
    assert_eq!(saw.resource.as_ref().and_then(|tool| tool.get("id")), Some(&"tool-saw".into()));
    // What was found can be imported.
    let identity = json!({ "name": "saw" });
    let imported = plugin.import_identity("workshop_tool", &identity).unwrap();
    assert_eq!(imported.state.get("name"), Some(&"saw".into()));
}

#[test]
fn a_list_ends_at_its_limit_and_with_its_client() {
    let plugin = workshop();
    let endless = json!({ "fault": "endless" });
    let thousand = List { limit: 1000, ..List::default() };
    assert_eq!(plugin.list("workshop_tool", &endless, thousand).unwrap().results.len(), 1000);

    // A client that stops to read, as Terraform does at an error.
    let ty = &plugin.schema().unwrap().list_resources["workshop_tool"].ty;
    let config = codec::json::from_json(&endless, ty).unwrap();
    let request = proto::list_resource::Request {
        type_name: "workshop_tool".to_owned(),
        config: Some(codec::encode(&config, ty).unwrap()),
        ..Default::default()
    };
    let first = plugin.call(async |mut client| {
        let mut stream = client.list_resource(request).await?.into_inner();
        let first = stream.message().await?.unwrap_or_default();
        Ok(tonic::Response::new(first))
    });
    assert_eq!(first.unwrap().display_name, "The chisel");
    plugin.shutdown().unwrap();
    assert_eq!(plugin.wait_exit(Duration::from_secs(4)).unwrap(), 0);
}

#[test]
fn a_list_that_fails_keeps_what_it_found() {
    let plugin = workshop();
    for (fault, summary) in [("error", "Asked to fail"), ("panic", "The provider panicked during a list")] {
        let listed = plugin.list("workshop_tool", &json!({ "fault": fault }), List::default()).unwrap();
        assert_eq!(listed.results.len(), 1, "{fault}");
        assert_eq!(told(&listed.diagnostics), [summary]);
    }
    let refused = plugin.list("workshop_tool", &json!({ "prefix": "" }), List::default()).unwrap();
    assert_eq!(told(&refused.diagnostics), ["Empty prefix"]);
}

#[test]
fn an_action_reports_progress_and_completes() {
    let plugin = workshop();
    let invoked = plugin.invoke("workshop_sharpen", &json!({ "tool": "saw", "strokes": 3 })).unwrap();
    assert_eq!(invoked.progress, ["stroke 1 on the saw", "stroke 2 on the saw", "stroke 3 on the saw"]);
    assert!(invoked.completed && invoked.diagnostics.is_empty(), "{invoked:?}");

    let refused = plugin.invoke("workshop_sharpen", &json!({ "tool": "hammer" })).unwrap();
    assert_eq!(told(&refused.diagnostics), ["No edge"]);

    let fallen = plugin.invoke("workshop_sharpen", &json!({ "tool": "glass" })).unwrap();
    assert_eq!(fallen.progress, ["stroke 1 on the glass"]);
    assert!(fallen.completed);
    assert_eq!(told(&fallen.diagnostics), ["The provider panicked during an action"]);
}

#[test]
fn an_action_is_cancelled_by_ctrl_c() {
    let plugin = workshop();
    let endless = json!({ "tool": "saw", "strokes": 1_000_000 });
    std::thread::scope(|scope| {
        let action = scope.spawn(|| plugin.invoke("workshop_sharpen", &endless));
        std::thread::sleep(Duration::from_millis(300));
        plugin.stop().unwrap();
        let invoked = action.join().unwrap().unwrap();
        assert!(invoked.completed);
        assert_eq!(told(&invoked.diagnostics), ["Cancelled"]);
    });
}

#[test]
fn configuration_is_generated_from_state() {
    let plugin = workshop();
    let value = |json| plugin.value("workshop_tool", &json).unwrap();
    let state = value(json!({ "id": "tool-saw", "name": "saw", "colour": "red", "edges": 40, "team": "t" }));
    let (config, diagnostics) = plugin.generate_config("workshop_tool", &state).unwrap();
    assert!(diagnostics.is_empty());
    assert_eq!(config, value(json!({ "name": "saw", "edges": 40 })));
}

#[test]
fn metadata_and_schemas_announce_them() {
    let plugin = workshop();
    let metadata =
        plugin.call(async |mut client| client.get_metadata(proto::get_metadata::Request {}).await).unwrap();
    assert_eq!(metadata.list_resources[0].type_name, "workshop_tool");
    assert_eq!(metadata.actions[0].type_name, "workshop_sharpen");
    assert!(metadata.server_capabilities.unwrap().generate_resource_config);
    let proving = crate::proving();
    let functions = proving
        .call(async |mut client| client.get_functions(proto::get_functions::Request {}).await)
        .unwrap();
    assert_eq!(functions.functions["sum"].deprecation_message, "Use `+` instead.");
}

#[test]
fn provider_meta_reaches_the_resource() {
    let mut plugin = workshop();
    plugin.meta(&json!({ "team": "joinery" })).unwrap();
    let mut state = State::new("workshop_tool");
    assert_eq!(state.apply(&plugin, &json!({ "name": "saw" })).unwrap(), Outcome::Created);
    assert_eq!(state.text("team"), Some("joinery"));
}

#[test]
fn a_resource_defers_its_read_and_its_plan() {
    let mut plugin = workshop();
    plugin.capabilities(true, true);
    let mut state = State::new("workshop_tool");
    state.apply(&plugin, &json!({ "name": "saw", "colour": "absent" })).unwrap();
    assert!(plugin.read("workshop_tool", state.value(), &[]).unwrap().deferred);
    plugin.capabilities(false, true);
    assert!(!plugin.read("workshop_tool", state.value(), &[]).unwrap().deferred);
}

#[test]
fn an_unknown_provider_configuration_defers_everything() {
    let mut plugin = Plugin::launch(&example("workshop"), &[]).unwrap();
    let ty = plugin.schema().unwrap().provider.ty.clone();
    let unknown = Value::object([("address", Value::UNKNOWN)]);
    let configure = |plugin: &Plugin| plugin.configure_value(&unknown.clone().conform(&ty)).unwrap();
    assert_eq!(told(&configure(&plugin)), ["The provider cannot be configured yet"]);

    plugin.capabilities(true, true);
    assert!(configure(&plugin).is_empty());
    let config = plugin.value("workshop_tool", &json!({ "name": "saw" })).unwrap();
    let planned = plugin.plan("workshop_tool", &Value::Null, &config, &[]).unwrap();
    assert!(planned.deferred && planned.diagnostics.is_empty());
    assert!(plugin.read("workshop_tool", &config, &[]).unwrap().deferred);
    assert!(plugin.import("workshop_tool", "saw").unwrap().deferred);
    assert!(plugin.invoke("workshop_sharpen", &json!({ "tool": "saw" })).unwrap().deferred);
    // The next run of a process in debug mode knows the address.
    assert!(plugin.configure(&json!({ "address": "here" })).unwrap().is_empty());
    assert!(!plugin.plan("workshop_tool", &Value::Null, &config, &[]).unwrap().deferred);
}

#[test]
fn a_move_carries_the_identity_of_its_source() {
    let plugin = workshop();
    let request = proto::move_resource_state::Request {
        source_provider_address: "terraform.io/builtin/terraform".to_owned(),
        source_type_name: "terraform_data".to_owned(),
        source_state: Some(proto::RawState { json: b"{}".to_vec(), ..Default::default() }),
        source_identity: Some(proto::RawState { json: br#"{"name":"saw"}"#.to_vec(), ..Default::default() }),
        target_type_name: "workshop_tool".to_owned(),
        ..Default::default()
    };
    let answer = plugin.call(async |mut client| client.move_resource_state(request).await).unwrap();
    assert!(answer.diagnostics.is_empty(), "{:?}", answer.diagnostics);
    let ty = &plugin.schema().unwrap().resource("workshop_tool").unwrap().ty;
    let state = codec::decode(&answer.target_state.unwrap(), ty).unwrap();
    assert_eq!(state.get("id"), Some(&"tool-saw".into()));
    assert_eq!(answer.target_private, br#"{"resource":{"moved":true}}"#);
    assert!(answer.target_identity.is_some());
}
