//! The Shared VPC host of a service project. Its subnetworks are the ones that the project's machines are in.

use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Location, Usage};

use super::{Reading, SETTING, Sort, of_project, subnetworks};
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
    let host = match host(gcp).await {
        Ok(Some(host)) => host,
        Ok(None) => return Listing::default(),
        Err(error) => return Reading::new(&SORT, &gcp.project).end(Err(error)),
    };
    let mut all = of_project(gcp, &host, &HOST_SUBNETWORKS).await;
    let refused = all.unread.iter().any(|unread| unread.what == HOST_SUBNETWORKS.what);
    if refused {
        // Why there may be more was said above.
        let mut reading = Reading::new(&HOST_SUBNETWORKS, &host);
        let _more = usable(gcp, &mut reading).await;
        all.extend(reading.found);
    }
    all
}

/// The host of a service project.
async fn host(gcp: &Gcp) -> Result<Option<String>, ApiError> {
    let call = gcp.clients.projects().await?.get_xpn_host().set_project(&gcp.project);
    let host = call.send().await.named(HOST)?;
    Ok(host.name.and_then(non_empty).filter(|host| *host != gcp.project))
}

/// The subnetworks of the host that the project can use. Their descriptions, and thus their owners, are not shown.
async fn usable(gcp: &Gcp, reading: &mut Reading<'_>) -> Result<(), ApiError> {
    let host = reading.project;
    let mut page = None;
    loop {
        let call = gcp
            .clients
            .subnetworks()
            .await?
            .list_usable()
            .set_project(host)
            .set_service_project(&gcp.project);
        let answer = call.set_or_clear_page_token(page).send().await.named(USABLE)?;
        for subnet in answer.items {
            let id = link::id(subnet.subnetwork.as_deref().or_missing(USABLE, "subnetwork")?);
            let (project, region, name) = link::regional(USABLE, &id)?;
            let secondary =
                subnet.secondary_ip_ranges.iter().filter_map(|range| range.ip_cidr_range.as_deref());
            let nets = subnet.ip_cidr_range.as_deref().into_iter().chain(secondary);
            let nets: Vec<IpNet> = nets.filter_map(|net| reading.parsed(&id, net)).collect();
            reading.found.ranges.extend(nets.into_iter().map(|net| LiveRange {
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
            return Ok(());
        }
    }
}
