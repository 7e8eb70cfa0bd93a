//! Peers of the overlay: the destinations that the allow-lists of gateways permit, and connections to peers.
//!
//! A gateway opens a connection of its own for each connection of a peer. Beyond the gateway, the gateway's address, routes
//! and packet filters apply. Peers reach each other through their gateways, as the rules about their groups allow. Nothing else can
//! open a connection to a peer.

use super::names::{Found, Resolved};
use super::service::kind;
use super::walk::{End, Goal, Kind, walk};
use super::{Answer, Hop, Lists, Place, Reason, Side, Way};
use crate::topology::{Allow, Change, GatewayConfig, Host, Overlay, PeerGroup, Protocol, SitePeer, Zones};
use ipnet::IpNet;
use std::net::IpAddr;

/// The destinations that a gateway permits for a connection of a peer.
#[derive(Clone, Copy)]
pub(super) struct Permit<'a> {
    to: &'a [IpNet],
    pool: &'a [IpNet],
    /// Links to other gateways, which carry their ranges instead.
    sites: &'a [SitePeer],
    /// For a gateway at the other end of a link: what the first gateway permits, and the ranges of the link.
    link: Option<(&'a [IpNet], &'a [IpNet])>,
}

impl<'a> Permit<'a> {
    /// A rule of a gateway, without what its links carry.
    fn of(rule: &'a Allow, config: &'a GatewayConfig) -> Self {
        Self { to: &rule.to, pool: &config.prefixes, sites: &config.sites, link: None }
    }
}

impl Permit<'_> {
    /// Whether the address is permitted. Other peers and the gateway's loopback and link-local addresses, which include the
    /// metadata service of clouds, never are.
    pub(super) fn holds(&self, address: IpAddr) -> bool {
        let local = match address {
            IpAddr::V4(v4) => {
                v4.is_loopback() || v4.is_link_local() || v4.is_unspecified() || v4.is_multicast()
            }
            IpAddr::V6(v6) => {
                v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast()
            }
        };
        !local
            && self.to.iter().any(|net| net.contains(&address))
            && self.sites.iter().all(|site| !site.prefixes.iter().any(|net| net.contains(&address)))
            && self.link.is_none_or(|(to, prefixes)| {
                [to, prefixes].iter().all(|nets| nets.iter().any(|net| net.contains(&address)))
            })
            && !self.pool.iter().any(|net| net.contains(&address))
    }
}

/// A peer: its group at one of its gateways.
struct Peer<'a> {
    start: Hop,
    host: &'a Host,
    config: &'a GatewayConfig,
    group: &'a PeerGroup,
}

impl Peer<'_> {
    fn hops(&self) -> Vec<Hop> {
        let text = format!("gateway {}", self.host.head.name);
        vec![self.start.clone(), Hop::new(&self.host.head.key, text)]
    }
}

impl Peer<'_> {
    /// Whether it reaches the peers of a group, through its gateway alone.
    fn reaches(&self, fabric: &str, group: &str, protocol: Protocol) -> Answer {
        let own = &self.group.name;
        if fabric != self.config.fabric {
            return Answer::no(self.hops(), "gateways do not forward traffic to peers of another fabric");
        }
        let is_about = |rule: &&Allow| {
            rule.change != Change::Delete
                && rule.groups.iter().any(|it| it == group)
                && !rule.narrowed(protocol).is_empty()
        };
        let found = self.group.allow.iter().enumerate().find(|(_, rule)| is_about(rule));
        let Some((at, rule)) = found else {
            return Answer::no(self.hops(), format!("no rule of group {own} is about the group {group}"));
        };
        if !self.config.groups.iter().any(|it| it.name == group && it.change != Change::Delete) {
            return Answer::no(self.hops(), format!("gateway {} has no group {group}", self.host.head.name));
        }
        let name = &self.host.head.name;
        let text = format!("gateway {name}: rule {} of group {own} allows {}", at + 1, rule.short());
        let hops = vec![self.start.clone(), Hop::new(&self.host.head.key, text)];
        Answer { reached: true, way: Way::Network, hops, why: None, hint: None }
    }
}

/// A destination, with what its name resolved to if it is a name.
struct Goals<'g, 'a> {
    to: &'g Place,
    resolved: Option<&'g (Resolved<'a>, &'g str)>,
}

