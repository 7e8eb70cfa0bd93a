//! What the double shows of other networks, projects and routers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig, InternalRange};

use crate::client::{done, get, network, refused, subnet};

const NETWORK: &str = "projects/acme-ml/global/networks/hub";

fn peer(google: &Google, one: &str, other: &str, custom: bool) {
    let peering = json!({
        "name": "p", "network": format!("projects/acme-ml/global/networks/{other}"), "exchangeSubnetRoutes": true,
        "exportCustomRoutes": custom, "importCustomRoutes": custom,
    });
    done(google, "POST", &format!("global/networks/{one}/addPeering"), json!({"networkPeering": peering}));
}

fn route(google: &Google, network: &str, range: &str) {
    let route = json!({
        "name": "r", "network": format!("projects/acme-ml/global/networks/{network}"), "destRange": range,
        "nextHopIp": "10.1.0.2", "priority": 100,
    });
    done(google, "POST", "global/routes", route);
}

fn ranges(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().into_iter().flatten();
    items
        .map(|item| format!("{} {} {}", item["destRange"], item["type"], item["imported"]).replace('"', ""))
        .collect()
}

#[test]
fn routes_are_exchanged_over_an_active_peering() {
    let google = Google::start(GoogleConfig::default()).unwrap();
    ["hub", "spoke"].iter().for_each(|name| network(&google, name));
    subnet(&google, "spoke", "data", "10.1.0.0/20");
    let incoming =
        || ranges(&get(&google, "global/networks/hub/listPeeringRoutes?direction=INCOMING&peeringName=p"));
    peer(&google, "hub", "spoke", true);
    assert_eq!(incoming(), [""; 0], "the other side is not there yet");
    peer(&google, "spoke", "hub", true);
    route(&google, "spoke", "10.9.0.0/20");
    assert_eq!(
        incoming(),
        ["10.1.0.0/20 SUBNET_PEERING_ROUTE true", "10.9.0.0/20 STATIC_PEERING_ROUTE true"]
    );
    // Learned routes are those of the region that is named.
    let router =
        json!({"name": "vpn", "network": "projects/acme-ml/global/networks/spoke", "bgp": {"asn": 64512}});
    done(&google, "POST", "regions/us-east1/routers", router);
    google.configure(|config| {
        let router = "projects/acme-ml/regions/us-east1/routers/vpn".to_owned();
        config.learned_routes = BTreeMap::from([(router, vec!["10.6.0.0/20".to_owned()])]);
    });
    let learned = |region: &str| {
        let path = "global/networks/hub/listPeeringRoutes?direction=INCOMING&peeringName=p&region=";
        let routes = ranges(&get(&google, &format!("{path}{region}")));
        routes.contains(&"10.6.0.0/20 DYNAMIC_PEERING_ROUTE true".to_owned())
    };
    assert_eq!((incoming().len(), learned("us-central1"), learned("us-east1")), (2, false, true));
    let outgoing = get(&google, "global/networks/spoke/listPeeringRoutes?direction=OUTGOING");
    assert_eq!(ranges(&outgoing).len(), 2);
    assert!(
        refused(&google, "GET", "global/networks/none/listPeeringRoutes", Value::Null).starts_with("404")
    );
    google.front().assert_valid();
}

#[test]
fn what_is_configured_is_shown() {
    let google = Google::start(GoogleConfig {
        projects: ["acme-ml", "acme-host"].map(str::to_owned).to_vec(),
        shared_vpc_hosts: BTreeMap::from([("acme-ml".to_owned(), "acme-host".to_owned())]),
        learned_routes: BTreeMap::from([(
            "projects/acme-ml/regions/us-central1/routers/vpn".to_owned(),
            vec!["10.6.0.0/20".to_owned()],
        )]),
        internal_ranges: BTreeMap::from([(
            "projects/acme-ml/locations/global/internalRanges/later".to_owned(),
            InternalRange { network: NETWORK.to_owned(), net: "10.5.0.0/20".to_owned() },
        )]),
        ..GoogleConfig::default()
    })
    .unwrap();
    network(&google, "hub");
    assert_eq!(get(&google, "getXpnHost")["name"], "acme-host");
    assert_eq!(get(&google, "/compute/v1/projects/acme-host/getXpnHost")["name"], Value::Null);
    subnet(&google, "hub", "data", "10.1.0.0/20");
    let usable = get(&google, "aggregated/subnetworks/listUsable");
    assert_eq!(usable["items"][0]["ipCidrRange"], "10.1.0.0/20");
    let other = "aggregated/subnetworks/listUsable?serviceProject=acme-host";
    assert!(refused(&google, "GET", other, Value::Null).starts_with("400"));
    let router = json!({"name": "vpn", "network": NETWORK, "bgp": {"asn": 64512}});
    done(&google, "POST", "regions/us-central1/routers", router);
    let status = get(&google, "regions/us-central1/routers/vpn/getRouterStatus");
    assert_eq!(status["result"]["bestRoutesForRouter"][0]["destRange"], "10.6.0.0/20");
    let internal = get(&google, "/v1/projects/acme-ml/locations/global/internalRanges");
    assert_eq!(internal["internalRanges"][0]["ipCidrRange"], "10.5.0.0/20");
    let inside = json!({"name": "inside", "network": NETWORK, "ipCidrRange": "10.5.0.0/24"});
    let refused = refused(&google, "POST", "regions/us-central1/subnetworks", inside);
    assert!(refused.contains("conflicts with"), "{refused}");
    google.front().assert_valid();
}
