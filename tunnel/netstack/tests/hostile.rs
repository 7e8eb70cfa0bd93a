//! Floods, peers that never read, and ports that are used again.

use std::net::SocketAddr;
use std::time::Duration;

use warren_netstack::{Batch, ConnectError, Listen, Stack, State};
use warren_netstack_sim::{PORT, addresses, config};

#[test]
fn five_thousand_streams_to_a_peer_that_never_reads() {
    const STREAMS: usize = 5_000;
    let mut configs = [config(0, 4), config(1, 4)];
    for one in &mut configs {
        one.budget_bytes = 32 << 20;
    }
    let budget = configs[0].budget_bytes;
    let mut stacks = configs.map(Stack::new);
    let listener = stacks[1].listen(Listen { backlog: 8_192, ..Listen::port(PORT) }).expect("listens");
    let mut batch = Batch::new(1_420);
    let mut now = Duration::from_secs(1);
    let mut streams = Vec::new();
    let data = vec![1; 65_536];
    for round in 0..3_000 {
        if streams.len() < STREAMS {
            for _ in 0..50 {
                streams
                    .push(stacks[0].connect(now, SocketAddr::new(addresses(1)[0], PORT)).expect("connects"));
            }
        }
        if round % 10 == 0 {
            for id in &streams {
                stacks[0].send(now, *id, &data);
            }
        }
        for side in [0, 1] {
            loop {
                batch.clear();
                stacks[side].poll(now, &mut batch);
                for packet in batch.iter() {
                    stacks[1 - side].input(now, packet);
                }
                if !batch.is_full() {
                    break;
                }
            }
        }
        while stacks[1].accept(listener).is_some() {}
        for stack in &mut stacks {
            while stack.poll_event().is_some() {}
        }
        now += Duration::from_millis(1);
    }
    for stack in &stacks {
        let memory = stack.memory();
        println!("{} streams, {memory:?}, {:?}", stack.streams(), stack.stats());
        assert!(memory.buffers_peak <= budget, "{memory:?}");
        assert!(memory.total <= 2 * budget, "{memory:?}");
        assert_eq!(stack.streams(), STREAMS);
    }
}

/// Whoever ends a connection first keeps what is left of it for a minute. The other end may use its port again before that, and
/// may have begun anew meanwhile.
#[test]
fn a_port_is_used_again_while_the_other_end_still_waits() {
    for (seed, restarted) in (0..30).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut stacks = [config(0, seed), config(1, seed)].map(Stack::new);
        let listener = stacks[1].listen(Listen::port(PORT)).expect("listens");
        let ends = [SocketAddr::new(addresses(0)[0], 40_000), SocketAddr::new(addresses(1)[0], PORT)];
        let mut now = Duration::from_secs(1);
        let mut run = |stacks: &mut [Stack; 2], time: Duration| {
            let (until, mut batch) = (now + time, Batch::new(1_420));
            while now < until {
                for side in [0, 1] {
                    batch.clear();
                    stacks[side].poll(now, &mut batch);
                    for packet in batch.iter() {
                        stacks[1 - side].input(now, packet);
                    }
                }
                now += Duration::from_millis(5);
            }
            now
        };
        let first = stacks[0].connect_from(Duration::from_secs(1), ends[0], ends[1]).expect("connects");
        let at = run(&mut stacks, Duration::from_millis(50));
        let accepted = stacks[1].accept(listener).expect("accepted");
        stacks[1].close(at, accepted);
        let at = run(&mut stacks, Duration::from_millis(50));
        stacks[0].close(at, first);
        let at = run(&mut stacks, Duration::from_secs(3));
        let waits = stacks[1].connect_from(at, ends[1], ends[0]);
        assert_eq!(waits, Err(ConnectError::InUse), "TIME-WAIT");
        if restarted {
            stacks[0] = Stack::new(config(0, seed + 100));
        }
        let second = stacks[0].connect_from(at, ends[0], ends[1]).expect("connects again");
        run(&mut stacks, Duration::from_secs(3));
        let state = stacks[0].state(second);
        assert_eq!(state, State::Established, "seed {seed}, begun anew: {restarted}");
    }
}
