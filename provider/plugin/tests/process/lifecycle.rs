//! A resource through its life, as Terraform's core would lead it.

use std::time::Duration;

use serde_json::json;
use tf_provider_rs::test::{Outcome, Plugin, State};
use tf_provider_rs::{Number, Severity, Value};

use crate::common::example;
use crate::proving;

#[test]
fn create_update_replace_destroy() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    let config = |number: &str, port: u64| {
        json!({
            "mode": "ok",
            "number": number,
            "any": { "type": ["tuple", ["string", "bool"]], "value": ["x", true] },
            "names": ["b", "a"],
            "rules": [{ "port": 80 }, { "port": port, "protocol": "udp" }],
            "peers": [{ "port": 2 }, { "port": 1 }],
            "zones": { "a": { "port": port }, "b": { "port": 1 } },
        })
    };
    let big = "12345678901234567890123456789012345678901234567890.25";
    assert_eq!(state.apply(&plugin, &config(big, 443)).unwrap(), Outcome::Created);
    assert_eq!(state.value().get("number"), Number::parse(big).map(Value::Number).as_ref());
    assert_eq!(state.apply(&plugin, &config(big, 443)).unwrap(), Outcome::Unchanged);
    assert_eq!(state.apply(&plugin, &config(big, 8443)).unwrap(), Outcome::Updated);
    assert_eq!(state.apply(&plugin, &config("1", 8443)).unwrap(), Outcome::Replaced);
    insta::assert_snapshot!(serde_json::to_string_pretty(&state.to_json(&plugin).unwrap()).unwrap());
    assert_eq!(state.destroy(&plugin).unwrap(), Outcome::Destroyed);
    assert_eq!(state.destroy(&plugin).unwrap(), Outcome::Unchanged);
}

#[test]
fn unknown_values_are_planned_and_known_after_apply() {
    let plugin = proving();
    let known = plugin.value("proving_thing", &json!({ "mode": "ok", "names": ["x"], "zones": {} })).unwrap();
    let Value::Object(mut attributes) = known.clone() else { panic!("{known:?}") };
    for name in ["names", "zones", "number"] {
        attributes.insert(name.to_owned(), Value::UNKNOWN);
    }
    let unknown = Value::Object(attributes);
    assert!(plugin.validate("proving_thing", &unknown).unwrap().is_empty());
    let planned = plugin.plan("proving_thing", &Value::Null, &unknown, &[]).unwrap();
    assert!(planned.diagnostics.is_empty());
    for name in ["names", "zones", "number", "id", "outcome"] {
        assert!(planned.state.get(name).is_some_and(Value::is_unknown), "{name}");
    }
    let mut state = State::new("proving_thing");
    assert_eq!(state.apply_value(&plugin, &known).unwrap(), Outcome::Created);
    assert!(state.value().is_wholly_known());
}

#[test]
fn a_failed_create_is_tainted_and_replaced() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    let error = state.apply(&plugin, &json!({ "mode": "error" })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "apply of proving_thing: Asked to fail: The mode is \"error\".\n\nAttribute: zones[\"b\"].port"
    );
    assert!(state.tainted());
    assert_eq!((state.text("id"), state.text("outcome")), (Some("thing-1"), Some("started")));
    assert_eq!(state.apply(&plugin, &json!({ "mode": "ok" })).unwrap(), Outcome::Replaced);
    assert!(!state.tainted());
}

#[test]
fn a_panic_is_a_message_and_what_existed_is_kept() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    let error = state.apply(&plugin, &json!({ "mode": "panic" })).unwrap_err().to_string();
    assert!(error.contains("The provider panicked during a create: asked to panic (at "), "{error}");
    assert!(error.contains("proving.rs:"), "{error}");
    assert_eq!(state.text("id"), Some("thing-1"));

    let error = state.apply(&plugin, &json!({ "mode": "plan-panic" })).unwrap_err().to_string();
    assert!(error.contains("asked to panic in plan"), "{error}");

    assert_eq!(state.apply(&plugin, &json!({ "mode": "read-panic" })).unwrap(), Outcome::Replaced);
    let error = state.refresh(&plugin).unwrap_err().to_string();
    assert!(error.contains("asked to panic in read"), "{error}");
    assert!(state.exists());
}

#[test]
fn a_failed_delete_keeps_the_state() {
    let plugin = proving();
    for mode in ["delete-error", "delete-panic"] {
        let mut state = State::new("proving_thing");
        state.apply(&plugin, &json!({ "mode": mode })).unwrap();
        assert!(state.destroy(&plugin).is_err());
        assert!(state.exists(), "{mode}");
    }
}

#[test]
fn what_is_gone_is_made_again() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    state.apply(&plugin, &json!({ "mode": "gone" })).unwrap();
    assert_eq!(state.apply(&plugin, &json!({ "mode": "gone" })).unwrap(), Outcome::Created);
    assert_eq!(state.destroy(&plugin).unwrap(), Outcome::Unchanged);
}

