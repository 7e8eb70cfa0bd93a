//! The stack: packets in, packets out, and what the application calls.

mod datagrams;
mod forward;
mod packets;
mod streams;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hashbrown::HashMap;

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::config::Config;
use crate::congestion::Congestion;
use crate::demux::{Demux, Flow, TimeWait, Waiting};
use crate::ecn::NOT_ECT;
use crate::fragments::{self, Fragments};
use crate::icmp::{self, Message, Unreachable};
use crate::listen::{ListenerId, Listeners};
use crate::random::{Keyed, Ports, Rng, address_bits};
use crate::seq::{MS, Nanos, SEC, before};
use crate::tcp::{self, CloseReason, Conn, Context, Control, State};
use crate::timer::Wheel;
use crate::udp::{Datagram, SocketId, Udp, UdpError, Undelivered};
use crate::wire::{
    self, Flags, ICMP4, ICMP6, Ip, MIN_MTU, Options, TCP, Tcp, UDP, parse_ip, parse_tcp, parse_udp,
};

/// Resets a second for segments that belong to no connection.
const RESET_RATE: u32 = 1_000;
/// ICMP messages we send a second.
const ICMP_RATE: u32 = 1_000;
/// Answers to packets that wait for a poll.
const MAX_RAW: usize = 256;
/// The same for packets of other hosts that are passed on.
const MAX_PASSED: usize = 1_024;
/// Destinations whose MTU is remembered, and for how long (RFC 8201 §4).
const MAX_PATHS: usize = 1_024;
const PATH_AGE: Nanos = 600 * SEC;
/// Streams told in one poll that there is space.
const STARVED_TURN: usize = 64;
/// The least MTU an ICMP message may impose on IPv4.
const MIN_PATH_V4: usize = 576;

/// Whether segments of an unknown connection from one other host to another are passed on as they are.
pub type Passes = Box<dyn Fn(SocketAddr, SocketAddr) -> bool + Send + Sync>;

/// A stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    index: u32,
    generation: u32,
}

impl StreamId {
    /// Its place in a table of streams: below the most that there ever were at once, and used again after its end.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Something the application may want to act on. Each kind is queued at most once a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A SYN arrived at a listener that defers: answer with [`Stack::admit`] or [`Stack::abort`].
    Incoming(ListenerId, StreamId),
    /// [`Stack::accept`] has something.
    Acceptable(ListenerId),
    /// The connection is up.
    Connected(StreamId),
    /// There is data, or its end.
    Readable(StreamId),
    /// There is room again after a short [`Stack::send`].
    Writable(StreamId),
    /// The connection is over; what has arrived can still be read.
    Closed(StreamId, CloseReason),
    /// A socket has datagrams, or the news that one was not delivered.
    Datagram(SocketId),
    /// [`Stack::echo_recv`] has something.
    Echo,
    /// An answer has arrived: see [`Stack::pong`].
    Pong(Ping),
}

/// An echo request of ours, or in the name of another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ping {
    /// The host that asks.
    pub source: IpAddr,
    /// The host that is asked.
    pub destination: IpAddr,
    /// Identifier and sequence number.
    pub number: (u16, u16),
}

/// What came back for an echo request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pong {
    /// Its answer.
    Answered,
    /// The report of a router or of the host that it was not delivered.
    Undelivered {
        /// Who reports it.
        by: IpAddr,
        /// Why.
        why: Unreachable,
    },
}

/// An echo request for another host (with `accept_any`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    /// The host that sent the request.
    pub source: IpAddr,
    /// The host that the request is for.
    pub destination: IpAddr,
    /// Identifier and sequence number.
    pub number: (u16, u16),
    /// The data to send back.
    pub data: Vec<u8>,
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The stack has no address of the destination's family.
    #[error("no local address in the destination's address family: add one to the stack")]
    NoAddress,
    /// Every local port towards this destination is in use.
    #[error("no free local port towards this destination")]
    NoPort,
    /// This pair of addresses is in use.
    #[error("this pair of addresses is already connected")]
    InUse,
    /// Too many streams.
    #[error("too many streams: raise `max_streams` or close some")]
    TooMany,
}

/// Why nothing was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecvError {
    /// Nothing there yet.
    #[error("nothing to read yet")]
    WouldBlock,
    /// The connection ended before the stream did.
    #[error(transparent)]
    Closed(CloseReason),
}

/// Bytes in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Buffers, under the budget.
    pub buffers: usize,
    /// Reserved for receive windows and not used yet; together with `buffers` under the budget.
    pub promised: usize,
    /// The most that buffers ever took.
    pub buffers_peak: usize,
    /// Buffers, spare chunks, connections, tables and records of what is in flight.
    pub total: usize,
}

/// Counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Packets taken.
    pub packets_in: u64,
    /// Packets written.
    pub packets_out: u64,
    /// Dropped packets: malformed, for other hosts, or unsolicited.
    pub dropped: u64,
    /// Half-open connections that had to make way.
    pub half_open_evicted: u64,
    /// Resets sent for segments without a connection.
    pub resets: u64,
    /// Bytes inside announced windows that were not kept, because a stream had more than 1,024 holes.
    pub discarded: u64,
}

/// A stream's inner values, for status pages and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamInfo {
    /// Where it is in its life.
    pub state: State,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Who controls its rate.
    pub congestion: Congestion,
    /// Smoothed round trip.
    pub rtt: Option<Duration>,
    /// Least round trip.
    pub min_rtt: Option<Duration>,
    /// Congestion window in bytes.
    pub window: u64,
    /// Bytes in flight.
    pub flight: u64,
    /// Pacing rate in bytes a second.
    pub pacing_rate: Option<u64>,
    /// Data bytes in a full segment.
    pub mss: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// The path may mark packets instead of dropping them (RFC 3168).
    pub ecn: bool,
    /// Round trips in which it has.
    pub marked: u64,
    /// Bytes queued and not acknowledged.
    pub queued: u64,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
    ready: bool,
    half_open: bool,
    linked: bool,
    pressed: bool,
    queued: [bool; 4],
}

const READABLE: usize = 0;
const WRITABLE: usize = 1;
const CONNECTED: usize = 2;
const CLOSED: usize = 3;

/// A TCP/IP stack. It has no clock, no socket and no thread: every call says what time it is.
pub struct Stack {
    config: Config,
    isn: Keyed,
    rng: Rng,
    ports: Ports,
    pool: Pool,
    wheel: Wheel,
    slots: Vec<Slot>,
    free: Vec<u32>,
    demux: Demux,
    /// How many of the streams in `demux` each congestion control has.
    controllers: [usize; Congestion::ALL.len()],
    time_wait: TimeWait,
    pub(crate) listeners: Listeners,
    half_open: VecDeque<StreamId>,
    half_open_count: usize,
    /// Streams whose application was refused space.
    starved: VecDeque<StreamId>,
    /// Streams that announced a zero window because memory is short.
    pressed: VecDeque<StreamId>,
    ready: VecDeque<u32>,
    events: VecDeque<Event>,
    control: VecDeque<Control>,
    raw: VecDeque<Vec<u8>>,
    pass: Option<Passes>,
    echoes: VecDeque<Echo>,
    /// Echo requests that were sent, and what came back.
    pings: HashMap<Ping, Option<Pong>, Keyed>,
    udp: Udp,
    fragments: Fragments,
    paths: HashMap<IpAddr, (usize, Nanos), Keyed>,
    reset_tokens: u32,
    icmp_tokens: u32,
    tokens_at: Nanos,
    now: Nanos,
    stats: Stats,
}

