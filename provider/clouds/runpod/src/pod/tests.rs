use std::collections::BTreeMap;

use serde_json::json;
use tf_provider_rs::model::{FromValue as _, Secret, ToValue as _};
use tf_provider_rs::{Attr, Change, Diagnostics, Path, Type, Value};
use warren_managed::{Object as _, listed, sets};

use super::schema::{Cpu, Gpu, NetworkMount, PersistentMount};
use super::*;

fn pod() -> Pod {
    Pod {
        name: "worker".into(),
        id: "pod1".into(),
        image: "acme/train:1".into(),
        env: Attr::Known(BTreeMap::from([("MODE".to_owned(), "train".into())])),
        env_wo: Attr::Known(BTreeMap::from([(
            "WARREN_TOKEN".to_owned(),
            Attr::Known(Secret("hunter2".to_owned())),
        )])),
        disk: 50.into(),
        gpu: Attr::Known(Gpu { id: "NVIDIA GeForce RTX 4090".into(), count: 1.into(), ..Gpu::default() }),
        cloud: "SECURE".into(),
        desired_status: "RUNNING".into(),
        wait_for_running: true.into(),
        when_stopped: "start".into(),
        ..Pod::default()
    }
}

fn found() -> Found {
    api::found(&json!({
        "id": "pod1", "name": "worker", "status": "RUNNING", "image": "acme/train:1", "args": "", "disk": 50,
        "ports": [], "cloud": "SECURE", "registry": null, "mounts": {}, "locked": false, "dataCenterId": "EU-RO-1",
        "gpu": {"id": "NVIDIA GeForce RTX 4090", "count": 1}, "globalNetworking": {"enabled": false},
        "env": {"MODE": "train", "WARREN_TOKEN": "hunter2", "WARREN_RESOURCE": "f/o/worker", "BY_HAND": "x"},
    }))
}

fn told(check: impl Fn(&mut Diagnostics)) -> String {
    let mut diagnostics = Diagnostics::default();
    check(&mut diagnostics);
    diagnostics.0.iter().map(|d| format!("{}: {}\n", d.summary, d.detail)).collect()
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Pod::schema()));
}

#[test]
fn secret_variables_reach_the_pod_and_no_state() {
    let state = schema::state(&found(), &pod());
    assert_eq!(state.env, pod().env);
    let shown = format!("{state:?} {:?} {:?}", pod(), state.to_value());
    assert!(!shown.contains("hunter2") && !shown.contains("BY_HAND"), "{shown}");
    let env = env::wanted(&pod(), "f/o/worker", &BTreeMap::new());
    assert_eq!(env["WARREN_TOKEN"], "hunter2");
}

#[test]
fn a_patch_says_what_differs_alone() {
    let mut have = found();
    have.env.remove("BY_HAND");
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({}));
    have.env.insert("PUBLIC_KEY".to_owned(), "ssh-ed25519 AAAA".to_owned());
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({}), "what RunPod puts in stays");
    have.image = "acme/train:0".to_owned();
    have.registry = Some("reg1".to_owned());
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({"image": "acme/train:1", "registry": null}));
    let renamed = Pod { name: "other".into(), ..pod() };
    assert_eq!(difference(&renamed, &found(), "f/o/other")["env"]["WARREN_RESOURCE"], "f/o/other");
}

#[test]
fn an_update_that_does_not_concern_them_keeps_secret_values() {
    let mut planned = pod();
    env::kept(&mut planned, &BTreeMap::from([("WARREN_TOKEN".to_owned(), "the old one".to_owned())]));
    assert_eq!(env::wanted(&planned, "m", &BTreeMap::new())["WARREN_TOKEN"], "the old one");
}

#[test]
fn what_has_stopped_shows_and_is_started_or_replaced() {
    let stopped = |when: &str| {
        let prior = schema::state(&Found { status: "EXITED".to_owned(), ..found() }, &pod());
        assert_eq!(prior.desired_status.text(), "EXITED");
        let planned = Pod { when_stopped: when.into(), ..pod() };
        let mut change = Change {
            prior: Some(prior),
            config: planned.clone(),
            planned,
            requires_replace: Vec::new(),
            deferred: None,
        };
        check::replaced(&mut change, &mut Diagnostics::default());
        change.requires_replace
    };
    assert_eq!(stopped("start"), []);
    assert_eq!(stopped("replace"), [Path::of("desired_status")]);
}

