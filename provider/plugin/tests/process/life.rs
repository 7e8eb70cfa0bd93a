//! How the process begins, logs and ends.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tf_provider_rs::Value;
use tf_provider_rs::test::{Plugin, State};

use crate::common::example;
use crate::proving;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn it_ends_when_it_is_asked_to() {
    let plugin = proving();
    let start = Instant::now();
    plugin.shutdown().unwrap();
    assert_eq!(plugin.wait_exit(SOON).unwrap(), 0);
    // Terraform kills a plugin that takes more than two seconds.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn it_does_not_outlive_a_killed_client() {
    let mut plugin = proving();
    plugin.disconnect();
    assert_eq!(plugin.wait_exit(Duration::from_secs(15)).unwrap(), 0);
    let folder = plugin.socket().parent().unwrap();
    assert!(!folder.exists(), "{} was left behind", folder.display());
}

#[test]
fn ctrl_c_is_left_to_terraform() {
    let plugin = proving();
    plugin.signal("INT").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(plugin.schema().is_ok());
    plugin.signal("TERM").unwrap();
    assert_eq!(plugin.wait_exit(SOON).unwrap(), 0);
}

#[test]
fn a_termination_cancels_what_runs() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    std::thread::scope(|scope| {
        let apply = scope.spawn(|| state.apply(&plugin, &json!({ "mode": "wait" })));
        std::thread::sleep(Duration::from_millis(500));
        plugin.signal("TERM").unwrap();
        assert_eq!(plugin.wait_exit(Duration::from_secs(10)).unwrap(), 0);
        let outcome = apply.join().unwrap();
        assert!(outcome.is_ok(), "{outcome:?}");
    });
    assert_eq!(state.text("id"), Some("thing-1"));
}

#[test]
fn a_killed_provider_leaves_the_state_as_it_was() {
    let plugin = proving();
    let mut state = State::new("proving_thing");
    std::thread::scope(|scope| {
        let apply = scope.spawn(|| state.apply(&plugin, &json!({ "mode": "wait" })));
        std::thread::sleep(Duration::from_millis(500));
        plugin.kill();
        assert!(apply.join().unwrap().is_err());
    });
    assert!(!state.exists());
    assert_eq!(plugin.wait_exit(SOON).unwrap(), 128 + 9);
}

#[test]
fn nothing_but_the_handshake_is_on_standard_output() {
    let plugin = Plugin::launch(&example("proving"), &[("TF_LOG", "TRACE")]).unwrap();
    plugin.configure(&json!({})).unwrap();
    State::new("proving_thing").apply(&plugin, &json!({ "mode": "ok" })).unwrap();
    plugin.shutdown().unwrap();
    plugin.wait_exit(SOON).unwrap();
    assert_eq!(plugin.stdout(), "");
}

fn log(plugin: &Plugin) -> Vec<Json> {
    plugin.stderr().lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn logs_are_lines_that_terraform_reads() {
    let plugin = Plugin::launch(&example("proving"), &[("TF_LOG_PROVIDER_PROVING", "debug")]).unwrap();
    plugin.call_function("fall", &[]).unwrap().unwrap_err();
    plugin.shutdown().unwrap();
    plugin.wait_exit(SOON).unwrap();
    let lines = log(&plugin);
    let panic = lines.iter().find(|line| line["@level"] == "error").expect("the panic is logged");
    assert_eq!(panic["@message"], "asked to fall");
    assert_eq!(panic["@module"], "proving");
    let location = panic["location"].as_str().unwrap();
    assert!(location.contains("proving.rs:"), "{location}");
    let timestamp = panic["@timestamp"].as_str().unwrap();
    assert_eq!(timestamp.len(), "2006-01-02T15:04:05.000000Z".len(), "{timestamp}");
    assert!(lines.iter().any(|line| line["@level"] == "debug" && line["@message"] == "serving"));
}

#[test]
fn it_is_silent_unless_asked() {
    let plugin = Plugin::launch(&example("proving"), &[]).unwrap();
    plugin.configure(&json!({})).unwrap();
    plugin.shutdown().unwrap();
    plugin.wait_exit(SOON).unwrap();
    assert_eq!(plugin.stderr(), "");
}

#[test]
fn a_trace_holds_no_values() {
    let plugin = Plugin::launch(&example("proving"), &[("TF_LOG", "TRACE")]).unwrap();
    plugin.configure(&json!({ "greeting": "very-secret" })).unwrap();
    State::new("proving_thing").apply(&plugin, &json!({ "mode": "very-secret" })).unwrap();
    plugin.shutdown().unwrap();
    plugin.wait_exit(SOON).unwrap();
    let log = plugin.stderr();
    assert!(log.contains("serving"), "{log}");
    assert!(!log.contains("very-secret"), "{log}");
}

#[test]
fn messages_of_a_hundred_megabytes_pass() {
    let plugin = proving();
    let blob = "x".repeat(100 << 20);
    let config = plugin.value("proving_thing", &json!({ "mode": "ok", "blob": blob })).unwrap();
    let planned = plugin.plan("proving_thing", &Value::Null, &config, &[]).unwrap();
    assert!(planned.diagnostics.is_empty());
    assert_eq!(planned.state.get("blob").and_then(Value::as_str).map(str::len), Some(100 << 20));
}
