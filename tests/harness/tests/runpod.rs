//! The double of RunPod: held to the published schema, and to rules that the schema does not say.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use warren_harness::runpod::schema::Document;
use warren_harness::{Fault, RunPod, RunPodConfig};

/// One request, written by hand: status, head and body.
fn raw(runpod: &RunPod, method: &str, path: &str, key: &str, body: &Value) -> (u16, String, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let address = runpod.endpoint().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
    (status, head.to_lowercase(), body)
}

fn call(runpod: &RunPod, method: &str, path: &str, body: Value) -> (u16, Value) {
    let (status, _, answer) = raw(runpod, method, path, "rpa_DOUBLE", &body);
    (status, answer)
}

fn start() -> RunPod {
    RunPod::start(RunPodConfig::default()).unwrap()
}

fn pod() -> Value {
    json!({"name": "worker", "image": "acme/train:1", "gpu": {"id": "NVIDIA GeForce RTX 4090"}})
}

fn made(runpod: &RunPod, path: &str, body: Value) -> String {
    let (status, answer) = call(runpod, "POST", path, body);
    assert_eq!(status, 201, "{answer}");
    answer["id"].as_str().unwrap().to_owned()
}

#[test]
fn requests_that_the_schema_refuses_are_refused() {
    let runpod = start();
    for (path, body, problem) in [
        ("/v2/pods", json!({"name": "a", "gpu": {"id": "x"}}), "missing property image"),
        ("/v2/pods", json!({"image": "a"}), "missing property name"),
        ("/v2/pods", json!({"name": "", "image": "a"}), "too short"),
        ("/v2/pods", json!({"name": "a", "image": "a", "spot": true}), "additional properties 'spot'"),
        (
            "/v2/pods",
            json!({"name": "a", "image": "a", "gpu": {"id": "x", "vram": 1}}),
            "additional properties 'vram'",
        ),
        (
            "/v2/pods",
            json!({"name": "a", "image": "a", "gpu": {"id": "x", "minCudaVersion": "12"}}),
            "does not match",
        ),
        ("/v2/pods", json!({"name": "a", "image": "a", "cloud": "ANY"}), "is none of"),
        ("/v2/pods", json!({"name": "a", "image": "a", "disk": 0}), "too small"),
        ("/v2/pods", json!({"name": "a", "image": "a", "env": {"A": 1}}), "not of type string"),
        (
            "/v2/pods",
            json!({"name": "a", "image": "a", "mounts": {"network": [{"volumeId": "v"}]}}),
            "missing property path",
        ),
        ("/v2/network-volumes", json!({"name": "a", "size": 5, "dataCenter": "EU-RO-1"}), "too small"),
        ("/v2/registries", json!({"name": "a", "username": "u"}), "missing property password"),
        ("/v2/pods", Value::Null, "not of type object"),
    ] {
        let (status, answer) = call(&runpod, "POST", path, body.clone());
        assert_eq!(status, 422, "{body}: {answer}");
        assert!(answer["errors"].to_string().contains(problem), "{body}: {answer}");
    }
    let violations = runpod.front().violations();
    let calls: std::collections::BTreeSet<u64> =
        violations.iter().map(|violation| violation.sequence).collect();
    assert_eq!(calls.len(), 13);
    assert!(runpod.left().is_empty());
    for unknown in ["/v2/templates", "/graphql"] {
        assert_eq!(call(&runpod, "GET", unknown, Value::Null).0, 404, "not in the document");
    }
}

#[test]
fn answers_that_do_not_fit_are_defects_and_told() {
    let document = Document::read().unwrap();
    let operation = document.operation("GET", "/v2/pods/pod1").unwrap();
    assert_eq!((operation.id.as_str(), operation.bound[0].1.as_str()), ("getPod", "pod1"));
    assert!(!document.check_response(&operation, 200, &json!({"id": "pod1"})).is_empty());
    assert!(!document.check_response(&operation, 201, &Value::Null).is_empty(), "no such answer");
    let problem = json!({"title": "Not Found", "status": 404, "detail": "pod not found"});
    assert_eq!(document.check_response(&operation, 404, &problem), Vec::<String>::new());

    let runpod = start();
    let id = made(&runpod, "/v2/pods", pod());
    runpod.change(&id, |pod| {
        pod.remove("disk");
    });
    let (status, answer) = call(&runpod, "GET", &format!("/v2/pods/{id}"), Value::Null);
    assert_eq!(status, 500, "{answer}");
    assert!(runpod.front().violations()[0].problem.contains("DEFECT OF THE DOUBLE"));
}

