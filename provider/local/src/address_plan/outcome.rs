//! Converts the solver's result to attributes and diagnostics.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Number, Path};
use warren_cidr::{
    Assignment, Infeasible, Plan, Problem, RenumberReason, Renumbering, Request, SEPARATOR, Want, messages,
    parse_cidr,
};

use super::model::{PlannedNetwork, PlannedSubnet, State};

/// Acknowledges everything.
const ALL: &str = "*";

/// Maximum number of moved ranges listed for a network.
const LISTED: usize = 20;

/// Fills the computed attributes.
pub(super) fn fill(state: &mut State, plan: &Plan) {
    let text = |net: &ipnet::IpNet| Attr::Known(net.to_string());
    let usable = |path: &str| {
        let hosts = plan.usable_hosts.get(path).and_then(|hosts| Number::parse(&hosts.to_string()));
        Attr::from(hosts)
    };
    state.cidrs = Attr::Known(plan.networks.iter().map(|(path, net)| (path.clone(), text(net))).collect());
    let mut networks: BTreeMap<String, PlannedNetwork> = BTreeMap::new();
    for (path, net) in &plan.networks {
        match path.split_once(SEPARATOR) {
            None => {
                let network = networks.entry(path.clone()).or_default();
                (network.cidr, network.usable_hosts) = (text(net), usable(path));
            }
            Some((key, subnet)) => {
                let network = networks.entry(key.to_owned()).or_default();
                let planned = PlannedSubnet { cidr: text(net), usable_hosts: usable(path) };
                let mut subnets = std::mem::take(&mut network.subnets).into_known().unwrap_or_default();
                subnets.insert(subnet.to_owned(), Attr::Known(planned));
                network.subnets = Attr::Known(subnets);
            }
        }
    }
    for network in networks.values_mut() {
        if network.subnets.is_null() {
            network.subnets = Attr::Known(BTreeMap::new());
        }
    }
    state.network =
        Attr::Known(networks.into_iter().map(|(key, network)| (key, Attr::Known(network))).collect());
    state.free = Attr::Known(
        plan.free
            .iter()
            .map(|(pool, blocks)| (pool.clone(), Attr::Known(blocks.iter().map(text).collect())))
            .collect(),
    );
}

/// Leaves the computed attributes unknown.
pub(super) fn leave_open(state: &mut State) {
    state.cidrs = Attr::Unknown;
    state.network = Attr::Unknown;
    state.free = Attr::Unknown;
}

/// The ranges that a state holds, by path.
pub(super) fn assignment(state: &State) -> Assignment {
    let cidrs = state.cidrs.known().into_iter().flatten();
    cidrs.filter_map(|(path, net)| Some((path.clone(), parse_cidr(net.known()?).ok()?))).collect()
}

/// The errors of an infeasible request, each at its attribute.
pub(super) fn infeasible(request: &Request, infeasible: &Infeasible) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for (position, message) in messages(infeasible).into_iter().enumerate() {
        let about_pool = matches!(
            infeasible,
            Infeasible::Refused(problems)
                if matches!(problems.get(position), Some(Problem::UnknownPool { .. } | Problem::NoPool { .. }))
        );
        let mut detail = message.detail.trim_end().to_owned();
        if !detail.is_empty() && !detail.ends_with('.') {
            detail.push('.');
        }
        if let Some(hint) = message.hint {
            detail.push_str(&format!("\nHint: {hint}."));
        }
        let path = match request.networks.get(&message.path) {
            Some(network) if about_pool => {
                let name = if network.pools.len() > 1 { "pools" } else { "pool" };
                Path::of("networks").key(&message.path).attribute(name)
            }
            _ => attribute(request, &message.path),
        };
        diagnostics.error_at(path, message.summary, detail);
    }
    diagnostics
}

/// Warnings from cloud rules.
pub(super) fn warnings(request: &Request, plan: &Plan) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for warning in &plan.warnings {
        let finding = &warning.finding;
        let diagnostic = Diagnostic::warning(
            format!("Range {} is discouraged", finding.net),
            format!("{}.", finding.message.trim_end_matches('.')),
        );
        diagnostics.push(diagnostic.at(attribute(request, &warning.path)));
    }
    diagnostics
}

