//! The smallest renumbering of an earlier plan that makes room.

use crate::{Bound, ElementKind, Infeasible, Plan, RenumberReason, Renumbering, Request, solve_until};
use std::collections::BTreeSet;

/// Maximum number of sets of conflicting demands that are examined.
const ROUNDS: usize = 200;

/// Maximum number of partial choices that are tried in a round.
const CHOICES: u32 = 100_000;

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
    // Sets without a common member need one each.
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    let mut least = 0;
    for core in cores {
        if core.iter().all(|path| !seen.contains(path)) {
            seen.extend(core);
            least += 1;
        }
    }
    let mut choices = CHOICES;
    for size in least..=cores.len() {
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

    fn set(names: &[usize]) -> BTreeSet<String> {
        names.iter().map(usize::to_string).collect()
    }

    #[test]
    fn the_smallest_choice_is_found_or_given_up() {
        assert_eq!(hitting(&[set(&[1, 2]), set(&[2, 3]), set(&[2])]), Some(set(&[2])));
        let apart: Vec<_> = (0..30).map(|core| set(&[10 * core, 10 * core + 1, 10 * core + 2])).collect();
        assert_eq!(hitting(&apart).map(|chosen| chosen.len()), Some(30));
        // All pairs of 26: 25 must move, and there are millions of choices of fewer.
        let pairs: Vec<_> = (0..26).flat_map(|one| (0..one).map(move |other| set(&[one, other]))).collect();
        assert_eq!(hitting(&pairs), None);
    }
}
