//! Diagnostics of the guard.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ipnet::IpNet;
use tf_provider_rs::{Diagnostic, Path};

use crate::check::{Finding, Other, Why};
use crate::claims::{Claim, StoreError};
use crate::ledger::Apart;
use crate::live::{LiveRange, Unread, Usage};
use crate::{GuardConfig, Key, PlannedResource};

/// Maximum number of conflicts listed for one resource; further ones are only counted.
const LISTED: usize = 20;

/// A free range to suggest instead of a conflicting one.
pub(crate) enum Free {
    /// A free range.
    Range(IpNet),
    /// These blocks have no free range.
    None(Vec<IpNet>),
    /// No suggestion, because the range is in no private block and no pool.
    NoSpace,
}

/// One error that lists all conflicts of a resource, if there are any.
pub(crate) fn conflicts(
    resource: &PlannedResource,
    config: &GuardConfig,
    findings: &[Finding],
    free: &dyn Fn(usize) -> Free,
) -> Option<Diagnostic> {
    let first = findings.first()?;
    let number = findings.len();
    let summary = if number == 1 {
        format!("Address conflict in {}", resource.key)
    } else {
        format!("{number} address conflicts in {}", resource.key)
    };
    let mut detail = list(resource, config, findings, Some(free));
    if let Some(hint) = findings.iter().find_map(|finding| hint(finding.why)) {
        detail.push('\n');
        detail.push_str(hint);
    }
    Some(Diagnostic::error(summary, detail).at(path(resource, first)))
}

/// The conflicts of a resource that another process of the run has planned with what this one has read.
pub(crate) fn conflicts_elsewhere(
    resource: &PlannedResource,
    config: &GuardConfig,
    findings: &[Finding],
) -> Option<Diagnostic> {
    // The attribute is one of another resource than the one that is being planned here.
    conflicts(resource, config, findings, &|_| Free::NoSpace).map(|found| Diagnostic { path: None, ..found })
}

/// One warning that lists all suspicious overlaps, if there are any.
pub(crate) fn suspicions(
    resource: &PlannedResource,
    config: &GuardConfig,
    findings: &[Finding],
) -> Option<Diagnostic> {
    let first = findings.first()?;
    let all = |why| findings.iter().all(|finding| finding.why == why);
    let what = if all(Why::ClaimedElsewhere) {
        "Claims of this owner overlap"
    } else if all(Why::Pointed) {
        "Live routes or prefix lists overlap"
    } else {
        "Live networks overlap"
    };
    let summary = format!("{what} {}", resource.key);
    let mut detail = list(resource, config, findings, None);
    if findings.iter().any(|finding| finding.why == Why::ClaimedElsewhere) {
        detail.push_str(
            "\nThis network had the range before, so the plan continues. Change the range of one of the two.",
        );
    }
    if findings.iter().any(|finding| finding.why == Why::LeftOver) {
        detail.push_str(
            "\nA network with the tags of this owner that this run does not manage is either left over from an \
             interrupted apply or about to be destroyed. Delete it if it is not in use.",
        );
    }
    if findings.iter().any(|finding| matches!(finding.why, Why::Pointed | Why::Behind)) {
        detail.push_str(
            "\nIf it is meant for this network, ignore the warning. Otherwise, choose another range: a network \
             elsewhere may use these addresses.",
        );
    }
    if findings.iter().any(|finding| finding.why == Why::Adopted) {
        detail.push_str(
            "\nIf the reservation is meant for exactly this network, ignore the warning. Otherwise, choose another \
             range.",
        );
    }
    Some(Diagnostic::warning(summary, detail).at(path(resource, first)))
}

