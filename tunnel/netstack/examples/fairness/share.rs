//! Streams that share a bottleneck of 50 Mbit/s and 40 ms, in virtual time: who gets how much, and what it costs in lost packets.

use warren_netstack::Congestion;
use warren_netstack_sim::{Link, MS, SEC, Script, World, config};

const RATE: u64 = 50_000_000;
const ROUND_TRIP: u64 = 40 * MS;
const BDP: u64 = RATE / 8 * ROUND_TRIP / SEC;
/// Data bytes of a packet on this path.
const SEGMENT: u64 = 1_368;

/// What two groups of streams got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Mbit/s of each group.
    pub(crate) goodput: [f64; 2],
    /// Lost packets, as a share of those that were sent.
    pub(crate) loss: f64,
}

impl Outcome {
    /// How much more the first group got than the second.
    pub(crate) fn ratio(&self) -> f64 {
        self.goodput[0] / self.goodput[1]
    }
}

/// Runs `count` streams of each controller; the buffer of the bottleneck has `tenths` of a BDP.
pub(crate) fn share(controllers: [Congestion; 2], count: usize, tenths: u64, seed: u64) -> Outcome {
    let mut link = Link::clean(RATE, ROUND_TRIP / 2);
    link.queue = (BDP * tenths / 10).max(6_000);
    let back = Link::clean(RATE, ROUND_TRIP / 2);
    let mut configs = [config(0, seed), config(1, seed)];
    for one in &mut configs {
        one.budget_bytes = 128 << 20;
    }
    let mut world = World::new(tenths + 100 + seed, configs, [link, back]);
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
    Outcome { goodput: gained.map(|bytes| bytes as f64 * 8.0 / 30e6), loss: lost / (lost + arrived) }
}

/// In order of their ratios.
pub(crate) fn shares(
    controllers: [Congestion; 2],
    count: usize,
    tenths: u64,
    seeds: std::ops::Range<u64>,
) -> Vec<Outcome> {
    let mut all: Vec<Outcome> = seeds.map(|seed| share(controllers, count, tenths, seed)).collect();
    all.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    all
}
