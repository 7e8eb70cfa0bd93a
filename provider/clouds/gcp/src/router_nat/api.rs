//! API calls for routers and their NAT.

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::router_nat_log_config::Filter;
use warren_managed::sets::{self, Texts};

use super::model::RouterNat;
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link;
use crate::marker;

const GET: &str = "routers.get";

/// Finds the router of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &RouterNat) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || Ok(state(&found, planned)?.network == planned.network);
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating a router with its NAT and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &RouterNat, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let name = planned.object.name()?;
    let body = model::Router::new()
        .set_name(name)
        .set_description(description)
        .set_network(planned.network.value()?.id())
        .set_nats([nat(planned, model::RouterNat::new().set_name(name))]);
    let call =
        gcp.clients.routers().await?.insert().set_project(&gcp.project).set_region(planned.region.value()?);
    let call = call.set_body(body);
    gcp.began(&id, begin!("routers.insert", &id, call));
    Ok(id)
}

/// Starts updating the NAT if it differs from the plan.
///
/// The list of NATs is replaced as a whole. The request contains it as it was read, with what this resource does not manage,
/// as in hashicorp/google (`resource_compute_router_nat.go`, `PatchUpdateEncoder`).
pub(super) async fn patch(gcp: &Gcp, want: &RouterNat) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let have = state(&found, want)?;
    let marks = want.marks(gcp)?;
    let same = sets::known(&have.subnetworks) == sets::known(&want.subnetworks)
        && sets::known(&have.nat_ips) == sets::known(&want.nat_ips)
        && have.min_ports_per_vm == want.min_ports_per_vm
        && have.max_ports_per_vm == want.max_ports_per_vm
        && have.log_filter == want.log_filter;
    let ours = ours(&found);
    if ours.is_some()
        && same
        && marker::is_current(found.description.as_deref(), &marks, &want.object.mark.description)
    {
        return Ok(None);
    }
    let mut nats = found.nats.clone();
    match ours {
        Some(at) => nats[at] = nat(want, nats[at].clone()),
        None => nats.push(nat(want, model::RouterNat::new().set_name(want.object.name()?))),
    }
    let body = model::Router::new().set_description(marks).set_nats(nats);
    let (project, region, name) = link::regional("routers.patch", id)?;
    let call = gcp.clients.routers().await?.patch().set_project(project).set_region(region);
    let call = call.set_router(name).set_body(body);
    Ok(Some(begin!("routers.patch", id, call)))
}

/// Reads the router; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &RouterNat) -> Result<RouterNat, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, region, name) = link::regional("routers.delete", id)?;
    let call = gcp.clients.routers().await?.delete().set_project(project).set_region(region).set_router(name);
    Ok(begin!("routers.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Router, ApiError> {
    let (project, region, name) = link::regional(GET, id)?;
    let call = gcp.clients.routers().await?.get().set_project(project).set_region(region).set_router(name);
    call.send().await.named(GET)
}

/// Which NAT of a router this resource manages: the one with the name of the router, or the first one.
fn ours(router: &model::Router) -> Option<usize> {
    let named = router.nats.iter().position(|nat| nat.name == router.name);
    named.or_else(|| (!router.nats.is_empty()).then_some(0))
}

/// The NAT `before` with the planned settings.
pub(super) fn nat(planned: &RouterNat, before: model::RouterNat) -> model::RouterNat {
    let addresses: Vec<String> = sets::known(&planned.nat_ips).iter().map(|text| link::id(text)).collect();
    let subnetworks = sets::known(&planned.subnetworks);
    let mut log = before.log_config.clone().unwrap_or_default().set_enable(planned.log_filter.is_known());
    if let Some(filter) = planned.log_filter.known() {
        log = log.set_filter(filter.as_str());
    }
    // A subnetwork that the NAT serves already keeps its settings.
    let served = before.subnetworks.clone();
    let served = subnetworks.iter().map(|subnet| {
        let id = subnet.id();
        let found =
            served.iter().find(|found| found.name.as_deref().is_some_and(|name| link::same(name, &id)));
        found.cloned().unwrap_or_else(|| {
            model::RouterNatSubnetworkToNat::new().set_name(id).set_source_ip_ranges_to_nat(["ALL_IP_RANGES"])
        })
    });
    before
        // Only Google sets it.
        .set_or_clear_effective_tcp_time_wait_timeout_sec(None::<i32>)
        .set_nat_ip_allocate_option(if addresses.is_empty() { "AUTO_ONLY" } else { "MANUAL_ONLY" })
        .set_nat_ips(addresses)
        .set_source_subnetwork_ip_ranges_to_nat(if subnetworks.is_empty() {
            "ALL_SUBNETWORKS_ALL_IP_RANGES"
        } else {
            "LIST_OF_SUBNETWORKS"
        })
        .set_subnetworks(served)
        .set_or_clear_min_ports_per_vm(planned.min_ports_per_vm.into_known())
        .set_or_clear_max_ports_per_vm(planned.max_ports_per_vm.into_known())
        .set_enable_dynamic_port_allocation(planned.max_ports_per_vm.is_known())
        // Google refuses endpoint-independent mapping beside ports that grow.
        .set_enable_endpoint_independent_mapping(false)
        .set_log_config(log)
}

/// The state of a router with its NAT as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Router, before: &RouterNat) -> Result<RouterNat, ApiError> {
    // A router whose NAT was removed has Google's defaults, until the next apply creates the NAT again.
    let nat = ours(found).map(|at| found.nats[at].clone()).unwrap_or_default();
    let dynamic = nat.enable_dynamic_port_allocation.unwrap_or_default();
    let log = nat.log_config.as_ref().filter(|log| log.enable.unwrap_or_default());
    let filter = log.map(|log| log.filter.as_ref().and_then(Filter::name).unwrap_or("ALL"));
    let filter = filter.parsed_if_set(GET, "nats.logConfig.filter")?;
    let subnetworks = nat.subnetworks.iter().filter_map(|subnet| subnet.name.as_deref());
    let subnetworks: Vec<String> = subnetworks.map(str::to_owned).collect();
    Ok(RouterNat {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        network: link::found(GET, "network", found.network.as_deref(), &before.network)?,
        region: link::last(found.region.as_deref()).or_missing(GET, "region")?.into(),
        subnetworks: link::found_all(GET, "nats.subnetworks", subnetworks, &before.subnetworks)?,
        nat_ips: links(nat.nat_ips, &before.nat_ips),
        min_ports_per_vm: nat.min_ports_per_vm.unwrap_or(64).into(),
        max_ports_per_vm: nat.max_ports_per_vm.filter(|_| dynamic).into(),
        log_filter: filter.into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}

/// References as they were written, if they refer to the same objects.
fn links(found: impl IntoIterator<Item = String>, before: &Texts) -> Texts {
    let wrote = sets::known(before);
    let kept = found.into_iter().map(|found| {
        let same = wrote.iter().find(|wrote| link::same(wrote, &found)).cloned();
        same.unwrap_or_else(|| link::id(&found))
    });
    sets::found(kept, before)
}
