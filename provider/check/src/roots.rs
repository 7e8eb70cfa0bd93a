//! Root causes: a conflict of two networks explains those of their subnets, which are counted instead of listed.

use crate::table::Table;
use crate::twins::Twins;
use std::collections::BTreeMap;
use warren_cidr::{Conflict, ConflictScan};

/// The networks of the subnets, and the conflicts beneath each pair of networks.
pub(crate) struct Roots {
    /// The ranges of the network of each range that contain it.
    homes: Vec<Vec<usize>>,
    beneath: BTreeMap<(usize, usize), Beneath>,
}

/// The number of hidden conflicts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beneath {
    /// Conflicts of two subnets.
    pairs: usize,
    /// Conflicts of a subnet of one network with the other network.
    singles: usize,
}

impl Roots {
    pub(crate) fn new(table: &Table<'_>, scan: &ConflictScan<'_>, twins: &Twins) -> Self {
        let mut networks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, id) in (0..table.len()).filter_map(|index| Some((index, table.top(index)?))) {
            networks.entry(id).or_default().push(index);
        }
        let homes = |index: usize| {
            let own = table.network(index).and_then(|id| networks.get(id)).into_iter().flatten().copied();
            own.filter(|&home| table.net(home).contains(table.net(index))).collect()
        };
        let homes: Vec<Vec<usize>> = (0..table.len()).map(homes).collect();
        let mut roots = Self { homes, beneath: BTreeMap::new() };
        if roots.homes.iter().all(Vec::is_empty) {
            return roots;
        }
        for conflict in scan.overlaps() {
            let Conflict::Overlap { left, right, .. } = conflict else { continue };
            let Some(root) = roots.of(table, scan, left, right) else { continue };
            if table.told(left, right) || !table.is_first(scan, twins, left, right) {
                continue;
            }
            let beneath = roots.beneath.entry(twins.key(root)).or_default();
            if table.network(left).is_some() && table.network(right).is_some() {
                beneath.pairs += 1;
            } else {
                beneath.singles += 1;
            }
        }
        roots
    }

    /// The conflict that explains the one of two ranges: that of their networks, or of one range and the network of the other.
    pub(crate) fn of(
        &self,
        table: &Table<'_>,
        scan: &ConflictScan<'_>,
        left: usize,
        right: usize,
    ) -> Option<(usize, usize)> {
        if self.homes[left].is_empty() && self.homes[right].is_empty() {
            return None;
        }
        let above = |index: usize| self.homes[index].iter().copied().chain([index]);
        above(left).flat_map(|one| above(right).map(move |other| (one, other))).find(|&(one, other)| {
            (one, other) != (left, right) && one != other && table.conflict(scan, one, other)
        })
    }

    /// What the message of a conflict says about those beneath it, if any.
    pub(crate) fn note(&self, twins: &Twins, left: usize, right: usize) -> Option<String> {
        let beneath = self.beneath.get(&twins.key((left, right)))?;
        Some(match beneath {
            Beneath { pairs: 1, .. } => ", and 1 pair of their subnets overlaps".to_owned(),
            Beneath { pairs: 0, singles: 1 } => ", and 1 of their subnets conflicts as well".to_owned(),
            Beneath { pairs: 0, singles } => format!(", and {singles} of their subnets conflict as well"),
            Beneath { pairs, .. } => format!(", and {pairs} pairs of their subnets overlap"),
        })
    }
}
