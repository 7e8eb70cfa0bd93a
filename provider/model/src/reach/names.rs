//! How a name resolves: the resolver of the source's network, its private zones, endpoints and rules.
//!
//! AWS: the most specific of the associated private zones, the zones of interface endpoints with private DNS in the same
//! network, and the resolver rules answers; a rule wins over a zone with the same domain ("Considerations when working with
//! a private hosted zone", Route 53 Developer Guide).
//!
//! Google: the zone with the longest matching suffix answers ("Name resolution order", Cloud DNS). An alias in it leads only to
//! names of private zones ("CNAME chasing"). A peering zone leads through one network to another, and no further ("Peering
//! zones").
//!
//! In both, a private zone without a matching record answers that there is no such name.

use super::{Answer, Hop, Lists, Reason, Side};
use crate::policy::within;
use crate::topology::{
    Content, Direction, Endpoint, EndpointKind, Home, Network, Protocol, Record, ResolverEndpoint,
    ResolverRule, Topology, Zone, ZoneKind,
};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};

/// Maximum number of peering zones of Cloud DNS that one query may pass.
const MAX_PEERINGS: usize = 2;

/// The domain of the names that Google creates for endpoints of its APIs: `SERVICE-ENDPOINT.p.googleapis.com`.
const ENDPOINT_NAMES: &str = "p.googleapis.com";

/// DNS.
pub(super) const DNS: Protocol = Protocol::Udp(53, 53);

/// Maximum number of resolvers and aliases that one name may pass, which ends loops.
const MAX_STEPS: usize = 8;

/// What a name resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// Addresses of a record.
    Addresses(Vec<IpAddr>),
    /// An interface endpoint, or one of Private Service Connect.
    Endpoint(&'a Endpoint),
    /// Public addresses.
    Public,
    /// There is no such name, or no resolver.
    Nothing(Reason),
}

/// How a name resolved.
pub(super) struct Resolved<'a> {
    pub(super) found: Found<'a>,
    /// The name at the end of aliases.
    pub(super) name: String,
    pub(super) hops: Vec<Hop>,
}

impl<'a> Resolved<'a> {
    pub(super) fn nothing(name: &str, hops: Vec<Hop>, why: impl Into<Reason>) -> Self {
        Self { found: Found::Nothing(why.into()), name: name.to_owned(), hops }
    }
}

impl Resolved<'_> {
    /// It, without the explanation.
    pub(super) fn without_hops(&self) -> Self {
        Self { found: self.found.clone(), name: self.name.clone(), hops: Vec::new() }
    }
}

/// Addresses that names have.
pub(super) fn ranges(all: &Topology) -> Vec<IpNet> {
    let records = all.records.values().filter_map(|record| match &record.content {
        Content::Addresses(addresses) => Some(addresses.as_slice()),
        _ => None,
    });
    let endpoints = all.endpoints.values().filter_map(|endpoint| endpoint.address);
    let resolvers = all.resolver_endpoints.values().flat_map(|it| it.addresses.iter().copied());
    let addresses = records.flatten().copied().chain(endpoints).chain(resolvers);
    let listed = all.endpoints.values().flat_map(|endpoint| endpoint.ranges.iter().copied());
    addresses.map(IpNet::from).chain(listed).collect()
}

