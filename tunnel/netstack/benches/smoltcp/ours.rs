//! A host with this crate's stack.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{Batch, Config, Congestion, Event, Listen, ListenerId, Stack, StreamId};

use crate::{Host, MTU, WINDOW};

const PORT: u16 = 5_201;
const DATA: &[u8] = &[0x5a; 65_536];

pub(crate) struct Ours {
    stack: Stack,
    batch: Batch,
    listener: Option<ListenerId>,
    /// The measured stream; at the receiver it is the first one that was accepted.
    stream: Option<StreamId>,
    /// Streams that the sender still has to open, which then stay idle.
    idle: usize,
    sends: bool,
    received: u64,
}

impl Ours {
    pub(crate) fn pair(seed: u64, congestion: Congestion, idle: usize) -> [Self; 2] {
        [0, 1].map(|side: u8| {
            let mut config = Config::new(vec![address(side)], [seed as u8 ^ (side << 7); 32]);
            config.mtu = MTU;
            config.congestion = congestion;
            config.max_window = WINDOW;
            config.budget_bytes = 2 * WINDOW;
            let mut stack = Stack::new(config);
            let sends = side == 0;
            let listener = if sends { None } else { stack.listen(Listen::port(PORT)) };
            Self {
                stack,
                batch: Batch::new(MTU),
                listener,
                stream: None,
                idle: if sends { idle } else { 0 },
                sends,
                received: 0,
            }
        })
    }

    fn open(&mut self, time: Duration) {
        if !self.sends {
            return;
        }
        let remote = SocketAddr::new(address(1), PORT);
        if self.stream.is_none() {
            self.stream = self.stack.connect(time, remote).ok();
        } else if self.idle > 0 && self.stack.connect(time, remote).is_ok() {
            self.idle -= 1;
        }
    }
}

impl Host for Ours {
    fn input(&mut self, now: u64, packet: &[u8]) {
        self.stack.input(Duration::from_nanos(now), packet);
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(&[u8])) {
        let time = Duration::from_nanos(now);
        self.open(time);
        while let Some(event) = self.stack.poll_event() {
            if let Event::Acceptable(_) = event
                && let Some(listener) = self.listener
            {
                while let Some(accepted) = self.stack.accept(listener) {
                    self.stream.get_or_insert(accepted);
                }
            }
        }
        if let Some(stream) = self.stream {
            if self.sends {
                while self.stack.send(time, stream, DATA) == DATA.len() {}
            } else {
                while let Ok(count @ 1..) = self.stack.recv_with(stream, <[u8]>::len) {
                    self.received += count as u64;
                }
            }
        }
        loop {
            self.batch.clear();
            let count = self.stack.poll(time, &mut self.batch);
            self.batch.iter().for_each(&mut *send);
            if count == 0 || !self.batch.is_full() {
                break;
            }
        }
    }

    fn next(&mut self, now: u64) -> Option<u64> {
        if self.idle > 0 {
            return Some(now + 1);
        }
        self.stack.next_timeout().map(|at| at.as_nanos() as u64)
    }

    fn received(&self) -> u64 {
        self.received
    }
}

fn address(side: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + side))
}
