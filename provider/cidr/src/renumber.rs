//! The smallest renumbering of an earlier plan that makes room.

use crate::{Bound, ElementKind, Infeasible, Plan, RenumberReason, Renumbering, Request, solve_until};
use std::collections::BTreeSet;

/// Maximum number of sets of conflicting demands that are examined.
const ROUNDS: usize = 200;

/// Like [`solve_until`], but ranges of the earlier plan may move if nothing fits otherwise: as few as possible, with the
/// reason [`RenumberReason::MadeRoom`].
///
/// Every reason why nothing fits is a set of demands, of which at least one range of the earlier plan must move. The smallest
/// set with a member of each of these sets is tried next.
///
/// # Errors
/// Those of [`crate::solve`], if no renumbering helps or the smallest one is not found within the bound.
pub fn solve_renumbering(
    request: &Request,
    bound: Bound,
    late: &dyn Fn() -> bool,
) -> Result<Plan, Infeasible> {
    let mut cores: Vec<BTreeSet<String>> = Vec::new();
    let mut released: BTreeSet<String> = BTreeSet::new();
    let mut first = None;
    for _ in 0..ROUNDS {
        let mut freed = request.clone();
        freed.previous.retain(|path, _| !released.contains(path));
        match solve_until(&freed, bound, late) {
            Ok(plan) => return Ok(moved(plan, request, &released)),
            Err(Infeasible::NoRoom(story)) => {
                let held =
                    story.elements.iter().filter(|element| matches!(element.kind, ElementKind::Held(_)));
                let core: BTreeSet<String> = held.map(|element| element.path.clone()).collect();
                let hopeless = core.is_empty();
                first.get_or_insert(Infeasible::NoRoom(story));
                if hopeless {
                    break;
                }
                cores.push(core);
            }
            Err(other) => return Err(first.unwrap_or(other)),
        }
        if late() {
            break;
        }
        released = hitting(&cores);
    }
    // At least one round ended without room.
    Err(first.unwrap_or(Infeasible::Refused(Vec::new())))
}

/// The plan with the ranges that moved to make room.
fn moved(mut plan: Plan, request: &Request, released: &BTreeSet<String>) -> Plan {
    for path in released {
        if let (Some(from), Some(to)) = (request.previous.get(path), plan.networks.get(path))
            && from != to
        {
            let (path, from, to) = (path.clone(), *from, *to);
            plan.renumbered.push(Renumbering { path, from, to, why: RenumberReason::MadeRoom });
        }
    }
    plan.renumbered.sort_by(|a, b| a.path.cmp(&b.path));
    plan
}

/// The smallest set with a member of each of the sets, the first one in order.
fn hitting(cores: &[BTreeSet<String>]) -> BTreeSet<String> {
    (1..=cores.len())
        .find_map(|size| {
            let mut chosen = BTreeSet::new();
            extend(cores, size, &mut chosen).then_some(chosen)
        })
        .unwrap_or_default()
}

/// Adds up to `size` members, so that each set has one.
fn extend(cores: &[BTreeSet<String>], size: usize, chosen: &mut BTreeSet<String>) -> bool {
    let Some(open) = cores.iter().find(|core| core.is_disjoint(chosen)) else { return true };
    if size == 0 {
        return false;
    }
    for path in open {
        chosen.insert(path.clone());
        if extend(cores, size - 1, chosen) {
            return true;
        }
        chosen.remove(path);
    }
    false
}
