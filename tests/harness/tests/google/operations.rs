//! Operations, repeated requests, and everything that can be made to go wrong.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use warren_harness::{Fault, Google, GoogleConfig, KillSwitch, Phase, Venv};

use crate::client::{call, done, end, get, network, ok, refused, subnet};

fn start(config: GoogleConfig) -> Google {
    Google::start(config).unwrap()
}

fn hub() -> Value {
    json!({"name": "hub", "autoCreateSubnetworks": false})
}

fn data() -> Value {
    json!({"name": "data", "network": "projects/acme-ml/global/networks/hub", "ipCidrRange": "10.0.0.0/24"})
}

const SUBNETS: &str = "regions/us-central1/subnetworks";

#[test]
fn an_operation_takes_its_polls() {
    let google = start(GoogleConfig { polls: 2, ..GoogleConfig::default() });
    let begun = ok(&google, "POST", "global/networks", hub());
    let path = format!("global/operations/{}", begun["name"].as_str().unwrap());
    let seen = || {
        let operation = get(&google, &path);
        (operation["status"].as_str().unwrap().to_owned(), operation["progress"].as_i64().unwrap())
    };
    assert_eq!(
        (begun["status"].as_str(), begun["operationType"].as_str()),
        (Some("PENDING"), Some("insert"))
    );
    // Nobody can use what is being made, and what is being made cannot be changed.
    assert_eq!(
        refused(&google, "DELETE", "global/networks/hub", Value::Null),
        "400 resourceNotReady: The resource 'projects/acme-ml/global/networks/hub' is not ready"
    );
    assert_eq!(seen(), ("RUNNING".to_owned(), 50));
    assert_eq!(seen(), ("DONE".to_owned(), 100));
    assert_eq!(seen(), ("DONE".to_owned(), 100));
    let begun = ok(&google, "POST", SUBNETS, data());
    let name = begun["name"].as_str().unwrap();
    let waited = ok(&google, "POST", &format!("regions/us-central1/operations/{name}/wait"), Value::Null);
    assert_eq!(waited["status"], "DONE");
    // A regional operation is not a global one.
    assert!(
        refused(&google, "GET", &format!("global/operations/{name}"), Value::Null)
            .starts_with("404 notFound")
    );
    assert_eq!(get(&google, "regions/us-central1/operations")["items"].as_array().unwrap().len(), 1);
    google.front().assert_valid();
}

#[test]
fn an_operation_that_nobody_waits_for_ends_as_well() {
    let google = start(GoogleConfig { polls: 3, ..GoogleConfig::default() });
    ok(&google, "POST", "global/networks", hub());
    let mut turns = 0;
    while call(&google, "POST", SUBNETS, &data()).unwrap().0 != 200 {
        turns += 1;
        assert!(turns < 10, "the network is never ready");
    }
    assert_eq!(turns, 4);
    assert_eq!(google.running_operations().len(), 1);
    for _ in 0..4 {
        get(&google, SUBNETS);
    }
    assert_eq!(google.running_operations(), Vec::<String>::new());
}

/// What a killed client left under way is in the way of its next run, which does not know the operation.
#[test]
fn what_is_in_the_way_goes_when_nobody_looks_at_it() {
    for refuse_in_operation in [false, true] {
        let google = start(GoogleConfig { polls: 3, refuse_in_operation, ..GoogleConfig::default() });
        network(&google, "hub");
        subnet(&google, "hub", "data", "10.0.0.0/24");
        ok(&google, "DELETE", &format!("{SUBNETS}/data"), Value::Null);
        let mut turns = 0;
        while google.left() != Vec::<String>::new() {
            turns += 1;
            assert!(turns < 20, "the subnet is never gone");
            if let (200, begun) = call(&google, "DELETE", "global/networks/hub", &Value::Null).unwrap() {
                end(&google, begun);
            }
        }
        assert!(turns > 3, "the subnet was gone after {turns} turns");
        google.front().assert_valid();
    }
}

#[test]
fn what_is_being_made_may_be_hidden() {
    let google = start(GoogleConfig { polls: 1, show_unfinished: false, ..GoogleConfig::default() });
    let begun = ok(&google, "POST", "global/networks", hub());
    assert_eq!(call(&google, "GET", "global/networks/hub", &Value::Null).unwrap().0, 404);
    assert!(refused(&google, "POST", "global/networks", hub()).starts_with("409 alreadyExists"));
    end(&google, begun);
    assert_eq!(get(&google, "global/networks/hub")["name"], "hub");
}

