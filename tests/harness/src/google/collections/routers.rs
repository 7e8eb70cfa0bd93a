//! Cloud Routers and the NAT services in them.

use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::Key;
use super::super::world::{Body, World};
use super::{Change, Rules, default, flag, link, list, text, texts};

pub(crate) struct Routers;

impl Rules for Routers {
    fn kind(&self) -> &'static str {
        "compute#router"
    }

    fn word(&self) -> &'static str {
        "router"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("ROUTERS", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        link(world, key, body, "network", "networks")?;
        bgp(body)?;
        nats(world, key, body)
    }

    fn change(&self, world: &mut World, key: &Key, change: Change<'_>) -> Result<(), Refusal> {
        link(world, key, change.new, "network", "networks")?;
        change.keep(&["name", "network"])?;
        bgp(change.new)?;
        nats(world, key, change.new)
    }
}

fn bgp(body: &Body) -> Result<(), Refusal> {
    let Some(asn) = body.get("bgp").and_then(|bgp| bgp.get("asn")).and_then(Value::as_u64) else {
        return Ok(());
    };
    let private = matches!(asn, 16550 | 64512..=65534 | 4_200_000_000..=4_294_967_294);
    if private {
        Ok(())
    } else {
        Err(Refusal::invalid("resource.bgp.asn", &asn.to_string(), "Must be a private ASN or 16550."))
    }
}

fn nats(world: &World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
    let network = text(body, "network").to_owned();
    let Some(mut nats) = body.get("nats").and_then(Value::as_array).cloned() else { return Ok(()) };
    let mut names: Vec<String> = Vec::new();
    for (place, nat) in nats.iter_mut().enumerate() {
        let at = format!("resource.nats[{place}]");
        let Some(nat) = nat.as_object_mut() else { continue };
        let name = text(nat, "name").to_owned();
        if name.is_empty() || names.contains(&name) {
            return Err(Refusal::invalid(
                &format!("{at}.name"),
                &name,
                "NATs of a router must have different names.",
            ));
        }
        names.push(name);
        addresses(world, key, nat, &at)?;
        sources(world, key, nat, &at, &network)?;
        ports(nat, &at)?;
        default(nat, "type", "PUBLIC");
        default(nat, "endpointTypes", json!(["ENDPOINT_TYPE_VM"]));
        default(nat, "autoNetworkTier", "PREMIUM");
        default(nat, "enableEndpointIndependentMapping", false);
    }
    everything_once(world, key, &nats, &network)?;
    if nats.is_empty() {
        body.remove("nats");
    } else {
        body.insert("nats".to_owned(), Value::Array(nats));
    }
    Ok(())
}

fn addresses(world: &World, key: &Key, nat: &mut Body, at: &str) -> Result<(), Refusal> {
    let given = texts(nat, "natIps").len();
    match text(nat, "natIpAllocateOption") {
        "AUTO_ONLY" if given > 0 => {
            return Err(Refusal::invalid(
                &format!("{at}.natIps"),
                "",
                "Not with natIpAllocateOption AUTO_ONLY.",
            ));
        }
        "MANUAL_ONLY" if given == 0 => {
            return Err(Refusal::invalid(
                &format!("{at}.natIps"),
                "",
                "Needed with natIpAllocateOption MANUAL_ONLY.",
            ));
        }
        "" if text(nat, "type") != "PRIVATE" => {
            return Err(Refusal::bad(
                "required",
                format!("Required field '{at}.natIpAllocateOption' not specified"),
            ));
        }
        _ => {}
    }
    let mut links = Vec::new();
    for (place, address) in texts(nat, "natIps").into_iter().enumerate() {
        let field = format!("{at}.natIps[{place}]");
        let (found, body) = world.linked(&field, address, "addresses", &key.project)?;
        if found.place != key.place || text(body, "addressType") != "EXTERNAL" {
            let why = "Must be an external address in the router's region.";
            return Err(Refusal::invalid(&field, address, why));
        }
        links.push(found.link());
    }
    if !links.is_empty() {
        nat.insert("natIps".to_owned(), json!(links));
    }
    Ok(())
}

