//! Conflicts and unsolvable requests, told as prose.

use crate::{Conflict, Element, ElementKind, Infeasible, NoRoom, Problem, Range, RangeKind, Want, Why};
use ipnet::IpNet;
use serde::Serialize;

/// How many members of a set are listed before the rest is counted.
const LISTED: usize = 12;

/// One message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Path of the network or subnet (`aws/public`), `pools.NAME` or `reserved.NAME`; empty if it is about all of them.
    pub path: String,
    /// One line.
    pub summary: String,
    /// What conflicts and why, some lines.
    pub detail: String,
    /// One thing to do about it.
    pub hint: Option<String>,
}

/// The whole story: what does not fit together, why, and a hint.
pub fn explain(infeasible: &Infeasible) -> String {
    let mut out = String::new();
    for message in messages(infeasible) {
        if !out.is_empty() {
            out.push('\n');
        }
        let place = if message.path.is_empty() { String::new() } else { format!("{}: ", message.path) };
        out.push_str(&format!("{place}{}\n", message.summary));
        for line in message.detail.lines() {
            out.push_str(&format!("  {line}\n"));
        }
        if let Some(hint) = message.hint {
            out.push_str(&format!("  Hint: {hint}.\n"));
        }
    }
    out
}

/// The same story, one message a problem, each with its path: for diagnostics on attributes.
pub fn messages(infeasible: &Infeasible) -> Vec<Message> {
    match infeasible {
        Infeasible::Refused(problems) => problems.iter().map(problem).collect(),
        Infeasible::NoRoom(story) => vec![no_room(story)],
        Infeasible::BoundHit(hit) => vec![Message {
            path: String::new(),
            summary: format!(
                "Neither a plan nor a proof that there is none was found in {} tries",
                hit.tried
            ),
            detail: format!(
                "{} networks compete for the overlapping pools {}: {}",
                hit.paths.len(),
                hit.pools.join(", "),
                listed(hit.paths.iter().cloned())
            ),
            hint: Some("pin some of these networks, or let each name one pool only".to_owned()),
        }],
    }
}

impl Conflict {
    /// One paragraph: both ranges with owner and path, and why they may not live together. The indices of the conflict
    /// are those of `ranges`.
    pub fn explain(&self, ranges: &[Range]) -> String {
        match self {
            Conflict::Overlap { left, right, relation, why } => {
                let verb = match relation {
                    crate::Relation::Equal => "is the same range as",
                    crate::Relation::Contains => "contains",
                };
                let (left, right) = (&ranges[*left], &ranges[*right]);
                format!("{} {verb} {}: {}", named(left), named(right), reason(*why, left, right))
            }
            Conflict::OutsideParent { child, parents } => {
                let blocks: Vec<String> =
                    parents.iter().map(|&parent| ranges[parent].net.to_string()).collect();
                let network = parents.first().map_or_else(String::new, |&parent| named(&ranges[parent]));
                match blocks.as_slice() {
                    [_] => format!("{} lies outside its network {network}", named(&ranges[*child])),
                    _ => format!(
                        "{} lies outside all ranges of its network {network}: {}",
                        named(&ranges[*child]),
                        blocks.join(", ")
                    ),
                }
            }
        }
    }
}

fn named(range: &Range) -> String {
    let label = &range.label;
    let mut about = Vec::new();
    if !label.owner.is_empty() {
        about.push(format!("owner {}", label.owner));
    }
    if !label.path.is_empty() && label.path != label.name {
        about.push(label.path.clone());
    }
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    format!("{} {}{about}", label.name, range.net)
}

fn reason(why: Why, left: &Range, right: &Range) -> String {
    match why {
        Why::BothOccupy => "two networks cannot have the same addresses in one fabric".to_owned(),
        Why::BothReserve => "the same addresses are reserved twice".to_owned(),
        Why::ForeignReservation => {
            let reservation = if left.label.kind == RangeKind::Reserve { left } else { right };
            let owner =
                if reservation.label.owner.is_empty() { "somebody else" } else { &reservation.label.owner };
            format!("the addresses are reserved for {owner}")
        }
        Why::BeyondOwnReservation => "it reaches beyond the reservation of its own owner".to_owned(),
        Why::Reserved => {
            let excluded = if left.label.kind == RangeKind::Reserved { left } else { right };
            format!("{} is excluded for everybody", excluded.label.name)
        }
    }
}

