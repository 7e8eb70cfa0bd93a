//! API calls for firewall rules.

use std::collections::BTreeSet;

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::firewall::{Allowed, Denied, Direction};
use google_cloud_compute_v1::model::firewall_log_config::Metadata;
use tf_provider_rs::Attr;
use warren_managed::sets;

use super::model::{Firewall, LogMetadata, Traffic};
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, Parsed as _};
use crate::link;
use crate::marker;

const GET: &str = "firewalls.get";

/// Finds the rule of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &Firewall) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(fetch(gcp, &id).await)? else { return Ok(Vec::new()) };
    let same = || {
        let have = state(&found, planned)?;
        Ok((&have.network, &have.direction) == (&planned.network, &planned.direction))
    };
    planned.adoptable(gcp, found.description.as_deref(), same)
}

/// Starts creating a rule and returns its ID.
pub(super) async fn create(gcp: &Gcp, planned: &Firewall, description: &str) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let body = body(planned, description, model::Firewall::new())?;
    let call = gcp.clients.firewalls().await?.insert().set_project(&gcp.project).set_body(body);
    gcp.began(&id, begin!("firewalls.insert", &id, call));
    Ok(id)
}

/// Starts updating the rule if it differs from the plan.
///
/// A patch cannot empty a list, because Google's client omits an empty list. So the whole rule is replaced, with everything in
/// it that this resource does not manage: "all fields will be updated if using PUT, even fields that are not specified"
/// (discovery document, `firewalls.update`).
pub(super) async fn update(gcp: &Gcp, want: &Firewall) -> Result<Option<Begun>, ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let marks = want.marks(gcp)?;
    if marker::is_current(found.description.as_deref(), &marks, &want.object.mark.description)
        && same(&state(&found, want)?, want)
    {
        return Ok(None);
    }
    let (project, name) = link::global("firewalls.update", id)?;
    let body = body(want, &marks, found)?;
    let call = gcp.clients.firewalls().await?.update().set_project(project).set_firewall(name).set_body(body);
    Ok(Some(begin!("firewalls.update", id, call)))
}

/// Reads the rule; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &Firewall) -> Result<Firewall, ApiError> {
    state(&fetch(gcp, before.object.id()?).await?, before)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, name) = link::global("firewalls.delete", id)?;
    let call = gcp.clients.firewalls().await?.delete().set_project(project).set_firewall(name);
    Ok(begin!("firewalls.delete", id, call))
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::Firewall, ApiError> {
    let (project, name) = link::global(GET, id)?;
    gcp.clients.firewalls().await?.get().set_project(project).set_firewall(name).send().await.named(GET)
}

/// Whether two rules mean the same, apart from their descriptions: an empty set means the same as none.
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
        && have.allow.known().into_iter().flatten().eq(want.allow.known().into_iter().flatten())
        && have.deny.known().into_iter().flatten().eq(want.deny.known().into_iter().flatten())
        && have.log_metadata == want.log_metadata
        && have.disabled == want.disabled
}

/// The rule `before` with the planned settings.
pub(super) fn body(
    rule: &Firewall,
    description: &str,
    before: model::Firewall,
) -> Result<model::Firewall, ApiError> {
    let mut log = before.log_config.clone().unwrap_or_default().set_enable(rule.log_metadata.is_known());
    // Google accepts metadata only while logging is enabled.
    log = log
        .set_or_clear_metadata(rule.log_metadata.known().map(|metadata| Metadata::from(metadata.as_str())));
    let traffic = |traffic: &Attr<BTreeSet<Traffic>>| {
        let items = traffic.known().into_iter().flatten();
        items
            .map(|item| Ok((item.protocol.value()?.clone(), sets::known(&item.ports))))
            .collect::<Result<Vec<_>, ApiError>>()
    };
    let (allowed, denied) = (before.allowed.clone(), before.denied.clone());
    let allowed = traffic(&rule.allow)?.into_iter().map(|(protocol, ports)| {
        let found = allowed.iter().find(|item| item.ip_protocol.as_ref() == Some(&protocol)).cloned();
        found.unwrap_or_else(Allowed::new).set_ip_protocol(protocol).set_ports(ports)
    });
    let denied = traffic(&rule.deny)?.into_iter().map(|(protocol, ports)| {
        let found = denied.iter().find(|item| item.ip_protocol.as_ref() == Some(&protocol)).cloned();
        found.unwrap_or_else(Denied::new).set_ip_protocol(protocol).set_ports(ports)
    });
    Ok(before
        // Only Google sets these.
        .set_or_clear_id(None::<u64>)
        .set_or_clear_creation_timestamp(None::<String>)
        .set_or_clear_self_link(None::<String>)
        .set_name(rule.object.name()?)
        .set_description(description)
        .set_network(rule.network.value()?.id())
        .set_direction(rule.direction.value()?.as_str())
        .set_or_clear_priority(rule.priority.into_known().map(i32::from))
        .set_allowed(allowed)
        .set_denied(denied)
        .set_source_ranges(sets::known(&rule.source_ranges))
        .set_source_tags(sets::known(&rule.source_tags))
        .set_source_service_accounts(sets::known(&rule.source_service_accounts))
        .set_destination_ranges(sets::known(&rule.destination_ranges))
        .set_target_tags(sets::known(&rule.target_tags))
        .set_target_service_accounts(sets::known(&rule.target_service_accounts))
        .set_log_config(log)
        .set_disabled(rule.disabled.is_true()))
}

