//! Streams that share a bottleneck of 50 Mbit/s and 40 ms, in virtual time: who gets how much, and what it costs in lost packets.

use std::io::Write;

use warren_netstack::Congestion::{self, Bbr, Cubic};
use warren_netstack_sim::{Link, MS, SEC, Script, World, config};

const RATE: u64 = 50_000_000;
const ROUND_TRIP: u64 = 40 * MS;
const BDP: u64 = RATE / 8 * ROUND_TRIP / SEC;
/// Data bytes of a packet on this path.
const SEGMENT: u64 = 1_368;

/// What two groups of streams got.
struct Outcome {
    /// Mbit/s of each group.
    goodput: [f64; 2],
    /// Lost packets, as a share of those that were sent.
    loss: f64,
}

/// Runs `count` streams of each controller; the buffer of the bottleneck has `tenths` of a BDP.
fn share(controllers: [Congestion; 2], count: usize, tenths: u64) -> Outcome {
    let mut link = Link::clean(RATE, ROUND_TRIP / 2);
    link.queue = (BDP * tenths / 10).max(6_000);
    let back = Link::clean(RATE, ROUND_TRIP / 2);
    let mut configs = [config(0, 3), config(1, 3)];
    for one in &mut configs {
        one.budget_bytes = 128 << 20;
    }
    let mut world = World::new(tenths + 100, configs, [link, back]);
    for place in 0..2 * count {
        let pair = world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
        let id = world.pairs[pair][0].id.expect("connects");
        world.stacks[0].set_congestion(world.time(), id, controllers[place % 2]);
        // Not all at the same moment.
        world.run_until((place as u64 + 1) * 130 * MS);
    }
    let received = |world: &World, group: usize| {
        world.pairs.iter().skip(group).step_by(2).map(|pair| pair[1].received).sum::<u64>()
    };
    world.run_until(10 * SEC);
    let (before, lost) = ([received(&world, 0), received(&world, 1)], world.dropped()[0]);
    world.run_until(40 * SEC);
    let gained = [0, 1].map(|group| received(&world, group) - before[group]);
    let lost = (world.dropped()[0] - lost) as f64;
    let arrived = ((gained[0] + gained[1]) / SEGMENT) as f64;
    let outcome =
        Outcome { goodput: gained.map(|bytes| bytes as f64 * 8.0 / 30e6), loss: lost / (lost + arrived) };
    let _ = writeln!(
        std::io::stdout(),
        "{count} {:?} and {count} {:?}, buffer {:.1} BDP: {:.1} and {:.1} Mbit/s, {:.2} % lost",
        controllers[0],
        controllers[1],
        tenths as f64 / 10.0,
        outcome.goodput[0],
        outcome.goodput[1],
        outcome.loss * 100.0
    );
    outcome
}

/// Asserts the goal: shares within a factor of two, and little loss.
fn fair(outcome: &Outcome) {
    let [one, other] = outcome.goodput;
    assert!(one < 2.0 * other && other < 2.0 * one, "{one:.1} and {other:.1} Mbit/s");
    assert!(outcome.loss < 0.02, "{:.1} % lost", outcome.loss * 100.0);
}

/// RFC 9438: CUBIC against itself.
#[test]
fn cubic_shares_with_cubic() {
    for (count, tenths) in [(1, 5), (1, 10), (4, 5), (4, 10), (4, 40)] {
        fair(&share([Cubic, Cubic], count, tenths));
    }
}

/// The goal (decision 16): from half a BDP up.
#[test]
fn bbr_shares_with_cubic() {
    for (count, tenths) in [(1, 5), (1, 10), (1, 40), (4, 5), (4, 10), (4, 40)] {
        fair(&share([Bbr, Cubic], count, tenths));
    }
}

/// A buffer of a tenth of a BDP has no goal for the share: a bound close to what BBR does today, so that it gets no worse.
#[test]
fn bbr_leaves_something_of_a_small_buffer() {
    for (count, least) in [(1, 20.0), (4, 15.0)] {
        let outcome = share([Bbr, Cubic], count, 1);
        assert!(outcome.goodput[1] > least, "{:.1} Mbit/s are left to CUBIC", outcome.goodput[1]);
        assert!(outcome.loss < 0.02, "{:.2} % lost", outcome.loss * 100.0);
    }
}

/// Eight streams of BBR alone lose about as much as a probe tolerates, and share.
#[test]
fn many_bbr_share_a_small_buffer() {
    let outcome = share([Bbr, Bbr], 4, 1);
    let [one, other] = outcome.goodput;
    assert!(one < 1.5 * other && other < 1.5 * one, "{one:.1} and {other:.1} Mbit/s");
    assert!(outcome.loss < 0.03, "{:.2} % lost", outcome.loss * 100.0);
}
