use serde_json::{Value, json};
use tf_provider_rs::{Attr, Path};

use super::model::ClusterGpu;
use super::*;
use crate::gpu::GpuChoice;

fn cluster(by_status: &Value) -> Value {
    json!({
        "id": "cluster1", "name": "train [warren:training/platform]", "type": "TRAINING", "createdAt": "2026-11-01T12:00:00Z",
        "compute": {"gpuTypeId": "NVIDIA H100 80GB HBM3", "gpuCountPerPod": 8, "podCount": 2},
        "pods": {"total": 2, "byStatus": by_status}, "dataCenterId": "US-KS-2", "network": {"cidr": "10.65.0.0/16"},
        "primary": {"podId": "pod0", "status": "RUNNING"},
    })
}

fn pods() -> Vec<Value> {
    let pod = |id: &str, rank: Value, ip: &str| {
        json!({
            "id": id, "cost": 21.52, "image": "acme/train:1", "args": "", "disk": 80, "ports": ["22/tcp"],
            "env": {"PUBLIC_KEY": "x", "TOKEN": "hunter2"}, "cluster": {"id": "cluster1", "rank": rank, "ip": ip},
            "mounts": {"network": [{"volumeId": "vol1", "path": "/data"}]},
        })
    };
    vec![pod("pod2", Value::Null, ""), pod("pod1", json!(1), "10.65.0.3"), pod("pod0", json!(0), "10.65.0.2")]
}

fn found(by_status: &Value, before: &Cluster) -> Found {
    api::found(&cluster(by_status), &pods(), before).unwrap()
}

#[test]
fn the_pods_are_in_the_order_of_their_ranks() {
    let before = Cluster { image: "acme/train:2".into(), disk: 50.into(), ..Cluster::default() };
    let state = found(&json!({"RUNNING": 2}), &before).state;
    let ids: Vec<&str> =
        state.pods.known().unwrap().iter().filter_map(|pod| pod.id.known()).map(String::as_str).collect();
    assert_eq!(ids, ["pod0", "pod1", "pod2"]);
    assert_eq!((state.network_cidr, state.primary_pod_id), ("10.65.0.0/16".into(), "pod0".into()));
    assert_eq!(
        (state.image, state.disk),
        ("acme/train:2".into(), 50.into()),
        "the container is as configured"
    );
    assert!(state.cost.known().is_some_and(|cost| (cost - 64.56).abs() < 1e-9));
    assert_eq!(state.object.naming, "train".into());
}

#[test]
fn an_import_reads_the_container_from_the_primary_pod_and_no_variables() {
    let state = found(&json!({"RUNNING": 2}), &Cluster::default()).state;
    assert_eq!((state.image.clone(), state.disk), ("acme/train:1".into(), 80.into()));
    assert_eq!((state.start_ssh, state.env.clone()), (true.into(), Attr::Null));
    assert!(!format!("{state:?}").contains("hunter2"));
}

#[test]
fn a_cluster_has_settled_when_all_run_or_one_does_not() {
    let before = Cluster { image: "acme/train:2".into(), ..Cluster::default() };
    let of = |by_status: Value| {
        let found = found(&by_status, &before);
        (is_settled(&found), failed(&found).is_some())
    };
    assert_eq!(of(json!({"RUNNING": 1, "STARTING": 1})), (false, false));
    assert_eq!(of(json!({"RUNNING": 2})), (true, false));
    assert_eq!(of(json!({"RUNNING": 1, "ERROR": 1})), (true, true));
    assert_eq!(of(json!({})), (false, false), "no pod is placed yet");
    let told = failed(&found(&json!({"RUNNING": 1, "ERROR": 1}), &before)).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", told.summary, told.detail));
}

#[tokio::test]
async fn a_cluster_is_replaced_where_it_has_no_wanted_gpu_or_place() {
    let replaced = |ids: &[&str], centers: &[&str]| {
        let list =
            |items: &[&str]| Attr::Known(items.iter().map(|item| Attr::from(*item)).collect::<Vec<_>>());
        let prior = found(&json!({"RUNNING": 2}), &Cluster::default()).state;
        let choice = GpuChoice { ids: list(ids), ..GpuChoice::default() };
        let planned = Cluster {
            gpu: Attr::Known(ClusterGpu { choice }),
            data_center_ids: list(centers),
            ..prior.clone()
        };
        Change {
            prior: Some(prior),
            config: planned.clone(),
            planned,
            requires_replace: Vec::new(),
            deferred: None,
        }
    };
    let session = crate::session::tests::session().await;
    for (ids, centers, paths) in [
        (&["NVIDIA H100 80GB HBM3"], &["US-KS-2"], vec![]),
        (&["NVIDIA B200"], &["US-KS-2"], vec![Path::of("gpu").attribute("ids")]),
        (&["NVIDIA H100 80GB HBM3"], &["EU-RO-1"], vec![Path::of("data_center_ids")]),
    ] {
        let mut change = replaced(ids, centers);
        Cluster::plan(&session, &mut change, &mut Diagnostics::default()).await;
        assert_eq!(change.requires_replace, paths);
    }
}
