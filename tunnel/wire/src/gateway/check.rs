//! Checks across several settings.

use std::ops::Range;

use ipnet::IpNet;

use super::credentials::{self, WrongGrant};
use super::dns::WrongZone;
use super::error::at;
use super::site::Wrong;
use super::{
    FlowTarget, GRACE_MIN, GatewayConfig, LEASE_LIFE_MAX, LEASE_MAX, LEASE_MIN, Period, QUARANTINE_MAX,
    StoreConfig, Unprotected,
};
use crate::Name;
use crate::config::ParseError;

/// The most groups, and the most rules in all.
const GROUPS_MAX: usize = 1024;
const RULES_MAX: usize = 65_536;
/// The least and the largest MTU inside the tunnel: IPv6 wants 1280 (RFC 8200 section 5).
const MTU: std::ops::RangeInclusive<u16> = 1280..=9000;

/// Ranges that no machine can have as its address in a network: RFC 6890, RFC 4291.
const UNUSABLE: [(&str, &str); 8] = [
    ("0.0.0.0/8", "addresses of \"this network\""),
    ("127.0.0.0/8", "loopback addresses"),
    ("169.254.0.0/16", "link-local addresses"),
    ("224.0.0.0/4", "multicast addresses"),
    ("240.0.0.0/4", "reserved addresses"),
    ("::/8", "loopback and IPv4-mapped addresses"),
    ("fe80::/10", "link-local addresses"),
    ("ff00::/8", "multicast addresses"),
];