#[test]
fn a_pod_comes_up_stops_and_goes() {
    let runpod = RunPod::start(RunPodConfig { polls: 1, ..RunPodConfig::default() }).unwrap();
    let id = made(&runpod, "/v2/pods", pod());
    let path = format!("/v2/pods/{id}");
    let status = || call(&runpod, "GET", &path, Value::Null).1["status"].as_str().unwrap().to_owned();
    assert_eq!([status(), status(), status(), status()], ["PROVISIONING", "STARTING", "RUNNING", "RUNNING"]);
    let act = |action: &str| call(&runpod, "POST", &format!("{path}/action"), json!({"action": action})).0;
    assert_eq!((act("start"), act("stop"), status(), act("stop")), (409, 200, "EXITED".to_owned(), 409));
    runpod.configure(|config| {
        config.sold_out.insert("NVIDIA GeForce RTX 4090".to_owned());
    });
    assert_eq!(act("start"), 400, "its machine has no GPU free");
    runpod.configure(|config| config.sold_out.clear());
    assert_eq!(act("start"), 200);
    assert_eq!(call(&runpod, "PATCH", &path, json!({"locked": true})).0, 200);
    assert_eq!(act("stop"), 409, "it is locked");
    assert_eq!((act("terminate"), call(&runpod, "GET", &path, Value::Null).0), (204, 404));
    assert!(runpod.left().is_empty());
    runpod.front().assert_valid();
}

#[test]
fn what_uses_each_other_is_kept() {
    let runpod = start();
    let volume =
        made(&runpod, "/v2/network-volumes", json!({"name": "data", "size": 50, "dataCenter": "US-KS-2"}));
    let registry =
        made(&runpod, "/v2/registries", json!({"name": "images", "username": "u", "password": "p"}));
    let mut body = pod();
    body["registry"] = json!(registry);
    body["mounts"] = json!({"network": [{"volumeId": volume, "path": "/data"}]});
    let id = made(&runpod, "/v2/pods", body.clone());
    assert_eq!(runpod.pods()[&id]["dataCenterId"], "US-KS-2", "the volume binds the pod");
    body["dataCenterIds"] = json!(["EU-RO-1"]);
    assert_eq!(call(&runpod, "POST", "/v2/pods", body).0, 400);
    for path in [format!("/v2/network-volumes/{volume}"), format!("/v2/registries/{registry}")] {
        assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 400, "{path} is in use");
    }
    let shrink = call(&runpod, "PATCH", &format!("/v2/network-volumes/{volume}"), json!({"size": 20}));
    assert_eq!(shrink.0, 400);
    let other = json!({"mounts": {"network": [{"volumeId": "other", "path": "/data"}]}});
    assert_eq!(call(&runpod, "PATCH", &format!("/v2/pods/{id}"), other).0, 400);
    for path in [
        format!("/v2/pods/{id}"),
        format!("/v2/network-volumes/{volume}"),
        format!("/v2/registries/{registry}"),
    ] {
        assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 204, "{path}");
    }
    runpod.front().assert_valid();
}

