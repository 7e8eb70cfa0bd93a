//! A virtual-time world: two stacks, a link with faults, and a model of what each application must see.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{Batch, CloseReason, Config, Event, Listen, RecvError, Stack, State, StreamId};

pub(crate) mod link;

pub(crate) use link::Link;
use link::Pipe;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SEC: u64 = 1_000_000_000;

/// splitmix64: one number, one run.
#[derive(Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.next() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Bytes of a stream: position and key determine them.
pub(crate) struct Pattern(Vec<u8>);

const PERIOD: usize = 65_521;

impl Pattern {
    pub(crate) fn new() -> Self {
        let mut rng = Rng(1);
        Self((0..PERIOD + 70_000).map(|_| rng.next() as u8).collect::<Vec<u8>>()).wrapped()
    }

    fn wrapped(mut self) -> Self {
        let (head, tail) = self.0.split_at_mut(PERIOD);
        for (at, byte) in tail.iter_mut().enumerate() {
            *byte = head[at % PERIOD];
        }
        self
    }

    pub(crate) fn at(&self, key: u64, position: u64, length: usize) -> &[u8] {
        let start = ((key % PERIOD as u64) as usize + (position % PERIOD as u64) as usize) % PERIOD;
        &self.0[start..start + length.min(65_536)]
    }
}

/// What one end of a connection does.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Bytes to send.
    pub(crate) total: u64,
    /// Bytes a call.
    pub(crate) write: usize,
    /// Bytes a call.
    pub(crate) read: usize,
    /// Time between reads: a slow reader.
    pub(crate) read_every: u64,
    /// Time between writes: a chatty writer.
    pub(crate) write_every: u64,
    /// Ends its direction after `total` bytes.
    pub(crate) shutdown: bool,
    /// Resets after having sent this many bytes.
    pub(crate) reset_after: Option<u64>,
    /// Waits for the peer's end before it sends anything (half close).
    pub(crate) after_eof: bool,
}

impl Script {
    pub(crate) fn bulk(total: u64) -> Self {
        Self {
            total,
            write: 65_536,
            read: 65_536,
            read_every: 0,
            write_every: 0,
            shutdown: true,
            reset_after: None,
            after_eof: false,
        }
    }
}

/// One end of one connection, with the model of what it must see.
pub(crate) struct End {
    pub(crate) id: Option<StreamId>,
    pub(crate) script: Script,
    pub(crate) key: u64,
    pub(crate) peer_key: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) eof: bool,
    pub(crate) shut: bool,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) reset: bool,
    next_read: u64,
    next_write: u64,
    pub(crate) can_read: bool,
    pub(crate) can_write: bool,
    released: bool,
}

impl End {
    pub(crate) fn new(script: Script, key: u64, peer_key: u64) -> Self {
        Self {
            id: None,
            script,
            key,
            peer_key,
            sent: 0,
            received: 0,
            eof: false,
            shut: false,
            closed: None,
            reset: false,
            next_read: 0,
            next_write: 0,
            can_read: false,
            can_write: true,
            released: false,
        }
    }

    pub(crate) fn step(&mut self, now: u64, stack: &mut Stack, pattern: &Pattern) {
        let Some(id) = self.id else { return };
        if self.released {
            return;
        }
        let time = Duration::from_nanos(now);
        if self.can_read && now >= self.next_read {
            self.can_read = false;
            self.next_read = now + self.script.read_every;
            let mut left = if self.script.read_every > 0 { self.script.read } else { usize::MAX };
            loop {
                let (key, mut position) = (self.peer_key, self.received);
                let result = stack.recv_with(id, |chunk| {
                    let length = chunk.len().min(left);
                    let length = length.min(65_536);
                    assert_eq!(&chunk[..length], pattern.at(key, position, length), "bytes at {position}");
                    position += length as u64;
                    left -= length;
                    length
                });
                match result {
                    Ok(0) if left == 0 => {
                        self.can_read = true;
                        break;
                    }
                    Ok(0) => {
                        self.eof = true;
                        break;
                    }
                    Ok(count) => self.received += count as u64,
                    Err(RecvError::WouldBlock) => break,
                    Err(RecvError::Closed(_)) => break,
                }
                if left == 0 {
                    self.can_read = true;
                    break;
                }
            }
        }
        let ready = !self.script.after_eof || self.eof;
        while ready
            && self.can_write
            && now >= self.next_write
            && self.sent < self.script.total
            && self.closed.is_none()
        {
            let want = (self.script.total - self.sent).min(self.script.write as u64) as usize;
            let data = pattern.at(self.key, self.sent, want);
            let taken = stack.send(time, id, data);
            self.sent += taken as u64;
            self.next_write = now + self.script.write_every;
            if taken < data.len() {
                self.can_write = false;
            }
        }
        if let Some(after) = self.script.reset_after
            && self.sent >= after
            && !self.reset
            && stack
                .info(id)
                .is_some_and(|info| info.state != State::SynSent && info.queued + after <= self.sent)
        {
            self.reset = true;
            self.released = true;
            stack.abort(time, id);
            return;
        }
        if ready && self.script.shutdown && !self.shut && self.sent == self.script.total {
            self.shut = true;
            stack.shutdown(time, id);
        }
    }

