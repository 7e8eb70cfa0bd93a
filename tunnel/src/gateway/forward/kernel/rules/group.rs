//! The chains of one group: its rates, and its rules in both directions.

use std::fmt::Write as _;

use ipnet::IpNet;
use warren_wire::Name;
use warren_wire::gateway::{Allow, Group, PortRange, Protocol};

use super::{FORGOTTEN, is_of, keyword, set};

/// Bursts are 100 ms, but at least this many bytes: the kernel counts packets before they are segmented.
const MIN_BURST: u64 = 256 << 10;

/// Writes the chains of a group's rates, one per direction.
pub(super) fn rates(out: &mut String, group: &Name, of: &Group) {
    let rate = |mbit: u32| {
        let bytes = u64::from(mbit) * 125_000;
        format!("limit rate over {bytes} bytes/second burst {} bytes", (bytes / 10).max(MIN_BURST))
    };
    if of.peer_rate_mbit.is_some() {
        for direction in ["out", "in"] {
            for (family, kind) in [(4, "ipv4_addr"), (6, "ipv6_addr")] {
                _ = writeln!(
                    out,
                    "  set rate-{direction}{family}-{group} {{ type {kind}; size 65535; flags dynamic; timeout {FORGOTTEN}; }}"
                );
            }
        }
    }
    for (direction, side) in [("out", "saddr"), ("in", "daddr")] {
        if has_rates(of) {
            _ = writeln!(out, "  chain limit-{direction}-{group} {{");
            if let Some(mbit) = of.rate_mbit {
                _ = writeln!(out, "    {} goto too-fast", rate(mbit));
            }
            if let Some(mbit) = of.peer_rate_mbit {
                for (family, ip) in [(4, "ip"), (6, "ip6")] {
                    let set = format!("rate-{direction}{family}-{group}");
                    _ = writeln!(out, "    update @{set} {{ {ip} {side} {} }} goto too-fast", rate(mbit));
                }
            }
            out.push_str("  }\n");
        }
        _ = writeln!(out, "  chain pass-{direction}-{group} {{");
        if has_rates(of) {
            _ = writeln!(out, "    jump limit-{direction}-{group}");
        }
        _ = writeln!(out, "    goto passed-{direction}\n  }}");
    }
}

/// Whether a group has chains `limit-out-GROUP` and `limit-in-GROUP`, which end what is above its rates.
pub(super) fn has_rates(of: &Group) -> bool {
    of.rate_mbit.is_some() || of.peer_rate_mbit.is_some()
}

/// ICMP errors about connections that a rule allows.
pub(super) const RELATED: &str = "ct state related meta l4proto { 1, 58 }";

/// Writes the chains of a group's rules, one per direction: to a destination, back from it, and to this machine's own addresses.
/// No other chain's name begins with `out-`, `in-`, `own-`, `peer-` or `back-`, since a group may have any name.
pub(super) fn chains(out: &mut String, group: &Name, of: &Group) {
    let hosts: Vec<Allow> = of.allow.iter().map(Allow::of_hosts).collect();
    for (way, direction, rules, side, port, echo) in [
        ("out", "out", &of.allow, "daddr", "dport", "request"),
        ("in", "in", &of.allow, "saddr", "sport", "reply"),
        ("own", "out", &hosts, "daddr", "dport", "request"),
    ] {
        _ = writeln!(out, "  chain {way}-{group} {{\n    {RELATED} goto pass-{direction}-{group}");
        for rule in rules {
            for family in [4, 6] {
                let Some(nets) = nets(rule, family, side) else { continue };
                for what in traffic(rule, family, port, echo) {
                    _ = writeln!(out, "    {nets} {what} goto pass-{direction}-{group}");
                }
            }
        }
        *out += "  }\n";
    }
}

/// The rule's prefixes of a family.
fn nets(rule: &Allow, family: u8, side: &str) -> Option<String> {
    let nets: Vec<IpNet> = rule.to.iter().map(IpNet::trunc).filter(|net| is_of(net, family)).collect();
    let nets = IpNet::aggregate(&nets);
    let first = nets.first()?;
    Some(if first.prefix_len() == 0 {
        format!("meta nfproto ipv{family}")
    } else {
        format!("{} {side} {}", keyword(first), set(&nets))
    })
}

/// Matches what a rule allows to its destinations of a family, for each protocol.
pub(super) fn traffic(rule: &Allow, family: u8, port: &str, echo: &str) -> impl Iterator<Item = String> {
    let wanted = |protocol: &Protocol| rule.protocols.as_ref().is_none_or(|all| all.contains(protocol));
    let of = move |protocol| {
        let (name, number) = match protocol {
            Protocol::Icmp if family == 4 => return format!("icmp type echo-{echo}"),
            Protocol::Icmp => return format!("icmpv6 type echo-{echo}"),
            Protocol::Tcp => ("tcp", 6),
            Protocol::Udp => ("udp", 17),
        };
        match &rule.ports {
            Some(ports) => format!("{name} {port} {}", set(&joined(ports))),
            None => format!("meta l4proto {number}"),
        }
    };
    Protocol::ALL.into_iter().filter(wanted).map(of)
}

/// Merges ranges that overlap or touch, which a set of nft refuses.
fn joined(ports: &[PortRange]) -> Vec<String> {
    let mut ports: Vec<(u16, u16)> = ports.iter().map(|range| (range.first(), range.last())).collect();
    ports.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::with_capacity(ports.len());
    for (first, last) in ports {
        match merged.last_mut() {
            Some((_, end)) if u32::from(first) <= u32::from(*end) + 1 => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    merged.into_iter().map(text).collect()
}