/// What answers for a domain, from the weakest to the strongest.
#[derive(Clone, Copy)]
enum Source<'a> {
    Managed(&'a Endpoint),
    Zone(&'a Zone),
    Rule(&'a ResolverRule),
}

impl<'a> Lists<'a> {
    /// Resolves a name as the hosts of a subnet do.
    pub(super) fn resolve(&self, from: &Side<'a>, name: &str) -> Resolved<'a> {
        match from.subnet.network.as_deref() {
            Some(network) => self.resolve_in(network, name, false, Vec::new()),
            None => {
                let why =
                    format!("the network of subnet {} is known only after apply", from.subnet.head.name);
                Resolved::nothing(name, Vec::new(), Reason::unknown(why))
            }
        }
    }

    /// Resolves a name as the resolver of a network does. `inbound` states whether the query comes through its inbound
    /// endpoint.
    pub(super) fn resolve_in(
        &self,
        network: &str,
        name: &str,
        inbound: bool,
        mut hops: Vec<Hop>,
    ) -> Resolved<'a> {
        let place = self.all.name(network).to_owned();
        if hops.len() > MAX_STEPS {
            return Resolved::nothing(name, hops, format!("the resolution of {name} does not end"));
        }
        let Some(network) = self.all.networks.get(network) else {
            return Resolved::nothing(
                name,
                hops,
                Reason::unknown(format!("network {place} is not in the plan")),
            );
        };
        if !network.resolver {
            let why = format!("{name} does not resolve: DNS support of {place} is off (enable_dns_support)");
            let hint = format!("set `{}.enable_dns_support = true`", network.head.key);
            return Resolved::nothing(name, hops, Reason::from(why).with_hint(hint));
        }
        let source = match self.source(network, name, inbound) {
            Ok(source) => source,
            Err(why) => return Resolved::nothing(name, hops, why),
        };
        match source {
            Some(Source::Managed(endpoint)) => {
                let Some(endpoint) = self.with_name(network, endpoint, name, inbound) else {
                    let why = format!("{name} does not resolve: no endpoint of {place} has this name");
                    return Resolved::nothing(name, hops, why);
                };
                let text =
                    format!("{name} resolves to endpoint {} (private DNS of {place})", endpoint.head.name);
                hops.push(Hop::new(&endpoint.head.key, text));
                Resolved { found: Found::Endpoint(endpoint), name: name.to_owned(), hops }
            }
            Some(Source::Zone(zone)) => self.by_zone(network, zone, name, inbound, hops),
            Some(Source::Rule(rule)) => self.by_rule(rule, name, hops),
            None => {
                let text = match self.scoped(network, name) {
                    Some(endpoint) => {
                        let own = endpoint.network.as_deref().map_or("its network", |key| self.all.name(key));
                        format!(
                            "{name} resolves to its public addresses: the private DNS of endpoint {} resolves only in {own}",
                            endpoint.head.name
                        )
                    }
                    None => {
                        format!(
                            "{name} resolves to its public addresses: no private zone visible in {place} contains it"
                        )
                    }
                };
                hops.push(Hop::new(&network.head.key, text));
                Resolved { found: Found::Public, name: name.to_owned(), hops }
            }
        }
    }

    /// What answers for a name in a network. `None` is the internet.
    fn source(&self, network: &Network, name: &str, inbound: bool) -> Result<Option<Source<'a>>, Reason> {
        let key = &network.head.key;
        let mut best: Option<((usize, u8), Source<'a>)> = None;
        let mut offer = |rank: (usize, u8), source| {
            if best.is_none_or(|(found, _)| rank > found) {
                best = Some((rank, source));
            }
        };
        if network.private_names {
            for endpoint in self.managed(network, inbound) {
                for domain in self.domains(endpoint, network).iter().filter(|it| within(name, it)) {
                    offer((domain.len(), 0), Source::Managed(endpoint));
                }
            }
        }
        let mut open = Vec::new();
        for zone in self.all.zones.values().filter(|it| !it.public && it.head.home == network.head.home) {
            let length = match &zone.domain {
                Some(domain) if within(name, domain) => domain.len(),
                Some(_) => continue,
                None if zone.networks.contains(key) => {
                    open.push((
                        usize::MAX,
                        format!("the domain of zone {} is known only after apply", zone.head.name),
                    ));
                    continue;
                }
                None => continue,
            };
            if zone.networks.contains(key) && (network.private_names || zone.head.home != Home::Aws) {
                offer((length, 1), Source::Zone(zone));
            } else if !zone.complete {
                let name = self.all.name(key);
                let text = format!(
                    "whether zone {} is associated with {name} is known only after apply",
                    zone.head.name
                );
                open.push((length, text));
            }
        }
        let rules = self.all.resolver_rules.values().filter(|_| network.head.home == Home::Aws);
        for rule in rules {
            let Some(domain) = rule.domain.as_deref().filter(|it| within(name, it)) else { continue };
            if rule.networks.contains(key) {
                offer((domain.len(), 2), Source::Rule(rule));
            } else if !rule.associated {
                let name = self.all.name(key);
                let text = format!(
                    "whether rule {} is associated with {name} is known only after apply",
                    rule.head.name
                );
                open.push((domain.len(), text));
            }
        }
        let length = best.map_or(0, |((length, _), _)| length);
        if let Some((_, why)) = open.into_iter().find(|(possible, _)| *possible >= length.max(1)) {
            return Err(Reason::unknown(why));
        }
        Ok(match best {
            // A system rule leaves its domain to the network's own resolver.
            Some((_, Source::Rule(rule))) if !rule.forwards => self.own_source(network, name, inbound),
            Some((_, source)) => Some(source),
            None => None,
        })
    }

    /// What answers for a name without resolver rules.
    fn own_source(&self, network: &Network, name: &str, inbound: bool) -> Option<Source<'a>> {
        if !network.private_names {
            return None;
        }
        let managed = self.managed(network, inbound).flat_map(|endpoint| {
            let domains = self.domains(endpoint, network).into_iter();
            domains.filter(|it| within(name, it)).map(move |it| ((it.len(), 0), Source::Managed(endpoint)))
        });
        let zones =
            self.all.zones.values().filter(|zone| !zone.public && zone.networks.contains(&network.head.key));
        let zones = zones.filter_map(|zone| {
            let domain = zone.domain.as_deref().filter(|it| within(name, it))?;
            Some(((domain.len(), 1), Source::Zone(zone)))
        });
        managed.chain(zones).max_by_key(|(rank, _)| *rank).map(|(_, source)| source)
    }

    /// Interface endpoints of a network with private DNS.
    fn managed(&self, network: &Network, inbound: bool) -> impl Iterator<Item = &'a Endpoint> {
        let key = network.head.key.clone();
        self.all.endpoints.values().filter(move |it| {
            it.kind == EndpointKind::Interface
                && it.private_dns
                && (inbound || !it.inbound_only)
                && it.network.as_ref() == Some(&key)
        })
    }

    /// An interface endpoint of another network whose private DNS has the name.
    pub(super) fn scoped(&self, network: &Network, name: &str) -> Option<&'a Endpoint> {
        self.all.endpoints.values().find(|it| {
            it.kind == EndpointKind::Interface
                && it.private_dns
                && it.head.home == Home::Aws
                && network.head.home == Home::Aws
                && it.network.as_ref() != Some(&network.head.key)
                && self.domains(it, network).iter().any(|domain| within(name, domain))
        })
    }

    fn domains(&self, endpoint: &Endpoint, network: &Network) -> Vec<String> {
        match endpoint.head.home {
            Home::Aws => self.aws_domain(&endpoint.service, &network.head.key).into_iter().collect(),
            Home::Google => vec![ENDPOINT_NAMES.to_owned()],
            Home::Azure | Home::Runpod => Vec::new(),
        }
    }

    /// The endpoint that has a name, of those whose domain it is in.
    fn with_name(
        &self,
        network: &Network,
        found: &'a Endpoint,
        name: &str,
        inbound: bool,
    ) -> Option<&'a Endpoint> {
        if found.head.home != Home::Google {
            return Some(found);
        }
        let label = name.strip_suffix(ENDPOINT_NAMES)?.strip_suffix('.')?;
        let (_, end) = label.rsplit_once('-')?;
        self.managed(network, inbound).find(|it| it.head.home == Home::Google && it.head.name == end)
    }

    fn by_zone(
        &self,
        network: &Network,
        zone: &'a Zone,
        name: &str,
        inbound: bool,
        mut hops: Vec<Hop>,
    ) -> Resolved<'a> {
        let (of, place) = (&zone.head.name, &network.head.name);
        match &zone.kind {
            ZoneKind::Records => {}
            ZoneKind::Peering(Some(peer)) => {
                let peered = |hop: &&Hop| {
                    let zone = self.all.zones.get(&hop.key);
                    zone.is_some_and(|it| matches!(it.kind, ZoneKind::Peering(_)))
                };
                if hops.iter().filter(peered).count() >= MAX_PEERINGS {
                    let why = format!(
                        "{name} does not resolve: Cloud DNS follows no more than {MAX_PEERINGS} peering zones, and zone {of} is a further one"
                    );
                    return Resolved::nothing(name, hops, why);
                }
                let text = format!("zone {of} resolves {name} as network {} does", self.all.name(peer));
                hops.push(Hop::new(&zone.head.key, text));
                return self.resolve_in(peer, name, inbound, hops);
            }
            ZoneKind::Peering(None) => {
                let why = format!("the network that zone {of} resolves in is known only after apply");
                return Resolved::nothing(name, hops, Reason::unknown(why));
            }
            ZoneKind::Forwarding(targets) => {
                let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
                let why = format!(
                    "zone {of} forwards {name} to {}, which the plan does not describe",
                    targets.join(", ")
                );
                return Resolved::nothing(name, hops, Reason::unknown(why));
            }
        }
        match self.record(zone, name) {
            Ok(Some(Content::Endpoint(key))) => match self.all.endpoints.get(&key) {
                Some(endpoint) => {
                    let text = format!(
                        "{name} resolves to endpoint {} (zone {of}, visible in {place})",
                        endpoint.head.name
                    );
                    hops.push(Hop::new(&zone.head.key, text));
                    Resolved { found: Found::Endpoint(endpoint), name: name.to_owned(), hops }
                }
                None => {
                    let why = format!("the address of {name} in zone {of} is known only after apply");
                    Resolved::nothing(name, hops, Reason::unknown(why))
                }
            },
            Ok(Some(Content::Addresses(addresses))) => {
                let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                let text = format!("{name} resolves to {} (zone {of}, visible in {place})", list.join(", "));
                hops.push(Hop::new(&zone.head.key, text));
                Resolved { found: Found::Addresses(addresses), name: name.to_owned(), hops }
            }
            Ok(Some(Content::Name(alias))) => {
                hops.push(Hop::new(
                    &zone.head.key,
                    format!("{name} is {alias} (zone {of}, visible in {place})"),
                ));
                let resolved = self.resolve_in(&network.head.key, &alias, inbound, hops);
                if network.head.home == Home::Google && resolved.found == Found::Public {
                    let why = format!(
                        "{name} does not resolve: it is {alias}, and Cloud DNS looks for the target of an alias in private zones only"
                    );
                    let hint = format!("add a private zone with {alias} for {place}");
                    return Resolved::nothing(name, resolved.hops, Reason::from(why).with_hint(hint));
                }
                resolved
            }
            Ok(Some(Content::Other) | None) => {
                let why =
                    format!("{name} does not resolve: zone {of}, visible in {place}, has no record for it");
                Resolved::nothing(name, hops, why)
            }
            Ok(Some(Content::Unknown)) | Err(()) => {
                let why = format!("the record for {name} in zone {of} is known only after apply");
                Resolved::nothing(name, hops, Reason::unknown(why))
            }
        }
    }

    /// What a zone answers for a name: its record, or else the wildcard of the closest parent. `Err` if a record that is
    /// known only after apply may be the one.
    fn record(&self, zone: &Zone, name: &str) -> Result<Option<Content>, ()> {
        let of = |record: &&Record| record.zone.as_ref() == Some(&zone.head.key);
        let records: Vec<&Record> = self.all.records.values().filter(of).collect();
        let named = |wanted: &str| -> Option<Content> {
            let mut same =
                records.iter().filter(|it| it.name.as_deref() == Some(wanted)).map(|it| &it.content);
            let first = same.next()?.clone();
            Some(same.fold(first, merged))
        };
        if let Some(found) = named(name) {
            return Ok(Some(found));
        }
        let mut parent = name;
        // A name with others below it exists, although it has no records, and is no wildcard's (RFC 4592, section 2.2.2).
        let exists = records.iter().any(|it| it.name.as_deref().is_some_and(|it| within(it, name)));
        let domain = zone.domain.as_deref().unwrap_or_default();
        while let Some((_, rest)) = parent.split_once('.').filter(|(_, rest)| !exists && within(rest, domain))
        {
            if let Some(found) = named(&format!("*.{rest}")) {
                return Ok(Some(found));
            }
            // A wildcard does not match below a name that exists.
            if records.iter().any(|it| {
                it.name.as_deref().is_some_and(|it| it != domain && within(it, rest) && rest != domain)
            }) {
                break;
            }
            parent = rest;
        }
        let open = self.all.records.values().any(|it| it.zone.is_none() || (of(&it) && it.name.is_none()));
        if open { Err(()) } else { Ok(None) }
    }

    /// Resolves a name as a forwarding rule does: through its outbound endpoint, with the resolvers that it names.
    fn by_rule(&self, rule: &'a ResolverRule, name: &str, mut hops: Vec<Hop>) -> Resolved<'a> {
        let of = &rule.head.name;
        let later = |what: &str| Reason::unknown(format!("{what} of rule {of} is known only after apply"));
        let Some(outbound) = rule.endpoint.as_ref().and_then(|key| self.all.resolver_endpoints.get(key))
        else {
            return Resolved::nothing(name, hops, later("the endpoint"));
        };
        hops.push(Hop::new(
            &rule.head.key,
            format!("rule {of} forwards {name} through {}", outbound.head.name),
        ));
        let inbound = self.all.resolver_endpoints.values().filter(|it| {
            it.direction == Direction::Inbound
                && (rule.inbound.contains(&it.head.key)
                    || it.addresses.iter().any(|it| rule.targets.contains(it)))
        });
        let mut why = None;
        for target in inbound {
            match self.query(outbound, target, rule) {
                Ok(()) => {
                    let network =
                        target.subnets.first().and_then(|key| self.all.subnets.get(key)?.network.as_deref());
                    let Some(network) = network else { break };
                    hops.push(Hop::new(&target.head.key, format!("inbound endpoint {}", target.head.name)));
                    return self.resolve_in(network, name, true, hops);
                }
                Err(failure) => why = why.or(Some(failure)),
            }
        }
        let why = why.unwrap_or_else(|| match rule.complete {
            true => Reason::unknown(format!("the plan does not describe the resolvers of rule {of}")),
            false => later("a resolver"),
        });
        Resolved::nothing(name, hops, why.reworded(|why| format!("{name} does not resolve: {why}")))
    }

    /// Whether queries from an outbound endpoint arrive at an inbound one.
    fn query(
        &self,
        from: &'a ResolverEndpoint,
        to: &'a ResolverEndpoint,
        rule: &ResolverRule,
    ) -> Result<(), Reason> {
        let mut why: Option<Reason> = None;
        let side = |endpoint: &'a ResolverEndpoint, key: &String, address| {
            let subnet = self.all.subnets.get(key)?;
            Some(Side {
                groups: endpoint.groups.as_deref(),
                address,
                ..Side::of(&endpoint.head.name, subnet)
            })
        };
        for near in from.subnets.iter().filter_map(|key| side(from, key, None)) {
            for far in &to.subnets {
                let address = rule.targets.iter().copied().find(|target| {
                    self.all
                        .subnets
                        .get(far)
                        .is_some_and(|it| it.ranges.iter().any(|range| range.contains(target)))
                });
                let Some(far) = side(to, far, address) else { continue };
                let answer: Answer = self.between(&near, &far, DNS);
                if answer.reached {
                    return Ok(());
                }
                why = why.or(answer.why);
            }
        }
        Err(why.unwrap_or_else(|| {
            Reason::unknown("the subnets of a resolver endpoint are known only after apply")
        }))
    }

    /// The network whose own resolver has an address, as seen from a host of `network`: its base address plus 2 in AWS,
    /// and link-local addresses in both clouds.
    pub(super) fn is_resolver(&self, network: &Network, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else { return false };
        match network.head.home {
            Home::Google => address == Ipv4Addr::new(169, 254, 169, 254),
            _ if address == Ipv4Addr::new(169, 254, 169, 253) => true,
            _ => network.ranges.iter().any(|range| match range {
                IpNet::V4(range) => u32::from(address) == u32::from(range.network()).saturating_add(2),
                IpNet::V6(_) => false,
            }),
        }
    }

    /// An inbound endpoint with an address, and a side that receives queries there.
    pub(super) fn inbound_at(&self, address: IpAddr) -> Option<Side<'a>> {
        let endpoint = self
            .all
            .resolver_endpoints
            .values()
            .find(|it| it.direction == Direction::Inbound && it.addresses.contains(&address))?;
        let subnets = endpoint.subnets.iter().filter_map(|key| self.all.subnets.get(key));
        let subnet = subnets.into_iter().find(|it| it.ranges.iter().any(|range| range.contains(&address)))?;
        let groups = endpoint.groups.as_deref();
        Some(Side { groups, address: Some(address), ..Side::of(&endpoint.head.name, subnet) })
    }
}

/// Several records of one name, such as A and AAAA.
fn merged(one: Content, other: &Content) -> Content {
    match (one, other) {
        (Content::Unknown, _) | (_, Content::Unknown) => Content::Unknown,
        (Content::Addresses(mut all), Content::Addresses(more)) => {
            all.extend(more);
            Content::Addresses(all)
        }
        (Content::Other, other) => other.clone(),
        (one, _) => one,
    }
}
