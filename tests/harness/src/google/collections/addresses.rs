//! Addresses and address ranges, regional and global.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use serde_json::{Value, json};

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::{Rules, default, labels, link, list, ranges, text};

pub(crate) struct Addresses;

impl Rules for Addresses {
    fn kind(&self) -> &'static str {
        "compute#address"
    }

    fn word(&self) -> &'static str {
        "address"
    }

    fn quota(&self) -> Option<(&'static str, &'static str)> {
        Some(("STATIC_ADDRESSES", "globally"))
    }

    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
        labels::none_at_insert(body)?;
        default(body, "addressType", "EXTERNAL");
        default(body, "ipVersion", "IPV4");
        default(body, "networkTier", "PREMIUM");
        match (text(body, "addressType"), &key.place) {
            ("INTERNAL", Place::Global) => global_internal(world, key, body)?,
            ("INTERNAL", _) => regional_internal(world, key, body)?,
            _ => external(world, key, body)?,
        }
        body.insert("labelFingerprint".to_owned(), json!(world.fingerprint()));
        Ok(())
    }

    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        match users(world, key).first() {
            Some(user) => Err(Refusal::in_use("address", &key.path(), &user.path())),
            None => Ok(()),
        }
    }

    fn act(&self, world: &mut World, key: &Key, verb: &str, sent: &Body) -> Option<Result<Body, Refusal>> {
        (verb == "setLabels").then(|| labels::set(world, key, sent))
    }

    fn present(&self, world: &World, key: &Key, body: &mut Body) {
        let users: Vec<String> = users(world, key).iter().map(Key::link).collect();
        let unborn =
            world.find(key).is_some_and(|object| object.busy.as_ref().is_some_and(|busy| busy.unborn));
        let status = match (unborn, users.is_empty()) {
            (true, _) => "RESERVING",
            (false, true) => "RESERVED",
            (false, false) => "IN_USE",
        };
        body.insert("status".to_owned(), json!(status));
        if !users.is_empty() {
            body.insert("users".to_owned(), json!(users));
        }
    }
}

/// Who uses an address: those who link to it, and forwarding rules and instances that have its number.
pub(crate) fn users(world: &World, key: &Key) -> Vec<Key> {
    let Some(address) = world.find(key) else { return Vec::new() };
    let number = json!(text(&address.body, "address"));
    let rules = world.of("forwardingRules").filter(|(rule, body)| {
        rule.project == key.project && rule.place == key.place && body.get("IPAddress") == Some(&number)
    });
    let instances = world.of("instances").filter(|(instance, body)| {
        instance.project == key.project
            && list(body, "networkInterfaces").iter().any(|nic| {
                let outside = nic["accessConfigs"].as_array().into_iter().flatten();
                nic["networkIP"] == number || outside.into_iter().any(|config| config["natIP"] == number)
            })
    });
    let mut users: Vec<Key> = rules.chain(instances).map(|(user, _)| user.clone()).collect();
    users.extend(world.user_of(key).cloned());
    users
}

fn external(world: &World, _key: &Key, body: &mut Body) -> Result<(), Refusal> {
    for field in ["network", "subnetwork", "prefixLength", "purpose"] {
        if body.contains_key(field) {
            let why = "The field does not go with an external address.";
            return Err(Refusal::invalid(&format!("resource.{field}"), text(body, field), why));
        }
    }
    if body.contains_key("address") {
        let why = "An external address cannot be chosen.";
        return Err(Refusal::invalid("resource.address", text(body, "address"), why));
    }
    let taken: Vec<&str> = world.of("addresses").map(|(_, body)| text(body, "address")).collect();
    let free = (1..=u8::MAX)
        .map(|last| Ipv4Addr::new(34, 64, 0, last).to_string())
        .find(|address| !taken.contains(&address.as_str()));
    match free {
        Some(address) => {
            body.insert("address".to_owned(), json!(address));
            Ok(())
        }
        None => Err(Refusal::quota("STATIC_ADDRESSES", u64::from(u8::MAX), "globally")),
    }
}

fn regional_internal(world: &World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
    default(body, "purpose", "GCE_ENDPOINT");
    let Some(subnet) = link(world, key, body, "subnetwork", "subnetworks")? else {
        return Err(Refusal::bad("required", "Required field 'resource.subnetwork' not specified"));
    };
    if subnet.place != key.place {
        let why = "The subnetwork must be in the address's region.";
        return Err(Refusal::invalid("resource.subnetwork", text(body, "subnetwork"), why));
    }
    let wanted = text(body, "address").to_owned();
    let address = free_in(world, &subnet, &wanted)?;
    body.insert("address".to_owned(), json!(address));
    Ok(())
}

