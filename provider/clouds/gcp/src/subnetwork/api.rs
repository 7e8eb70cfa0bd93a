//! API calls for subnetworks.

use std::collections::BTreeMap;

use bytes::Bytes;
use google_cloud_compute_v1::model;
use tf_provider_rs::{Attr, Number};

use super::schema::{FlowLogs, Subnetwork};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A subnetwork as the API returns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) network: String,
    pub(super) region: String,
    pub(super) range: String,
    pub(super) secondary: BTreeMap<String, String>,
    pub(super) private_access: bool,
    pub(super) logs: Option<FlowLogs>,
    pub(super) gateway: Option<String>,
    pub(super) self_link: String,
    /// A change must name it, so that it applies only to the state that was read.
    pub(super) fingerprint: Option<Bytes>,
}

/// Finds the subnetwork of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Subnetwork) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = link::same(&found.network, planned.network.text())
        && found.range == planned.ip_cidr_range.text()
        && found.description == planned.marks(gcp)?;
    planned.adoptable(gcp, &found.description, same)
}

/// Starts creating a subnetwork and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Subnetwork, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let mut body = model::Subnetwork::new()
        .set_name(planned.name.text())
        .set_description(description)
        .set_network(link::id(planned.network.text()))
        .set_ip_cidr_range(planned.ip_cidr_range.text())
        .set_private_ip_google_access(planned.private_ip_google_access.is_true())
        .set_secondary_ip_ranges(secondary(planned));
    if planned.flow_logs.is_known() {
        body = body.set_log_config(log_config(&planned.flow_logs));
    }
    let call = gcp.clients.subnetworks.insert().set_project(&gcp.project).set_region(planned.region.text());
    let call = call.set_body(body);
    gcp.began(&id, begin!("subnetworks.insert", &id, call));
    Ok(id)
}

/// Reads the subnetwork `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let Link { project, region, name, .. } = link::parsed("subnetworks.get", id)?;
    let region = region.unwrap_or_default();
    let call = gcp.clients.subnetworks.get().set_project(project).set_region(&region).set_subnetwork(name);
    let subnet = call.send().await.named("subnetworks.get")?;
    let secondary = subnet.secondary_ip_ranges.into_iter();
    Ok(Found {
        id: id.to_owned(),
        name: subnet.name.unwrap_or_default(),
        description: subnet.description.unwrap_or_default(),
        network: subnet.network.unwrap_or_default(),
        region,
        range: subnet.ip_cidr_range.unwrap_or_default(),
        secondary: secondary
            .map(|range| (range.range_name.unwrap_or_default(), range.ip_cidr_range.unwrap_or_default()))
            .collect(),
        private_access: subnet.private_ip_google_access.unwrap_or_default(),
        logs: subnet.log_config.filter(|log| log.enable.unwrap_or_default()).map(flow_logs),
        gateway: subnet.gateway_address,
        self_link: subnet.self_link.unwrap_or_default(),
        fingerprint: subnet.fingerprint,
    })
}

/// Starts to grow the primary range to the planned one, when it is another.
pub(super) async fn expand(gcp: &Gcp, id: &str, want: &Subnetwork) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, id).await?;
    if have.range == want.ip_cidr_range.text() {
        return Ok(None);
    }
    let Link { project, region, name, .. } = link::parsed("subnetworks.get", id)?;
    let region = region.unwrap_or_default();
    let body = model::SubnetworksExpandIpCidrRangeRequest::new().set_ip_cidr_range(want.ip_cidr_range.text());
    let call = gcp.clients.subnetworks.expand_ip_cidr_range().set_project(project).set_region(region);
    let call = call.set_subnetwork(name).set_body(body);
    Ok(Some(begin!("subnetworks.expandIpCidrRange", id, call)))
}

