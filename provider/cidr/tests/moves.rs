//! Following all proposals resolves every conflict.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use warren_cidr::{ConflictScan, IpNet, Label, Moves, Parent, Range, RangeKind, Wish, conflicts};

fn range(name: &str, net: &str, owner: &str, kind: RangeKind, parent: Parent) -> Range {
    let label = Label {
        name: name.to_owned(),
        owner: owner.to_owned(),
        path: name.to_owned(),
        kind,
        id: name.to_owned(),
        parent,
    };
    Range { net: net.parse().unwrap(), label }
}

fn network(name: &str, net: &str) -> Range {
    range(name, net, "team", RangeKind::Occupy, Parent::Top)
}

fn subnet(name: &str, net: &str, network: &str) -> Range {
    range(name, net, "team", RangeKind::Occupy, Parent::Of(network.to_owned()))
}

/// The ranges after all moves, and why others do not move.
fn moved(ranges: &[Range], wishes: &[Wish]) -> (Vec<Range>, Vec<Option<String>>) {
    let scan = ConflictScan::new(ranges);
    let moves = Moves::new(ranges, &scan, wishes, &|_, _| true, &|_, _| true);
    let after = |index: usize| Range { net: moves.after(index), ..ranges[index].clone() };
    let why = |index: usize| moves.why_not(index).map(str::to_owned);
    ((0..ranges.len()).map(after).collect(), (0..ranges.len()).map(why).collect())
}

fn free(ranges: &[Range]) -> Vec<Range> {
    moved(ranges, &vec![Wish::default(); ranges.len()]).0
}

fn nets(ranges: &[Range]) -> Vec<String> {
    ranges.iter().map(|range| range.net.to_string()).collect()
}

