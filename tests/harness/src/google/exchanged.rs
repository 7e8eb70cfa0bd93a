//! What Compute shows of other projects and of routers: routes of peers, the Shared VPC host, learned routes.

use serde_json::{Value, json};

use super::collections::{self, list as members, ranges, text};
use super::compute::unserved;
use super::error::Refusal;
use super::key::{COMPUTE, Key};
use super::list;
use super::request::Request;
use super::world::{Body, World};

/// `networks.listPeeringRoutes`: the routes that are imported over one peering or all, or exported.
pub(crate) fn peering_routes(world: &World, request: &Request) -> Result<Value, Refusal> {
    let key = request.key("networks");
    let network = world.find(&key).ok_or_else(|| Refusal::not_found(&key.path()))?;
    let wanted = request.query("peeringName").unwrap_or_default();
    let incoming = request.query("direction") != Some("OUTGOING");
    let mut items = Vec::new();
    for peering in members(&network.body, "peerings") {
        let peer = peering["network"].as_str().and_then(|link| Key::parse(link, &key.project));
        let Some(peer) = peer.filter(|_| wanted.is_empty() || peering["name"] == wanted) else { continue };
        if collections::active_peers(world, &key).contains(&peer) {
            let (from, to) = if incoming { (&peer, &key) } else { (&key, &peer) };
            items.extend(routes(world, from, to, incoming, request.query("region").unwrap_or_default()));
        }
    }
    let page = list::page(request, items, world.config.page_size)?;
    let mut answer = json!({
        "kind": "compute#exchangedPeeringRoutesList",
        "id": format!("{key}/peeringRoutes"),
        "selfLink": format!("{}/listPeeringRoutes", key.link()),
    });
    if !page.items.is_empty() {
        answer["items"] = json!(page.items);
    }
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

/// Subnet routes are always exchanged, static and dynamic ones if one side exports and the other imports them. Dynamic routes are
/// those "in the region" of the request (discovery document): with the routing mode `GLOBAL`, those of all regions.
fn routes(world: &World, from: &Key, to: &Key, incoming: bool, region: &str) -> Vec<Value> {
    let link = from.link();
    let flag = |network: &Key, other: &Key, name: &str| {
        let body = world.find(network).map(|network| &network.body);
        let peerings = body.map(|body| members(body, "peerings")).unwrap_or_default();
        peerings.iter().any(|peering| peering["network"] == other.link().as_str() && peering[name] == true)
    };
    let (exports, imports) = (flag(from, to, "exportCustomRoutes"), flag(to, from, "importCustomRoutes"));
    let route = |net: String, kind: &str, imported: bool| json!({"destRange": net, "type": kind, "priority": 0, "imported": incoming && imported});
    let subnets = world.of("subnetworks").filter(|(_, body)| text(body, "network") == link);
    let subnets = subnets.flat_map(|(_, body)| ranges::of_subnet(body));
    let fixed = world.of("routes").filter(|(_, body)| text(body, "network") == link);
    // Routes to the internet gateway are never exported ("VPC Network Peering", documentation of VPC).
    let fixed = fixed.filter(|(_, body)| exports && !body.contains_key("nextHopGateway"));
    let fixed = fixed
        .map(|(_, body)| route(text(body, "destRange").to_owned(), "STATIC_PEERING_ROUTE", imports))
        .collect::<Vec<_>>();
    let subnets = subnets.map(|net| route(net.to_string(), "SUBNET_PEERING_ROUTE", true));
    let mut all: Vec<Value> = subnets.chain(fixed).collect();
    let routing = world.find(from).and_then(|network| network.body.get("routingConfig"));
    let global = routing.is_some_and(|routing| routing["routingMode"] == "GLOBAL");
    for (key, body) in world.of("routers").filter(|_| exports && !region.is_empty()) {
        if text(body, "network") != link || (!global && key.region() != Some(region)) {
            continue;
        }
        for net in world.config.learned_routes.get(&key.path()).into_iter().flatten() {
            let mut learned = route(net.clone(), "DYNAMIC_PEERING_ROUTE", imports);
            learned["nextHopRegion"] = json!(key.region());
            all.push(learned);
        }
    }
    all
}

/// `projects.getXpnHost`: the host of a service project; "may be empty if no link exists" (discovery document).
pub(crate) fn xpn_host(world: &World, request: &Request) -> Result<Value, Refusal> {
    match world.config.shared_vpc_hosts.get(request.path("project")) {
        Some(host) => collections::project(world, host),
        None => Ok(json!({"kind": "compute#project"})),
    }
}

/// `subnetworks.listUsable`: the subnetworks of a project that the caller can use, as a host too
/// (`gcloud compute networks subnets list-usable --service-project`).
pub(crate) fn usable(world: &World, request: &Request) -> Result<Value, Refusal> {
    let project = request.path("project");
    let service = request.query("serviceProject").unwrap_or_default();
    if !service.is_empty() && world.config.shared_vpc_hosts.get(service).is_none_or(|host| host != project) {
        let why = "It is not attached to this host project.";
        return Err(Refusal::invalid("serviceProject", service, why));
    }
    let usable = world.of("subnetworks").filter(|(key, _)| key.project == project);
    let item = |key: &Key, body: &Body| {
        let mut item = json!({
            "subnetwork": key.link(),
            "network": text(body, "network"),
            "ipCidrRange": text(body, "ipCidrRange"),
            "purpose": text(body, "purpose"),
            "stackType": text(body, "stackType"),
        });
        if body.contains_key("secondaryIpRanges") {
            item["secondaryIpRanges"] = body["secondaryIpRanges"].clone();
        }
        item
    };
    let items = usable.map(|(key, body)| item(key, body)).collect();
    let page = list::page(request, items, world.config.page_size)?;
    let path = format!("projects/{project}/aggregated/subnetworks/listUsable");
    let mut answer = json!({
        "kind": "compute#usableSubnetworksAggregatedList",
        "id": path,
        "selfLink": format!("{COMPUTE}{path}"),
        "items": page.items,
    });
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}

/// `routers.getRouterStatus`: the routes that the router has learned.
pub(crate) fn router_status(world: &World, request: &Request) -> Result<Value, Refusal> {
    let key = request.key("routers");
    let router = world.find(&key).ok_or_else(|| Refusal::not_found(&key.path()))?;
    let network = text(&router.body, "network");
    let learned = world.config.learned_routes.get(&key.path()).into_iter().flatten();
    let route = |net: &String| json!({"kind": "compute#route", "destRange": net, "network": network, "priority": 100, "routeType": "BGP"});
    let routes: Vec<Value> = learned.map(route).collect();
    let mut result = json!({"network": network});
    if !routes.is_empty() {
        result["bestRoutesForRouter"] = json!(routes);
        result["bestRoutes"] = json!(routes);
    }
    Ok(json!({"kind": "compute#routerStatusResponse", "result": result}))
}

/// The internal ranges of Network Connectivity. `method` is the id without the service.
pub(crate) fn internal_ranges(world: &World, request: &Request, method: &str) -> Result<Value, Refusal> {
    if method != "projects.locations.internalRanges.list" {
        return Err(unserved(&request.action()));
    }
    let parts: Vec<&str> = request.path("parent").split('/').collect();
    let ["projects", project, "locations", location] = parts[..] else {
        return Err(unserved(&request.action()));
    };
    collections::known_project(world, project)?;
    let here = |path: &str| path.starts_with(&format!("projects/{project}/locations/{location}/"));
    let items = world.config.internal_ranges.iter().filter(|(name, _)| here(name)).map(|(name, range)| {
        json!({
            "name": name,
            "network": format!("{COMPUTE}{}", range.network),
            "ipCidrRange": range.net,
            "usage": "FOR_VPC",
            "peering": "FOR_SELF",
            "createTime": World::time(1).replace("-08:00", "Z"),
            "updateTime": World::time(1).replace("-08:00", "Z"),
        })
    });
    let page = list::page(request, items.collect(), world.config.page_size)?;
    let mut answer = json!({"internalRanges": page.items});
    if let Some(next) = page.next {
        answer["nextPageToken"] = json!(next);
    }
    Ok(answer)
}
