//! Firewall rules.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Change, Rules, default, link, list, text, texts};

pub(crate) struct Firewalls;

impl Rules for Firewalls {
    fn kind(&self) -> &'static str {
        "compute#firewall"
    }

    fn word(&self) -> &'static str {
        "firewall"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("FIREWALLS", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        default(body, "network", "global/networks/default");
        link(world, key, body, "network", "networks")?;
        default(body, "direction", "INGRESS");
        default(body, "priority", 1000);
        default(body, "disabled", false);
        default(body, "logConfig", json!({"enable": false}));
        complete(body);
        judge(body)
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        link(world, key, change.new, "network", "networks")?;
        change.keep(&["name", "network", "direction"])?;
        complete(change.new);
        judge(change.new)
    }
}

/// A rule without any source or destination is for all addresses.
fn complete(body: &mut Body) {
    let all = json!(["0.0.0.0/0"]);
    if text(body, "direction") == "EGRESS" {
        default(body, "destinationRanges", all);
    } else if ["sourceTags", "sourceServiceAccounts"].iter().all(|field| list(body, field).is_empty()) {
        default(body, "sourceRanges", all);
    }
    // Google leaves empty lists out.
    body.retain(|_, value| value.as_array().is_none_or(|values| !values.is_empty()));
}

fn judge(body: &Body) -> Result<(), Refusal> {
    let has = |field: &str| !list(body, field).is_empty();
    let clash = |one: &str, other: &str| {
        Refusal::bad(
            "invalid",
            format!("Fields '{one}' and '{other}' cannot be used together in a firewall rule."),
        )
    };
    if has("allowed") == has("denied") {
        return Err(if has("allowed") {
            clash("allowed", "denied")
        } else {
            Refusal::bad("required", "Required field 'resource.allowed' or 'resource.denied' not specified")
        });
    }
    for (one, others) in [
        ("sourceTags", &["sourceServiceAccounts", "targetServiceAccounts"][..]),
        ("targetTags", &["sourceServiceAccounts", "targetServiceAccounts"][..]),
    ] {
        if let Some(other) = others.iter().find(|other| has(one) && has(other)) {
            return Err(clash(one, other));
        }
    }
    let egress = text(body, "direction") == "EGRESS";
    let wrong = if egress { vec!["sourceTags", "sourceServiceAccounts"] } else { Vec::new() };
    if let Some(field) = wrong.into_iter().find(|field| has(field)) {
        let why = "The field does not go with the direction.";
        return Err(Refusal::invalid(&format!("resource.{field}"), &texts(body, field).join(","), why));
    }
    let priority = body.get("priority").and_then(Value::as_i64).unwrap_or(1000);
    if !(0..=65535).contains(&priority) {
        return Err(Refusal::invalid("resource.priority", &priority.to_string(), "Must be from 0 to 65535."));
    }
    for field in ["sourceRanges", "destinationRanges"] {
        for value in texts(body, field) {
            if value.parse::<ipnet::IpNet>().is_err() && value.parse::<std::net::IpAddr>().is_err() {
                let why = "Must be a CIDR address range.";
                return Err(Refusal::invalid(&format!("resource.{field}"), value, why));
            }
        }
    }
    for field in ["allowed", "denied"] {
        for (place, rule) in list(body, field).iter().enumerate() {
            protocol(&format!("resource.{field}[{place}]"), rule)?;
        }
    }
    Ok(())
}

fn protocol(at: &str, rule: &Value) -> Result<(), Refusal> {
    let name = rule["IPProtocol"].as_str().unwrap_or_default();
    let known = ["tcp", "udp", "icmp", "esp", "ah", "sctp", "ipip", "all"].contains(&name)
        || name.parse::<u8>().is_ok();
    if !known {
        return Err(Refusal::invalid(&format!("{at}.IPProtocol"), name, "Unknown protocol."));
    }
    let ports: Vec<&str> = rule["ports"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let with_ports = ["tcp", "udp", "sctp", "6", "17", "132"].contains(&name);
    for port in ports {
        let bounds: Vec<Option<u16>> = port.splitn(2, '-').map(|bound| bound.parse().ok()).collect();
        let fits = match bounds.as_slice() {
            [Some(_)] => true,
            [Some(low), Some(high)] => low <= high,
            _ => false,
        };
        if !with_ports || !fits {
            return Err(Refusal::invalid(
                &format!("{at}.ports"),
                port,
                "Ports must be numbers or ranges of tcp, udp or sctp.",
            ));
        }
    }
    Ok(())
}
