//! API calls for firewall rules.

use std::collections::BTreeSet;

use google_cloud_compute_v1::model;
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::schema::{Firewall, Traffic};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link::{self, Link};
use crate::operation::{Begun, begin};
use crate::session::Gcp;

/// A rule as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) network: String,
    pub(super) direction: String,
    pub(super) priority: i64,
    pub(super) allow: BTreeSet<(String, BTreeSet<String>)>,
    pub(super) deny: BTreeSet<(String, BTreeSet<String>)>,
    pub(super) source_ranges: Vec<String>,
    pub(super) source_tags: Vec<String>,
    pub(super) source_service_accounts: Vec<String>,
    pub(super) destination_ranges: Vec<String>,
    pub(super) target_tags: Vec<String>,
    pub(super) target_service_accounts: Vec<String>,
    pub(super) log_metadata: Option<String>,
    pub(super) disabled: bool,
    pub(super) self_link: String,
}

/// Finds the rule of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Firewall) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same =
        link::same(&found.network, planned.network.text()) && found.direction == planned.direction.text();
    planned.adoptable(gcp, &found.description, same)
}

/// Starts creating a rule and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Firewall, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let call = gcp.clients.firewalls.insert().set_project(&gcp.project).set_body(body(planned, description));
    gcp.began(&id, begin!("firewalls.insert", &id, call));
    Ok(id)
}

/// Starts updating the rule if it differs from the plan.
pub(super) async fn update(gcp: &Gcp, id: &str, want: &Firewall) -> Result<Option<Begun>, ApiError> {
    let have = get(gcp, id).await?;
    // An unmarked object, such as an imported rule, stays unmarked while its text stays the same.
    let marked = have.description == want.marks(gcp)? || have.description == want.description.text();
    let state = super::schema::state(have.clone(), want);
    if marked && same(&state, want) {
        return Ok(None);
    }
    let Link { project, name, .. } = link::parsed("firewalls.get", id)?;
    let body = body(want, &want.marks(gcp)?);
    let call = gcp.clients.firewalls.update().set_project(project).set_firewall(name).set_body(body);
    Ok(Some(begin!("firewalls.update", id, call)))
}

fn same(have: &Firewall, want: &Firewall) -> bool {
    let texts = |rule: &Firewall| {
        [
            &rule.source_ranges,
            &rule.source_tags,
            &rule.source_service_accounts,
            &rule.destination_ranges,
            &rule.target_tags,
            &rule.target_service_accounts,
        ]
        .map(sets::known)
    };
    texts(have) == texts(want)
        && have.priority == want.priority
        && spoken(&have.allow) == spoken(&want.allow)
        && spoken(&have.deny) == spoken(&want.deny)
        && have.log_metadata == want.log_metadata
        && have.disabled == want.disabled
}

/// Reads the rule `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let Link { project, name, .. } = link::parsed("firewalls.get", id)?;
    let call = gcp.clients.firewalls.get().set_project(project).set_firewall(name);
    let rule = call.send().await.named("firewalls.get")?;
    let allow = rule.allowed.into_iter().map(|item| (item.ip_protocol.unwrap_or_default(), item.ports));
    let deny = rule.denied.into_iter().map(|item| (item.ip_protocol.unwrap_or_default(), item.ports));
    let log = rule.log_config.filter(|log| log.enable.unwrap_or_default());
    Ok(Found {
        id: id.to_owned(),
        name: rule.name.unwrap_or_default(),
        description: rule.description.unwrap_or_default(),
        network: rule.network.unwrap_or_default(),
        direction: rule.direction.and_then(|it| it.name().map(str::to_owned)).unwrap_or_default(),
        priority: rule.priority.unwrap_or(1000).into(),
        allow: allow.map(|(protocol, ports)| (protocol, ports.into_iter().collect())).collect(),
        deny: deny.map(|(protocol, ports)| (protocol, ports.into_iter().collect())).collect(),
        source_ranges: rule.source_ranges,
        source_tags: rule.source_tags,
        source_service_accounts: rule.source_service_accounts,
        destination_ranges: rule.destination_ranges,
        target_tags: rule.target_tags,
        target_service_accounts: rule.target_service_accounts,
        log_metadata: log.map(|log| {
            log.metadata
                .and_then(|it| it.name().map(str::to_owned))
                .unwrap_or("INCLUDE_ALL_METADATA".to_owned())
        }),
        disabled: rule.disabled.unwrap_or_default(),
        self_link: rule.self_link.unwrap_or_default(),
    })
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let Link { project, name, .. } = link::parsed("firewalls.get", id)?;
    let call = gcp.clients.firewalls.delete().set_project(project).set_firewall(name);
    Ok(begin!("firewalls.delete", id, call))
}

fn body(rule: &Firewall, description: &str) -> model::Firewall {
    let allow = spoken(&rule.allow).into_iter();
    let deny = spoken(&rule.deny).into_iter();
    let mut log = model::FirewallLogConfig::new().set_enable(rule.log_metadata.is_known());
    if let Some(metadata) = rule.log_metadata.known() {
        log = log.set_metadata(metadata.as_str());
    }
    let priority = rule.priority.known().and_then(|priority| i32::try_from(*priority).ok());
    model::Firewall::new()
        .set_name(rule.name.text())
        .set_description(description)
        .set_network(link::id(rule.network.text()))
        .set_direction(rule.direction.text())
        .set_or_clear_priority(priority)
        .set_allowed(allow.map(|(protocol, ports)| {
            model::firewall::Allowed::new().set_ip_protocol(protocol).set_ports(ports)
        }))
        .set_denied(deny.map(|(protocol, ports)| {
            model::firewall::Denied::new().set_ip_protocol(protocol).set_ports(ports)
        }))
        .set_source_ranges(sets::known(&rule.source_ranges))
        .set_source_tags(sets::known(&rule.source_tags))
        .set_source_service_accounts(sets::known(&rule.source_service_accounts))
        .set_destination_ranges(sets::known(&rule.destination_ranges))
        .set_target_tags(sets::known(&rule.target_tags))
        .set_target_service_accounts(sets::known(&rule.target_service_accounts))
        .set_log_config(log)
        .set_disabled(rule.disabled.is_true())
}

/// Protocols and ports as the API has them.
fn spoken(traffic: &Attr<BTreeSet<Traffic>>) -> BTreeSet<(String, BTreeSet<String>)> {
    let items = traffic.known().into_iter().flatten();
    items.map(|item| (item.protocol.text().to_owned(), sets::known(&item.ports))).collect()
}
