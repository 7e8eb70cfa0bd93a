//! Throughput in virtual time, as the goals have it.

use std::io::Write;

use warren_netstack::Congestion;
use warren_netstack_sim::{Link, MS, Processor, SEC, Script, World, config};

/// Goodput of one stream between `from` and `to`, in Mbit/s, on a line of 1 Gbit/s.
fn goodput(congestion: Congestion, rtt: u64, loss: f64, from: u64, to: u64) -> u64 {
    let mut link = Link::clean(1_000_000_000, rtt / 2);
    link.loss = loss;
    let mut back = link.clone();
    back.loss = 0.0;
    let mut configs = [config(0, 1), config(1, 1)];
    configs[0].congestion = congestion;
    for one in &mut configs {
        one.budget_bytes = 64 << 20;
    }
    let mut world = World::new(7, configs, [link, back]);
    world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
    world.run_until(from);
    let before = world.pairs[0][1].received;
    world.run_until(to);
    let result = (world.pairs[0][1].received - before) * 8 * 1_000 / (to - from);
    let id = world.pairs[0][0].id.expect("connected");
    let _ = writeln!(
        std::io::stdout(),
        "{congestion:?} {} ms, loss {loss}: {result} Mbit/s {:?}",
        rtt / MS,
        world.stacks[0].info(id)
    );
    result
}

#[test]
fn a_clean_long_path_is_filled() {
    assert!(goodput(Congestion::Bbr, 80 * MS, 0.0, 2 * SEC, 5 * SEC) >= 900);
}

#[test]
fn loss_does_not_stop_bbr() {
    assert!(goodput(Congestion::Bbr, 80 * MS, 0.001, 2 * SEC, 5 * SEC) >= 600);
}

#[test]
fn one_percent_does_not_stop_it_either() {
    assert!(goodput(Congestion::Bbr, 20 * MS, 0.01, SEC, 3 * SEC) >= 400);
}

#[test]
fn cubic_fills_a_clean_path() {
    assert!(goodput(Congestion::Cubic, 20 * MS, 0.0, 2 * SEC, 4 * SEC) >= 850);
}

/// The flight is halved for 200 ms every ten seconds to see the round trip; what that measures is no bandwidth.
#[test]
fn probing_the_round_trip_keeps_the_rate() {
    let link = Link::clean(500_000_000, MS / 2);
    let mut world = World::new(7, [config(0, 1), config(1, 1)], [link.clone(), link.clone()]);
    // A path that becomes longer: the least round trip is not seen again until it expires.
    let longer = Link { delay: MS * 11 / 20, ..link };
    world.change(SEC, [longer.clone(), longer]);
    world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
    let mut least = u64::MAX;
    for at in 2_000..13_000 {
        world.run_until(at * MS);
        let id = world.pairs[0][0].id.expect("connected");
        let rate = world.stacks[0].info(id).and_then(|info| info.pacing_rate).expect("a rate");
        least = least.min(rate * 8 / 1_000_000);
    }
    // The first round after the probe still measures the halved flight.
    assert!(least >= 200, "{least} Mbit/s");
}

/// Slow start overshoots by thousands of segments, of which all are sent again at the rate of the window that is left.
#[test]
fn cubic_recovers_from_its_overshoot() {
    assert!(goodput(Congestion::Cubic, 80 * MS, 0.0, 3 * SEC, 13 * SEC) >= 600);
}

/// Four streams whose ends run in a quarter of the time, in turns of `period`: goodput from the fourth to the eighth second.
fn goodput_on_a_shared_processor(period: u64) -> u64 {
    let link = Link::clean(1_000_000_000, 40 * MS);
    let mut world = World::new(7, [config(0, 1), config(1, 1)], [link.clone(), link]);
    world.processors = [0, period / 2].map(|phase| Processor { period, share: period / 4, phase });
    for _ in 0..4 {
        world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
    }
    let received = [4, 8].map(|second| {
        world.run_until(second * SEC);
        world.pairs.iter().map(|pair| pair[1].received).sum::<u64>()
    });
    let rate = (received[1] - received[0]) * 8 / 4_000_000;
    let _ = writeln!(std::io::stdout(), "shared processor, {} ms: {rate} Mbit/s", period / MS);
    rate
}

/// What a late timer withheld is sent when it fires. Otherwise the rate is measured as that of the path, and decays from round to
/// round: to 300, 20 and 2 Mbit/s.
#[test]
fn late_wake_ups_do_not_slow_bbr() {
    for (period, least) in [(4, 800), (8, 800), (60, 600)] {
        assert!(goodput_on_a_shared_processor(period * MS) >= least);
    }
}

/// Six transfers of 8 MiB at 80 ms begin next to streams with small messages, which were large transfers for `large` before: seconds
/// until the last one ends.
fn next_to_small_messages(streams: u64, large: u64) -> f64 {
    let link = Link { queue: 1 << 20, ..Link::clean(1_000_000_000, 40 * MS) };
    let mut world = World::new(3, [config(0, 1), config(1, 1)], [link.clone(), link]);
    for _ in 0..streams {
        world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
    }
    world.run_until(large);
    for (pair, number) in world.pairs.iter_mut().zip(0..) {
        pair[0].script.write = 1 << 14;
        pair[0].script.write_every = (90 + number % 7) * MS;
    }
    let begin = large + 3 * SEC;
    world.run_until(begin);
    for _ in 0..6 {
        world.open([Script::bulk(8 << 20), Script::bulk(0)], false);
    }
    while !world.pairs[streams as usize..].iter().all(|pair| pair[1].received == 8 << 20) {
        assert!(world.now < begin + 20 * SEC, "it takes more than 20 s");
        world.run_until(world.now + 100 * MS);
    }
    let seconds = (world.now - begin) as f64 / SEC as f64;
    let _ = writeln!(std::io::stdout(), "next to {streams} streams with small messages: {seconds:.1} s");
    seconds
}

/// A receiver's memory goes to those who fill it: no more is promised to the others than they carry.
#[test]
fn small_messages_leave_memory_to_large_transfers() {
    assert!(next_to_small_messages(128, 0) <= 2.0);
    assert!(next_to_small_messages(24, 4 * SEC) <= 2.0);
}

/// What small messages carry is no measure of the path: a transfer of 8 MiB on their stream, at 80 ms, is as fast as on a new one.
#[test]
fn a_large_transfer_follows_small_messages() {
    let link = Link::clean(1_000_000_000, 40 * MS);
    let mut world = World::new(3, [config(0, 1), config(1, 1)], [link.clone(), link]);
    let messages = Script { write: 1 << 14, write_every: 200 * MS, ..Script::bulk(u64::MAX) };
    world.open([messages, Script::bulk(0)], false);
    world.run_until(4 * SEC);
    let script = &mut world.pairs[0][0].script;
    (script.write, script.write_every) = (1 << 16, 0);
    let before = world.pairs[0][1].received;
    world.run_until(6 * SEC);
    let received = world.pairs[0][1].received - before;
    let _ = writeln!(std::io::stdout(), "after small messages: {received} bytes in 2 s");
    assert!(received > 50 << 20);
}
