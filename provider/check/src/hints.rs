//! What to do about conflicts: new ranges that can all be used, and reasons where there are none.

use crate::plans::cloud_findings;
use crate::table::{Pair, Table};
use warren_cidr::{ConflictScan, IpNet, Moves, Range, Wish};

impl Table<'_> {
    /// Plans new ranges for all conflicts together.
    pub(crate) fn moves(&self, scan: &ConflictScan<'_>) -> Moves<'_> {
        let wishes: Vec<Wish> = (0..self.len()).map(|index| self.wish(index)).collect();
        let counts = |one: usize, other: usize| !self.told(one, other);
        let fits = |index: usize, net: &IpNet| {
            let facts = &self.facts[index];
            let subnet = facts.subnet.is_some();
            let allowed = |net: &IpNet| cloud_findings(facts.cloud, net, subnet).is_empty();
            // A range that is already wrong has findings of its own.
            (allowed(net) || !allowed(self.net(index)))
                && (subnet || !self.routes.iter().any(|route| net.contains(route)))
        };
        Moves::new(&self.ranges, scan, &wishes, &counts, &fits)
    }

    /// How easily a range moves. What exists is harder to move than what a plan creates, and a connected network harder than
    /// another one. What another team owns cannot be moved here.
    fn wish(&self, index: usize) -> Wish {
        const LINK: u64 = 2;
        const LIVE: u64 = 20;
        const FOREIGN: u64 = 10_000;
        let facts = &self.facts[index];
        let links = match (facts.node, facts.subnet) {
            (Some(node), None) => self.world.connections.degree(node) as u64,
            _ => 0,
        };
        // If nothing here belongs to the owner of an entry, its address plan is that of another team.
        let ours = || self.owners.is_empty() || self.owners.contains(self.ranges[index].label.owner.as_str());
        let foreign = facts.external || facts.entry && (facts.refused || !ours());
        let cost = links * LINK + u64::from(facts.live) * LIVE + u64::from(foreign) * FOREIGN;
        Wish { cost, fixed: facts.fixed }
    }
}

/// Which side of a conflict moves, and where.
pub(crate) fn advice(ranges: &[Range], moves: &Moves<'_>, pair: &Pair, movable: usize) -> (usize, Hint) {
    let other = if movable == pair.left { pair.right } else { pair.left };
    let after = |index: usize| moves.after(index);
    let (one, two) = (after(movable), after(other));
    if !one.contains(&two) && !two.contains(&one) {
        let (mover, net) = if one == ranges[movable].net { (other, two) } else { (movable, one) };
        let mut text = format!("use {net}, the nearest free range of this size");
        let stays = if mover == movable { other } else { movable };
        if let Some(DEFAULT_VPC) = moves.why_not(stays) {
            text.push_str("; a default VPC cannot be renumbered");
        }
        return (mover, Hint { text: Some(text), reason: None });
    }
    let reasons = [movable, other].map(|index| moves.why_not(index));
    if reasons.contains(&Some(DEFAULT_VPC)) {
        let text = "delete the default VPC, or replace it with a VPC of another range".to_owned();
        let others = reasons.into_iter().flatten().filter(|why| *why != DEFAULT_VPC);
        let why = others.chain([DEFAULT_VPC]).next().unwrap_or_default();
        return (movable, Hint { text: Some(text), reason: Some(format!("no range is proposed: {why}")) });
    }
    let reason = reasons.into_iter().flatten().next();
    (movable, Hint { text: None, reason: reason.map(|why| format!("no range is proposed: {why}")) })
}

/// What to do about a conflict, or why nothing is proposed.
#[derive(Default)]
pub(crate) struct Hint {
    pub(crate) text: Option<String>,
    pub(crate) reason: Option<String>,
}

/// Why a default VPC does not move.
pub(crate) const DEFAULT_VPC: &str = "AWS gives every default VPC the same range";

/// Why a network in auto mode does not move.
pub(crate) const AUTO_MODE: &str = "Google Cloud chooses the ranges of auto mode";
