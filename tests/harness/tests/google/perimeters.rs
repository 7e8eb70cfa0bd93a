//! Service perimeters, by raw calls.

use serde_json::{Value, json};
use warren_harness::{Fault, Google, GoogleConfig};

use crate::client::{call, get, ok, refused};

const ALL: &str = "/v1/accessPolicies/123/servicePerimeters";

fn perimeter(name: &str, project: u32) -> Value {
    json!({
        "name": format!("accessPolicies/123/servicePerimeters/{name}"),
        "title": name,
        "status": {
            "resources": [format!("projects/{project}")],
            "restrictedServices": ["storage.googleapis.com"],
        },
    })
}

/// Polls an operation to its end.
fn end(google: &Google, mut operation: Value) -> Value {
    for _ in 0..20 {
        if operation["done"] == true {
            return operation;
        }
        operation = get(google, &format!("/v1/{}", operation["name"].as_str().unwrap()));
    }
    panic!("the operation never ends: {operation}");
}

fn done(google: &Google, method: &str, path: &str, body: Value) {
    let operation = end(google, ok(google, method, path, body));
    assert!(operation["error"].is_null(), "{method} {path}: {operation}");
}

#[test]
fn a_perimeter_is_made_changed_and_deleted_one_change_at_a_time() {
    let google = Google::start(GoogleConfig { polls: 2, ..GoogleConfig::default() }).unwrap();
    let begun = ok(&google, "POST", ALL, perimeter("training", 42));
    let name = begun["name"].as_str().unwrap();
    assert!(name.starts_with("operations/accessPolicies/123/servicePerimeters/training/create/"), "{name}");
    let busy = refused(&google, "POST", ALL, perimeter("other", 43));
    assert!(busy.starts_with("409 ABORTED"), "{busy}");
    let made = end(&google, begun);
    let path = format!("{ALL}/training");
    let found = get(&google, &path);
    assert_eq!(
        made["response"]["@type"],
        "type.googleapis.com/google.identity.accesscontextmanager.v1.ServicePerimeter"
    );
    assert_eq!(found["perimeterType"], "PERIMETER_TYPE_REGULAR");

    let change = json!({"title": "Training", "etag": found["etag"]});
    let patch = format!("{path}?updateMask=title");
    done(&google, "PATCH", &patch, change.clone());
    assert_eq!(get(&google, &path)["status"], found["status"]);
    let stale = refused(&google, "PATCH", &patch, change);
    assert!(stale.starts_with("409 ABORTED") && stale.contains("etag"), "{stale}");
    // Without one the last change wins.
    done(&google, "PATCH", &patch, json!({"title": "Runs"}));
    // What the mask names and the body leaves out is cleared.
    done(&google, "PATCH", &format!("{path}?updateMask=status"), json!({}));
    assert!(get(&google, &path)["status"].is_null());

    google.front().inject(
        Fault::fail_late("INTERNAL", "Internal error.")
            .on("accesscontextmanager.accessPolicies.servicePerimeters.delete"),
    );
    assert_eq!(
        end(&google, ok(&google, "DELETE", &path, Value::Null))["error"]["message"],
        "Internal error."
    );
    done(&google, "DELETE", &path, Value::Null);
    assert_eq!(call(&google, "GET", &path, &Value::Null).unwrap().0, 404);
    google.front().assert_valid();
    assert_eq!(google.left(), Vec::<String>::new());
}

#[test]
fn what_google_refuses_is_refused() {
    let google = Google::start(GoogleConfig::default()).unwrap();
    done(&google, "POST", ALL, perimeter("training", 42));
    let with = |field: &str, value: Value| {
        let mut body = perimeter("x", 43);
        body[field] = value;
        body
    };
    let status = |field: &str, value: Value| with("status", json!({field: value}));
    let everything = json!([{"serviceName": "*"}]);
    let methods = json!([{"serviceName": "storage.googleapis.com", "methodSelectors": [{"method": "*"}]}]);
    let cases = [
        perimeter("training", 43),
        with("name", json!("accessPolicies/123/servicePerimeters/with-dash")),
        with("name", json!("accessPolicies/7/servicePerimeters/x")),
        with("title", json!("training")),
        with("title", Value::Null),
        with("spec", json!({"resources": ["projects/44"]})),
        with("perimeterType", json!("PERIMETER_TYPE_BRIDGE")),
        perimeter("x", 42),
        status("resources", json!(["projects/acme-ml"])),
        status("restrictedServices", json!(["storage"])),
        status("accessLevels", json!(["accessPolicies/7/accessLevels/office"])),
        status("vpcAccessibleServices", json!({"allowedServices": ["storage.googleapis.com"]})),
        status(
            "ingressPolicies",
            json!([{"ingressFrom": {"identityType": "ANY_IDENTITY", "identities": ["user:a@b.c"]}}]),
        ),
        status("ingressPolicies", json!([{"ingressFrom": {"sources": [{"resource": "*"}]}}])),
        status("ingressPolicies", json!([{"ingressFrom": {"sources": [{"accessLevel": "office"}]}}])),
        status(
            "egressPolicies",
            json!([{"egressTo": {"operations": [{"serviceName": "storage.googleapis.com"}]}}]),
        ),
        status(
            "egressPolicies",
            json!([{"egressTo": {"resources": ["projects/acme"], "operations": everything}}]),
        ),
        status(
            "egressPolicies",
            json!([{"egressFrom": {"sources": [{"resource": "projects/1"}]}, "egressTo": {"operations": methods}}]),
        ),
    ];
    let said: Vec<String> = cases.iter().map(|body| refused(&google, "POST", ALL, body.clone())).collect();
    insta::assert_snapshot!(said.join("\n"));
    for (method, path, body, status) in [
        ("GET", "/v1/accessPolicies/7/servicePerimeters/x", Value::Null, 403),
        ("GET", &*format!("{ALL}/none"), Value::Null, 404),
        ("PATCH", &*format!("{ALL}/training"), json!({"title": "x"}), 400),
        (
            "PATCH",
            &*format!("{ALL}/training?updateMask=perimeter_type"),
            json!({"perimeterType": "PERIMETER_TYPE_BRIDGE"}),
            400,
        ),
        ("GET", "/v1/operations/none", Value::Null, 404),
    ] {
        assert_eq!(call(&google, method, path, &body).unwrap().0, status, "{method} {path}");
    }
    // The same requests as the document sees them are fine: they are refused for what they mean.
    google.front().assert_valid();
}
