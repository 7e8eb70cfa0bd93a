//! Networks: auto and custom mode, routing, MTU, and what comes with them.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::subnetworks::Subnetworks;
use super::{Change, Rules, default, flag, list, peerings, text};

/// "Auto mode IPv4 ranges", VPC documentation: the range of each region.
const AUTO: [(&str, &str); 8] = [
    ("us-central1", "10.128.0.0/20"),
    ("europe-west1", "10.132.0.0/20"),
    ("us-west1", "10.138.0.0/20"),
    ("asia-east1", "10.140.0.0/20"),
    ("us-east1", "10.142.0.0/20"),
    ("asia-southeast1", "10.148.0.0/20"),
    ("us-east4", "10.150.0.0/20"),
    ("europe-west4", "10.164.0.0/20"),
];

/// Whether the double knows a region.
pub(super) fn is_region(name: &str) -> bool {
    AUTO.iter().any(|(region, _)| *region == name)
}

pub(crate) struct Networks;

impl Rules for Networks {
    fn kind(&self) -> &'static str {
        "compute#network"
    }

    fn word(&self) -> &'static str {
        "network"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("NETWORKS", "globally"))
    }

    fn insert(&self, _world: &mut World, _key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if !body.contains_key("autoCreateSubnetworks") {
            return Err(Refusal::bad(
                "invalid",
                "Legacy networks are deprecated: autoCreateSubnetworks must be set.",
            ));
        }
        mtu(body)?;
        default(body, "routingConfig", json!({}));
        if let Some(routing) = body.get_mut("routingConfig").and_then(Value::as_object_mut) {
            default(routing, "routingMode", "REGIONAL");
            default(routing, "bgpBestPathSelectionMode", "LEGACY");
        }
        default(body, "networkFirewallPolicyEnforcementOrder", "AFTER_CLASSIC_FIREWALL");
        Ok(())
    }

    fn change(&self, _world: &mut World, _key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        // "Only routingConfig can be modified", says the method.
        let fields: Vec<&str> =
            change.new.keys().map(String::as_str).filter(|field| *field != "routingConfig").collect();
        change.keep(&fields)
    }

    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        if let Some(peering) = world.find(key).and_then(|network| list(&network.body, "peerings").first()) {
            let user = format!("{key}/peerings/{}", peering["name"].as_str().unwrap_or_default());
            return Err(Refusal::in_use("network", &key.path(), &user));
        }
        // The routes that came with the network go with it, and so do the subnets of an auto mode network.
        let auto = world.find(key).is_some_and(|network| flag(&network.body, "autoCreateSubnetworks"));
        let link = key.link();
        let user = world.objects().find(|(other, object)| {
            let theirs = text(&object.body, "network") == link
                || list(&object.body, "networkInterfaces").iter().any(|nic| nic["network"] == link.as_str());
            let own = is_default_route(&object.body) || (auto && is_auto(other, key));
            *other != key && theirs && !own
        });
        match user {
            Some((user, _)) => Err(Refusal::in_use("network", &key.path(), &user.path())),
            None => Ok(()),
        }
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        match verb {
            "addPeering" => Some(peerings::add(world, key, sent)),
            "updatePeering" => Some(peerings::update(world, key, sent)),
            "removePeering" => Some(peerings::remove(world, key, sent)),
            "switchToCustomMode" => Some(world.idle(key).and_then(|network| {
                let mut network = network.clone();
                if !flag(&network, "autoCreateSubnetworks") {
                    return Err(Refusal::bad("invalid", "The network is not in auto mode."));
                }
                network.insert("autoCreateSubnetworks".to_owned(), json!(false));
                Ok(network)
            })),
            _ => None,
        }
    }

    fn inserted(&self, world: &mut World, key: &Key) {
        let serial = world.next();
        let route = key.beside("routes", Place::Global, &format!("default-route-r-{serial:016x}"));
        let mut body = json!({
            "name": route.name,
            "description": "Default route to the Internet.",
            "network": key.link(),
            "destRange": "0.0.0.0/0",
            "priority": 1000,
            "nextHopGateway": key.beside("gateways", Place::Global, "default-internet-gateway").link(),
            "routeType": "STATIC",
        });
        if let Some(body) = body.as_object_mut() {
            world.complete(&route, "compute#route", body);
            world.put(route, body.clone());
        }
        if world.find(key).is_some_and(|network| flag(&network.body, "autoCreateSubnetworks")) {
            for region in world.config.regions.clone() {
                let Some((_, range)) = AUTO.iter().find(|(name, _)| *name == region) else { continue };
                let subnet = key.beside("subnetworks", Place::Region(region), &key.name);
                let mut body = Body::new();
                body.insert("name".to_owned(), json!(key.name));
                body.insert("network".to_owned(), json!(key.link()));
                body.insert("ipCidrRange".to_owned(), json!(range));
                // The ranges are fixed and the network is new, so nothing can be in the way.
                if Subnetworks.insert(world, &subnet, &mut body).is_ok() {
                    world.complete(&subnet, Subnetworks.kind(), &mut body);
                    world.put(subnet, body);
                }
            }
        }
    }

    fn deleted(&self, world: &mut World, key: &Key) {
        let link = key.link();
        let gone: Vec<Key> = world
            .objects()
            .filter(|(_, object)| text(&object.body, "network") == link)
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            world.remove(&key);
        }
    }

    fn present(&self, world: &World, key: &Key, body: &mut Body) {
        let link = key.link();
        let subnets: Vec<String> = world
            .of("subnetworks")
            .filter(|(_, body)| text(body, "network") == link)
            .map(|(key, _)| key.link())
            .collect();
        if !subnets.is_empty() {
            body.insert("subnetworks".to_owned(), json!(subnets));
        }
        let id = text(body, "id").to_owned();
        body.insert("selfLinkWithId".to_owned(), json!(key.beside("networks", Place::Global, &id).link()));
        peerings::present(world, key, body);
    }
}

fn mtu(body: &Body) -> Result<(), Refusal> {
    match body.get("mtu").and_then(Value::as_i64) {
        Some(mtu) if !(1300..=8896).contains(&mtu) => {
            Err(Refusal::invalid("resource.mtu", &mtu.to_string(), "Must be from 1300 to 8896."))
        }
        _ => Ok(()),
    }
}

/// Whether a route is the one that came with the network.
pub(crate) fn is_default_route(body: &Body) -> bool {
    text(body, "name").starts_with("default-route-r-")
}

fn is_auto(subnet: &Key, network: &Key) -> bool {
    subnet.collection == "subnetworks" && subnet.name == network.name
}
