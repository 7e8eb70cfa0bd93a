//! Secrets, service accounts and the metadata service, by raw calls.

use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig};

use crate::client::{done, get, network, ok, refused, send_with, subnet};

const SECRETS: &str = "/v1/projects/acme-ml/secrets";
const ACCOUNTS: &str = "/v1/projects/acme-ml/serviceAccounts";
const EMAIL: &str = "gateway@acme-ml.iam.gserviceaccount.com";

fn start() -> Google {
    Google::start(GoogleConfig::default()).unwrap()
}

fn secret(google: &Google, name: &str) -> String {
    let body = json!({"replication": {"automatic": {}}, "labels": {"team": "ml"}});
    let made = ok(google, "POST", &format!("{SECRETS}?secretId={name}"), body);
    // Google writes the project's number in answers.
    assert_eq!(made["name"], format!("projects/1000000/secrets/{name}"));
    format!("{SECRETS}/{name}")
}

fn add(google: &Google, path: &str, data: &str) -> Value {
    ok(google, "POST", &format!("{path}:addVersion"), json!({"payload": {"data": data}}))
}

#[test]
fn versions_are_numbered_and_the_last_one_is_the_latest() {
    let google = start();
    let path = secret(&google, "key");
    let none = refused(&google, "GET", &format!("{path}/versions/latest"), Value::Null);
    assert!(none.starts_with("404 NOT_FOUND"), "{none}");
    assert_eq!(add(&google, &path, "Zmlyc3Q=")["name"], "projects/1000000/secrets/key/versions/1");
    add(&google, &path, "c2Vjb25k");
    let latest = get(&google, &format!("{path}/versions/latest"));
    assert_eq!((&latest["state"], &latest["payload"]), (&json!("ENABLED"), &Value::Null));
    assert_eq!(get(&google, &format!("{path}/versions/latest:access"))["payload"]["data"], "c2Vjb25k");

    ok(&google, "POST", &format!("{path}/versions/1:destroy"), json!({}));
    let gone = refused(&google, "GET", &format!("{path}/versions/1:access"), Value::Null);
    assert!(gone.starts_with("400 FAILED_PRECONDITION") && gone.contains("DESTROYED"), "{gone}");
    let listed = get(&google, &format!("{path}/versions"));
    let states: Vec<&str> = listed["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|version| version["state"].as_str())
        .collect();
    assert_eq!(states, ["ENABLED", "DESTROYED"], "the newest first");
    ok(&google, "DELETE", &path, Value::Null);
    assert_eq!(google.left(), Vec::<String>::new());
    google.front().assert_valid();
}

#[test]
fn a_secret_is_kept_where_it_is_told_to_be() {
    let google = start();
    let kept = |name: &str, locations: &[&str]| {
        let replicas: Vec<Value> = locations.iter().map(|location| json!({"location": location})).collect();
        let body = json!({"replication": {"userManaged": {"replicas": replicas}}});
        (format!("{SECRETS}?secretId={name}"), body)
    };
    let (path, body) = kept("key", &["us-central1", "europe-west4"]);
    ok(&google, "POST", &path, body);
    let made = add(&google, &format!("{SECRETS}/key"), "Zmlyc3Q=");
    let replicas = &made["replicationStatus"]["userManaged"]["replicas"];
    assert_eq!(replicas, &json!([{"location": "us-central1"}, {"location": "europe-west4"}]));
    for locations in [&[][..], &["us-central1", "us-central1"], &["mars-north1"]] {
        let (path, body) = kept("other", locations);
        let told = refused(&google, "POST", &path, body);
        assert!(told.starts_with("400 INVALID_ARGUMENT"), "{told}");
    }
    google.front().assert_valid();
}

#[test]
fn what_secret_manager_refuses_is_refused() {
    let google = start();
    let path = secret(&google, "key");
    let told = |method: &str, path: &str, body: Value| refused(&google, method, path, body);
    let all = format!("{SECRETS}?secretId=key");
    assert!(told("POST", &all, json!({"replication": {"automatic": {}}})).starts_with("409 ALREADY_EXISTS"));
    let other = format!("{SECRETS}?secretId=other");
    assert!(told("POST", &other, json!({})).contains("replication"));
    let odd = format!("{SECRETS}?secretId=a.b");
    assert!(told("POST", &odd, json!({"replication": {"automatic": {}}})).contains("Secret ID"));
    assert!(
        told("POST", &format!("{path}:addVersion"), json!({"payload": {"data": ""}})).contains("1 to 65536")
    );
    let version = |sum: &str| json!({"payload": {"data": "a2V5", "dataCrc32c": sum}});
    assert!(told("POST", &format!("{path}:addVersion"), version("1")).contains("checksum"));
    let summed = ok(&google, "POST", &format!("{path}:addVersion"), version("1084519789"));
    assert_eq!(summed["clientSpecifiedPayloadChecksum"], true);
    assert_eq!(get(&google, &format!("{path}/versions/1:access"))["payload"]["dataCrc32c"], "1084519789");

    let patch = format!("{path}?updateMask=annotations");
    let before = get(&google, &path);
    let change = json!({"annotations": {"note": "a b"}, "etag": before["etag"]});
    assert_eq!(ok(&google, "PATCH", &patch, change.clone())["annotations"]["note"], "a b");
    let stale = told("PATCH", &patch, change);
    assert!(stale.starts_with("400 FAILED_PRECONDITION") && stale.contains("etag"), "{stale}");
    assert!(told("PATCH", &patch, json!({"annotations": {"-": "a"}})).contains("annotation key"));
    assert!(told("PATCH", &path, json!({"labels": {}})).contains("update mask"));

    let policy = json!({"policy": {"bindings": [{"role": "roles/secretmanager.secretAccessor",
        "members": ["serviceAccount:nobody@acme-ml.iam.gserviceaccount.com"]}]}});
    let nobody = told("POST", &format!("{path}:setIamPolicy"), policy);
    assert!(nobody.contains("does not exist"), "{nobody}");
    google.front().assert_valid();
}

#[test]
fn an_instance_reads_what_the_policy_lets_its_account_read() {
    let google = start();
    let account = json!({"accountId": "gateway", "serviceAccount": {"displayName": "Gateway"}});
    let made = ok(&google, "POST", ACCOUNTS, account.clone());
    assert_eq!(made["email"], EMAIL);
    assert!(refused(&google, "POST", ACCOUNTS, account).starts_with("409 ALREADY_EXISTS"));
    let short = json!({"accountId": "gw", "serviceAccount": {}});
    assert!(refused(&google, "POST", ACCOUNTS, short).contains("6 to 30"));

    let (own, other) = (secret(&google, "own"), secret(&google, "other"));
    add(&google, &own, "b3du");
    add(&google, &other, "b3RoZXI=");
    let policy = json!({"policy": {"bindings": [{"role": "roles/secretmanager.secretAccessor",
        "members": [format!("serviceAccount:{EMAIL}")]}]}});
    ok(&google, "POST", &format!("{own}:setIamPolicy"), policy);

    network(&google, "hub");
    subnet(&google, "hub", "one", "10.0.0.0/24");
    let instance = json!({"name": "gw", "machineType": "zones/us-central1-a/machineTypes/e2-small",
        "disks": [{"boot": true, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
        "networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/one"}],
        "serviceAccounts": [{"email": EMAIL, "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}]});
    done(&google, "POST", "zones/us-central1-a/instances", instance);
    let host = google.metadata_host("projects/acme-ml/zones/us-central1-a/instances/gw");
    let path = format!("/{}", host.split_once('/').unwrap().1);
    let path = format!("{path}/computeMetadata/v1/instance/service-accounts/default/token");
    assert_eq!(send_with(&google, "GET", &path, "", "").unwrap().0, 403, "without the header");
    let token = send_with(&google, "GET", &path, "metadata-flavor: Google\r\n", "").unwrap().1;
    let bearer = format!("authorization: Bearer {}\r\n", token["access_token"].as_str().unwrap());
    let read = |path: &str| {
        send_with(&google, "GET", &format!("{path}/versions/latest:access"), &bearer, "").unwrap()
    };
    assert_eq!(read(&own).1["payload"]["data"], "b3du");
    let denied = read(&other);
    assert_eq!((denied.0, &denied.1["error"]["status"]), (403, &json!("PERMISSION_DENIED")));

    // An account of the same name is another one, and who names nobody names nobody afterwards.
    ok(&google, "POST", &format!("{other}:setIamPolicy"), json!({"policy": {}}));
    ok(&google, "DELETE", &format!("{ACCOUNTS}/{EMAIL}"), Value::Null);
    let members = get(&google, &format!("{own}:getIamPolicy"))["bindings"][0]["members"].clone();
    assert!(members[0].as_str().unwrap().starts_with("deleted:serviceAccount:gateway@"), "{members}");
    assert_eq!(get(&google, &format!("{other}:getIamPolicy")).get("bindings"), None);
    google.front().assert_valid();
}

#[test]
fn an_instance_is_stopped_started_and_tagged_and_its_address_is_reserved() {
    let google = start();
    network(&google, "hub");
    subnet(&google, "hub", "one", "10.0.0.0/24");
    done(&google, "POST", "regions/us-central1/addresses", json!({"name": "gw"}));
    let address = get(&google, "regions/us-central1/addresses/gw")["address"].clone();
    let instance = |name: &str, nat: &Value| {
        json!({"name": name, "machineType": "zones/us-central1-a/machineTypes/e2-small", "tags": {"items": ["a"]},
        "disks": [{"boot": true, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13", "diskSizeGb": "20"}}],
        "networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/one", "accessConfigs": [{"natIP": nat}]}]})
    };
    let all = "zones/us-central1-a/instances";
    let wrong = refused(&google, "POST", all, instance("gw", &json!("192.0.2.1")));
    assert!(wrong.contains("was not found in the region"), "{wrong}");
    let mut standard = instance("gw", &address);
    standard["networkInterfaces"][0]["accessConfigs"][0]["networkTier"] = json!("STANDARD");
    let tier = refused(&google, "POST", all, standard);
    let said =
        "has a different network tier PREMIUM from the network tier in instance access config STANDARD";
    assert!(tier.contains(said), "{tier}");
    done(&google, "POST", all, instance("gw", &address));
    let taken = refused(&google, "POST", all, instance("other", &address));
    assert!(taken.contains("already being used"), "{taken}");

    let path = "zones/us-central1-a/instances/gw";
    let shown = get(&google, path);
    let disk = &shown["disks"][0];
    assert_eq!((&disk["diskSizeGb"], &disk["initializeParams"]), (&json!("20"), &Value::Null));
    done(&google, "POST", &format!("{path}/stop"), Value::Null);
    assert_eq!(get(&google, path)["status"], "TERMINATED");
    done(&google, "POST", &format!("{path}/start"), Value::Null);
    assert_eq!(get(&google, path)["status"], "RUNNING");
    let tags = json!({"items": ["b"], "fingerprint": shown["tags"]["fingerprint"]});
    done(&google, "POST", &format!("{path}/setTags"), tags.clone());
    assert_eq!(get(&google, path)["tags"]["items"], json!(["b"]));
    assert!(refused(&google, "POST", &format!("{path}/setTags"), tags).starts_with("412"));
    google.front().assert_valid();
}