#[test]
fn secrets_are_made_rotated_and_filled_in() {
    let runpod = start();
    let token = json!({"name": "token", "value": "hunter2", "description": "of the pods"});
    let id = made(&runpod, "/v2/account/secrets", token.clone());
    let (status, twice) = call(&runpod, "POST", "/v2/account/secrets", token);
    assert_eq!((status, &twice["detail"]), (409, &json!("A secret with this name already exists.")));
    let reserved = json!({"name": "RunPod_x", "value": "x"});
    assert_eq!(call(&runpod, "POST", "/v2/account/secrets", reserved).0, 400);
    for (name, found) in [("", 1), ("?name=TOKEN", 1), ("?name=other", 0)] {
        let (_, list) = call(&runpod, "GET", &format!("/v2/account/secrets{name}"), Value::Null);
        assert_eq!(list["secrets"].as_array().unwrap().len(), found, "{name}: {list}");
        assert!(!list.to_string().contains("hunter2"));
    }

    let mut body = pod();
    body["env"] = json!({"TOKEN": "{{ RUNPOD_SECRET_token }}", "OTHER": "{{ RUNPOD_SECRET_none }}"});
    let pod = made(&runpod, "/v2/pods", body);
    let path = format!("/v2/account/secrets/{id}");
    assert_eq!(runpod.environment(&pod).unwrap()["TOKEN"], "hunter2");
    assert_eq!(call(&runpod, "PATCH", &path, json!({"value": "hunter3"})).0, 200);
    let (_, found) = call(&runpod, "PATCH", &path, json!({"description": ""}));
    assert_eq!(found["description"], Value::Null);
    let environment = runpod.environment(&pod).unwrap();
    assert_eq!(
        (environment["TOKEN"].as_str(), environment["OTHER"].as_str()),
        ("hunter3", "{{ RUNPOD_SECRET_none }}")
    );
    assert!(runpod.renumber("token"));
    assert_eq!(call(&runpod, "GET", &path, Value::Null).0, 404);
    let (_, list) = call(&runpod, "GET", "/v2/account/secrets", Value::Null);
    let path = format!("/v2/account/secrets/{}", list["secrets"][0]["id"].as_str().unwrap());
    assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 204, "although a pod references it");
    assert!(runpod.secrets().is_empty());
    runpod.front().assert_valid();
    for wrong in
        [json!({"name": "1token", "value": "x"}), json!({"name": "t", "value": ""}), json!({"name": "t"})]
    {
        assert_eq!(call(&runpod, "POST", "/v2/account/secrets", wrong.clone()).0, 422, "{wrong}");
    }
    assert_eq!(call(&runpod, "PATCH", &path, json!({})).0, 422, "a change changes something");
}

#[test]
fn gpu_types_are_listed_with_prices_and_stock() {
    let runpod = start();
    let list = |query: &str| call(&runpod, "GET", &format!("/v2/catalog/gpus{query}"), Value::Null);
    let (status, plain) = list("");
    assert_eq!((status, plain["gpus"].as_array().unwrap().len()), (200, 3));
    assert_eq!(plain["gpus"][1]["price"], json!({"secure": 0.44, "community": 0.31}));
    assert!(plain["gpus"][1].get("availability").is_none(), "{plain}");
    runpod.configure(|config| {
        config.sold_out.insert("NVIDIA H100 80GB HBM3".to_owned());
    });
    let (_, stock) = list("?include=AVAILABILITY&product=POD");
    let levels: Vec<&Value> =
        stock["gpus"].as_array().unwrap().iter().map(|gpu| &gpu["availability"]).collect();
    assert_eq!(levels, ["HIGH", "HIGH", "NONE"]);
    assert_eq!(stock["gpus"][1]["dataCenters"][0]["id"], "EU-RO-1");
    let (_, there) = list("?include=AVAILABILITY&product=POD,CLUSTER&countryCodes=US,FR");
    assert_eq!(there["gpus"].as_array().unwrap().len(), 2, "the A100 is in Romania: {there}");
    runpod.front().assert_valid();
    assert_eq!((list("?product=POD").0, list("?include=AVAILABILITY").0), (400, 400));
    for wrong in ["?include=PRICE", "?count=many", "?vram=24", "?minCudaVersion=x"] {
        assert_eq!(list(wrong).0, 422, "{wrong}");
    }
}

