//! The ranges of one run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use warren_cidr::Family;

use crate::index::Index;
use crate::{Key, Location, Parent, PlannedRange, PlannedResource, Role};

/// All ranges planned since the run started, by this process and by the others of the run. A change costs O(log n) per range.
#[derive(Debug, Default)]
pub(crate) struct Run {
    resources: BTreeMap<Key, Entry>,
    ranges: Index<At>,
    by_id: BTreeMap<String, Key>,
    pending: BTreeMap<(Cow<'static, str>, Location), Pending>,
    pools: BTreeMap<Key, Vec<Vec<IpNet>>>,
    gone: BTreeSet<Key>,
    gone_ids: BTreeSet<String>,
}

/// A range of the run: the resource and the position of the range in it.
pub(crate) type At = (Key, usize);

#[derive(Debug)]
struct Entry {
    resource: PlannedResource,
    /// Whether the resource was applied after it was planned. If so, the next plan of its key replaces it.
    applied: bool,
    /// Whether another process of the run planned it.
    foreign: bool,
}

/// Resources of one type that do not exist yet.
#[derive(Debug, Default)]
struct Pending {
    keys: BTreeSet<Key>,
    unknown: BTreeMap<Family, usize>,
}

/// The network of a subnet, as far as the run knows it.
pub(crate) enum Home<'a> {
    /// A resource of the run.
    Planned(&'a PlannedResource),
    /// The first resource that does not exist yet and contains the subnet.
    Candidate(&'a PlannedResource),
    /// No resource that does not exist yet contains the subnet, and all their ranges are known.
    OutsideCandidates(Vec<&'a PlannedResource>),
    /// The network has this ID, which no resource of the run has.
    Foreign(&'a str),
    /// The network cannot be determined.
    Unknown,
}

impl Run {
    /// Registers a resource, replacing the earlier one of the same key. Returns the earlier resource if it is
    /// certainly a different one: both exist and have different IDs, or both are new and their known ranges differ.
    pub(crate) fn register(&mut self, resource: PlannedResource) -> Option<PlannedResource> {
        self.insert(resource, false)
    }

    /// Registers what another process of the run has planned, unless this one has planned the same resource.
    pub(crate) fn register_foreign(&mut self, resource: PlannedResource) {
        let own = |key: &Key| self.resources.get(key).is_some_and(|entry| !entry.foreign);
        if !own(&resource.key) && !self.unsure(&resource.key).iter().any(own) {
            self.insert(resource, true);
        }
    }

    /// Resources that may be the one of `key`: with the same name, and a location that is not wholly known. A plan may
    /// not know the account yet that the apply knows.
    fn unsure(&self, key: &Key) -> Vec<Key> {
        let first = Key { location: Location::default(), owner: None, ..key.clone() };
        let named = self.resources.range(first..).map(|(other, _)| other);
        let named = named.take_while(|other| other.kind == key.kind && other.name == key.name);
        let may_be = |other: &&Key| other.owner == key.owner && other.location.may_be(&key.location);
        named.filter(|other| *other != key).filter(may_be).cloned().collect()
    }

    fn insert(&mut self, resource: PlannedResource, foreign: bool) -> Option<PlannedResource> {
        let key = resource.key.clone();
        for unsure in self.unsure(&key) {
            if self.resources.get(&unsure).is_some_and(|entry| entry.foreign) {
                self.remove(&unsure);
            }
        }
        let earlier = self.remove(&key);
        self.gone.remove(&key);
        if let Some(id) = &resource.id {
            self.by_id.insert(id.clone(), key.clone());
        } else {
            let pending = self.pending.entry(class(&key)).or_default();
            pending.keys.insert(key.clone());
            for family in &resource.unknown {
                *pending.unknown.entry(*family).or_default() += 1;
            }
        }
        for (position, range) in resource.ranges.iter().enumerate() {
            self.ranges.insert(range.net, (key.clone(), position));
        }
        if !resource.pools.is_empty() {
            self.pools.insert(key.clone(), resource.pools.clone());
        }
        let clash = earlier
            .filter(|earlier| !earlier.foreign || key.is_located())
            .filter(|earlier| !earlier.applied && certainly_two(&earlier.resource, &resource))
            .map(|earlier| earlier.resource);
        self.resources.insert(key, Entry { resource, applied: false, foreign });
        clash
    }

    /// Removes a resource whose destruction is planned.
    pub(crate) fn forget(&mut self, key: &Key, id: Option<&str>) {
        // Destroying a replaced or renamed object must not remove its replacement.
        let same = |entry: &Entry| id.is_none() || entry.resource.id.as_deref() == id;
        if self.resources.get(key).is_some_and(same) {
            self.remove(key);
        }
        if !self.resources.contains_key(key) {
            self.gone.insert(key.clone());
        }
        self.gone_ids.extend(id.map(str::to_owned));
    }

    /// Removes a resource whose destruction another process has planned, unless this one has planned the resource.
    pub(crate) fn forget_foreign(&mut self, key: &Key, id: Option<&str>) {
        if self.resources.get(key).is_none_or(|entry| entry.foreign) {
            self.forget(key, id);
        }
    }

    /// Removes what other processes have planned.
    pub(crate) fn clear_foreign(&mut self) {
        let foreign = self.resources.iter().filter(|(_, entry)| entry.foreign);
        for key in foreign.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.remove(&key);
        }
    }

    /// The resources that other processes have planned.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &PlannedResource> {
        self.resources.values().filter(|entry| entry.foreign).map(|entry| &entry.resource)
    }

    /// Records that the object of a key is about to be created.
    pub(crate) fn applied(&mut self, key: &Key) {
        if let Some(entry) = self.resources.get_mut(key) {
            entry.applied = true;
        }
    }

    pub(crate) fn resource(&self, key: &Key) -> Option<&PlannedResource> {
        self.resources.get(key).map(|entry| &entry.resource)
    }

    /// Whether the run plans, or plans to destroy, the object with this ID or key.
    pub(crate) fn knows(&self, id: &str, key: &Key) -> bool {
        self.knows_id(id) || self.knows_key(key)
    }

    /// Whether the run plans, or plans to destroy, the object with this key.
    pub(crate) fn knows_key(&self, key: &Key) -> bool {
        self.resources.contains_key(key) || self.gone.contains(key)
    }

    /// Whether the run plans, or plans to destroy, the object with this ID.
    pub(crate) fn knows_id(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.gone_ids.contains(id)
    }

    /// The ranges of other resources that overlap `net`.
    pub(crate) fn overlapping<'a>(
        &'a self,
        key: &'a Key,
        net: &IpNet,
    ) -> impl Iterator<Item = (&'a PlannedResource, &'a PlannedRange)> {
        self.ranges
            .overlapping(net)
            .filter_map(move |(_, at)| if at.0 == *key { None } else { self.range(at) })
    }

    /// All ranges of the run.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &PlannedRange> {
        self.ranges.iter().filter_map(|(_, at)| self.range(at)).map(|(_, range)| range)
    }

