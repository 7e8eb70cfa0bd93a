//! Solves address plans and reports why one is infeasible.

use crate::finding::Unlisted;
use crate::{Finding, Report, Rule, Severity, Side};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use warren_cidr::{
    Assignment, Bound, Cloud, Infeasible, IpNet, Plan, Problem, SubnetRequest, Want, messages, solve,
    solve_renumbering, solve_until,
};
use warren_model::{Block, Excluded, Model, Reservation, ReservationKind, Site};
use warren_planfile::AddressPlan;

/// How an address plan is solved.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Ranges of an earlier plan, which are kept where possible.
    pub previous: &'a Assignment,
    /// Whether as few of them as possible may move if nothing fits otherwise.
    pub renumber: bool,
    /// Whether the time is up, if there is a time limit.
    pub late: Option<&'a dyn Fn() -> bool>,
}

/// Solves one address plan.
///
/// # Errors
/// A report with the reasons; up to `limit` findings are listed.
pub fn solve_file(
    plan: &AddressPlan,
    wish: &Wish<'_>,
    limit: Option<NonZeroUsize>,
) -> Result<Plan, Box<Report>> {
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    let mut found: Vec<Finding> = plan
        .defects
        .iter()
        .map(|defect| crate::finding::defect(&defect.owner, &defect.site, &defect.error))
        .collect();
    let mut request = plan.request.clone();
    request.previous = wish.previous.clone();
    let mut unlisted = 0;
    let mut bound = Bound { problems: limit, ..Bound::default() };
    // With a time limit, the number of attempts has none.
    if wish.late.is_some() {
        bound.steps = u64::MAX;
    }
    let late = wish.late.unwrap_or(&|| false);
    let solved = match wish.renumber {
        true => solve_renumbering(&request, bound, late),
        false => solve_until(&request, bound, late),
    };
    match solved {
        Ok(solved) if found.is_empty() => return Ok(solved),
        Ok(_) => {}
        Err(infeasible) => {
            let told = tell(plan, &infeasible);
            found.extend(told.findings);
            unlisted = told.unlisted;
        }
    }
    let unlisted = Unlisted { errors: unlisted, warnings: 0 };
    Err(Box::new(Report::new(found, unlisted, limit, 1, 0, Vec::new())))
}

/// The reasons why a plan is infeasible.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) findings: Vec<Finding>,
    /// Number of errors that the solver counted but did not list.
    pub(crate) unlisted: usize,
}

/// Adds the entries of the plan to the model. Returns the reasons if the plan is infeasible.
pub(crate) fn add(plan: &AddressPlan, model: &mut Model, limit: usize) -> Told {
    for (name, nets) in &plan.request.reserved {
        for net in nets {
            let site = site(plan, &format!("reserved.{name}"));
            let block = Block { net: *net, site };
            let (name, owner) = (name.clone(), plan.owner.clone());
            model.excluded.push(Excluded { name, owner, network: None, block });
        }
    }
    model.defects.extend(plan.defects.iter().cloned());
    let (nets, found) = match solve(&plan.request, Bound { problems: limit, ..Bound::default() }) {
        Ok(solved) => (solved.networks, Told::default()),
        Err(infeasible) => (pinned(plan), tell(plan, &infeasible)),
    };
    let refused = !found.findings.is_empty();
    for (path, net) in nets {
        let network = path.split(warren_cidr::SEPARATOR).next().unwrap_or_default();
        let cloud = plan.request.networks.get(network).and_then(|network| network.cloud);
        let parent = path.rsplit_once(warren_cidr::SEPARATOR).map(|(parent, _)| id(plan, parent));
        model.reservations.push(Reservation {
            id: id(plan, &path),
            kind: if parent.is_some() { ReservationKind::Subnet } else { ReservationKind::Network },
            parent,
            owner: plan.owner.clone(),
            cloud,
            occupied: false,
            block: Block { net, site: site(plan, &path) },
            refused,
            name: path,
        });
    }
    found
}

fn id(plan: &AddressPlan, path: &str) -> String {
    format!("{}!{path}", plan.file)
}

