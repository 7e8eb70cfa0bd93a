//! Two stacks in memory.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{Batch, Config, Event, Listen, Stack, StreamId};

/// Bytes of a transfer.
pub(crate) const MIB: usize = 1 << 20;

/// Two stacks on a path of 100 µs, with `idle` established streams and one that is measured.
pub(crate) struct Pair {
    now: Duration,
    stacks: [Stack; 2],
    batch: Batch,
    bulk: [StreamId; 2],
    data: Vec<u8>,
}

impl Pair {
    pub(crate) fn new(idle: usize) -> Self {
        let address = |side: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, side));
        let mut stacks = [1, 2].map(|side| Stack::new(Config::new(vec![address(side)], [side; 32])));
        let listener = stacks[1].listen(Listen::port(1));
        let mut pair = Self {
            now: Duration::from_secs(1),
            batch: Batch::new(1_420),
            data: vec![0x5a; MIB],
            bulk: [stacks[0]
                .connect(Duration::from_secs(1), SocketAddr::new(address(2), 1))
                .expect("connects"); 2],
            stacks,
        };
        pair.settle();
        pair.bulk[1] = pair.stacks[1].accept(listener.expect("listens")).expect("accepts");
        for _ in 0..idle {
            pair.stacks[0].connect(pair.now, SocketAddr::new(address(2), 1)).expect("connects");
            pair.settle();
            let other = pair.stacks[1].accept(listener.expect("listens")).expect("accepts");
            black_box(other);
        }
        for _ in 0..64 {
            pair.transfer();
        }
        pair
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            self.now += Duration::from_micros(50);
            self.exchange(0);
            self.exchange(1);
        }
        for stack in &mut self.stacks {
            while let Some(Event::Acceptable(_) | Event::Connected(_) | Event::Readable(_)) =
                stack.poll_event()
            {}
        }
    }

    fn exchange(&mut self, from: usize) -> usize {
        self.batch.clear();
        let count = self.stacks[from].poll(self.now, &mut self.batch);
        for packet in self.batch.iter() {
            self.stacks[1 - from].input(self.now, packet);
        }
        count
    }

    /// Moves a MiB from the first stack to the second.
    pub(crate) fn transfer(&mut self) {
        let (mut sent, mut received) = (0, 0);
        while received < MIB {
            self.now += Duration::from_micros(20);
            sent += self.stacks[0].send(self.now, self.bulk[0], &self.data[sent..]);
            self.exchange(0);
            while let Ok(count @ 1..) = self.stacks[1].recv_with(self.bulk[1], |chunk| black_box(chunk).len())
            {
                received += count;
            }
            self.exchange(1);
            while self.stacks[0].poll_event().is_some() {}
            while self.stacks[1].poll_event().is_some() {}
        }
    }
}