impl Stack {
    /// A stack with these addresses and limits.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let config = config.bounded();
        let keyed = Keyed::new(&config.seed, 0);
        let isn = Keyed::new(&config.seed, 1);
        Self {
            isn,
            ports: Ports::new(isn),
            rng: Rng::new(isn.hash_words(&[1])),
            pool: Pool::new(config.budget_bytes),
            wheel: Wheel::new(),
            slots: Vec::new(),
            free: Vec::new(),
            demux: Demux::new(keyed),
            controllers: [0; Congestion::ALL.len()],
            time_wait: TimeWait::new(keyed, config.max_time_wait, config.time_wait.as_nanos() as Nanos),
            listeners: Listeners::new(keyed),
            half_open: VecDeque::new(),
            half_open_count: 0,
            starved: VecDeque::new(),
            pressed: VecDeque::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            control: VecDeque::new(),
            raw: VecDeque::new(),
            pass: None,
            echoes: VecDeque::new(),
            pings: HashMap::with_hasher(keyed),
            udp: Udp::new(keyed),
            fragments: Fragments::new(keyed, config.budget_bytes),
            paths: HashMap::with_hasher(keyed),
            reset_tokens: RESET_RATE,
            icmp_tokens: ICMP_RATE,
            tokens_at: 0,
            now: 0,
            stats: Stats::default(),
            config,
        }
    }

    // ---- the whole --------------------------------------------------------------------------------------------

    /// Bytes in use. Looks at every stream: not for the packet path.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let streams: usize =
            self.slots.iter().filter_map(|slot| slot.conn.as_ref()).map(|conn| conn.memory()).sum();
        let tables = self.slots.capacity() * size_of::<Slot>()
            + self.demux.memory()
            + self.time_wait.memory()
            + self.wheel.memory()
            + self.fragments.memory()
            + self.events.capacity() * size_of::<Event>()
            + self.control.capacity() * size_of::<Control>()
            + self.raw.iter().map(Vec::capacity).sum::<usize>();
        Memory {
            buffers: self.pool.used(),
            promised: self.pool.promised(),
            buffers_peak: self.pool.peak(),
            total: self.pool.memory() + streams + tables,
        }
    }

    /// Connections that are not yet over.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.demux.len()
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { discarded: self.pool.discarded, ..self.stats }
    }

    /// Changes the stack's own addresses. Streams of an address that is gone are reset.
    pub fn set_addresses(&mut self, now: Duration, addresses: Vec<IpAddr>) {
        self.clock(now);
        self.config.addresses = addresses;
        if self.config.accept_any {
            return;
        }
        for index in 0..self.slots.len() as u32 {
            let conn = self.slots[index as usize].conn.as_ref();
            if conn.is_some_and(|conn| !conn.over() && !self.config.addresses.contains(&conn.local.ip())) {
                self.with(index, |conn, ctx| conn.abort(ctx, CloseReason::Unreachable));
            }
        }
    }

    /// Changes the tunnel's MTU. Batches must be made for the larger of the two until the next [`Stack::poll`].
    pub fn set_mtu(&mut self, now: Duration, mtu: usize) {
        self.clock(now);
        let mtu = mtu.clamp(MIN_MTU, wire::MAX_MTU);
        let smaller = mtu < self.config.mtu;
        self.config.mtu = mtu;
        if smaller {
            for index in 0..self.slots.len() as u32 {
                if self.slots[index as usize].conn.as_ref().is_some_and(|conn| !conn.over()) {
                    self.with(index, |conn, _| conn.shrink(mtu, None));
                }
            }
        }
    }

    /// The tunnel carries packets again after an outage: streams whose timers have backed off try at once, and not only
    /// when those ring. Looks at every stream: not for the packet path.
    pub fn nudge(&mut self, now: Duration) {
        self.clock(now);
        for index in 0..self.slots.len() as u32 {
            if self.slots[index as usize].conn.as_ref().is_some_and(|conn| !conn.over()) {
                self.with(index, |conn, ctx| conn.snd.nudge(ctx.now));
            }
        }
    }

    /// Whoever carried what passes here has been replaced by another, who knows of no connection: those that are up are reset,
    /// those that begin try again at once. Looks at every stream: not for the packet path.
    pub fn abort_all(&mut self, now: Duration) {
        self.clock(now);
        for index in 0..self.slots.len() as u32 {
            match self.slots[index as usize].conn.as_ref().map(|conn| (conn.over(), conn.state)) {
                Some((false, State::SynSent)) => self.with(index, |conn, ctx| conn.snd.nudge(ctx.now)),
                Some((false, _)) => self.with(index, |conn, ctx| conn.abort(ctx, CloseReason::Reset)),
                Some((true, _)) | None => {}
            }
        }
    }

    // ---- inside -----------------------------------------------------------------------------------------------

    fn clock(&mut self, now: Duration) {
        // A clock that steps back is taken to stand still.
        self.now = self.now.max(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX / 2));
        if self.now - self.tokens_at >= SEC {
            self.tokens_at = self.now;
            self.reset_tokens = RESET_RATE;
            self.icmp_tokens = ICMP_RATE;
        }
    }

    fn source(&self, remote: SocketAddr) -> Option<IpAddr> {
        self.config.addresses.iter().copied().find(|own| own.is_ipv4() == remote.is_ipv4())
    }

    fn path_mtu(&self, remote: IpAddr) -> usize {
        match self.paths.get(&remote) {
            Some((mtu, at)) if self.now.saturating_sub(*at) < PATH_AGE => (*mtu).min(self.config.mtu),
            _ => self.config.mtu,
        }
    }

    /// The first sequence number and the offset of timestamps. RFC 6528: a clock of 4 µs and a secret function of the flow. The
    /// offset is the same for all connections of two hosts: a later one has later timestamps, by which a host in TIME-WAIT knows
    /// that it is another (RFC 6191).
    fn numbers(&self, flow: &Flow) -> (u32, u32) {
        let local = address_bits(flow.local.ip());
        let remote = address_bits(flow.remote.ip());
        let hosts = [local as u64, (local >> 64) as u64, remote as u64, (remote >> 64) as u64];
        let ports = u64::from(flow.local.port()) << 16 | u64::from(flow.remote.port());
        let [a, b, c, d] = hosts;
        let hash = self.isn.hash_words(&[a, b, c, d, ports]);
        let initial = (hash as u32).wrapping_add((self.now / 4_000) as u32);
        (initial, self.isn.hash_words(&hosts) as u32)
    }

    fn adopt(&mut self, conn: Conn, flow: Flow) -> StreamId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.controllers[conn.snd.congestion as usize] += 1;
        slot.conn = Some(Box::new(conn));
        self.pool.opened(Conn::SIZE);
        slot.linked = true;
        slot.queued = [false; 4];
        slot.half_open = false;
        slot.pressed = false;
        self.demux.insert(flow, index);
        StreamId { index, generation: slot.generation }
    }

    fn conn(&self, id: StreamId) -> Option<&Conn> {
        let slot = self.slots.get(id.index as usize)?;
        slot.conn.as_deref().filter(|_| slot.generation == id.generation)
    }

    fn conn_mut(&mut self, id: StreamId) -> Option<&mut Conn> {
        let slot = self.slots.get_mut(id.index as usize)?;
        slot.conn.as_deref_mut().filter(|conn| slot.generation == id.generation && !conn.detached)
    }

    fn call<T>(&mut self, id: StreamId, act: impl FnOnce(&mut Conn, &mut Context<'_>) -> T) -> Option<T> {
        self.conn_mut(id)?;
        Some(self.with(id.index, act))
    }

    /// Runs `act` on a connection that exists and does what follows from it.
    fn with<T>(&mut self, index: u32, act: impl FnOnce(&mut Conn, &mut Context<'_>) -> T) -> T {
        let mut ctx = context(
            self.now,
            &self.config,
            &mut self.pool,
            &mut self.rng,
            &mut self.control,
            &mut self.reset_tokens,
        );
        let conn = self.slots[index as usize].conn.as_mut().expect("an index in a table is a connection");
        let result = act(conn, &mut ctx);
        self.settle(index);
        result
    }

    /// Events, tables and queues after anything happened to a connection.
    fn settle(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(conn) = slot.conn.as_mut() else { return };
        let id = StreamId { index, generation: slot.generation };
        if slot.half_open && conn.state != State::SynReceived {
            slot.half_open = false;
            self.half_open_count -= 1;
        }
        if let Some(listener) = conn.listener {
            if std::mem::take(&mut conn.news.connected) {
                let notified = self.listeners.push(listener, id);
                self.events.extend(notified.map(Event::Acceptable));
            }
            if conn.over() && !conn.synchronised_once() {
                conn.detached = true;
            }
        } else if !conn.detached {
            let news = std::mem::take(&mut conn.news);
            let reason = conn.reason.unwrap_or(CloseReason::Finished);
            let kinds = [
                (news.connected, CONNECTED, Event::Connected(id)),
                (news.readable, READABLE, Event::Readable(id)),
                (news.writable, WRITABLE, Event::Writable(id)),
                (news.closed, CLOSED, Event::Closed(id, reason)),
            ];
            for (happened, kind, event) in kinds {
                if happened && !std::mem::replace(&mut slot.queued[kind], true) {
                    self.events.push_back(event);
                }
            }
        }
        if conn.over() {
            if std::mem::take(&mut slot.linked) {
                let flow = Flow { local: conn.local, remote: conn.remote };
                self.demux.remove(&flow);
                self.controllers[conn.snd.congestion as usize] -= 1;
                self.wheel.set(index, None);
                if conn.state == State::TimeWait {
                    self.time_wait.insert(self.now, flow, conn.remains(&self.config));
                }
            }
            if conn.detached {
                self.release(index);
            }
        } else {
            note_pressed(slot, &mut self.pressed, &mut self.pool, id);
            make_ready(slot, &mut self.ready, index);
        }
    }

    /// Frees a slot whose connection has ended and that has no handle.
    fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(mut conn) = slot.conn.take() {
            conn.snd.clear(&mut self.pool);
            conn.rcv.clear(&mut self.pool);
            self.pool.closed(Conn::SIZE);
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(index);
        }
    }

    /// The application's id ends here, also when the connection lives on.
    fn void(&mut self, id: StreamId) {
        if let Some(slot) = self.slots.get_mut(id.index as usize)
            && slot.generation == id.generation
            && let Some(conn) = &slot.conn
            && conn.detached
            && conn.over()
        {
            self.release(id.index);
        }
    }
}

/// Queues a stream that waits for memory.
fn note_pressed(slot: &mut Slot, pressed: &mut VecDeque<StreamId>, pool: &mut Pool, id: StreamId) {
    if slot.conn.as_ref().is_some_and(|conn| conn.rcv.pressed())
        && !std::mem::replace(&mut slot.pressed, true)
    {
        pressed.push_back(id);
        pool.waiting = pressed.len();
        // There may be too little for those before it, and enough for it.
        pool.freed = true;
    }
}

fn make_ready(slot: &mut Slot, ready: &mut VecDeque<u32>, index: u32) {
    if !std::mem::replace(&mut slot.ready, true) {
        ready.push_back(index);
    }
}

fn context<'a>(
    now: Nanos,
    config: &'a Config,
    pool: &'a mut Pool,
    rng: &'a mut Rng,
    control: &'a mut VecDeque<Control>,
    reset_tokens: &'a mut u32,
) -> Context<'a> {
    Context { now, config, pool, rng, control, reset_tokens }
}