#[test]
fn a_cluster_is_pods_of_one_shape_in_one_data_center() {
    let runpod = start();
    let body = json!({
        "name": "train", "type": "TRAINING", "image": "acme/train:1", "env": {"A": "b"},
        "compute": {"gpuTypeId": "NVIDIA H100 80GB HBM3", "gpuCountPerPod": 8, "podCount": 2},
    });
    let id = made(&runpod, "/v2/clusters", body.clone());
    let path = format!("/v2/clusters/{id}");
    let (_, cluster) = call(&runpod, "GET", &path, Value::Null);
    assert_eq!(cluster["pods"], json!({"total": 2, "byStatus": {"RUNNING": 2}}));
    assert_eq!(
        (&cluster["dataCenterId"], &cluster["primary"]["status"]),
        (&json!("US-KS-2"), &json!("RUNNING"))
    );
    assert_eq!(call(&runpod, "PATCH", &path, json!({"name": "other"})).1["name"], "other");
    let (_, pods) = call(&runpod, "GET", &format!("{path}/pods"), Value::Null);
    assert_eq!((&pods["pods"][1]["cluster"]["rank"], &pods["pods"][1]["cost"]), (&json!(1), &json!(21.52)));
    let member = format!("/v2/pods/{}", pods["pods"][0]["id"].as_str().unwrap());
    assert_eq!(call(&runpod, "DELETE", &member, Value::Null).0, 400, "it goes with its cluster");
    let listed = |query: &str| call(&runpod, "GET", &format!("/v2/pods{query}"), Value::Null).1;
    assert_eq!(listed("")["pods"], json!([]));
    assert_eq!(listed("?includeClusterPods=true")["pods"].as_array().unwrap().len(), 2);
    assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 204);
    assert!(runpod.left().is_empty(), "{:?}", runpod.left());
    runpod.front().assert_valid();
    let mut with_registry = body;
    with_registry["registry"] = json!("reg1");
    assert_eq!(call(&runpod, "POST", "/v2/clusters", with_registry).0, 422, "clusters take no registry");
}

#[test]
fn an_ecr_delegation_is_registered_where_the_repository_admits_it() {
    let runpod = start();
    let arn = "arn:aws:ecr:us-east-2:111122223333:repository/acme/train";
    let body = json!({"resource": arn, "name": "train"});
    runpod.configure(|config| {
        config.closed_repositories.insert(arn.to_owned());
    });
    assert_eq!(call(&runpod, "POST", "/v2/registries/delegations", body.clone()).0, 400);
    runpod.configure(|config| config.closed_repositories.clear());
    let id = made(&runpod, "/v2/registries/delegations", body);
    let (_, list) = call(&runpod, "GET", "/v2/registries/delegations", Value::Null);
    let found = &list["delegations"][0];
    assert_eq!((&found["repository"], &found["awsUser"]), (&json!("acme/train"), &json!("111122223333")));
    let path = format!("/v2/registries/delegations/{id}");
    assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 204);
    assert_eq!(call(&runpod, "DELETE", &path, Value::Null).0, 404);
    runpod.front().assert_valid();
}

#[test]
fn machines_that_cannot_be_rented_are_refused_as_runpod_does() {
    let runpod = start();
    let refused = |body: Value| {
        let (status, answer) = call(&runpod, "POST", "/v2/pods", body);
        (status, answer["detail"].as_str().unwrap_or_default().to_owned())
    };
    let cpu = |flavor: &str, disk: u32| json!({"name": "a", "image": "b", "cpu": {"id": flavor, "vcpuCount": 2}, "disk": disk});
    let limit = |most: u32| (400, format!("Container Disk must be less than or equal to {most}"));
    assert_eq!(refused(cpu("cpu3c", 21)), limit(20));
    assert_eq!(refused(cpu("cpu5c", 31)), limit(30));
    made(&runpod, "/v2/pods", cpu("cpu5c", 30));
    runpod.configure(|config| {
        config.no_capacity = (500, "create pod: There are no instances currently available".to_owned());
        config.sold_out.insert("NVIDIA GeForce RTX 4090".to_owned());
        config.forbidden.insert("NVIDIA H100 80GB HBM3".to_owned());
    });
    assert_eq!(refused(pod()), (500, "create pod: There are no instances currently available".to_owned()));
    let mut other = pod();
    other["gpu"]["id"] = json!("NVIDIA H100 80GB HBM3");
    assert_eq!(refused(other).0, 403);
    runpod.front().assert_valid();
}

#[test]
fn keys_and_limits_are_told_as_runpod_does() {
    let runpod = start();
    let (status, _, answer) = raw(&runpod, "GET", "/v2/pods", "another", &Value::Null);
    assert_eq!((status, &answer["title"]), (401, &json!("Unauthorized")));
    runpod.front().inject(Fault::throttle().on("listPods"));
    let (status, head, answer) = raw(&runpod, "GET", "/v2/pods", "rpa_DOUBLE", &Value::Null);
    assert_eq!((status, &answer["status"]), (429, &json!(429)));
    assert!(head.contains("retry-after: 1") && head.contains("application/problem+json"), "{head}");
    assert_eq!(runpod.front().calls_of("listPods")[1].error.as_deref(), Some("Too Many Requests"));
}
