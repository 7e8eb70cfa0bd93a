//! The networks of a project: who owns them, and their peerings.

use super::Sort;
use crate::account::Gcp;
use crate::error::{ApiError, Named as _, OrMissing as _, non_empty};
use crate::link;
use crate::marker;

const LIST: &str = "networks.list";

pub(super) const SORT: Sort =
    Sort { what: "networks", permissions: &["compute.networks.list"], setting: None };

/// A network.
pub(super) struct Network {
    pub(super) id: String,
    pub(super) name: String,
    /// Its marker, if it has one.
    pub(super) fabric: Option<String>,
    pub(super) owner: Option<String>,
    /// The name and the network of each peering.
    pub(super) peerings: Vec<(String, String)>,
}

/// All networks of the project.
pub(super) async fn list(gcp: &Gcp, project: &str, found: &mut Vec<Network>) -> Result<(), ApiError> {
    let mut page = None;
    loop {
        let call = gcp.clients.networks().await?.list().set_project(project).set_or_clear_page_token(page);
        let answer = call.send().await.named(LIST)?;
        for network in answer.items {
            let (marker, _) = marker::split(network.description.as_deref());
            let peerings = network.peerings.into_iter();
            let peerings = peerings
                .filter_map(|peering| Some((peering.name?, super::network_id(peering.network.as_deref()?))));
            found.push(Network {
                id: link::id(network.self_link.as_deref().or_missing(LIST, "selfLink")?),
                name: network.name.or_missing(LIST, "name")?,
                fabric: marker.as_ref().map(|marker| marker.fabric.clone()),
                owner: marker.map(|marker| marker.owner),
                peerings: peerings.collect(),
            });
        }
        page = answer.next_page_token.and_then(non_empty);
        if page.is_none() {
            return Ok(());
        }
    }
}