/// Ranges of the state that would move: an error for each network with unacknowledged moves, and one warning for all
/// acknowledged moves.
pub(super) fn renumbering(plan: &Plan, acknowledged: &[String]) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let mut refused: BTreeMap<&str, Vec<&Renumbering>> = BTreeMap::new();
    let mut allowed: Vec<&Renumbering> = Vec::new();
    for moved in &plan.renumbered {
        if covers(acknowledged, &moved.path) {
            allowed.push(moved);
        } else {
            let network = moved.path.split(SEPARATOR).next().unwrap_or(&moved.path);
            refused.entry(network).or_default().push(moved);
        }
    }
    for (network, moves) in refused {
        // The network's own path covers its subnets.
        let paths: Vec<String> = match moves.iter().find(|moved| moved.path == network) {
            Some(moved) => vec![format!("{:?}", moved.path)],
            None => moves.iter().map(|moved| format!("{:?}", moved.path)).collect(),
        };
        diagnostics.error_at(
            Path::of("networks").key(network),
            format!("Network {network} would be renumbered"),
            format!(
                "{}Resources in these ranges would have to be replaced.\nUndo the change that moves the ranges, or \
                 allow it with `acknowledge_renumbering = [{}]`.",
                list(&moves),
                paths.join(", ")
            ),
        );
    }
    if !allowed.is_empty() {
        let warning = Diagnostic::warning(
            "Acknowledged ranges will be renumbered",
            format!("{}`acknowledge_renumbering` allows this.", list(&allowed)),
        );
        diagnostics.push(warning.at(Path::of("acknowledge_renumbering")));
    }
    diagnostics
}

/// Warnings for acknowledged paths that the plan does not contain, which are probably typos.
pub(super) fn unknown_acknowledgements(plan: &Plan, acknowledged: &[String]) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    for (index, path) in acknowledged.iter().enumerate() {
        if path != ALL && !plan.networks.contains_key(path) {
            let warning = Diagnostic::warning(
                format!("Path {path:?} does not exist in this plan"),
                "Use the path of a network such as `aws`, of a subnet such as `aws/public`, or `*`.",
            );
            diagnostics.push(warning.at(Path::of("acknowledge_renumbering").index(index)));
        }
    }
    diagnostics
}

/// The attribute that defines a network's own range.
pub(super) fn reservation(request: &Request, key: &str) -> Path {
    let path = Path::of("networks").key(key);
    match request.networks.get(key).map(|network| network.want) {
        Some(Want::Pinned(_)) => path.attribute("cidr"),
        _ => path,
    }
}

/// The attribute that defines the range or size of a network or subnet.
pub(super) fn attribute(request: &Request, path: &str) -> Path {
    let (key, subnet) = match path.split_once(SEPARATOR) {
        // The message is about a key that cannot be part of a path.
        Some(_) if request.networks.contains_key(path) => return Path::of("networks").key(path),
        Some((key, subnet)) => (key, Some(subnet)),
        None => (path, None),
    };
    let leaf = |want: Want| match want {
        Want::Pinned(_) => "cidr",
        Want::Prefix(_) => "prefix",
        Want::Hosts(_) => "hosts",
    };
    if let Some(network) = request.networks.get(key) {
        let path = Path::of("networks").key(key);
        return match subnet {
            None => path.attribute(leaf(network.want)),
            Some(subnet) => {
                let path = path.attribute("subnets").key(subnet);
                match network.subnets.get(subnet) {
                    Some(request) => path.attribute(leaf(request.want)),
                    None => path,
                }
            }
        };
    }
    match path.split_once('.') {
        Some((map @ ("pools" | "reserved"), key)) => Path::of(map).key(key),
        _ => Path::of("networks"),
    }
}

fn covers(acknowledged: &[String], path: &str) -> bool {
    let below = |above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATOR))
    };
    acknowledged.iter().any(|entry| entry == ALL || below(entry))
}

fn list(moves: &[&Renumbering]) -> String {
    let mut text = String::new();
    for Renumbering { path, from, to, why } in moves.iter().take(LISTED) {
        text.push_str(&format!("  - {path} moves from {from} to {to}: {}\n", reason(why)));
    }
    if moves.len() > LISTED {
        text.push_str(&format!("  - and {} more\n", moves.len() - LISTED));
    }
    text
}

fn reason(why: &RenumberReason) -> String {
    match why {
        RenumberReason::Pinned => "the configuration sets a fixed range".to_owned(),
        RenumberReason::Resized { in_place: true } => {
            "the configuration requests another size (the ranges overlap)".to_owned()
        }
        RenumberReason::Resized { in_place: false } => "the configuration requests another size".to_owned(),
        RenumberReason::OutsidePools => "its range is no longer inside its pools".to_owned(),
        RenumberReason::Reserved(name) => format!("its range is now reserved for {name}"),
        RenumberReason::Overlaps(path) => format!("its range is now used by {path}"),
        RenumberReason::ParentMoved => "its network moves".to_owned(),
        RenumberReason::MadeRoom => "it makes room for another network".to_owned(),
        RenumberReason::CloudRule(rule) => format!("the cloud rejects its range: {rule}"),
    }
}
