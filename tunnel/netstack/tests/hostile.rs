//! Arbitrary packets, floods, and peers that never read.

mod sim;

use std::net::SocketAddr;
use std::time::Duration;

use sim::{PORT, Rng, addresses, config};
use warren_netstack::{Batch, Listen, Stack, fuzz};

#[test]
fn arbitrary_bytes_do_no_harm() {
    let mut rng = Rng(9);
    for _ in 0..3_000 {
        let length = rng.below(600) as usize;
        let mut data: Vec<u8> = (0..length).map(|_| rng.next() as u8).collect();
        fuzz::segments(&data);
        for byte in data.iter_mut().step_by(41) {
            *byte = rng.pick(&[0x45, 0x60, 20, 40, 6, 17, 1, 58]);
        }
        fuzz::packets(&data);
    }
}

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