    fn wake(&self, now: u64) -> Option<u64> {
        if self.id.is_none() || self.released || self.closed.is_some() && !self.can_read {
            return None;
        }
        let read = (self.can_read && self.next_read > now).then_some(self.next_read);
        let ready = !self.script.after_eof || self.eof;
        let write = (ready
            && self.can_write
            && self.sent < self.script.total
            && self.next_write > now
            && self.closed.is_none())
        .then_some(self.next_write);
        read.into_iter().chain(write).min()
    }

    pub(crate) fn done(&self) -> bool {
        self.reset || self.closed.is_some_and(|reason| self.eof || reason != CloseReason::Finished)
    }
}

/// Two stacks and a path.
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) stacks: [Stack; 2],
    pipes: [Pipe; 2],
    rng: Rng,
    batch: Batch,
    pattern: Pattern,
    /// Connections: the end at stack 0 and at stack 1.
    pub(crate) pairs: Vec<[End; 2]>,
    by_id: [std::collections::BTreeMap<StreamId, usize>; 2],
    listener: [Option<warren_netstack::ListenerId>; 2],
    changes: VecDeque<(u64, [Link; 2])>,
    pub(crate) steps: u64,
    /// More are taken for a loop.
    pub(crate) most_steps: u64,
    pub(crate) other_events: Vec<(usize, Event)>,
}

pub(crate) fn addresses(side: usize) -> Vec<IpAddr> {
    vec![
        IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1 + side as u8)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + side as u16)),
    ]
}

pub(crate) fn config(side: usize, seed: u64) -> Config {
    let mut bytes = [0; 32];
    let mut rng = Rng(seed ^ (side as u64) << 60);
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&rng.next().to_le_bytes());
    }
    Config::new(addresses(side), bytes)
}

pub(crate) const PORT: u16 = 5_201;

impl World {
    pub(crate) fn new(seed: u64, configs: [Config; 2], links: [Link; 2]) -> Self {
        let mtu = configs[0].mtu.max(configs[1].mtu);
        let mut stacks = configs.map(Stack::new);
        let listener = [0, 1].map(|side: usize| stacks[side].listen(Listen::port(PORT)));
        Self {
            now: 0,
            stacks,
            pipes: links.map(Pipe::new),
            rng: Rng(seed),
            batch: Batch::new(mtu),
            pattern: Pattern::new(),
            pairs: Vec::new(),
            by_id: Default::default(),
            listener,
            changes: VecDeque::new(),
            steps: 0,
            most_steps: u64::MAX,
            other_events: Vec::new(),
        }
    }

    pub(crate) fn simple(seed: u64, link: Link) -> Self {
        Self::new(seed, [config(0, seed), config(1, seed)], [link.clone(), link])
    }

