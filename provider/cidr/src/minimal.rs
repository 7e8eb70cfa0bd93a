//! The smallest set of demands and fixed blocks that do not fit together.

use crate::bits::{Spans, join};
use crate::level::{Demand, falling, fit};
use crate::search::{Budget, Found};

/// An unsatisfiable set: indices into the fixed blocks and the demands given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Core {
    pub(crate) fixed: Vec<usize>,
    pub(crate) demands: Vec<usize>,
    /// Whether no member can be left out.
    pub(crate) minimal: bool,
    /// Whether no set has fewer members.
    pub(crate) minimum: bool,
}

/// Maximum number of members for which every smaller set is tried.
const ENUMERATE: usize = 13;
/// Limit on the search for a smaller set, in placed blocks.
const WORK: u64 = 3_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Fixed(usize),
    Demand(usize),
}

/// Shrinks an unsatisfiable set. All `fixed` spans together with all `demands` must be known not to fit.
pub(crate) fn shrink(
    regions: &[Spans<u128>],
    fixed: &[(u128, u128)],
    demands: &[Demand],
    budget: Budget<'_>,
) -> Core {
    let mut test = Test { regions, fixed, demands, budget, work: 0, unsure: false };
    let one_space = demands.windows(2).all(|pair| pair[0].region == pair[1].region);
    let mut members = if one_space { test.one_space() } else { test.several_spaces() };
    let minimal = test.work <= WORK && !test.unsure;
    // With one space and no fixed blocks, the largest demands are the smallest set that can fail.
    let mut minimum = one_space && fixed.is_empty();
    if fixed.len() + demands.len() <= ENUMERATE && minimal {
        if let Some(fewer) = test.fewest(members.len()) {
            members = fewer;
        }
        minimum = !test.unsure;
    }
    let mut core = Core { minimal, minimum: minimum && minimal, ..Core::default() };
    for member in members {
        match member {
            Member::Fixed(index) => core.fixed.push(index),
            Member::Demand(index) => core.demands.push(index),
        }
    }
    core.fixed.sort_unstable();
    core.demands.sort_unstable();
    core
}

struct Test<'a> {
    regions: &'a [Spans<u128>],
    fixed: &'a [(u128, u128)],
    demands: &'a [Demand],
    budget: Budget<'a>,
    work: u64,
    /// Whether a search hit its bound, so that the set may be larger than necessary.
    unsure: bool,
}

impl Test<'_> {
    /// Whether these members are proven not to fit.
    fn fails(&mut self, members: &[Member]) -> bool {
        let mut taken = Vec::new();
        let mut chosen = Vec::new();
        for member in members {
            match *member {
                Member::Fixed(index) => taken.push(self.fixed[index]),
                Member::Demand(index) => chosen.push(self.demands[index]),
            }
        }
        self.work += 8 + members.len() as u64;
        if chosen.is_empty() {
            return false;
        }
        let mut tried = 0;
        let found = fit(self.regions, &join(&taken), &chosen, self.budget, &mut tried);
        self.work += tried;
        self.unsure |= found == Found::Unknown;
        found == Found::Nothing
    }

    /// One space: first the fixed blocks that are needed, then the shortest failing run of the largest demands.
    ///
    /// That run is minimal: without any one of its members, all at least as large as the last, the last one fits. And
    /// a fixed block needed with all demands is needed with some of them.
    fn one_space(&mut self) -> Vec<Member> {
        let falling = falling(self.demands);
        let all: Vec<Member> = falling.iter().map(|&index| Member::Demand(index)).collect();
        let mut fixed: Vec<Member> = (0..self.fixed.len()).map(Member::Fixed).collect();
        fixed.sort_by_key(|&member| self.rank(member));
        let needed = self.needed(&all, fixed);
        let (mut low, mut high) = (1, all.len());
        while low < high {
            let middle = (low + high) / 2;
            let run: Vec<Member> = needed.iter().chain(&all[..middle]).copied().collect();
            if self.fails(&run) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        needed.iter().chain(&all[..low.min(all.len())]).copied().collect()
    }

    fn several_spaces(&mut self) -> Vec<Member> {
        let mut all: Vec<Member> = (0..self.fixed.len()).map(Member::Fixed).collect();
        all.extend((0..self.demands.len()).map(Member::Demand));
        all.sort_by_key(|&member| self.rank(member));
        self.needed(&[], all)
    }

    /// The members of `rest` that, with `base`, make a failing set of which none of them can be left out.
    ///
    /// The shortest failing run is found by bisection; its last member is needed; then the same before it.
    fn needed(&mut self, base: &[Member], mut rest: Vec<Member>) -> Vec<Member> {
        let mut keep = base.to_vec();
        loop {
            if self.fails(&keep) {
                return keep.split_off(base.len());
            }
            if self.work > WORK {
                return keep.split_off(base.len()).into_iter().chain(rest).collect();
            }
            let (mut low, mut high) = (1, rest.len());
            while low < high {
                let middle = (low + high) / 2;
                let run: Vec<Member> = keep.iter().chain(&rest[..middle]).copied().collect();
                if self.fails(&run) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            if rest.is_empty() {
                return keep.split_off(base.len());
            }
            keep.push(rest[low - 1]);
            rest.truncate(low - 1);
        }
    }

    /// A failing set with fewer members than `limit`, the fewest there are.
    fn fewest(&mut self, limit: usize) -> Option<Vec<Member>> {
        let mut all: Vec<Member> = (0..self.fixed.len()).map(Member::Fixed).collect();
        all.extend((0..self.demands.len()).map(Member::Demand));
        all.sort_by_key(|&member| self.rank(member));
        let mut subsets: Vec<u32> =
            (1..1u32 << all.len()).filter(|set| (set.count_ones() as usize) < limit).collect();
        subsets.sort_by_key(|&set| (set.count_ones(), set));
        subsets.into_iter().find_map(|set| {
            let chosen: Vec<Member> = all
                .iter()
                .enumerate()
                .filter(|&(at, _)| set >> at & 1 == 1)
                .map(|(_, &member)| member)
                .collect();
            // Beyond the budget, keep the current set and do not report it as the smallest.
            if self.work > 2 * WORK {
                self.unsure = true;
                return None;
            }
            self.fails(&chosen).then_some(chosen)
        })
    }

    /// Large members first, demands before fixed blocks, so that sets found early have few members.
    fn rank(&self, member: Member) -> (std::cmp::Reverse<u128>, bool, usize) {
        match member {
            Member::Demand(index) => {
                let order = u32::from(self.demands[index].order);
                (std::cmp::Reverse(1u128.checked_shl(order).unwrap_or(0).wrapping_sub(1)), false, index)
            }
            Member::Fixed(index) => {
                let (start, end) = self.fixed[index];
                (std::cmp::Reverse(end - start), true, index)
            }
        }
    }
}
