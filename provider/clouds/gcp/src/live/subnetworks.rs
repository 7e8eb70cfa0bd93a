//! Subnetworks with their secondary ranges.

use google_cloud_compute_v1::model::Subnetwork;
use ipnet::IpNet;
use warren_guard::{LiveRange, Location, Usage};

use super::{Reading, Sort, network_id};
use crate::account::Gcp;
use crate::error::{ApiError, Named as _, OrMissing as _, non_empty};
use crate::link;
use crate::marker;

const LIST: &str = "subnetworks.aggregatedList";

pub(super) const SORT: Sort =
    Sort { what: "subnetworks", permissions: &["compute.subnetworks.list"], setting: None };

/// The resource type.
pub(super) const KIND: &str = "warren_gcp_subnetwork";

/// Reads the ranges of the subnetworks, and their networks.
pub(super) fn ranges_of(found: &[Subnetwork], reading: &mut Reading<'_>) {
    for subnet in found {
        if let Err(error) = ranges(subnet, reading) {
            reading.missed(&error);
        }
    }
    let networks = found.iter().filter_map(|subnet| subnet.network.as_deref()).map(network_id);
    reading.found.networks.extend(networks);
}

/// Every subnetwork of the project, or of one of its networks.
pub(crate) async fn list(
    gcp: &Gcp,
    project: &str,
    network: Option<&str>,
) -> Result<Vec<Subnetwork>, ApiError> {
    let mut found = Vec::new();
    pages(gcp, project, &mut found).await?;
    if let Some(network) = network {
        found.retain(|subnet| subnet.network.as_deref().is_some_and(|its| link::same(its, network)));
    }
    Ok(found)
}

/// Every subnetwork of the project, until an error.
pub(super) async fn pages(gcp: &Gcp, project: &str, found: &mut Vec<Subnetwork>) -> Result<(), ApiError> {
    let mut page = None;
    loop {
        let call = gcp
            .clients
            .subnetworks()
            .await?
            .aggregated_list()
            .set_project(project)
            .set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        found.extend(answer.items.into_values().flat_map(|scope| scope.subnetworks));
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}

/// The ranges of a subnetwork.
pub(crate) fn nets(subnet: &Subnetwork) -> Vec<IpNet> {
    texts(subnet).filter_map(|net| net.parse::<IpNet>().ok()).collect()
}

fn texts(subnet: &Subnetwork) -> impl Iterator<Item = &str> {
    let secondary = subnet.secondary_ip_ranges.iter().filter_map(|range| range.ip_cidr_range.as_deref());
    subnet.ip_cidr_range.as_deref().into_iter().chain(secondary)
}

fn ranges(subnet: &Subnetwork, reading: &mut Reading<'_>) -> Result<(), ApiError> {
    let id = link::id(subnet.self_link.as_deref().or_missing(LIST, "selfLink")?);
    let (marker, _) = marker::split(subnet.description.as_deref());
    let region = link::last(subnet.region.as_deref()).or_missing(LIST, "region")?;
    let name = subnet.name.as_deref().or_missing(LIST, "name")?;
    let project = reading.project;
    let of = |net| LiveRange {
        net,
        usage: Usage::Network,
        kind: KIND.into(),
        id: id.clone(),
        name: name.to_owned(),
        owner: marker.as_ref().map(|marker| marker.owner.clone()),
        fabric: marker.as_ref().map(|marker| marker.fabric.clone()),
        location: Location::gcp(project, region),
        // Google Cloud networks have no ranges of their own, so a subnetwork is compared with everything.
        parent: None,
    };
    let nets: Vec<IpNet> = texts(subnet).filter_map(|net| reading.parsed(&id, net)).collect();
    reading.found.ranges.extend(nets.into_iter().map(of));
    Ok(())
}

#[cfg(test)]
mod tests {
    use google_cloud_compute_v1::model::SubnetworkSecondaryRange;

    use super::*;

    #[test]
    fn ranges_carry_owner_and_location() {
        let subnet = Subnetwork::new()
            .set_name("data")
            .set_self_link("https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/data")
            .set_region("https://www.googleapis.com/compute/v1/projects/p/regions/r")
            .set_description("[warren:f/o/data] for data")
            .set_ip_cidr_range("10.1.0.0/20")
            .set_secondary_ip_ranges([SubnetworkSecondaryRange::new().set_ip_cidr_range("2001:db8::/")]);
        let mut reading = Reading::new(&SORT, "p");
        ranges_of(&[subnet, Subnetwork::new()], &mut reading);
        let (found, unread) = (reading.found.ranges, reading.found.unread);
        assert_eq!(found.len(), 1);
        let reasons: Vec<&str> = unread.iter().map(|unread| unread.reason.as_str()).collect();
        insta::assert_snapshot!(reasons.join("\n"));
        assert_eq!(found[0].id, "projects/p/regions/r/subnetworks/data");
        assert_eq!(
            (found[0].owner.as_deref(), found[0].location.to_string()),
            (Some("o"), "Google Cloud project p, r".to_owned())
        );
    }
}
