//! DNS for peers.
//!
//! ```toml
//! [[dns.zones]]
//! domains = ["s3.us-east-1.amazonaws.com"]
//! resolvers = ["172.16.0.2"]
//! ```
//!
//! The gateway answers queries for these domains at its own overlay address, from resolvers of its network. Without zones,
//! `servers` names resolvers that peers query through the tunnel themselves.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

use super::{PEER_DOMAIN, Pool, Site};
use crate::Name;
use crate::enrolment::{self, Domain};

/// The most zones, domains in all, and resolvers of one zone.
const ZONES_MAX: usize = 64;
const DOMAINS_MAX: usize = 1024;
const RESOLVERS_MAX: usize = 8;

/// Resolvers for peers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dns {
    /// Resolvers that peers query through the tunnel.
    #[serde(default)]
    pub servers: Vec<IpAddr>,
    /// The domains that these resolve; empty means all.
    #[serde(default)]
    pub domains: Vec<Domain>,
    /// Domains that this gateway answers for.
    #[serde(default)]
    pub zones: Vec<Zone>,
}

/// Domains, and the resolvers that know them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// These and all names below them. A name in several zones belongs to the longest of the domains.
    pub domains: Vec<Domain>,
    /// Resolvers in the order of preference, queried from the gateway's network on port 53.
    pub resolvers: Vec<IpAddr>,
}

/// A mistake: the zone, the setting in it, what is wrong, and what to do.
#[derive(Debug)]
pub(super) struct WrongZone {
    pub(super) zone: Option<usize>,
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: String,
}

impl Dns {
    /// The resolvers that peers query themselves.
    #[must_use]
    pub fn of_peers(&self) -> enrolment::Dns {
        enrolment::Dns { servers: self.servers.clone(), domains: self.domains.clone() }
    }

    /// Looks for the first contradiction; `own` are the addresses at which the gateway answers.
    pub(super) fn check(&self, pool: &Pool, site: &Site, own: &[IpAddr]) -> Result<(), WrongZone> {
        let wrong =
            |zone, key, what: String, hint: &str| Err(WrongZone { zone, key, what, hint: hint.to_owned() });
        if self.zones.is_empty() {
            return Ok(());
        }
        if !self.servers.is_empty() || !self.domains.is_empty() {
            let hint = "add a zone with these domains and, as its resolvers, these servers";
            return wrong(None, "servers", "[dns] has both servers of its own and zones".into(), hint);
        }
        let domains: usize = self.zones.iter().map(|zone| zone.domains.len()).sum();
        if self.zones.len() > ZONES_MAX || domains > DOMAINS_MAX {
            let what = format!("{} zones with {domains} domains", self.zones.len());
            return wrong(None, "zones", what, "at most 64 zones and 1,024 domains");
        }
        for (index, zone) in self.zones.iter().enumerate() {
            let here = Some(index);
            if zone.domains.is_empty() {
                let hint = "add the domains that its resolvers know, like s3.us-east-1.amazonaws.com";
                return wrong(here, "domains", "the zone has no domain".into(), hint);
            }
            let before = self.zones[..index].iter().flat_map(|zone| &zone.domains);
            let twice = zone.domains.iter().enumerate().find(|(at, domain)| {
                before.clone().chain(&zone.domains[..*at]).any(|other| other == *domain)
            });
            if let Some((_, domain)) = twice {
                let hint = "write each domain once; a zone may have several resolvers";
                return wrong(here, "domains", format!("{domain} is listed twice"), hint);
            }
            if let Some(domain) = zone.domains.iter().find(|domain| is_of_peers(domain.as_str())) {
                let what = format!("{domain} is the domain of the names of pods");
                return wrong(here, "domains", what, "the gateway answers for it itself: remove it");
            }
            if zone.resolvers.is_empty() || zone.resolvers.len() > RESOLVERS_MAX {
                let what = format!("the zone has {} resolvers", zone.resolvers.len());
                let hint = "write 1 to 8 addresses, like the VPC's resolver 172.16.0.2";
                return wrong(here, "resolvers", what, hint);
            }
            for resolver in &zone.resolvers {
                if let Some((what, hint)) = mistake(*resolver, pool, site, own) {
                    return wrong(here, "resolvers", what, hint);
                }
            }
        }
        let taken = site.peers.iter().find_map(|peer| {
            let address = peer.addresses.iter().find(|address| own.contains(address))?;
            Some((&peer.name, address))
        });
        if let Some((name, address)) = taken {
            let what = format!("site {name} has {address}, at which this gateway answers DNS");
            return wrong(None, "zones", what, "the first address of the pool is the gateway's own");
        }
        Ok(())
    }
}

impl Pool {
    /// The first host address of each address family: the gateway's own, if it answers DNS.
    pub(super) fn first_addresses(&self) -> Vec<IpAddr> {
        let first = |v4: bool| {
            let net = self.prefixes.iter().find(|net| matches!(net, IpNet::V4(_)) == v4)?;
            // As for peers: a range of two addresses has no network address (RFC 3021).
            let skipped = u8::from(net.max_prefix_len() - net.prefix_len() > 1);
            Some(match net.network() {
                IpAddr::V4(address) => IpAddr::V4((u32::from(address) + u32::from(skipped)).into()),
                IpAddr::V6(address) => IpAddr::V6((u128::from(address) + u128::from(skipped)).into()),
            })
        };
        [first(true), first(false)].into_iter().flatten().collect()
    }
}

/// A label of a host's name: its first one, in lower case, with a hyphen in place of what DNS names do not have (RFC 1123 section
/// 2.1).
#[must_use]
pub fn peer_label(host: &str) -> Option<String> {
    let first = host.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let label: String = first.chars().map(plain).take(63).collect();
    let label = label.trim_matches('-');
    (!label.is_empty()).then(|| label.to_owned())
}

/// The name of a peer for others, if its host has a name.
#[must_use]
pub fn peer_name(host: &str, group: &Name) -> Option<String> {
    peer_label(host).map(|label| format!("{label}.{group}.{PEER_DOMAIN}"))
}

/// Whether a domain is that of the names of peers, or below it.
fn is_of_peers(domain: &str) -> bool {
    domain.strip_suffix(PEER_DOMAIN).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn mistake(resolver: IpAddr, pool: &Pool, site: &Site, own: &[IpAddr]) -> Option<(String, &'static str)> {
    if own.contains(&resolver) {
        return Some((
            format!("{resolver} is this gateway's own address"),
            "write a resolver of its network",
        ));
    }
    if resolver.is_unspecified() || resolver.is_multicast() {
        return Some((
            format!("{resolver} is not the address of a host"),
            "write a resolver like 172.16.0.2",
        ));
    }
    if matches!(resolver, IpAddr::V6(address) if address.is_unicast_link_local()) {
        let hint = "write an address that is unique beyond its link";
        return Some((format!("{resolver} is ambiguous without an interface"), hint));
    }
    let of_site = site.peers.iter().any(|peer| peer.addresses.contains(&resolver));
    if !of_site && pool.prefixes.iter().any(|net| net.contains(&resolver)) {
        return Some((format!("{resolver} belongs to a pod"), "write a resolver of the gateway's network"));
    }
    None
}
