//! The stack: packets in, packets out, and what the application calls.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hashbrown::HashMap;

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::config::Config;
use crate::demux::{Demux, Flow, TimeWait, Waiting};
use crate::icmp::{self, Message};
use crate::listen::{ListenerId, Listeners};
use crate::random::{Keyed, Rng, address_bits};
use crate::seq::{MS, Nanos, SEC, before};
use crate::tcp::{self, CloseReason, Conn, Context, Control, State};
use crate::timer::Wheel;
use crate::udp::{Datagram, SocketId, Udp, UdpError};
use crate::wire::{
    self, Flags, ICMP4, ICMP6, Ip, MIN_MTU, Options, TCP, Tcp, UDP, parse_ip, parse_tcp, parse_udp,
};

/// Challenge acknowledgements a second (RFC 5961 §7).
const CHALLENGES: u32 = 1_000;
/// ICMP messages we send a second.
const ICMP_RATE: u32 = 1_000;
/// Answers to packets that wait for a poll.
const MAX_RAW: usize = 256;
/// Destinations whose MTU is remembered, and for how long (RFC 8201 §4).
const MAX_PATHS: usize = 1_024;
const PATH_AGE: Nanos = 600 * SEC;
/// Streams told in one poll that there is space.
const STARVED_TURN: usize = 64;
/// The least MTU an ICMP message may impose on IPv4.
const MIN_PATH_V4: usize = 576;

