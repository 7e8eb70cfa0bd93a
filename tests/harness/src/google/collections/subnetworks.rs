//! Subnetworks: ranges, private Google access, flow logs.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Change, Rules, default, flag, link, list, ranges, text};

pub(crate) struct Subnetworks;

impl Rules for Subnetworks {
    fn kind(&self) -> &'static str {
        "compute#subnetwork"
    }

    fn word(&self) -> &'static str {
        "subnetwork"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("SUBNETWORKS", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        if text(body, "ipCidrRange").is_empty() {
            return Err(Refusal::bad("required", "Required field 'resource.ipCidrRange' not specified"));
        }
        let region = key.region().unwrap_or_default();
        if !text(body, "region").is_empty() && text(body, "region").rsplit('/').next() != Some(region) {
            return Err(Refusal::invalid(
                "resource.region",
                text(body, "region"),
                "It is not the region of the URL.",
            ));
        }
        let network = link(world, key, body, "network", "networks")?;
        default(body, "purpose", "PRIVATE");
        default(body, "privateIpGoogleAccess", false);
        default(body, "privateIpv6GoogleAccess", "DISABLE_GOOGLE_ACCESS");
        default(body, "stackType", "IPV4_ONLY");
        if let Some(network) = network {
            judge(world, key, &network, body)?;
        }
        log_config(body)?;
        body.insert("fingerprint".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        change.fingerprint("Subnetwork")?;
        change.keep(&[
            "name",
            "description",
            "network",
            "ipCidrRange",
            "purpose",
            "region",
            "privateIpGoogleAccess",
        ])?;
        let network = Key::parse(text(change.new, "network"), &key.project);
        let secondary = change.old.get("secondaryIpRanges") != change.new.get("secondaryIpRanges");
        if let Some(network) = network.filter(|_| secondary) {
            judge(world, key, &network, change.new)?;
        }
        if change.sent.contains_key("enableFlowLogs") && !change.sent.contains_key("logConfig") {
            change.new.remove("logConfig");
        }
        log_config(change.new)
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        match verb {
            "setPrivateIpGoogleAccess" => Some(world.idle(key).map(|subnet| {
                let mut subnet = subnet.clone();
                subnet.insert("privateIpGoogleAccess".to_owned(), json!(flag(sent, "privateIpGoogleAccess")));
                subnet
            })),
            "expandIpCidrRange" => Some(expand(world, key, sent)),
            _ => None,
        }
    }

    fn present(&self, _world: &World, _key: &Key, body: &mut Body) {
        let gateway =
            text(body, "ipCidrRange").parse::<ipnet::Ipv4Net>().ok().and_then(|range| range.hosts().next());
        if let Some(gateway) = gateway {
            body.insert("gatewayAddress".to_owned(), json!(gateway.to_string()));
        }
    }
}

/// The ranges must be allowed, apart from one another, and free.
fn judge(world: &World, key: &Key, network: &Key, body: &Body) -> Result<(), Refusal> {
    let mut own = vec![ranges::subnet("resource.ipCidrRange", text(body, "ipCidrRange"))?];
    let mut names = Vec::new();
    for (place, secondary) in list(body, "secondaryIpRanges").iter().enumerate() {
        let at = format!("resource.secondaryIpRanges[{place}]");
        let name = secondary["rangeName"].as_str().unwrap_or_default();
        if name.is_empty() || names.contains(&name) {
            let why = "Secondary ranges must have different names.";
            return Err(Refusal::invalid(&format!("{at}.rangeName"), name, why));
        }
        names.push(name);
        let field = format!("{at}.ipCidrRange");
        let value = secondary["ipCidrRange"].as_str().unwrap_or_default();
        let range = ranges::subnet(&field, value)?;
        if let Some(other) = own.iter().find(|other| ranges::overlap(range, **other)) {
            return Err(Refusal::invalid(
                &field,
                value,
                &format!("It overlaps {other} of the same subnetwork."),
            ));
        }
        own.push(range);
    }
    own.into_iter().try_for_each(|range| ranges::free(world, network, range, key))
}

fn expand(world: &World, key: &Key, sent: &Body) -> Result<Body, Refusal> {
    let mut subnet = world.idle(key)?.clone();
    let value = text(sent, "ipCidrRange");
    let new = ranges::subnet("ipCidrRange", value)?;
    let old = ranges::parse("ipCidrRange", text(&subnet, "ipCidrRange"))?;
    if new == old || !new.contains(&old) {
        let why = format!("The new range must contain the present one, {old}, and be larger.");
        return Err(Refusal::invalid("ipCidrRange", value, &why));
    }
    subnet.insert("ipCidrRange".to_owned(), json!(value));
    if let Some(network) = Key::parse(text(&subnet, "network"), &key.project) {
        judge(world, key, &network, &subnet)?;
    }
    Ok(subnet)
}

/// Flow logs: the older switch and the newer block say the same, and the block is complete where they are on.
fn log_config(body: &mut Body) -> Result<(), Refusal> {
    if flag(body, "enableFlowLogs") {
        default(body, "logConfig", json!({"enable": true}));
    }
    let Some(config) = body.get_mut("logConfig").and_then(Value::as_object_mut) else { return Ok(()) };
    let enabled = flag(config, "enable");
    if enabled {
        default(config, "aggregationInterval", "INTERVAL_5_SEC");
        default(config, "flowSampling", json!(0.5));
        default(config, "metadata", "EXCLUDE_ALL_METADATA");
        let sampling = config.get("flowSampling").and_then(Value::as_f64).unwrap_or_default();
        if !(0.0..=1.0).contains(&sampling) {
            let why = "Must be from 0 to 1.";
            return Err(Refusal::invalid("resource.logConfig.flowSampling", &sampling.to_string(), why));
        }
        if config.contains_key("metadataFields") && text(config, "metadata") != "CUSTOM_METADATA" {
            let why = "Only with metadata CUSTOM_METADATA.";
            return Err(Refusal::invalid("resource.logConfig.metadataFields", "", why));
        }
    }
    body.insert("enableFlowLogs".to_owned(), json!(enabled));
    Ok(())
}
