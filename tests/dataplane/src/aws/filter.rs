//! Security groups and network ACLs as nftables.

use std::fmt::Write as _;

use ipnet::Ipv4Net;

use super::account::{Account, Groups, NetworkAcl, Peer, Permission, Protocol};
use super::addresses::{Eni, resolver_addresses};

/// Which side of a rule names the other party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ingress,
    Egress,
}

/// The ruleset of an interface's security groups: stateful, and what no rule allows is dropped ("Security group rules",
/// "Security group connection tracking" in the VPC User Guide).
///
/// `chains` are the hooks through which packets to and from the interface pass: the guard of a machine forwards them, an endpoint
/// receives and sends them itself.
pub(super) fn security_groups(account: &Account, all: &[Eni], eni: &Eni, guard: bool) -> String {
    let (ingress, egress) = match &eni.groups {
        Groups::Open => ("accept\n".to_owned(), "accept\n".to_owned()),
        Groups::Of(ids) => {
            let groups = || account.security_groups.iter().filter(|group| ids.contains(&group.id));
            (
                permissions(account, all, eni, groups().flat_map(|group| &group.ingress), Direction::Ingress),
                permissions(account, all, eni, groups().flat_map(|group| &group.egress), Direction::Egress),
            )
        }
    };
    // "Security groups can't block DNS requests to or from the Route 53 Resolver, sometimes referred to as the VPC+2 IP address".
    let resolvers =
        account.vpc(&eni.subnet.vpc).map(|vpc| resolver_addresses(&vpc.cidrs)).unwrap_or_default();
    let own = eni.address;
    let to_resolvers = format!("ip daddr {} meta l4proto {{ tcp, udp }} th dport 53 accept", set(&resolvers));
    let mut text = format!(
        "table ip groups {{\nchain ingress {{\n{ingress}drop\n}}\nchain egress {{\n{to_resolvers}\n{egress}drop\n}}\n"
    );
    if guard {
        // "Source/destination checking": the instance must be the source or destination of any traffic it sends or receives.
        let (sent, received) = if eni.check {
            (format!("ip saddr != {own} drop"), format!("ip daddr != {own} drop"))
        } else {
            (String::new(), String::new())
        };
        let _ = write!(
            text,
            "chain forward {{\ntype filter hook forward priority filter; policy drop;\n\
             iifname \"host\" {sent}\niifname \"vpc\" {received}\nct state established,related accept\n\
             iifname \"host\" jump egress\niifname \"vpc\" jump ingress\n}}\n}}\n"
        );
        text = text.replace("iifname \"host\" \n", "").replace("iifname \"vpc\" \n", "");
    } else {
        text += "chain input {\ntype filter hook input priority filter; policy drop;\niifname \"lo\" accept\n\
                 ct state established,related accept\njump ingress\n}\n\
                 chain output {\ntype filter hook output priority filter; policy drop;\noifname \"lo\" accept\n\
                 ct state established,related accept\njump egress\n}\n}\n";
    }
    text
}

/// A chain for each direction of a network ACL: numbered rules in order, the first that matches decides, and nothing is remembered
/// ("Network ACL rules" in the VPC User Guide). An accepted packet returns.
pub(super) fn network_acl(acl: &NetworkAcl, name: &str) -> String {
    let mut text = String::new();
    for (egress, suffix, side) in [(true, "out", "daddr"), (false, "in", "saddr")] {
        let mut entries: Vec<_> = acl.entries.iter().filter(|entry| entry.egress == egress).collect();
        entries.sort_by_key(|entry| entry.number);
        let _ = writeln!(text, "chain {name}_{suffix} {{");
        for entry in entries {
            let verdict = if entry.allow { "return" } else { "drop" };
            for line in matches(entry.protocol, entry.ports, side, &[entry.cidr]) {
                let _ = writeln!(text, "{line} {verdict}");
            }
        }
        text += "drop\n}\n";
    }
    text
}

fn permissions<'a>(
    account: &Account,
    all: &[Eni],
    eni: &Eni,
    rules: impl Iterator<Item = &'a Permission>,
    direction: Direction,
) -> String {
    let side = if direction == Direction::Ingress { "saddr" } else { "daddr" };
    let mut text = String::new();
    for rule in rules {
        let ranges: Vec<Ipv4Net> =
            rule.peers.iter().flat_map(|peer| peers(account, all, eni, peer)).collect();
        if ranges.is_empty() {
            continue;
        }
        for line in matches(rule.protocol, rule.ports, side, &ranges) {
            let _ = writeln!(text, "{line} accept");
        }
    }
    text
}

/// The addresses that a rule names. A group stands for the private addresses of its members, in the same VPC or in one that is
/// peered ("Update your security groups to reference peer security groups" in the VPC Peering Guide).
fn peers(account: &Account, all: &[Eni], eni: &Eni, peer: &Peer) -> Vec<Ipv4Net> {
    match peer {
        Peer::Range(range) => vec![*range],
        Peer::PrefixList(id) => account.prefix_list(id).to_vec(),
        Peer::Group(id) => {
            let reachable = |vpc: &str| vpc == eni.subnet.vpc || account.peered(vpc, &eni.subnet.vpc);
            let members = all.iter().filter(|other| {
                matches!(&other.groups, Groups::Of(ids) if ids.contains(id)) && reachable(&other.subnet.vpc)
            });
            members.map(|member| Ipv4Net::from(member.address)).collect()
        }
    }
}

/// The matches of a rule. Types of ICMP are not told apart.
fn matches(protocol: Protocol, ports: Option<(u16, u16)>, side: &str, ranges: &[Ipv4Net]) -> Vec<String> {
    let everything = ranges.iter().any(|range| range.prefix_len() == 0);
    let address = if everything { String::new() } else { format!("ip {side} {} ", set(ranges)) };
    let number = match protocol {
        Protocol::All => return vec![address],
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
        Protocol::Icmp => 1,
        Protocol::Number(number) => number,
    };
    let port = match ports {
        Some((from, to)) if matches!(number, 6 | 17) => format!("th dport {from}-{to} "),
        _ => String::new(),
    };
    vec![format!("{address}ip protocol {number} {port}")]
}

/// A set of nftables; overlapping ranges are reduced, which an anonymous set does not allow.
fn set<T: Copy + Into<Ipv4Net>>(ranges: &[T]) -> String {
    let ranges: Vec<Ipv4Net> = ranges.iter().map(|range| (*range).into()).collect();
    let ranges = Ipv4Net::aggregate(&ranges);
    let all: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    format!("{{ {} }}", all.join(", "))
}
