//! Rules for ranges that must not coexist.

use std::collections::BTreeSet;

use ipnet::IpNet;

use crate::claims::{Claim, Claims};
use crate::live::{Live, LiveRange, Usage};
use crate::run::{Home, Run};
use crate::{GuardConfig, Key, Location, Parent, PlannedRange, PlannedResource, Role};

/// What is wrong with one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Position of the range in its resource.
    pub(crate) range: usize,
    /// Whether this is only a warning.
    pub(crate) warning: bool,
    /// What it conflicts with.
    pub(crate) other: Other,
    /// The violated rule.
    pub(crate) why: Why,
}

/// The other side of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// A range of the run.
    Planned { key: Key, id: Option<String>, net: IpNet, path: String },
    /// A live network.
    Live(LiveRange),
    /// A claim.
    Claim(Claim),
    /// Networks that do not contain the subnet, with their ranges.
    Networks(Vec<(String, Vec<IpNet>)>),
}

/// The violated rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    BothOccupy,
    BothReserve,
    BeyondReservation,
    Excluded,
    Siblings,
    OtherNetwork,
    Untagged,
    ForeignLive,
    LeftOver,
    Adopted,
    Allocated,
    Behind,
    Pointed,
    Claimed,
    ClaimedElsewhere,
    OutsideNetwork,
    OutsideTold,
    OutsideCandidates,
}

/// Conflicts of `resource` with other resources registered in `run`.
pub(crate) fn in_run(run: &Run, resource: &PlannedResource) -> Vec<Finding> {
    let mut found = Vec::new();
    for (position, range) in resource.ranges.iter().enumerate() {
        for (other, theirs) in run.overlapping(&resource.key, &range.net) {
            let (here, there) = (&resource.key.location, &other.key.location);
            let why = match (&range.role, &theirs.role) {
                (Role::Part(parent), Role::Occupy) => part_in_network(run, range, parent, here, other),
                (Role::Occupy, Role::Part(parent)) => part_in_network(run, theirs, parent, there, resource),
                (Role::Part(mine), Role::Part(its)) => {
                    siblings(run, (range, mine, here), (theirs, its, there))
                }
                _ => rule(range, theirs),
            };
            if let Some(why) = why {
                let other = Other::Planned {
                    key: other.key.clone(),
                    id: other.id.clone(),
                    net: theirs.net,
                    path: theirs.path.to_string(),
                };
                found.push(Finding { range: position, warning: false, other, why });
            }
        }
    }
    found
}

/// The rule for two ranges of which neither is a part of the other.
fn rule(a: &PlannedRange, b: &PlannedRange) -> Option<Why> {
    match (&a.role, &b.role) {
        (Role::Excluded, Role::Excluded) => None,
        // A subnet is inside a network, which is itself compared; a subnet of an unknown network is compared here.
        (Role::Excluded, _) | (_, Role::Excluded) => Some(Why::Excluded),
        (Role::Reserve, Role::Reserve) => Some(Why::BothReserve),
        (Role::Reserve, _) => (!a.net.contains(&b.net)).then_some(Why::BeyondReservation),
        (_, Role::Reserve) => (!b.net.contains(&a.net)).then_some(Why::BeyondReservation),
        _ => Some(Why::BothOccupy),
    }
}

/// A subnet that overlaps a network other than its own.
fn part_in_network(
    run: &Run,
    part: &PlannedRange,
    parent: &Parent,
    location: &Location,
    network: &PlannedResource,
) -> Option<Why> {
    match run.home(&part.net, parent, location) {
        // The networks of the run are compared with each other.
        Home::Planned(_) | Home::Candidate(_) | Home::OutsideCandidates(_) | Home::Unknown => None,
        Home::Foreign(id) => (network.id.as_deref() != Some(id)).then_some(Why::OtherNetwork),
    }
}

/// Two subnets that overlap.
fn siblings(
    run: &Run,
    (a, mine, here): (&PlannedRange, &Parent, &Location),
    (b, its, there): (&PlannedRange, &Parent, &Location),
) -> Option<Why> {
    let elsewhere = here != there;
    let planned = |range: &PlannedRange, parent, location| match run.home(&range.net, parent, location) {
        Home::Planned(_) => true,
        // Which of the networks it is, is certain only if they cannot be the same.
        Home::Candidate(_) => elsewhere,
        _ => false,
    };
    let differ = elsewhere || (mine.id.is_some() && its.id.is_some() && mine.id != its.id);
    // Two overlapping networks of the run are reported once, not again for each of their subnets.
    (!(differ && planned(a, mine, here) && planned(b, its, there))).then_some(Why::Siblings)
}