/// Ranges that allow-lists distinguish, and ranges that no peer can reach.
pub(super) fn ranges(all: &crate::topology::Topology) -> Vec<IpNet> {
    if all.configs.is_empty() {
        return Vec::new();
    }
    let rules = all.configs.values().flat_map(|config| &config.groups).flat_map(|group| &group.allow);
    let lists = rules.flat_map(|rule| rule.to.iter().copied());
    let pools = all.configs.values().flat_map(|config| config.prefixes.iter().copied());
    // If a range starts with private addresses, the first public address after them is the sample.
    let special =
        ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"];
    let special = special.into_iter().chain(["192.168.0.0/16"]).filter_map(|text| text.parse().ok());
    let sites = all.configs.values().flat_map(|config| &config.sites);
    let sites = sites.flat_map(|site| site.prefixes.iter().copied());
    lists.chain(pools).chain(sites).chain(special).collect()
}

impl<'a> Lists<'a> {
    /// What peers of a group reach through any gateway. A path over the internet is reported first, because policies are
    /// most likely to forbid it.
    pub(super) fn by_peers(&self, fabric: &str, group: &str, to: &Place, protocol: Protocol) -> Answer {
        let overlays = self.all.overlays();
        let Some(overlay) = overlays.iter().find(|overlay| overlay.fabric == fabric) else {
            return Answer::no(Vec::new(), "its overlay is not in the plan");
        };
        let mut best: Option<Answer> = None;
        for (host, config) in &overlay.gateways {
            for answer in self.by_gateway(overlay, (host, config), group, to, protocol) {
                if best.as_ref().is_none_or(|best| rank(&answer) > rank(best)) {
                    best = Some(answer);
                }
            }
        }
        best.unwrap_or_else(|| {
            Answer::no(
                vec![start(overlay, group)],
                Reason::unknown(
                    "the routes of its gateways cannot be read: none of its gateways is in the plan",
                ),
            )
        })
    }

    /// An answer for each rule that covers the packets, or one answer with the reason if there is none.
    fn by_gateway(
        &self,
        overlay: &Overlay<'a>,
        (host, config): (&'a Host, &'a GatewayConfig),
        group: &str,
        to: &Place,
        protocol: Protocol,
    ) -> Vec<Answer> {
        let name = &host.head.name;
        let hops = || vec![start(overlay, group), Hop::new(&host.head.key, format!("gateway {name}"))];
        if let Some(why) = config.unread {
            let why = Reason::unknown(format!("the configuration of gateway {name} {}", why.words()));
            return vec![Answer::no(hops(), why)];
        }
        let Some(found) = config.groups.iter().find(|it| it.name == group) else {
            return vec![Answer::no(hops(), format!("gateway {name} has no group {group}"))];
        };
        let peer = Peer { start: start(overlay, group), host, config, group: found };
        match to {
            Place::Peers { fabric, group } => vec![peer.reaches(fabric, group, protocol)],
            Place::Service(service) => {
                let gateway = self.side(&Place::Host(host.head.key.clone()));
                let names = gateway.map(|gateway| self.names_of(&gateway, service)).unwrap_or_default();
                let mut all: Option<Vec<Answer>> = None;
                for name in names {
                    let answers = self.by_rules(&peer, &Place::Name(name), super::HTTPS);
                    if !answers.iter().any(|it| it.reached) {
                        return answers;
                    }
                    all = Some(match all {
                        None => answers,
                        Some(all) => joined(all, answers),
                    });
                }
                all.unwrap_or_else(|| self.by_rules(&peer, to, super::HTTPS))
            }
            _ => self.by_rules(&peer, to, protocol),
        }
    }

    fn by_rules(&self, peer: &Peer<'a>, to: &Place, protocol: Protocol) -> Vec<Answer> {
        let (host, found) = (peer.host, peer.group);
        let (name, group) = (&host.head.name, &found.name);
        let gateway = match self.side(&Place::Host(host.head.key.clone())) {
            Ok(gateway) => Some(gateway),
            Err(_) if found.allow.is_empty() => None,
            Err(_) => {
                let why =
                    format!("the routes of gateway {name} cannot be read: its subnet is not in the plan");
                return vec![Answer::no(peer.hops(), Reason::unknown(why))];
            }
        };
        let mut resolution = Vec::new();
        let mut meant = None;
        if let (Place::Name(host), Some(gateway)) = (to, &gateway) {
            let resolved = self.resolve_for(peer, gateway, host);
            if let Found::Nothing(why) = resolved.found {
                return vec![Answer::no([peer.hops(), resolved.hops].concat(), why)];
            }
            resolution.clone_from(&resolved.hops);
            meant = Some((resolved, host.as_str()));
        }
        let mut answers = Vec::new();
        for (at, rule) in found.allow.iter().enumerate() {
            for narrowed in rule.narrowed(protocol) {
                let Some(gateway) = gateway else { continue };
                let own = Side { permit: Some(Permit::of(rule, peer.config)), ..gateway };
                let goal = Goals { to, resolved: meant.as_ref() };
                let near = self.goal(&own, &goal, narrowed);
                let text =
                    format!("gateway {name}: rule {} of group {group} allows {}", at + 1, rule.short());
                for answer in
                    near.into_iter().chain(self.through_sites(peer, rule, &gateway, &goal, narrowed))
                {
                    let mut all = vec![peer.start.clone()];
                    all.extend(resolution.iter().cloned());
                    all.push(Hop::new(&host.head.key, text.clone()));
                    all.extend(answer.hops);
                    answers.push(Answer { hops: all, ..answer });
                }
            }
        }
        if answers.is_empty() {
            let why = format!(
                "gateway {name} has no rule for group {group} that allows this traffic{}",
                rules(&found.allow)
            );
            answers.push(Answer::no([peer.hops(), resolution].concat(), why));
        }
        answers
    }