fn sources(world: &World, key: &Key, nat: &mut Body, at: &str, network: &str) -> Result<(), Refusal> {
    let listed = text(nat, "sourceSubnetworkIpRangesToNat") == "LIST_OF_SUBNETWORKS";
    if text(nat, "sourceSubnetworkIpRangesToNat").is_empty() {
        let field = format!("{at}.sourceSubnetworkIpRangesToNat");
        return Err(Refusal::bad("required", format!("Required field '{field}' not specified")));
    }
    if listed == list(nat, "subnetworks").is_empty() {
        let why = "Subnetworks go with LIST_OF_SUBNETWORKS and only with it.";
        return Err(Refusal::invalid(&format!("{at}.subnetworks"), "", why));
    }
    let Some(subnets) = nat.get_mut("subnetworks").and_then(Value::as_array_mut) else { return Ok(()) };
    for (place, subnet) in subnets.iter_mut().enumerate() {
        let field = format!("{at}.subnetworks[{place}]");
        let Some(subnet) = subnet.as_object_mut() else { continue };
        let (found, body) =
            world.linked(&format!("{field}.name"), text(subnet, "name"), "subnetworks", &key.project)?;
        if found.place != key.place || text(body, "network") != network {
            let why = "The subnetwork must be in the router's region and network.";
            return Err(Refusal::invalid(&format!("{field}.name"), text(subnet, "name"), why));
        }
        let options = texts(subnet, "sourceIpRangesToNat");
        let chosen = options.contains(&"LIST_OF_SECONDARY_IP_RANGES");
        if options.is_empty() || chosen == list(subnet, "secondaryIpRangeNames").is_empty() {
            let why = "Secondary ranges go with LIST_OF_SECONDARY_IP_RANGES and only with it.";
            return Err(Refusal::invalid(&format!("{field}.sourceIpRangesToNat"), &options.join(","), why));
        }
        let known: Vec<&str> =
            list(body, "secondaryIpRanges").iter().filter_map(|range| range["rangeName"].as_str()).collect();
        if let Some(name) =
            texts(subnet, "secondaryIpRangeNames").into_iter().find(|name| !known.contains(name))
        {
            let why = "The subnetwork has no such secondary range.";
            return Err(Refusal::invalid(&format!("{field}.secondaryIpRangeNames"), name, why));
        }
        subnet.insert("name".to_owned(), json!(found.link()));
    }
    Ok(())
}

fn ports(nat: &Body, at: &str) -> Result<(), Refusal> {
    let number = |field: &str| nat.get(field).and_then(Value::as_i64);
    let dynamic = flag(nat, "enableDynamicPortAllocation");
    if dynamic && flag(nat, "enableEndpointIndependentMapping") {
        let why = "Not together with dynamic port allocation.";
        return Err(Refusal::invalid(&format!("{at}.enableEndpointIndependentMapping"), "true", why));
    }
    let power = |value: i64| value > 0 && value.count_ones() == 1;
    if let Some(least) = number("minPortsPerVm")
        && (!(2..=57344).contains(&least) || (dynamic && !power(least)))
    {
        let why = "Must be from 2 to 57344, and a power of two with dynamic port allocation.";
        return Err(Refusal::invalid(&format!("{at}.minPortsPerVm"), &least.to_string(), why));
    }
    if let Some(most) = number("maxPortsPerVm")
        && (!dynamic
            || !power(most)
            || !(64..=65536).contains(&most)
            || most <= number("minPortsPerVm").unwrap_or(32))
    {
        let why = "Only with dynamic port allocation, a power of two from 64 to 65536, above minPortsPerVm.";
        return Err(Refusal::invalid(&format!("{at}.maxPortsPerVm"), &most.to_string(), why));
    }
    Ok(())
}

/// A NAT for all subnetworks of a region leaves nothing for another one of the same network and region.
fn everything_once(world: &World, key: &Key, nats: &[Value], network: &str) -> Result<(), Refusal> {
    let here = |other: &Key, body: &Body| {
        other != key && other.place == key.place && text(body, "network") == network
    };
    let others: Vec<Value> = world
        .of("routers")
        .filter(|(other, body)| here(other, body))
        .flat_map(|(_, body)| list(body, "nats").to_vec())
        .collect();
    let all = |nat: &Value| {
        nat["sourceSubnetworkIpRangesToNat"].as_str().is_some_and(|option| option.starts_with("ALL_"))
    };
    let public = |nat: &&Value| nat["type"] != "PRIVATE";
    let every: Vec<&Value> = nats.iter().chain(&others).filter(public).collect();
    if every.len() > 1 && every.iter().any(|nat| all(nat)) && nats.iter().any(|nat| public(&nat)) {
        let message = "A NAT of the same network and region already serves all subnetworks.";
        return Err(Refusal::bad("invalid", message).later());
    }
    Ok(())
}
