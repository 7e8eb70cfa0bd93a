//! Subnetworks with their secondary ranges.

use google_cloud_compute_v1::model::Subnetwork;
use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Location, Usage};

use super::{Sort, network_id};
use crate::account::Gcp;
use crate::error::{ApiError, Named as _, OrMissing as _, non_empty};
use crate::link;
use crate::marker;

const LIST: &str = "subnetworks.aggregatedList";

pub(super) const SORT: Sort =
    Sort { what: "subnetworks", permissions: &["compute.subnetworks.list"], setting: None };

/// The resource type.
pub(super) const KIND: &str = "warren_gcp_subnetwork";

/// The ranges of the subnetworks, and their networks.
pub(super) fn listing(project: &str, found: &[Subnetwork]) -> Result<Listing, ApiError> {
    let mut all = Listing::default();
    for subnet in found {
        all.ranges.extend(ranges(project, subnet)?);
    }
    all.networks = found.iter().filter_map(|subnet| subnet.network.as_deref()).map(network_id).collect();
    Ok(all)
}

/// Every subnetwork of the project, or of one of its networks.
pub(crate) async fn list(
    gcp: &Gcp,
    project: &str,
    network: Option<&str>,
) -> Result<Vec<Subnetwork>, ApiError> {
    let mut found = Vec::new();
    let mut page = None;
    loop {
        let call =
            gcp.clients.subnetworks.aggregated_list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        found.extend(answer.items.into_values().flat_map(|scope| scope.subnetworks));
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            break;
        }
    }
    if let Some(network) = network {
        found.retain(|subnet| subnet.network.as_deref().is_some_and(|its| link::same(its, network)));
    }
    Ok(found)
}

/// The ranges of a subnetwork.
pub(crate) fn nets(subnet: &Subnetwork) -> Vec<IpNet> {
    let secondary = subnet.secondary_ip_ranges.iter().filter_map(|range| range.ip_cidr_range.as_deref());
    let all = subnet.ip_cidr_range.as_deref().into_iter().chain(secondary);
    all.filter_map(|net| net.parse::<IpNet>().ok()).collect()
}

fn ranges(project: &str, subnet: &Subnetwork) -> Result<Vec<LiveRange>, ApiError> {
    let id = link::id(subnet.self_link.as_deref().or_missing(LIST, "selfLink")?);
    let (marker, _) = marker::split(subnet.description.as_deref());
    let region = link::last(subnet.region.as_deref()).or_missing(LIST, "region")?;
    let name = subnet.name.as_deref().or_missing(LIST, "name")?;
    let range = |net| LiveRange {
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
    Ok(nets(subnet).into_iter().map(range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_carry_owner_and_location() {
        let subnet = Subnetwork::new()
            .set_name("data")
            .set_self_link("https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/data")
            .set_region("https://www.googleapis.com/compute/v1/projects/p/regions/r")
            .set_description("[warren:f/o/data] for data")
            .set_ip_cidr_range("10.1.0.0/20");
        let found = ranges("p", &subnet).unwrap();
        assert_eq!(found[0].id, "projects/p/regions/r/subnetworks/data");
        assert_eq!(
            (found[0].owner.as_deref(), found[0].location.to_string()),
            (Some("o"), "Google Cloud project p, r".to_owned())
        );
    }
}
