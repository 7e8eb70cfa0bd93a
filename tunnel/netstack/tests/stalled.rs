//! Readers that stop: their streams live on, keep what they were promised, and go on as soon as they read.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use warren_netstack::{Batch, Event, Listen, ListenerId, Stack, StreamId};
use warren_netstack_sim::{PORT, addresses, config};

const STREAMS: usize = 5_000;
const BUDGET: usize = 32 << 20;
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Two stacks and a path without loss.
struct Path {
    now: Duration,
    stacks: [Stack; 2],
    flying: VecDeque<(Duration, usize, Vec<u8>)>,
    batch: Batch,
    listener: ListenerId,
    accepted: Vec<StreamId>,
    lost: Vec<Event>,
}

impl Path {
    fn run_until(&mut self, until: Duration) {
        loop {
            for side in [0, 1] {
                loop {
                    self.batch.clear();
                    self.stacks[side].poll(self.now, &mut self.batch);
                    for packet in self.batch.iter() {
                        self.flying.push_back((self.now + ROUND_TRIP / 2, 1 - side, packet.to_vec()));
                    }
                    if !self.batch.is_full() {
                        break;
                    }
                }
                while let Some(event) = self.stacks[side].poll_event() {
                    if matches!(event, Event::Closed(..)) {
                        self.lost.push(event);
                    }
                }
            }
            self.accepted.extend(std::iter::from_fn(|| self.stacks[1].accept(self.listener)));
            let next = self.flying.front().map(|(at, ..)| *at);
            let next = next.into_iter().chain(self.stacks.iter().filter_map(Stack::next_timeout)).min();
            self.now = match next {
                Some(at) if at <= until => self.now.max(at),
                _ => break,
            };
            while self.flying.front().is_some_and(|(at, ..)| *at <= self.now) {
                let Some((_, side, packet)) = self.flying.pop_front() else { break };
                self.stacks[side].input(self.now, &packet);
            }
        }
        self.now = until;
    }
}

#[test]
fn five_thousand_stalled_readers_live_and_go_on() {
    let configs = [0, 1].map(|side| {
        let mut one = config(side, 9);
        // Default timeouts. The senders' data is not what this is about.
        one.budget_bytes = if side == 0 { 1 << 30 } else { BUDGET };
        one
    });
    let mut stacks = configs.map(Stack::new);
    let listener = stacks[1].listen(Listen { backlog: STREAMS, ..Listen::port(PORT) }).expect("listens");
    let mut path = Path {
        now: Duration::from_secs(1),
        stacks,
        flying: VecDeque::new(),
        batch: Batch::new(1_420),
        listener,
        accepted: Vec::new(),
        lost: Vec::new(),
    };
    let data = vec![1; 65_536];
    for _ in 0..STREAMS / 50 {
        for _ in 0..50 {
            let remote = SocketAddr::new(addresses(1)[0], PORT);
            let id = path.stacks[0].connect(path.now, remote).expect("connects");
            path.stacks[0].send(path.now, id, &data);
        }
        path.run_until(path.now + 3 * ROUND_TRIP);
    }
    path.run_until(path.now + Duration::from_secs(1_800));
    assert_eq!(path.accepted.len(), STREAMS);
    assert_eq!(path.lost, [], "streams that died");
    let memory = path.stacks[1].memory();
    assert!(memory.buffers + memory.promised <= BUDGET, "{memory:?}");
    // All read at the same time.
    let mut sink = vec![0; 65_536];
    let mut read = |path: &mut Path, id: StreamId| {
        let mut total = 0;
        while let Ok(count @ 1..) = path.stacks[1].recv(id, &mut sink) {
            total += count;
        }
        total
    };
    let ids = path.accepted.clone();
    let stalled: usize = ids.iter().map(|id| read(&mut path, *id)).sum();
    assert!(stalled > BUDGET / 2, "{stalled} bytes: the memory was not full");
    let mut resumed = vec![false; STREAMS];
    for _ in 0..8 {
        path.run_until(path.now + ROUND_TRIP / 4);
        for (id, resumed) in ids.iter().zip(&mut resumed) {
            *resumed |= read(&mut path, *id) > 0;
        }
    }
    let waiting = resumed.iter().filter(|resumed| !**resumed).count();
    assert_eq!(waiting, 0, "streams without a byte after two round trips");
    assert_eq!(path.stacks[1].stats().discarded, 0);
}
