//! API calls for subnetworks.

use std::collections::BTreeMap;

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::subnetwork_log_config::{AggregationInterval, Metadata};
use ipnet::Ipv4Net;
use tf_provider_rs::Attr;

use super::model::{FlowLogs, Subnetwork};
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link;

const GET: &str = "subnetworks.get";

/// Finds the subnetwork of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Subnetwork) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        let have = state(&found, planned)?;
        Ok((&have.network, &have.ip_cidr_range) == (&planned.network, &planned.ip_cidr_range)
            && found.description == Some(planned.marks(gcp)?))
    };
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating a subnetwork and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Subnetwork, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let mut body = model::Subnetwork::new()
        .set_name(planned.object.name()?)
        .set_description(description)
        .set_network(planned.network.value()?.id())
        .set_ip_cidr_range(planned.ip_cidr_range.value()?.to_string())
        .set_private_ip_google_access(planned.private_ip_google_access.is_true())
        .set_secondary_ip_ranges(secondary(planned, &[])?);
    if planned.flow_logs.is_known() {
        body = body.set_log_config(log_config(&planned.flow_logs, None)?);
    }
    let call = gcp
        .clients
        .subnetworks()
        .await?
        .insert()
        .set_project(&gcp.project)
        .set_region(planned.region.value()?);
    let call = call.set_body(body);
    gcp.began(&id, begin!("subnetworks.insert", &id, call));
    Ok(id)
}

/// Reads the subnetwork; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Subnetwork) -> Result<Subnetwork, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

/// Starts to grow the primary range to the planned one, when it is another.
pub(super) async fn expand(gcp: &Gcp, want: &Subnetwork) -> Result<Option<Begun>, ApiError> {
    if get(gcp, want).await?.ip_cidr_range == want.ip_cidr_range {
        return Ok(None);
    }
    let id = want.object.id()?;
    let (project, region, name) = link::regional("subnetworks.expandIpCidrRange", id)?;
    let range = want.ip_cidr_range.value()?.to_string();
    let body = model::SubnetworksExpandIpCidrRangeRequest::new().set_ip_cidr_range(range);
    let call =
        gcp.clients.subnetworks().await?.expand_ip_cidr_range().set_project(project).set_region(region);
    let call = call.set_subnetwork(name).set_body(body);
    Ok(Some(begin!("subnetworks.expandIpCidrRange", id, call)))
}

/// Starts to change secondary ranges and flow logs to the planned ones, when they are others.
pub(super) async fn patch(gcp: &Gcp, want: &Subnetwork) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let have = state(&found, want)?;
    let (ranges, logs) =
        (have.secondary_ip_ranges != want.secondary_ip_ranges, have.flow_logs != want.flow_logs);
    if !ranges && !logs {
        return Ok(None);
    }
    // The change applies only to the state that was read.
    let mut body = model::Subnetwork::new().set_or_clear_fingerprint(found.fingerprint);
    if ranges {
        body = body.set_secondary_ip_ranges(secondary(want, &found.secondary_ip_ranges)?);
    }
    if logs {
        body = body.set_log_config(log_config(&want.flow_logs, found.log_config)?);
    }
    let (project, region, name) = link::regional("subnetworks.patch", id)?;
    let call =
        gcp.clients.subnetworks().await?.patch().set_project(project).set_region(region).set_subnetwork(name);
    let call = call.set_body(body);
    Ok(Some(begin!("subnetworks.patch", id, call)))
}