#[test]
fn proposals_differ() {
    let ranges: Vec<Range> = (0..4).map(|at| network(&format!("v{at}"), "10.0.0.0/16")).collect();
    assert_eq!(nets(&free(&ranges)), ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"]);
}

#[test]
fn subnets_move_with_their_network_and_keep_their_offset() {
    let ranges = [
        network("a", "10.0.0.0/16"),
        subnet("a/1", "10.0.1.0/24", "a"),
        subnet("a/2", "10.0.2.0/24", "a"),
        network("b", "10.0.0.0/16"),
        subnet("b/1", "10.0.1.0/24", "b"),
        // Both overlap in their network, which moves.
        subnet("b/2", "10.0.1.0/25", "b"),
        // This one is outside its network.
        subnet("b/3", "10.9.0.0/24", "b"),
    ];
    let after = free(&ranges);
    assert_eq!(conflicts(&after), []);
    let nets = nets(&after);
    assert_eq!(nets[..3], ["10.0.0.0/16", "10.0.1.0/24", "10.0.2.0/24"]);
    assert_eq!(nets[3..5], ["10.1.0.0/16", "10.1.1.0/24"]);
    assert!(nets[6].starts_with("10.1."), "{nets:?}");
}

/// The work grows with the number of overlapping pairs: with a search in each pair, this would take hours.
#[test]
fn thousands_of_equal_ranges_are_planned() {
    let ranges: Vec<Range> = (0..4_000).map(|at| network(&format!("v{at}"), "10.0.0.0/24")).collect();
    let (after, why) = moved(&ranges, &vec![Wish::default(); ranges.len()]);
    assert!(after.iter().any(|range| range.net != ranges[0].net), "nothing moves");
    // More conflicts than are planned.
    let given = why.iter().flatten().all(|why| why == "there are too many conflicts; resolve others first");
    assert!(given, "{:?}", why[0]);
}

/// One network in conflict with five others moves, unless it is far larger.
#[test]
fn few_and_cheap_ranges_move() {
    let mut ranges = vec![network("wide", "10.0.0.0/13")];
    ranges.extend((0..5).map(|at| network(&format!("v{at}"), &format!("10.{at}.0.0/16"))));
    let changed = |after: &[Range]| after.iter().zip(&ranges).filter(|(one, other)| one != other).count();
    assert_eq!(changed(&free(&ranges)), 1);
    let mut wishes = vec![Wish::default(); ranges.len()];
    wishes[0].cost = 100;
    let (after, _) = moved(&ranges, &wishes);
    assert_eq!((changed(&after), after[0].net), (5, ranges[0].net));
    assert_eq!(conflicts(&after), []);
    wishes[0] = Wish { cost: 0, fixed: Some("it is a default VPC") };
    let (after, why) = moved(&ranges, &wishes);
    assert_eq!((changed(&after), why[0].as_deref()), (5, Some("it is a default VPC")));
}

#[test]
fn what_cannot_move_has_a_reason() {
    let full = [network("a", "10.0.0.0/8"), network("b", "10.0.0.0/8")];
    let mut ranges = full.to_vec();
    ranges.extend([network("c", "172.16.0.0/12"), network("d", "192.168.0.0/16")]);
    let (after, why) = moved(&ranges, &vec![Wish::default(); 4]);
    assert_eq!(after, ranges);
    assert_eq!(why[0].as_deref(), Some("no free /8 in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16"));
    let public = [network("a", "8.8.0.0/16"), network("b", "8.8.0.0/16")];
    let (_, why) = moved(&public, &vec![Wish::default(); 2]);
    assert_eq!(
        why[1].as_deref(),
        Some("8.8.0.0/16 is not private, so it is not known which ranges are free")
    );
    let lost = [subnet("a", "10.0.0.0/24", "gone"), subnet("b", "10.0.0.0/24", "lost")];
    let (_, why) = moved(&lost, &vec![Wish::default(); 2]);
    assert_eq!(why[1].as_deref(), Some("the range of its network is not known"));
    // If one side has no room, the other one moves.
    let ranges = [
        network("net", "10.0.0.0/24"),
        subnet("a", "10.0.0.0/25", "net"),
        subnet("b", "10.0.0.0/26", "net"),
        subnet("c", "10.0.0.192/27", "net"),
        subnet("d", "10.0.0.0/28", "net"),
    ];
    let (after, why) = moved(&ranges, &vec![Wish::default(); 5]);
    assert_eq!(conflicts(&after), [], "{why:?}");
}

/// A network that two files have is one network: what fills it in one of them leaves no room in the other one.
#[test]
fn a_network_in_two_files_has_the_room_of_one() {
    let hub = || subnet("hub", "10.128.0.0/12", "plan");
    let plan = range("plan", "10.0.0.0/9", "team", RangeKind::Reserve, Parent::Top);
    let ranges =
        [plan, hub(), subnet("whole", "10.128.0.0/12", "hub"), hub(), subnet("lost", "10.0.0.0/12", "hub")];
    let (after, why) = moved(&ranges, &vec![Wish::default(); 5]);
    assert_eq!(after[4], ranges[4]);
    assert_eq!(why[4].as_deref(), Some("no free /12 in 10.128.0.0/12"));
    // With half of it free, the other one is placed there.
    let mut ranges = ranges;
    ranges[2].net = "10.128.0.0/13".parse().unwrap();
    ranges[4].net = "10.0.0.0/13".parse().unwrap();
    let (after, why) = moved(&ranges, &vec![Wish::default(); 5]);
    assert_eq!(conflicts(&after), [], "{why:?}");
    assert_ne!(after[4].net, after[2].net);
}

/// Networks in a few blocks of 10.0.0.0/8, subnets inside and outside of them, address plans, twins, and fixed ranges.
fn any_ranges() -> impl Strategy<Value = (Vec<Range>, Vec<Wish>)> {
    let one = (0..5u8, 0..3u8, 9..13u8, 0..16u32, 0..4u8, any::<bool>());
    prop::collection::vec(one, 1..9).prop_map(|all| {
        let mut ranges: Vec<Range> = Vec::new();
        let mut wishes = Vec::new();
        for (at, (what, owner, prefix, slot, home, hard)) in all.into_iter().enumerate() {
            let block = |prefix: u8, slot: u32| -> IpNet {
                let start = u32::from_be_bytes([10, 0, 0, 0]) | (slot << 20);
                let mask = u32::MAX << (32 - prefix);
                format!("{}/{prefix}", std::net::Ipv4Addr::from(start & mask)).parse().unwrap()
            };
            let owner = ["a", "b", "c"][usize::from(owner)];
            let mut next = range(&format!("r{at}"), "10.0.0.0/8", owner, RangeKind::Occupy, Parent::Top);
            next.net = block(prefix, slot);
            match what {
                0 => next.label.kind = RangeKind::Reserve,
                1 if at > 0 => {
                    // The owner of a network owns its subnets.
                    let network = &ranges[usize::from(home) % at];
                    next.label.owner = network.label.owner.clone();
                    next.label.parent = Parent::Of(network.label.id.clone());
                    next.net = block(12, slot);
                }
                2 if at > 0 => {
                    // A subnet where it belongs, in the first /14 of its network.
                    let network = &ranges[usize::from(home) % at];
                    next.label.owner = network.label.owner.clone();
                    next.label.parent = Parent::Of(network.label.id.clone());
                    let IpNet::V4(net) = network.net else { continue };
                    let prefix = (net.prefix_len() + 2).min(24);
                    next.net = format!("{}/{prefix}", net.network()).parse().unwrap();
                }
                3 if hard && at > 0 => next = ranges[usize::from(home) % at].clone(),
                _ => {}
            }
            wishes.push(Wish { cost: 0, fixed: (hard && what == 4).then_some("fixed") });
            ranges.push(next);
        }
        (ranges, wishes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn following_all_proposals_resolves_every_conflict((ranges, wishes) in any_ranges()) {
        let (after, why) = moved(&ranges, &wishes);
        for conflict in conflicts(&after) {
            let indices = conflict.indices();
            // A conflict that is left has a side with a reason.
            let stuck = indices.iter().any(|&index| why[index].is_some());
            prop_assert!(stuck, "{conflict:?}\n{:#?}\n{:#?}", nets(&ranges), nets(&after));
            // None is new, except where the network of a subnet cannot leave a conflict.
            let home = |index: usize, other: usize| match &ranges[index].label.parent {
                Parent::Of(id) => (0..ranges.len()).any(|home| {
                    ranges[home].label.id == *id && (why[home].is_some() || why[other].is_some())
                }),
                Parent::Top | Parent::Unknown => false,
            };
            if home(indices[0], indices[1]) || home(indices[1], indices[0]) {
                continue;
            }
            let before = conflicts(&ranges).iter().any(|old| {
                let mut old = old.indices();
                let mut new = indices.clone();
                old.sort_unstable();
                new.sort_unstable();
                old == new
            });
            prop_assert!(before, "new: {conflict:?}\n{:#?}\n{:#?}", nets(&ranges), nets(&after));
        }
        for (index, wish) in wishes.iter().enumerate() {
            prop_assert!(wish.fixed.is_none() || after[index].net == ranges[index].net);
        }
    }

    /// Networks without anything inside them: one proposal after the other can be followed, few networks move, and a range is
    /// only missing if none is free.
    #[test]
    fn proposals_of_networks_are_free_few_and_complete(
        all in prop::collection::vec((9..12u8, 0..16u32), 1..9)
    ) {
        let ranges: Vec<Range> = all.iter().enumerate().map(|(at, (prefix, slot))| {
            let start = (u32::from_be_bytes([10, 0, 0, 0]) | (slot << 20)) & (u32::MAX << (32 - prefix));
            network(&format!("r{at}"), &format!("{}/{prefix}", std::net::Ipv4Addr::from(start)))
        }).collect();
        let (after, why) = moved(&ranges, &vec![Wish::default(); ranges.len()]);
        let touch = |one: &IpNet, other: &IpNet| one.contains(other) || other.contains(one);
        let movers: Vec<usize> = (0..ranges.len()).filter(|&at| after[at] != ranges[at]).collect();
        for &at in &movers {
            for other in 0..ranges.len() {
                prop_assert!(!touch(&after[at].net, &ranges[other].net), "{:?} {:?}", nets(&ranges), nets(&after));
                prop_assert!(at == other || !touch(&after[at].net, &after[other].net));
            }
        }
        for (at, why) in why.iter().enumerate() {
            if why.as_ref().is_some_and(|why| why.starts_with("no free")) {
                let prefix = ranges[at].net.prefix_len();
                // 172.16.0.0/12 and 192.168.0.0/16 are too small for any of these.
                for slot in 0..1u32 << (prefix - 8) {
                    let start = u32::from_be_bytes([10, 0, 0, 0]) | (slot << (32 - prefix));
                    let block: IpNet = format!("{}/{prefix}", std::net::Ipv4Addr::from(start)).parse().unwrap();
                    let taken = ranges.iter().chain(&after).any(|range| touch(&range.net, &block));
                    prop_assert!(taken, "{block} is free for {at}: {:?} {:?}", nets(&ranges), nets(&after));
                }
            }
        }
        if why.iter().all(Option::is_none) {
            prop_assert_eq!(conflicts(&after), []);
            // The smallest number of networks whose moves resolve everything.
            let fewest = (0..1u32 << ranges.len())
                .filter(|moving| (0..ranges.len()).all(|one| (0..one).all(|other| {
                    moving >> one & 1 == 1 || moving >> other & 1 == 1 || !touch(&ranges[one].net, &ranges[other].net)
                })))
                .map(u32::count_ones)
                .min()
                .unwrap();
            prop_assert!(movers.len() <= 2 * fewest as usize, "{} of {fewest}", movers.len());
        }
    }
}
