//! Which ranges move together: a forest of ranges inside others that belong there, and the conflicts between its branches.

use crate::{ConflictScan, Family, IpNet, Parent, Range, RangeKind, overlaps};
use std::collections::BTreeMap;

/// The forest of ranges, and the conflicts.
pub(crate) struct Nest<'a> {
    pub(crate) ranges: &'a [Range],
    /// The range that each one moves with.
    pub(crate) above: Vec<Option<usize>>,
    /// The ranges that move with each one.
    pub(crate) below: BTreeMap<usize, Vec<usize>>,
    /// Position of each range in an order in which outer ranges come first.
    pub(crate) position: Vec<usize>,
    /// Ranges of the network of each subnet that is outside all of them.
    pub(crate) outside: BTreeMap<usize, Vec<usize>>,
    /// Conflicting pairs, up to a limit.
    pub(crate) conflicts: Vec<(usize, usize)>,
    /// Whether there are more.
    pub(crate) more: bool,
}

/// The innermost ranges around one, if any.
#[derive(Default)]
struct Around {
    /// The same object in another file.
    twin: Option<usize>,
    /// Its network.
    home: Option<usize>,
    /// A range for which holds: neither it nor what it moves with conflicts with the inner one.
    free: Option<usize>,
}

impl<'a> Nest<'a> {
    /// `counts` is whether a conflict of two ranges is reported. Up to `limit` conflicts are held.
    pub(crate) fn new(
        ranges: &'a [Range],
        scan: &ConflictScan<'_>,
        counts: &dyn Fn(usize, usize) -> bool,
        limit: usize,
    ) -> Self {
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        // A network may have the whole range of its reservation, and a subnet that of its network.
        order.sort_by_key(|&index| {
            let label = &ranges[index].label;
            (ranges[index].net, label.parent != Parent::Top, label.kind, index)
        });
        let mut position = vec![0; ranges.len()];
        for (at, &index) in order.iter().enumerate() {
            position[index] = at;
        }
        let mut this = Self {
            ranges,
            above: vec![None; ranges.len()],
            below: BTreeMap::new(),
            position,
            outside: BTreeMap::new(),
            conflicts: Vec::new(),
            more: false,
        };
        let nets: Vec<IpNet> = order.iter().map(|&index| ranges[index].net).collect();
        let sweep = overlaps(&nets);
        let mut current = None;
        let mut around = Around::default();
        // The last range for which each one was not free, so that no search is needed.
        let mut blocked: Vec<Option<usize>> = vec![None; ranges.len()];
        for (outer, inner) in sweep.pairs() {
            let (outer, inner) = (order[outer], order[inner]);
            if current != Some(inner) {
                this.attach(current, &std::mem::take(&mut around));
                current = Some(inner);
            }
            let clash = scan.clash(outer, inner);
            // What the outer range moves with is around the inner one, too, and came before.
            let free = !clash && this.above[outer].is_none_or(|above| blocked[above] != Some(inner));
            if !free {
                blocked[outer] = Some(inner);
            }
            let own = scan.object(outer);
            if own.is_some() && own == scan.object(inner) && ranges[outer].net == ranges[inner].net {
                around.twin = Some(outer);
            }
            if own.is_some() && own == scan.parent(inner) {
                around.home = Some(outer);
            }
            if free && ranges[outer].label.kind != RangeKind::Reserved {
                around.free = Some(outer);
            }
            if clash && !this.more && counts(outer, inner) {
                if this.conflicts.len() < limit {
                    this.conflicts.push((outer, inner));
                } else {
                    this.more = true;
                }
            }
        }
        this.attach(current, &around);
        for (index, above) in this.above.iter().enumerate() {
            if let Some(above) = above {
                this.below.entry(*above).or_default().push(index);
            }
        }
        this.find_outside();
        this
    }

    /// Decides what a range moves with: its network, or the innermost range around it without a conflict.
    fn attach(&mut self, inner: Option<usize>, around: &Around) {
        let Some(inner) = inner else { return };
        let own = &self.ranges[inner].label;
        let found = match own.parent {
            _ if own.kind == RangeKind::Reserved => None,
            Parent::Of(_) => around.twin.or(around.home),
            Parent::Top | Parent::Unknown => around.twin.or(around.free),
        };
        self.above[inner] = found.map(|outer| self.first(outer));
    }

    /// Whether two ranges are the same object, in two files.
    pub(crate) fn twins(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.ranges[one], &self.ranges[other]);
        one.net == other.net && !one.label.id.is_empty() && one.label.id == other.label.id
    }

    /// The one of an object's twins that everything inside the object moves with.
    fn first(&self, index: usize) -> usize {
        self.above[index].filter(|&above| self.twins(above, index)).unwrap_or(index)
    }

    fn find_outside(&mut self) {
        let mut homes: BTreeMap<(&str, Family), Vec<usize>> = BTreeMap::new();
        let first = |(index, _): &(usize, _)| self.first(*index) == *index;
        for (index, range) in self.ranges.iter().enumerate().filter(first) {
            homes.entry((&range.label.id, Family::of(&range.net))).or_default().push(index);
        }
        for (index, range) in self.ranges.iter().enumerate() {
            if let (Parent::Of(id), None) = (&range.label.parent, self.above[index]) {
                let found = homes.get(&(id.as_str(), Family::of(&range.net)));
                self.outside.insert(index, found.cloned().unwrap_or_default());
            }
        }
    }

    /// A range, the one that it moves with, and so on.
    pub(crate) fn chain(&self, index: usize) -> impl Iterator<Item = usize> + use<'_, 'a> {
        std::iter::successors(Some(index), |index| self.above[*index])
    }

    /// A range and everything that moves with it.
    pub(crate) fn branch(&self, index: usize) -> Vec<usize> {
        let mut found = vec![index];
        let mut at = 0;
        while let Some(next) = found.get(at).copied() {
            found.extend(self.below.get(&next).into_iter().flatten());
            at += 1;
        }
        found
    }

    /// Two branches, one of which has to move to resolve a conflict, and the range that both are in. `None` if the ranges are in
    /// one branch.
    pub(crate) fn branches(&self, (one, other): (usize, usize)) -> Option<(Option<usize>, usize, usize)> {
        let ours: Vec<usize> = self.chain(one).collect();
        let mut theirs = None;
        for index in self.chain(other) {
            if let Some(at) = ours.iter().position(|own| *own == index) {
                return Some((Some(index), *ours.get(at.checked_sub(1)?)?, theirs?));
            }
            theirs = Some(index);
        }
        Some((None, *ours.last()?, theirs?))
    }
}
