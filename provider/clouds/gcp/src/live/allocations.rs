//! Ranges that are set aside in a network. No subnetwork can have their addresses: Google refuses it in the same network
//! ("Internal ranges overview", "Private services access" in the documentation of VPC).

use google_cloud_compute_v1::model::address::Purpose;
use ipnet::{IpNet, Ipv4Net};
use warren_guard::{Listing, LiveRange, Location, Usage};

use super::networks::Network;
use super::{SETTING, Sort, listing, network_id};
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
pub(super) async fn addresses(gcp: &Gcp, project: &str, networks: &[Network]) -> Result<Listing, ApiError> {
    let mut found = Vec::new();
    let mut page = None;
    loop {
        let call = gcp.clients.global_addresses.list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        for address in answer.items {
            if address.purpose != Some(Purpose::VpcPeering) {
                continue;
            }
            let id = link::id(address.self_link.as_deref().or_missing(LIST, "selfLink")?);
            let first = address.address.as_deref().or_missing(LIST, "address")?;
            let prefix = address.prefix_length.and_then(|prefix| u8::try_from(prefix).ok());
            let net = prefix.and_then(|prefix| Ipv4Net::new(first.parse().ok()?, prefix).ok());
            let net = net.or_missing(LIST, "prefixLength")?;
            let network = address.network.as_deref();
            found.push(range(net.into(), ("Private Services Access range", id), project, network, networks));
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(listing(found));
        }
    }
}

/// Internal ranges of Network Connectivity. They are global resources.
pub(super) async fn internal_ranges(
    gcp: &Gcp,
    project: &str,
    networks: &[Network],
) -> Result<Listing, ApiError> {
    let parent = format!("projects/{project}/locations/global");
    let mut found = Vec::new();
    let mut page = String::new();
    loop {
        let call = gcp.clients.internal_ranges.list_internal_ranges().set_parent(&parent);
        let answer = call.set_page_token(page).send().await.named(LIST_INTERNAL)?;
        for internal in answer.internal_ranges {
            // A range that is still to be allocated has none.
            let Ok(net) = internal.ip_cidr_range.parse::<IpNet>() else { continue };
            let network = Some(internal.network.as_str()).filter(|network| !network.is_empty());
            found.push(range(net, ("internal range", internal.name), project, network, networks));
        }
        match non_empty(answer.next_page_token) {
            Some(next) => page = next,
            None => return Ok(listing(found)),
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
        net: net.trunc(),
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