/// The processes of this run cannot compare what they plan.
pub(crate) fn apart(why: &Apart, config: &GuardConfig) -> Diagnostic {
    let instead = match config.claims {
        Some(_) => {
            "Instead, this plan is compared with the claims, which other provider configurations make when they plan. \
             Of two that plan at the same time, the second may be refused only during the apply."
        }
        None => {
            "Overlaps with resources of other provider configurations are not reported. Set `claims` in the provider \
             block, so that they are compared."
        }
    };
    Diagnostic::warning(
        "Provider configurations are not compared with each other",
        format!(
            "Terraform starts a process for each provider configuration (`alias`), and this one cannot share its \
             ranges with the others: {why}.\n{instead} If there is only one provider configuration, ignore this \
             warning.",
        ),
    )
}

/// Live ranges of one sort that could not be read.
pub(crate) fn unread(unread: &Unread) -> Diagnostic {
    let Unread { what, scope, permissions, reason, setting } = unread;
    let permit = match permissions {
        [] => String::new(),
        [one] => format!(" Allow {one} for the identity that runs Terraform."),
        [init @ .., last] => {
            format!(" Allow {} and {last} for the identity that runs Terraform.", init.join(", "))
        }
    };
    let instead =
        setting.map(|setting| format!(" To plan without them, change {setting}.")).unwrap_or_default();
    Diagnostic::warning(
        format!("Could not read {what} of {scope}"),
        format!(
            "{reason}\nPlanned ranges are compared only with those that were read before the error, so an overlap with another one \
             is not reported.{permit}{instead}"
        ),
    )
}

/// Two resources of one type with one name.
pub(crate) fn name_used_twice(earlier: &PlannedResource, later: &PlannedResource) -> Diagnostic {
    let what = |of: &PlannedResource| {
        let nets = nets(&of.ranges.iter().map(|range| range.net).collect::<Vec<_>>());
        match &of.id {
            Some(id) if nets.is_empty() => id.clone(),
            Some(id) => format!("{id} with {nets}"),
            None if nets.is_empty() => "a new resource without ranges".to_owned(),
            None => format!("a new resource with {nets}"),
        }
    };
    Diagnostic::error(
        format!("Name {:?} is used by two {} resources", later.key.name, later.key.kind),
        format!(
            "One is {}, the other is {}. Objects are identified by type and name, so names must be unique within a \
             fabric and owner.\nChange the `name` of one of them.",
            what(earlier),
            what(later)
        ),
    )
    .at(Path::of("name"))
}

/// The error for a claim that conflicts with the claims of other owners.
pub(crate) fn claim_refused(key: &Key, taken: &[Claim], mine: &[IpNet], owner: &str) -> Diagnostic {
    let mut detail = format!("{key} (owner {owner:?}) cannot claim {}:\n", nets(mine));
    for claim in taken.iter().take(LISTED) {
        let _ = writeln!(detail, "  - {} is claimed for {}", claim.net, claimant(claim));
    }
    more(&mut detail, taken.len());
    detail.push_str(
        "The range was claimed after this plan had started. Run the plan again; it suggests a free \
                     range.",
    );
    Diagnostic::error("Addresses claimed by another owner", detail)
}

/// The error for a claims document that cannot be read or changed.
pub(crate) fn store_failed(error: &StoreError) -> Diagnostic {
    let hint = match error {
        StoreError::Read { .. } | StoreError::Write { .. } => {
            "Check `claims` in the provider block and the permission to read and write that location."
        }
        StoreError::Corrupt { .. } => {
            "Repair the document or restore an earlier version. Do not delete it, because it contains the claims of \
             all owners."
        }
        StoreError::Version { .. } => "Use a newer version of the provider.",
        StoreError::OtherFabric { .. } => {
            "Each fabric needs its own claims document. Change `fabric` or `claims` in the provider block."
        }
        StoreError::TooLarge { .. } => "Remove claims of objects that do not exist any more.",
        StoreError::Contended { .. } => "Apply again.",
    };
    Diagnostic::error("Claims document is not available", format!("{error}.\n{hint}"))
}