    /// The path from a gateway on. `None` if the rule contains no address of the destination.
    fn goal(&self, gateway: &Side<'a>, goal: &Goals<'_, 'a>, protocol: Protocol) -> Option<Answer> {
        match goal.resolved {
            Some((resolved, host)) => self
                .names_permitted(gateway, resolved)
                .then(|| self.connect(gateway, resolved.without_hops(), host, protocol)),
            None => self.onward(gateway, goal.to, protocol),
        }
    }

    /// The paths through links to other gateways, which hold their own rules for the group of the link against them.
    fn through_sites(
        &self,
        peer: &Peer<'a>,
        rule: &'a Allow,
        gateway: &Side<'a>,
        goal: &Goals<'_, 'a>,
        protocol: Protocol,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        for site in &peer.config.sites {
            let link = Some((rule.to.as_slice(), site.prefixes.as_slice()));
            let meant = Permit { link, sites: &[], ..Permit::of(rule, peer.config) };
            // Whether the link carries the destination at all does not depend on the gateway's own routes.
            let Some(_) = self.goal(&Side { permit: Some(meant), ..*gateway }, goal, protocol) else {
                continue;
            };
            let later = |why: &str| {
                let hop = Hop::new(&peer.host.head.key, format!("link to gateway {}", site.name));
                Answer::no(vec![hop], Reason::unknown(format!("gateway {} {why}", site.name)))
            };
            let Some((host, config)) = self.gateway_named(&site.name) else {
                answers.push(later("is not in the plan"));
                continue;
            };
            if let Some(why) = config.unread {
                answers.push(later(&format!("has a configuration that {}", why.words())));
                continue;
            }
            let Ok(far) = self.side(&Place::Host(host.head.key.clone())) else {
                answers.push(later("is in a subnet that is not in the plan"));
                continue;
            };
            let group =
                config.sites.iter().find(|it| it.name == peer.config.name).map(|it| it.group.as_str());
            let group = config.groups.iter().find(|it| Some(it.name.as_str()) == group);
            for (at, second) in group.into_iter().flat_map(|group| group.allow.iter().enumerate()) {
                for narrowed in second.narrowed(protocol) {
                    let permit = Permit { link, ..Permit::of(second, config) };
                    let Some(answer) = self.goal(&Side { permit: Some(permit), ..far }, goal, narrowed)
                    else {
                        continue;
                    };
                    let (name, of) = (&host.head.name, group.map_or("", |it| it.name.as_str()));
                    let text =
                        format!("gateway {name}: rule {} of group {of} allows {}", at + 1, second.short());
                    let mut hops = vec![Hop::new(&host.head.key, text)];
                    hops.extend(answer.hops);
                    answers.push(Answer { hops, ..answer });
                }
            }
        }
        answers
    }

    /// A gateway by the name in its configuration.
    fn gateway_named(&self, name: &str) -> Option<(&'a Host, &'a GatewayConfig)> {
        let overlays = self.all.overlays();
        let mut gateways = overlays.iter().flat_map(|overlay| overlay.gateways.iter().copied());
        gateways.find(|(_, config)| config.name == name)
    }

