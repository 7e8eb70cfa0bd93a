//! The live ranges of a project and of its Shared VPC host, for the guard: subnetworks, allocated ranges, and routes.

mod allocations;
mod networks;
mod routes;
mod shared_vpc;
pub(crate) mod subnetworks;

use std::collections::BTreeSet;
use std::sync::Arc;

use google_cloud_compute_v1::model::Subnetwork;
use ipnet::IpNet;
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
    let (mut subnetworks, mut networks) = (Vec::new(), Vec::new());
    let (read, named) = tokio::join!(
        subnetworks::pages(gcp, project, &mut subnetworks),
        networks::list(gcp, project, &mut networks)
    );
    let regions = regions(gcp, &subnetworks);
    let mut reading = Reading::new(sort, project);
    subnetworks::ranges_of(&subnetworks, &mut reading);
    let mut all = reading.end(read);
    all.extend(Reading::new(&networks::SORT, project).end(named));
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
    let addresses = listed(&allocations::ADDRESSES, project, async |reading| {
        match wanted(LiveRanges::PrivateServicesAccess) {
            true => allocations::addresses(gcp, networks, reading).await,
            false => Ok(()),
        }
    });
    let internal = listed(&allocations::INTERNAL_RANGES, project, async |reading| {
        match wanted(LiveRanges::InternalRanges) {
            true => allocations::internal_ranges(gcp, networks, reading).await,
            false => Ok(()),
        }
    });
    let fixed = listed(&routes::FIXED, project, async |reading| match wanted(LiveRanges::Routes) {
        true => routes::fixed(gcp, reading).await,
        false => Ok(()),
    });
    let learned = listed(&routes::LEARNED, project, async |reading| match wanted(LiveRanges::Routes) {
        true => routes::learned(gcp, reading).await,
        false => Ok(()),
    });
    let peers = listed(&routes::OF_PEERS, project, async |reading| {
        if wanted(LiveRanges::PeeringRoutes) {
            routes::of_peers(gcp, networks, regions, reading).await;
        }
        Ok(())
    });
    let (mut all, internal, fixed, learned, mut peers) =
        tokio::join!(addresses, internal, fixed, learned, peers);
    all.extend(internal);
    all.extend(fixed);
    all.extend(learned);
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

/// What is read of one sort of ranges. After a call that failed, the others count all the same.
struct Reading<'a> {
    sort: &'a Sort,
    project: &'a str,
    found: Listing,
}

impl<'a> Reading<'a> {
    fn new(sort: &'a Sort, project: &'a str) -> Self {
        Reading { sort, project, found: Listing::default() }
    }

    /// Records a call that failed.
    fn missed(&mut self, error: &ApiError) {
        self.unread(error.reason());
    }

    /// The parsed range of an object. One that is not understood is not known to be free.
    fn parsed(&mut self, id: &str, net: &str) -> Option<IpNet> {
        let parsed = net.parse::<IpNet>().ok().map(|net| net.trunc());
        if parsed.is_none() {
            self.unread(format!("{id} has {net:?}, which is not a range of addresses."));
        }
        parsed
    }

    fn unread(&mut self, reason: String) {
        let Sort { what, permissions, setting } = *self.sort;
        let scope = scope(self.project);
        self.found.unread.push(Unread { what, scope, permissions, reason, setting });
    }

    /// What was read, until an error if there was one.
    fn end(mut self, read: Result<(), ApiError>) -> Listing {
        if let Err(error) = read {
            self.missed(&error);
        }
        self.found
    }
}

/// One sort of ranges.
async fn listed(
    sort: &Sort,
    project: &str,
    read: impl AsyncFnOnce(&mut Reading<'_>) -> Result<(), ApiError>,
) -> Listing {
    let mut reading = Reading::new(sort, project);
    let read = read(&mut reading).await;
    reading.end(read)
}

fn scope(project: &str) -> String {
    format!("Google Cloud project {project}")
}

/// The ID of a network in a URL or ID of any API: Network Connectivity writes `locations/global`.
fn network_id(text: &str) -> String {
    crate::link::id(&text.replace("/locations/global/networks/", "/global/networks/"))
}

#[cfg(test)]
mod tests {
    use super::*;
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
