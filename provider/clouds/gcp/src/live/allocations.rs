//! Ranges that are set aside in a network. No subnetwork can have their addresses: Google refuses it in the same network
//! ("Internal ranges overview", "Private services access" in the documentation of VPC).

use google_cloud_compute_v1::model::address::Purpose;
use ipnet::IpNet;
use warren_guard::{LiveRange, Location, Usage};

use super::networks::Network;
use super::{Reading, SETTING, Sort, network_id};
use crate::account::Gcp;
use crate::error::{ApiError, Named as _, OrMissing as _, non_empty};
use crate::link;

const LIST: &str = "globalAddresses.list";
const LIST_INTERNAL: &str = "internalRanges.list";

pub(super) const ADDRESSES: Sort = Sort {
    what: "ranges of Private Services Access",
    permissions: &["compute.globalAddresses.list"],
    setting: SETTING,
};

pub(super) const INTERNAL_RANGES: Sort = Sort {
    what: "internal ranges",
    permissions: &["networkconnectivity.internalRanges.list"],
    setting: SETTING,
};

/// Global addresses with the purpose `VPC_PEERING`: from them, producers of services such as Cloud SQL get subnets.
pub(super) async fn addresses(
    gcp: &Gcp,
    networks: &[Network],
    reading: &mut Reading<'_>,
) -> Result<(), ApiError> {
    let project = reading.project;
    let mut page = None;
    loop {
        let call =
            gcp.clients.global_addresses().await?.list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        for address in answer.items {
            if address.purpose != Some(Purpose::VpcPeering) {
                continue;
            }
            let id = link::id(address.self_link.as_deref().or_missing(LIST, "selfLink")?);
            let first = address.address.as_deref().or_missing(LIST, "address")?;
            let prefix = address.prefix_length.or_missing(LIST, "prefixLength")?;
            let Some(net) = reading.parsed(&id, &format!("{first}/{prefix}")) else { continue };
            let network = address.network.as_deref();
            let range = range(net, ("Private Services Access range", id), project, network, networks);
            reading.found.ranges.push(range);
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}

/// Internal ranges of Network Connectivity. They are global resources.
pub(super) async fn internal_ranges(
    gcp: &Gcp,
    networks: &[Network],
    reading: &mut Reading<'_>,
) -> Result<(), ApiError> {
    let project = reading.project;
    let parent = format!("projects/{project}/locations/global");
    let mut page = String::new();
    loop {
        let call = gcp.clients.internal_ranges().await?.list_internal_ranges().set_parent(&parent);
        let answer = call.set_page_token(page).send().await.named(LIST_INTERNAL)?;
        for internal in answer.internal_ranges {
            // A range that is still to be allocated has none.
            if internal.ip_cidr_range.is_empty() {
                continue;
            }
            let Some(net) = reading.parsed(&internal.name, &internal.ip_cidr_range) else { continue };
            let network = Some(internal.network.as_str()).filter(|network| !network.is_empty());
            let range = range(net, ("internal range", internal.name), project, network, networks);
            reading.found.ranges.push(range);
        }
        match non_empty(answer.next_page_token) {
            Some(next) => page = next,
            None => return Ok(()),
        }
    }
}

/// A range with the owner of its network.
fn range(
    net: IpNet,
    (kind, id): (&'static str, String),
    project: &str,
    network: Option<&str>,
    networks: &[Network],
) -> LiveRange {
    let network = network.map(network_id);
    let its = networks.iter().find(|one| Some(&one.id) == network.as_ref());
    LiveRange {
        net,
        usage: Usage::Allocated,
        kind: kind.into(),
        id,
        name: String::new(),
        owner: its.and_then(|network| network.owner.clone()),
        fabric: its.and_then(|network| network.fabric.clone()),
        location: Location::gcp(project, ""),
        parent: network,
    }
}