fn site(plan: &AddressPlan, path: &str) -> Site {
    plan.sites.get(path).cloned().unwrap_or_else(|| Site {
        file: plan.file.clone(),
        path: path.to_owned(),
        at: None,
    })
}

/// The ranges that the request pins.
fn pinned(plan: &AddressPlan) -> Assignment {
    fn inner(prefix: &str, subnets: &BTreeMap<String, SubnetRequest>, found: &mut Assignment) {
        for (key, subnet) in subnets {
            let path = format!("{prefix}{}{key}", warren_cidr::SEPARATOR);
            inner(&path, &subnet.subnets, found);
            if let Want::Pinned(net) = subnet.want {
                found.insert(path, net);
            }
        }
    }
    let mut found = Assignment::new();
    for (key, network) in &plan.request.networks {
        inner(key, &network.subnets, &mut found);
        if let Want::Pinned(net) = network.want {
            found.insert(key.clone(), net);
        }
    }
    found
}

fn tell(plan: &AddressPlan, infeasible: &Infeasible) -> Told {
    let one = |part: &Infeasible, rule: Rule| {
        messages(part)
            .into_iter()
            .map(|message| Finding {
                severity: Severity::Error,
                rule,
                sides: vec![side(plan, &message.path, None)],
                message: message.summary,
                detail: message.detail,
                hint: message.hint,
            })
            .collect::<Vec<_>>()
    };
    let mut unlisted = 0;
    let findings = match infeasible {
        Infeasible::Refused(problems) => problems
            .iter()
            .flat_map(|problem| {
                if let Problem::More { count } = problem {
                    unlisted += usize::try_from(*count).unwrap_or(usize::MAX);
                    return Vec::new();
                }
                let mut found = one(&Infeasible::Refused(vec![problem.clone()]), rule(problem));
                if let (Problem::Overlap { ranges, .. }, Some(first)) = (problem, found.first_mut()) {
                    first.sides = ranges
                        .iter()
                        .rev()
                        .map(|range| side(plan, &range.label.path, Some(range.net)))
                        .collect();
                }
                found
            })
            .collect(),
        Infeasible::NoRoom(story) => {
            let mut found = one(infeasible, Rule::Infeasible);
            for finding in found.iter_mut().filter(|_| story.fits_renumbered) {
                let other =
                    "move as few ranges of the earlier plan as possible with `warren plan --allow-renumber`";
                let own = finding.hint.take().map(|hint| format!("{hint}; or "));
                finding.hint = Some(format!("{}{other}", own.unwrap_or_default()));
            }
            found
        }
        Infeasible::BoundHit(_) => one(infeasible, Rule::Undecided),
    };
    Told { findings, unlisted }
}

fn side(plan: &AddressPlan, path: &str, net: Option<IpNet>) -> Side {
    Side { name: path.to_owned(), owner: plan.owner.clone(), net, site: site(plan, path) }
}

fn rule(problem: &Problem) -> Rule {
    match problem {
        Problem::HostBits { .. } => Rule::HostBits,
        Problem::PinnedOutside { .. } => Rule::OutsideParent,
        Problem::Overlap { .. } => Rule::Overlap,
        Problem::Rule { finding, .. } => cloud_rule(finding.rule),
        Problem::BadSize { .. } => Rule::Size,
        _ => Rule::BadRequest,
    }
}

pub(crate) fn cloud_rule(rule: warren_cidr::Rule) -> Rule {
    match rule {
        warren_cidr::Rule::Size => Rule::Size,
        warren_cidr::Rule::Forbidden => Rule::Forbidden,
        warren_cidr::Rule::UsedByService => Rule::ServiceBlock,
        warren_cidr::Rule::Secondary => Rule::Secondary,
        warren_cidr::Rule::Peering => Rule::Peering,
    }
}

/// The rules of the cloud for one range.
pub(crate) fn cloud_findings(cloud: Option<Cloud>, net: &IpNet, subnet: bool) -> Vec<warren_cidr::Finding> {
    cloud.map_or_else(
        Vec::new,
        |cloud| if subnet { cloud.check_subnet(net) } else { cloud.check_network(net) },
    )
}
