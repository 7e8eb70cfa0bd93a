//! Throughput in virtual time, as the goals have it.

use std::io::Write;

use warren_netstack::Congestion;
use warren_netstack_sim::{Link, MS, SEC, Script, World, config};

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
