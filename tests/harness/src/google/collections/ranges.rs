//! Ranges of a network: which are allowed, which are taken.

use ipnet::Ipv4Net;

use super::super::error::Refusal;
use super::super::key::{Key, Place};
use super::super::world::{Body, World};
use super::{list, peerings, text};

/// Ranges that no subnet may touch ("Prohibited IPv4 subnet ranges", VPC documentation).
const PROHIBITED: [(&str, &str); 7] = [
    ("0.0.0.0/8", "this network"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("199.36.153.4/30", "restricted.googleapis.com"),
    ("199.36.153.8/30", "private.googleapis.com"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
];

/// A range in use and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) range: Ipv4Net,
    pub(crate) by: Key,
}

/// Reads a range without host bits.
pub(crate) fn parse(field: &str, value: &str) -> Result<Ipv4Net, Refusal> {
    let range: Ipv4Net =
        value.parse().map_err(|_| Refusal::invalid(field, value, "Must be a CIDR address range."))?;
    if range.trunc() != range {
        let why = "IPv4 address in CIDR notation has host bits set.";
        return Err(Refusal::invalid(field, value, why));
    }
    Ok(range)
}

/// Reads a range that a subnet may have: /29 at the smallest, outside the prohibited blocks.
pub(crate) fn subnet(field: &str, value: &str) -> Result<Ipv4Net, Refusal> {
    let range = parse(field, value)?;
    if !(4..=29).contains(&range.prefix_len()) {
        return Err(Refusal::invalid(field, value, "The prefix length must be from 4 to 29."));
    }
    let touched = PROHIBITED.iter().find(|(block, _)| block.parse().is_ok_and(|block| overlap(range, block)));
    match touched {
        Some((block, why)) => Err(Refusal::invalid(
            field,
            value,
            &format!("The range overlaps the prohibited range {block} ({why})."),
        )),
        None => Ok(range),
    }
}

pub(crate) fn overlap(one: Ipv4Net, other: Ipv4Net) -> bool {
    one.contains(&other.network()) || other.contains(&one.network())
}

/// The ranges of one subnet: primary, then secondary.
pub(crate) fn of_subnet(body: &Body) -> Vec<Ipv4Net> {
    let secondary = list(body, "secondaryIpRanges").iter().filter_map(|range| range["ipCidrRange"].as_str());
    std::iter::once(text(body, "ipCidrRange"))
        .chain(secondary)
        .filter_map(|range| range.parse().ok())
        .collect()
}

/// The ranges of a network's own subnets and of what is allocated in it.
pub(crate) fn of_network(world: &World, network: &Key) -> Vec<Used> {
    let link = network.link();
    let subnets = world.of("subnetworks").filter(|(_, body)| text(body, "network") == link);
    let subnets = subnets
        .flat_map(|(key, body)| of_subnet(body).into_iter().map(|range| Used { range, by: key.clone() }));
    let addresses = world.of("addresses").filter(|(_, body)| text(body, "network") == link);
    let addresses = addresses.filter_map(|(key, body)| {
        let length = body.get("prefixLength").and_then(serde_json::Value::as_u64).unwrap_or(32);
        let range = Ipv4Net::new(text(body, "address").parse().ok()?, u8::try_from(length).ok()?).ok()?;
        Some(Used { range, by: key.clone() })
    });
    // A subnetwork that is not associated with an internal range cannot use its addresses ("Internal ranges overview").
    let internal = world.config.internal_ranges.iter().filter(|(_, range)| range.network == network.path());
    let internal = internal.filter_map(|(name, range)| {
        let name = name.rsplit('/').next().unwrap_or_default();
        let by = network.beside("internalRanges", Place::Global, name);
        Some(Used { range: range.net.parse().ok()?, by })
    });
    subnets.chain(addresses).chain(internal).collect()
}

/// Refuses a range that is taken in the network, or in a network that it is peered with. The ranges of `own` do not
/// count.
pub(crate) fn free(world: &World, network: &Key, range: Ipv4Net, own: &Key) -> Result<(), Refusal> {
    let taken = |network: &Key| {
        of_network(world, network).into_iter().find(|used| used.by != *own && overlap(used.range, range))
    };
    if let Some(used) = taken(network) {
        let what = match (used.by.collection.as_str(), used.by.region()) {
            ("subnetworks", Some(region)) => {
                format!("existing subnetwork '{}' in region '{region}'", used.by.name)
            }
            _ => format!("existing resource '{}'", used.by),
        };
        let message = format!("Invalid IPCidrRange: {range} conflicts with {what}.");
        return Err(Refusal::bad("invalid", message).later());
    }
    for peer in peerings::active_peers(world, network) {
        if let Some(used) = taken(&peer) {
            let message = format!(
                "Invalid IPCidrRange: {range} conflicts with existing subnetwork '{}' of the peer network '{peer}'.",
                used.by.name
            );
            return Err(Refusal::bad("invalid", message).later());
        }
    }
    Ok(())
}
