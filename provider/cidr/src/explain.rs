//! Messages about conflicts and infeasible requests.

use crate::{
    Conflict, Element, ElementKind, Family, Infeasible, NoRoom, Problem, Range, RangeKind, Want, Why,
};
use ipnet::IpNet;
use serde::Serialize;

/// Maximum number of members of a set to list; the rest are counted.
const LISTED: usize = 12;

/// One message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Path of the network or subnet (`aws/public`), `pools.NAME` or `reserved.NAME`; empty if the message is about all of them.
    pub path: String,
    /// One line.
    pub summary: String,
    /// What conflicts and why, one or more lines.
    pub detail: String,
    /// One thing to do.
    pub hint: Option<String>,
}

/// Every message as text: what does not fit, why, and a hint.
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

/// One message for each problem, with its path, for diagnostics on attributes.
pub fn messages(infeasible: &Infeasible) -> Vec<Message> {
    match infeasible {
        Infeasible::Refused(problems) => problems.iter().map(problem).collect(),
        Infeasible::NoRoom(story) => vec![no_room(story)],
        Infeasible::BoundHit(hit) => vec![Message {
            path: String::new(),
            summary: format!(
                "The search for an address plan {} after {} attempts without a result",
                if hit.timed_out { "reached its time limit" } else { "stopped" },
                hit.tried
            ),
            detail: format!(
                "{} networks compete for space in the overlapping pools {}: {}",
                hit.paths.len(),
                hit.pools.join(", "),
                listed(hit.paths.iter().cloned())
            ),
            hint: Some("pin some of these networks, or let each of them use one pool only".to_owned()),
        }],
    }
}

impl Conflict {
    /// One paragraph: both ranges with owner and path, and why they conflict. The indices of the conflict refer to
    /// `ranges`.
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
                    [_] => format!("{} is outside its network {network}", named(&ranges[*child])),
                    _ => format!(
                        "{} is outside all ranges of its network {network}: {}",
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
        Why::BothOccupy => "two networks of one fabric cannot use the same addresses".to_owned(),
        Why::BothReserve => "two entries cannot reserve the same addresses".to_owned(),
        Why::ForeignReservation => {
            let reservation = if left.label.kind == RangeKind::Reserve { left } else { right };
            let owner =
                if reservation.label.owner.is_empty() { "another owner" } else { &reservation.label.owner };
            format!("the addresses are reserved for {owner}")
        }
        Why::BeyondOwnReservation => "it is larger than the range that its owner reserved".to_owned(),
        Why::Reserved => {
            let excluded = if left.label.kind == RangeKind::Reserved { left } else { right };
            format!("no network may use the reserved range {}", excluded.label.name)
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
            format!("Invalid name {key:?}"),
            "A name is part of paths such as aws/public, so it must not be empty or contain a slash"
                .to_owned(),
            Some("rename the network or subnet".to_owned()),
        ),
        Problem::UnknownPool { path, pool, known } => (
            path,
            format!("Pool {pool:?} does not exist"),
            if known.is_empty() {
                "The address plan defines no pools".to_owned()
            } else {
                format!("The address plan defines these pools: {}", known.join(", "))
            },
            Some("use a pool that exists, or define this one under `pools`".to_owned()),
        ),
        Problem::NoPool { path } => (
            path,
            "The network has neither a pool nor a pinned range".to_owned(),
            "A network gets its range from a pool, unless the range is pinned".to_owned(),
            Some("set `pool` to the pool to use, or pin the range with `cidr`".to_owned()),
        ),
        Problem::HostBits { path, meant } => (
            path,
            "The range has host bits set".to_owned(),
            "The bits after the prefix length must be zero".to_owned(),
            Some(format!("write {meant}")),
        ),
        Problem::NoFamily { path, family } => (
            path,
            format!("The pools of the network have no {} range", family_text(*family)),
            "A network gets all of its addresses from one address family of its pools".to_owned(),
            Some(format!("add an {} range to one of its pools", family_text(*family))),
        ),
        Problem::BadSize { path, want, why } => {
            (path, format!("{} is not possible", wanted(*want)), why.clone(), None)
        }
        Problem::Rule { path, finding } => {
            (path, format!("The cloud does not allow {}", finding.net), finding.message.clone(), None)
        }
        Problem::PinnedOutside { path, net, container, blocks, hint } => (
            path,
            format!("{net} is outside {container}"),
            if blocks.is_empty() {
                String::new()
            } else {
                format!("{container} contains {}", listed(blocks.iter().map(IpNet::to_string)))
            },
            hint.map(|hint| format!("use {hint}, the nearest free /{}", hint.prefix_len())),
        ),
        Problem::Overlap { ranges, conflict, hint } => {
            let movable = &ranges[conflict.movable(ranges.as_slice())];
            (
                &movable.label.path,
                format!("{} overlaps {}", ranges[0].net, ranges[1].net),
                conflict.explain(ranges.as_slice()),
                hint.map(|hint| {
                    format!("use {hint} for {}, the nearest free /{}", movable.label.name, hint.prefix_len())
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

fn family_text(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
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
    let largest = story
        .largest
        .map_or_else(|| "No block is free".to_owned(), |net| format!("The largest free block is {net}"));
    let ranges = match sized {
        1 => "The unplaced range needs".to_owned(),
        count => format!("The {count} unplaced ranges need"),
    };
    let are = if story.free == 1 { "is" } else { "are" };
    let space = blocks_text(story);
    if story.needed > story.free {
        detail.push_str(&format!("{ranges} {need}, but only {free} {are} free in {space}. {largest}."));
    } else {
        detail.push_str(&format!(
            "{ranges} {need}. {free} {are} free in {space}, but not in aligned blocks of the required size. {largest}."
        ));
    }
    if story.minimal && story.elements.len() > 1 {
        detail.push_str("\nIf any one of them is removed, the others fit.");
    }
    let path = match story.elements.iter().rfind(|element| matches!(element.kind, ElementKind::Sized { .. }))
    {
        Some(element) => element.path.clone(),
        None => String::new(),
    };
    let summary = match story.elements.len() {
        1 => format!("This range does not fit into {}", story.container),
        count => format!("These {count} ranges do not fit into {} together", story.container),
    };
    Message { path, summary, detail, hint: Some(story.hint.clone()) }
}

fn blocks_text(story: &NoRoom) -> String {
    listed(story.blocks.iter().map(IpNet::to_string))
}

fn member(element: &Element) -> String {
    let path = &element.path;
    match element.kind {
        ElementKind::Sized { prefix } => format!("{path} needs a /{prefix}"),
        ElementKind::Pinned(net) => format!("{path} is pinned to {net}"),
        ElementKind::Held(net) => format!("{path} keeps {net} from the earlier plan"),
        ElementKind::Reserved(net) => format!("{net} is reserved for {path}"),
    }
}

/// A number of addresses. Large powers of two are written as `2^64`.
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
