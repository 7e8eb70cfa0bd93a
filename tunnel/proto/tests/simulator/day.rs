//! A day of everything.

use std::time::Duration;

use crate::network::Faults;
use crate::world::World;

/// Three peers for 24 hours: each hour has its share of trouble, then calm, in which all flows must recover.
///
/// Two things are left out because no WireGuard peer survives them: two peers that both move at once know no
/// address of each other (so only the last node roams), and one that restarts with a clock that was set back is
/// refused until the clock is past its last stamp (so a restart sets the clock right).
#[test]
fn a_day() {
    let mut world = World::new(2026, 3, |_, _| true);
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)] {
        world.flow(from, to, Duration::from_secs(5));
    }
    let mut handshakes = 0;
    let mut latest = [0.0_f64; 3];
    for hour in 0..24 {
        let end = Duration::from_secs(3600 * (hour + 1));
        let trouble = world.now + Duration::from_secs(1200);
        while world.now < trouble {
            let dice = &mut world.dice;
            world.network.faults = Faults {
                loss: [0.0, 0.05, 0.3, 1.0][dice.below(4) as usize],
                duplicate: [0.0, 0.2][dice.below(2) as usize],
                corrupt: [0.0, 0.1][dice.below(2) as usize],
                delay: Duration::from_millis(dice.below(300)),
                jitter: Duration::from_millis([0, 50, 2000][dice.below(3) as usize]),
            };
            let node = dice.below(3) as usize;
            match dice.below(6) {
                0 => {
                    handshakes += completed(&world, node);
                    world.nodes[node].wall = world.nodes[node].wall.max(latest[node]);
                    world.restart(node);
                }
                1 => world.roam(2),
                2 => world.nodes[node].wall += 3600.0,
                3 => world.nodes[node].wall -= 1800.0 * f64::from(u8::from(hour % 2 == 0)),
                4 => (0..20).for_each(|_| world.replay(false)),
                _ => {}
            }
            latest[node] = latest[node].max(world.nodes[node].wall);
            let step = Duration::from_secs(20 + world.dice.below(200));
            world.run_for(step);
        }
        world.calm(end - world.now);
    }
    handshakes += (0..3).map(|node| completed(&world, node)).sum::<u64>();
    assert!(world.model.delivered > 80_000, "{}", world.model.delivered);
    // Three pairs, both ends count, one in two minutes or more.
    assert!(handshakes >= 3 * 2 * 24 * 60 * 60 / 130, "{handshakes}");
    for node in &mut world.nodes {
        let stats = node.engine.stats(node.now(world.now));
        assert!(!stats.under_load);
    }
}

fn completed(world: &World, node: usize) -> u64 {
    let node = &world.nodes[node];
    let peers = node.engine.peers(node.now(world.now));
    peers.iter().map(|peer| peer.handshakes_initiated + peer.handshakes_answered).sum()
}
