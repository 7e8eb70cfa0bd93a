//! Requests that are hard: many overlapping pools, little time, and little room beside an earlier plan.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use warren_cidr::{
    Bound, Infeasible, IpNet, NetworkRequest, RenumberReason, Request, Want, contains, overlaps, solve,
    solve_renumbering, solve_until,
};

/// `pools` pools with a /16 each, and one network for each of the first `networks` pairs of them.
fn pairs(pools: usize, networks: usize, prefix: u8) -> Request {
    let mut request = Request::default();
    for pool in 0..pools {
        request.pools.insert(format!("p{pool:02}"), vec![format!("10.{pool}.0.0/16").parse().unwrap()]);
    }
    let all = (0..pools).flat_map(|a| (a + 1..pools).map(move |b| (a, b)));
    for (a, b) in all.take(networks) {
        let (a, b) = (format!("p{a:02}"), format!("p{b:02}"));
        request.networks.insert(format!("{a}-{b}"), NetworkRequest::new(&[&a, &b], Want::Prefix(prefix)));
    }
    assert_eq!(request.networks.len(), networks);
    request
}

/// Every network is in one of its pools, and no two overlap.
fn holds(request: &Request, networks: &BTreeMap<String, IpNet>) {
    assert_eq!(networks.len(), request.networks.len());
    for (name, net) in networks {
        let blocks: Vec<IpNet> =
            request.networks[name].pools.iter().flat_map(|pool| request.pools[pool].clone()).collect();
        assert!(contains(&blocks, net), "{name} {net} is outside its pools");
    }
    let nets: Vec<IpNet> = networks.values().copied().collect();
    assert_eq!(overlaps(&nets).pairs().count(), 0);
}

#[test]
fn sixty_five_networks_with_different_pairs_of_twelve_pools() {
    for networks in [64, 65, 66] {
        // 12 pools have room for 96 networks of this size.
        let request = pairs(12, networks, 19);
        holds(&request, &solve(&request, Bound::default()).unwrap().networks);
    }
}

/// More spaces than the search can tell apart are placed without it.
#[test]
fn a_hundred_and_ninety_different_pairs_of_twenty_pools() {
    let request = pairs(20, 190, 20);
    holds(&request, &solve(&request, Bound::default()).unwrap().networks);
    // The same with twice the size needs 190 of 160 blocks: no proof, but a count.
    let full = pairs(20, 190, 19);
    let Err(Infeasible::BoundHit(hit)) = solve(&full, Bound::default()) else { panic!("it fits") };
    assert!(hit.tried > 0 && !hit.timed_out, "{hit:?}");
    assert_eq!(hit.paths.len(), 190);
}

/// The last three pools have six halves for the seven networks in pairs of them, which the counts of single pools, of
/// neighbours and of all do not show. The others have too many placements to try.
fn crowded() -> Request {
    let mut request = Request::default();
    for pool in 0..24 {
        request.pools.insert(format!("p{pool:02}"), vec![format!("10.0.{pool}.0/24").parse().unwrap()]);
    }
    let mut add = |a: usize, b: usize, count: usize| {
        for at in 0..count {
            let pools = [format!("p{a:02}"), format!("p{b:02}")];
            let pools: Vec<&str> = pools.iter().map(String::as_str).collect();
            let name = format!("n{a:02}{b:02}{at}");
            request.networks.insert(name, NetworkRequest::new(&pools, Want::Prefix(25)));
        }
    };
    (0..21).for_each(|pool| add(pool, pool + 1, 1));
    for (a, b, count) in [(21, 22, 3), (21, 23, 2), (22, 23, 2)] {
        add(a, b, count);
    }
    request
}

#[test]
fn the_time_limit_ends_the_search_and_is_reported() {
    let looks = Cell::new(0_u32);
    let late = || {
        looks.set(looks.get() + 1);
        looks.get() > 3
    };
    let endless = Bound { steps: u64::MAX, ..Bound::default() };
    let Err(Infeasible::BoundHit(hit)) = solve_until(&crowded(), endless, &late) else {
        panic!("the search ended on its own")
    };
    assert!(hit.timed_out && hit.tried > 0, "{hit:?}");
    assert!(looks.get() < 1_000, "the search went on: {}", looks.get());
    let text = warren_cidr::messages(&Infeasible::BoundHit(hit)).remove(0).summary;
    assert!(text.contains("reached its time limit after"), "{text}");
}

/// One pool of 32 addresses, networks of an earlier plan, and new ones.
fn renumbering() -> impl Strategy<Value = Request> {
    let old = prop::collection::vec((27..=32u8, 0..32u8), 0..6);
    let new = prop::collection::vec(28..=31u8, 1..4);
    (old, new).prop_map(|(old, new)| {
        let mut request = Request::default();
        request.pools.insert("p".into(), vec!["10.0.0.0/27".parse().unwrap()]);
        let mut kept: Vec<IpNet> = Vec::new();
        for (at, (prefix, offset)) in old.into_iter().enumerate() {
            let net: IpNet = format!("10.0.0.{offset}/{prefix}").parse::<IpNet>().unwrap().trunc();
            if kept.iter().all(|other| !other.contains(&net) && !net.contains(other)) {
                kept.push(net);
                let name = format!("old{at}");
                request.networks.insert(name.clone(), NetworkRequest::new(&["p"], Want::Prefix(prefix)));
                request.previous.insert(name, net);
            }
        }
        for (at, prefix) in new.into_iter().enumerate() {
            request.networks.insert(format!("new{at}"), NetworkRequest::new(&["p"], Want::Prefix(prefix)));
        }
        request
    })
}

/// The fewest ranges of the earlier plan that must be free to move, by trying every set of them.
fn fewest(request: &Request) -> Option<usize> {
    let paths: Vec<&String> = request.previous.keys().collect();
    (0u32..1 << paths.len())
        .filter(|set| {
            let mut freed = request.clone();
            freed.previous.retain(|path, _| {
                let at = paths.iter().position(|other| *other == path).unwrap();
                set >> at & 1 == 0
            });
            solve(&freed, Bound::default()).is_ok()
        })
        .map(|set| set.count_ones() as usize)
        .min()
}

proptest! {
    #[test]
    fn the_fewest_ranges_move(request in renumbering()) {
        let expected = fewest(&request);
        match solve_renumbering(&request, Bound::default(), &|| false) {
            Ok(plan) => {
                holds(&request, &plan.networks);
                let moved: Vec<_> = plan.renumbered.iter().map(|moved| moved.why.clone()).collect();
                prop_assert!(moved.iter().all(|why| *why == RenumberReason::MadeRoom), "{:?}", moved);
                prop_assert_eq!(Some(moved.len()), expected);
                let changed = request.previous.iter().filter(|(path, net)| plan.networks[*path] != **net);
                prop_assert_eq!(changed.count(), moved.len());
            }
            Err(error) => prop_assert_eq!(expected, None, "{:?}", error),
        }
    }
}
