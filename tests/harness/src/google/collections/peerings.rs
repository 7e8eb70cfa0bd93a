//! Peerings: one side is written into each network, and the connection is active while both are there.
//!
//! ```text
//! add on A ─> A: INACTIVE ── add on B ─> A, B: ACTIVE ── remove on either ─> the other: INACTIVE
//! ```

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World, merge};
use super::{default, list, ranges, text};

/// The networks that `network` has an active peering with.
pub(crate) fn active_peers(world: &World, network: &Key) -> Vec<Key> {
    peers(world, network).into_iter().filter(|peer| peers(world, peer).contains(network)).collect()
}

/// The networks that `network` has its side of a peering with.
fn peers(world: &World, network: &Key) -> Vec<Key> {
    let body = world.find(network).map(|network| &network.body);
    let links = body.map(|body| list(body, "peerings")).unwrap_or_default().iter();
    links.filter_map(|peering| Key::parse(peering["network"].as_str()?, &network.project)).collect()
}

pub(crate) fn add(world: &World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut network = idle(world, key)?;
    let mut peering = sent.get("networkPeering").and_then(Value::as_object).cloned().unwrap_or_default();
    // The older form of the request has the fields at the top.
    for (old, new) in
        [("name", "name"), ("peerNetwork", "network"), ("autoCreateRoutes", "exchangeSubnetRoutes")]
    {
        if let Some(value) = sent.get(old) {
            default(&mut peering, new, value.clone());
        }
    }
    let name = text(&peering, "name").to_owned();
    if name.is_empty() {
        return Err(Refusal::bad("required", "Required field 'resource.networkPeering.name' not specified"));
    }
    let link = text(&peering, "network");
    if link.is_empty() {
        return Err(Refusal::bad(
            "required",
            "Required field 'resource.networkPeering.network' not specified",
        ));
    }
    if peering.get("exchangeSubnetRoutes") != Some(&json!(true)) {
        let why = "Only full mesh peerings are supported: exchangeSubnetRoutes must be true.";
        return Err(Refusal::invalid("resource.networkPeering.exchangeSubnetRoutes", "false", why));
    }
    let peer = Key::parse(link, &key.project)
        .filter(|peer| peer.collection == "networks")
        .ok_or_else(|| Refusal::invalid("resource.networkPeering.network", link, "The URL is malformed."))?;
    if peer == *key {
        return Err(Refusal::invalid(
            "resource.networkPeering.network",
            link,
            "Cannot peer a network with itself.",
        ));
    }
    for existing in list(&network, "peerings") {
        if existing["name"] == name.as_str() {
            return Err(Refusal::exists(&format!("{key}/peerings/{name}")));
        }
        if existing["network"] == peer.link().as_str() {
            let message = format!("A peering of '{key}' with '{peer}' already exists.");
            return Err(Refusal::bad("invalid", message));
        }
    }
    busy_peer(world, &peer)?;
    if world.find(&peer).is_none() && world.config.projects.contains(&peer.project) {
        return Err(Refusal::not_found(&peer.path()));
    }
    disjoint(world, key, &peer)?;
    peering.insert("network".to_owned(), json!(peer.link()));
    for flag in ["exportCustomRoutes", "importCustomRoutes", "importSubnetRoutesWithPublicIp"] {
        default(&mut peering, flag, false);
    }
    default(&mut peering, "exportSubnetRoutesWithPublicIp", true);
    default(&mut peering, "autoCreateRoutes", true);
    default(&mut peering, "stackType", "IPV4_ONLY");
    let mut peerings = list(&network, "peerings").to_vec();
    peerings.push(Value::Object(peering));
    network.insert("peerings".to_owned(), Value::Array(peerings));
    Ok(network)
}

pub(crate) fn update(world: &World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut network = idle(world, key)?;
    let patch = sent.get("networkPeering").and_then(Value::as_object).cloned().unwrap_or_default();
    let name = text(&patch, "name").to_owned();
    let side = network
        .get_mut("peerings")
        .and_then(Value::as_array_mut)
        .and_then(|peerings| peerings.iter_mut().find(|peering| peering["name"] == name.as_str()))
        .and_then(Value::as_object_mut);
    let Some(side) = side else { return Err(absent(key, &name)) };
    let mut new = side.clone();
    merge(&mut new, &patch);
    let same =
        Key::parse(text(&new, "network"), &key.project) == Key::parse(text(side, "network"), &key.project);
    if !same || new.get("exchangeSubnetRoutes") != side.get("exchangeSubnetRoutes") {
        return Err(Refusal::bad("invalid", format!("The network of peering '{name}' cannot be changed.")));
    }
    new.insert("network".to_owned(), json!(text(side, "network")));
    *side = new;
    Ok(network)
}

