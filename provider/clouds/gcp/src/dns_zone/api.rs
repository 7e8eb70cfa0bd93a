//! Cloud DNS API calls for zones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use google_cloud_dns_v1::model;
use google_cloud_dns_v1::model::managed_zone::Visibility;
use google_cloud_dns_v1::model::managed_zone_forwarding_config_name_server_target::ForwardingPath as Path;
use google_cloud_gax::options::RequestOptionsBuilder as _;
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::{ForwardingPath, Target, Zone};
use crate::account::Gcp;
use crate::begun::Begun;
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _, non_empty};
use crate::link::NetworkRef;
use crate::{labels, link};

const GET: &str = "managedZones.get";

/// Compute Engine's prefix of the network's URL; Cloud DNS accepts no other form (hashicorp/google issue 6972).
const COMPUTE: &str = "https://www.googleapis.com/compute/v1/";

/// Finds the zone of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Zone) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let labels = found.labels.clone().into_iter().collect();
    labels::adoptable(gcp, planned, &labels, || {
        let have = state(&found, planned)?;
        Ok((&have.dns_name, have.r#type()) == (&planned.dns_name, planned.r#type()))
    })
}

/// Creates a zone and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Zone) -> Result<String, ApiError> {
    let body = model::ManagedZone::new()
        .set_name(planned.object.name()?)
        .set_dns_name(planned.dns_name.value()?)
        .set_visibility(Visibility::Private);
    let body = configured(gcp, planned, body)?;
    let call = gcp.clients.dns_zones().await?.create().set_project(&gcp.project).set_body(body);
    call.send().await.named("managedZones.create")?;
    Ok(planned.place(&gcp.project)?)
}

/// Starts updating the zone if it differs from the plan.
///
/// A patch cannot empty the list of networks, because Google's client omits an empty list. So the whole zone is
/// replaced, with everything in it that this resource does not manage.
pub(super) async fn update(gcp: &Gcp, want: &Zone) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let labels: BTreeMap<_, _> = found.labels.clone().into_iter().collect();
    if labels == labels::all(gcp, want)? && same(&state(&found, want)?, want) {
        return Ok(None);
    }
    let (project, name) = link::global("managedZones.update", id)?;
    let body = configured(gcp, want, found)?;
    let call =
        gcp.clients.dns_zones().await?.update().set_project(&project).set_managed_zone(&name).set_body(body);
    let operation = call.with_idempotency(true).send().await.named("managedZones.update")?;
    Begun::in_dns("managedZones.update", id, operation.id).map(Some)
}

/// Reads the zone; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Zone) -> Result<Zone, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let (project, name) = link::global("managedZones.delete", id)?;
    let call = gcp.clients.dns_zones().await?.delete().set_project(project).set_managed_zone(name);
    call.send().await.named("managedZones.delete")
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::ManagedZone, ApiError> {
    let (project, name) = link::global(GET, id)?;
    let found = gcp.clients.dns_zones().await?.get().set_project(project).set_managed_zone(name).send().await;
    let found = found.named(GET)?;
    if found.visibility == Some(Visibility::Public) { Err(ApiError::public(GET, id)) } else { Ok(found) }
}

/// The zone `body` with the planned settings.
pub(super) fn configured(
    gcp: &Gcp,
    planned: &Zone,
    body: model::ManagedZone,
) -> Result<model::ManagedZone, ApiError> {
    let visible = body.private_visibility_config.clone().unwrap_or_default();
    let served = visible.networks.clone();
    let networks = sets::known(&planned.networks).into_iter().map(|network| {
        let same = |url: &String| link::same(url, &network.id());
        let found = served.iter().find(|found| found.network_url.as_ref().is_some_and(same)).cloned();
        found.unwrap_or_else(|| {
            model::ManagedZonePrivateVisibilityConfigNetwork::new().set_network_url(url(&network))
        })
    });
    let visible = visible.set_networks(networks);
    let forwarding = planned.forwarding_targets.known().map(|targets| {
        let before = body.forwarding_config.clone().unwrap_or_default();
        let written = |target| name_server(target, &before.target_name_servers);
        let targets: Result<Vec<_>, ApiError> = targets.iter().map(written).collect();
        targets.map(|targets| before.set_target_name_servers(targets))
    });
    let peering = planned.peering_network.known().map(|network| {
        let before = body.peering_config.clone().unwrap_or_default();
        let target = before.target_network.clone().unwrap_or_default().set_network_url(url(network));
        before.set_target_network(target)
    });
    Ok(body
        .set_description(planned.description.value()?)
        .set_labels(labels::all(gcp, planned)?)
        .set_private_visibility_config(visible)
        .set_or_clear_forwarding_config(forwarding.transpose()?)
        .set_or_clear_peering_config(peering))
}

