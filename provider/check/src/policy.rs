//! Checks the assertions of policy files against the network as it is after the apply.

use crate::{Finding, Report, Rule, Screen, Severity, Side};
use warren_model::policy::{Assertion, Expect, Selector, matches};
use warren_model::reach::{Answer, Lists, Place, Way};
use warren_model::topology::{Key, Plan, Topology};

/// Maximum number of violations to list for one assertion; the rest are counted.
const MOST: usize = 10;

/// Adds a finding that the screen keeps to the report for every violated assertion.
pub fn hold(report: &mut Report, assertions: &[Assertion], plans: &[Plan], screen: &Screen) {
    let mut found = Vec::new();
    for plan in plans {
        found.extend(violations(assertions, plan).into_iter().map(|(finding, _)| finding));
    }
    found.sort();
    found.dedup();
    screen.start();
    found.retain(|finding| screen.keeps(finding));
    let count = |severity| found.iter().filter(|finding| finding.severity == severity).count();
    report.errors += count(Severity::Error);
    report.warnings += count(Severity::Warning);
    report.findings.append(&mut found);
    report.findings.sort();
}

/// The objects of a path and what happens at each. Empty if packets do not arrive.
type Hops = Vec<(Key, String)>;

/// A finding for every violated assertion, with the path if packets take it.
pub(crate) fn violations(assertions: &[Assertion], plan: &Plan) -> Vec<(Finding, Hops)> {
    let lists = Lists::new(&plan.after);
    assertions.iter().flat_map(|assertion| ask(&lists, &plan.after, &plan.file, assertion)).collect()
}

fn ask(lists: &Lists<'_>, all: &Topology, file: &str, assertion: &Assertion) -> Vec<(Finding, Hops)> {
    let mut found = Vec::new();
    let mut places = Vec::new();
    for (word, selectors) in [("from", &assertion.from), ("to", &assertion.to)] {
        let mut matching = Vec::new();
        for selector in selectors {
            let some = select(all, selector);
            if some.is_empty() && !assertion.allow_empty {
                let message = format!("{:?}: `{word}` matches nothing in {file}", assertion.name);
                let hint = "correct the name, or set `allow_empty: true`";
                let finding = finding(assertion, Severity::Error, message, String::new(), Some(hint));
                found.push((finding, Vec::new()));
            }
            matching.extend(some);
        }
        matching.sort();
        matching.dedup();
        places.push(matching);
    }
    let mut more = 0;
    for from in &places[0] {
        // A group stands for several peers, so it is a destination of its own.
        for to in places[1].iter().filter(|to| *to != from || matches!(to, Place::Peers { .. })) {
            let answer = lists.ask(from, to, assertion.protocol);
            let Some((severity, word)) = verdict(assertion.expect, &answer) else { continue };
            if found.len() >= MOST {
                more += 1;
                continue;
            }
            let message = format!("{:?}: {} {word} {}", assertion.name, name(all, from), name(all, to));
            let mut detail: Vec<String> =
                answer.hops.iter().enumerate().map(|(at, hop)| format!("{}. {}", at + 1, hop.text)).collect();
            detail.extend(answer.why.iter().map(|why| format!("stops here: {why}")));
            let hint = answer.hint.as_deref().filter(|_| assertion.expect != Expect::Unreachable);
            let finding = finding(assertion, severity, message, detail.join("\n"), hint);
            found.push((finding, if answer.reached { hops(from, to, answer) } else { Vec::new() }));
        }
    }
    if more > 0 {
        let message = format!("{:?}: {more} more paths violate this assertion", assertion.name);
        found.push((finding(assertion, Severity::Error, message, String::new(), None), Vec::new()));
    }
    found
}

/// The path with its two ends.
fn hops(from: &Place, to: &Place, answer: Answer) -> Hops {
    let end = |place: &Place| {
        let key = match place {
            Place::Internet => "internet".to_owned(),
            Place::Service(_) | Place::Name(_) => "services".to_owned(),
            Place::Subnet(key) | Place::Host(key) => key.clone(),
            Place::Peers { fabric, group } => format!("overlay:{fabric}/{group}"),
        };
        (key, String::new())
    };
    let between = answer.hops.into_iter().map(|hop| (hop.key, hop.text));
    std::iter::once(end(from)).chain(between).chain([end(to)]).collect()
}

