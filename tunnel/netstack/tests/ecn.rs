//! A path that marks packets instead of dropping them (RFC 3168), in virtual time.

use std::io::Write;

use warren_netstack::{Congestion, Ecn};
use warren_netstack_sim::{Link, MS, SEC, Script, World, config};

const RATE: u64 = 50_000_000;
const ROUND_TRIP: u64 = 40 * MS;
const BDP: u64 = RATE / 8 * ROUND_TRIP / SEC;

/// What one stream got of a queue that is managed from half a BDP on.
struct Outcome {
    /// Mbit/s.
    goodput: f64,
    retransmitted: u64,
    /// Round trips in which the sender has heard of a mark.
    marked: u64,
}

fn run(congestion: Congestion, ecn: [Ecn; 2]) -> Outcome {
    let mut link = Link::clean(RATE, ROUND_TRIP / 2);
    link.queue = 4 * BDP;
    link.manages = Some(BDP / 2);
    let back = Link::clean(RATE, ROUND_TRIP / 2);
    let mut configs = [config(0, 5), config(1, 5)];
    for (one, ecn) in configs.iter_mut().zip(ecn) {
        one.congestion = congestion;
        one.ecn = ecn;
    }
    let mut world = World::new(5, configs, [link, back]);
    let pair = world.open([Script::bulk(u64::MAX), Script::bulk(0)], false);
    world.run_until(20 * SEC);
    let end = &world.pairs[pair];
    let info = end[0].id.and_then(|id| world.stacks[0].info(id)).expect("a stream");
    let outcome = Outcome {
        goodput: end[1].received as f64 * 8.0 / 20e6,
        retransmitted: info.retransmitted,
        marked: info.marked,
    };
    let _ = writeln!(
        std::io::stdout(),
        "{congestion:?} {ecn:?}: {:.1} Mbit/s, {} retransmitted, {} marks answered, {} packets marked, {} lost",
        outcome.goodput,
        outcome.retransmitted,
        outcome.marked,
        world.marked()[0],
        world.dropped()[0]
    );
    outcome
}

/// The same queue with the same threshold: what is marked is not sent again, and the rate stays.
#[test]
fn marks_replace_retransmissions() {
    for congestion in Congestion::ALL {
        let dropped = run(congestion, [Ecn::Accept, Ecn::Accept]);
        let marked = run(congestion, [Ecn::Ask, Ecn::Accept]);
        assert!(dropped.retransmitted >= 20 && dropped.marked == 0, "the queue drops");
        assert!(marked.marked > 0 && marked.retransmitted == 0, "{} sent again", marked.retransmitted);
        assert!(marked.goodput > 0.9 * dropped.goodput, "{} of {}", marked.goodput, dropped.goodput);
    }
}
