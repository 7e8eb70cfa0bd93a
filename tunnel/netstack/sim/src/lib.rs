//! A virtual-time world: two stacks, a link with faults, and a model of what each application must see.
//!
//! - [`World`] is two stacks and a [`Link`] each way; [`World::run`] lets time pass from event to event.
//! - [`End`] plays a [`Script`] at one end of a connection and asserts that each byte it receives is the right one.
//! - [`random`] makes a world of one number, and checks every promise of the stack in it.
//!
//! Times are nanoseconds since the beginning of the world. What breaks a promise panics.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{Batch, CloseReason, Config, Event, Listen, RecvError, Stack, State, StreamId};

mod link;
pub mod random;
mod watch;

pub use link::{Link, Pipe, ecn, mark, too_big};
pub use watch::Watch;

/// A millisecond.
pub const MS: u64 = 1_000_000;
/// A second.
pub const SEC: u64 = 1_000_000_000;

/// splitmix64: one number, one run.
#[derive(Clone)]
pub struct Rng(pub u64);

impl Rng {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 where that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw() % bound }
    }

    /// True as often as `probability` (0 to 1) says.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.draw() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    /// One of these.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Bytes of a stream: position and key determine them.
pub struct Pattern(Vec<u8>);

const PERIOD: usize = 65_521;

impl Default for Pattern {
    fn default() -> Self {
        let mut rng = Rng(1);
        Self((0..PERIOD + 70_000).map(|_| rng.draw() as u8).collect::<Vec<u8>>()).wrapped()
    }
}

impl Pattern {
    fn wrapped(mut self) -> Self {
        let (head, tail) = self.0.split_at_mut(PERIOD);
        for (at, byte) in tail.iter_mut().enumerate() {
            *byte = head[at % PERIOD];
        }
        self
    }

    /// At most 64 KiB from `position` of the stream that has this key.
    pub fn at(&self, key: u64, position: u64, length: usize) -> &[u8] {
        let start = ((key % PERIOD as u64) as usize + (position % PERIOD as u64) as usize) % PERIOD;
        &self.0[start..start + length.min(65_536)]
    }
}

/// What one end of a connection does.
#[derive(Clone, Debug)]
pub struct Script {
    /// Bytes to send.
    pub total: u64,
    /// Bytes a call.
    pub write: usize,
    /// Bytes a call.
    pub read: usize,
    /// Time between reads: a slow reader.
    pub read_every: u64,
    /// Time between writes: a chatty writer.
    pub write_every: u64,
    /// Ends its direction after `total` bytes.
    pub shutdown: bool,
    /// Resets after having sent this many bytes.
    pub reset_after: Option<u64>,
    /// Waits for the peer's end before it sends anything (half close).
    pub after_eof: bool,
}

impl Script {
    /// As fast as the stack takes it, then the end.
    pub fn bulk(total: u64) -> Self {
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
pub struct End {
    /// Its stream, when it has one.
    pub id: Option<StreamId>,
    /// What it does.
    pub script: Script,
    /// Of the pattern that it sends.
    pub key: u64,
    /// Of the pattern that it must receive.
    pub peer_key: u64,
    /// Bytes that the stack has taken.
    pub sent: u64,
    /// Bytes that arrived.
    pub received: u64,
    /// The other end's end has arrived.
    pub eof: bool,
    /// It has ended its direction.
    pub shut: bool,
    /// How the stream ended.
    pub closed: Option<CloseReason>,
    /// It has reset the stream.
    pub reset: bool,
    next_read: u64,
    next_write: u64,
    /// The stack may have something to read.
    pub can_read: bool,
    /// The stack may have room.
    pub can_write: bool,
    released: bool,
}

impl End {
    /// Before its connection.
    pub fn new(script: Script, key: u64, peer_key: u64) -> Self {
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

    /// Does what can be done now.
    ///
    /// # Panics
    /// A byte is not the one that was sent.
    pub fn step(&mut self, now: u64, stack: &mut Stack, pattern: &Pattern) {
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

    /// When it is to be called again, if its stream has no news before.
    pub fn wake(&self, now: u64) -> Option<u64> {
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

    /// Everything has arrived, or it was reset.
    pub fn done(&self) -> bool {
        self.reset || self.closed.is_some_and(|reason| self.eof || reason != CloseReason::Finished)
    }
}

/// Two stacks and a path.
pub struct World {
    /// The time.
    pub now: u64,
    /// The two; connections are made from the first to the second.
    pub stacks: [Stack; 2],
    pipes: [Pipe; 2],
    watch: Watch,
    rng: Rng,
    batch: Batch,
    pattern: Pattern,
    /// Connections: the end at stack 0 and at stack 1.
    pub pairs: Vec<[End; 2]>,
    by_id: [std::collections::BTreeMap<StreamId, usize>; 2],
    changes: VecDeque<(u64, [Link; 2])>,
    /// Moments so far.
    pub steps: u64,
    /// More are taken for a loop.
    pub most_steps: u64,
    /// Events that belong to no script, and whose they were.
    pub other_events: Vec<(usize, Event)>,
    /// Of each side: the processor that it shares with others.
    pub processors: [Processor; 2],
}

/// A shared processor: in each period, it runs a stack for a while and others for the rest. What arrives meanwhile waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor {
    /// Zero: it is never taken away.
    pub period: u64,
    /// The part at the beginning of each period in which the stack runs.
    pub share: u64,
    /// Beginning of a period.
    pub phase: u64,
}

impl Processor {
    /// The first time from `at` on at which the stack runs.
    fn runs(&self, at: u64) -> u64 {
        if self.period == 0 {
            return at;
        }
        let into = (at + self.period - self.phase % self.period) % self.period;
        if into < self.share { at } else { at + self.period - into }
    }
}

/// Of a side: IPv4, then IPv6.
pub fn addresses(side: usize) -> Vec<IpAddr> {
    vec![
        IpAddr::V4(Ipv4Addr::new(10, 100, 0, 1 + side as u8)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + side as u16)),
    ]
}

/// Of a side, with a seed of its own.
pub fn config(side: usize, seed: u64) -> Config {
    let mut bytes = [0; 32];
    let mut rng = Rng(seed ^ (side as u64) << 60);
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&rng.draw().to_le_bytes());
    }
    Config::new(addresses(side), bytes)
}

/// Where both stacks listen.
pub const PORT: u16 = 5_201;

impl World {
    /// A world of these; the links are those away from each side.
    ///
    /// # Panics
    /// Never: a new stack has every port free.
    pub fn new(seed: u64, configs: [Config; 2], links: [Link; 2]) -> Self {
        let mtu = configs[0].mtu.max(configs[1].mtu);
        let mut stacks = configs.map(Stack::new);
        for stack in &mut stacks {
            let listener = stack.listen(Listen::port(PORT));
            assert!(listener.is_some(), "port {PORT} is taken");
        }
        Self {
            now: 0,
            stacks,
            pipes: links.map(Pipe::new),
            watch: Watch::default(),
            rng: Rng(seed),
            batch: Batch::new(mtu),
            pattern: Pattern::default(),
            pairs: Vec::new(),
            by_id: Default::default(),
            changes: VecDeque::new(),
            steps: 0,
            most_steps: u64::MAX,
            other_events: Vec::new(),
            processors: Default::default(),
        }
    }

