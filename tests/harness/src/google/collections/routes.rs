//! Routes: static ones are stored, those of subnets and peerings follow from what exists.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::{Rules, link, list, peerings, ranges, text};

const HOPS: [&str; 6] =
    ["nextHopGateway", "nextHopIlb", "nextHopInstance", "nextHopIp", "nextHopVpnTunnel", "nextHopNetwork"];

pub(crate) struct Routes;

impl Rules for Routes {
    fn kind(&self) -> &'static str {
        "compute#route"
    }

    fn word(&self) -> &'static str {
        "route"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("ROUTES", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        let network = link(world, key, body, "network", "networks")?;
        if let Some(network) = &network {
            peerings::none_under_way(world, network)?;
        }
        let range = ranges::parse("resource.destRange", text(body, "destRange"))?;
        let priority = body.get("priority").and_then(Value::as_u64).unwrap_or(1000);
        if priority > 65535 {
            return Err(Refusal::invalid(
                "resource.priority",
                &priority.to_string(),
                "Must be from 0 to 65535.",
            ));
        }
        let hops: Vec<&str> = HOPS.into_iter().filter(|hop| body.contains_key(*hop)).collect();
        let [hop] = hops.as_slice() else {
            return Err(Refusal::bad("invalid", "Exactly one next hop must be specified."));
        };
        next_hop(world, key, body, hop)?;
        if let Some(network) = network {
            let local = ranges::of_network(world, &network)
                .into_iter()
                .find(|used| used.by.collection == "subnetworks" && used.range.contains(&range));
            if let Some(used) = local {
                let message = format!(
                    "The destination range {range} of the route is contained in the range {} of the subnetwork '{}'.",
                    used.range, used.by
                );
                return Err(Refusal::bad("invalid", message).later());
            }
        }
        body.insert("routeType".to_owned(), json!("STATIC"));
        Ok(())
    }

    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        let route = world.find(key).map(|route| text(&route.body, "network"));
        match route.and_then(|link| Key::parse(link, &key.project)) {
            Some(network) => peerings::none_under_way(world, &network),
            None => Ok(()),
        }
    }

    fn implied(&self, world: &World, project: &str) -> Vec<(Key, Value)> {
        let mut routes = Vec::new();
        for (network, _) in world.of("networks").filter(|(key, _)| key.project == project) {
            for (subnet, body) in subnets(world, network) {
                for (place, range) in ranges::of_subnet(body).into_iter().enumerate() {
                    let what = format!("{}-{}-{place}", network.name, subnet.name);
                    let route = json!({
                        "description": format!("Default local route to the subnetwork {range}."),
                        "destRange": range.to_string(),
                        "priority": 0,
                        "nextHopNetwork": network.link(),
                        "routeType": "SUBNET",
                    });
                    routes.push(shown(world, network, "default-route", &what, route));
                }
            }
            let Some(side) = world.find(network) else { continue };
            let active = peerings::active_peers(world, network);
            for peering in list(&side.body, "peerings") {
                let Some(peer) = peering["network"].as_str().and_then(|link| Key::parse(link, project))
                else {
                    continue;
                };
                if !active.contains(&peer) {
                    continue;
                }
                let name = peering["name"].as_str().unwrap_or_default();
                for (subnet, body) in subnets(world, &peer) {
                    for (place, range) in ranges::of_subnet(body).into_iter().enumerate() {
                        let what = format!("{}-{name}-{}-{place}", network.name, subnet.name);
                        let route = json!({
                            "description": format!("Auto generated route via peering [{name}]."),
                            "destRange": range.to_string(),
                            "priority": 0,
                            "nextHopPeering": name,
                            "routeType": "SUBNET",
                        });
                        routes.push(shown(world, network, "peering-route", &what, route));
                    }
                }
            }
        }
        routes
    }
}

fn subnets<'a>(world: &'a World, network: &Key) -> impl Iterator<Item = (&'a Key, &'a Body)> {
    let link = network.link();
    world.of("subnetworks").filter(move |(_, body)| text(body, "network") == link)
}

/// A route that follows from `what`, which its name is made of.
fn shown(world: &World, network: &Key, kind: &str, what: &str, mut route: Value) -> (Key, Value) {
    // FNV-1a: the name must stay the same for as long as the route does.
    let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let key = network.beside("routes", Place::Global, &format!("{kind}-{hash:016x}"));
    let made = world.find(network).map(|network| text(&network.body, "creationTimestamp").to_owned());
    route["kind"] = json!("compute#route");
    route["id"] = json!((hash >> 1).to_string());
    route["creationTimestamp"] = json!(made.unwrap_or_default());
    route["name"] = json!(key.name);
    route["network"] = json!(network.link());
    route["selfLink"] = json!(key.link());
    (key, route)
}

fn next_hop(world: &World, key: &Key, body: &mut Body, hop: &str) -> Result<(), Refusal> {
    let field = format!("resource.{hop}");
    let value = text(body, hop).to_owned();
    match hop {
        "nextHopGateway" => {
            let gateway = key.beside("gateways", Place::Global, "default-internet-gateway");
            if Key::parse(&value, &key.project) != Some(gateway.clone()) {
                return Err(Refusal::invalid(
                    &field,
                    &value,
                    "Only the default internet gateway is supported.",
                ));
            }
            body.insert(hop.to_owned(), json!(gateway.link()));
            Ok(())
        }
        "nextHopInstance" => link(world, key, body, hop, "instances").map(|_| ()),
        "nextHopIlb" if value.parse::<std::net::Ipv4Addr>().is_err() => {
            link(world, key, body, hop, "forwardingRules").map(|_| ())
        }
        "nextHopIp" | "nextHopIlb" => match value.parse::<std::net::Ipv4Addr>() {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::invalid(&field, &value, "Must be an IPv4 address.")),
        },
        _ => Err(Refusal::invalid(&field, &value, "This next hop is not supported here.")),
    }
}