/// The state of a rule as the API returns it, whose ID and timeouts are those of `before`.
fn state(found: &model::Firewall, before: &Firewall) -> Result<Firewall, ApiError> {
    let allowed = found.allowed.iter().map(|item| (item.ip_protocol.as_ref(), &item.ports));
    let denied = found.denied.iter().map(|item| (item.ip_protocol.as_ref(), &item.ports));
    let texts = |found: &[String], before| sets::found(found.iter().cloned(), before);
    // The API returns an egress rule without a destination as one for all destinations.
    let everywhere = before.destination_ranges.is_null()
        && before.object.id.is_known()
        && found.destination_ranges == ["0.0.0.0/0"];
    let log = found.log_config.as_ref().filter(|log| log.enable.unwrap_or_default());
    let metadata = log.map(|log| log.metadata.as_ref().and_then(Metadata::name));
    let metadata = metadata.map(|name| name.unwrap_or(LogMetadata::Include.as_str()));
    let direction = found.direction.as_ref().and_then(Direction::name);
    let priority = found.priority.and_then(|priority| u16::try_from(priority).ok());
    Ok(Firewall {
        object: before
            .object
            .found(found.name.as_deref().or_missing(GET, "name")?, found.description.as_deref().into()),
        network: link::found(GET, "network", found.network.as_deref(), &before.network)?,
        direction: Attr::Known(direction.parsed(GET, "direction")?),
        priority: priority.or_missing(GET, "priority")?.into(),
        allow: traffic(allowed, &before.allow)?,
        deny: traffic(denied, &before.deny)?,
        source_ranges: texts(&found.source_ranges, &before.source_ranges),
        source_tags: texts(&found.source_tags, &before.source_tags),
        source_service_accounts: texts(&found.source_service_accounts, &before.source_service_accounts),
        destination_ranges: if everywhere {
            Attr::Null
        } else {
            texts(&found.destination_ranges, &before.destination_ranges)
        },
        target_tags: texts(&found.target_tags, &before.target_tags),
        target_service_accounts: texts(&found.target_service_accounts, &before.target_service_accounts),
        log_metadata: metadata.parsed_if_set(GET, "logConfig.metadata")?.into(),
        disabled: found.disabled.unwrap_or_default().into(),
        self_link: found.self_link.clone().or_missing(GET, "selfLink")?.into(),
    })
}

/// Protocols with their ports, where an empty set of ports is as it was written.
fn traffic<'a>(
    found: impl Iterator<Item = (Option<&'a String>, &'a Vec<String>)>,
    before: &Attr<BTreeSet<Traffic>>,
) -> Result<Attr<BTreeSet<Traffic>>, ApiError> {
    let written = |protocol: &String| {
        let mut items = before.known().into_iter().flatten();
        items.find(|item| item.protocol.known() == Some(protocol)).map(|item| item.ports.clone())
    };
    let read = |(protocol, ports): (Option<&String>, &Vec<String>)| {
        let protocol = protocol.or_missing(GET, "IPProtocol")?;
        let ports = sets::found(ports.iter().cloned(), &written(protocol).unwrap_or_default());
        Ok(Traffic { protocol: protocol.as_str().into(), ports })
    };
    let items = found.map(read).collect::<Result<BTreeSet<_>, ApiError>>()?;
    Ok(if items.is_empty() && !before.is_known() { Attr::Null } else { Attr::Known(items) })
}
