//! Ranges of the same object that several inputs contain.

use std::collections::BTreeMap;
use warren_cidr::{IpNet, Range};

/// Ranges of the same object that several inputs contain.
pub(crate) struct Twins {
    class: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Twins {
    pub(crate) fn new(ranges: &[Range]) -> Self {
        let mut classes = BTreeMap::new();
        let (mut class, mut members) = (Vec::with_capacity(ranges.len()), Vec::new());
        for (index, range) in ranges.iter().enumerate() {
            let at = *classes.entry(identity(range)).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[at].push(index);
            class.push(at);
        }
        Self { class, members }
    }

    /// Identifies a pair of ranges across their twins, in either order.
    pub(crate) fn key(&self, (one, other): (usize, usize)) -> (usize, usize) {
        let (one, other) = (self.class[one], self.class[other]);
        (one.min(other), one.max(other))
    }

    /// The range and its twins, in order.
    pub(crate) fn of(&self, index: usize) -> &[usize] {
        &self.members[self.class[index]]
    }
}

/// Identifies an object across plan and state: its ID (or else its path), its name and its range.
pub(crate) fn identity(range: &Range) -> (&str, &str, IpNet) {
    let label = &range.label;
    let id = if label.id.is_empty() { &label.path } else { &label.id };
    (id, &label.name, range.net)
}