/// Starts to change secondary ranges and flow logs to the planned ones, when they are others.
pub(super) async fn patch(gcp: &Gcp, id: &str, want: &Subnetwork) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, id).await?;
    let wanted: BTreeMap<String, String> = secondary(want)
        .into_iter()
        .map(|range| (range.range_name.unwrap_or_default(), range.ip_cidr_range.unwrap_or_default()))
        .collect();
    let logs = have.logs.as_ref() != want.flow_logs.known();
    if have.secondary == wanted && !logs {
        return Ok(None);
    }
    let mut body = model::Subnetwork::new().set_or_clear_fingerprint(have.fingerprint);
    if have.secondary != wanted {
        body = body.set_secondary_ip_ranges(secondary(want));
    }
    if logs {
        body = body.set_log_config(log_config(&want.flow_logs));
    }
    let Link { project, region, name, .. } = link::parsed("subnetworks.get", id)?;
    let region = region.unwrap_or_default();
    let call = gcp.clients.subnetworks.patch().set_project(project).set_region(region).set_subnetwork(name);
    let call = call.set_body(body);
    Ok(Some(begin!("subnetworks.patch", id, call)))
}

/// Starts to switch private access to Google's APIs, when it is not as planned.
pub(super) async fn set_private_access(
    gcp: &Gcp,
    id: &str,
    want: &Subnetwork,
) -> Result<Option<Begun>, ApiError> {
    let on = want.private_ip_google_access.is_true();
    if get(gcp, id).await?.private_access == on {
        return Ok(None);
    }
    let Link { project, region, name, .. } = link::parsed("subnetworks.get", id)?;
    let region = region.unwrap_or_default();
    let body = model::SubnetworksSetPrivateIpGoogleAccessRequest::new().set_private_ip_google_access(on);
    let call = gcp.clients.subnetworks.set_private_ip_google_access().set_project(project).set_region(region);
    let call = call.set_subnetwork(name).set_body(body);
    Ok(Some(begin!("subnetworks.setPrivateIpGoogleAccess", id, call)))
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, region, name, .. } = link::parsed("subnetworks.get", id)?;
    let region = region.unwrap_or_default();
    let call = gcp.clients.subnetworks.delete().set_project(project).set_region(region).set_subnetwork(name);
    Ok(begin!("subnetworks.delete", id, call))
}

fn secondary(subnet: &Subnetwork) -> Vec<model::SubnetworkSecondaryRange> {
    let ranges = subnet.secondary_ip_ranges.known().into_iter().flatten();
    ranges
        .map(|(name, range)| {
            model::SubnetworkSecondaryRange::new().set_range_name(name).set_ip_cidr_range(range.text())
        })
        .collect()
}

fn log_config(logs: &Attr<FlowLogs>) -> model::SubnetworkLogConfig {
    let config = model::SubnetworkLogConfig::new();
    let Some(logs) = logs.known() else { return config.set_enable(false) };
    let mut config = config
        .set_enable(true)
        .set_aggregation_interval(logs.aggregation_interval.text())
        .set_metadata(logs.metadata.text())
        .set_filter_expr(logs.filter.text());
    if let Some(sampling) = logs.sampling.known().and_then(Number::to_f64) {
        #[expect(clippy::cast_possible_truncation, reason = "the API takes single precision")]
        let sampling = sampling as f32;
        config = config.set_flow_sampling(sampling);
    }
    config
}

fn flow_logs(config: model::SubnetworkLogConfig) -> FlowLogs {
    // Through its shortest text: 0.1 in single precision is not 0.1 in double precision.
    let sampling = config.flow_sampling.and_then(|part| Number::parse(&part.to_string()));
    FlowLogs {
        aggregation_interval: name(config.aggregation_interval.and_then(|it| it.name().map(str::to_owned))),
        sampling: sampling.into(),
        metadata: name(config.metadata.and_then(|it| it.name().map(str::to_owned))),
        filter: name(config.filter_expr),
    }
}

fn name(text: Option<String>) -> Attr<String> {
    text.into()
}
