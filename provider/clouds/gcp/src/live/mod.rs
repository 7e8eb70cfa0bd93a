//! The live ranges of a project and of its Shared VPC host, for the guard: subnetworks, allocated ranges, and routes.

mod allocations;
mod networks;
mod routes;
mod shared_vpc;
pub(crate) mod subnetworks;

use std::collections::BTreeSet;
use std::sync::Arc;

use google_cloud_compute_v1::model::Subnetwork;
use tf_provider_rs::{Choice, async_trait};
use warren_guard::{Listing, LiveRange, LiveSource, Unread, Usage};

use self::networks::Network;
use crate::account::Gcp;
use crate::error::ApiError;

/// What is compared besides subnetworks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
pub enum LiveRanges {
    /// Ranges that are allocated for Private Services Access.
    #[choice("private_services_access")]
    PrivateServicesAccess,
    /// Internal ranges of Network Connectivity.
    #[choice("internal_ranges")]
    InternalRanges,
    /// Static routes, and those that Cloud Routers have learned.
    #[choice("routes")]
    Routes,
    /// Routes that peered networks export.
    #[choice("peering_routes")]
    PeeringRoutes,
    /// The same of the Shared VPC host project.
    #[choice("shared_vpc")]
    SharedVpc,
}

/// Everything that is compared by default.
pub(crate) const ALL: [LiveRanges; 5] = [
    LiveRanges::PrivateServicesAccess,
    LiveRanges::InternalRanges,
    LiveRanges::Routes,
    LiveRanges::PeeringRoutes,
    LiveRanges::SharedVpc,
];

/// The setting that stops reading some of them.
const SETTING: Option<&str> = Some("`gcp.live_ranges` in the provider block");

/// One sort of ranges.
struct Sort {
    what: &'static str,
    permissions: &'static [&'static str],
    setting: Option<&'static str>,
}

/// Lists them, except those of networks in the provider block's `ignore_live`.
pub(crate) struct LiveGcp {
    gcp: Arc<Gcp>,
}

impl LiveGcp {
    pub(crate) fn new(gcp: Arc<Gcp>) -> LiveGcp {
        LiveGcp { gcp }
    }
}

#[async_trait]
impl LiveSource for LiveGcp {
    fn name(&self) -> String {
        scope(&self.gcp.project)
    }

    async fn list(&self) -> Listing {
        let gcp = &*self.gcp;
        let shared = async {
            match gcp.live_ranges.contains(&LiveRanges::SharedVpc) {
                true => shared_vpc::read(gcp).await,
                false => Listing::default(),
            }
        };
        let (mut all, shared) = tokio::join!(of_project(gcp, &gcp.project, &subnetworks::SORT), shared);
        all.extend(shared);
        let ignored = |id: &String| gcp.ignore_live.contains(id);
        all.ranges.retain(|range| !ignored(&range.id) && !range.parent.as_ref().is_some_and(ignored));
        all
    }
}

/// Everything in a project.
async fn of_project(gcp: &Gcp, project: &str, sort: &Sort) -> Listing {
    let (subnetworks, networks) =
        tokio::join!(subnetworks::list(gcp, project, None), networks::list(gcp, project));
    let regions = regions(gcp, subnetworks.as_deref().unwrap_or_default());
    let read = subnetworks.and_then(|found| subnetworks::listing(project, &found));
    let mut all = or_unread(sort, project, read);
    let networks = match networks {
        Ok(networks) => networks,
        Err(error) => {
            all.extend(or_unread(&networks::SORT, project, Err(error)));
            Vec::new()
        }
    };
    all.networks.extend(networks.iter().map(|network| network.id.clone()));
    all.extend(besides(gcp, project, &networks, &regions).await);
    all
}

/// The regions in use: that of the provider block, and those of the subnetworks.
fn regions(gcp: &Gcp, subnetworks: &[Subnetwork]) -> BTreeSet<String> {
    let used = subnetworks.iter().filter_map(|subnet| crate::link::last(subnet.region.as_deref()));
    used.map(str::to_owned).chain(gcp.region.clone()).collect()
}

