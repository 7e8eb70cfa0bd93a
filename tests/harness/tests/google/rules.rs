//! The rules of the collections, by raw calls.

use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig};

use crate::client::{call, done, end, get, network, ok, refused, subnet};

const REGION: &str = "regions/us-central1";

fn start() -> Google {
    Google::start(GoogleConfig::default()).unwrap()
}

fn link(name: &str) -> String {
    format!("projects/acme-ml/global/networks/{name}")
}

/// A peering from one network to another.
fn peer(google: &Google, one: &str, other: &str) {
    let peering =
        json!({"name": format!("to-{other}"), "network": link(other), "exchangeSubnetRoutes": true});
    done(google, "POST", &format!("global/networks/{one}/addPeering"), json!({"networkPeering": peering}));
}

fn states(google: &Google, name: &str) -> Vec<String> {
    let network = get(google, &format!("global/networks/{name}"));
    let peerings = network["peerings"].as_array().cloned().unwrap_or_default();
    peerings
        .iter()
        .map(|peering| format!("{} {}", peering["name"], peering["state"]).replace('"', ""))
        .collect()
}

#[test]
fn a_network_comes_with_a_route_and_leaves_with_it() {
    let google = start();
    network(&google, "hub");
    let hub = get(&google, "global/networks/hub");
    assert_eq!(hub["routingConfig"]["routingMode"], "REGIONAL");
    assert_eq!(google.left().len(), 2, "{:?}", google.left());
    subnet(&google, "hub", "data", "10.0.0.0/24");
    assert_eq!(get(&google, "regions/us-central1/subnetworks/data")["gatewayAddress"], "10.0.0.1");
    let routes = get(&google, "global/routes");
    let ranges: Vec<&str> =
        routes["items"].as_array().unwrap().iter().filter_map(|route| route["destRange"].as_str()).collect();
    assert_eq!(ranges, ["0.0.0.0/0", "10.0.0.0/24"]);
    // The number of an object is a name as well.
    let id = hub["id"].as_str().unwrap();
    assert_eq!(get(&google, &format!("global/networks/{id}"))["name"], "hub");
    done(&google, "DELETE", "regions/us-central1/subnetworks/data", Value::Null);
    let operation = done(&google, "DELETE", "global/networks/hub", Value::Null);
    assert_eq!((&operation["targetId"], &operation["operationType"]), (&hub["id"], &json!("delete")));
    assert_eq!(google.left(), Vec::<String>::new());
    google.front().assert_valid();
}

#[test]
fn an_auto_mode_network_has_a_subnet_in_each_region() {
    let google = start();
    done(&google, "POST", "global/networks", json!({"name": "auto", "autoCreateSubnetworks": true}));
    assert_eq!(get(&google, "regions/us-central1/subnetworks/auto")["ipCidrRange"], "10.128.0.0/20");
    assert_eq!(get(&google, "global/networks/auto")["subnetworks"].as_array().unwrap().len(), 6);
    done(&google, "DELETE", "global/networks/auto", Value::Null);
    assert_eq!(google.left(), Vec::<String>::new());
    google.front().assert_valid();
}

#[test]
fn patches_need_the_current_fingerprint() {
    let google = start();
    network(&google, "hub");
    subnet(&google, "hub", "data", "10.0.0.0/24");
    let path = "regions/us-central1/subnetworks/data";
    let on = json!({"logConfig": {"enable": true}, "fingerprint": get(&google, path)["fingerprint"]});
    done(&google, "PATCH", path, on.clone());
    let stale = refused(&google, "PATCH", path, on);
    assert!(stale.starts_with("412 conditionNotMet"), "{stale}");
    assert_eq!(get(&google, path)["logConfig"]["flowSampling"], 0.5);
    done(
        &google,
        "POST",
        &format!("{path}/setPrivateIpGoogleAccess"),
        json!({"privateIpGoogleAccess": true}),
    );
    done(&google, "POST", &format!("{path}/expandIpCidrRange"), json!({"ipCidrRange": "10.0.0.0/20"}));
    let data = get(&google, path);
    assert_eq!((&data["privateIpGoogleAccess"], &data["ipCidrRange"]), (&json!(true), &json!("10.0.0.0/20")));
    let ranges = json!([{"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"}]);
    let add = json!({"secondaryIpRanges": ranges, "fingerprint": data["fingerprint"]});
    done(&google, "PATCH", path, add);
    assert_eq!(get(&google, path)["secondaryIpRanges"], ranges);
    google.front().assert_valid();
}

