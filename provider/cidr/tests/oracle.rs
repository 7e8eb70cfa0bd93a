//! The solver and the sets against brute force on small spaces.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{
    Bound, ElementKind, Family, Infeasible, IpNet, NetworkRequest, Request, SubnetRequest, Want, contains,
    merge, nearest_free, next, overlaps, solve, subtract,
};

/// A block of 2^`order` units at `slot` (in blocks of its size) in a universe of 64 addresses.
fn block(v6: bool, prefix_in: u8, slot: u8) -> IpNet {
    let offset = (u32::from(slot) << (6 - prefix_in)) & 63;
    if v6 {
        format!("fd00::{offset:x}/{}", 122 + prefix_in).parse().unwrap()
    } else {
        format!("10.0.0.{offset}/{}", 26 + prefix_in).parse().unwrap()
    }
}

fn any_block() -> impl Strategy<Value = IpNet> {
    (prop::bool::weighted(0.3), 0..=6u8)
        .prop_flat_map(|(v6, p)| (0..1u8 << p).prop_map(move |s| block(v6, p, s)))
}

fn v4_block(from: u8) -> impl Strategy<Value = IpNet> {
    (from..=6u8).prop_flat_map(|p| (0..1u8 << p).prop_map(move |s| block(false, p, s)))
}

/// The addresses of a range as (is IPv6, offset).
fn bits(net: &IpNet) -> BTreeSet<(bool, u8)> {
    let (v6, low) = match net {
        IpNet::V4(net) => (false, net.network().octets()[3]),
        IpNet::V6(net) => (true, net.network().octets()[15]),
    };
    let size = 1u16 << (net.max_prefix_len() - net.prefix_len());
    (0..size).map(|i| (v6, (u16::from(low) + i) as u8)).collect()
}

fn all_bits(nets: &[IpNet]) -> BTreeSet<(bool, u8)> {
    nets.iter().flat_map(bits).collect()
}

