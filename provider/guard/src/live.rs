//! What uses address space in a cloud: networks, and what points at addresses.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tf_provider_rs::async_trait;

use crate::index::Index;
use crate::{GuardConfig, Key, Location};

/// Lists the live ranges of one cloud account and region.
#[async_trait]
pub trait LiveSource: Send + Sync + 'static {
    /// For messages: `AWS 123456789012 us-east-1`.
    fn name(&self) -> String;

    /// All ranges of any owner, and what could not be read. Called at most once per run.
    async fn list(&self) -> Listing;
}

/// What a [`LiveSource`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// All ranges that could be read.
    pub ranges: Vec<LiveRange>,
    /// IDs of the networks that were read, even if their ranges do not count. A range behind one of them adds nothing.
    pub networks: BTreeSet<String>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Listing {
    /// What other processes of the run need of it: they learn from the plan what becomes of the networks of its owner.
    pub(crate) fn for_others(&self, config: &GuardConfig) -> Listing {
        let foreign = |range: &&LiveRange| !range.belongs_to(&config.fabric, &config.owner);
        let ranges = self.ranges.iter().filter(foreign).cloned().collect();
        Listing { ranges, networks: self.networks.clone(), unread: Vec::new() }
    }

    /// What `other`, from another process, adds: not the networks of this owner, nor what is listed here too.
    pub(crate) fn learn(&mut self, other: Listing, config: &GuardConfig) {
        let here: BTreeSet<Location> = self.ranges.iter().map(|range| range.location.clone()).collect();
        let adds = |range: &LiveRange| {
            !range.belongs_to(&config.fabric, &config.owner) && !here.contains(&range.location)
        };
        self.ranges.extend(other.ranges.into_iter().filter(adds));
        self.networks.extend(other.networks);
    }

    /// Adds what another listing found.
    pub fn extend(&mut self, other: Listing) {
        self.ranges.extend(other.ranges);
        self.networks.extend(other.networks);
        self.unread.extend(other.unread);
    }
}

/// Ranges of one sort that could not be read, which are therefore not known to be free.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// What, such as `transit gateway routes`.
    pub what: &'static str,
    /// Where, such as `AWS us-east-1`.
    pub scope: String,
    /// The permissions that the calls need.
    pub permissions: &'static [&'static str],
    /// Why: a whole sentence or more.
    pub reason: String,
    /// The setting that stops reading them, if there is one.
    pub setting: Option<&'static str>,
}

/// How a live range uses its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// A network or a subnet has them.
    #[default]
    Network,
    /// They are set aside in a network: Private Services Access, internal ranges.
    Allocated,
    /// A network that cannot be read has them, as a peering or a transit gateway shows.
    Behind,
    /// A router has learned a route to them.
    Learned,
    /// A static route leads to them.
    Routed,
    /// A prefix list names them.
    Named,
}

/// One range of a live network or subnet, or of what points at one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveRange {
    /// The range.
    pub net: IpNet,
    /// How its addresses are used.
    pub usage: Usage,
    /// Of networks, the resource type that would manage it: `warren_aws_vpc`, `warren_aws_subnet`. Otherwise what it
    /// is, such as `internal range`.
    pub kind: Cow<'static, str>,
    /// The cloud's ID, such as `vpc-0abc`.
    pub id: String,
    /// The tag `warren:name`, or the cloud's own name; empty if there is neither.
    pub name: String,
    /// The tag `warren:owner`, of an allocated range that of its network.
    pub owner: Option<String>,
    /// The tag `warren:fabric`, of an allocated range that of its network.
    pub fabric: Option<String>,
    /// Where it is.
    pub location: Location,
    /// The ID of its network. A subnet of AWS is only compared with other subnets of that network. Of a route, the
    /// network that it leads to.
    pub parent: Option<String>,
}

impl LiveRange {
    /// Whether nothing uses these addresses twice if another network has `net`: a route to a larger range, such as
    /// the default route, does not apply where there is a more specific one.
    pub(crate) fn is_summary_of(&self, net: &IpNet) -> bool {
        let summarises = matches!(self.usage, Usage::Learned | Usage::Routed | Usage::Named);
        summarises && self.net != *net && self.net.contains(net)
    }

    /// Whether it is what `key`, or the object `id`, manages.
    pub(crate) fn is(&self, id: Option<&str>, key: &Key) -> bool {
        self.usage == Usage::Network && (id == Some(&self.id) || self.key() == *key)
    }

    /// The resource that would manage it.
    pub(crate) fn key(&self) -> Key {
        let Self { kind, name, location, .. } = self;
        Key { kind: kind.clone(), name: name.clone(), location: location.clone(), owner: None }
    }

    /// Whether it has the tags of this owner.
    pub(crate) fn belongs_to(&self, fabric: &str, owner: &str) -> bool {
        self.fabric.as_deref() == Some(fabric) && self.owner.as_deref() == Some(owner)
    }
}

/// All live ranges, searchable.
#[derive(Debug, Default)]
pub(crate) struct Live {
    ranges: Vec<LiveRange>,
    index: Index<usize>,
    by_id: BTreeMap<String, Vec<IpNet>>,
}

impl Live {
    pub(crate) fn new(listing: Listing) -> Live {
        let Listing { mut ranges, networks, .. } = listing;
        ranges.sort();
        ranges.dedup();
        // What leads to a network that was read is compared as that network.
        let leads = |range: &LiveRange| !matches!(range.usage, Usage::Network | Usage::Allocated);
        ranges
            .retain(|range| !leads(range) || !range.parent.as_ref().is_some_and(|to| networks.contains(to)));
        let mut live = Live::default();
        for (position, range) in ranges.iter().enumerate() {
            live.index.insert(range.net, position);
            if range.usage == Usage::Network {
                live.by_id.entry(range.id.clone()).or_default().push(range.net);
            }
        }
        live.ranges = ranges;
        live
    }

    pub(crate) fn overlapping(&self, net: &IpNet) -> impl Iterator<Item = &LiveRange> {
        self.index.overlapping(net).filter_map(|(_, position)| self.ranges.get(*position))
    }

    /// The ranges of one network; empty if it is not a live network.
    pub(crate) fn nets_of(&self, id: &str) -> Vec<IpNet> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    pub(crate) fn ranges(&self) -> &[LiveRange] {
        &self.ranges
    }
}