fn global_internal(world: &World, key: &Key, body: &mut Body) -> Result<(), Refusal> {
    let Some(network) = link(world, key, body, "network", "networks")? else {
        return Err(Refusal::bad("required", "Required field 'resource.network' not specified"));
    };
    let length = body.get("prefixLength").and_then(Value::as_u64);
    let at = "resource.address";
    let range = match (text(body, "purpose"), length) {
        ("PRIVATE_SERVICE_CONNECT", None) => {
            let address = text(body, "address");
            let address: Ipv4Addr =
                address.parse().map_err(|_| Refusal::invalid(at, address, "Must be an IPv4 address."))?;
            Ipv4Net::from(address)
        }
        ("PRIVATE_SERVICE_CONNECT", Some(length)) => {
            let why = "The field does not go with the purpose PRIVATE_SERVICE_CONNECT.";
            return Err(Refusal::invalid("resource.prefixLength", &length.to_string(), why));
        }
        ("VPC_PEERING", Some(length @ 8..=29)) => {
            let length = u8::try_from(length).unwrap_or(29);
            match text(body, "address") {
                "" => free_range(world, &network, length)?,
                address => ranges::parse(at, &format!("{address}/{length}"))?,
            }
        }
        ("VPC_PEERING", length) => {
            let value = length.map(|length| length.to_string()).unwrap_or_default();
            return Err(Refusal::invalid("resource.prefixLength", &value, "Must be from 8 to 29."));
        }
        (purpose, _) => {
            let why = "Global internal addresses are for VPC_PEERING or PRIVATE_SERVICE_CONNECT.";
            return Err(Refusal::invalid("resource.purpose", purpose, why));
        }
    };
    ranges::free(world, &network, range, key)?;
    body.insert("address".to_owned(), json!(range.network().to_string()));
    Ok(())
}

fn free_range(world: &World, network: &Key, length: u8) -> Result<Ipv4Net, Refusal> {
    let pool = Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8);
    let taken = ranges::of_network(world, network);
    pool.subnets(length)
        .into_iter()
        .flatten()
        .find(|range| !taken.iter().any(|used| ranges::overlap(used.range, *range)))
        .ok_or_else(|| Refusal::bad("invalid", "No free range of this size was found.").later())
}

/// The reservation of an internal address in a subnet.
pub(crate) fn reserved_in(world: &World, subnet: &Key, wanted: &str) -> Option<Key> {
    let link = subnet.link();
    let mut reserved = world.of("addresses");
    let found =
        reserved.find(|(_, body)| text(body, "subnetwork") == link && text(body, "address") == wanted);
    found.map(|(address, _)| address.clone())
}

/// The number of the reserved address that a state of an instance links to.
pub(crate) fn number_of(world: &World, link: &str, project: &str) -> Result<String, Refusal> {
    let (_, body) = world.linked("preservedState.ipAddress.address", link, "addresses", project)?;
    Ok(text(body, "address").to_owned())
}

/// An address of a subnet that nobody has; the one that is wanted, where one is. Google keeps the first two and the
/// last two.
pub(crate) fn free_in(world: &World, subnet: &Key, wanted: &str) -> Result<String, Refusal> {
    let body = world.find(subnet).map(|object| &object.body);
    let range: Option<Ipv4Net> = body.and_then(|body| text(body, "ipCidrRange").parse().ok());
    let Some(range) = range else { return Err(Refusal::not_found(&subnet.path())) };
    let link = subnet.link();
    let reserved = world
        .of("addresses")
        .filter(|(_, body)| text(body, "subnetwork") == link)
        .map(|(_, body)| text(body, "address").to_owned());
    let instances = world.of("instances").flat_map(|(_, body)| list(body, "networkInterfaces"));
    let instances = instances
        .filter(|nic| nic["subnetwork"] == link.as_str())
        .filter_map(|nic| Some(nic["networkIP"].as_str()?.to_owned()));
    let taken: Vec<String> = reserved.chain(instances).collect();
    let last = u32::from(range.broadcast());
    let usable = |address: &Ipv4Addr| {
        let number = u32::from(*address);
        number > u32::from(range.network()) + 1 && number < last - 1
    };
    if wanted.is_empty() {
        let free = range
            .hosts()
            .filter(usable)
            .map(|address| address.to_string())
            .find(|address| !taken.contains(address));
        return free.ok_or_else(|| {
            Refusal::bad("resourcePoolExhausted", format!("IP space of '{subnet}' is exhausted.")).later()
        });
    }
    let inside = wanted.parse().is_ok_and(|address| range.contains(&address) && usable(&address));
    if !inside {
        let why = "Requested internal IP address is outside the subnetwork CIDR range or reserved.";
        return Err(Refusal::invalid("resource.address", wanted, why));
    }
    if taken.iter().any(|address| address == wanted) {
        let message =
            format!("Requested internal IP address '{wanted}' is already being used by another resource.");
        return Err(Refusal::bad("invalid", message).later());
    }
    Ok(wanted.to_owned())
}
