//! Managed zones of Cloud DNS: private ones with records, forwarding and peering zones.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{COMPUTE, Key, ZONES};
use super::super::world::{Body, World};
use super::{Change, Rules, default, records, text};
use crate::pattern;

/// The member of a stored zone that holds its record sets.
pub(crate) const RRSETS: &str = "rrsets";

/// The server that answers for private zones.
pub(super) const PRIVATE_SERVER: &str = "ns-gcp-private.googledomains.com.";

pub(crate) struct Zones;

impl Rules for Zones {
    fn kind(&self) -> &'static str {
        "dns#managedZone"
    }

    fn word(&self) -> &'static str {
        "managedZone"
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if pattern::fits("[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", &key.name) != Some(true) {
            let message = format!("Invalid value for 'entity.managedZone.name': '{}'", key.name);
            return Err(Refusal::bad("invalidFieldValue", message));
        }
        default(body, "visibility", "public");
        default(body, "cloudLoggingConfig", json!({"kind": "dns#managedZoneCloudLoggingConfig"}));
        judge(world, key, body)?;
        let serial = world.next();
        body.insert("kind".to_owned(), json!(self.kind()));
        body.insert("id".to_owned(), json!((7_000_000_000_000_000_000 + serial).to_string()));
        body.insert("creationTime".to_owned(), json!(World::time(serial).replace("-08:00", "Z")));
        let servers: Vec<String> = match text(body, "visibility") {
            "private" => vec![PRIVATE_SERVER.to_owned()],
            _ => (1..=4).map(|number| format!("ns-cloud-a{number}.googledomains.com.")).collect(),
        };
        body.insert(RRSETS.to_owned(), records::own(text(body, "dnsName"), &servers));
        body.insert("nameServers".to_owned(), json!(servers));
        Ok(())
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        for field in ["dnsName", "visibility"] {
            if change.new.get(field) != change.old.get(field) {
                let path = format!("entity.managedZone.{field}");
                return Err(Refusal::dns_invalid(&path, text(change.new, field)));
            }
        }
        // A zone keeps its type.
        for field in ["forwardingConfig", "peeringConfig"] {
            if change.new.contains_key(field) != change.old.contains_key(field) {
                return Err(Refusal::dns_invalid(&format!("entity.managedZone.{field}"), ""));
            }
        }
        judge(world, key, change.new)
    }

    /// "The resource named '…' cannot be deleted because it contains one or more 'resource records'.", reported for
    /// hashicorp/google's zones.
    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        let zone = world.find(key).map(|object| &object.body);
        if zone.is_none_or(|zone| !records::others(zone)) {
            return Ok(());
        }
        let name = &key.name;
        let message = format!(
            "The resource named '{name}' cannot be deleted because it contains one or more 'resource records'."
        );
        Err(Refusal::bad("containerNotEmpty", message))
    }

    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        body.remove(RRSETS);
    }
}

/// Judges what a client can set, and completes it with the kinds that Cloud DNS adds.
fn judge(world: &World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
    let dns_name = text(body, "dnsName").to_owned();
    if !records::is_name(&dns_name) || dns_name.starts_with('*') {
        return Err(Refusal::dns_invalid("entity.managedZone.dnsName", &dns_name));
    }
    if text(body, "description").chars().count() > 1024 {
        return Err(Refusal::dns_invalid("entity.managedZone.description", text(body, "description")));
    }
    let private = text(body, "visibility") == "private";
    for field in ["privateVisibilityConfig", "forwardingConfig", "peeringConfig"] {
        if !private && body.contains_key(field) {
            return Err(Refusal::dns_invalid(&format!("entity.managedZone.{field}"), "public"));
        }
    }
    if body.contains_key("forwardingConfig") && body.contains_key("peeringConfig") {
        return Err(Refusal::dns_invalid("entity.managedZone.peeringConfig", &key.name));
    }
    forwarding(body)?;
    peering(world, body)?;
    visibility(world, key, body, &dns_name)
}