fn problem(problem: &Problem) -> Message {
    let nowhere = String::new();
    let (path, summary, detail, hint) = match problem {
        Problem::More { count } => {
            let plural = if *count == 1 { "conflict is" } else { "conflicts are" };
            (&nowhere, format!("{count} more {plural} not listed"), String::new(), None)
        }
        Problem::BadKey { key } => (
            key,
            format!("The name {key:?} cannot be used"),
            "A name is a part of paths such as aws/public, so it is not empty and has no slash".to_owned(),
            None,
        ),
        Problem::UnknownPool { path, pool, known } => (
            path,
            format!("There is no pool {pool:?}"),
            format!("The pools are: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") }),
            None,
        ),
        Problem::NoPool { path } => (
            path,
            "No pool to take addresses from".to_owned(),
            "A network without a pinned range names the pools it may lie in".to_owned(),
            Some("add a pool, or pin the range".to_owned()),
        ),
        Problem::HostBits { path, meant } => (
            path,
            "A range has host bits set".to_owned(),
            "Bits after the prefix length must be zero".to_owned(),
            Some(format!("the network is probably {meant}")),
        ),
        Problem::NoFamily { path, family } => (
            path,
            format!("Its pools have no {} block", if family.bits() == 32 { "IPv4" } else { "IPv6" }),
            "A network takes its addresses from one family of its pools".to_owned(),
            None,
        ),
        Problem::BadSize { path, want, why } => {
            (path, format!("{} cannot be had", wanted(*want)), why.clone(), None)
        }
        Problem::Rule { path, finding } => {
            (path, format!("{} is refused by the cloud", finding.net), finding.message.clone(), None)
        }
        Problem::PinnedOutside { path, net, container, blocks, hint } => (
            path,
            format!("{net} lies outside {container}"),
            if blocks.is_empty() {
                String::new()
            } else {
                format!("{container} has {}", listed(blocks.iter().map(IpNet::to_string)))
            },
            hint.map(|hint| format!("the nearest free /{} is {hint}", hint.prefix_len())),
        ),
        Problem::Overlap { ranges, conflict, hint } => {
            let movable = &ranges[conflict.movable(ranges.as_slice())];
            (
                &movable.label.path,
                format!("{} overlaps {}", ranges[0].net, ranges[1].net),
                conflict.explain(ranges.as_slice()),
                hint.map(|hint| {
                    format!("the nearest free /{} for {} is {hint}", hint.prefix_len(), movable.label.name)
                }),
            )
        }
    };
    Message { path: path.clone(), summary, detail, hint }
}

fn wanted(want: Want) -> String {
    match want {
        Want::Pinned(net) => net.to_string(),
        Want::Prefix(prefix) => format!("A /{prefix}"),
        Want::Hosts(hosts) => format!("Room for {hosts} hosts"),
    }
}

fn no_room(story: &NoRoom) -> Message {
    let sized =
        story.elements.iter().filter(|element| matches!(element.kind, ElementKind::Sized { .. })).count();
    let mut detail = String::new();
    for element in story.elements.iter().take(LISTED) {
        detail.push_str(&format!("- {}\n", member(element)));
    }
    if story.elements.len() > LISTED {
        detail.push_str(&format!("- and {} more\n", story.elements.len() - LISTED));
    }
    let (need, free) = (addresses(story.needed), addresses(story.free));
    let largest = story.largest.map_or_else(
        || "nothing is free".to_owned(),
        |net| format!("the largest free block is the /{} {net}", net.prefix_len()),
    );
    let what = if sized == 1 { "What has no place yet needs" } else { "Those without a place need" };
    if story.needed > story.free {
        detail.push_str(&format!("{what} {need}; {free} are free in {}; {largest}.", blocks_text(story)));
    } else {
        detail.push_str(&format!(
            "{what} {need} and {free} are free in {}, but not in aligned blocks that fit: {largest}.",
            blocks_text(story)
        ));
    }
    if story.minimal && story.elements.len() > 1 {
        detail.push_str("\nWithout any one of them the others fit.");
    }
    let path = match story.elements.iter().rfind(|element| matches!(element.kind, ElementKind::Sized { .. }))
    {
        Some(element) => element.path.clone(),
        None => String::new(),
    };
    let summary = match story.elements.len() {
        1 => format!("This does not fit into {}", story.container),
        count => format!("These {count} do not fit together into {}", story.container),
    };
    Message { path, summary, detail, hint: Some(story.hint.clone()) }
}

fn blocks_text(story: &NoRoom) -> String {
    listed(story.blocks.iter().map(IpNet::to_string))
}

fn member(element: &Element) -> String {
    let path = &element.path;
    match element.kind {
        ElementKind::Sized { prefix } => format!("{path} asks for a /{prefix}"),
        ElementKind::Pinned(net) => format!("{path} is pinned to {net}"),
        ElementKind::Held(net) => format!("{path} stays at {net}, where the earlier plan has it"),
        ElementKind::Reserved(net) => format!("{net} is reserved for {path}"),
    }
}

/// A count of addresses; large ones as a power of two where they are one.
fn addresses(count: u128) -> String {
    match count {
        1 => "1 address".to_owned(),
        u128::MAX => "2^128 addresses".to_owned(),
        count if count.is_power_of_two() && count > 1 << 32 => format!("2^{} addresses", count.ilog2()),
        count => format!("{count} addresses"),
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = items.collect();
    match all.len() {
        0..=LISTED => all.join(", "),
        count => format!("{} and {} more", all[..LISTED].join(", "), count - LISTED),
    }
}