#[test]
fn what_google_refuses_is_refused() {
    let google = start();
    for name in ["hub", "data"] {
        network(&google, name);
    }
    subnet(&google, "hub", "one", "10.0.0.0/24");
    subnet(&google, "data", "two", "10.1.0.0/24");
    let subnets = format!("{REGION}/subnetworks");
    let range = |range: &str| json!({"name": "x", "network": link("hub"), "ipCidrRange": range});
    let peering = |name: &str, other: &str| json!({"networkPeering": {"name": name, "network": link(other), "exchangeSubnetRoutes": true}});
    let rule = |rest: Value| {
        let mut body = json!({"name": "x", "network": link("hub"), "allowed": [{"IPProtocol": "tcp"}]});
        rest.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    let router = |nat: Value| json!({"name": "x", "network": link("hub"), "nats": [nat]});
    let route = |rest: Value| {
        let mut body =
            json!({"name": "x", "network": link("hub"), "destRange": "10.9.0.0/16", "priority": 1000});
        rest.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    let psc = |rest: Value| {
        let mut body = json!({"name": "psc", "addressType": "INTERNAL", "purpose": "PRIVATE_SERVICE_CONNECT",
            "network": link("hub"), "address": "10.9.0.5"});
        rest.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    done(&google, "POST", "global/addresses", psc(json!({})));
    let forward = |name: &str, rest: Value| {
        let mut body = json!({"name": name, "network": link("hub"), "target": "all-apis",
            "IPAddress": "projects/acme-ml/global/addresses/psc"});
        rest.as_object().unwrap().iter().for_each(|(field, value)| body[field] = value.clone());
        body
    };
    let nat = json!({"name": "n", "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"});
    done(
        &google,
        "POST",
        &format!("{REGION}/routers"),
        json!({"name": "r", "network": link("hub"), "nats": [nat]}),
    );
    done(&google, "POST", "global/forwardingRules", forward("psc", json!({})));

    let mut table = Vec::new();
    let mut no = |method: &str, path: &str, body: Value| {
        table.push(format!("{method} {path} {body}\n    {}", refused(&google, method, path, body.clone())));
    };
    no("POST", "global/networks", json!({"name": "hub", "autoCreateSubnetworks": false}));
    no("POST", "global/networks", json!({"name": "legacy"}));
    no("POST", "global/networks", json!({"name": "x", "autoCreateSubnetworks": false, "mtu": 1200}));
    no("PATCH", "global/networks/hub", json!({"mtu": 1500}));
    no("DELETE", "global/networks/hub", Value::Null);
    no("GET", "global/networks/none", Value::Null);
    no("POST", "regions/mars-north1/subnetworks", range("10.5.0.0/24"));
    no("GET", "/compute/v1/projects/other/global/networks", Value::Null);
    for wrong in [
        "10.0.0.128/25",
        "10.9.0.0/24",
        "10.5.0.1/24",
        "10.5.0.0/30",
        "32.0.0.0/3",
        "169.254.8.0/24",
        "224.0.0.0/8",
        "199.36.153.8/30",
        "199.36.153.0/24",
        "fd00::/64",
        "10.5.0.0",
    ] {
        no("POST", &subnets, range(wrong));
    }
    no("POST", &subnets, json!({"name": "x", "network": link("none"), "ipCidrRange": "10.5.0.0/24"}));
    no("POST", &subnets, json!({"name": "x", "network": "hub", "ipCidrRange": "10.5.0.0/24"}));
    let pods = |range: &str| {
        json!({"name": "x", "network": link("hub"), "ipCidrRange": "10.5.0.0/24",
        "secondaryIpRanges": [{"rangeName": "pods", "ipCidrRange": range}]})
    };
    no("POST", &subnets, pods("10.5.0.128/25"));
    no("POST", &subnets, pods("10.0.0.0/25"));
    no("POST", &format!("{subnets}/one/expandIpCidrRange"), json!({"ipCidrRange": "10.0.0.0/25"}));
    no("POST", &format!("{subnets}/one/expandIpCidrRange"), json!({"ipCidrRange": "10.0.0.0/8"}));
    no("PATCH", &format!("{subnets}/one"), json!({"logConfig": {"enable": true}}));
    no("POST", "global/networks/hub/addPeering", peering("self", "hub"));
    no("POST", "global/networks/hub/addPeering", peering("none", "none"));
    no(
        "POST",
        "global/networks/hub/addPeering",
        json!({"networkPeering": {"name": "x", "network": link("data")}}),
    );
    no("POST", "global/networks/hub/removePeering", json!({"name": "none"}));
    no("PATCH", "global/networks/hub/updatePeering", json!({"networkPeering": {"name": "none"}}));
    no("POST", "global/firewalls", rule(json!({"allowed": []})));
    no("POST", "global/firewalls", rule(json!({"denied": [{"IPProtocol": "all"}]})));
    no("POST", "global/firewalls", rule(json!({"priority": 70000})));
    no("POST", "global/firewalls", rule(json!({"sourceTags": ["a"], "targetServiceAccounts": ["b@c"]})));
    no("POST", "global/firewalls", rule(json!({"direction": "EGRESS", "sourceTags": ["a"]})));
    no("POST", "global/firewalls", rule(json!({"sourceRanges": ["10.0.0.0/33"]})));
    no("POST", "global/firewalls", rule(json!({"allowed": [{"IPProtocol": "tcp", "ports": ["90-80"]}]})));
    no("POST", "global/firewalls", rule(json!({"allowed": [{"IPProtocol": "icmp", "ports": ["1"]}]})));
    no("POST", "global/firewalls", rule(json!({"allowed": [{"IPProtocol": "tpc"}]})));
    no("POST", "global/routes", route(json!({})));
    no(
        "POST",
        "global/routes",
        route(json!({"nextHopIp": "10.0.0.9", "nextHopGateway": "global/gateways/default-internet-gateway"})),
    );
    no("POST", "global/routes", route(json!({"nextHopIp": "10.0.0.9", "destRange": "10.0.0.0/25"})));
    no("POST", "global/routes", route(json!({"nextHopInstance": "zones/us-central1-a/instances/none"})));
    let routers = format!("{REGION}/routers");
    no(
        "POST",
        &routers,
        router(json!({"name": "n", "natIpAllocateOption": "MANUAL_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"})),
    );
    no(
        "POST",
        &routers,
        router(json!({"name": "n", "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"})),
    );
    no(
        "POST",
        &routers,
        router(json!({"name": "n", "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS"})),
    );
    no(
        "POST",
        &routers,
        router(json!({"name": "n", "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{"name": "projects/acme-ml/regions/us-central1/subnetworks/two", "sourceIpRangesToNat": ["ALL_IP_RANGES"]}]})),
    );
    no("PATCH", &format!("{routers}/r"), json!({"bgp": {"asn": 1}}));
    no("POST", "global/addresses", psc(json!({"name": "y", "address": "10.0.0.7"})));
    no("POST", "global/addresses", psc(json!({"name": "y", "prefixLength": 24})));
    no("POST", "global/addresses", psc(json!({"name": "y", "labels": {"a": "b"}})));
    no("POST", "global/addresses/psc/setLabels", json!({"labels": {"a": "b"}, "labelFingerprint": "AAAA"}));
    no("DELETE", "global/addresses/psc", Value::Null);
    no("POST", "global/forwardingRules", forward("with-hyphen", json!({})));
    no("POST", "global/forwardingRules", forward("y", json!({"target": "some-apis"})));
    no("POST", "global/forwardingRules", forward("y", json!({"network": link("data")})));
    no("POST", "global/forwardingRules", forward("y", json!({"IPAddress": "10.0.0.9"})));
    no("POST", "global/forwardingRules", forward("y", json!({"IPProtocol": "TCP"})));
    no("POST", "global/forwardingRules", forward("y", json!({})));
    let repositories = "/v1/projects/acme-ml/locations/us-central1/repositories";
    no("POST", &format!("{repositories}?repositoryId=Images"), json!({"format": "DOCKER"}));
    no("POST", &format!("{repositories}?repositoryId=images"), json!({}));
    no(
        "POST",
        &format!("{repositories}?repositoryId=images"),
        json!({"format": "DOCKER", "labels": {"a:b": "c"}}),
    );
    no("GET", &format!("{repositories}/none"), Value::Null);
    no(
        "POST",
        "/v1/projects/acme-ml/locations/mars/repositories?repositoryId=x",
        json!({"format": "DOCKER"}),
    );
    no("GET", "global/networks?filter=name", Value::Null);
    no("GET", "global/networks?maxResults=501", Value::Null);
    no("POST", "global/networks?requestId=1", json!({"name": "x", "autoCreateSubnetworks": false}));
    insta::assert_snapshot!(table.join("\n"));
    // The rules refuse what the document allows.
    google.front().assert_valid();
}

#[test]
fn a_peering_is_active_while_both_sides_are_there() {
    let google = start();
    for (name, range) in [("hub", "10.0.0.0/16"), ("data", "10.1.0.0/16"), ("ml", "10.2.0.0/16")] {
        network(&google, name);
        subnet(&google, name, name, range);
    }
    peer(&google, "hub", "data");
    assert_eq!(
        (states(&google, "hub"), states(&google, "data")),
        (vec!["to-data INACTIVE".to_owned()], vec![])
    );
    peer(&google, "data", "hub");
    assert_eq!(states(&google, "hub"), ["to-data ACTIVE"]);
    peer(&google, "hub", "ml");
    peer(&google, "ml", "hub");
    // A peering leads to the next network and not beyond: data has a route to the hub and none to ml.
    let routes = |name: &str| -> Vec<String> {
        let filter = format!("global/routes?filter=network:networks/{name}+nextHopPeering:*");
        let routes = get(&google, &filter)["items"].as_array().cloned().unwrap_or_default();
        routes.iter().map(|route| route["destRange"].as_str().unwrap().to_owned()).collect()
    };
    let (mut hub, data) = (routes("hub"), routes("data"));
    hub.sort();
    assert_eq!(
        (hub, data),
        (vec!["10.1.0.0/16".into(), "10.2.0.0/16".into()], vec!["10.0.0.0/16".to_owned()])
    );
    let update = json!({"networkPeering": {"name": "to-data", "exportCustomRoutes": true}});
    done(&google, "PATCH", "global/networks/hub/updatePeering", update);
    assert_eq!(get(&google, "global/networks/hub")["peerings"][0]["exportCustomRoutes"], true);

    // A subnet that overlaps the peer's, and a peering that would bring two overlapping networks together.
    let overlap = json!({"name": "x", "network": link("data"), "ipCidrRange": "10.0.8.0/24"});
    let said = refused(&google, "POST", "regions/us-central1/subnetworks", overlap);
    assert!(said.contains("conflicts with existing subnetwork 'hub' of the peer network"), "{said}");
    network(&google, "other");
    subnet(&google, "other", "other", "10.2.128.0/20");
    for (other, clash) in [("ml", "networks/ml"), ("hub", "a network that the hub is peered with")] {
        let peering =
            json!({"networkPeering": {"name": "x", "network": link(other), "exchangeSubnetRoutes": true}});
        let said = refused(&google, "POST", "global/networks/other/addPeering", peering);
        assert!(said.contains("overlaps with an IP range"), "{clash}: {said}");
    }
    let held = refused(&google, "DELETE", "global/networks/ml", Value::Null);
    assert!(held.contains("is already being used by"), "{held}");
    done(&google, "POST", "global/networks/data/removePeering", json!({"name": "to-hub"}));
    assert_eq!(states(&google, "hub"), ["to-data INACTIVE", "to-ml ACTIVE"]);
    google.front().assert_valid();
}

#[test]
fn a_router_s_nats_are_replaced_as_a_whole() {
    let google = start();
    network(&google, "hub");
    subnet(&google, "hub", "one", "10.0.0.0/24");
    done(&google, "POST", &format!("{REGION}/addresses"), json!({"name": "out"}));
    done(&google, "POST", &format!("{REGION}/routers"), json!({"name": "r", "network": link("hub")}));
    let nat = |name: &str, rest: Value| {
        let mut nat = json!({"name": name, "natIpAllocateOption": "MANUAL_ONLY",
            "natIps": ["projects/acme-ml/regions/us-central1/addresses/out"],
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": "regions/us-central1/subnetworks/one", "sourceIpRangesToNat": ["PRIMARY_IP_RANGE"]}]});
        rest.as_object().unwrap().iter().for_each(|(field, value)| nat[field] = value.clone());
        nat
    };
    let path = format!("{REGION}/routers/r");
    done(&google, "PATCH", &path, json!({"nats": [nat("a", json!({}))]}));
    done(&google, "PATCH", &path, json!({"description": "still"}));
    let router = get(&google, &path);
    assert_eq!((router["nats"].as_array().unwrap().len(), &router["description"]), (1, &json!("still")));
    assert_eq!(get(&google, &format!("{REGION}/addresses/out"))["status"], "IN_USE");
    let held = refused(&google, "DELETE", &format!("{REGION}/addresses/out"), Value::Null);
    assert!(held.contains("routers/r"), "{held}");
    let held = refused(&google, "DELETE", &format!("{REGION}/subnetworks/one"), Value::Null);
    assert!(held.contains("routers/r"), "{held}");
    // A patch without a NAT takes it away: lists are not merged.
    done(&google, "PATCH", &path, json!({"nats": [nat("b", json!({"minPortsPerVm": 64}))]}));
    assert_eq!(get(&google, &path)["nats"][0]["name"], "b");
    // An update replaces everything, also what it does not mention.
    done(&google, "PUT", &path, json!({"name": "r", "network": link("hub")}));
    let router = get(&google, &path);
    assert!(router["nats"].is_null() && router["description"].is_null(), "{router}");
    done(&google, "DELETE", &format!("{REGION}/addresses/out"), Value::Null);
    google.front().assert_valid();
}

#[test]
fn google_apis_are_reached_through_a_private_address() {
    let google = start();
    network(&google, "hub");
    let address = json!({"name": "psc", "addressType": "INTERNAL", "purpose": "PRIVATE_SERVICE_CONNECT",
        "network": link("hub"), "address": "10.9.0.5"});
    done(&google, "POST", "global/addresses", address);
    let rule = json!({"name": "psc", "network": link("hub"), "target": "vpc-sc", "IPAddress": "global/addresses/psc"});
    done(&google, "POST", "global/forwardingRules", rule);
    let rule = get(&google, "global/forwardingRules/psc");
    assert_eq!((&rule["IPAddress"], &rule["pscConnectionStatus"]), (&json!("10.9.0.5"), &json!("ACCEPTED")));
    let labels = json!({"labels": {"fabric": "llm"}, "labelFingerprint": rule["labelFingerprint"]});
    done(&google, "POST", "global/forwardingRules/psc/setLabels", labels);
    assert_eq!(get(&google, "global/forwardingRules?filter=labels.fabric=llm")["items"][0]["name"], "psc");
    let range = json!({"name": "services", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 16,
        "network": link("hub")});
    done(&google, "POST", "global/addresses", range);
    assert_eq!(get(&google, "global/addresses/services")["address"], "10.0.0.0");
    let clash = json!({"name": "x", "network": link("hub"), "ipCidrRange": "10.0.8.0/24"});
    assert!(refused(&google, "POST", "regions/us-central1/subnetworks", clash).contains("conflicts"));
    google.front().assert_valid();
}

#[test]
fn an_instance_has_an_address_of_its_subnet() {
    let google = start();
    network(&google, "hub");
    subnet(&google, "hub", "one", "10.0.0.0/29");
    let instance = |name: &str| {
        json!({"name": name, "machineType": "zones/us-central1-a/machineTypes/e2-small",
        "disks": [{"boot": true, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
        "networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/one"}]})
    };
    for name in ["a", "b", "c", "d"] {
        done(&google, "POST", "zones/us-central1-a/instances", instance(name));
    }
    let full = refused(&google, "POST", "zones/us-central1-a/instances", instance("e"));
    assert!(full.contains("exhausted"), "{full}");
    let shown = get(&google, "zones/us-central1-a/instances/a");
    assert_eq!(
        (&shown["networkInterfaces"][0]["networkIP"], &shown["status"]),
        (&json!("10.0.0.2"), &json!("RUNNING"))
    );
    let held = refused(&google, "DELETE", "regions/us-central1/subnetworks/one", Value::Null);
    assert!(held.contains("instances/a"), "{held}");
    done(&google, "DELETE", "zones/us-central1-a/instances/a", Value::Null);
    google.front().assert_valid();
}

#[test]
fn a_repository_has_labels_policies_and_bindings() {
    let google = start();
    let all = "/v1/projects/acme-ml/locations/us-central1/repositories";
    let body = json!({"format": 1, "labels": {"fabric": "llm"}, "cleanupPolicies": {
        "old": {"id": "old", "action": "DELETE", "condition": {"tagState": "UNTAGGED", "olderThan": "86400s"}}}});
    let made = ok(&google, "POST", &format!("{all}?repositoryId=images"), body);
    assert_eq!(made["response"]["format"], "DOCKER");
    let path = format!("{all}/images");
    ok(&google, "PATCH", &format!("{path}?updateMask=description,labels"), json!({"description": "images"}));
    let shown = get(&google, &path);
    assert_eq!((&shown["description"], &shown["labels"]), (&json!("images"), &Value::Null));
    assert!(shown["cleanupPolicies"]["old"].is_object());
    let policy = get(&google, &format!("{path}:getIamPolicy"));
    let bindings = json!([{"role": "roles/artifactregistry.reader", "members": ["serviceAccount:a@b.iam.gserviceaccount.com"]}]);
    let set = json!({"policy": {"bindings": bindings, "etag": policy["etag"]}});
    ok(&google, "POST", &format!("{path}:setIamPolicy"), set.clone());
    assert_eq!(get(&google, &format!("{path}:getIamPolicy"))["bindings"], bindings);
    let stale = call(&google, "POST", &format!("{path}:setIamPolicy"), &set).unwrap();
    assert_eq!((stale.0, &stale.1["error"]["status"]), (409, &json!("ABORTED")));
    ok(&google, "DELETE", &path, Value::Null);
    assert_eq!(google.left(), Vec::<String>::new());
    google.front().assert_valid();
}

#[test]
fn quotas_count() {
    let google = start();
    google.configure(|config| config.quotas = [("NETWORKS".to_owned(), 1)].into());
    network(&google, "hub");
    let body = json!({"name": "x", "autoCreateSubnetworks": false});
    let said = refused(&google, "POST", "global/networks", body.clone());
    assert!(
        said.starts_with("403 quotaExceeded: Quota 'NETWORKS' exceeded.  Limit: 1.0 globally."),
        "{said}"
    );
    // Google may also say it only in the operation.
    google.configure(|config| config.refuse_in_operation = true);
    let operation = end(&google, ok(&google, "POST", "global/networks", body));
    assert_eq!(operation["error"]["errors"][0]["code"], "QUOTA_EXCEEDED");
    assert_eq!(operation["httpErrorStatusCode"], 403);
    let quotas = ok(&google, "GET", "/compute/v1/projects/acme-ml", Value::Null)["quotas"].clone();
    let networks =
        quotas.as_array().unwrap().iter().find(|quota| quota["metric"] == "NETWORKS").unwrap().clone();
    assert_eq!((networks["usage"].as_f64(), networks["limit"].as_f64()), (Some(1.0), Some(1.0)));
    google.front().assert_valid();
}
