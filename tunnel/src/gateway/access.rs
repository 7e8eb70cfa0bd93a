//! Access of members: the current allow lists and rates of their groups.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::sync::watch;
use warren_lease::policy::{Denial, Flow, Policy, RateLimit};
use warren_wire::gateway::{Congestion, FlowTarget, GatewayConfig, Opening, Protocol, RuleTest};
use warren_wire::{Name, reserved};

/// The current rules, which a reload replaces.
pub(super) struct Access {
    rules: ArcSwap<Rules>,
    changed: watch::Sender<()>,
}

struct Rules {
    policy: Policy,
    /// What direct rules let one group begin with another.
    openings: BTreeMap<(Name, Name), Vec<Opening>>,
    groups: BTreeMap<Name, Group>,
    /// Of peers without a group.
    congestion: Congestion,
    /// Addresses of peers.
    pool: Vec<IpNet>,
    /// Addresses of this gateway towards sites, which no peer may reach.
    own: Vec<IpAddr>,
    /// The limit of each peer.
    dns_queries_per_second: u32,
    /// The same for requests for credentials.
    credential_requests_per_minute: u32,
}

/// The rate limits and the congestion control of one group.
struct Group {
    together: Rates,
    each: Option<u32>,
    congestion: Congestion,
}

/// Limits in both directions; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    /// From peers.
    out: Option<Arc<RateLimit>>,
    /// To peers.
    back: Option<Arc<RateLimit>>,
}

/// A direction, as the peer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the peer.
    Out,
    /// To the peer.
    Back,
}

impl Rates {
    /// Continues the buckets of `before`, so that a reload does not refill them.
    fn of_mbit(mbit: Option<u32>, before: &Self) -> Self {
        let limit = |before: &Option<Arc<RateLimit>>| {
            let limit = RateLimit::of_mbit(mbit?);
            Some(Arc::new(match before {
                Some(before) => limit.filled_as(before),
                None => limit,
            }))
        };
        Self { out: limit(&before.out), back: limit(&before.back) }
    }

    fn of(&self, direction: Direction) -> Option<&Arc<RateLimit>> {
        if direction == Direction::Out { self.out.as_ref() } else { self.back.as_ref() }
    }
}

/// The limits of a member: its own and its group's.
#[derive(Debug, Clone, Default)]
pub(super) struct RateLimits {
    own: Rates,
    group: Rates,
}

impl RateLimits {
    /// Whether anything is limited in a direction.
    pub(super) fn limited(&self, direction: Direction) -> bool {
        self.own.of(direction).is_some() || self.group.of(direction).is_some()
    }

    /// Takes bytes from all limits, or from none of them.
    pub(super) fn take(&self, direction: Direction, now: Duration, bytes: usize) -> bool {
        let limits: Vec<&RateLimit> = [&self.own, &self.group]
            .into_iter()
            .filter_map(|rates| rates.of(direction))
            .map(Arc::as_ref)
            .collect();
        RateLimit::take_from_all(&limits, now, bytes as u64)
    }

    /// Returns bytes that were taken but not sent.
    pub(super) fn put_back(&self, direction: Direction, bytes: usize) {
        for limit in [&self.own, &self.group].into_iter().filter_map(|rates| rates.of(direction)) {
            limit.put_back(bytes as u64);
        }
    }
}

impl Rules {
    fn of(config: &GatewayConfig, before: &BTreeMap<Name, Group>) -> Self {
        let none = Rates::default();
        let group = |name: &Name, group: &warren_wire::gateway::Group| {
            let before = before.get(name).map_or(&none, |before| &before.together);
            Group {
                together: Rates::of_mbit(group.rate_mbit, before),
                each: group.peer_rate_mbit,
                congestion: config.congestion_of(Some(name)),
            }
        };
        Self {
            policy: Policy::compile(&config.groups),
            openings: openings(config),
            groups: config.groups.iter().map(|(name, of)| (name.clone(), group(name, of))).collect(),
            congestion: config.congestion,
            pool: config.pool.prefixes.clone(),
            own: config.site.addresses.clone(),
            dns_queries_per_second: config.limits.dns_queries_per_second_and_peer,
            credential_requests_per_minute: config.limits.credential_requests_per_minute_and_peer,
        }
    }
}

/// What direct rules open, by the groups at both ends.
fn openings(config: &GatewayConfig) -> BTreeMap<(Name, Name), Vec<Opening>> {
    let direct = config.groups.iter().flat_map(|(from, group)| {
        let rules = group.allow.iter().filter(|rule| rule.direct);
        rules.flat_map(move |rule| rule.to_groups.iter().map(move |to| (from, to)))
    });
    direct.map(|(from, to)| ((from.clone(), to.clone()), config.openings(from, to))).collect()
}