/// Looks for the first contradiction, in the order of the settings.
pub(super) fn check(text: &str, config: &GatewayConfig) -> Result<(), ParseError> {
    let wrong = |table: &str, key: &str, what: String, hint: &str| {
        Err(at(text, find(text, table, key), what, hint.to_owned()))
    };
    if config.keys.token_keys.is_empty() {
        let hint = "add the public key that `warren-tunnel token keygen` printed";
        return wrong("keys", "token_keys", "no key signs tokens, so no peer could join".into(), hint);
    }
    let pool = &config.pool.prefixes;
    if pool.is_empty() {
        return wrong("pool", "prefixes", "the pool is empty".into(), "add a range like 10.100.0.0/16");
    }
    for (index, net) in pool.iter().enumerate() {
        if net.trunc() != *net {
            let hint = format!("write {}", net.trunc());
            return wrong("pool", "prefixes", format!("{net} has host bits set"), &hint);
        }
        if let Some((range, what)) = UNUSABLE.iter().find(|(range, _)| overlaps(range, net)) {
            let what = format!("{net} contains {what} ({range})");
            return wrong(
                "pool",
                "prefixes",
                what,
                "use a private range that nothing else uses, like 10.100.0.0/16",
            );
        }
        if let Some(other) = pool[..index].iter().find(|other| overlap(other, net)) {
            let what = format!("{other} and {net} overlap");
            return wrong("pool", "prefixes", what, "remove one of them, or make it smaller");
        }
    }
    if let Some(address) =
        config.pool.reserved.iter().find(|address| !pool.iter().any(|net| net.contains(*address)))
    {
        let what = format!("{address} is not in the pool");
        return wrong("pool", "reserved", what, "reserve only addresses of the pool");
    }
    let ttl = config.lease.ttl.get();
    if !(LEASE_MIN..=LEASE_MAX).contains(&ttl) {
        let hint = "write from 4m, since handshakes are 120 s apart, to 24h";
        return wrong("lease", "ttl", format!("a lease of {} is out of range", config.lease.ttl), hint);
    }
    if config.lease.quarantine.get() > QUARANTINE_MAX {
        let what = format!("a quarantine of {} is too long", config.lease.quarantine);
        return wrong("lease", "quarantine", what, "write at most 7d");
    }
    let grace = config.lease.store_grace();
    if grace < GRACE_MIN || grace > ttl / 3 {
        let what = format!("a store_grace of {} s is out of range", grace.as_secs());
        let hint = "write from 10s to a third of the lease's TTL: other gateways may end a lease that is not renewed for its TTL";
        return wrong("lease", "store_grace", what, hint);
    }
    if !(ttl..=LEASE_LIFE_MAX).contains(&config.lease.max.get()) {
        let what = format!("a longest life of {} is out of range", config.lease.max);
        return wrong("lease", "max", what, "write from the lease's TTL to 400d");
    }
    if let StoreConfig::Etcd(etcd) = &config.store {
        if etcd.endpoints.is_empty() {
            return wrong("store", "endpoints", "no etcd endpoint".into(), "add http://127.0.0.1:2379");
        }
        let known = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !etcd.endpoints.iter().all(known) {
            let what = "an endpoint of etcd has no scheme".to_owned();
            return wrong("store", "endpoints", what, "write http://host:2379 or https://host:2379");
        }
        if etcd.certificate_file.is_some() != etcd.certificate_key_file.is_some() {
            let what = "a client certificate needs its key, and a key its certificate".to_owned();
            return wrong("store", "certificate_file", what, "set both files or none");
        }
    }
    if !MTU.contains(&config.peers.mtu) {
        let what = format!("an MTU of {} is out of range", config.peers.mtu);
        return wrong("peers", "mtu", what, "write 1280 to 9000; 1420 fits a path of 1500");
    }
    if !(1..=60).contains(&config.peers.keepalive_seconds) {
        let hint = "write 1 to 60; NAT mappings live for as little as 30 s, and leases need keepalives";
        return wrong("peers", "keepalive_seconds", "the keepalive interval is out of range".into(), hint);
    }
    if !config.gateways.as_slice().iter().any(|gateway| gateway.name == config.name) {
        let what = format!("the list has no entry for this gateway, `{}`", config.name);
        return wrong("", "gateways", what, "add this gateway with the addresses that peers use");
    }
    let of_site = |name: &Name| config.site.peers.iter().any(|peer| peer.group == *name);
    let of_pods = config.groups.iter().filter(|(name, _)| !of_site(name));
    let destinations = of_pods.flat_map(|(name, group)| {
        group.allow.iter().flat_map(move |rule| rule.to.iter().map(move |to| (name, to)))
    });
    for (name, to) in destinations {
        let own = config.reserved().iter().any(|address| IpNet::from(*address) == *to);
        if let Some(net) = pool.iter().find(|net| net.contains(to) && !own) {
            let what = format!("group {name} may reach {to}, which is in the pool's {net}");
            let hint = "for peers, write their group, like \"group:trainers\"; if the destination is behind the gateway, choose another pool";
            return wrong("groups", "to", what, hint);
        }
    }
    for (name, group) in &config.groups {
        for to in group.allow.iter().flat_map(|rule| &rule.to_groups) {
            if !config.groups.contains_key(to) {
                let what = format!("group {name} may reach the group `{to}`, which does not exist");
                return wrong("groups", "to", what, &format!("add [groups.{to}], or remove the rule"));
            }
            if let Some(site) = [name, to].into_iter().find(|name| of_site(name)) {
                let what =
                    format!("group {name} may reach the group `{to}`, and {site} is the group of a site");
                let hint = "sites have prefixes: write those of the site, or of the pool at its gateway";
                return wrong("groups", "to", what, hint);
            }
        }
        for rule in group.allow.iter().filter(|rule| rule.direct) {
            if rule.to_groups.is_empty() || !rule.to.is_empty() {
                let what = format!("a rule of group {name} is direct, but not only about groups");
                let hint =
                    "only pods have direct paths: write groups in `to`, and ranges in a rule of their own";
                return wrong("groups", "direct", what, hint);
            }
            let limited = |of: &&Name| {
                config.groups.get(*of).is_some_and(|of| of.rate_mbit.or(of.peer_rate_mbit).is_some())
            };
            if let Some(limited) = rule.to_groups.iter().chain([name]).find(limited) {
                let what = format!("a rule of group {name} is direct, and group {limited} has a rate");
                let hint = "the gateway cannot limit what does not pass it: remove `direct` or the rate";
                return wrong("groups", "direct", what, hint);
            }
        }
    }
    for (index, test) in config.tests.iter().enumerate() {
        let to = match &test.to {
            FlowTarget::Peer(group) => Some(group),
            FlowTarget::Host(_) => None,
        };
        if let Some(group) =
            [Some(&test.from), to].into_iter().flatten().find(|it| !config.groups.contains_key(*it))
        {
            let what = format!("the test names the group `{group}`, which does not exist");
            let key = if *group == test.from { "from" } else { "to" };
            return Err(at(
                text,
                find_in(text, "tests", index, key),
                what,
                format!("add [groups.{group}], or remove the test"),
            ));
        }
    }
    let rules = config.groups.values().map(|group| group.allow.len()).sum::<usize>();
    if config.groups.len() > GROUPS_MAX || rules > RULES_MAX {
        let what = format!("{} groups with {rules} rules", config.groups.len());
        return wrong("", "groups", what, "at most 1,024 groups and 65,536 rules");
    }
    let rates = config.groups.values().flat_map(|group| [group.rate_mbit, group.peer_rate_mbit]);
    if rates.flatten().any(|rate| rate == 0) {
        let hint = "omit the rate for no limit; a group without `allow` reaches nothing";
        return wrong("", "groups", "a rate of 0 Mbit/s passes no traffic".into(), hint);
    }
    if config.planned_rate_mbit == Some(0) {
        let hint = "write the rate that the machine and its line should carry, or omit it";
        return wrong("", "planned_rate_mbit", "the planned rate is 0 Mbit/s".into(), hint);
    }
    if let Err(WrongGrant { table, key, what, hint }) = credentials::check(config) {
        return wrong(table, key, what, &hint);
    }
    if let Err(Wrong { key, what, hint }) = config.site.check(pool, &config.reserved()) {
        return wrong("site", key, what, &hint);
    }
    if let Err(WrongZone { zone, key, what, hint }) =
        config.dns.check(&config.pool, &config.site, &config.name_server_addresses())
    {
        let place = zone.map_or_else(|| find(text, "dns", key), |zone| find_in(text, "dns.zones", zone, key));
        return Err(at(text, place, what, hint));
    }
    if let Some(peer) = config.site.peers.iter().find(|peer| !config.groups.contains_key(&peer.group)) {
        let what = format!("site {} has group `{}`, which does not exist", peer.name, peer.group);
        let hint =
            format!("add [[groups.{}.allow]] with the destinations that its traffic may reach", peer.group);
        return wrong("site", "group", what, &hint);
    }
    if let Some(Err(unprotected)) = config.listen.metrics.map(|at| config.page.is_served_at(at)) {
        return wrong("page", "enabled", unprotected.to_string(), Unprotected::HINT);
    }
    let limits = &config.limits;
    let counts = [
        limits.requests_per_second,
        limits.requests_per_minute_and_source,
        limits.connections,
        limits.connections_per_second_and_source,
        limits.tunnels_per_source,
        limits.dns_queries_per_second_and_peer,
        limits.credential_requests_per_minute_and_peer,
        limits.leases_per_source.unwrap_or(1),
    ];
    if counts.contains(&0) || limits.request_timeout == Period::from_secs(0) {
        return wrong("limits", "", "a limit of 0 rejects every peer".into(), "write at least 1");
    }
    Ok(())
}

