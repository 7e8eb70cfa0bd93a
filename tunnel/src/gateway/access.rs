//! What members may do: the allow-lists and rates of their groups, as the file has them now.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::sync::watch;
use warren_proto::policy::{Denial, Flow, Policy, RateLimit};
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
    /// Other peers: they are not behind this gateway.
    pool: Vec<IpNet>,
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
    fn of_mbit(mbit: Option<u32>) -> Self {
        let limit = || mbit.map(|mbit| Arc::new(RateLimit::of_mbit(mbit)));
        Self { out: limit(), back: limit() }
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
    fn of(config: &GatewayConfig) -> Self {
        let group = |group: &warren_wire::gateway::Group| Group {
            together: Rates::of_mbit(group.rate_mbit),
            each: group.peer_rate_mbit,
        };
        Self {
            policy: Policy::compile(&config.groups),
            groups: config.groups.iter().map(|(name, of)| (name.clone(), group(of))).collect(),
            pool: config.pool.prefixes.clone(),
        }
    }
}

impl Access {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        Self { rules: ArcSwap::from_pointee(Rules::of(config)), changed: watch::Sender::new(()) }
    }

    /// Takes other rules. Flows that they do not allow end; rates begin anew with the members' next change.
    pub(super) fn replace(&self, config: &GatewayConfig) {
        self.rules.store(Arc::new(Rules::of(config)));
        self.changed.send_replace(());
    }

    /// Tells of other rules.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The limits of a member of a group.
    pub(super) fn shares(&self, group: &Name) -> Shares {
        let rules = self.rules.load();
        rules.groups.get(group).map_or_else(Shares::default, |of| Shares {
            own: Rates::of_mbit(of.each),
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
        let inner = |address: &IpAddr| rules.pool.iter().any(|net| net.contains(address));
        if is_local(flow.destination) || flow.destination.is_multicast() || inner(&flow.destination) {
            return Err(Denial::Destination);
        }
        Ok(())
    }
}
