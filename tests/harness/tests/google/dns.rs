//! Cloud DNS, by raw calls: managed zones and their record sets.

use serde_json::{Value, json};
use warren_harness::{Fault, Google, GoogleConfig};

use crate::client::{call, get, network, ok};

const ZONES: &str = "/dns/v1/projects/acme-ml/managedZones";
const NETWORKS: &str = "https://www.googleapis.com/compute/v1/projects/acme-ml/global/networks";

fn start() -> Google {
    let google = Google::start(GoogleConfig::default()).unwrap();
    network(&google, "hub");
    network(&google, "data");
    google
}

fn private(name: &str, dns_name: &str, networks: &[&str]) -> Value {
    let networks: Vec<Value> =
        networks.iter().map(|name| json!({"networkUrl": format!("{NETWORKS}/{name}")})).collect();
    json!({
        "name": name, "dnsName": dns_name, "description": "test", "visibility": "private",
        "privateVisibilityConfig": {"networks": networks},
    })
}

fn with(mut zone: Value, field: &str, value: Value) -> Value {
    zone[field] = value;
    zone
}

fn rrset(name: &str, kind: &str, datas: &[&str]) -> Value {
    json!({"name": name, "type": kind, "ttl": 300, "rrdatas": datas})
}

/// The reason of the refusal of a request.
fn reason(google: &Google, method: &str, path: &str, body: &Value) -> (u16, String) {
    let (status, answer) = call(google, method, path, body).unwrap();
    (status, answer["error"]["errors"][0]["reason"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_zone_lives_with_its_own_records() {
    let google = start();
    let zone = ok(&google, "POST", ZONES, private("apis", "googleapis.com.", &["hub"]));
    assert_eq!(zone["nameServers"], json!(["ns-gcp-private.googledomains.com."]));
    assert_eq!(get(&google, &format!("{ZONES}/apis")), zone);
    assert_eq!(get(&google, ZONES)["managedZones"], json!([zone]));
    assert_eq!(get(&google, &format!("{ZONES}?dnsName=gcr.io."))["managedZones"], json!([]));
    let rrsets = format!("{ZONES}/apis/rrsets");
    let types = |google: &Google| -> Vec<String> {
        let list = get(google, &rrsets);
        list["rrsets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|set| set["type"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(types(&google), ["NS", "SOA"]);
    ok(&google, "POST", &rrsets, rrset("private.googleapis.com.", "A", &["199.36.153.8"]));
    ok(&google, "POST", &rrsets, rrset("*.googleapis.com.", "CNAME", &["private.googleapis.com."]));
    assert_eq!(types(&google), ["NS", "SOA", "A", "CNAME"]);
    let wildcard = format!("{rrsets}/*.googleapis.com./CNAME");
    let sent = rrset("*.googleapis.com.", "CNAME", &["restricted.googleapis.com."]);
    let changed = ok(&google, "PATCH", &wildcard, sent);
    assert_eq!(changed["rrdatas"], json!(["restricted.googleapis.com."]));
    assert_eq!(get(&google, &wildcard), changed);
    assert_eq!(
        reason(&google, "DELETE", &format!("{ZONES}/apis"), &Value::Null),
        (400, "containerNotEmpty".to_owned())
    );
    ok(&google, "DELETE", &wildcard, Value::Null);
    ok(&google, "DELETE", &format!("{rrsets}/private.googleapis.com./A"), Value::Null);
    assert_eq!(
        reason(&google, "DELETE", &format!("{rrsets}/googleapis.com./SOA"), &Value::Null),
        (400, "invalidZoneApex".to_owned())
    );
    assert_eq!(call(&google, "DELETE", &format!("{ZONES}/apis"), &Value::Null).unwrap().0, 204);
    assert_eq!(reason(&google, "GET", &format!("{ZONES}/apis"), &Value::Null), (404, "notFound".to_owned()));
    google.front().assert_valid();
}

#[test]
fn an_update_replaces_the_zone_and_ends_later() {
    let google = Google::start(GoogleConfig { polls: 2, ..GoogleConfig::default() }).unwrap();
    network(&google, "hub");
    ok(&google, "POST", ZONES, private("apis", "googleapis.com.", &["hub"]));
    ok(&google, "POST", &format!("{ZONES}/apis/rrsets"), rrset("a.googleapis.com.", "A", &["10.0.0.1"]));
    let operation = ok(&google, "PUT", &format!("{ZONES}/apis"), private("apis", "googleapis.com.", &[]));
    assert_eq!(operation["status"], "pending");
    let networks = |google: &Google| {
        get(google, &format!("{ZONES}/apis"))["privateVisibilityConfig"]["networks"].clone()
    };
    assert_eq!(networks(&google).as_array().map(Vec::len), Some(1));
    let path = format!("{ZONES}/apis/operations/{}", operation["id"].as_str().unwrap());
    while get(&google, &path)["status"] == "pending" {}
    assert_eq!(networks(&google), json!([]));
    assert_eq!(
        get(&google, &format!("{ZONES}/apis/rrsets?name=a.googleapis.com."))["rrsets"][0]["type"],
        "A"
    );
    google.front().assert_valid();
}

#[test]
fn wrong_zones_are_refused() {
    let google = start();
    ok(&google, "POST", ZONES, private("apis", "googleapis.com.", &["hub"]));
    let target = json!({"targetNameServers": [{"ipv4Address": "10.8.0.53"}]});
    let peer = json!({"targetNetwork": {"networkUrl": format!("{NETWORKS}/hub")}});
    let id = json!({"networks": [{"networkUrl": "projects/acme-ml/global/networks/hub"}]});
    let zone = || private("x", "gcr.io.", &["data"]);
    for (body, expected) in [
        (private("apis", "gcr.io.", &["data"]), (409, "alreadyExists")),
        (private("x", "googleapis.com.", &["hub"]), (400, "invalid")),
        (private("x", "gcr.io", &["hub"]), (400, "invalid")),
        (private("X", "gcr.io.", &["hub"]), (400, "invalidFieldValue")),
        (private("x", "gcr.io.", &["nowhere"]), (404, "notFound")),
        (with(zone(), "privateVisibilityConfig", id), (400, "invalid")),
        (
            with(with(zone(), "forwardingConfig", target.clone()), "peeringConfig", peer.clone()),
            (400, "invalid"),
        ),
        (with(zone(), "forwardingConfig", json!({})), (400, "required")),
        (with(zone(), "peeringConfig", json!({})), (400, "required")),
        (with(zone(), "visibility", json!("public")), (400, "invalid")),
    ] {
        let (status, reason) = reason(&google, "POST", ZONES, &body);
        assert_eq!((status, reason.as_str()), expected, "{body}");
    }
    // The same name on another network, a name inside another zone, and a zone without networks are allowed.
    ok(&google, "POST", ZONES, private("data", "googleapis.com.", &["data"]));
    ok(&google, "POST", ZONES, private("storage", "storage.googleapis.com.", &["hub"]));
    ok(&google, "POST", ZONES, private("nobody", "googleapis.com.", &[]));
    ok(&google, "POST", ZONES, with(zone(), "forwardingConfig", target.clone()));
    ok(&google, "POST", ZONES, with(private("peer", "pkg.dev.", &["data"]), "peeringConfig", peer));
    // The second network comes later.
    let twice = private("nobody", "googleapis.com.", &["data"]);
    assert_eq!(reason(&google, "PUT", &format!("{ZONES}/nobody"), &twice), (400, "invalid".to_owned()));
    let other = with(private("nobody", "googleapis.com.", &[]), "forwardingConfig", target);
    assert_eq!(reason(&google, "PUT", &format!("{ZONES}/nobody"), &other), (400, "invalid".to_owned()));
    let records = rrset("a.pkg.dev.", "A", &["10.0.0.1"]);
    assert_eq!(
        reason(&google, "POST", &format!("{ZONES}/peer/rrsets"), &records),
        (400, "invalid".to_owned())
    );
    google.front().assert_valid();
}

#[test]
fn wrong_records_are_refused() {
    let google = start();
    ok(&google, "POST", ZONES, private("pkg", "pkg.dev.", &["hub"]));
    let rrsets = format!("{ZONES}/pkg/rrsets");
    ok(&google, "POST", &rrsets, rrset("pkg.dev.", "A", &["199.36.153.8"]));
    ok(&google, "POST", &rrsets, rrset("c.pkg.dev.", "CNAME", &["pkg.dev."]));
    for (body, expected) in [
        (rrset("pkg.dev.", "A", &["199.36.153.9"]), (409, "alreadyExists")),
        (rrset("gcr.io.", "A", &["199.36.153.9"]), (400, "invalid")),
        (rrset("xpkg.dev.", "A", &["199.36.153.9"]), (400, "invalid")),
        (rrset("a.pkg.dev", "A", &["199.36.153.9"]), (400, "invalid")),
        (rrset("a.pkg.dev.", "A", &["pkg.dev."]), (400, "invalid")),
        (rrset("a.pkg.dev.", "A", &[]), (400, "invalid")),
        (rrset("a.pkg.dev.", "CNAME", &["pkg.dev"]), (400, "invalid")),
        (rrset("a.pkg.dev.", "CNAME", &["pkg.dev.", "gcr.io."]), (400, "invalidRecordCount")),
        (rrset("pkg.dev.", "CNAME", &["gcr.io."]), (400, "cnameResourceRecordSetConflict")),
        (rrset("c.pkg.dev.", "A", &["10.0.0.1"]), (400, "cnameResourceRecordSetConflict")),
        (rrset("a.pkg.dev.", "SOA", &["a. b. 1 2 3 4 5"]), (400, "invalidZoneApex")),
        (rrset("*.pkg.dev.", "NS", &["ns.pkg.dev."]), (400, "wildcardNotAllowed")),
        (rrset("a.pkg.dev.", "GROUP", &["x"]), (400, "invalid")),
    ] {
        let (status, reason) = reason(&google, "POST", &rrsets, &body);
        assert_eq!((status, reason.as_str()), expected, "{body}");
    }
    google.front().inject(Fault::overtaken().on("dns.resourceRecordSets.patch"));
    let sent = rrset("pkg.dev.", "A", &["199.36.153.9"]);
    let path = format!("{rrsets}/pkg.dev./A");
    assert_eq!(reason(&google, "PATCH", &path, &sent), (412, "conditionNotMet".to_owned()));
    ok(&google, "PATCH", &path, sent);
    google.front().assert_valid();
}
