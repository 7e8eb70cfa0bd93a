//! Random histories: several gateways, lost transactions, lost answers, late news, crashes.

use proptest::prelude::*;

use crate::world::{Fate, World, peer};

const NODES: usize = 3;
const PEERS: u8 = 12;

#[derive(Debug, Clone)]
enum Op {
    Enrol(usize, u8, usize),
    Settle(usize, usize, Fate),
    Deliver(usize, usize),
    Handshake(usize, u8),
    Advance(u64),
    Crash(usize),
    Resume(usize),
    Release(usize, u8),
    Evict(usize, u8),
    Readmit(usize, u8),
    Revoke(usize, usize),
}

fn op() -> impl Strategy<Value = Op> {
    let fate = prop_oneof![8 => Just(Fate::Arrives), 1 => Just(Fate::Lost), 1 => Just(Fate::AnswerLost)];
    prop_oneof![
        8 => (0..NODES, 0..PEERS, 0..3_usize).prop_map(|(node, peer, token)| Op::Enrol(node, peer, token)),
        16 => (0..NODES, 0..8_usize, fate).prop_map(|(node, which, fate)| Op::Settle(node, which, fate)),
        6 => (0..NODES, 1..6_usize).prop_map(|(node, count)| Op::Deliver(node, count)),
        6 => (0..NODES, 0..PEERS).prop_map(|(node, peer)| Op::Handshake(node, peer)),
        4 => (1..200_u64).prop_map(Op::Advance),
        2 => (0..NODES).prop_map(Op::Crash),
        1 => (0..NODES).prop_map(Op::Resume),
        2 => (0..NODES, 0..PEERS).prop_map(|(node, peer)| Op::Release(node, peer)),
        1 => (0..NODES, 0..PEERS).prop_map(|(node, peer)| Op::Evict(node, peer)),
        1 => (0..NODES, 0..PEERS).prop_map(|(node, peer)| Op::Readmit(node, peer)),
        1 => (0..NODES, 0..3_usize).prop_map(|(node, token)| Op::Revoke(node, token)),
    ]
}

fn play(world: &mut World, op: &Op) {
    match *op {
        Op::Enrol(node, key, token) => world.enrol(node, peer(key), token),
        Op::Settle(node, which, fate) => world.settle(node, which, fate),
        Op::Deliver(node, count) => world.deliver(node, count),
        Op::Handshake(node, key) => world.handshake(node, peer(key)),
        Op::Advance(seconds) => world.advance(seconds),
        Op::Crash(node) => world.crash(node),
        Op::Resume(node) => world.resume(node),
        Op::Release(node, key) => world.release(node, peer(key)),
        Op::Evict(node, key) => world.evict(node, peer(key)),
        Op::Readmit(node, key) => world.readmit(node, peer(key)),
        Op::Revoke(node, token) => world.revoke(node, token),
    }
}

/// Once nobody does anything any more, nothing is left behind.
fn end(world: &mut World) {
    world.quiesce();
    // Records of tokens outlive them by an hour.
    for _ in 0..60 {
        world.advance(240);
        world.quiesce();
    }
    assert!(world.table.is_empty(), "left: {:?}", world.table.contents().collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn histories_keep_every_promise_and_leave_nothing(ops in prop::collection::vec(op(), 1..120)) {
        let mut world = World::new(NODES);
        for op in &ops {
            play(&mut world, op);
        }
        end(&mut world);
    }
}

/// One history with every kind of step, and a crash before each transaction's answer, after it, and instead of it.
#[test]
fn a_crash_at_every_step_of_a_life() {
    let life = |world: &mut World, crash: Option<(usize, Fate)>| {
        let mut steps = 0;
        let mut drive = |world: &mut World| {
            while !world.nodes[0].under_way.is_empty() {
                steps += 1;
                match crash {
                    Some((at, fate)) if at == steps => {
                        world.settle(0, 0, fate);
                        world.crash(0);
                    }
                    _ => world.settle(0, 0, Fate::Arrives),
                }
                world.deliver(1, usize::MAX);
            }
        };
        for key in 0..3 {
            world.enrol(0, peer(key), 1);
            drive(world);
        }
        world.advance(100);
        world.handshake(0, peer(0));
        drive(world);
        world.release(0, peer(1));
        drive(world);
        world.evict(0, peer(2));
        drive(world);
        world.revoke(0, 1);
        drive(world);
        world.readmit(0, peer(2));
        drive(world);
        steps
    };
    let steps = life(&mut World::new(2), None);
    assert!(steps >= 8, "{steps} steps");
    for at in 1..=steps {
        for fate in [Fate::Arrives, Fate::Lost, Fate::AnswerLost] {
            let mut world = World::new(2);
            life(&mut world, Some((at, fate)));
            end(&mut world);
        }
    }
}