/// The violation in an answer, if any. Values known only after apply prove neither outcome.
fn verdict(expect: Expect, answer: &Answer) -> Option<(Severity, &'static str)> {
    let unsure = answer.unsure();
    match (expect, answer.reached) {
        (Expect::Unreachable, true) => Some((Severity::Error, "reaches")),
        (Expect::Unreachable, false) if unsure => Some((Severity::Warning, "may reach")),
        (Expect::Unreachable, false) => None,
        (Expect::Reachable, true) => None,
        (Expect::Endpoint, true) if answer.way == Way::Endpoint => None,
        (Expect::Endpoint, true) => Some((Severity::Error, "goes over the internet to")),
        (_, false) if unsure => Some((Severity::Warning, "may not reach")),
        (_, false) => Some((Severity::Error, "does not reach")),
    }
}

fn finding(
    assertion: &Assertion,
    severity: Severity,
    message: String,
    detail: String,
    hint: Option<&str>,
) -> Finding {
    let side =
        Side { name: assertion.name.clone(), owner: String::new(), net: None, site: assertion.site.clone() };
    Finding {
        severity,
        rule: Rule::Policy,
        sides: vec![side],
        message,
        detail,
        hint: hint.map(str::to_owned),
    }
}

fn name(all: &Topology, place: &Place) -> String {
    match place {
        Place::Internet => "the internet".to_owned(),
        Place::Service(name) | Place::Name(name) => name.clone(),
        Place::Host(key) => all.name(key).to_owned(),
        Place::Peers { group, .. } => format!("group {group}"),
        Place::Subnet(key) => {
            let network = all.subnets.get(key).and_then(|subnet| subnet.network.as_deref());
            match network {
                Some(network) => format!("{} of {}", all.name(key), all.name(network)),
                None => all.name(key).to_owned(),
            }
        }
    }
}

fn select(all: &Topology, selector: &Selector) -> Vec<Place> {
    let is = |pattern: &str, head: &warren_model::topology::Head| {
        matches(pattern, &head.name) || matches(pattern, &head.key)
    };
    let subnets = |by_network: Option<&str>, by_name: Option<&str>| -> Vec<Place> {
        let meant = |subnet: &warren_model::topology::Subnet| {
            let network = subnet.network.as_ref().and_then(|key| all.networks.get(key));
            by_name.is_some_and(|pattern| is(pattern, &subnet.head))
                || by_network.is_some_and(|pattern| network.is_some_and(|network| is(pattern, &network.head)))
        };
        let found = all.subnets.values().filter(|subnet| meant(subnet));
        found.map(|subnet| Place::Subnet(subnet.head.key.clone())).collect()
    };
    match selector {
        Selector::Internet => vec![Place::Internet],
        Selector::Service(service) => vec![Place::Service(service.clone())],
        Selector::Name(name) => vec![Place::Name(name.clone())],
        Selector::Network(pattern) => subnets(Some(pattern), None),
        Selector::Subnet(pattern) => subnets(None, Some(pattern)),
        Selector::Any(pattern) => subnets(Some(pattern), Some(pattern)),
        Selector::Group(pattern) => groups(all, pattern),
        Selector::Host(pattern) => {
            let found = all.hosts.values().filter(|host| is(pattern, &host.head));
            found.map(|host| Place::Host(host.head.key.clone())).collect()
        }
    }
}

/// Groups of peers. An unknown gateway configuration may contain a group with that name, so the name itself is used.
fn groups(all: &Topology, pattern: &str) -> Vec<Place> {
    let mut found = Vec::new();
    for overlay in all.overlays() {
        let mut of = |group: &str| {
            found.push(Place::Peers { fabric: overlay.fabric.to_owned(), group: group.to_owned() });
        };
        for (group, _) in overlay.groups() {
            let whole = format!("{}/{}", overlay.fabric, group.name);
            if matches(pattern, &group.name) || matches(pattern, &whole) {
                of(&group.name);
            }
        }
        if overlay.configs.iter().any(|config| config.unread.is_some()) {
            of(pattern.rsplit('/').next().unwrap_or(pattern));
        }
    }
    found.sort();
    found.dedup();
    found
}