fn visibility(world: &World, key: &Key, body: &mut Body, dns_name: &str) -> Result<(), Refusal> {
    let Some(config) = body.get_mut("privateVisibilityConfig") else { return Ok(()) };
    config["kind"] = json!("dns#managedZonePrivateVisibilityConfig");
    let networks = config.get_mut("networks").and_then(Value::as_array_mut);
    for (place, network) in networks.into_iter().flatten().enumerate() {
        network["kind"] = json!("dns#managedZonePrivateVisibilityConfigNetwork");
        let field = format!("entity.managedZone.privateVisibilityConfig.networks[{place}].networkUrl");
        let url = network["networkUrl"].as_str().unwrap_or_default().to_owned();
        known(world, &field, &url)?;
        let twin = world
            .of(ZONES)
            .find(|(other, zone)| *other != key && text(zone, "dnsName") == dns_name && sees(zone, &url));
        if let Some((other, _)) = twin {
            let message = format!(
                "Invalid value for '{field}': '{url}'. The network already uses the zone '{}' of the DNS name \
                 '{dns_name}'.",
                other.name
            );
            return Err(Refusal::bad("invalid", message));
        }
    }
    Ok(())
}

fn forwarding(body: &mut Body) -> Result<(), Refusal> {
    let Some(config) = body.get_mut("forwardingConfig") else { return Ok(()) };
    config["kind"] = json!("dns#managedZoneForwardingConfig");
    let path = "entity.managedZone.forwardingConfig.targetNameServers";
    let servers = config.get_mut("targetNameServers").and_then(Value::as_array_mut);
    let servers = servers.filter(|servers| !servers.is_empty()).ok_or_else(|| required(path))?;
    for (place, server) in servers.iter_mut().enumerate() {
        server["kind"] = json!("dns#managedZoneForwardingConfigNameServerTarget");
        let address = server["ipv4Address"].as_str().unwrap_or_default();
        if address.parse::<Ipv4Addr>().is_err() {
            return Err(Refusal::dns_invalid(&format!("{path}[{place}].ipv4Address"), address));
        }
        if server.get("forwardingPath").is_none_or(Value::is_null) {
            server["forwardingPath"] = json!("default");
        }
    }
    Ok(())
}

fn peering(world: &World, body: &mut Body) -> Result<(), Refusal> {
    let Some(config) = body.get_mut("peeringConfig") else { return Ok(()) };
    config["kind"] = json!("dns#managedZonePeeringConfig");
    let field = "entity.managedZone.peeringConfig.targetNetwork.networkUrl";
    let Some(target) = config.get_mut("targetNetwork") else { return Err(required(field)) };
    target["kind"] = json!("dns#managedZonePeeringConfigTargetNetwork");
    known(world, field, target["networkUrl"].as_str().unwrap_or_default())
}

/// Refuses a network that is no URL of Compute ("Error 400: Invalid value for
/// 'entity.managedZone.privateVisibilityConfig.networks[0].networkUrl'", hashicorp/google issue 6972), and one that is
/// not there.
fn known(world: &World, field: &str, url: &str) -> Result<(), Refusal> {
    let key = url.starts_with(COMPUTE).then(|| Key::parse(url, "")).flatten();
    let Some(key) = key.filter(|key| key.collection == "networks") else {
        return Err(Refusal::dns_invalid(field, url));
    };
    if world.find(&key).is_some() {
        return Ok(());
    }
    let message = format!("The '{field}' resource named '{url}' does not exist.");
    Err(Refusal::new(http::StatusCode::NOT_FOUND, "notFound", message))
}

/// Whether the network at `url` uses a zone.
fn sees(zone: &Body, url: &str) -> bool {
    let networks = zone.get("privateVisibilityConfig").and_then(|config| config["networks"].as_array());
    networks.into_iter().flatten().any(|network| network["networkUrl"] == url)
}

fn required(field: &str) -> Refusal {
    Refusal::bad("required", format!("The '{field}' parameter is required but was missing."))
}
