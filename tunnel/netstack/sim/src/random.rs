//! One seed, one world: random links, scripts, limits and controllers, and what must hold afterwards.

use warren_netstack::{CloseReason, Congestion, Ecn, State};

use crate::{Link, MS, Rng, SEC, Script, World, config};

/// Runs one seed to its end and checks every promise; gives the number of moments.
///
/// # Panics
/// A promise is broken; the message has the seed.
pub fn run(seed: u64) -> u64 {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9).wrapping_add(77));
    let mtu = rng.pick(&[1_280, 1_420, 1_500, 9_000]);
    let hard = rng.chance(0.3);
    let link = |rng: &mut Rng| {
        let rate = rng.pick(&[0, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]);
        let delay = rng.pick(&[0, MS / 10, MS, 10 * MS, 80 * MS, 300 * MS]);
        let mut link = Link::clean(rate, delay);
        link.manages = rng.chance(0.3).then(|| rng.pick(&[20_000, 100_000]));
        link.queue = rng.pick(&[link.queue, 20_000, 100_000, 1_000_000]).max(3 * mtu as u64);
        let worst = if hard { 0.2 } else { 0.03 };
        let odds =
            |rng: &mut Rng| if rng.chance(0.5) { 0.0 } else { worst * rng.below(1000) as f64 / 1000.0 };
        link.loss = odds(rng);
        link.reorder = odds(rng) * 4.0;
        link.jitter = rng.pick(&[MS / 10, MS, 20 * MS, 200 * MS]);
        link.duplicate = odds(rng);
        link.corrupt = odds(rng);
        link.tells_mtu = rng.chance(0.7);
        link
    };
    let links = [link(&mut rng), link(&mut rng)];
    let mut configs = [config(0, seed), config(1, seed)];
    for one in &mut configs {
        one.mtu = rng.pick(&[1_280, mtu, mtu]).min(mtu);
        one.budget_bytes = rng.pick(&[64 << 10, 256 << 10, 4 << 20, 32 << 20]);
        one.max_window = rng.pick(&[4 << 10, 64 << 10, 1 << 20, 32 << 20]);
        one.congestion = rng.pick(&[Congestion::Bbr, Congestion::Cubic]);
        one.ecn = rng.pick(&[Ecn::Off, Ecn::Accept, Ecn::Ask, Ecn::Ask]);
        one.user_timeout = std::time::Duration::from_secs(3_600);
        one.connect_timeout = std::time::Duration::from_secs(3_600);
    }
    let budgets = [configs[0].budget_bytes, configs[1].budget_bytes];
    let mut world = World::new(seed, configs, links.clone());
    if rng.chance(0.2) {
        // The path shrinks on the way.
        let mut smaller = links.clone();
        for link in &mut smaller {
            link.mtu = 1_280;
        }
        world.change(rng.below(2 * SEC), smaller);
    }
    let count = rng.pick(&[1, 1, 2, 5]);
    let largest = if hard { 60_000 } else { 400_000 };
    for _ in 0..count {
        let script = |rng: &mut Rng| {
            let mut script = Script::bulk(rng.below(largest));
            script.write = rng.pick(&[1, 100, 1_000, 65_536]);
            if script.write == 1 {
                script.total = script.total.min(3_000);
            }
            if rng.chance(0.2) {
                script.total = rng.below(20);
            }
            if rng.chance(0.2) {
                script.read = rng.pick(&[1_000, 10_000]);
                script.read_every = rng.pick(&[MS, 50 * MS]);
            }
            if rng.chance(0.15) {
                script.write_every = rng.pick(&[MS, 10 * MS]);
            }
            if rng.chance(0.05) {
                script.reset_after = Some(rng.below(script.total + 1));
            }
            script
        };
        let mut scripts = [script(&mut rng), script(&mut rng)];
        if rng.chance(0.2) {
            scripts[rng.below(2) as usize].after_eof = true;
        }
        let v6 = rng.chance(0.4);
        world.open(scripts, v6);
    }
    world.most_steps = 1_000_000;
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run(3_000 * SEC)));
    if let Err(cause) = run {
        for (side, end) in world.pairs.iter().flat_map(|pair| pair.iter().enumerate()) {
            let info = end.id.and_then(|id| world.stacks[side].info(id));
            eprintln!(
                "side {side} received {} sent {} of {}: {info:?} {:?}",
                end.received,
                end.sent,
                end.script.total,
                world.stacks[side].memory()
            );
        }
        eprintln!("seed {seed}: {links:?}");
        std::panic::resume_unwind(cause);
    }
    for (index, pair) in world.pairs.iter().enumerate() {
        let reset = pair[0].reset || pair[1].reset;
        for (side, end) in pair.iter().enumerate() {
            let other = &pair[1 - side];
            let at = format!("seed {seed} pair {index} side {side} at {} ms", world.now / MS);
            assert!(end.received <= other.sent, "{at}: more than was sent");
            if reset {
                continue;
            }
            assert_eq!(
                end.closed,
                Some(CloseReason::Finished),
                "{at}: received {} of {}, sent {}, state {:?} {:?}",
                end.received,
                other.script.total,
                end.sent,
                end.id.map(|id| world.stacks[side].state(id)),
                end.id.and_then(|id| world.stacks[side].info(id)),
            );
            assert_eq!(end.received, other.script.total, "{at}");
            assert!(end.eof, "{at}");
            let state = end.id.map(|id| world.stacks[side].state(id));
            assert!(matches!(state, Some(State::Closed | State::TimeWait)), "{at}");
        }
    }
    for (stack, budget) in world.stacks.iter().zip(budgets) {
        let memory = stack.memory();
        assert!(memory.buffers_peak <= budget.max(64 << 10), "seed {seed}: {memory:?}");
        assert!(memory.buffers + memory.promised <= budget.max(64 << 10), "seed {seed}: {memory:?}");
        assert_eq!(stack.stats().discarded, 0, "seed {seed}: bytes inside announced windows");
    }
    world.steps
}