#[test]
fn an_operation_can_fail_late() {
    for polls in [0, 2] {
        let google = start(GoogleConfig { polls, ..GoogleConfig::default() });
        let fault = || Fault::fail_late("RESOURCE_OPERATION_RATE_EXCEEDED", "Operation rate exceeded.");
        google.front().inject(fault().on("compute.networks.insert").with_param("resource.name", "hub"));
        let failed = end(&google, ok(&google, "POST", "global/networks", hub()));
        assert_eq!(
            failed["error"]["errors"],
            json!([{"code": "RESOURCE_OPERATION_RATE_EXCEEDED", "message": "Operation rate exceeded."}])
        );
        assert_eq!(google.left(), Vec::<String>::new());
        network(&google, "hub");
        subnet(&google, "hub", "data", "10.0.0.0/24");
        let path = format!("{SUBNETS}/data");
        google.front().inject(fault().on("compute.subnetworks.patch"));
        let patch = json!({"logConfig": {"enable": true}, "fingerprint": get(&google, &path)["fingerprint"]});
        assert!(end(&google, ok(&google, "PATCH", &path, patch))["error"].is_object());
        assert!(get(&google, &path)["logConfig"].is_null());
        google.front().inject(fault().on("compute.subnetworks.delete"));
        assert!(end(&google, ok(&google, "DELETE", &path, Value::Null))["error"].is_object());
        done(&google, "DELETE", &path, Value::Null);
        google.front().assert_valid();
    }
}

#[test]
fn a_conflict_may_be_told_by_the_operation() {
    let google = start(GoogleConfig { refuse_in_operation: true, polls: 1, ..GoogleConfig::default() });
    network(&google, "hub");
    subnet(&google, "hub", "data", "10.0.0.0/24");
    let mut clash = data();
    clash["name"] = json!("other");
    let failed = end(&google, ok(&google, "POST", SUBNETS, clash));
    let message = failed["error"]["errors"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("Invalid IPCidrRange: 10.0.0.0/24 conflicts with"), "{message}");
    let failed = end(&google, ok(&google, "DELETE", "global/networks/hub", Value::Null));
    assert_eq!(failed["error"]["errors"][0]["code"], "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE");
    assert_eq!(failed["httpErrorStatusCode"], 400);
    assert_eq!(google.left().len(), 3, "{:?}", google.left());
    google.front().assert_valid();
}

#[test]
fn the_same_request_id_gives_the_same_operation() {
    let google = start(GoogleConfig { polls: 1, ..GoogleConfig::default() });
    let path = "global/networks?requestId=0b5b0d1e-5c5f-4a7e-8c0e-3d1f5e7a9b11";
    let first = ok(&google, "POST", path, hub());
    let again = ok(&google, "POST", path, hub());
    assert_eq!(first["name"], again["name"]);
    let mut other = hub();
    other["name"] = json!("other");
    assert!(refused(&google, "POST", path, other).starts_with("400 invalid"));
    assert!(refused(&google, "POST", "global/networks", hub()).starts_with("409 alreadyExists"));
    // A call that was refused has not used its id.
    let path = "global/networks/none?requestId=0b5b0d1e-5c5f-4a7e-8c0e-3d1f5e7a9b12";
    assert!(refused(&google, "DELETE", path, Value::Null).starts_with("404"));
    assert!(refused(&google, "DELETE", path, Value::Null).starts_with("404"));
}

#[test]
fn peerings_are_changed_one_at_a_time() {
    let google = start(GoogleConfig { polls: 1, ..GoogleConfig::default() });
    network(&google, "hub");
    network(&google, "data");
    let peering = |name: &str| {
        let link = format!("projects/acme-ml/global/networks/{name}");
        json!({"networkPeering": {"name": "p", "network": link, "exchangeSubnetRoutes": true}})
    };
    let begun = ok(&google, "POST", "global/networks/hub/addPeering", peering("data"));
    let busy = refused(&google, "POST", "global/networks/data/addPeering", peering("hub"));
    assert!(busy.contains("There is a peering operation in progress"), "{busy}");
    end(&google, begun);
    done(&google, "POST", "global/networks/data/addPeering", peering("hub"));
    google.front().assert_valid();
}