#[test]
fn a_cancelled_create_is_finished_by_the_next_apply() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    std::thread::scope(|scope| {
        let apply = scope.spawn(|| state.apply(&plugin, &json!({ "mode": "wait" })));
        std::thread::sleep(Duration::from_millis(300));
        plugin.stop().unwrap();
        assert_eq!(apply.join().unwrap().unwrap(), Outcome::Created);
    });
    assert!(!state.tainted());
    assert_eq!((state.text("id"), state.text("outcome")), (Some("thing-1"), Some("started")));

    // The next run is another process. Even the same configuration is a change now.
    let plugin = proving();
    let config = plugin.value("proving_thing", &json!({ "mode": "wait" })).unwrap();
    let planned = plugin.plan("proving_thing", state.value(), &config, state.private()).unwrap();
    assert!(planned.state.get("outcome").is_some_and(Value::is_unknown));
    assert_eq!(state.apply(&plugin, &json!({ "mode": "ok" })).unwrap(), Outcome::Updated);
    assert_eq!((state.text("id"), state.text("outcome")), (Some("thing-1"), Some("done")));
    assert_eq!(state.apply(&plugin, &json!({ "mode": "ok" })).unwrap(), Outcome::Unchanged);
}

#[test]
fn import_by_id_and_by_identity() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("todo.txt"), "buy milk").unwrap();
    let plugin = Plugin::launch(&example("notes"), &[]).unwrap();
    assert!(plugin.configure(&json!({ "directory": folder.path() })).unwrap().is_empty());

    let mut state = State::new("notes_note");
    state.import(&plugin, "todo").unwrap();
    assert_eq!(state.value().get("size"), Some(&Value::from(8)));
    let error = State::new("notes_note").import(&plugin, "nothing").unwrap_err().to_string();
    assert_eq!(error, "notes_note nothing does not exist");

    let imported = plugin.import_identity("notes_note", &json!({ "name": "todo" })).unwrap();
    assert!(imported.diagnostics.is_empty());
    assert_eq!(imported.state.get("name"), Some(&"todo".into()));
    assert_eq!(imported.identity, Some(Value::object([("name", "todo".into())])));
}

#[test]
fn state_of_an_older_version_is_upgraded() {
    let plugin = proving();
    let rule = json!({ "port": 80, "rule_id": "r-1" });
    let old = json!({
        "id": "thing-7", "kind": "ok", "number": 1e30, "colour": "gone",
        "rules": [rule], "peers": [rule], "zones": { "a": rule },
    });
    let (state, diagnostics) = plugin.upgrade("proving_thing", 1, &old).unwrap();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(state.get("mode"), Some(&"ok".into()));
    assert_eq!(state.get("number"), Number::parse("1e30").map(Value::Number).as_ref());
    // The protocol is newer than the rules.
    let nested = [
        state.get("rules").and_then(|rules| rules.as_slice()?.first()),
        state.get("peers").and_then(|peers| peers.as_slice()?.first()),
        state.get("zones").and_then(|zones| zones.get("a")),
    ];
    for rule in nested {
        assert_eq!(rule.and_then(|rule| rule.get("protocol")), Some(&"tcp".into()), "{state:?}");
    }
}

#[test]
fn write_only_values_reach_the_provider_and_no_state() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::launch(&example("notes"), &[]).unwrap();
    plugin.configure(&json!({ "directory": folder.path() })).unwrap();
    let config = json!({ "name": "a", "text": "t", "password": "s3cret" });
    let mut state = State::new("notes_note");
    assert_eq!(state.apply(&plugin, &config).unwrap(), Outcome::Created);
    assert_eq!(state.value().get("password"), Some(&Value::Null));
    assert_eq!(state.apply(&plugin, &config).unwrap(), Outcome::Unchanged);

    // A client that does not know them would store the value.
    plugin.capabilities(false, false);
    let config = plugin.value("notes_note", &config).unwrap();
    let diagnostics = plugin.validate("notes_note", &config).unwrap();
    assert!(diagnostics.has_error(), "{diagnostics:?}");
    assert!(diagnostics.0.iter().all(|message| message.severity == Severity::Error));
}

#[test]
fn state_of_another_type_is_taken_over() {
    let plugin = proving();
    let other = "registry.terraform.io/other/other";
    let moved = |source, version| {
        plugin.move_from("proving_thing", other, source, version, &json!({ "name": "x" })).unwrap()
    };
    let (state, diagnostics) = moved("other_thing", 3);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(state.get("id"), Some(&"x".into()));
    let (state, diagnostics) = moved("other_person", 3);
    assert!(state.is_null() && diagnostics.has_error());
}

#[test]
fn a_change_is_deferred_for_clients_that_allow_it() {
    let mut plugin = proving();
    let config = json!({ "mode": "defer" });
    let mut state = State::new("proving_thing");
    plugin.capabilities(true, true);
    assert_eq!(state.apply(&plugin, &config).unwrap(), Outcome::Deferred);
    assert!(!state.exists());
    plugin.capabilities(false, true);
    assert_eq!(state.apply(&plugin, &config).unwrap(), Outcome::Created);
}