fn overlaps(range: &str, net: &IpNet) -> bool {
    range.parse().is_ok_and(|range| overlap(&range, net))
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// The position of a setting in one table of an array of tables; otherwise that of the table.
fn find_in(text: &str, array: &str, index: usize, key: &str) -> Range<usize> {
    let header = format!("[[{array}]]");
    let starts: Vec<usize> = text
        .split_inclusive('\n')
        .scan(0, |offset, line| {
            let start = *offset;
            *offset += line.len();
            Some((start, line))
        })
        .filter(|(_, line)| line.trim_start().starts_with(&header))
        .map(|(start, _)| start)
        .collect();
    let table = array.split('.').next().unwrap_or_default();
    let Some(start) = starts.get(index).copied() else { return find(text, table, key) };
    let end = starts.get(index + 1).copied().unwrap_or(text.len());
    let place = find(text.get(start..end).unwrap_or_default(), table, key).start;
    start + place..start + place
}

/// The position of a setting; otherwise that of its table; otherwise the start of the file.
fn find(text: &str, table: &str, key: &str) -> Range<usize> {
    let mut here = table.is_empty();
    let mut place = 0;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let start = offset + (line.len() - bare.len());
        if let Some(header) = bare.strip_prefix('[') {
            let name = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
            let root = name.split('.').next().unwrap_or_default();
            here = root == table;
            if (here || (table.is_empty() && root == key)) && place == 0 {
                place = start;
            }
        } else if here
            && !key.is_empty()
            && bare.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        {
            return start..start;
        }
        offset += line.len();
    }
    place..place
}