fn url(network: &NetworkRef) -> String {
    format!("{COMPUTE}{}", network.id())
}

/// A planned name server, with what this resource does not manage as it is in `before`.
fn name_server(
    target: &Target,
    before: &[model::ManagedZoneForwardingConfigNameServerTarget],
) -> Result<model::ManagedZoneForwardingConfigNameServerTarget, ApiError> {
    let path = target.forwarding_path.known().map(|path| Path::from(path.as_str()));
    let address = target.ipv4_address.value()?.to_string();
    let found = before.iter().find(|found| found.ipv_4_address.as_ref() == Some(&address)).cloned();
    Ok(found.unwrap_or_default().set_ipv_4_address(address).set_or_clear_forwarding_path(path))
}

/// Whether two zones have the same settings: no networks and an empty set mean the same.
fn same(have: &Zone, want: &Zone) -> bool {
    let ids = |zone: &Zone| -> BTreeSet<String> {
        sets::known(&zone.networks).iter().map(NetworkRef::id).collect()
    };
    ids(have) == ids(want)
        && (&have.description, &have.forwarding_targets, &have.peering_network)
            == (&want.description, &want.forwarding_targets, &want.peering_network)
}

/// The state of a zone as the API returns it; its ID and timeouts are those of `before`.
fn state(found: &model::ManagedZone, before: &Zone) -> Result<Zone, ApiError> {
    let name = found.name.as_deref().or_missing(GET, "name")?;
    let visible = found.private_visibility_config.as_ref();
    let networks = visible.map(|config| config.networks.as_slice()).unwrap_or_default();
    let urls = networks
        .iter()
        .map(|network| network.network_url.clone().or_missing(GET, "networkUrl"))
        .collect::<Result<Vec<_>, ApiError>>()?;
    let peer = found.peering_config.as_ref().and_then(|config| config.target_network.as_ref());
    let peering_network = match peer {
        Some(peer) => {
            link::found(GET, "peeringConfig", peer.network_url.as_deref(), &before.peering_network)?
        }
        None => Attr::Null,
    };
    Ok(Zone {
        object: before.object.found(name, before.object.mark.found(&found.labels)),
        dns_name: found.dns_name.clone().or_missing(GET, "dnsName")?.into(),
        description: found.description.clone().and_then(non_empty).into(),
        networks: link::found_all(GET, "privateVisibilityConfig.networks", urls, &before.networks)?,
        forwarding_targets: targets(found, before)?,
        peering_network,
    })
}

/// The name servers of a zone; the default path is as it was written.
fn targets(found: &model::ManagedZone, before: &Zone) -> Result<Attr<BTreeSet<Target>>, ApiError> {
    let Some(config) = &found.forwarding_config else { return Ok(Attr::Null) };
    let written = before.forwarding_targets.known();
    let read = |server: &model::ManagedZoneForwardingConfigNameServerTarget| {
        let ipv4_address: Attr<Ipv4Addr> =
            Attr::Known(server.ipv_4_address.as_deref().parsed(GET, "ipv4Address")?);
        let path = server.forwarding_path.as_ref().and_then(Path::name);
        let path: Option<ForwardingPath> = path.parsed_if_set(GET, "forwardingPath")?;
        let path = path.filter(|path| *path != ForwardingPath::Default);
        let same = written.into_iter().flatten().find(|target| target.ipv4_address == ipv4_address);
        let forwarding_path = match (path, same) {
            (None, Some(Target { forwarding_path: Attr::Known(ForwardingPath::Default), .. })) => {
                ForwardingPath::Default.into()
            }
            (path, _) => path.into(),
        };
        Ok(Target { ipv4_address, forwarding_path })
    };
    config.target_name_servers.iter().map(read).collect::<Result<_, ApiError>>().map(Attr::Known)
}