fn touch(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// What the oracle sees: fixed ranges, and demands as prefix and allowed addresses.
#[derive(Clone, Debug)]
struct Flat {
    fixed: Vec<IpNet>,
    demands: Vec<(u8, BTreeSet<(bool, u8)>)>,
}

/// Whether a placement exists, by trying every place of every demand; equal demands take rising places. `None` if that
/// takes too many tries for a test.
fn exists(flat: &Flat) -> Option<bool> {
    struct Try {
        dead: BTreeSet<(u64, usize, usize)>,
        left: u32,
    }
    let block = |size: usize, start: usize| if size == 64 { u64::MAX } else { ((1u64 << size) - 1) << start };
    fn go(
        taken: u64,
        demands: &[(usize, u64)],
        from: usize,
        run: &mut Try,
        block: &dyn Fn(usize, usize) -> u64,
    ) -> Option<bool> {
        let Some((&(size, allowed), rest)) = demands.split_first() else { return Some(true) };
        // No class of equal demands may want more places than are free.
        for class in demands.chunk_by(|a, b| a == b) {
            let (size, allowed) = class[0];
            let free = |start: &usize| block(size, *start) & !(allowed & !taken) == 0;
            if (0..64).step_by(size).filter(free).count() < class.len() {
                return Some(false);
            }
        }
        if run.dead.contains(&(taken, demands.len(), from)) {
            return Some(false);
        }
        run.left = run.left.checked_sub(1)?;
        for start in (from..64).step_by(size) {
            let mask = block(size, start);
            let next = if rest.first() == demands.first() { start + size } else { 0 };
            if mask & taken == 0 && mask & allowed == mask && go(taken | mask, rest, next, run, block)? {
                return Some(true);
            }
        }
        run.dead.insert((taken, demands.len(), from));
        Some(false)
    }
    let mask = |set: &BTreeSet<(bool, u8)>| set.iter().fold(0u64, |m, &(_, at)| m | 1 << at);
    let mut taken = 0u64;
    for net in &flat.fixed {
        let bits = mask(&bits(net));
        if taken & bits != 0 {
            return Some(false);
        }
        taken |= bits;
    }
    let mut demands: Vec<(usize, u64)> =
        flat.demands.iter().map(|(prefix, allowed)| (1 << (32 - prefix), mask(allowed))).collect();
    // Large ones first, then those with the fewest places.
    demands.sort_by_key(|&(size, allowed)| (std::cmp::Reverse(size), allowed.count_ones(), allowed));
    go(taken, &demands, 0, &mut Try { dead: BTreeSet::new(), left: 20_000 }, &block)
}

/// The oracle's answer; the few cases it cannot settle are drawn again.
macro_rules! settled {
    ($flat:expr) => {
        match exists($flat) {
            Some(answer) => answer,
            None => return Err(TestCaseError::reject("too many tries for the oracle")),
        }
    };
}

fn flat(request: &Request, keep: impl Fn(&str) -> bool) -> Flat {
    let mut flat = Flat { fixed: Vec::new(), demands: Vec::new() };
    for nets in request.reserved.iter().filter(|(name, _)| keep(name)).map(|(_, nets)| nets) {
        flat.fixed.extend(merge(nets));
    }
    for (_, network) in request.networks.iter().filter(|(name, _)| keep(name)) {
        let allowed: Vec<IpNet> = network.pools.iter().flat_map(|pool| request.pools[pool].clone()).collect();
        match network.want {
            Want::Pinned(net) => flat.fixed.push(net),
            Want::Prefix(prefix) => flat.demands.push((prefix, all_bits(&allowed))),
            Want::Hosts(_) => unreachable!("not generated"),
        }
    }
    flat
}

/// Requests in 10.0.0.0/26: up to three pools that may overlap, one reserved range, some pins, sized networks.
fn requests() -> impl Strategy<Value = Request> {
    let pools = prop::collection::vec(prop::collection::vec(v4_block(0), 1..3), 1..4);
    let reserved = prop::collection::vec(v4_block(3), 0..2);
    let pins = prop::collection::vec(v4_block(2), 0..3);
    let sized = prop::collection::vec((1..=6u8, 1..8u8), 0..8);
    (pools, reserved, pins, sized).prop_map(|(pools, reserved, pins, sized)| {
        let mut request = Request::default();
        let count = pools.len();
        for (i, nets) in pools.into_iter().enumerate() {
            request.pools.insert(format!("p{i}"), nets);
        }
        if !reserved.is_empty() {
            request.reserved.insert("reserved".into(), reserved);
        }
        for (i, net) in pins.into_iter().enumerate() {
            request.networks.insert(format!("pin{i}"), NetworkRequest::new(&[], Want::Pinned(net)));
        }
        for (i, (prefix, allowed)) in sized.into_iter().enumerate() {
            let mut names: Vec<String> =
                (0..count).filter(|bit| allowed >> bit & 1 == 1).map(|bit| format!("p{bit}")).collect();
            if names.is_empty() {
                names.push("p0".into());
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            request.networks.insert(format!("n{i}"), NetworkRequest::new(&names, Want::Prefix(26 + prefix)));
        }
        request
    })
}

/// Whether a plan obeys the request.
fn holds(request: &Request, networks: &BTreeMap<String, IpNet>) -> Result<(), TestCaseError> {
    let reserved: Vec<IpNet> = request.reserved.values().flatten().copied().collect();
    for (key, wanted) in &request.networks {
        let net = networks[key];
        let pools: Vec<IpNet> = wanted.pools.iter().flat_map(|pool| request.pools[pool].clone()).collect();
        match wanted.want {
            Want::Pinned(pin) => prop_assert_eq!(net, pin),
            Want::Prefix(prefix) => {
                prop_assert_eq!(net.prefix_len(), prefix);
                prop_assert!(contains(&pools, &net));
            }
            Want::Hosts(_) => unreachable!("not generated"),
        }
        prop_assert!(!reserved.iter().any(|other| touch(other, &net)), "{} touches a reserved range", net);
        for (_, other) in networks.iter().filter(|(other, _)| *other != key) {
            prop_assert!(!touch(&net, other), "{} touches {}", net, other);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_are_those_of_all_against_all(nets in prop::collection::vec(any_block(), 0..40)) {
        let sweep = overlaps(&nets);
        let mut found: Vec<(usize, usize)> = sweep.pairs().map(|(a, b)| (a.min(b), a.max(b))).collect();
        for (outer, inner) in sweep.pairs() {
            prop_assert!(nets[outer].contains(&nets[inner]));
        }
        found.sort_unstable();
        let mut brute = Vec::new();
        for i in 0..nets.len() {
            brute.extend((i + 1..nets.len()).filter(|&j| touch(&nets[i], &nets[j])).map(|j| (i, j)));
        }
        prop_assert_eq!(sweep.count(), brute.len() as u64);
        prop_assert_eq!(sweep.first(3).len(), brute.len().min(3));
        prop_assert_eq!(found, brute);
    }

    #[test]
    fn sets_are_those_of_bitmaps(
        a in prop::collection::vec(any_block(), 0..12),
        b in prop::collection::vec(any_block(), 0..12),
        probe in any_block(),
        prefix in 0..=6u8,
    ) {
        let (merged, left) = (merge(&a), subtract(&a, &b));
        prop_assert_eq!(all_bits(&merged), all_bits(&a));
        let mut expected = all_bits(&a);
        all_bits(&b).iter().for_each(|bit| { expected.remove(bit); });
        prop_assert_eq!(&all_bits(&left), &expected);
        for list in [&merged, &left] {
            prop_assert!(list.is_sorted());
            prop_assert!(overlaps(list).is_empty());
            // As few as possible: no two are halves of one block.
            for pair in list.windows(2) {
                let whole = pair[0].supernet();
                prop_assert!(whole.is_none() || whole != pair[1].supernet() || pair[0].prefix_len() != pair[1].prefix_len());
            }
        }
        prop_assert_eq!(contains(&a, &probe), bits(&probe).is_subset(&all_bits(&a)));
        let v6 = matches!(probe, IpNet::V6(_));
        let size = if v6 { 122 + prefix } else { 26 + prefix };
        let places: Vec<IpNet> =
            (0..1u8 << prefix).map(|slot| block(v6, prefix, slot)).filter(|net| bits(net).is_subset(&expected)).collect();
        let of_family: Vec<IpNet> = a.iter().filter(|net| Family::of(net) == Family::of(&probe)).copied().collect();
        prop_assert_eq!(next(&of_family, &b, size), places.first().copied());
        let at = |net: &IpNet| bits(net).first().map_or(0, |bit| i32::from(bit.1));
        let best = places.iter().min_by_key(|net| ((at(net) - at(&probe)).abs(), at(net))).copied();
        prop_assert_eq!(nearest_free(&a, &b, size, &probe), best);
    }

    #[test]
    fn a_plan_is_found_exactly_if_there_is_one(request in requests()) {
        let possible = settled!(&flat(&request, |_| true));
        match solve(&request, Bound::default()) {
            Ok(plan) => {
                prop_assert!(possible);
                holds(&request, &plan.networks)?;
                prop_assert!(plan.renumbered.is_empty());
            }
            Err(Infeasible::Refused(problems)) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(!possible);
            }
            Err(Infeasible::NoRoom(story)) => {
                prop_assert!(!possible);
                prop_assert!(story.minimal && story.minimum);
                let names: BTreeSet<&str> = story.elements.iter().map(|element| element.path.as_str()).collect();
                // Reserved ranges of one name count one by one, so rebuild the request from the elements.
                let build = |without: Option<usize>| {
                    let mut small = flat(&request, |name| names.contains(name) && !name.starts_with("reserved"));
                    small.fixed.clear();
                    small.demands.clear();
                    for (_, element) in story.elements.iter().enumerate().filter(|(at, _)| Some(*at) != without) {
                        match element.kind {
                            ElementKind::Sized { .. } => {
                                small.demands.extend(flat(&request, |name| name == element.path).demands);
                            }
                            ElementKind::Pinned(net) | ElementKind::Held(net) | ElementKind::Reserved(net) => small.fixed.push(net),
                        }
                    }
                    small
                };
                prop_assert!(!settled!(&build(None)), "the set can hold together: {:?}", story);
                for at in 0..story.elements.len() {
                    prop_assert!(settled!(&build(Some(at))), "{} is not needed: {:?}", at, story);
                }
            }
            Err(Infeasible::BoundHit(hit)) => prop_assert!(false, "bound hit after {} tries", hit.tried),
        }
    }

    #[test]
    fn adding_and_removing_moves_nothing(request in requests(), extra in 1..=6u8, gone in any::<prop::sample::Index>()) {
        let Ok(before) = solve(&request, Bound::default()) else { return Ok(()) };
        let mut more = request.clone();
        more.previous = before.networks.clone();
        prop_assert_eq!(&solve(&more, Bound::default()).unwrap().networks, &before.networks);
        more.networks.insert("aaa".into(), NetworkRequest::new(&["p0"], Want::Prefix(26 + extra)));
        if let Ok(after) = solve(&more, Bound::default()) {
            prop_assert!(after.renumbered.is_empty());
            for (path, net) in &before.networks {
                prop_assert_eq!(after.networks.get(path), Some(net));
            }
        }
        more.networks.remove("aaa");
        if !request.networks.is_empty() {
            let key = request.networks.keys().nth(gone.index(request.networks.len())).unwrap().clone();
            more.networks.remove(&key);
            let after = solve(&more, Bound::default()).unwrap();
            for (path, net) in &after.networks {
                prop_assert_eq!(before.networks.get(path), Some(net));
            }
        }
    }

    #[test]
    fn the_order_of_ranges_does_not_show(request in requests()) {
        let mut other = request.clone();
        other.pools.values_mut().for_each(|nets| nets.reverse());
        other.reserved.values_mut().for_each(|nets| nets.reverse());
        other.networks.values_mut().for_each(|network| network.pools.reverse());
        let (one, two) = (solve(&request, Bound::default()), solve(&other, Bound::default()));
        prop_assert_eq!(one.as_ref().ok(), two.as_ref().ok());
        prop_assert_eq!(one.is_err(), two.is_err());
    }

    #[test]
    fn subnets_fit_exactly_if_their_sizes_do(parent in 0..4u8, sizes in prop::collection::vec(1..=6u8, 0..10), pin in prop::option::of(v4_block(3))) {
        let mut request = Request::default();
        request.pools.insert("p0".into(), vec!["10.0.0.0/26".parse().unwrap()]);
        let mut network = NetworkRequest::new(&["p0"], Want::Prefix(26 + parent));
        for (at, size) in sizes.iter().enumerate() {
            network.subnets.insert(format!("s{at}"), SubnetRequest::new(Want::Prefix(26 + size)));
        }
        if let Some(pin) = pin {
            network.subnets.insert("pin".into(), SubnetRequest::new(Want::Pinned(pin)));
        }
        request.networks.insert("n".into(), network);
        // Whatever the pin leaves inside its parent.
        let home = pin.filter(|pin| pin.prefix_len() >= 26 + parent)
            .map_or_else(|| block(false, parent, 0), |pin| IpNet::new(pin.addr(), 26 + parent).unwrap().trunc());
        let possible = pin.is_none_or(|pin| home.contains(&pin)) && settled!(&Flat {
            fixed: pin.into_iter().collect(),
            demands: sizes.iter().map(|size| (26 + size, bits(&home))).collect(),
        });
        let plan = solve(&request, Bound::default());
        prop_assert_eq!(plan.is_ok(), possible, "{:?}", plan);
        if let Ok(plan) = plan {
            let all: Vec<IpNet> = plan.networks.iter().filter(|(path, _)| *path != "n").map(|(_, net)| *net).collect();
            prop_assert!(overlaps(&all).is_empty());
            prop_assert!(all.iter().all(|net| plan.networks["n"].contains(net)));
        }
    }
}