    /// The path from the gateway on. `None` if the rule contains no address of the destination.
    fn onward(&self, gateway: &Side<'a>, to: &Place, protocol: Protocol) -> Option<Answer> {
        match to {
            Place::Internet => {
                let any = !self.addresses_of(Kind::Public, |it| gateway.permits(*it)).is_empty();
                any.then(|| self.outbound(gateway, protocol))
            }
            Place::Service(service) => {
                let answer = self.unnamed(gateway, service);
                (answer.reached || answer.unsure() || !answer.hops.is_empty()).then_some(answer)
            }
            Place::Subnet(_) | Place::Host(_) => match self.side(to) {
                Ok(target) => {
                    let known = !target.subnet.ranges.is_empty();
                    let meant = self.addresses(&target).into_iter().any(|it| gateway.permits(it));
                    (meant || !known).then(|| self.between(gateway, &target, protocol))
                }
                Err(answer) => Some(answer),
            },
            Place::Name(_) | Place::Peers { .. } => None,
        }
    }

    /// Whether a rule contains an address that a name has.
    fn names_permitted(&self, gateway: &Side<'a>, resolved: &Resolved<'a>) -> bool {
        let permits = |it: &IpAddr| gateway.permits(*it);
        match &resolved.found {
            Found::Addresses(addresses) => addresses.iter().any(permits),
            Found::Endpoint(endpoint) if endpoint.address.is_some() => endpoint.address.iter().any(permits),
            Found::Endpoint(endpoint) => {
                let mut subnets = endpoint.subnets.iter().filter_map(|key| self.all.subnets.get(key));
                subnets.any(|subnet| subnet.ranges.is_empty() || self.samples(subnet).iter().any(permits))
            }
            Found::Public => !self.addresses_of(kind(&resolved.name), permits).is_empty(),
            Found::Nothing(_) => false,
        }
    }