    /// The address plans' pools.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &Vec<IpNet>> {
        self.pools.values().flatten()
    }

    /// Determines the network of a subnet that is at `location`.
    pub(crate) fn home<'a>(&'a self, net: &IpNet, parent: &'a Parent, location: &Location) -> Home<'a> {
        if let Some(id) = &parent.id {
            let planned = self.by_id.get(id).and_then(|key| self.resource(key));
            return planned.map_or(Home::Foreign(id), Home::Planned);
        }
        if !parent.cidrs.is_empty() {
            return Home::Unknown;
        }
        let candidate =
            self.ranges.containing(net).filter_map(|(_, at)| self.range(at)).find(|(of, range)| {
                of.key.kind == parent.kind
                    && of.key.location == *location
                    && of.id.is_none()
                    && range.role == Role::Occupy
            });
        if let Some((of, _)) = candidate {
            return Home::Candidate(of);
        }
        match self.pending.get(&(parent.kind.clone(), location.clone())) {
            Some(pending) if !pending.unknown.contains_key(&Family::of(net)) && !pending.keys.is_empty() => {
                Home::OutsideCandidates(pending.keys.iter().filter_map(|key| self.resource(key)).collect())
            }
            _ => Home::Unknown,
        }
    }

    fn range(&self, (key, position): &At) -> Option<(&PlannedResource, &PlannedRange)> {
        let resource = self.resource(key)?;
        Some((resource, resource.ranges.get(*position)?))
    }

    fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.resources.remove(key)?;
        for (position, range) in entry.resource.ranges.iter().enumerate() {
            self.ranges.remove(&range.net, &(key.clone(), position));
        }
        self.pools.remove(key);
        if let Some(id) = &entry.resource.id {
            if self.by_id.get(id) == Some(key) {
                self.by_id.remove(id);
            }
        } else if let Some(pending) = self.pending.get_mut(&class(key)) {
            pending.keys.remove(key);
            for family in &entry.resource.unknown {
                if let Some(count) = pending.unknown.get_mut(family) {
                    *count -= 1;
                    if *count == 0 {
                        pending.unknown.remove(family);
                    }
                }
            }
        }
        Some(entry)
    }
}

/// A subnet of a network that does not exist yet may be in any of those of its location.
fn class(key: &Key) -> (Cow<'static, str>, Location) {
    (key.kind.clone(), key.location.clone())
}

/// A resource may be planned twice: with the existing object and, if it is to be replaced, without one.
fn certainly_two(earlier: &PlannedResource, later: &PlannedResource) -> bool {
    match (&earlier.id, &later.id) {
        (Some(earlier), Some(later)) => earlier != later,
        (None, None) => {
            let known = earlier.unknown.is_empty() && later.unknown.is_empty();
            let nets =
                |of: &PlannedResource| of.ranges.iter().map(|range| range.net).collect::<BTreeSet<_>>();
            known && nets(earlier) != nets(later)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}
