//! What a network's router lets through, as nftables: firewall rules, forwarding by instances, the internet gateway with its
//! translations.
//!
//! ```text
//! from a host ─> own source? ─> egress rules ─┬─> to a host: own destination? ─> ingress rules
//!                                             ├─> to a peer
//!                                             └─> to Google: Google APIs | external address | Cloud NAT | nothing else
//! ```

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::inventory::{Firewall, Inventory, Traffic};
use super::places::Place;
use super::{APIS, METADATA, PRIVATE_NAMES, RESTRICTED_NAMES, bundle_address};

/// The wire of a router to Google's own network.
pub(crate) const EDGE: &str = "edge";

/// The ruleset of a network's router. `alias` is the address that stands for the network in Google's own.
pub(crate) fn ruleset(inventory: &Inventory, network: &str, places: &[Place], alias: Ipv4Addr) -> String {
    let hosts: Vec<&Place> = places.iter().filter(|place| place.network == network).collect();
    let mut text = "table ip plane {\n".to_owned();
    let _ = write!(
        text,
        "chain input {{\n type filter hook input priority 0; policy drop;\n iifname lo accept\n \
         ct state established,related accept\n"
    );
    for host in &hosts {
        // "VPC firewall rules", always allowed traffic: a VM and its own metadata server. It answers no other source.
        let own = set(host.addresses());
        let _ = writeln!(text, " iifname {} ip saddr {own} ip daddr {METADATA} accept", host.wire);
    }
    text += "}\nchain output {\n type filter hook output priority 0; policy accept;\n ct state established,related accept\n";
    for host in &hosts {
        let _ = writeln!(text, " oifname {} jump to_{}", host.wire, host.wire);
    }
    text += "}\nchain forward {\n type filter hook forward priority 0; policy drop;\n \
             ct state established,related accept\n ct state invalid drop\n";
    for host in &hosts {
        let _ = writeln!(text, " iifname {} jump from_{}", host.wire, host.wire);
    }
    for host in &hosts {
        let _ = writeln!(text, " oifname {} jump to_{}", host.wire, host.wire);
    }
    let _ = writeln!(text, " oifname {EDGE} jump internet\n accept\n}}");
    for host in &hosts {
        text += &from(inventory, host, network);
        text += &to(inventory, host, network, &hosts);
    }
    text += &internet(inventory, network, &hosts);
    text += &translations(inventory, network, &hosts, alias);
    text + "}\n"
}

/// What a host may send. "Enable IP forwarding for instances": others' source addresses only with it. Then the egress rules.
fn from(inventory: &Inventory, host: &Place, network: &str) -> String {
    let mut text = format!("chain from_{} {{\n", host.wire);
    if !host.forwards {
        let _ = writeln!(text, " ip saddr != {} drop", set(host.addresses()));
    }
    for rule in ordered(inventory, network, host, true) {
        // A packet to an endpoint has another destination by now.
        let mut to = String::new();
        if !rule.destinations.is_empty() {
            let _ = write!(to, "ct original ip daddr {} ", ranges(&rule.destinations));
        }
        if !rule.sources.is_empty() {
            let _ = write!(to, "ip saddr {} ", ranges(&rule.sources));
        }
        text += &verdicts(rule, &[to]);
    }
    // The implied rule allows all egress.
    text + "}\n"
}

/// What a host receives: the ingress rules, and without one that allows it nothing.
fn to(inventory: &Inventory, host: &Place, network: &str, hosts: &[&Place]) -> String {
    let mut text = format!("chain to_{} {{\n", host.wire);
    if !host.forwards {
        let _ = writeln!(text, " ip daddr != {} drop", set(host.addresses()));
    }
    for rule in ordered(inventory, network, host, false) {
        let mut sources = Vec::new();
        let open = rule.source_tags.is_empty() && rule.source_accounts.is_empty();
        if !rule.sources.is_empty() {
            sources.push(format!("ip saddr {} ", ranges(&rule.sources)));
        } else if open {
            sources.push(String::new());
        }
        // "Source tags": the primary internal addresses of instances of the same network; a packet from either matches.
        let tagged = hosts.iter().filter(|other| {
            !rule.source_tags.is_disjoint(&other.tags) || !rule.source_accounts.is_disjoint(&other.accounts)
        });
        let tagged: Vec<Ipv4Addr> = tagged.map(|other| other.address).collect();
        if !tagged.is_empty() {
            sources.push(format!("ip saddr {} ", set(tagged)));
        }
        if !rule.destinations.is_empty() {
            for source in &mut sources {
                let _ = write!(source, "ip daddr {} ", ranges(&rule.destinations));
            }
        }
        text += &verdicts(rule, &sources);
    }
    text + " drop\n}\n"
}

/// The rules that a host is a target of, strongest first; of the same priority, those that deny first.
fn ordered<'a>(inventory: &'a Inventory, network: &str, host: &Place, egress: bool) -> Vec<&'a Firewall> {
    let targets = |rule: &&Firewall| {
        let all = rule.target_tags.is_empty() && rule.target_accounts.is_empty();
        all || !rule.target_tags.is_disjoint(&host.tags) || !rule.target_accounts.is_disjoint(&host.accounts)
    };
    let own = inventory.firewalls.values().filter(|rule| rule.network == network && rule.egress == egress);
    let mut rules: Vec<&Firewall> = own.filter(targets).collect();
    rules.sort_by_key(|rule| (rule.priority, rule.allow));
    rules
}

