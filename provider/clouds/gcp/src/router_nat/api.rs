//! API calls for routers and their NAT.

use google_cloud_compute_v1::model;
use warren_managed::sets;

use super::schema::RouterNat;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A router as the API returns it, with its first NAT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) network: String,
    pub(super) region: String,
    /// Name of the NAT; empty when the router has none any more.
    pub(super) nat: String,
    pub(super) subnetworks: Vec<String>,
    pub(super) nat_ips: Vec<String>,
    pub(super) min_ports: i64,
    pub(super) max_ports: Option<i64>,
    pub(super) log_filter: Option<String>,
    pub(super) self_link: String,
}

/// Finds the router of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &RouterNat) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    planned.adoptable(gcp, &found.description, link::same(&found.network, planned.network.text()))
}

/// Starts creating a router with its NAT and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &RouterNat, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let body = model::Router::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_network(link::id(planned.network.text()))
        .set_nats([nat(planned, planned.name.text())]);
    let call = gcp.clients.routers.insert().set_project(&gcp.project).set_region(planned.region.text());
    let call = call.set_body(body);
    gcp.began(&id, begin!("routers.insert", &id, call));
    Ok(id)
}

/// Starts updating the NAT if it differs from the plan.
pub(super) async fn patch(gcp: &Gcp, id: &str, want: &RouterNat) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, id).await?;
    // An unmarked object, such as an imported router, stays unmarked while its text stays the same.
    let marked = have.description == want.marks(gcp)? || have.description == want.description.text();
    let state = super::schema::state(have.clone(), want);
    let same = sets::known(&state.subnetworks) == sets::known(&want.subnetworks)
        && sets::known(&state.nat_ips) == sets::known(&want.nat_ips)
        && state.min_ports_per_vm == want.min_ports_per_vm
        && state.max_ports_per_vm == want.max_ports_per_vm
        && state.log_filter == want.log_filter;
    if marked && same && !have.nat.is_empty() {
        return Ok(None);
    }
    let name = if have.nat.is_empty() { want.name.text() } else { &have.nat };
    let body = model::Router::new().set_description(want.marks(gcp)?).set_nats([nat(want, name)]);
    let Link { project, region, name, .. } = link::parsed("routers.get", id)?;
    let call = gcp.clients.routers.patch().set_project(project).set_region(region.unwrap_or_default());
    let call = call.set_router(name).set_body(body);
    Ok(Some(begin!("routers.patch", id, call)))
}

/// Reads the router `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let link = link::parsed("routers.get", id)?;
    let call = gcp.clients.routers.get().set_project(&link.project).set_region(link.region());
    let router = call.set_router(&link.name).send().await.named("routers.get")?;
    let nat = router.nats.into_iter().next().unwrap_or_default();
    let log = nat.log_config.filter(|log| log.enable.unwrap_or_default());
    let dynamic = nat.enable_dynamic_port_allocation.unwrap_or_default();
    Ok(Found {
        id: id.to_owned(),
        name: router.name.unwrap_or_default(),
        description: router.description.unwrap_or_default(),
        network: router.network.unwrap_or_default(),
        region: link.region().to_owned(),
        nat: nat.name.unwrap_or_default(),
        subnetworks: nat.subnetworks.into_iter().filter_map(|subnet| subnet.name).collect(),
        nat_ips: nat.nat_ips,
        min_ports: nat.min_ports_per_vm.unwrap_or(64).into(),
        max_ports: nat.max_ports_per_vm.filter(|_| dynamic).map(i64::from),
        log_filter: log
            .map(|log| log.filter.and_then(|it| it.name().map(str::to_owned)).unwrap_or("ALL".to_owned())),
        self_link: router.self_link.unwrap_or_default(),
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let link = link::parsed("routers.get", id)?;
    let call = gcp.clients.routers.delete().set_project(&link.project).set_region(link.region());
    let call = call.set_router(&link.name);
    Ok(begin!("routers.delete", id, call))
}

fn nat(planned: &RouterNat, name: &str) -> model::RouterNat {
    let addresses: Vec<String> = sets::known(&planned.nat_ips).iter().map(|text| link::id(text)).collect();
    let subnetworks = sets::known(&planned.subnetworks);
    let ports =
        |ports: &tf_provider_rs::Attr<i64>| ports.known().and_then(|ports| i32::try_from(*ports).ok());
    let mut log = model::RouterNatLogConfig::new().set_enable(planned.log_filter.is_known());
    if let Some(filter) = planned.log_filter.known() {
        log = log.set_filter(filter.as_str());
    }
    model::RouterNat::new()
        .set_name(name)
        .set_nat_ip_allocate_option(if addresses.is_empty() { "AUTO_ONLY" } else { "MANUAL_ONLY" })
        .set_nat_ips(addresses)
        .set_source_subnetwork_ip_ranges_to_nat(if subnetworks.is_empty() {
            "ALL_SUBNETWORKS_ALL_IP_RANGES"
        } else {
            "LIST_OF_SUBNETWORKS"
        })
        .set_subnetworks(subnetworks.iter().map(|subnet| {
            model::RouterNatSubnetworkToNat::new()
                .set_name(link::id(subnet))
                .set_source_ip_ranges_to_nat(["ALL_IP_RANGES"])
        }))
        .set_or_clear_min_ports_per_vm(ports(&planned.min_ports_per_vm))
        .set_or_clear_max_ports_per_vm(ports(&planned.max_ports_per_vm))
        .set_enable_dynamic_port_allocation(planned.max_ports_per_vm.is_known())
        // Google refuses endpoint-independent mapping beside ports that grow.
        .set_enable_endpoint_independent_mapping(false)
        .set_log_config(log)
}
