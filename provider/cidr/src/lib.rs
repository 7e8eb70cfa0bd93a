//! Address planning: turns a request into a plan, or reports every conflict.
//!
//! The crate is pure: it reads no clock, environment, file or socket. Every function is deterministic and does not depend
//! on the order of its input.
//!
//! * [`parse_cidr`] parses a range and rejects host bits.
//! * [`overlaps`] finds every overlapping pair; [`merge`], [`subtract`], [`contains`], [`next()`],
//!   [`nearest_free`] and [`free_blocks`] compute with sets of ranges.
//! * [`conflicts`] applies the rules of reservations and occupiers to labelled ranges.
//! * [`Moves`] finds new ranges, so that following all proposals resolves every conflict.
//! * [`Cloud`] holds the documented limits of the clouds.
//! * [`solve()`] turns a [`Request`] into a [`Plan`] or an [`Infeasible`] that [`explain()`] describes in text.

mod bits;
mod buddy;
mod conflict;
mod explain;
mod greedy;
mod level;
mod minimal;
mod moves;
mod nest;
mod order;
mod parse;
mod plan;
mod renumber;
mod request;
mod rules;
mod search;
mod siblings;
mod solve;
mod space;
mod sweep;
mod tree;
mod verdict;

pub use conflict::{
    Conflict, ConflictScan, Label, Parent, Range, RangeKind, Relation, Why, conflicts, suggest,
};
pub use explain::{Message, explain, messages};
pub use ipnet::{self, IpNet, Ipv4Net, Ipv6Net};
pub use moves::{Moves, Wish};
pub use parse::{CidrError, parse_cidr};
pub use plan::{
    Assignment, BoundHit, Element, ElementKind, Infeasible, NoRoom, Plan, Problem, RenumberReason,
    Renumbering, Warning,
};
pub use renumber::solve_renumbering;
pub use request::{Family, Growth, GrowthError, NetworkRequest, Request, SEPARATOR, SubnetRequest, Want};
pub use rules::{Cloud, Finding, PrefixRange, Rule, Severity, UnknownCloud};
pub use solve::{Bound, solve, solve_until};
pub use space::{contains, free_blocks, merge, nearest_free, next, subtract};
pub use sweep::{OverlapPairs, Overlaps, overlaps};