/// What is read besides the subnetworks.
async fn besides(gcp: &Gcp, project: &str, networks: &[Network], regions: &BTreeSet<String>) -> Listing {
    let wanted = |ranges| gcp.live_ranges.contains(&ranges);
    let addresses = async {
        match wanted(LiveRanges::PrivateServicesAccess) {
            true => allocations::addresses(gcp, project, networks).await,
            false => Ok(Listing::default()),
        }
    };
    let internal = async {
        match wanted(LiveRanges::InternalRanges) {
            true => allocations::internal_ranges(gcp, project, networks).await,
            false => Ok(Listing::default()),
        }
    };
    let fixed = async {
        match wanted(LiveRanges::Routes) {
            true => routes::fixed(gcp, project).await,
            false => Ok(Listing::default()),
        }
    };
    let learned = async {
        match wanted(LiveRanges::Routes) {
            true => routes::learned(gcp, project).await,
            false => Ok(Listing::default()),
        }
    };
    let peers = async {
        match wanted(LiveRanges::PeeringRoutes) {
            true => routes::of_peers(gcp, project, networks, regions).await,
            false => Ok(Listing::default()),
        }
    };
    let (addresses, internal, fixed, learned, peers) =
        tokio::join!(addresses, internal, fixed, learned, peers);
    let mut all = or_unread(&allocations::ADDRESSES, project, addresses);
    all.extend(or_unread(&allocations::INTERNAL_RANGES, project, internal));
    all.extend(or_unread(&routes::FIXED, project, fixed));
    all.extend(or_unread(&routes::LEARNED, project, learned));
    let mut peers = or_unread(&routes::OF_PEERS, project, peers);
    peers.ranges.retain(|range| !is_allocated(range, &all.ranges));
    all.extend(peers);
    all
}

/// Whether a producer of services has got the range of a peering's route from a range that the same network allocates.
fn is_allocated(route: &LiveRange, allocated: &[LiveRange]) -> bool {
    allocated.iter().filter(|range| range.usage == Usage::Allocated).any(|range| {
        let network = range.parent.as_ref().map(|network| format!("{network}/"));
        network.is_some_and(|network| route.id.starts_with(&network)) && range.net.contains(&route.net)
    })
}

/// The result of reading one sort of ranges.
fn or_unread(sort: &Sort, project: &str, read: Result<Listing, ApiError>) -> Listing {
    let unread = |error: &ApiError| Unread {
        what: sort.what,
        scope: scope(project),
        permissions: sort.permissions,
        reason: error.reason(),
        setting: sort.setting,
    };
    read.unwrap_or_else(|error| Listing { unread: vec![unread(&error)], ..Listing::default() })
}

fn scope(project: &str) -> String {
    format!("Google Cloud project {project}")
}

/// The parsed ranges of a listing.
fn listing(ranges: impl IntoIterator<Item = LiveRange>) -> Listing {
    Listing { ranges: ranges.into_iter().collect(), ..Listing::default() }
}

/// The ID of a network in a URL or ID of any API: Network Connectivity writes `locations/global`.
fn network_id(text: &str) -> String {
    crate::link::id(&text.replace("/locations/global/networks/", "/global/networks/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipnet::IpNet;
    use warren_guard::Location;

    fn range(usage: Usage, id: &str, net: &str, parent: &str) -> LiveRange {
        LiveRange {
            net: net.parse::<IpNet>().unwrap(),
            usage,
            kind: "range".into(),
            id: id.to_owned(),
            name: String::new(),
            owner: None,
            fabric: None,
            location: Location::gcp("p", ""),
            parent: Some(parent.to_owned()),
        }
    }

    #[test]
    fn a_producer_of_services_is_no_news() {
        let hub = "projects/p/global/networks/hub";
        let allocated = [range(Usage::Allocated, "projects/p/global/addresses/sql", "10.4.0.0/20", hub)];
        let route = |network: &str, net| {
            let id = format!("projects/p/global/networks/{network}/peerings/servicenetworking");
            range(Usage::Behind, &id, net, "projects/x/global/networks/servicenetworking")
        };
        assert!(is_allocated(&route("hub", "10.4.1.0/24"), &allocated));
        assert!(!is_allocated(&route("hub", "10.5.0.0/24"), &allocated));
        assert!(!is_allocated(&route("hub2", "10.4.1.0/24"), &allocated));
    }

    #[test]
    fn a_network_has_one_id() {
        let id = "projects/p/global/networks/hub";
        for text in [
            id,
            "projects/p/locations/global/networks/hub",
            "https://www.googleapis.com/compute/v1/projects/p/global/networks/hub",
        ] {
            assert_eq!(network_id(text), id);
        }
    }
}
