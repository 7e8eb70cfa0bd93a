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
    assert_eq!(call(&runpod, "GET", "/v2/templates", Value::Null).0, 404, "not in the document");
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
fn secrets_are_made_over_graphql_and_filled_in() {
    let runpod = start();
    let ask = |query: &str, variables: Value| {
        call(&runpod, "POST", "/graphql", json!({"query": query, "variables": variables}))
    };
    let create = "mutation C($input: SecretCreateInput!) { secretCreate(input: $input) { id name } }";
    let (status, made) = ask(create, json!({"input": {"name": "token", "value": "hunter2"}}));
    assert_eq!(status, 200, "{made}");
    let (_, twice) = ask(create, json!({"input": {"name": "token", "value": "hunter3"}}));
    assert!(twice["errors"][0]["message"].as_str().unwrap().contains("already exists"), "{twice}");
    let (_, list) = ask("query { myself { secrets { id name description } } }", json!({}));
    assert!(
        list["data"]["myself"]["secrets"].to_string().contains("token")
            && !list.to_string().contains("hunter2")
    );

    let mut body = pod();
    body["env"] = json!({"TOKEN": "{{ RUNPOD_SECRET_token }}", "OTHER": "{{ RUNPOD_SECRET_none }}"});
    let id = self::made(&runpod, "/v2/pods", body);
    let environment = runpod.environment(&id).unwrap();
    assert_eq!(
        (environment["TOKEN"].as_str(), environment["OTHER"].as_str()),
        ("hunter2", "{{ RUNPOD_SECRET_none }}")
    );

    let id = made["data"]["secretCreate"]["id"].clone();
    let delete = "mutation D($id: ID!) { secretDelete(id: $id) }";
    assert_eq!(ask(delete, json!({"id": id})).1["data"]["secretDelete"], true);
    assert!(runpod.secrets().is_empty());
    let (_, wrong) = ask(create, json!({"input": {"name": "token", "secret": "x"}}));
    assert!(!wrong["errors"].is_null(), "{wrong}");
    assert_eq!(runpod.front().violations().len(), 1);
}

#[test]
fn keys_and_limits_are_told_as_runpod_does() {
    let runpod = start();
    let (status, _, answer) = raw(&runpod, "GET", "/v2/pods", "another", &Value::Null);
    assert_eq!((status, &answer["title"]), (401, &json!("Unauthorized")));
    assert_eq!(
        raw(&runpod, "POST", "/graphql", "another", &json!({"query": "query { myself { secrets { id } } }"}))
            .0,
        401
    );
    runpod.front().inject(Fault::throttle().on("listPods"));
    let (status, head, answer) = raw(&runpod, "GET", "/v2/pods", "rpa_DOUBLE", &Value::Null);
    assert_eq!((status, &answer["status"]), (429, &json!(429)));
    assert!(head.contains("retry-after: 1") && head.contains("application/problem+json"), "{head}");
    assert_eq!(runpod.front().calls_of("listPods")[1].error.as_deref(), Some("Too Many Requests"));
}
