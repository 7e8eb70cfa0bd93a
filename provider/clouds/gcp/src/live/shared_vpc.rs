//! The Shared VPC host of a service project. Its subnetworks are the ones that the project's machines are in.

use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Location, Usage};

use super::{SETTING, Sort, listing, of_project, or_unread, subnetworks};
use crate::account::Gcp;
use crate::error::{ApiError, Named as _, OrMissing as _, non_empty};
use crate::link;

const HOST: &str = "projects.getXpnHost";
const USABLE: &str = "subnetworks.listUsable";

const SORT: Sort =
    Sort { what: "the Shared VPC host", permissions: &["compute.projects.get"], setting: SETTING };

const HOST_SUBNETWORKS: Sort = Sort {
    what: "subnetworks of the Shared VPC host",
    permissions: &["compute.subnetworks.list"],
    setting: SETTING,
};

/// Everything in the host project. Without the permission to list its subnetworks, those that the service project can use.
pub(super) async fn read(gcp: &Gcp) -> Listing {
    let call = gcp.clients.projects.get_xpn_host().set_project(&gcp.project);
    let host = match call.send().await.named(HOST) {
        Ok(host) => host.name.and_then(non_empty).filter(|host| *host != gcp.project),
        Err(error) => return or_unread(&SORT, &gcp.project, Err(error)),
    };
    let Some(host) = host else { return Listing::default() };
    let mut all = of_project(gcp, &host, &HOST_SUBNETWORKS).await;
    let refused = all.unread.iter().any(|unread| unread.what == HOST_SUBNETWORKS.what);
    if refused && let Ok(usable) = usable(gcp, &host).await {
        all.extend(usable);
    }
    all
}

/// The subnetworks of the host that the project can use. Their descriptions, and thus their owners, are not shown.
async fn usable(gcp: &Gcp, host: &str) -> Result<Listing, ApiError> {
    let mut found = Vec::new();
    let mut page = None;
    loop {
        let call = gcp.clients.subnetworks.list_usable().set_project(host).set_service_project(&gcp.project);
        let answer = call.set_or_clear_page_token(page).send().await.named(USABLE)?;
        for subnet in answer.items {
            let id = link::id(subnet.subnetwork.as_deref().or_missing(USABLE, "subnetwork")?);
            let (project, region, name) = link::regional(USABLE, &id)?;
            let secondary =
                subnet.secondary_ip_ranges.iter().filter_map(|range| range.ip_cidr_range.as_deref());
            let nets = subnet.ip_cidr_range.as_deref().into_iter().chain(secondary);
            found.extend(nets.filter_map(|net| net.parse::<IpNet>().ok()).map(|net| LiveRange {
                net,
                usage: Usage::Network,
                kind: subnetworks::KIND.into(),
                id: id.clone(),
                name: name.clone(),
                owner: None,
                fabric: None,
                location: Location::gcp(&project, &region),
                parent: None,
            }));
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(listing(found));
        }
    }
}
