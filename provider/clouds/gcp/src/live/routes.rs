//! Routes: they lead to networks of other projects, and to networks outside Google Cloud.

use std::collections::BTreeSet;

use google_cloud_compute_v1::model::exchanged_peering_route::Type;
use google_cloud_compute_v1::model::networks::list_peering_routes_request::Direction;
use ipnet::IpNet;
use warren_guard::{LiveRange, Location, Usage};

use super::networks::Network;
use super::{Reading, SETTING, Sort};
use crate::account::Gcp;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, non_empty};
use crate::link;

const LIST: &str = "routes.list";
const ROUTERS: &str = "routers.aggregatedList";
const STATUS: &str = "routers.getRouterStatus";
const OF_PEER: &str = "networks.listPeeringRoutes";

pub(super) const FIXED: Sort =
    Sort { what: "static routes", permissions: &["compute.routes.list"], setting: SETTING };

pub(super) const LEARNED: Sort = Sort {
    what: "learned routes",
    permissions: &["compute.routers.list", "compute.routers.get"],
    setting: SETTING,
};

pub(super) const OF_PEERS: Sort =
    Sort { what: "peering routes", permissions: &["compute.networks.listPeeringRoutes"], setting: SETTING };

/// Static routes to a next hop inside a network. Those of subnetworks and peerings are read as such.
pub(super) async fn fixed(gcp: &Gcp, reading: &mut Reading<'_>) -> Result<(), ApiError> {
    let project = reading.project;
    let mut page = None;
    loop {
        let call = gcp.clients.routes().await?.list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        for route in answer.items {
            // A route to the internet gateway, such as to `199.36.153.8/30`, leads to no network.
            let skipped = route.next_hop_gateway.is_some()
                || route.next_hop_network.is_some()
                || route.next_hop_peering.is_some();
            let Some(net) = route.dest_range.as_deref().filter(|_| !skipped) else { continue };
            let id = link::id(route.self_link.as_deref().or_missing(LIST, "selfLink")?);
            let Some(net) = reading.parsed(&id, net) else { continue };
            reading.found.ranges.push(range(net, Usage::Routed, ("route", id), project, None));
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}

/// The routes that Cloud Routers have learned from their BGP peers. `routes.list` does not contain them.
pub(super) async fn learned(gcp: &Gcp, reading: &mut Reading<'_>) -> Result<(), ApiError> {
    let project = reading.project;
    let mut page = None;
    loop {
        let call =
            gcp.clients.routers().await?.aggregated_list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(ROUTERS)?;
        for router in answer.items.into_values().flat_map(|scope| scope.routers) {
            // A router for Cloud NAT has no peers.
            if router.bgp_peers.is_empty() {
                continue;
            }
            let id = link::id(router.self_link.as_deref().or_missing(ROUTERS, "selfLink")?);
            let (project, region, name) = link::regional(STATUS, &id)?;
            let call =
                gcp.clients.routers().await?.get_router_status().set_project(&project).set_region(&region);
            let status = match call.set_router(&name).send().await.named(STATUS) {
                Ok(status) => status.result.unwrap_or_default(),
                // Deleted since it was listed.
                Err(error) if error.is_not_found() => continue,
                Err(error) => {
                    reading.missed(&error);
                    continue;
                }
            };
            let outside =
                status.best_routes_for_router.iter().filter(|route| route.next_hop_network.is_none());
            for net in outside.filter_map(|route| route.dest_range.as_deref()) {
                let Some(net) = reading.parsed(&id, net) else { continue };
                reading.found.ranges.push(range(
                    net,
                    Usage::Learned,
                    ("route of", id.clone()),
                    &project,
                    None,
                ));
            }
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}

/// What the peers of the networks export. Routes that their Cloud Routers have learned differ by region: "all subnet routes,
/// static routes and dynamic routes in the region" (discovery document, `networks.listPeeringRoutes`).
pub(super) async fn of_peers(
    gcp: &Gcp,
    networks: &[Network],
    regions: &BTreeSet<String>,
    reading: &mut Reading<'_>,
) {
    for network in networks {
        for (peering, peer) in &network.peerings {
            // A peer in this project is listed itself.
            if networks.iter().any(|network| network.id == *peer) {
                continue;
            }
            let regions = regions.iter().cloned().map(Some).chain(regions.is_empty().then_some(None));
            for region in regions {
                if let Err(error) = of_peer(gcp, network, (peering, peer), region, reading).await {
                    reading.missed(&error);
                }
            }
        }
    }
}

async fn of_peer(
    gcp: &Gcp,
    network: &Network,
    (peering, peer): (&str, &str),
    region: Option<String>,
    reading: &mut Reading<'_>,
) -> Result<(), ApiError> {
    let project = reading.project;
    let mut page = None;
    loop {
        let call = gcp
            .clients
            .networks()
            .await?
            .list_peering_routes()
            .set_project(project)
            .set_network(&network.name);
        let call = call.set_peering_name(peering).set_direction(Direction::Incoming);
        let call = call.set_or_clear_region(region.clone()).set_or_clear_page_token(page);
        let answer = match call.send().await.named(OF_PEER) {
            Ok(answer) => answer,
            // The network or the peering was deleted since it was listed.
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        for route in answer.items {
            let usage = match route.r#type {
                Some(Type::SubnetPeeringRoute) => Usage::Behind,
                Some(Type::DynamicPeeringRoute) => Usage::Learned,
                _ => Usage::Routed,
            };
            let used = usage == Usage::Behind || route.imported != Some(false);
            let Some(net) = route.dest_range.as_deref().filter(|_| used) else { continue };
            let id = format!("{}/peerings/{peering}", network.id);
            let Some(net) = reading.parsed(&id, net) else { continue };
            let range = range(net, usage, ("peering", id), project, Some(peer));
            // Routes of subnets, and static ones, are the same in every region.
            if !reading.found.ranges.contains(&range) {
                reading.found.ranges.push(range);
            }
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}

fn range(
    net: IpNet,
    usage: Usage,
    (kind, id): (&'static str, String),
    project: &str,
    to: Option<&str>,
) -> LiveRange {
    LiveRange {
        net,
        usage,
        kind: kind.into(),
        id,
        name: String::new(),
        owner: None,
        fabric: None,
        location: Location::gcp(project, ""),
        parent: to.map(str::to_owned),
    }
}
