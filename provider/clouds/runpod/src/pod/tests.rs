use std::collections::BTreeMap;

use serde_json::json;
use tf_provider_rs::model::{FromValue as _, Secret, ToValue as _};
use tf_provider_rs::{Attr, Change, Diagnostics, Path, Type, Value};
use warren_managed::sets;

use super::model::{Cpu, Gpu, NetworkMount, PersistentMount, Status, WhenStopped};
use super::*;
use crate::common::RunpodObject;
use crate::gpu::{Cloud, GpuChoice, distinct};

fn gpu(id: &str) -> Gpu {
    Gpu { choice: GpuChoice { id: id.into(), count: 1.into(), ..GpuChoice::default() }, ..Gpu::default() }
}

fn pod() -> Pod {
    Pod {
        object: RunpodObject { naming: "worker".into(), id: "pod1".into(), ..RunpodObject::default() },
        image: "acme/train:1".into(),
        env: Attr::Known(BTreeMap::from([("MODE".to_owned(), "train".into())])),
        env_wo: Attr::Known(BTreeMap::from([(
            "WARREN_TOKEN".to_owned(),
            Attr::Known(Secret("hunter2".to_owned())),
        )])),
        disk: 50.into(),
        gpu: Attr::Known(gpu("NVIDIA GeForce RTX 4090")),
        cloud: Cloud::Secure.into(),
        desired_status: Status::Running.into(),
        wait_for_running: true.into(),
        when_stopped: WhenStopped::Start.into(),
        ..Pod::default()
    }
}

/// The pod as the API returns it, with these members changed.
fn found_with(changes: &[(&str, serde_json::Value)]) -> Found {
    let mut body = json!({
        "id": "pod1", "name": "worker", "status": "RUNNING", "image": "acme/train:1", "args": "", "disk": 50,
        "ports": [], "cloud": "SECURE", "registry": null, "mounts": {}, "locked": false, "dataCenterId": "EU-RO-1",
        "gpu": {"id": "NVIDIA GeForce RTX 4090", "count": 1}, "globalNetworking": {"enabled": false},
        "env": {"MODE": "train", "WARREN_TOKEN": "hunter2", "WARREN_RESOURCE": "f/o/worker", "BY_HAND": "x"},
    });
    for (member, value) in changes {
        body[*member] = value.clone();
    }
    api::found(&body, &pod()).unwrap()
}

fn found() -> Found {
    found_with(&[])
}

fn told(check: impl Fn(&mut Diagnostics)) -> String {
    let mut diagnostics = Diagnostics::default();
    check(&mut diagnostics);
    diagnostics.0.iter().map(|d| format!("{}: {}\n", d.summary, d.detail)).collect()
}

#[test]
fn secret_variables_reach_the_pod_and_no_state() {
    let state = found().state;
    assert_eq!(state.env, pod().env);
    let shown = format!("{state:?} {:?} {:?}", pod(), state.to_value());
    assert!(!shown.contains("hunter2") && !shown.contains("BY_HAND"), "{shown}");
    let env = env::wanted(&pod(), "f/o/worker", &BTreeMap::new());
    assert_eq!(env["WARREN_TOKEN"], "hunter2");
}

#[test]
fn a_patch_says_what_differs_alone() {
    let mut have = found_with(&[("image", json!("acme/train:0")), ("registry", json!("reg1"))]);
    have.env.remove("BY_HAND");
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({"image": "acme/train:1", "registry": null}));
    have.state = found().state;
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({}));
    have.env.insert("PUBLIC_KEY".to_owned(), "ssh-ed25519 AAAA".to_owned());
    assert_eq!(difference(&pod(), &have, "f/o/worker"), json!({}), "what RunPod puts in stays");
    let mut renamed = pod();
    renamed.object.naming = "other".into();
    let change = difference(&renamed, &found(), "f/o/other");
    assert_eq!((&change["name"], &change["env"]["WARREN_RESOURCE"]), (&json!("other"), &json!("f/o/other")));
}

#[test]
fn an_answer_without_an_always_present_member_is_an_error() {
    let body = json!({"id": "pod1", "name": "worker", "status": "RUNNING"});
    let missing = api::found(&body, &pod()).err().unwrap();
    assert!(missing.message.contains("`image`"), "{missing}");
}

#[test]
fn an_update_that_does_not_concern_them_keeps_secret_values() {
    let mut planned = pod();
    env::kept(&mut planned, &BTreeMap::from([("WARREN_TOKEN".to_owned(), "the old one".to_owned())]));
    assert_eq!(env::wanted(&planned, "m", &BTreeMap::new())["WARREN_TOKEN"], "the old one");
}

