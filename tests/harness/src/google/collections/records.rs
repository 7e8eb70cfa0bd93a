//! Record sets of a managed zone. Reasons and causes are those of the page "Error messages" of Cloud DNS.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::world::Body;
use super::text;
use super::zones::RRSETS;

/// Types of records.
const TYPES: [&str; 10] = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"];

/// The records that Cloud DNS creates with a zone.
pub(super) fn own(dns_name: &str, servers: &[String]) -> Value {
    let server = servers.first().map(String::as_str).unwrap_or_default();
    let soa = format!("{server} cloud-dns-hostmaster.google.com. 1 21600 3600 259200 300");
    json!([set(dns_name, "NS", 21600, &json!(servers)), set(dns_name, "SOA", 21600, &json!([soa]))])
}

/// The record sets of a zone.
pub(crate) fn of(zone: &Body) -> Vec<Value> {
    zone.get(RRSETS).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Whether a zone has records besides those that came with it.
pub(super) fn others(zone: &Body) -> bool {
    of(zone).iter().any(|set| !is_own(zone, set))
}

/// The record set that a client sent, beside the others of its zone.
pub(crate) fn judged(zone: &Body, others: &[Value], sent: &Body) -> Result<Value, Refusal> {
    let (name, kind, dns_name) = (text(sent, "name"), text(sent, "type"), text(zone, "dnsName"));
    if ["forwardingConfig", "peeringConfig"].iter().any(|field| zone.contains_key(*field)) {
        let message = format!("The zone '{}' does not hold records.", text(zone, "name"));
        return Err(Refusal::bad("invalid", message));
    }
    let inside = name == dns_name || name.ends_with(&format!(".{dns_name}"));
    if !is_name(name) || !inside {
        return Err(Refusal::dns_invalid("entity.rrset.name", name));
    }
    if !TYPES.contains(&kind) {
        return Err(Refusal::dns_invalid("entity.rrset.type", kind));
    }
    if kind == "SOA" && name != dns_name {
        return Err(apex(kind));
    }
    if kind == "NS" && name.starts_with("*.") {
        let message =
            "The resource record set 'entity.rrset' is a wildcard of type 'NS', which is not supported.";
        return Err(Refusal::bad("wildcardNotAllowed", message));
    }
    let ttl = sent.get("ttl").and_then(Value::as_i64).unwrap_or_default();
    if ttl < 0 {
        return Err(Refusal::dns_invalid("entity.rrset.ttl", &ttl.to_string()));
    }
    let datas = sent.get("rrdatas").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if datas.is_empty() {
        return Err(Refusal::dns_invalid("entity.rrset.rrdatas", ""));
    }
    if matches!(kind, "CNAME" | "SOA") && datas.len() > 1 {
        let message = format!(
            "The resource record set 'entity.rrset' is only permitted to have one record because it is of type \
             '{kind}'."
        );
        return Err(Refusal::bad("invalidRecordCount", message));
    }
    for (place, data) in datas.iter().enumerate() {
        let data = data.as_str().unwrap_or_default();
        if !fits(kind, data) {
            return Err(Refusal::dns_invalid(&format!("entity.rrset.rrdatas[{place}]"), data));
        }
    }
    let beside =
        |cname: bool| others.iter().any(|other| other["name"] == name && (other["type"] == "CNAME") == cname);
    if beside(kind != "CNAME") {
        let message = format!(
            "The resource record set 'entity.rrset' is invalid because the DNS name '{name}' may have either one \
             CNAME resource record set or resource record sets of other types, but not both."
        );
        return Err(Refusal::bad("cnameResourceRecordSetConflict", message));
    }
    Ok(set(name, kind, ttl, &json!(datas)))
}

/// Refuses the delete of a record set that every zone has.
pub(crate) fn deletable(zone: &Body, set: &Value) -> Result<(), Refusal> {
    if is_own(zone, set) { Err(apex(set["type"].as_str().unwrap_or_default())) } else { Ok(()) }
}

/// Whether this is a fully qualified name, whose first label may be a wildcard.
pub(super) fn is_name(name: &str) -> bool {
    let Some(labels) = name.strip_suffix('.') else { return false };
    labels.split('.').enumerate().all(|(place, label)| {
        let plain = label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        (place == 0 && label == "*") || (plain && (1..=63).contains(&label.len()))
    })
}

fn is_own(zone: &Body, set: &Value) -> bool {
    set["name"] == text(zone, "dnsName") && (set["type"] == "NS" || set["type"] == "SOA")
}

fn fits(kind: &str, data: &str) -> bool {
    match kind {
        "A" => data.parse::<Ipv4Addr>().is_ok(),
        "AAAA" => data.parse::<Ipv6Addr>().is_ok(),
        "CNAME" | "NS" | "PTR" => is_name(data),
        "MX" => data.split_once(' ').is_some_and(|(rank, name)| rank.parse::<u16>().is_ok() && is_name(name)),
        "SRV" => data.split(' ').count() == 4,
        _ => !data.is_empty(),
    }
}

fn apex(kind: &str) -> Refusal {
    let message = format!(
        "The resource record set 'entity.rrset' is invalid because a zone must contain exactly one resource record \
         set of type '{kind}' at the apex."
    );
    Refusal::bad("invalidZoneApex", message)
}

fn set(name: &str, kind: &str, ttl: i64, datas: &Value) -> Value {
    json!({"kind": "dns#resourceRecordSet", "name": name, "type": kind, "ttl": ttl, "rrdatas": datas})
}
