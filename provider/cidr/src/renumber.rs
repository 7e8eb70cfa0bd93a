//! The smallest renumbering of an earlier plan that makes room.

use crate::{Bound, ElementKind, Infeasible, Plan, RenumberReason, Renumbering, Request, solve_until};
use std::collections::BTreeSet;

/// Maximum number of sets of conflicting demands that are examined.
const ROUNDS: usize = 200;

/// Maximum number of partial choices that are tried in a round.
const CHOICES: u32 = 1_000_000;

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
        let Some(chosen) = hitting(&cores) else { break };
        released = chosen;
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

/// The smallest set with a member of each of the sets, the first one in order. `None` if it takes too many choices to find.
fn hitting(cores: &[BTreeSet<String>]) -> Option<BTreeSet<String>> {
    let mut choices = CHOICES;
    for size in 1..=cores.len() {
        let mut chosen = BTreeSet::new();
        if extend(cores, size, &mut chosen, &mut choices) {
            return Some(chosen);
        }
        if choices == 0 {
            break;
        }
    }
    None
}

/// Adds up to `size` members, so that each set has one, in at most `choices` choices.
fn extend(cores: &[BTreeSet<String>], size: usize, chosen: &mut BTreeSet<String>, choices: &mut u32) -> bool {
    let Some(open) = cores.iter().find(|core| core.is_disjoint(chosen)) else { return true };
    if size == 0 {
        return false;
    }
    for path in open {
        if *choices == 0 {
            return false;
        }
        *choices -= 1;
        chosen.insert(path.clone());
        if extend(cores, size - 1, chosen, choices) {
            return true;
        }
        chosen.remove(path);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(count: usize, members: usize) -> Vec<BTreeSet<String>> {
        (0..count).map(|core| (0..members).map(|member| format!("{core}.{member}")).collect()).collect()
    }

    #[test]
    fn the_smallest_choice_is_found_or_given_up() {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let shared = [named(&["a", "b"]), named(&["b", "c"]), named(&["b"])];
        assert_eq!(hitting(&shared), Some(named(&["b"])));
        assert_eq!(hitting(&cores(3, 2)).map(|chosen| chosen.len()), Some(3));
        // Disjoint sets need a member of each: 8 to the power of 20 choices before the first that fits.
        assert_eq!(hitting(&cores(20, 8)), None);
    }
}
