//! Objects as the API of Google Cloud shows them, for tests and random topologies.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const LINK: &str = "https://www.googleapis.com/compute/v1/";

/// Objects by their names from `projects/` on.
#[derive(Clone, Debug, Default)]
pub struct Made {
    objects: BTreeMap<String, Value>,
}

impl Made {
    /// Nothing yet.
    pub fn new() -> Made {
        Made::default()
    }

    /// All objects.
    pub fn objects(&self) -> &BTreeMap<String, Value> {
        &self.objects
    }

    /// A network without routes and rules.
    pub fn network(&mut self, name: &str) -> &mut Made {
        self.add(&global("networks", name), json!({"name": name, "mtu": 1460}))
    }

    /// A subnetwork, `NETWORK/NAME`, in a region.
    pub fn subnet(&mut self, name: &str, region: &str, range: &str) -> &mut Made {
        let (network, name) = split(name);
        let body = json!({
            "name": name,
            "network": link(&global("networks", network)),
            "region": format!("{LINK}projects/p/regions/{region}"),
            "ipCidrRange": range,
            "privateIpGoogleAccess": false,
        });
        self.add(&subnet(region, name), body)
    }

    /// An instance in a subnetwork, `REGION/SUBNETWORK/NAME`, that runs.
    pub fn instance(&mut self, name: &str, address: &str) -> &mut Made {
        let (place, name) = name.rsplit_once('/').unwrap_or_default();
        let (region, below) = split(place);
        let body = json!({
            "name": name,
            "networkInterfaces": [{"subnetwork": link(&subnet(region, below)), "networkIP": address}],
            "tags": {},
            "canIpForward": false,
            "status": "RUNNING",
        });
        self.add(&instance(region, name), body)
    }

    /// One side of a peering: of the first network, with the second.
    pub fn peering(&mut self, network: &str, peer: &str, flags: &Value) -> &mut Made {
        let mut side = json!({"name": peer, "network": link(&global("networks", peer))});
        for (name, value) in flags.as_object().into_iter().flatten() {
            side[name] = value.clone();
        }
        let body = self.objects.entry(global("networks", network)).or_default();
        match body["peerings"].as_array_mut() {
            Some(sides) => sides.push(side),
            None => body["peerings"] = json!([side]),
        }
        self
    }

    /// A static route, `NETWORK/NAME`, with its next hop and whatever else it has.
    pub fn route(&mut self, name: &str, range: &str, more: &Value) -> &mut Made {
        let (network, name) = split(name);
        let network = link(&global("networks", network));
        let body = json!({"name": name, "network": network, "destRange": range, "routeType": "STATIC"});
        self.add(&global("routes", name), merged(body, more))
    }

    /// A firewall rule, `NETWORK/NAME`.
    pub fn firewall(&mut self, name: &str, more: &Value) -> &mut Made {
        let (network, name) = split(name);
        let body =
            json!({"name": name, "network": link(&global("networks", network)), "direction": "INGRESS"});
        self.add(&global("firewalls", name), merged(body, more))
    }

    /// A router with a Cloud NAT gateway for all ranges of a region's subnetworks: `NETWORK/NAME`.
    pub fn nat(&mut self, name: &str, region: &str) -> &mut Made {
        let (network, name) = split(name);
        let body = json!({
            "name": name,
            "network": link(&global("networks", network)),
            "region": format!("{LINK}projects/p/regions/{region}"),
            "nats": [{"name": "nat", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}],
        });
        self.add(&format!("projects/p/regions/{region}/routers/{name}"), body)
    }

    /// An endpoint for Google APIs: `NETWORK/NAME`.
    pub fn endpoint(&mut self, name: &str, address: &str, bundle: &str) -> &mut Made {
        let (network, name) = split(name);
        let network = link(&global("networks", network));
        let body = json!({"name": name, "network": network, "IPAddress": address, "target": bundle});
        self.add(&global("forwardingRules", name), body)
    }

    /// A private zone that some networks see.
    pub fn zone(&mut self, name: &str, domain: &str, networks: &[&str], more: &Value) -> &mut Made {
        let networks: Vec<Value> = networks
            .iter()
            .map(|network| json!({"networkUrl": link(&global("networks", network))}))
            .collect();
        let body = json!({
            "name": name,
            "dnsName": domain,
            "visibility": "private",
            "privateVisibilityConfig": {"networks": networks},
        });
        self.add(&format!("projects/p/managedZones/{name}"), merged(body, more))
    }

    /// A record set of a zone.
    pub fn records(&mut self, zone: &str, name: &str, kind: &str, data: &[&str]) -> &mut Made {
        let body = json!({"name": name, "type": kind, "ttl": 300, "rrdatas": data});
        self.add(&format!("projects/p/managedZones/{zone}/rrsets/{name}/{kind}"), body)
    }

    /// Changes an object.
    pub fn set(&mut self, path: &str, more: &Value) -> &mut Made {
        let body = self.objects.remove(path).unwrap_or_default();
        self.add(path, merged(body, more))
    }

    fn add(&mut self, path: &str, body: Value) -> &mut Made {
        self.objects.insert(path.to_owned(), body);
        self
    }
}

/// The name of a global object.
pub fn global(collection: &str, name: &str) -> String {
    format!("projects/p/global/{collection}/{name}")
}

/// The name of a subnetwork.
pub fn subnet(region: &str, name: &str) -> String {
    format!("projects/p/regions/{region}/subnetworks/{name}")
}

/// The name of an instance in the first zone of a region.
pub fn instance(region: &str, name: &str) -> String {
    format!("projects/p/zones/{region}-a/instances/{name}")
}

/// The link to an object.
pub fn link(path: &str) -> String {
    format!("{LINK}{path}")
}

/// The next hop that leads out of a network.
pub fn internet() -> Value {
    json!({"nextHopGateway": link("projects/p/global/gateways/default-internet-gateway")})
}

fn merged(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or(("", name))
}