/// The warning for a plan whose ranges could not be claimed.
pub(crate) fn plan_not_claimed(error: &StoreError) -> Diagnostic {
    Diagnostic::warning(
        "Planned ranges are not claimed",
        format!(
            "{error}.\nThe apply claims them instead, so an owner who plans the same ranges in the meantime is not \
             refused. To claim them during the plan, permit it to write the claims document."
        ),
    )
}

fn path(resource: &PlannedResource, finding: &Finding) -> Path {
    resource.ranges.get(finding.range).map(|range| range.path.clone()).unwrap_or_default()
}

/// Lists every conflict below its range.
fn list(
    resource: &PlannedResource,
    config: &GuardConfig,
    findings: &[Finding],
    free: Option<&dyn Fn(usize) -> Free>,
) -> String {
    let mut by_range: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().take(LISTED) {
        by_range.entry(finding.range).or_default().push(finding);
    }
    let mut text = String::new();
    for (position, findings) in by_range {
        let Some(range) = resource.ranges.get(position) else { continue };
        let here = &resource.key;
        let elsewhere = findings.iter().any(|finding| is_elsewhere(&finding.other, here));
        let _ = writeln!(text, "{} = {} of {}:", range.path, range.net, who(here, config, elsewhere));
        for finding in findings {
            let _ = writeln!(text, "  - {}", sentence(here, &range.net, finding, config));
        }
        let prefix = range.net.prefix_len();
        match free.map(|free| free(position)) {
            Some(Free::Range(net)) => {
                let _ = writeln!(text, "  Nearest free /{prefix}: {net}");
            }
            Some(Free::None(blocks)) => {
                let _ = writeln!(text, "  No /{prefix} is free in {}.", nets(&blocks));
            }
            Some(Free::NoSpace) | None => {}
        }
    }
    more(&mut text, findings.len());
    text.truncate(text.trim_end().len());
    text
}

fn more(text: &mut String, number: usize) {
    if number > LISTED {
        let _ = writeln!(text, "... and {} more.", number - LISTED);
    }
}

/// A resource with its owner, and its location if that matters.
fn who(key: &Key, config: &GuardConfig, located: bool) -> String {
    let owner = key.owner.as_ref().unwrap_or(&config.owner);
    let owner = (!owner.is_empty()).then(|| format!("owner {owner:?}"));
    let location = (located && !key.location.is_empty()).then(|| key.location.to_string());
    let more: Vec<String> = owner.into_iter().chain(location).collect();
    if more.is_empty() { key.to_string() } else { format!("{key} ({})", more.join("; ")) }
}

/// The resource of a claim, with its owner, and its location if that is known.
fn claimant(claim: &Claim) -> String {
    let location = claim.location();
    let location = if location.is_empty() { String::new() } else { format!("; {location}") };
    let state = if claim.planned_until.is_some() { "planned, not applied" } else { "claims" };
    format!("{} {:?} (owner {:?}, {state}{location})", claim.kind, claim.name, claim.owner)
}

/// Whether the other resource of a conflict is in another account, project or region.
fn is_elsewhere(other: &Other, here: &Key) -> bool {
    let location = match other {
        Other::Planned { key, .. } => key.location.clone(),
        Other::Claim(claim) => claim.location(),
        Other::Live(_) | Other::Networks(_) => return false,
    };
    !location.is_empty() && !here.location.is_empty() && location != here.location
}