    /// Resolves a name as a peer does: names that the gateway serves as the resolvers that it asks, names of the
    /// configured servers as those, all others to public addresses.
    fn resolve_for(&self, peer: &Peer<'a>, gateway: &Side<'a>, name: &str) -> Resolved<'a> {
        let of = &peer.host.head.name;
        let best = |zones: &'a [Zones]| {
            zones.iter().filter_map(|it| Some((it.covers(name)?, it))).max_by_key(|(length, _)| *length)
        };
        let served = best(&peer.config.names);
        if let Some((_, zones)) = served {
            let text = format!("gateway {of} answers {name} for its peers");
            return self.query_from(peer, gateway, zones, name, Hop::new(&peer.host.head.key, text), None);
        }
        if let Some((_, zones)) = best(&peer.config.servers) {
            let servers: Vec<String> = zones.resolvers.iter().map(ToString::to_string).collect();
            let text = format!("peers query {} for {name}, through gateway {of}", servers.join(", "));
            return self.query_from(
                peer,
                gateway,
                zones,
                name,
                Hop::new(&peer.host.head.key, text),
                Some(peer.group),
            );
        }
        let text =
            format!("{name} resolves to its public addresses: gateway {of} does not answer it for its peers");
        let hops = vec![Hop::new(&peer.host.head.key, text)];
        Resolved { found: Found::Public, name: name.to_owned(), hops }
    }

    /// What the resolvers answer. `group` is the group of peers that ask them; otherwise the gateway does.
    fn query_from(
        &self,
        peer: &Peer<'a>,
        gateway: &Side<'a>,
        zones: &'a Zones,
        name: &str,
        hop: Hop,
        group: Option<&'a PeerGroup>,
    ) -> Resolved<'a> {
        let hops = vec![hop];
        let network = gateway.subnet.network.as_deref().and_then(|key| self.all.networks.get(key));
        let mut why = None;
        for resolver in &zones.resolvers {
            let permitted = |group: &PeerGroup| {
                group.allow.iter().any(|rule| {
                    Permit { sites: &[], ..Permit::of(rule, peer.config) }.holds(*resolver)
                        && !rule.narrowed(super::names::DNS).is_empty()
                })
            };
            if let Some(group) = group.filter(|group| !permitted(group)) {
                why.get_or_insert(Reason::from(format!(
                    "{name} does not resolve: no rule of group {} allows udp 53 to {resolver}",
                    group.name
                )));
                continue;
            }
            if let Some(network) = network.filter(|network| self.is_resolver(network, *resolver)) {
                return self.resolve_in(&network.head.key, name, false, hops);
            }
            if let Some(inbound) = self.inbound_at(*resolver) {
                let answer = self.between(gateway, &inbound, super::names::DNS);
                match (answer.reached, inbound.subnet.network.as_deref()) {
                    (true, Some(network)) => return self.resolve_in(network, name, true, hops),
                    _ => {
                        let text = |why: &str| format!("{name} does not resolve: resolver {resolver}: {why}");
                        why = why.or(answer.why.map(|why| why.reworded(text)));
                        continue;
                    }
                }
            }
            if let Some(other) = self.gateway_at(peer, *resolver) {
                return self.resolve_there(other, peer, name, hops);
            }
            why.get_or_insert(Reason::unknown(format!("the plan does not describe resolver {resolver}")));
        }
        Resolved::nothing(name, hops, why.unwrap_or_else(|| format!("no resolver answers {name}").into()))
    }

    /// Another gateway of the plan that answers names at an address of the overlay.
    fn gateway_at(&self, peer: &Peer<'a>, address: IpAddr) -> Option<(&'a Host, &'a GatewayConfig)> {
        let of = |config: &GatewayConfig| {
            config.head.key != peer.config.head.key && config.addresses.contains(&address)
        };
        let overlays = self.all.overlays();
        overlays.iter().flat_map(|overlay| overlay.gateways.iter().copied()).find(|(_, config)| of(config))
    }

    /// What another gateway answers, which asks the resolvers of its own network.
    fn resolve_there(
        &self,
        (host, config): (&'a Host, &'a GatewayConfig),
        peer: &Peer<'a>,
        name: &str,
        mut hops: Vec<Hop>,
    ) -> Resolved<'a> {
        let of = &host.head.name;
        let served = config.names.iter().filter(|it| it.covers(name).is_some());
        let network = host.subnet.as_ref().and_then(|key| self.all.subnets.get(key)?.network.as_deref());
        let network = network.and_then(|key| self.all.networks.get(key));
        hops.push(Hop::new(
            &host.head.key,
            format!("gateway {of} answers {name} for {}", peer.host.head.name),
        ));
        let Some(network) = network else {
            let why = format!("the network of gateway {of} is not in the plan");
            return Resolved::nothing(name, hops, Reason::unknown(why));
        };
        if served.flat_map(|it| &it.resolvers).any(|resolver| self.is_resolver(network, *resolver)) {
            return self.resolve_in(&network.head.key, name, false, hops);
        }
        let why = format!("{name} does not resolve: gateway {of} does not answer it");
        Resolved::nothing(name, hops, why)
    }

    /// Nothing can open a connection to a peer. If a route leads to its gateway, the answer shows it.
    pub(super) fn to_peers(&self, from: &Place, fabric: &str) -> Answer {
        let why = "gateways forward only connections that peers open, not connections to peers";
        let overlays = self.all.overlays();
        let overlay = overlays.iter().find(|overlay| overlay.fabric == fabric);
        let (Ok(from), Some(overlay)) = (self.side(from), overlay) else {
            return Answer::no(Vec::new(), why);
        };
        let mut nearest = Answer::no(Vec::new(), why);
        for prefix in overlay.prefixes() {
            for source in
                self.samples(from.subnet).into_iter().filter(|it| it.is_ipv4() == prefix.addr().is_ipv4())
            {
                let there = walk(self, &from.sends(source, &[]), Goal::address(prefix.network()));
                let End::Dropped(text) = there.end else { continue };
                let led = there
                    .hops
                    .last()
                    .is_some_and(|hop| overlay.gateways.iter().any(|(host, _)| host.head.key == hop.key));
                if led {
                    return Answer::no(there.hops, why);
                }
                if nearest.hops.is_empty() {
                    nearest = Answer::no(there.hops, text.reworded(|text| format!("{text}; {why}")));
                }
            }
        }
        // Unknown parts of the path do not matter, because no path leads to a peer.
        if nearest.unsure() { Answer::no(nearest.hops, why) } else { nearest }
    }
}

/// Sort key: the most important of several answers has the largest.
fn rank(answer: &Answer) -> (bool, bool, bool, usize) {
    (answer.reached, answer.reached && answer.way == Way::Internet, answer.unsure(), answer.hops.len())
}

/// Answers for two names that a service needs: the most important one of each.
fn joined(one: Vec<Answer>, other: Vec<Answer>) -> Vec<Answer> {
    let best = |all: Vec<Answer>| all.into_iter().max_by_key(rank);
    match (best(one), best(other)) {
        (Some(mut one), Some(other)) => {
            one.way = if other.way == Way::Internet { Way::Internet } else { one.way };
            one.hops.extend(other.hops);
            vec![one]
        }
        (one, other) => one.into_iter().chain(other).collect(),
    }
}

fn start(overlay: &Overlay<'_>, group: &str) -> Hop {
    Hop::new(&overlay.key(), format!("peer of group {group} in the overlay {}", overlay.name()))
}

fn rules(allow: &[Allow]) -> String {
    match allow {
        [] => " (the group has no rules)".to_owned(),
        some => {
            let some: Vec<String> = some.iter().take(6).map(Allow::short).collect();
            format!(" (allowed: {})", some.join("; "))
        }
    }
}