impl Access {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let rules = Rules::of(config, &BTreeMap::new());
        Self { rules: ArcSwap::from_pointee(rules), changed: watch::Sender::new(()) }
    }

    /// Replaces the rules. Flows that they no longer allow end.
    pub(super) fn replace(&self, config: &GatewayConfig) {
        let rules = Rules::of(config, &self.rules.load().groups);
        self.rules.store(Arc::new(rules));
        self.changed.send_replace(());
    }

    /// Notifies of replaced rules.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The limits of a member of a group; `before` are its current ones.
    pub(super) fn rate_limits(&self, group: &Name, before: &RateLimits) -> RateLimits {
        let rules = self.rules.load();
        rules.groups.get(group).map_or_else(RateLimits::default, |of| RateLimits {
            own: Rates::of_mbit(of.each, &before.own),
            group: of.together.clone(),
        })
    }

    /// The congestion control of TCP to a member of a group, or to what is behind another gateway.
    pub(super) fn congestion(&self, group: Option<&Name>) -> Congestion {
        let rules = self.rules.load();
        group.and_then(|group| rules.groups.get(group)).map_or(rules.congestion, |of| of.congestion)
    }

    /// The limit of DNS queries of each peer.
    pub(super) fn dns_queries_per_second(&self) -> u32 {
        self.rules.load().dns_queries_per_second
    }

    /// The limit of requests for credentials of each peer.
    pub(super) fn credential_requests_per_minute(&self) -> u32 {
        self.rules.load().credential_requests_per_minute
    }

    /// Whether a rule of `group` allows a flow to the gateway itself, which only its name server accepts.
    pub(super) fn allows(&self, group: &Name, addresses: &[IpAddr], flow: &Flow) -> bool {
        let rules = self.rules.load();
        rules.policy.check(rules.policy.group(group), addresses, flow).is_ok()
    }

    /// Checks whether a flow of a member of `group` may pass. `site` holds the networks behind a member that is another site's
    /// gateway, and `to` is the group of the peer with the destination address, if there is one. Only a rule about that group
    /// opens a peer, and no rule opens a [reserved] address. [`Self::names`] decides on the gateway's own addresses.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub(super) fn check(
        &self,
        group: &Name,
        addresses: &[IpAddr],
        site: Option<&[IpNet]>,
        to: Option<&Name>,
        flow: &Flow,
    ) -> Result<(), Denial> {
        let rules = self.rules.load();
        let id = rules.policy.group(group);
        if let Some(to) = to {
            return rules.policy.check_peer(id, addresses, to, flow);
        }
        let in_pool = rules.pool.iter().any(|net| net.contains(&flow.destination));
        if in_pool && addresses.contains(&flow.source) && rules.policy.reaches_peers(id, flow) {
            return Err(Denial::Absent);
        }
        rules.policy.check(id, addresses, flow)?;
        // Traffic from a site is not sent back there: two gateways would loop it forever.
        if site.is_some_and(|behind| behind.iter().any(|net| net.contains(&flow.destination))) {
            return Err(Denial::Destination);
        }
        if in_pool || reserved::is_reserved(flow.destination) || rules.own.contains(&flow.destination) {
            return Err(Denial::Destination);
        }
        Ok(())
    }

    /// What direct rules let pods of one group begin with pods of another.
    pub(super) fn openings(&self, from: &Name, to: &Name) -> Vec<Opening> {
        self.rules.load().openings.get(&(from.clone(), to.clone())).cloned().unwrap_or_default()
    }

    /// Whether a segment between pods of two groups may belong to a connection that a direct rule allows, of either side.
    pub(super) fn continues(&self, (from, source): (&Name, u16), (to, destination): (&Name, u16)) -> bool {
        let rules = self.rules.load();
        let opens = |from: &Name, to: &Name, port| {
            let openings = rules.openings.get(&(from.clone(), to.clone()));
            openings.is_some_and(|all| all.iter().any(|opening| opening.permits(Protocol::Tcp, port)))
        };
        opens(from, to, destination) || opens(to, from, source)
    }

    /// Whether a rule of `group` is about the group of this name.
    pub(super) fn is_about(&self, group: &Name, name: &str) -> bool {
        let rules = self.rules.load();
        name.parse().is_ok_and(|name| rules.policy.is_about(rules.policy.group(group), &name))
    }

    /// Whether a rule of `group` names the destination as a single address, which opens an address of the gateway itself.
    pub(super) fn names(&self, group: &Name, flow: &Flow) -> bool {
        let rules = self.rules.load();
        rules.policy.names(rules.policy.group(group), flow)
    }
}

/// The first of a file's tests whose flow the rules decide otherwise: its number, the test, and the decision.
pub(super) fn failed_test(config: &GatewayConfig) -> Option<(usize, &RuleTest, Result<(), Denial>)> {
    if config.tests.is_empty() {
        return None;
    }
    let access = Access::new(config);
    // Any address will do: rules do not look at it.
    let source = config.pool.prefixes.first()?.addr();
    config.tests.iter().enumerate().find_map(|(index, test)| {
        let (destination, to) = match &test.to {
            FlowTarget::Host(address) => (*address, None),
            FlowTarget::Peer(group) => (source, Some(group)),
        };
        let flow = Flow { source, destination, protocol: test.protocol, port: test.port };
        let decision = access.check(&test.from, &[source], None, to, &flow);
        (decision.is_ok() != test.allow).then_some((index + 1, test, decision))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::example::config;

    #[test]
    fn other_rules_fill_no_bucket() {
        // Bursts are 64 KiB at the least.
        const BURST: usize = 65_536;
        let rules = |more: &str| config(&format!("[groups.gpu]\nrate_mbit = 1\npeer_rate_mbit = 2\n{more}"));
        let access = Access::new(&rules(""));
        let gpu: Name = "gpu".parse().unwrap();
        let first = access.rate_limits(&gpu, &RateLimits::default());
        assert!(first.take(Direction::Out, Duration::ZERO, BURST));
        assert!(!first.take(Direction::Out, Duration::ZERO, 1));
        for other in ["[groups.idle]\n", ""] {
            access.replace(&rules(other));
            let rate_limits = access.rate_limits(&gpu, &first);
            assert!(!rate_limits.take(Direction::Out, Duration::ZERO, 1), "the member's own");
            let another = access.rate_limits(&gpu, &RateLimits::default());
            assert!(!another.take(Direction::Out, Duration::ZERO, 1), "the group's");
            assert!(
                rate_limits.take(Direction::Back, Duration::ZERO, 1)
                    && another.take(Direction::Back, Duration::ZERO, 1)
            );
        }
    }
}