/// A stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    index: u32,
    generation: u32,
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
    /// A socket has datagrams.
    Datagram(SocketId),
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The stack has no address of the destination's family.
    #[error("no local address of the destination's family: give the stack one")]
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
    /// Packets that were malformed, fragments, not for us or not asked for.
    pub dropped: u64,
    /// Half-open connections that had to make way.
    pub half_open_evicted: u64,
    /// Resets sent for segments without a connection.
    pub resets: u64,
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
    pool: Pool,
    wheel: Wheel,
    slots: Vec<Slot>,
    free: Vec<u32>,
    demux: Demux,
    time_wait: TimeWait,
    pub(crate) listeners: Listeners,
    half_open: VecDeque<StreamId>,
    half_open_count: usize,
    /// Streams whose application was refused space.
    starved: VecDeque<StreamId>,
    ready: VecDeque<u32>,
    events: VecDeque<Event>,
    control: VecDeque<Control>,
    raw: VecDeque<Vec<u8>>,
    udp: Udp,
    paths: HashMap<IpAddr, (usize, Nanos), Keyed>,
    challenges: u32,
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
            rng: Rng::new(isn.hash_words(&[1])),
            pool: Pool::new(config.budget_bytes),
            wheel: Wheel::new(),
            slots: Vec::new(),
            free: Vec::new(),
            demux: Demux::new(keyed),
            time_wait: TimeWait::new(keyed, config.max_time_wait, config.time_wait.as_nanos() as Nanos),
            listeners: Listeners::new(keyed),
            half_open: VecDeque::new(),
            half_open_count: 0,
            starved: VecDeque::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            control: VecDeque::new(),
            raw: VecDeque::new(),
            udp: Udp::new(keyed),
            paths: HashMap::with_hasher(keyed),
            challenges: CHALLENGES,
            icmp_tokens: ICMP_RATE,
            tokens_at: 0,
            now: 0,
            stats: Stats::default(),
            config,
        }
    }

    // ---- packets ----------------------------------------------------------------------------------------------

    /// Takes one IP packet.
    pub fn input(&mut self, now: Duration, packet: &[u8]) {
        self.clock(now);
        self.stats.packets_in += 1;
        if self.input_ip(packet).is_none() {
            self.stats.dropped += 1;
        }
    }

    fn input_ip(&mut self, packet: &[u8]) -> Option<()> {
        let ip = parse_ip(packet)?;
        if ip.source.is_unspecified() || ip.source.is_multicast() || ip.destination.is_multicast() {
            return None;
        }
        let own = self.config.addresses.contains(&ip.destination);
        match ip.protocol {
            TCP if own || self.config.accept_any => self.input_tcp(&ip),
            UDP if own || self.config.accept_any => self.input_udp(&ip),
            ICMP4 if own && ip.source.is_ipv4() => self.input_icmp(&ip),
            ICMP6 if own && ip.source.is_ipv6() => self.input_icmp(&ip),
            _ => None,
        }
    }

    fn input_tcp(&mut self, ip: &Ip<'_>) -> Option<()> {
        let tcp = parse_tcp(ip)?;
        let local = SocketAddr::new(ip.destination, tcp.destination_port);
        let remote = SocketAddr::new(ip.source, tcp.source_port);
        if local == remote {
            return None;
        }
        let flow = Flow { local, remote };
        if let Some(index) = self.demux.find(&flow) {
            self.with(index, |conn, ctx| conn.segment(ctx, &tcp));
            return Some(());
        }
        if let Some(waiting) = self.time_wait.find(self.now, &flow)
            && !self.leaves_time_wait(&flow, &waiting, &tcp)
        {
            return Some(());
        }
        let fresh = tcp.flags.0 & (Flags::SYN | Flags::ACK | Flags::RST | Flags::FIN) == Flags::SYN;
        if fresh && let Some(listener) = self.listeners.find(&local) {
            return self.incoming(listener, flow, &tcp);
        }
        self.refuse(&flow, &tcp);
        None
    }

    /// A segment for a connection in TIME-WAIT (RFC 9293 §3.10.7.4, RFC 6191). True when the flow is free again.
    fn leaves_time_wait(&mut self, flow: &Flow, waiting: &Waiting, tcp: &Tcp<'_>) -> bool {
        let flags = tcp.flags;
        // Resets are ignored: RFC 1337.
        if flags.has(Flags::RST) {
            return false;
        }
        if flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            let newer = match (waiting.timestamps, tcp.options.timestamps) {
                (Some((_, recent)), Some((value, _))) if value != recent => before(recent, value),
                _ => before(waiting.ack, tcp.seq),
            };
            if newer {
                self.time_wait.remove(flow);
                return true;
            }
        }
        if tcp.payload.is_empty() && !flags.has(Flags::FIN) && !flags.has(Flags::SYN) {
            // Two ends in TIME-WAIT must not answer each other's acknowledgements.
            return false;
        }
        let now = self.now;
        tcp::push(
            &mut self.control,
            Control {
                local: flow.local,
                remote: flow.remote,
                seq: waiting.seq,
                ack: waiting.ack,
                flags: Flags::ACK,
                window: waiting.window,
                timestamps: waiting
                    .timestamps
                    .map(|(offset, recent)| (offset.wrapping_add((now / MS) as u32), recent)),
            },
        );
        if flags.has(Flags::FIN) {
            self.time_wait.insert(now, *flow, *waiting);
        }
        false
    }

    /// RFC 9293 §3.10.7.1: a reset for what belongs to no connection.
    fn refuse(&mut self, flow: &Flow, tcp: &Tcp<'_>) {
        let flags = tcp.flags;
        if flags.has(Flags::RST) || self.challenges == 0 {
            return;
        }
        self.challenges -= 1;
        self.stats.resets += 1;
        let length =
            tcp.payload.len() as u32 + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let (seq, ack, flags) = if flags.has(Flags::ACK) {
            (tcp.ack, 0, Flags::RST)
        } else {
            (0, tcp.seq.wrapping_add(length), Flags::RST | Flags::ACK)
        };
        let Flow { local, remote } = *flow;
        tcp::push(&mut self.control, Control { local, remote, seq, ack, flags, window: 0, timestamps: None });
    }

    fn incoming(&mut self, listener: ListenerId, flow: Flow, syn: &Tcp<'_>) -> Option<()> {
        if !self.listeners.has_room(listener) || self.demux.len() >= self.config.max_streams {
            return None;
        }
        while self.half_open_count >= self.config.max_half_open {
            let oldest = self.half_open.pop_front()?;
            if self.slots[oldest.index as usize].generation == oldest.generation
                && self.slots[oldest.index as usize].half_open
            {
                self.stats.half_open_evicted += 1;
                self.with(oldest.index, |conn, ctx| {
                    conn.detached = true;
                    conn.abort(ctx, CloseReason::TimedOut);
                });
            }
        }
        let initial = self.initial(&flow);
        let mtu = self.path_mtu(flow.remote.ip());
        let mut ctx = context(
            self.now,
            &self.config,
            &mut self.pool,
            &mut self.rng,
            &mut self.control,
            &mut self.challenges,
        );
        let mut conn = Conn::answer(&mut ctx, flow.local, flow.remote, initial, mtu, syn);
        conn.listener = Some(listener.index);
        let deferred = self.listeners.deferred(listener);
        conn.held = deferred;
        if deferred {
            conn.snd.timeout_at = Some(self.now + self.config.connect_timeout.as_nanos() as Nanos);
        }
        let id = self.adopt(conn, flow);
        self.slots[id.index as usize].half_open = true;
        self.half_open_count += 1;
        self.half_open.push_back(id);
        if self.half_open.len() > 2 * self.config.max_half_open + 64 {
            let slots = &self.slots;
            self.half_open.retain(|id| {
                let slot = &slots[id.index as usize];
                slot.generation == id.generation && slot.half_open
            });
        }
        if deferred {
            self.events.push_back(Event::Incoming(listener, id));
        }
        self.settle(id.index);
        Some(())
    }

    fn input_udp(&mut self, ip: &Ip<'_>) -> Option<()> {
        let (source, destination, data) = parse_udp(ip)?;
        let local = SocketAddr::new(ip.destination, destination);
        let remote = SocketAddr::new(ip.source, source);
        match self.udp.deliver(&mut self.pool, local, remote, data) {
            Ok(told) => {
                self.events.extend(told.map(Event::Datagram));
                Some(())
            }
            Err(()) => {
                let error = icmp::port_unreachable(ip);
                self.push_raw(error?);
                None
            }
        }
    }

    fn input_icmp(&mut self, ip: &Ip<'_>) -> Option<()> {
        match icmp::parse(ip)? {
            Message::Reply(packet) => self.push_raw(packet),
            Message::TooBig(mtu, quoted) => {
                let index = self.quoted_stream(&quoted)?;
                let floor = if quoted.destination.is_ipv4() { MIN_PATH_V4 } else { MIN_MTU };
                // Old routers tell no MTU (RFC 1191 §5).
                let mtu = if mtu == 0 { MIN_MTU } else { mtu.max(floor) };
                if mtu < self.config.mtu {
                    if self.paths.len() >= MAX_PATHS {
                        let now = self.now;
                        self.paths.retain(|_, (_, at)| now.saturating_sub(*at) < PATH_AGE);
                    }
                    if self.paths.len() < MAX_PATHS {
                        self.paths.insert(quoted.destination, (mtu, self.now));
                    }
                    self.with(index, |conn, _| conn.shrink(mtu));
                }
            }
            Message::Unreachable(refused, quoted) => {
                let index = self.quoted_stream(&quoted)?;
                self.with(index, |conn, ctx| conn.unreachable(ctx, refused));
            }
        }
        Some(())
    }

    /// The stream that an ICMP error quotes, when the quoted sequence number is outstanding (RFC 5927 §4.1).
    fn quoted_stream(&mut self, quoted: &Ip<'_>) -> Option<u32> {
        if quoted.protocol != TCP {
            return None;
        }
        let [a, b, c, d, s0, s1, s2, s3] = *quoted.payload.first_chunk::<8>()?;
        let flow = Flow {
            local: SocketAddr::new(quoted.source, u16::from_be_bytes([a, b])),
            remote: SocketAddr::new(quoted.destination, u16::from_be_bytes([c, d])),
        };
        let index = self.demux.find(&flow)?;
        let conn = self.slots.get(index as usize)?.conn.as_ref()?;
        conn.quoted(u32::from_be_bytes([s0, s1, s2, s3])).then_some(index)
    }

    fn push_raw(&mut self, packet: Vec<u8>) {
        if self.icmp_tokens > 0 && self.raw.len() < MAX_RAW && packet.len() <= self.config.mtu {
            self.icmp_tokens -= 1;
            self.raw.push_back(packet);
        }
    }

    /// Writes packets until the batch is full or nothing may leave now; returns how many. A full batch may mean that
    /// there is more: call again.
    pub fn poll(&mut self, now: Duration, out: &mut Batch) -> usize {
        self.clock(now);
        let before = out.len();
        debug_assert!(out.room() >= self.config.mtu, "batch made for a smaller MTU");
        while let Some(index) = self.wheel.expire(self.now) {
            if self.slots[index as usize].conn.is_some() {
                self.with(index, |conn, ctx| conn.expire(ctx));
            }
        }
        self.feed();
        while !out.is_full() {
            let Some(control) = self.control.pop_front() else { break };
            emit_control(out, &control);
        }
        while !out.is_full() {
            let Some(packet) = self.raw.pop_front() else { break };
            out.push(packet.len(), |slot| slot.copy_from_slice(&packet));
        }
        self.udp.emit(&mut self.pool, out);
        while !out.is_full() {
            let Some(index) = self.ready.pop_front() else { break };
            let slot = &mut self.slots[index as usize];
            slot.ready = false;
            let Some(conn) = slot.conn.as_mut() else { continue };
            let mut ctx = context(
                self.now,
                &self.config,
                &mut self.pool,
                &mut self.rng,
                &mut self.control,
                &mut self.challenges,
            );
            if conn.emit(&mut ctx, out) {
                slot.ready = true;
                self.ready.push_back(index);
            } else {
                self.wheel.set(index, conn.deadline(&self.config));
            }
        }
        let written = out.len() - before;
        self.stats.packets_out += written as u64;
        written
    }

    /// Tells some of the streams that wait for space, in turn, once memory has been given back.
    fn feed(&mut self) {
        if !std::mem::take(&mut self.pool.freed) {
            return;
        }
        for _ in 0..self.starved.len().min(STARVED_TURN) {
            let Some(id) = self.starved.pop_front() else { break };
            let Some(conn) = self.conn(id).filter(|conn| conn.starved && !conn.over()) else { continue };
            if conn.snd.worth_telling(&self.pool) {
                self.with(id.index, |conn, _| {
                    conn.starved = false;
                    conn.news.writable = true;
                });
            } else {
                self.starved.push_back(id);
            }
        }
    }

    /// When `poll` has something to do without further input; `None` for never.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        let waiting = !self.ready.is_empty()
            || !self.control.is_empty()
            || !self.raw.is_empty()
            || self.udp.eager()
            || (self.pool.freed && !self.starved.is_empty());
        if waiting {
            return Some(Duration::from_nanos(self.now));
        }
        self.wheel.next().map(|at| Duration::from_nanos(at.max(self.now)))
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        let (id, kind) = match event {
            Event::Readable(id) => (id, READABLE),
            Event::Writable(id) => (id, WRITABLE),
            Event::Connected(id) => (id, CONNECTED),
            Event::Closed(id, _) => (id, CLOSED),
            Event::Acceptable(listener) => {
                self.listeners.told(listener);
                return Some(event);
            }
            Event::Incoming(..) | Event::Datagram(_) => return Some(event),
        };
        if let Some(slot) = self.slots.get_mut(id.index as usize)
            && slot.generation == id.generation
        {
            slot.queued[kind] = false;
            return Some(event);
        }
        // The stream is gone; nobody wants to hear of it.
        self.poll_event()
    }

    // ---- streams ----------------------------------------------------------------------------------------------

    /// Connects from an address of the stack and a port of its choice (RFC 6056 §3.3.1).
    ///
    /// # Errors
    /// No local address of that family, no free port, or too many streams.
    pub fn connect(&mut self, now: Duration, remote: SocketAddr) -> Result<StreamId, ConnectError> {
        let local = self.source(remote).ok_or(ConnectError::NoAddress)?;
        for _ in 0..256 {
            let port = 32_768 + self.rng.below(28_232) as u16;
            match self.connect_from(now, SocketAddr::new(local, port), remote) {
                Err(ConnectError::InUse) => {}
                result => return result,
            }
        }
        Err(ConnectError::NoPort)
    }

    /// Connects from this very address and port.
    ///
    /// # Errors
    /// The pair is in use, the families differ, or there are too many streams.
    pub fn connect_from(
        &mut self,
        now: Duration,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<StreamId, ConnectError> {
        self.clock(now);
        if local.is_ipv4() != remote.is_ipv4() || remote.port() == 0 || remote.ip().is_unspecified() {
            return Err(ConnectError::NoAddress);
        }
        if self.demux.len() >= self.config.max_streams {
            return Err(ConnectError::TooMany);
        }
        let flow = Flow { local, remote };
        if local == remote || self.demux.find(&flow).is_some() || self.time_wait.contains(&flow) {
            return Err(ConnectError::InUse);
        }
        let initial = self.initial(&flow);
        let mtu = self.path_mtu(remote.ip());
        let mut ctx = context(
            self.now,
            &self.config,
            &mut self.pool,
            &mut self.rng,
            &mut self.control,
            &mut self.challenges,
        );
        let conn = Conn::connect(&mut ctx, local, remote, initial, mtu);
        let id = self.adopt(conn, flow);
        self.settle(id.index);
        Ok(id)
    }

    /// Answers a deferred incoming connection.
    pub fn admit(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        let now = self.now;
        self.call(id, |conn, _| conn.admit(now));
    }

    /// The next connection of a listener.
    pub fn accept(&mut self, listener: ListenerId) -> Option<StreamId> {
        loop {
            let id = self.listeners.pop(listener)?;
            let Some(conn) = self.conn_mut(id) else { continue };
            conn.listener = None;
            conn.news.readable = conn.rcv.readable() > 0 || conn.rcv.finished();
            conn.news.closed = conn.over();
            conn.news.connected = false;
            self.settle(id.index);
            return Some(id);
        }
    }

    /// Queues data to be sent; returns how much fitted. A short count means an [`Event::Writable`] later.
    pub fn send(&mut self, now: Duration, id: StreamId, data: &[u8]) -> usize {
        self.clock(now);
        let known = self.conn(id).is_none_or(|conn| conn.starved);
        let taken = self.call(id, |conn, ctx| conn.send(ctx, data)).unwrap_or(0);
        if !known && taken < data.len() && self.conn(id).is_some_and(|conn| conn.starved) {
            self.starved.push_back(id);
        }
        taken
    }

    /// Bytes that [`Stack::send`] would take.
    #[must_use]
    pub fn send_room(&self, id: StreamId) -> usize {
        self.conn(id).filter(|conn| !conn.over() && !conn.snd.fin).map_or(0, |conn| conn.snd.room(&self.pool))
    }

    /// Reads into `out`; zero is the end of the stream.
    ///
    /// # Errors
    /// Nothing is there yet, or the connection ended early.
    pub fn recv(&mut self, id: StreamId, out: &mut [u8]) -> Result<usize, RecvError> {
        let mut done = 0;
        self.recv_with(id, |chunk| {
            let length = chunk.len().min(out.len() - done);
            out[done..done + length].copy_from_slice(&chunk[..length]);
            done += length;
            length
        })
    }

    /// Hands what has arrived to `take` in slices of the stack's own memory, until `take` takes less than it was given.
    /// Zero is the end of the stream.
    ///
    /// # Errors
    /// Nothing is there yet, or the connection ended early.
    pub fn recv_with(&mut self, id: StreamId, take: impl FnMut(&[u8]) -> usize) -> Result<usize, RecvError> {
        let Some(slot) =
            self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)
        else {
            return Err(RecvError::Closed(CloseReason::Aborted));
        };
        let Some(conn) = slot.conn.as_mut() else { return Err(RecvError::Closed(CloseReason::Aborted)) };
        if conn.rcv.readable() == 0 {
            return match conn.reason {
                _ if conn.rcv.finished() => Ok(0),
                Some(CloseReason::Finished) => Ok(0),
                Some(reason) => Err(RecvError::Closed(reason)),
                None => Err(RecvError::WouldBlock),
            };
        }
        let taken = conn.rcv.consume(&mut self.pool, take);
        if taken > 0 && !conn.over() && !conn.rcv.finished() && conn.rcv.worth_telling(&self.pool) {
            conn.rcv.due = true;
            make_ready(slot, &mut self.ready, id.index);
        }
        Ok(taken)
    }

    /// Bytes ready to be read.
    #[must_use]
    pub fn readable(&self, id: StreamId) -> usize {
        self.conn(id).map_or(0, |conn| conn.rcv.readable())
    }

    /// Ends this direction after what is queued; the other stays open.
    pub fn shutdown(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, _| conn.shutdown());
    }

    /// Lets go of the stream: what is queued is delivered, the id is void. Unread data makes it a reset.
    pub fn close(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, ctx| conn.detach(ctx));
        self.void(id);
    }

    /// Resets the connection; the id is void.
    pub fn abort(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        self.call(id, |conn, ctx| {
            conn.detached = true;
            conn.abort(ctx, CloseReason::Aborted);
        });
        self.void(id);
    }

    /// Where the stream is in its life.
    #[must_use]
    pub fn state(&self, id: StreamId) -> State {
        self.conn(id).map_or(State::Closed, |conn| conn.state)
    }

    /// The stream's inner values.
    #[must_use]
    pub fn info(&self, id: StreamId) -> Option<StreamInfo> {
        let conn = self.conn(id)?;
        Some(StreamInfo {
            state: conn.state,
            local: conn.local,
            remote: conn.remote,
            rtt: conn.snd.rtt.smoothed().map(Duration::from_nanos),
            min_rtt: conn.snd.rtt.minimum().map(Duration::from_nanos),
            window: conn.snd.window(),
            flight: conn.snd.flight(),
            pacing_rate: conn.snd.pacing_rate(),
            mss: conn.snd.mss(),
            retransmitted: conn.snd.retransmitted,
            queued: conn.snd.end.saturating_sub(conn.snd.una.max(1)),
        })
    }

    // ---- datagrams --------------------------------------------------------------------------------------------

    /// A UDP socket on one address or all, on a port or (0) any free one.
    ///
    /// # Errors
    /// The port is in use.
    pub fn udp_bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<SocketId, UdpError> {
        if port != 0 {
            return self.udp.bind(address, port);
        }
        for _ in 0..256 {
            let port = 32_768 + self.rng.below(28_232) as u16;
            if let Ok(id) = self.udp.bind(address, port) {
                return Ok(id);
            }
        }
        Err(UdpError::InUse)
    }

    /// The socket that gets every datagram which no other takes, for any address and port (with `accept_any`).
    ///
    /// # Errors
    /// There is one already.
    pub fn udp_bind_any(&mut self) -> Result<SocketId, UdpError> {
        self.udp.bind(None, 0)
    }

    /// The socket's port.
    #[must_use]
    pub fn udp_port(&self, id: SocketId) -> Option<u16> {
        self.udp.port(id)
    }

    /// Sends from the socket's own address.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full, or there is no address of that family.
    pub fn udp_send_to(&mut self, id: SocketId, remote: SocketAddr, data: &[u8]) -> Result<(), UdpError> {
        let port = self.udp.port(id).ok_or(UdpError::Closed)?;
        let own = self.udp.address(id).filter(|own| own.is_ipv4() == remote.is_ipv4());
        let address = own.or_else(|| self.source(remote)).ok_or(UdpError::NoAddress)?;
        self.udp_send_from(id, SocketAddr::new(address, port), remote, data)
    }

    /// Sends from this address: the answer of a gateway that took a datagram for somebody else.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full, or the families differ.
    pub fn udp_send_from(
        &mut self,
        id: SocketId,
        local: SocketAddr,
        remote: SocketAddr,
        data: &[u8],
    ) -> Result<(), UdpError> {
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(UdpError::NoAddress);
        }
        let mtu = self.path_mtu(remote.ip());
        self.udp.send(&mut self.pool, id, Datagram { local, remote, data: data.to_vec() }, mtu)
    }

    /// Takes a datagram.
    pub fn udp_recv_from(&mut self, id: SocketId) -> Option<Datagram> {
        self.udp.receive(&mut self.pool, id)
    }

    /// Closes a socket.
    pub fn udp_close(&mut self, id: SocketId) {
        self.udp.close(&mut self.pool, id);
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
            + self.events.capacity() * size_of::<Event>()
            + self.control.capacity() * size_of::<Control>()
            + self.raw.iter().map(Vec::capacity).sum::<usize>();
        Memory {
            buffers: self.pool.used(),
            buffers_peak: self.pool.peak(),
            total: self.pool.memory() + streams + tables,
        }
    }

    /// Connections that are not yet over.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.demux.len()
    }

    /// Connections in TIME-WAIT.
    #[must_use]
    pub fn time_waiting(&self) -> usize {
        self.time_wait.len()
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    // ---- inside -----------------------------------------------------------------------------------------------

    fn clock(&mut self, now: Duration) {
        // A clock that steps back is taken to stand still.
        self.now = self.now.max(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX / 2));
        if self.now - self.tokens_at >= SEC {
            self.tokens_at = self.now;
            self.challenges = CHALLENGES;
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

    /// RFC 6528: a clock of 4 µs and a secret function of the flow.
    fn initial(&self, flow: &Flow) -> u32 {
        let local = address_bits(flow.local.ip());
        let remote = address_bits(flow.remote.ip());
        let ports = u64::from(flow.local.port()) << 16 | u64::from(flow.remote.port());
        let hash = self.isn.hash_words(&[
            local as u64,
            (local >> 64) as u64,
            remote as u64,
            (remote >> 64) as u64,
            ports,
        ]);
        (hash as u32).wrapping_add((self.now / 4_000) as u32)
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
        slot.conn = Some(Box::new(conn));
        slot.linked = true;
        slot.queued = [false; 4];
        slot.half_open = false;
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
            &mut self.challenges,
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
                let told = self.listeners.push(listener, id);
                self.events.extend(told.map(Event::Acceptable));
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
                self.wheel.set(index, None);
                if conn.state == State::TimeWait {
                    self.time_wait.insert(self.now, flow, conn.remains(&self.config));
                }
            }
            if conn.detached {
                self.release(index);
            }
        } else {
            make_ready(slot, &mut self.ready, index);
        }
    }

    /// Frees a slot whose connection is over and that nobody holds.
    fn release(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(mut conn) = slot.conn.take() {
            conn.snd.clear(&mut self.pool);
            conn.rcv.clear(&mut self.pool);
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
    challenges: &'a mut u32,
) -> Context<'a> {
    Context { now, config, pool, rng, control, challenges }
}

fn emit_control(out: &mut Batch, control: &Control) {
    let head = Tcp {
        source_port: control.local.port(),
        destination_port: control.remote.port(),
        seq: control.seq,
        ack: control.ack,
        flags: Flags(control.flags),
        window: control.window,
        options: Options { timestamps: control.timestamps, ..Options::default() },
        payload: &[],
    };
    wire::emit_tcp(out, control.local.ip(), control.remote.ip(), &head, 0, |_| {});
}