#[test]
fn a_pod_is_replaced_where_it_is_in_no_wanted_data_center() {
    let moved = |wanted: &str| {
        let planned = Pod { data_center_ids: sets::of([wanted.to_owned()]), ..pod() };
        let mut change = Change {
            prior: Some(schema::state(&found(), &pod())),
            config: planned.clone(),
            planned,
            requires_replace: Vec::new(),
            deferred: None,
        };
        check::replaced(&mut change, &mut Diagnostics::default());
        !change.requires_replace.is_empty()
    };
    assert_eq!((moved("EU-RO-1"), moved("US-KS-2")), (false, true));
}

#[test]
fn combinations_that_runpod_refuses_are_told() {
    let cpu = Attr::Known(Cpu { id: "cpu5c".into(), vcpu_count: 4.into() });
    let persistent = Attr::Known(PersistentMount { size: 20.into(), path: "/workspace".into() });
    let network = Attr::Known(NetworkMount { id: "vol1".into(), path: "/data".into() });
    let gpu = Gpu {
        min_cuda_version: "12.1".into(),
        allowed_cuda_versions: sets::of(["12.8".to_owned()]),
        ..Gpu::default()
    };
    let all: String = [
        Pod { cpu: cpu.clone(), ..pod() },
        Pod { gpu: Attr::Null, ..pod() },
        Pod {
            gpu: Attr::Null,
            cpu,
            persistent_volume: persistent.clone(),
            global_networking: true.into(),
            ..pod()
        },
        Pod { persistent_volume: persistent, network_volume: network, ..pod() },
        Pod { gpu: Attr::Known(gpu), ..pod() },
        Pod { env: Attr::Known(BTreeMap::from([("WARREN_TOKEN".to_owned(), "x".into())])), ..pod() },
    ]
    .iter()
    .map(|pod| {
        told(|diagnostics| {
            check::pod(pod, diagnostics);
            env::check_both(pod, diagnostics);
        })
    })
    .collect();
    insta::assert_snapshot!(all);
    assert_eq!(told(|diagnostics| check::pod(&Pod { gpu: Attr::Unknown, ..pod() }, diagnostics)), "");
}

#[test]
fn values_that_runpod_refuses_are_told() {
    let set = |items: &[&str]| Value::set(items.iter().map(|item| Value::from(*item)).collect());
    let map = Value::Map(
        [
            ("1X", "a"),
            ("WARREN_RESOURCE", "x"),
            ("TOKEN", "{{RUNPOD_SECRET_token}}"),
            ("FINE", "{{ RUNPOD_SECRET_token }}"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect(),
    );
    let all = told(|d| {
        check::ports(&set(&["8888/http", "53/udp", "0/tcp", "http"]), &Path::of("ports"), d);
        check::cuda_versions(&set(&["12", "12.8"]), &Path::of("allowed_cuda_versions"), d);
        check::power_of_two(&Value::from(6), &Path::of("vcpu_count"), d);
        check::path(&Value::from("workspace"), &Path::of("path"), d);
        env::check(&map, &Path::of("env"), d);
    });
    insta::assert_snapshot!(all);
}

#[test]
fn a_pod_that_cannot_start_is_told_with_what_is_behind_it() {
    let of = |status: &str, registry: Option<&str>| {
        let found = Found { status: status.to_owned(), registry: registry.map(str::to_owned), ..found() };
        let diagnostic = failed(&found);
        format!("{}\n{}\n----\n", diagnostic.summary, diagnostic.detail)
    };
    insta::assert_snapshot!(of("ERROR", Some("reg1")) + &of("ERROR", None) + &of("EXITED", None));
    insta::assert_snapshot!(super::told(&Found { registry: Some("reg1".to_owned()), ..found() }));
}

#[test]
fn a_half_known_environment_is_read() {
    let value = Value::object([("env_wo", Value::Map(BTreeMap::from([("A".to_owned(), Value::UNKNOWN)])))]);
    let read = Pod::from_value(
        &value.conform(&Type::Object(BTreeMap::from([("env_wo".to_owned(), Type::map(Type::String))]))),
        &Path::root(),
    );
    assert_eq!(env::names(&read.unwrap()), sets::of(["A".to_owned()]));
}