fn verdicts(rule: &Firewall, conditions: &[String]) -> String {
    let verdict = if rule.allow { "return" } else { "drop" };
    let mut text = String::new();
    for condition in conditions {
        for traffic in &rule.traffic {
            let _ = writeln!(text, " {condition}{}{verdict}", protocol(traffic));
        }
    }
    text
}

fn protocol(traffic: &Traffic) -> String {
    let ports = traffic.ports.join(", ");
    let name = match traffic.protocol.as_str() {
        "all" => return String::new(),
        "6" => "tcp",
        "17" => "udp",
        "132" => "sctp",
        "ipip" => "4",
        name => name,
    };
    if ports.is_empty() { format!("meta l4proto {name} ") } else { format!("{name} dport {{ {ports} }} ") }
}

/// The default internet gateway: Google APIs for whom may have them, external addresses, Cloud NAT.
fn internet(inventory: &Inventory, network: &str, hosts: &[&Place]) -> String {
    let mut text = "chain internet {\n".to_owned();
    let allowed = set(hosts.iter().flat_map(|host| &host.google_access).copied());
    let bundles = bundles(inventory, network);
    if !bundles.is_empty() {
        let _ = writeln!(text, " ip daddr {} ct status dnat ip saddr {allowed} return", set(bundles));
    }
    let _ = writeln!(
        text,
        " ip daddr {{ {APIS}, {PRIVATE_NAMES}, {RESTRICTED_NAMES} }} ip saddr {allowed} return"
    );
    let _ = writeln!(
        text,
        " ip daddr {{ {APIS}, {PRIVATE_NAMES}, {RESTRICTED_NAMES}, {} }} drop",
        super::BUNDLES
    );
    // The internet has no route to private addresses.
    text += " ip daddr { 10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16 } drop\n";
    let external = set(hosts.iter().filter(|host| host.external.is_some()).map(|host| host.address));
    let _ = writeln!(text, " ip saddr {external} return");
    // "Public NAT": TCP, UDP and ICMP.
    let nat = set(hosts.iter().flat_map(|host| &host.nat).map(|(inside, _)| *inside));
    let _ = writeln!(text, " ip saddr {nat} meta l4proto {{ tcp, udp, icmp }} return");
    text + " drop\n}\n"
}

fn translations(inventory: &Inventory, network: &str, hosts: &[&Place], alias: Ipv4Addr) -> String {
    let mut text = "chain before {\n type nat hook prerouting priority dstnat;\n".to_owned();
    for host in hosts {
        if let Some(external) = host.external {
            let _ = writeln!(text, " iifname {EDGE} ip daddr {external} dnat to {}", host.address);
        }
    }
    for endpoint in inventory.endpoints.values().filter(|endpoint| endpoint.network == network) {
        let to = bundle_address(&endpoint.bundle);
        // "Access Google APIs through endpoints": not over peering.
        let _ = writeln!(text, " iifname \"h*\" ip daddr {} dnat to {to}", endpoint.address);
    }
    text += "}\nchain after {\n type nat hook postrouting priority srcnat;\n";
    let google = [APIS, PRIVATE_NAMES, RESTRICTED_NAMES, super::BUNDLES].join(", ");
    let _ = writeln!(text, " oifname {EDGE} ip daddr {{ {google} }} snat to {alias}");
    for host in hosts {
        if let Some(external) = host.external {
            let _ = writeln!(text, " oifname {EDGE} ip saddr {} snat to {external}", host.address);
        }
        for (inside, outside) in &host.nat {
            let _ = writeln!(text, " oifname {EDGE} ip saddr {inside} snat to {outside}");
        }
    }
    text + "}\n"
}

fn bundles(inventory: &Inventory, network: &str) -> Vec<Ipv4Addr> {
    let own = inventory.endpoints.values().filter(|endpoint| endpoint.network == network);
    let mut bundles: Vec<Ipv4Addr> = own.map(|endpoint| bundle_address(&endpoint.bundle)).collect();
    bundles.sort();
    bundles.dedup();
    bundles
}

/// A set of addresses; one that no packet has where there are none.
fn set(addresses: impl IntoIterator<Item = Ipv4Addr>) -> String {
    let mut addresses: Vec<String> = addresses.into_iter().map(|address| address.to_string()).collect();
    if addresses.is_empty() {
        addresses.push("255.255.255.255".to_owned());
    }
    format!("{{ {} }}", addresses.join(", "))
}

/// A set of ranges without those inside another, which the kernel would refuse.
fn ranges(ranges: &[ipnet::Ipv4Net]) -> String {
    let merged = ipnet::Ipv4Net::aggregate(&ranges.to_vec());
    let merged: Vec<String> = merged.iter().map(ToString::to_string).collect();
    format!("{{ {} }}", merged.join(", "))
}
