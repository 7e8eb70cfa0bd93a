//! Access of members: the current allow lists and rates of their groups.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::sync::watch;
use warren_lease::policy::{Denial, Flow, Policy, RateLimit};
use warren_proxy::net::is_local;
use warren_wire::Name;
use warren_wire::gateway::GatewayConfig;

use super::peers::Member;

/// The rules, which a reload replaces.
pub(super) struct Access {
    rules: ArcSwap<Rules>,
    changed: watch::Sender<()>,
}

struct Rules {
    policy: Policy,
    groups: BTreeMap<Name, Group>,
    /// Other peers, and what this gateway is for sites: not behind it.
    inner: Vec<IpNet>,
}

/// Of one group.
struct Group {
    together: Rates,
    each: Option<u32>,
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
pub(super) enum Way {
    /// From the peer.
    Out,
    /// To the peer.
    Back,
}

impl Rates {
    /// As `before` where there were any: what has been taken stays so.
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

    fn of(&self, way: Way) -> Option<&Arc<RateLimit>> {
        if way == Way::Out { self.out.as_ref() } else { self.back.as_ref() }
    }
}

/// The limits of a member: its own and its group's.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    own: Rates,
    group: Rates,
}

impl Shares {
    /// Whether anything is limited in a direction.
    pub(super) fn limited(&self, way: Way) -> bool {
        self.own.of(way).is_some() || self.group.of(way).is_some()
    }

    /// Takes bytes, or none of them.
    pub(super) fn take(&self, way: Way, now: Duration, bytes: usize) -> bool {
        let limits: Vec<&RateLimit> =
            [&self.own, &self.group].into_iter().filter_map(|rates| rates.of(way)).map(Arc::as_ref).collect();
        RateLimit::take_from_all(&limits, now, bytes as u64)
    }

    /// Puts back what was taken in vain.
    pub(super) fn put_back(&self, way: Way, bytes: usize) {
        for limit in [&self.own, &self.group].into_iter().filter_map(|rates| rates.of(way)) {
            limit.put_back(bytes as u64);
        }
    }
}

impl Rules {
    fn of(config: &GatewayConfig, before: &BTreeMap<Name, Group>) -> Self {
        let own = config.site.addresses.iter().map(|address| IpNet::from(*address));
        let inner = config.pool.prefixes.iter().copied().chain(own).collect();
        let none = Rates::default();
        let group = |name: &Name, group: &warren_wire::gateway::Group| {
            let before = before.get(name).map_or(&none, |before| &before.together);
            Group { together: Rates::of_mbit(group.rate_mbit, before), each: group.peer_rate_mbit }
        };
        Self {
            policy: Policy::compile(&config.groups),
            groups: config.groups.iter().map(|(name, of)| (name.clone(), group(name, of))).collect(),
            inner,
        }
    }
}

impl Access {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let rules = Rules::of(config, &BTreeMap::new());
        Self { rules: ArcSwap::from_pointee(rules), changed: watch::Sender::new(()) }
    }

    /// Takes other rules. Flows that they do not allow end.
    pub(super) fn replace(&self, config: &GatewayConfig) {
        let rules = Rules::of(config, &self.rules.load().groups);
        self.rules.store(Arc::new(rules));
        self.changed.send_replace(());
    }

    /// Tells of other rules.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The limits of a member of a group, which has had those of `before`.
    pub(super) fn shares(&self, group: &Name, before: &Shares) -> Shares {
        let rules = self.rules.load();
        rules.groups.get(group).map_or_else(Shares::default, |of| Shares {
            own: Rates::of_mbit(of.each, &before.own),
            group: of.together.clone(),
        })
    }

    /// Whether a flow of a member may pass. Whatever the rules say, nobody reaches this machine's loopback and link, where
    /// clouds have their metadata, nor another peer.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self, member: &Member, flow: &Flow) -> Result<(), Denial> {
        let rules = self.rules.load();
        rules.policy.check(rules.policy.group(&member.group), &member.addresses, flow)?;
        // What came from a site does not go back there: two gateways would send it to each other for ever.
        if member.site.as_ref().is_some_and(|behind| behind.iter().any(|net| net.contains(&flow.destination)))
        {
            return Err(Denial::Destination);
        }
        let inner = |address: &IpAddr| rules.inner.iter().any(|net| net.contains(address));
        if is_local(flow.destination) || flow.destination.is_multicast() || inner(&flow.destination) {
            return Err(Denial::Destination);
        }
        Ok(())
    }
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
        let first = access.shares(&gpu, &Shares::default());
        assert!(first.take(Way::Out, Duration::ZERO, BURST));
        assert!(!first.take(Way::Out, Duration::ZERO, 1));
        for other in ["[groups.idle]\n", ""] {
            access.replace(&rules(other));
            let shares = access.shares(&gpu, &first);
            assert!(!shares.take(Way::Out, Duration::ZERO, 1), "the member's own");
            let another = access.shares(&gpu, &Shares::default());
            assert!(!another.take(Way::Out, Duration::ZERO, 1), "the group's");
            assert!(shares.take(Way::Back, Duration::ZERO, 1) && another.take(Way::Back, Duration::ZERO, 1));
        }
    }
}