#[test]
fn calls_fail_as_they_are_told_to() {
    let google = start(GoogleConfig::default());
    let front = google.front();
    front.inject(Fault::throttle().on("compute.networks.insert"));
    let said = refused(&google, "POST", "global/networks", hub());
    assert!(said.starts_with("429 rateLimitExceeded"), "{said}");
    front.inject(Fault::error(503, "backendError", "Try again.").on("compute.networks.insert").skip(1));
    network(&google, "one");
    assert_eq!(refused(&google, "POST", "global/networks", hub()), "503 backendError: Try again.");
    front.inject(Fault::error(403, "rateLimitExceeded", "Rate Limit Exceeded").on("compute.networks.get"));
    let (status, answer) = call(&google, "GET", "global/networks/one", &Value::Null).unwrap();
    assert_eq!((status, &answer["error"]["errors"][0]["domain"]), (403, &json!("usageLimits")));
    front.inject(Fault::cut_before());
    assert!(call(&google, "POST", "global/networks", &hub()).is_none());
    assert_eq!(call(&google, "GET", "global/networks/hub", &Value::Null).unwrap().0, 404);
    front.inject(Fault::cut_after().with_param("resource.name", "hub"));
    assert!(call(&google, "POST", "global/networks", &hub()).is_none());
    assert_eq!(get(&google, "global/networks/hub")["name"], "hub");
    subnet(&google, "hub", "data", "10.0.0.0/24");
    front.inject(Fault::overtaken().on("compute.subnetworks.patch"));
    let path = format!("{SUBNETS}/data");
    let patch = json!({"logConfig": {"enable": true}, "fingerprint": get(&google, &path)["fingerprint"]});
    assert!(refused(&google, "PATCH", &path, patch).starts_with("412 conditionNotMet"));
    front.inject(Fault::delay(Duration::from_millis(200)));
    let began = Instant::now();
    get(&google, &path);
    assert!(began.elapsed() >= Duration::from_millis(200));
    let calls = front.calls_of("compute.networks.insert");
    let said: Vec<Option<&str>> = calls.iter().map(|call| call.error.as_deref()).collect();
    assert_eq!(said, [Some("rateLimitExceeded"), None, Some("backendError"), None, None]);
    assert_eq!(calls[0].params.get("resource.name"), "hub");
    front.assert_valid();
}

#[test]
fn a_client_is_killed_before_or_after_its_call() {
    let google = start(GoogleConfig::default());
    let script = "import sys, urllib.request as u\n\
        u.urlopen(u.Request(sys.argv[1], data=sys.argv[2].encode(), headers={'content-type': 'application/json'})).read()";
    let url = format!("{}/compute/v1/projects/acme-ml/global/networks", google.endpoint());
    let python = Venv::ensure().unwrap().python();
    for (phase, exists) in [(Phase::Before, false), (Phase::After, true)] {
        google.front().arm(KillSwitch::caller(1, phase));
        let status = Command::new(&python).args(["-c", script, &url, &hub().to_string()]).status().unwrap();
        assert!(!status.success() && status.code().is_none(), "{status}");
        assert_eq!(google.front().disarm().unwrap().action, "compute.networks.insert");
        assert_eq!(google.left().iter().any(|name| name.ends_with("networks/hub")), exists, "{phase:?}");
    }
}

#[test]
fn an_answer_that_does_not_fit_the_document_is_a_defect() {
    let google = start(GoogleConfig::default());
    network(&google, "hub");
    assert!(
        google.change("projects/acme-ml/global/networks/hub", |hub| drop(
            hub.insert("mtu".into(), json!("much"))
        ))
    );
    assert!(refused(&google, "GET", "global/networks/hub", Value::Null).starts_with("500 internalError"));
    let said = google.front().violations();
    assert!(said.len() == 1 && said[0].problem.starts_with("DEFECT OF THE DOUBLE"), "{said:?}");
    // Drift that fits is seen as any change is.
    google.change("projects/acme-ml/global/networks/hub", |hub| drop(hub.insert("mtu".into(), json!(1500))));
    assert_eq!(get(&google, "global/networks/hub")["mtu"], 1500);
    assert!(google.forget_object("projects/acme-ml/global/networks/hub"));
    assert!(refused(&google, "GET", "global/networks/hub", Value::Null).starts_with("404"));
}

#[test]
fn lists_are_cut_into_pages_and_fields() {
    let google = start(GoogleConfig { page_size: Some(2), ..GoogleConfig::default() });
    for name in ["a", "b", "c"] {
        network(&google, name);
    }
    let first = get(&google, "global/networks?maxResults=100");
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    let token = first["nextPageToken"].as_str().unwrap();
    let second = get(
        &google,
        &format!("global/networks?pageToken={token}&fields=items(name),nextPageToken&$alt=json"),
    );
    assert_eq!(second.as_object().unwrap().keys().collect::<Vec<_>>(), ["items"]);
    assert_eq!(second["items"][0]["name"], "c");
    assert!(get(&google, "global/firewalls")["items"].is_null());
    assert_eq!(get(&google, "regions")["items"].as_array().unwrap().len(), 2);
    assert_eq!(get(&google, "zones/us-central1-b")["name"], "us-central1-b");
    google.front().assert_valid();
}