    /// The path changes at a time.
    pub fn change(&mut self, at: u64, links: [Link; 2]) {
        self.changes.push_back((at, links));
    }

    /// The time as the stacks take it.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.now)
    }

    /// Connects from stack 0 to stack 1; gives the connection's place in `pairs`.
    ///
    /// # Panics
    /// The stack has no room for another connection.
    pub fn open(&mut self, scripts: [Script; 2], v6: bool) -> usize {
        let remote = SocketAddr::new(addresses(1)[usize::from(v6)], PORT);
        let id = self.stacks[0].connect(Duration::from_nanos(self.now), remote).expect("connects");
        let index = self.pairs.len();
        let [left, right] = scripts;
        let (a, b) = (self.rng.draw(), self.rng.draw());
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
                Event::Connected(_) | Event::Echo | Event::Pong(_) => {}
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
    ///
    /// # Panics
    /// There were `most_steps` already, or an end received a wrong byte.
    pub fn step(&mut self) -> bool {
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
        for side in [0, 1] {
            let runs = |at: u64| self.processors[side].runs(at.max(self.now));
            consider(self.pipes[1 - side].next().map(runs));
            consider(self.stacks[side].next_timeout().map(|at| runs(at.as_nanos() as u64)));
            for pair in &self.pairs {
                consider(pair[side].wake(self.now).map(runs));
            }
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
        let time = Duration::from_nanos(now);
        let running = self.processors.map(|processor| processor.runs(now) == now);
        for (side, pipe) in self.pipes.iter_mut().enumerate().filter(|(side, _)| running[1 - *side]) {
            pipe.deliver(now, |packet| {
                self.watch.arrive(now, packet);
                self.stacks[1 - side].input(time, packet);
            });
        }
        // Each side twice: what one does may be news for itself.
        for side in [0, 0, 1, 1].into_iter().filter(|side| running[*side]) {
            self.events(side);
            for pair in &mut self.pairs {
                pair[side].step(now, &mut self.stacks[side], &self.pattern);
            }
            loop {
                self.batch.clear();
                let count = self.stacks[side].poll(Duration::from_nanos(now), &mut self.batch);
                let full = self.batch.is_full();
                for packet in self.batch.iter() {
                    self.watch.check(now, packet);
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
    pub fn run_until(&mut self, until: u64) {
        while self.now < until && self.step() {}
    }

    /// Runs until every pair is done at both ends, at most until `limit`.
    pub fn run(&mut self, limit: u64) {
        while self.now < limit
            && !self
                .pairs
                .iter()
                .all(|pair| pair.iter().all(|end| end.done() || end.id.is_none() && pair[0].done()))
            && self.step()
        {}
    }

    /// Packets that each direction of the path has lost.
    pub fn dropped(&self) -> [u64; 2] {
        [self.pipes[0].dropped, self.pipes[1].dropped]
    }

    /// Packets that each direction of the path has marked.
    pub fn marked(&self) -> [u64; 2] {
        [self.pipes[0].marked, self.pipes[1].marked]
    }
}