#[test]
fn what_has_stopped_shows_and_is_started_or_replaced() {
    let stopped = |when: WhenStopped| {
        let prior = found_with(&[("status", json!("EXITED"))]).state;
        assert_eq!(prior.desired_status, Status::Exited.into());
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
    assert_eq!(stopped(WhenStopped::Start), []);
    assert_eq!(stopped(WhenStopped::Replace), [Path::of("desired_status")]);
}

#[test]
fn a_pod_is_replaced_where_it_is_in_no_wanted_data_center() {
    let moved = |wanted: &str| {
        let planned = Pod { data_center_ids: Attr::Known(vec![wanted.into()]), ..pod() };
        let mut change = Change {
            prior: Some(found().state),
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
fn a_pod_is_replaced_where_its_gpu_is_no_longer_wanted() {
    let replaced = |ids: Vec<Attr<String>>| {
        let choice = GpuChoice { id: Attr::Unknown, ids: Attr::Known(ids), count: 1.into() };
        let gpu = Gpu { choice, ..Gpu::default() };
        let planned = Pod { gpu: Attr::Known(gpu), ..pod() };
        let mut change = Change {
            prior: Some(found().state),
            config: planned.clone(),
            planned,
            requires_replace: Vec::new(),
            deferred: None,
        };
        check::replaced(&mut change, &mut Diagnostics::default());
        change.requires_replace
    };
    assert_eq!(replaced(vec!["NVIDIA L4".into(), "NVIDIA GeForce RTX 4090".into()]), []);
    assert_eq!(replaced(vec!["NVIDIA L4".into(), Attr::Unknown]), []);
    assert_eq!(replaced(vec!["NVIDIA L4".into()]), [Path::of("gpu").attribute("ids")]);
}

#[test]
fn the_default_disk_fits_the_cpu_flavor() {
    let disk = |flavor: &str, vcpus: i64, configured: Attr<i64>| {
        let cpu = Cpu { id: flavor.into(), vcpu_count: vcpus.into() };
        let config = Pod { gpu: Attr::Null, cpu: Attr::Known(cpu), disk: configured, ..pod() };
        let disk = if configured.is_null() { Attr::Unknown } else { configured };
        let planned = Pod { disk, ..config.clone() };
        let mut change =
            Change { prior: None, config, planned, requires_replace: Vec::new(), deferred: None };
        check::default_disk(&mut change);
        change.planned.disk
    };
    assert_eq!(disk("cpu3c", 2, Attr::Null), 20.into());
    assert_eq!(disk("cpu5c", 2, Attr::Null), 30.into());
    assert_eq!(disk("cpu5c", 4, Attr::Null), 50.into());
    assert_eq!(disk("cpu9z", 2, Attr::Null), 50.into());
    assert_eq!(disk("cpu3c", 2, 50.into()), 50.into(), "what is configured is refused, not changed");
    let mut unknown = Change {
        prior: None,
        config: Pod { disk: Attr::Null, ..pod() },
        planned: Pod { cpu: Attr::Unknown, gpu: Attr::Null, ..pod() },
        requires_replace: Vec::new(),
        deferred: None,
    };
    check::default_disk(&mut unknown);
    assert_eq!(unknown.planned.disk, Attr::Unknown, "the flavor decides at apply");
    unknown.planned.cpu = Attr::Null;
    check::default_disk(&mut unknown);
    assert_eq!(unknown.planned.disk, 50.into());
}

#[test]
fn cost_and_name_in_the_private_network_are_read() {
    let networking = json!({"enabled": true, "ip": "10.65.1.42", "internalDns": "pod1.runpod.internal"});
    let state = found_with(&[("cost", json!(0.44)), ("globalNetworking", networking)]).state;
    assert_eq!((state.cost, state.internal_dns), (0.44.into(), "pod1.runpod.internal".into()));
    assert_eq!((found().state.cost, found().state.internal_dns), (Attr::Null, Attr::Null));
}

#[test]
fn combinations_that_runpod_refuses_are_told() {
    let cpu = Attr::Known(Cpu { id: "cpu5c".into(), vcpu_count: 4.into() });
    let persistent = Attr::Known(PersistentMount { size: 20.into(), path: "/workspace".into() });
    let network = Attr::Known(NetworkMount { id: "vol1".into(), path: "/data".into() });
    let twice = GpuChoice { ids: Attr::Known(vec!["B".into()]), ..gpu("A").choice };
    let gpu = Gpu {
        choice: gpu("NVIDIA L4").choice,
        min_cuda_version: "12.1".into(),
        allowed_cuda_versions: sets::of(["12.8".to_owned()]),
    };
    let all: String = [
        Pod { cpu: cpu.clone(), ..pod() },
        Pod { gpu: Attr::Null, cpu: cpu.clone(), disk: 61.into(), ..pod() },
        Pod { gpu: Attr::Null, cpu: cpu.clone(), disk: 60.into(), ..pod() },
        Pod { gpu: Attr::Known(Gpu::default()), ..pod() },
        Pod { gpu: Attr::Known(Gpu { choice: twice, ..Gpu::default() }), ..pod() },
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
    let path = Path::of;
    let all = told(|d| {
        model::ports(&set(&["8888/http", "53/udp", "0/tcp", "http"]), &path("ports"), d);
        let list = |items: &[&str]| Value::List(items.iter().map(|item| Value::from(*item)).collect());
        for items in [&[][..], &["A", "B", "A"], &["A", ""], &["A", "B"]] {
            distinct(&list(items), &path("ids"), d);
        }
        model::cuda_versions(&set(&["12", "12.8"]), &path("allowed_cuda_versions"), d);
        model::power_of_two(&Value::from(6), &path("vcpu_count"), d);
        model::mount_path(&Value::from("workspace"), &path("path"), d);
        model::variables(&map, &path("env"), d);
    });
    insta::assert_snapshot!(all);
}

#[test]
fn a_pod_that_cannot_start_is_told_with_what_is_behind_it() {
    let of = |status: &str, registry: Option<&str>| {
        let diagnostic = failed(&found_with(&[("status", json!(status)), ("registry", json!(registry))]));
        format!("{}\n{}\n----\n", diagnostic.summary, diagnostic.detail)
    };
    insta::assert_snapshot!(of("ERROR", Some("reg1")) + &of("ERROR", None) + &of("EXITED", None));
    insta::assert_snapshot!(super::told(&found_with(&[("registry", json!("reg1"))])));
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