fn sentence(here: &Key, net: &IpNet, finding: &Finding, config: &GuardConfig) -> String {
    let why = reason(finding.why);
    match &finding.other {
        Other::Planned { key, id, net: theirs, path } => {
            let id = id.as_ref().map(|id| format!(", {id}")).unwrap_or_default();
            let who = who(key, config, is_elsewhere(&finding.other, here));
            format!("{} {path} = {theirs} of {who}{id}: {why}", relation(net, theirs))
        }
        Other::Live(live) if live.usage != Usage::Network => {
            format!("{} {} of {}: {why}", relation(net, &live.net), live.net, pointer(live))
        }
        Other::Live(live) => {
            let name = if live.name.is_empty() { String::new() } else { format!(" {:?}", live.name) };
            let owner = match (&live.owner, &live.fabric) {
                (Some(owner), _) => format!("owner {owner:?}"),
                (None, Some(fabric)) => format!("fabric {fabric:?}, no owner tag"),
                (None, None) => "no warren tags".to_owned(),
            };
            let theirs = live.net;
            let of = format!("live {}{name} ({owner}; {})", live.id, live.location);
            format!("{} {theirs} of {of}: {why}", relation(net, &theirs))
        }
        Other::Claim(claim) => {
            let theirs = claim.net;
            format!("{} {theirs} of {}: {why}", relation(net, &theirs), claimant(claim))
        }
        Other::Networks(networks) => {
            let list: Vec<String> = networks
                .iter()
                .map(|(name, blocks)| match blocks.is_empty() {
                    true => name.clone(),
                    false => format!("{name} ({})", nets(blocks)),
                })
                .collect();
            format!("is outside {}: {why}", list.join(", "))
        }
    }
}

/// What leads to a network, or is set aside in one.
fn pointer(live: &LiveRange) -> String {
    let LiveRange { usage, kind, id, name, location, parent, .. } = live;
    let name = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let to = match (usage, parent) {
        (_, None) => String::new(),
        (Usage::Allocated, Some(network)) => format!(" in {network}"),
        (_, Some(network)) => format!(" to {network}"),
    };
    format!("live {kind} {id}{name}{to} ({location})")
}

fn relation(net: &IpNet, theirs: &IpNet) -> &'static str {
    if net == theirs {
        "equals"
    } else if net.contains(theirs) {
        "contains"
    } else {
        "is inside"
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::BothOccupy => "networks of a fabric must not overlap",
        Why::BothReserve => "address plans must not reserve the same addresses",
        Why::BeyondReservation => "the network extends beyond the range that the address plan reserves",
        Why::Excluded => "the address plan excludes these addresses for all networks",
        Why::Siblings => "subnets must not overlap",
        Why::OtherNetwork => "the subnet belongs to another network",
        Why::Untagged => "it already exists and has no tag of this owner",
        Why::ForeignLive => "it belongs to another owner",
        Why::LeftOver => "it has the tags of this owner but is not part of this run",
        Why::Adopted => "a network with exactly this range exists",
        Why::Allocated => "the addresses are set aside for other uses",
        Why::Behind => "a network that the provider cannot read has the addresses",
        Why::Pointed => "a network elsewhere may have the addresses",
        Why::Claimed => "another owner has claimed the range",
        Why::ClaimedElsewhere => "this owner has claimed the range in another location",
        Why::OutsideNetwork | Why::OutsideTold => "a subnet must be inside its network",
        Why::OutsideCandidates => {
            "the subnet's network is known only after apply, and no network that this run creates contains the range"
        }
    }
}

fn hint(why: Why) -> Option<&'static str> {
    match why {
        Why::OutsideCandidates => Some(
            "If the network is managed elsewhere, set the subnet's `vpc_cidr_block` to the range of the network.",
        ),
        Why::OutsideTold => Some(
            "If this run adds another range to the network, set the subnet's `vpc_cidr_block` to that range.",
        ),
        Why::ClaimedElsewhere => Some(
            "If another state of this owner has the network, choose another range. If this run moves or destroys it, apply \
             that change first (`terraform apply -target=ADDRESS`).",
        ),
        _ => None,
    }
}

/// Formats ranges for a message.
fn nets(list: &[IpNet]) -> String {
    let mut text: Vec<String> = list.iter().take(LISTED).map(ToString::to_string).collect();
    if list.len() > LISTED {
        text.push(format!("{} more", list.len() - LISTED));
    }
    text.join(", ")
}