/// Subnets outside their network.
pub(crate) fn outside(run: &Run, live: &Live, resource: &PlannedResource) -> Vec<Finding> {
    let mut found = Vec::new();
    for (position, range) in resource.ranges.iter().enumerate() {
        let Role::Part(parent) = &range.role else { continue };
        if let Some((why, networks)) = outside_of(run, live, range, parent, &resource.key.location) {
            let other = Other::Networks(networks);
            found.push(Finding { range: position, warning: false, other, why });
        }
    }
    found
}

/// Maximum number of candidates that are listed.
const CANDIDATES: usize = 5;

type Networks = Vec<(String, Vec<IpNet>)>;

fn outside_of(
    run: &Run,
    live: &Live,
    range: &PlannedRange,
    parent: &Parent,
    location: &Location,
) -> Option<(Why, Networks)> {
    let holds = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&range.net));
    let same_family = |nets: &[IpNet]| nets.iter().any(|net| family(net) == family(&range.net));
    if holds(&parent.cidrs) {
        return None;
    }
    match run.home(&range.net, parent, location) {
        Home::Planned(network) => {
            let nets = occupied(network);
            let maybe = network.unknown.contains(&family(&range.net));
            (!maybe && !holds(&nets)).then(|| (Why::OutsideNetwork, vec![(network.key.to_string(), nets)]))
        }
        Home::Foreign(id) => {
            let nets = live.nets_of(id);
            (same_family(&nets) && !holds(&nets)).then(|| (Why::OutsideTold, vec![(id.to_owned(), nets)]))
        }
        Home::OutsideCandidates(networks) => {
            let all = networks.iter().take(CANDIDATES);
            let list = all.map(|network| (network.key.to_string(), occupied(network))).collect();
            Some((Why::OutsideCandidates, list))
        }
        Home::Unknown if same_family(&parent.cidrs) => {
            Some((Why::OutsideTold, vec![("its network".to_owned(), parent.cidrs.clone())]))
        }
        Home::Candidate(_) | Home::Unknown => None,
    }
}

pub(crate) fn family(net: &IpNet) -> warren_cidr::Family {
    warren_cidr::Family::of(net)
}

fn occupied(network: &PlannedResource) -> Vec<IpNet> {
    network.ranges.iter().filter(|range| range.role == Role::Occupy).map(|range| range.net).collect()
}

/// Conflicts of `resource` with live networks.
pub(crate) fn with_live(
    run: &Run,
    live: &Live,
    config: &GuardConfig,
    resource: &PlannedResource,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (position, range) in resource.ranges.iter().enumerate() {
        for theirs in live.overlapping(&range.net) {
            let pair = LivePair { run, live, config, resource, range, theirs };
            let broken = match theirs.usage {
                Usage::Network => pair.network_rule(),
                Usage::Allocated => pair.allocation_rule(),
                Usage::Behind | Usage::Learned | Usage::Routed | Usage::Named => pair.pointer_rule(),
            };
            if let Some((why, warning)) = broken {
                found.push(Finding { range: position, warning, other: Other::Live(theirs.clone()), why });
            }
        }
    }
    found
}

/// A planned range and a live one that it overlaps. Its rules return the violated one, and whether that is a warning.
#[derive(Clone, Copy)]
struct LivePair<'a> {
    run: &'a Run,
    live: &'a Live,
    config: &'a GuardConfig,
    resource: &'a PlannedResource,
    range: &'a PlannedRange,
    theirs: &'a LiveRange,
}

