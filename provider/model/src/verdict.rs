//! What a check found, for pictures: ranges that overlap, and paths that a policy forbids.

use crate::topology::Key;
use ipnet::IpNet;

/// Findings that pictures show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Ranges that overlap, errors first.
    pub overlaps: Vec<Overlap>,
    /// Paths that a policy forbids, errors first.
    pub paths: Vec<Path>,
    /// Number of findings beyond the limit of the check, which are counted and not drawn.
    pub omitted: usize,
}

impl Verdict {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.overlaps.is_empty() && self.paths.is_empty()
    }
}

/// Two ranges that overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// Both ranges.
    pub sides: [Side; 2],
    /// Whether it is a warning instead of an error.
    pub warning: bool,
    /// Stable name of the rule: `overlap`, `subnet-overlap`.
    pub rule: &'static str,
}

/// One of two ranges that overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Resource address, followed by the name of a secondary range in parentheses.
    pub name: String,
    /// The range.
    pub net: IpNet,
}

impl Side {
    /// Resource address without the name of a secondary range.
    pub fn address(&self) -> &str {
        match self.name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
            Some((address, _)) => address,
            None => &self.name,
        }
    }
}

/// A path that a policy forbids, although packets take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Name of the assertion.
    pub name: String,
    /// One sentence: what reaches what.
    pub message: String,
    /// Whether it is a warning instead of an error.
    pub warning: bool,
    /// Objects on the path, from source to destination: key and what happens there.
    pub hops: Vec<(Key, String)>,
}