/// Starts to switch private access to Google's APIs, when it is not as planned.
pub(super) async fn set_private_access(gcp: &Gcp, want: &Subnetwork) -> Result<Option<Begun>, ApiError> {
    if get(gcp, want).await?.private_ip_google_access == want.private_ip_google_access {
        return Ok(None);
    }
    let id = want.object.id()?;
    let (project, region, name) = link::regional("subnetworks.setPrivateIpGoogleAccess", id)?;
    let on = want.private_ip_google_access.is_true();
    let body = model::SubnetworksSetPrivateIpGoogleAccessRequest::new().set_private_ip_google_access(on);
    let call = gcp
        .clients
        .subnetworks()
        .await?
        .set_private_ip_google_access()
        .set_project(project)
        .set_region(region);
    let call = call.set_subnetwork(name).set_body(body);
    Ok(Some(begin!("subnetworks.setPrivateIpGoogleAccess", id, call)))
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, region, name) = link::regional("subnetworks.delete", id)?;
    let call = gcp
        .clients
        .subnetworks()
        .await?
        .delete()
        .set_project(project)
        .set_region(region)
        .set_subnetwork(name);
    Ok(begin!("subnetworks.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Subnetwork, ApiError> {
    let (project, region, name) = link::regional(GET, id)?;
    let call =
        gcp.clients.subnetworks().await?.get().set_project(project).set_region(region).set_subnetwork(name);
    call.send().await.named(GET)
}

/// The planned ranges. One that exists already stays as it is, with what this resource does not manage, such as its internal
/// range.
pub(super) fn secondary(
    subnet: &Subnetwork,
    before: &[model::SubnetworkSecondaryRange],
) -> Result<Vec<model::SubnetworkSecondaryRange>, ApiError> {
    let ranges = subnet.secondary_ip_ranges.known().into_iter().flatten();
    let written = |(name, range): (&String, &Attr<Ipv4Net>)| {
        let range = range.value()?.to_string();
        let same = |found: &&model::SubnetworkSecondaryRange| {
            (found.range_name.as_ref(), found.ip_cidr_range.as_ref()) == (Some(name), Some(&range))
        };
        let found = before.iter().find(same).cloned();
        Ok(found.unwrap_or_else(|| {
            model::SubnetworkSecondaryRange::new().set_range_name(name).set_ip_cidr_range(range)
        }))
    };
    ranges.map(written).collect()
}

/// The planned flow logs, with what this resource does not manage as it is in `before`.
pub(super) fn log_config(
    logs: &Attr<FlowLogs>,
    before: Option<model::SubnetworkLogConfig>,
) -> Result<model::SubnetworkLogConfig, ApiError> {
    // A list of metadata goes with a choice that the resource does not have.
    let config = before.unwrap_or_default().set_metadata_fields(Vec::<String>::new());
    let Some(logs) = logs.known() else {
        let config = config.set_or_clear_filter_expr(None::<String>).set_or_clear_flow_sampling(None::<f32>);
        let config = config.set_or_clear_metadata(None::<Metadata>);
        let config = config.set_or_clear_aggregation_interval(None::<AggregationInterval>);
        return Ok(config.set_enable(false));
    };
    let mut config = config
        .set_enable(true)
        .set_aggregation_interval(logs.aggregation_interval.value()?.as_str())
        .set_metadata(logs.metadata.value()?.as_str())
        .set_filter_expr(logs.filter.value()?);
    if let Some(sampling) = logs.sampling.known() {
        #[expect(clippy::cast_possible_truncation, reason = "the API takes single precision")]
        let sampling = *sampling as f32;
        config = config.set_flow_sampling(sampling);
    }
    Ok(config)
}

/// The state of a subnetwork as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Subnetwork, before: &Subnetwork) -> Result<Subnetwork, ApiError> {
    let logs = found.log_config.as_ref().filter(|log| log.enable.unwrap_or_default());
    Ok(Subnetwork {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        network: link::found(GET, "network", found.network.as_deref(), &before.network)?,
        region: link::last(found.region.as_deref()).or_missing(GET, "region")?.into(),
        ip_cidr_range: Attr::Known(found.ip_cidr_range.as_deref().parsed(GET, "ipCidrRange")?),
        secondary_ip_ranges: secondary_ranges(&found.secondary_ip_ranges, before)?,
        private_ip_google_access: found.private_ip_google_access.unwrap_or_default().into(),
        flow_logs: logs.map(flow_logs).transpose()?.into(),
        gateway_address: found.gateway_address.as_deref().parsed_if_set(GET, "gatewayAddress")?.into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}

fn secondary_ranges(
    found: &[model::SubnetworkSecondaryRange],
    before: &Subnetwork,
) -> Result<Attr<BTreeMap<String, Attr<Ipv4Net>>>, ApiError> {
    if found.is_empty() && !before.secondary_ip_ranges.is_known() {
        return Ok(Attr::Null);
    }
    let read = |range: &model::SubnetworkSecondaryRange| {
        let name = range.range_name.clone().or_missing(GET, "secondaryIpRanges.rangeName")?;
        let net = range.ip_cidr_range.as_deref().parsed(GET, "secondaryIpRanges.ipCidrRange")?;
        Ok((name, Attr::Known(net)))
    };
    found.iter().map(read).collect::<Result<_, _>>().map(Attr::Known)
}

fn flow_logs(config: &model::SubnetworkLogConfig) -> Result<FlowLogs, ApiError> {
    let interval = config.aggregation_interval.as_ref().and_then(AggregationInterval::name);
    // Metadata that another tool selects one by one has no value here: the next apply replaces it.
    let metadata = config.metadata.as_ref().and_then(Metadata::name).and_then(|name| name.parse().ok());
    // Through its shortest text: 0.1 in single precision is not 0.1 in double precision.
    let sampling = config.flow_sampling.map(|part| part.to_string());
    Ok(FlowLogs {
        aggregation_interval: interval.parsed_if_set(GET, "logConfig.aggregationInterval")?.into(),
        sampling: sampling.as_deref().parsed_if_set(GET, "logConfig.flowSampling")?.into(),
        metadata: metadata.into(),
        filter: config.filter_expr.clone().into(),
    })
}
