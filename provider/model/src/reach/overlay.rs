//! Peers of the overlay: the destinations that the allow-lists of gateways permit, and connections to peers.
//!
//! A gateway opens a connection of its own for each connection of a peer. Beyond the gateway, the gateway's address, routes
//! and packet filters apply. Nothing can open a connection to a peer, and peers cannot reach each other.

use super::{Answer, Hop, Lists, Place, Reason, Side, Way};
use crate::topology::{Allow, GatewayConfig, Host, Overlay, Protocol};
use ipnet::IpNet;
use std::net::IpAddr;

/// The destinations that a gateway permits for a connection of a peer.
#[derive(Clone, Copy)]
pub(super) struct Permit<'a> {
    to: &'a [IpNet],
    pool: &'a [IpNet],
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
            && !self.pool.iter().any(|net| net.contains(&address))
    }
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
    lists.chain(pools).chain(special).collect()
}

impl Lists<'_> {
    /// What peers of a group reach through any gateway. A path over the internet is reported first, because policies are
    /// most likely to forbid it.
    pub(super) fn by_peers(&self, fabric: &str, group: &str, to: &Place, protocol: Protocol) -> Answer {
        if matches!(to, Place::Peers { .. }) {
            return Answer::no(Vec::new(), "gateways do not forward traffic between peers");
        }
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
        overlay: &Overlay<'_>,
        (host, config): (&Host, &GatewayConfig),
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
        let mut answers = Vec::new();
        for (at, rule) in found.allow.iter().enumerate() {
            // Requests to services use HTTPS.
            let asked = if matches!(to, Place::Service(_)) { super::HTTPS } else { protocol };
            for narrowed in rule.narrowed(asked) {
                let permit = Permit { to: &rule.to, pool: &config.prefixes };
                let answer = self.onward(host, permit, to, narrowed);
                let text =
                    format!("gateway {name}: rule {} of group {group} allows {}", at + 1, rule.short());
                let mut all = vec![start(overlay, group), Hop::new(&host.head.key, text)];
                match answer {
                    Some(answer) => {
                        all.extend(answer.hops);
                        answers.push(Answer { hops: all, ..answer });
                    }
                    None => continue,
                }
            }
        }
        if answers.is_empty() {
            let why = format!(
                "gateway {name} has no rule for group {group} that allows this traffic{}",
                rules(&found.allow)
            );
            answers.push(Answer::no(hops(), why));
        }
        answers
    }

    /// The path from the gateway on. `None` if the rule contains no address of the destination.
    fn onward(&self, host: &Host, permit: Permit<'_>, to: &Place, protocol: Protocol) -> Option<Answer> {
        let gateway = match self.side(&Place::Host(host.head.key.clone())) {
            Ok(gateway) => Side { permit: Some(permit), ..gateway },
            Err(_) => {
                let name = &host.head.name;
                let why =
                    format!("the routes of gateway {name} cannot be read: its subnet is not in the plan");
                return Some(Answer::no(Vec::new(), Reason::unknown(why)));
            }
        };
        match to {
            Place::Internet if self.outside(|it| permit.holds(*it)).is_empty() => None,
            Place::Internet => Some(self.outbound(&gateway, protocol)),
            Place::Service(service) => self.service_of(&gateway, service),
            Place::Subnet(_) | Place::Host(_) => match self.side(to) {
                Ok(target) => {
                    let known = !target.subnet.ranges.is_empty();
                    let meant = self.samples(target.subnet).into_iter().any(|it| permit.holds(it));
                    (meant || !known).then(|| self.between(&gateway, &target, protocol))
                }
                Err(answer) => Some(answer),
            },
            Place::Peers { .. } => None,
        }
    }

    fn service_of(&self, gateway: &Side<'_>, service: &str) -> Option<Answer> {
        let answer = self.service(gateway, service);
        (answer.reached || answer.unsure() || !answer.hops.is_empty()).then_some(answer)
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
                let there = super::walk::walk(self, from.subnet, source, prefix.network(), from.public);
                let super::walk::End::Dropped(text) = there.end else { continue };
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