pub(crate) fn remove(world: &World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut network = idle(world, key)?;
    let name = text(sent, "name").to_owned();
    let mut peerings = list(&network, "peerings").to_vec();
    let Some(place) = peerings.iter().position(|peering| peering["name"] == name.as_str()) else {
        return Err(absent(key, &name));
    };
    let gone = peerings.remove(place);
    if let Some(peer) = gone["network"].as_str().and_then(|link| Key::parse(link, &key.project)) {
        busy_peer(world, &peer)?;
    }
    if peerings.is_empty() {
        network.remove("peerings");
    } else {
        network.insert("peerings".to_owned(), Value::Array(peerings));
    }
    Ok(network)
}

/// Adds to each side what depends on the other.
pub(crate) fn present(world: &World, key: &Key, body: &mut Body) {
    let active = active_peers(world, key);
    let Some(peerings) = body.get_mut("peerings").and_then(Value::as_array_mut) else { return };
    for peering in peerings {
        let Some(peer) = peering["network"].as_str().and_then(|link| Key::parse(link, &key.project)) else {
            continue;
        };
        let connected = active.contains(&peer);
        peering["state"] = json!(if connected { "ACTIVE" } else { "INACTIVE" });
        peering["stateDetails"] = json!(match (connected, world.find(&peer).is_some()) {
            (true, _) => "[2026-01-01T00:00:00.000-08:00]: Connected.",
            (false, true) => "[2026-01-01T00:00:00.000-08:00]: Waiting for peer network to connect.",
            (false, false) => "[2026-01-01T00:00:00.000-08:00]: The peer network was not found.",
        });
        if let Some(mtu) = world.find(&peer).and_then(|peer| peer.body.get("mtu")) {
            peering["peerMtu"] = mtu.clone();
        }
    }
}

/// The network of a change, which must have no change under way, nor a peer of it.
fn idle(world: &World, key: &Key) -> Result<Body, Refusal> {
    let network = world.shown(key)?;
    match &network.busy {
        Some(busy) if busy.unusable => Err(Refusal::not_ready(&key.path())),
        Some(_) => Err(in_progress()),
        None => no_route_under_way(world, key).map(|()| network.body.clone()),
    }
}

/// A change of a peering waits for changes of routes of either network (hashicorp/google issue 3034).
fn no_route_under_way(world: &World, network: &Key) -> Result<(), Refusal> {
    let busy = world.objects().any(|(key, route)| {
        let of = || Key::parse(text(&route.body, "network"), &key.project);
        key.collection == "routes" && route.busy.is_some() && of().as_ref() == Some(network)
    });
    let message = "There is a route operation in progress on the local or peer network. Try again later.";
    if busy { Err(Refusal::bad("badRequest", message).for_now()) } else { Ok(()) }
}

/// A change of a route waits for changes of peerings of its network (hashicorp/google issue 6361).
pub(crate) fn none_under_way(world: &World, network: &Key) -> Result<(), Refusal> {
    let peers = active_peers(world, network);
    let busy = |key: &Key| {
        let busy = world.find(key).and_then(|network| network.busy.as_ref());
        busy.is_some_and(|busy| !busy.unusable)
    };
    if std::iter::once(network).chain(&peers).any(busy) { Err(in_progress()) } else { Ok(()) }
}

fn busy_peer(world: &World, peer: &Key) -> Result<(), Refusal> {
    match world.find(peer).and_then(|network| network.busy.as_ref()) {
        Some(_) => Err(in_progress()),
        None => no_route_under_way(world, peer),
    }
}

fn in_progress() -> Refusal {
    let message = "There is a peering operation in progress on the local or peer network. Try again later.";
    Refusal::bad("badRequest", message).for_now()
}

fn absent(key: &Key, name: &str) -> Refusal {
    Refusal::bad("invalid", format!("There is no peering with name '{name}' in the network '{key}'."))
}

/// Refuses to peer networks with overlapping ranges, those of networks that either is peered with included.
fn disjoint(world: &World, key: &Key, peer: &Key) -> Result<(), Refusal> {
    let with_peers = |network: &Key, except: &Key| -> Vec<Key> {
        let peers = active_peers(world, network).into_iter().filter(|other| other != except);
        std::iter::once(network.clone()).chain(peers).collect()
    };
    for local in with_peers(key, peer) {
        for remote in with_peers(peer, key) {
            // A third network that both are peered with does not conflict with itself.
            if local == remote || (local != *key && remote != *peer) {
                continue;
            }
            for used in ranges::of_network(world, &local) {
                let other = ranges::of_network(world, &remote)
                    .into_iter()
                    .find(|other| ranges::overlap(used.range, other.range));
                if let Some(other) = other {
                    let message = format!(
                        "An IP range in the peer network ({}) overlaps with an IP range ({}) in the local network \
                         allocated by resource ({}).",
                        other.range, used.range, used.by
                    );
                    return Err(Refusal::bad("invalid", message).later());
                }
            }
        }
    }
    Ok(())
}
