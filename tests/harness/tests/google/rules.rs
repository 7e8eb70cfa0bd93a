//! The rules of the collections, by raw calls.

use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig};

use crate::client::{done, get, network, refused, subnet};

fn start() -> Google {
    Google::start(GoogleConfig::default()).unwrap()
}

#[test]
fn a_network_comes_with_a_route_and_leaves_with_it() {
    let google = start();
    network(&google, "hub");
    let hub = get(&google, "global/networks/hub");
    assert_eq!(hub["routingConfig"]["routingMode"], "REGIONAL");
    assert_eq!(google.left().len(), 2, "{:?}", google.left());
    subnet(&google, "hub", "data", "10.0.0.0/24");
    let data = get(&google, "regions/us-central1/subnetworks/data");
    assert_eq!(data["gatewayAddress"], "10.0.0.1");
    assert_eq!(
        refused(&google, "DELETE", "global/networks/hub", Value::Null),
        "400 resourceInUseByAnotherResource: The network resource 'projects/acme-ml/global/networks/hub' is already being \
         used by 'projects/acme-ml/regions/us-central1/subnetworks/data'"
    );
    done(&google, "DELETE", "regions/us-central1/subnetworks/data", Value::Null);
    done(&google, "DELETE", "global/networks/hub", Value::Null);
    assert_eq!(google.left(), Vec::<String>::new());
    google.front().assert_valid();
}

#[test]
fn patches_need_the_current_fingerprint() {
    let google = start();
    network(&google, "hub");
    subnet(&google, "hub", "data", "10.0.0.0/24");
    let path = "regions/us-central1/subnetworks/data";
    let fingerprint = get(&google, path)["fingerprint"].clone();
    let on = json!({"logConfig": {"enable": true}, "fingerprint": fingerprint});
    done(&google, "PATCH", path, on.clone());
    let refused = refused(&google, "PATCH", path, on);
    assert!(refused.starts_with("412 conditionNotMet"), "{refused}");
    let data = get(&google, path);
    assert_eq!(data["logConfig"]["flowSampling"], 0.5);
    google.front().assert_valid();
}