    /// The path changes at a time.
    pub(crate) fn change(&mut self, at: u64, links: [Link; 2]) {
        self.changes.push_back((at, links));
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Connects from stack 0 to stack 1.
    pub(crate) fn open(&mut self, scripts: [Script; 2], v6: bool) -> usize {
        let remote = SocketAddr::new(addresses(1)[usize::from(v6)], PORT);
        let id = self.stacks[0].connect(Duration::from_nanos(self.now), remote).expect("connects");
        let index = self.pairs.len();
        let [left, right] = scripts;
        let (a, b) = (self.rng.next(), self.rng.next());
        let mut ends = [End::new(left, a, b), End::new(right, b, a)];
        ends[0].id = Some(id);
        self.pairs.push(ends);
        self.by_id[0].insert(id, index);
        index
    }

    fn events(&mut self, side: usize) -> bool {
        let mut any = false;
        while let Some(event) = self.stacks[side].poll_event() {
            any = true;
            match event {
                Event::Acceptable(listener) => {
                    while let Some(id) = self.stacks[side].accept(listener) {
                        // By the client's port: the pair whose other end it is.
                        let remote = self.stacks[side].info(id).map(|info| info.remote);
                        let pair = self.pairs.iter().position(|pair| {
                            pair[side].id.is_none()
                                && pair[1 - side]
                                    .id
                                    .and_then(|other| self.stacks[1 - side].info(other))
                                    .map(|info| info.local)
                                    == remote
                        });
                        match pair {
                            Some(pair) => {
                                self.pairs[pair][side].id = Some(id);
                                self.by_id[side].insert(id, pair);
                            }
                            None => self.stacks[side].abort(Duration::from_nanos(self.now), id),
                        }
                    }
                }
                Event::Readable(id) => self.end(side, id, |end| end.can_read = true),
                Event::Writable(id) => self.end(side, id, |end| end.can_write = true),
                Event::Connected(_) | Event::Echo => {}
                Event::Closed(id, reason) => self.end(side, id, |end| {
                    end.closed = Some(reason);
                    end.can_read = true;
                }),
                other => self.other_events.push((side, other)),
            }
        }
        any
    }

    fn end(&mut self, side: usize, id: StreamId, act: impl FnOnce(&mut End)) {
        if let Some(pair) = self.by_id[side].get(&id) {
            act(&mut self.pairs[*pair][side]);
        }
    }

    fn sources(&self) -> String {
        let stacks: Vec<_> = self.stacks.iter().map(Stack::next_timeout).collect();
        let wakes: Vec<_> =
            self.pairs.iter().map(|pair| [pair[0].wake(self.now), pair[1].wake(self.now)]).collect();
        format!(
            "stacks {stacks:?} pipes {:?} {:?} ends {wakes:?}",
            self.pipes[0].next(),
            self.pipes[1].next()
        )
    }

    /// One moment. False when nothing will ever happen again.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        assert!(
            self.steps < self.most_steps,
            "a storm: {} steps by {} ns, next {:?}",
            self.steps,
            self.now,
            self.sources()
        );
        let mut next: Option<u64> = None;
        let mut consider = |at: Option<u64>| next = next.into_iter().chain(at).min();
        consider(self.pipes[0].next());
        consider(self.pipes[1].next());
        for stack in &self.stacks {
            consider(stack.next_timeout().map(|at| at.as_nanos() as u64));
        }
        for pair in &self.pairs {
            consider(pair[0].wake(self.now));
            consider(pair[1].wake(self.now));
        }
        consider(self.changes.front().map(|(at, _)| *at));
        let Some(next) = next else { return false };
        self.now = self.now.max(next);
        if self.changes.front().is_some_and(|(at, _)| *at <= self.now)
            && let Some((_, links)) = self.changes.pop_front()
        {
            let [a, b] = links;
            self.pipes[0].link = a;
            self.pipes[1].link = b;
        }
        let now = self.now;
        self.pipes[0].deliver(now, &mut self.stacks[1]);
        self.pipes[1].deliver(now, &mut self.stacks[0]);
        // Each side twice: what one does may be news for itself.
        for side in [0, 0, 1, 1] {
            self.events(side);
            for pair in &mut self.pairs {
                pair[side].step(now, &mut self.stacks[side], &self.pattern);
            }
            loop {
                self.batch.clear();
                let count = self.stacks[side].poll(Duration::from_nanos(now), &mut self.batch);
                let full = self.batch.is_full();
                for packet in self.batch.iter() {
                    if let Some(error) = self.pipes[side].push(now, &mut self.rng, packet) {
                        self.pipes[1 - side].answer(now, error);
                    }
                }
                if count == 0 || !full {
                    break;
                }
            }
        }
        true
    }

    /// Runs until `until` or until nothing will happen.
    pub(crate) fn run_until(&mut self, until: u64) {
        while self.now < until && self.step() {}
    }

    /// Runs until every pair is done at both ends, at most until `limit`.
    pub(crate) fn run(&mut self, limit: u64) {
        while self.now < limit
            && !self
                .pairs
                .iter()
                .all(|pair| pair.iter().all(|end| end.done() || end.id.is_none() && pair[0].done()))
            && self.step()
        {}
    }

    pub(crate) fn dropped(&self) -> [u64; 2] {
        [self.pipes[0].dropped, self.pipes[1].dropped]
    }
}
