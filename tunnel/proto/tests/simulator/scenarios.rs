//! Single kinds of trouble.

use std::time::Duration;

use crate::network::Faults;
use crate::world::{RECOVERY, World};

const SECOND: Duration = Duration::from_secs(1);

fn pair(seed: u64) -> World {
    let mut world = World::new(seed, 2, |_, _| true);
    world.flow(0, 1, SECOND);
    world.flow(1, 0, SECOND);
    world
}

#[test]
fn nothing_is_lost_on_a_good_network() {
    let mut world = pair(1);
    world.run_for(600 * SECOND);
    world.model.all_arrived(Duration::ZERO, world.now - SECOND);
    let status = &world.nodes[0].engine.peers(world.nodes[0].now(world.now))[0];
    let handshakes = status.handshakes_initiated + status.handshakes_answered;
    assert!((5..=7).contains(&handshakes), "a session each two minutes: {handshakes}");
}

#[test]
fn rekeying_loses_nothing_whoever_talks() {
    for (a, b) in [(true, false), (false, true)] {
        let mut world = World::new(2, 2, |_, _| true);
        world.flow(0, 1, SECOND);
        world.run_for(SECOND * 3);
        world.flows.clear();
        if a {
            world.flow(0, 1, SECOND);
        }
        if b {
            world.flow(1, 0, SECOND);
        }
        world.run_for(1000 * SECOND);
        world.model.all_arrived(Duration::ZERO, world.now - SECOND);
    }
}

#[test]
fn a_bad_network_heals() {
    for seed in 0..8 {
        let mut world = pair(seed);
        world.network.faults = Faults {
            loss: 0.4,
            duplicate: 0.2,
            corrupt: 0.1,
            delay: Duration::from_millis(100),
            jitter: Duration::from_secs(3),
        };
        world.run_for(400 * SECOND);
        // What is late arrives before the calm begins.
        world.calm(90 * SECOND);
        assert!(world.model.delivered > 100);
    }
}

#[test]
fn a_long_silence_of_the_network_heals() {
    for seed in 0..4 {
        let mut world = pair(seed);
        world.run_for(50 * SECOND);
        world.network.faults.loss = 1.0;
        world.run_for(Duration::from_secs(60 + 100 * seed));
        world.calm(60 * SECOND);
    }
}

#[test]
fn a_restarted_peer_is_back_in_time() {
    for seed in 0..6 {
        let mut world = pair(seed);
        world.run_for(Duration::from_secs(30 + seed * 37));
        world.restart((seed % 2) as usize);
        world.calm(60 * SECOND);
    }
}

#[test]
fn a_roaming_peer_is_followed() {
    for seed in 0..4 {
        let mut world = pair(seed);
        world.run_for(30 * SECOND);
        for _ in 0..5 {
            world.roam(0);
            let from = world.now + 2 * SECOND;
            world.run_for(20 * SECOND);
            world.model.all_arrived(from, world.now - SECOND);
        }
    }
}

#[test]
fn clocks_that_jump_do_no_harm() {
    let mut world = pair(5);
    for jump in [86_400.0, -86_400.0, -1e9, 3e8, 0.0] {
        world.nodes[0].wall = 1_700_000_000.0 + jump;
        let from = world.now;
        world.run_for(400 * SECOND);
        world.model.all_arrived(from, world.now - SECOND);
    }
}

#[test]
fn replays_do_no_harm() {
    let mut world = pair(6);
    for step in 0..2000 {
        world.run_for(Duration::from_millis(300));
        world.replay(step % 2 == 0);
    }
    world.calm(60 * SECOND);
}

#[test]
fn who_delivers_lost_packets_from_elsewhere_does_not_keep_the_peers_apart() {
    let mut world = pair(9);
    world.run_for(30 * SECOND);
    world.network.faults.loss = 1.0;
    for _ in 0..300 {
        world.run_for(Duration::from_millis(500));
        world.replay(true);
    }
    world.network.faults = Faults::NONE;
    // Both take somebody else's address for the other's, until they try the configured one.
    world.run_for(60 * SECOND);
    world.calm(60 * SECOND);
}

#[test]
fn an_idle_pair_is_silent() {
    let mut world = World::new(7, 2, |_, _| true);
    world.packet(0, 1);
    world.run_for(700 * SECOND);
    let sent = world.model.sent();
    let quiet = world.nodes[0].engine.peers(world.nodes[0].now(world.now))[0].traffic;
    world.run_for(3600 * SECOND);
    let later = world.nodes[0].engine.peers(world.nodes[0].now(world.now))[0].traffic;
    assert_eq!((sent, quiet), (1, later), "silence is a virtue (whitepaper section 6.5)");
    assert_eq!(world.nodes[0].engine.poll_timeout(), None);
}

#[test]
fn many_spokes_of_one_hub() {
    let spokes = 40;
    let mut world = World::new(8, spokes + 1, |a, b| a == 0 || b == 0);
    for spoke in 1..=spokes {
        world.flow(spoke, 0, 5 * SECOND);
        world.flow(0, spoke, 7 * SECOND);
    }
    world.network.faults = Faults { loss: 0.1, jitter: Duration::from_millis(400), ..Faults::NONE };
    world.run_for(30 * SECOND);
    world.restart(0);
    for spoke in 1..=5 {
        world.roam(spoke);
    }
    world.run_for(10 * SECOND);
    world.calm(RECOVERY + 20 * SECOND);
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let mut world = pair(seed);
        world.network.faults = Faults { loss: 0.2, jitter: SECOND, ..Faults::NONE };
        world.run_for(300 * SECOND);
        (world.model.trace, world.model.delivered)
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