impl LivePair<'_> {
    /// Two networks, or two subnets of one network.
    fn network_rule(self) -> Option<(Why, bool)> {
        let LivePair { run, live, config, resource, range, theirs } = self;
        let comparable = match (&range.role, &theirs.parent) {
            (Role::Excluded, _) => false,
            (Role::Part(parent), Some(network)) => parent.id.as_ref() == Some(network),
            // A subnet of an unknown network represents that network.
            (Role::Part(parent), None) => match run.home(&range.net, parent, &resource.key.location) {
                Home::Foreign(id) => id != theirs.id && live.nets_of(id).is_empty(),
                _ => false,
            },
            (Role::Reserve | Role::Occupy, parent) => parent.is_none(),
        };
        let same = resource.id.as_deref() == Some(&theirs.id);
        if !comparable || same || self.in_another_fabric() {
            return None;
        }
        let reserved = range.role == Role::Reserve;
        // Resources that this run plans under the same ID or name are compared as part of the run.
        let known = run.knows(&theirs.id, &theirs.key());
        if theirs.belongs_to(&config.fabric, &config.owner) {
            let inside = reserved && range.net.contains(&theirs.net);
            return (!inside && !known).then_some((Why::LeftOver, true));
        }
        if run.knows_id(&theirs.id) {
            return None;
        }
        match &theirs.owner {
            Some(_) => Some((Why::ForeignLive, false)),
            // The plan describes an existing network that Warren did not create.
            None if reserved && range.net == theirs.net => Some((Why::Adopted, true)),
            None => Some((Why::Untagged, false)),
        }
    }

    /// A range that is set aside in a network: no subnet can have it, whoever owns the network.
    fn allocation_rule(self) -> Option<(Why, bool)> {
        let LivePair { run, config, range, theirs, .. } = self;
        // The cloud has accepted a subnet that exists, such as one that was created from the allocation.
        if self.in_another_fabric() || !self.comparable() || self.exists() {
            return None;
        }
        let own = theirs.belongs_to(&config.fabric, &config.owner);
        let ours = own || theirs.parent.as_ref().is_some_and(|network| run.knows_id(network));
        match range.role == Role::Reserve {
            // The network has its allocations inside its own reservation.
            true if ours && range.net.contains(&theirs.net) => None,
            true if range.net == theirs.net => Some((Why::Adopted, true)),
            _ => Some((Why::Allocated, false)),
        }
    }

    /// Something that leads to a network, or names it, without being one. The network may be one of this run, or one that
    /// an address plan is meant for. So only a network behind it that certainly exists is an error.
    fn pointer_rule(self) -> Option<(Why, bool)> {
        let LivePair { run, resource, range, theirs, .. } = self;
        if !self.comparable()
            || theirs.is_summary_of(&range.net)
            || theirs.parent.as_ref().is_some_and(|network| run.knows_id(network))
        {
            return None;
        }
        let occupies = range.role != Role::Reserve;
        let exists = self.exists();
        let assigned = || {
            let mut others = run.overlapping(&resource.key, &range.net);
            others.any(|(_, other)| other.role == Role::Reserve && other.net.contains(&range.net))
        };
        match theirs.usage {
            Usage::Behind => occupies.then_some((Why::Behind, exists)),
            Usage::Learned => (!exists).then_some((Why::Pointed, true)),
            Usage::Routed | Usage::Named => {
                (occupies && !exists && !assigned()).then_some((Why::Pointed, true))
            }
            Usage::Network | Usage::Allocated => None,
        }
    }

    fn in_another_fabric(self) -> bool {
        self.theirs.fabric.as_ref().is_some_and(|fabric| *fabric != self.config.fabric)
    }

    /// Whether the range is that of a network, of a reservation, or of a subnet that represents a network which is not
    /// known.
    fn comparable(self) -> bool {
        let LivePair { run, live, resource, range, theirs, .. } = self;
        match &range.role {
            Role::Excluded => false,
            Role::Reserve | Role::Occupy => true,
            Role::Part(parent) => match run.home(&range.net, parent, &resource.key.location) {
                Home::Foreign(id) => theirs.parent.as_deref() != Some(id) && live.nets_of(id).is_empty(),
                _ => false,
            },
        }
    }

    /// Whether the object already has the range, so that what leads to the range may lead to the object. An object that
    /// could not be listed may have it.
    fn exists(self) -> bool {
        let LivePair { live, resource, range, .. } = self;
        let is_it =
            |live: &LiveRange| live.net == range.net && live.is(resource.id.as_deref(), &resource.key);
        match &resource.id {
            Some(id) if live.nets_of(id).is_empty() => true,
            _ => live.overlapping(&range.net).any(is_it),
        }
    }
}

/// Conflicts of `resource` with the claims of other owners, and with those of the same owner in other locations that
/// this run neither plans nor destroys: another state of the owner has the object. Where the processes of the run cannot
/// meet, all of the owner's claims elsewhere count. A resource that `held` its ranges before may keep them.
pub(crate) fn with_claims(
    run: &Run,
    live: &Live,
    claims: &Claims,
    config: &GuardConfig,
    resource: &PlannedResource,
    (apart, held): (bool, bool),
) -> Vec<Finding> {
    let elsewhere = |claim: &Claim| {
        let (location, here) = (claim.location(), &resource.key.location);
        let differ = !location.is_empty() && !here.is_empty() && location != *here;
        differ && (apart || (claim.planned_until.is_none() && !run.knows_key(&claim.key())))
    };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (position, range) in resource.ranges.iter().enumerate() {
        let counts = match &range.role {
            Role::Reserve | Role::Occupy => true,
            Role::Excluded => false,
            Role::Part(parent) => match run.home(&range.net, parent, &resource.key.location) {
                Home::Foreign(id) => live.nets_of(id).is_empty(),
                _ => false,
            },
        };
        if !counts {
            continue;
        }
        for claim in claims.overlapping(&range.net) {
            let own = claim.owner == config.owner;
            if (own && !elsewhere(claim)) || !seen.insert((position, claim.clone())) {
                continue;
            }
            let why = if own { Why::ClaimedElsewhere } else { Why::Claimed };
            let warning = own && !apart && held;
            found.push(Finding { range: position, warning, other: Other::Claim(claim.clone()), why });
        }
    }
    found
}
