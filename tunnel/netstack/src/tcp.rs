//! The state machine of a connection (RFC 9293 §3.10), with the hardening of RFC 5961 and the timestamps of RFC 7323.
//!
//! ```text
//!            connect                     SYN arrives at a listener
//!   SynSent ---------+              +-------- SynReceived
//!      | SYN,ACK      \ SYN        /              | ACK
//!      v               +--------> / (simultaneous) v
//!      +------------------> Established <---------+
//!             shutdown /                  \ FIN
//!            FinWait1                     CloseWait
//!      ACK /    | FIN  \ FIN,ACK              | shutdown
//!  FinWait2   Closing   |                  LastAck
//!      \ FIN    | ACK   |                     | ACK
//!       +--> TimeWait <-+                   Closed   (also by RST, timeouts and abort from anywhere)
//! ```
//!
//! `TimeWait` and `Closed` end a [`Conn`]: the stack keeps what TIME-WAIT needs in a table of its own.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::config::Config;
use crate::demux::Waiting;
use crate::random::Rng;
use crate::receiver::Receiver;
use crate::sender::{Incoming, Sender, Wait};
use crate::seq::{MS, Nanos, before, from_wire, to_wire};
use crate::wire::{self, Flags, Options, Tcp, ip_header};

/// Timestamps older than this no longer protect (RFC 7323 §5.5).
const TIMESTAMP_AGE: Nanos = 24 * 24 * 3600 * 1_000 * MS;
/// Least time between answers to segments without data that are outside the window.
const STRAY_INTERVAL: Nanos = 20 * MS;
/// Packets of one stream before the next has its turn.
const QUOTA: usize = 32;
/// The least MSS a peer may ask for (RFC 9293 §3.7.1 gives 536 as the default; less would be a way to waste us).
const MIN_MSS: u64 = 88;
const DEFAULT_MSS_V4: u16 = 536;
const DEFAULT_MSS_V6: u16 = 1_220;
/// Timeouts in a row of a full segment after which the path is taken for a black hole (RFC 8899's idea).
const BLACK_HOLE: u32 = 3;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// We have finished, the peer has not acknowledged it.
    FinWait1,
    /// We have finished, the peer has not.
    FinWait2,
    /// The peer has finished, we have not.
    CloseWait,
    /// Both have finished at the same time.
    Closing,
    /// Both have finished, the peer has not acknowledged ours.
    LastAck,
    /// Both directions ended in order.
    TimeWait,
    /// No connection.
    Closed,
}

/// Why a connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Both directions ended in order.
    #[error("closed by both ends")]
    Finished,
    /// The peer refused the connection.
    #[error("connection refused")]
    Refused,
    /// The peer reset the connection.
    #[error("connection reset by peer")]
    Reset,
    /// The peer did not answer.
    #[error("connection timed out")]
    TimedOut,
    /// A router or the peer said that the destination cannot be reached.
    #[error("destination unreachable")]
    Unreachable,
    /// Ended on this side.
    #[error("aborted")]
    Aborted,
}

/// What a connection needs of its stack.
pub(crate) struct Context<'a> {
    pub(crate) now: Nanos,
    pub(crate) config: &'a Config,
    pub(crate) pool: &'a mut Pool,
    pub(crate) rng: &'a mut Rng,
    pub(crate) control: &'a mut VecDeque<Control>,
    /// Challenge acknowledgements left (RFC 5961 §7).
    pub(crate) challenges: &'a mut u32,
}

/// A segment without data that belongs to no connection any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) timestamps: Option<(u32, u32)>,
}

/// Control segments that wait at most; more are dropped.
pub(crate) const MAX_CONTROL: usize = 1_024;

/// What the application is to be told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct News {
    pub(crate) connected: bool,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    pub(crate) closed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Timestamps {
    offset: u32,
    recent: u32,
    recent_at: Nanos,
    /// The clock at the last retransmission timeout, for Eifel.
    timeout: Option<u32>,
}

impl Timestamps {
    fn clock(&self, now: Nanos) -> u32 {
        self.offset.wrapping_add((now / MS) as u32)
    }
}

/// A connection.
pub(crate) struct Conn {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: State,
    pub(crate) reason: Option<CloseReason>,
    pub(crate) news: News,
    pub(crate) snd: Sender,
    pub(crate) rcv: Receiver,
    /// The listener it came from, until it is accepted.
    pub(crate) listener: Option<u32>,
    /// The application has let go of it.
    pub(crate) detached: bool,
    /// The application was refused space and wants to hear of it.
    pub(crate) starved: bool,
    /// A SYN arrived and the application has not yet said whether to answer.
    pub(crate) held: bool,
    timestamps: Option<Timestamps>,
    peer_mss: u64,
    mtu: usize,
    syn_due: bool,
    started_at: Nanos,
    heard_at: Nanos,
    stray_at: Nanos,
    /// End of FIN-WAIT-2 of a connection that nobody holds any more.
    linger_at: Option<Nanos>,
    keepalives: u32,
}

impl Conn {
    /// A connection that begins with our SYN.
    pub(crate) fn connect(
        ctx: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        initial: u32,
        mtu: usize,
    ) -> Self {
        let mut conn = Self::new(ctx, local, remote, initial, mtu);
        conn.timestamps =
            Some(Timestamps { offset: ctx.rng.next() as u32, recent: 0, recent_at: ctx.now, timeout: None });
        conn.snd.sack = true;
        conn.syn_due = true;
        conn
    }

    /// A connection that begins with a peer's SYN.
    pub(crate) fn answer(
        ctx: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        initial: u32,
        mtu: usize,
        syn: &Tcp<'_>,
    ) -> Self {
        let mut conn = Self::connect(ctx, local, remote, initial, mtu);
        conn.state = State::SynReceived;
        conn.rcv.synchronise(syn.seq);
        conn.negotiate(ctx.now, syn);
        conn.snd.update_window(0, 0, u64::from(syn.window));
        conn
    }

    fn new(ctx: &mut Context<'_>, local: SocketAddr, remote: SocketAddr, initial: u32, mtu: usize) -> Self {
        let mss = (mtu - ip_header(local.ip()) - 20) as u64;
        let random = ctx.rng.next();
        Self {
            local,
            remote,
            state: State::SynSent,
            reason: None,
            news: News::default(),
            snd: Sender::new(initial, mss, ctx.config.congestion, ctx.now, random),
            rcv: Receiver::new(ctx.config.max_window as u64, ctx.now),
            listener: None,
            detached: false,
            starved: false,
            held: false,
            timestamps: None,
            peer_mss: mss,
            mtu,
            syn_due: false,
            started_at: ctx.now,
            heard_at: ctx.now,
            stray_at: 0,
            linger_at: None,
            keepalives: 0,
        }
    }

    /// Heap and inline bytes beside the pool's chunks.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + 512 + self.snd.memory() + self.rcv.memory()
    }

    pub(crate) fn synchronised(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived)
    }

    pub(crate) fn over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// It was up at some time: its end is news to whoever accepts it.
    pub(crate) fn synchronised_once(&self) -> bool {
        self.snd.una > 0
    }

    /// What TIME-WAIT needs to know.
    pub(crate) fn remains(&self, config: &Config) -> Waiting {
        let window = (config.max_window >> self.rcv.scale).min(65_535) as u16;
        Waiting::new(
            to_wire(self.snd.initial, self.snd.nxt),
            to_wire(self.rcv.initial, self.rcv.nxt),
            window,
            self.timestamps.map(|own| (own.offset, own.recent)),
        )
    }

    fn sendable(&self) -> bool {
        matches!(
            self.state,
            State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck
        )
    }

    // ---- the application's side -------------------------------------------------------------------------------

    /// Queues data; zero when nothing fits.
    pub(crate) fn send(&mut self, ctx: &mut Context<'_>, data: &[u8]) -> usize {
        if self.over() || self.snd.fin {
            return 0;
        }
        let taken = self.snd.queue(ctx.pool, data);
        self.starved |= taken < data.len();
        taken
    }

    /// No more data from this side.
    pub(crate) fn shutdown(&mut self) {
        if self.over() || self.snd.fin {
            return;
        }
        self.snd.fin = true;
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Ends at once; the peer is told when it knows of us.
    pub(crate) fn abort(&mut self, ctx: &mut Context<'_>, reason: CloseReason) {
        if self.over() {
            return;
        }
        if self.state != State::SynSent && !self.held {
            self.push_control(ctx, Flags::RST | Flags::ACK, self.snd.nxt);
        }
        self.close(ctx, State::Closed, reason);
    }

    /// The application lets go; what is queued is still delivered.
    pub(crate) fn detach(&mut self, ctx: &mut Context<'_>) {
        self.detached = true;
        if self.over() {
            return;
        }
        if self.rcv.readable() > 0 || !self.synchronised() {
            // Data that nobody will read: the peer must not believe that it arrived (RFC 2525 §2.17).
            self.abort(ctx, CloseReason::Aborted);
        } else {
            self.shutdown();
            self.linger(ctx);
        }
    }

    fn linger(&mut self, ctx: &Context<'_>) {
        if self.state == State::FinWait2 && self.detached && self.linger_at.is_none() {
            self.linger_at = Some(ctx.now + ctx.config.time_wait.as_nanos() as Nanos);
        }
    }

    // ---- segments ---------------------------------------------------------------------------------------------

    /// A segment for this connection (RFC 9293 §3.10.7).
    pub(crate) fn segment(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        match self.state {
            State::SynSent => self.segment_syn_sent(ctx, tcp),
            State::Closed | State::TimeWait => {}
            _ => self.segment_synchronised(ctx, tcp),
        }
    }

    /// RFC 9293 §3.10.7.3.
    fn segment_syn_sent(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        let acks = tcp.flags.has(Flags::ACK);
        let good = acks && self.snd.nxt == 1 && tcp.ack == to_wire(self.snd.initial, 1);
        if acks && !good {
            if !tcp.flags.has(Flags::RST) {
                push(
                    ctx.control,
                    Control {
                        local: self.local,
                        remote: self.remote,
                        seq: tcp.ack,
                        ack: 0,
                        flags: Flags::RST,
                        window: 0,
                        timestamps: None,
                    },
                );
            }
            return;
        }
        if tcp.flags.has(Flags::RST) {
            if good {
                self.close(ctx, State::Closed, CloseReason::Refused);
            }
            return;
        }
        if !tcp.flags.has(Flags::SYN) {
            return;
        }
        self.heard_at = ctx.now;
        self.rcv.synchronise(tcp.seq);
        self.negotiate(ctx.now, tcp);
        self.snd.update_window(0, 0, u64::from(tcp.window));
        if good {
            if self.snd.rtt.backoff() == 0 {
                let rtt = ctx.now.saturating_sub(self.started_at);
                self.snd.rtt.sample(ctx.now, rtt);
                self.rcv.sample(rtt);
            }
            self.snd.update_window(0, 1, u64::from(tcp.window));
            self.establish(ctx);
            self.rcv.due = true;
            if !tcp.payload.is_empty() || tcp.flags.has(Flags::FIN) {
                self.data(ctx, 1, tcp);
            }
        } else {
            // Simultaneous open.
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    fn segment_synchronised(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) {
        let flags = tcp.flags;
        let syn_received = self.state == State::SynReceived;
        if syn_received && flags.has(Flags::SYN) && tcp.seq == self.rcv.initial && !flags.has(Flags::RST) {
            if !flags.has(Flags::ACK) {
                // The peer's SYN again: our answer was lost.
                self.syn_due = !self.held;
                return;
            }
            if tcp.ack != to_wire(self.snd.initial, 1) {
                return;
            }
            // Simultaneous open: the rest of the segment is an ordinary one that begins after the SYN.
            let rest = Tcp { seq: tcp.seq.wrapping_add(1), flags: Flags(flags.0 & !Flags::SYN), ..*tcp };
            return self.segment_synchronised(ctx, &rest);
        }
        let seq = from_wire(self.rcv.initial, self.rcv.nxt, tcp.seq);
        if !self.timestamp_fits(ctx, tcp) {
            return;
        }
        if !self.inside_window(seq, tcp) {
            if !flags.has(Flags::RST) {
                self.stray(ctx, !tcp.payload.is_empty() || flags.has(Flags::FIN));
            }
            return;
        }
        // Inside the window implies not before offset 0.
        let seq = seq.max(0) as u64;
        if flags.has(Flags::RST) {
            return self.reset(ctx, seq);
        }
        if flags.has(Flags::SYN) {
            return self.challenge(ctx);
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if let (Some(timestamps), Some((value, _))) = (&mut self.timestamps, tcp.options.timestamps)
            && seq <= self.rcv.acknowledged
        {
            timestamps.recent = value;
            timestamps.recent_at = ctx.now;
        }
        if !self.acknowledgement(ctx, seq, tcp) {
            return;
        }
        self.heard_at = ctx.now;
        self.keepalives = 0;
        if !tcp.payload.is_empty() || flags.has(Flags::FIN) {
            self.data(ctx, seq, tcp);
        }
    }

    /// PAWS (RFC 7323 §5.3). False drops the segment.
    fn timestamp_fits(&mut self, ctx: &mut Context<'_>, tcp: &Tcp<'_>) -> bool {
        let Some(timestamps) = &self.timestamps else { return true };
        if tcp.flags.has(Flags::RST) {
            return true;
        }
        let Some((value, _)) = tcp.options.timestamps else { return false };
        let old =
            before(value, timestamps.recent) && ctx.now.saturating_sub(timestamps.recent_at) < TIMESTAMP_AGE;
        if old {
            self.stray(ctx, !tcp.payload.is_empty());
        }
        !old
    }

    /// RFC 9293 §3.10.7.4, first check; a segment that begins before the window and reaches into it is fine.
    fn inside_window(&self, seq: i64, tcp: &Tcp<'_>) -> bool {
        let length = tcp.payload.len() as i64 + i64::from(tcp.flags.has(Flags::FIN));
        let next = self.rcv.nxt as i64;
        let right = self.rcv.right() as i64;
        if length == 0 {
            seq == next || (seq >= next && seq < right)
        } else if right == next {
            // A zero window: what it acknowledges still counts, its data does not.
            seq == next
        } else {
            seq < right && seq + length > next
        }
    }

    /// RFC 5961 §3.2.
    fn reset(&mut self, ctx: &mut Context<'_>, seq: u64) {
        if seq != self.rcv.nxt {
            return self.challenge(ctx);
        }
        let reason = match self.state {
            State::SynReceived => CloseReason::Refused,
            State::LastAck | State::Closing => CloseReason::Finished,
            _ => CloseReason::Reset,
        };
        self.close(ctx, State::Closed, reason);
    }

    fn challenge(&mut self, ctx: &mut Context<'_>) {
        if *ctx.challenges > 0 {
            *ctx.challenges -= 1;
            self.rcv.due = true;
        }
    }

    /// Answers a segment outside the window; without data not often, so that two confused ends do not loop.
    fn stray(&mut self, ctx: &Context<'_>, data: bool) {
        if data || ctx.now.saturating_sub(self.stray_at) >= STRAY_INTERVAL {
            self.stray_at = ctx.now;
            self.rcv.due = true;
        }
    }

    /// The ACK field, the window and the state changes they bring. False drops the rest of the segment.
    fn acknowledgement(&mut self, ctx: &mut Context<'_>, seq: u64, tcp: &Tcp<'_>) -> bool {
        let ack = from_wire(self.snd.initial, self.snd.una, tcp.ack);
        if self.state == State::SynReceived {
            if self.held || ack != 1 {
                if *ctx.challenges > 0 && !self.held {
                    *ctx.challenges -= 1;
                    self.push_reset(ctx, tcp.ack);
                }
                return false;
            }
            if self.snd.rtt.backoff() == 0 {
                let rtt = ctx.now.saturating_sub(self.started_at);
                self.snd.rtt.sample(ctx.now, rtt);
                self.rcv.sample(rtt);
            }
            self.establish(ctx);
        }
        // RFC 5961 §5.2.
        if ack > self.snd.nxt as i64 || ack < self.snd.una as i64 - (1 << 30) {
            self.challenge(ctx);
            return false;
        }
        let window = u64::from(tcp.window) << self.snd.scale;
        let Ok(ack) = u64::try_from(ack) else { return true };
        if ack < self.snd.una {
            return true;
        }
        let known = self.snd.right;
        self.snd.update_window(seq, ack, window);
        let mut blocks: [Range<u64>; 4] = [const { 0..0 }; 4];
        let mut count = 0;
        if self.snd.sack {
            for (left, right) in tcp.options.sacks() {
                let left = from_wire(self.snd.initial, self.snd.una, *left);
                let right = from_wire(self.snd.initial, self.snd.una, *right);
                if left >= 0 && right > left {
                    blocks[count] = left as u64..right as u64;
                    count += 1;
                }
            }
        }
        let echo = self.timestamps.as_ref().zip(tcp.options.timestamps);
        let incoming = Incoming {
            offset: ack,
            sacks: &blocks[..count],
            echo_rtt: echo.and_then(|(own, (_, echo))| {
                let age = own.clock(ctx.now).wrapping_sub(echo);
                (echo != 0 && age < 600_000).then(|| Nanos::from(age.max(1)) * MS)
            }),
            echo_before_timeout: echo.is_some_and(|(own, (_, echo))| {
                own.timeout.is_some_and(|timeout| echo != 0 && before(echo, timeout))
            }),
            bare: tcp.payload.is_empty() && self.snd.right == known && !tcp.flags.has(Flags::FIN),
        };
        self.snd.acknowledge(ctx.now, ctx.pool, &incoming);
        if self.starved && self.snd.worth_telling(ctx.pool) {
            self.starved = false;
            self.news.writable = true;
        }
        if self.snd.fin_acknowledged() {
            match self.state {
                State::FinWait1 => {
                    self.state = State::FinWait2;
                    self.linger(ctx);
                }
                State::Closing => self.close(ctx, State::TimeWait, CloseReason::Finished),
                State::LastAck => self.close(ctx, State::Closed, CloseReason::Finished),
                _ => {}
            }
        }
        true
    }

    fn data(&mut self, ctx: &mut Context<'_>, seq: u64, tcp: &Tcp<'_>) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            // After the peer's FIN there is nothing to take; what comes is old and acknowledged again.
            self.rcv.due = true;
            return;
        }
        if self.detached && !tcp.payload.is_empty() && seq + tcp.payload.len() as u64 > self.rcv.nxt {
            // Nobody will read it (RFC 9293 §3.10.4.3 lets us say so).
            return self.abort(ctx, CloseReason::Aborted);
        }
        if let (Some(timestamps), Some((_, echo))) = (&self.timestamps, tcp.options.timestamps) {
            let age = timestamps.clock(ctx.now).wrapping_sub(echo);
            if echo != 0 && age < 10_000 {
                self.rcv.sample(Nanos::from(age) * MS);
            }
        }
        let (readable, finished) = (self.rcv.readable(), self.rcv.finished());
        let sack = self.snd.sack;
        self.rcv.accept(ctx.now, ctx.pool, seq, tcp.payload, tcp.flags.has(Flags::FIN), sack);
        if self.rcv.readable() > readable || self.rcv.finished() != finished {
            self.news.readable = true;
        }
        if self.rcv.finished() && !finished {
            match self.state {
                State::Established => self.state = State::CloseWait,
                State::FinWait1 => self.state = State::Closing,
                State::FinWait2 => self.close(ctx, State::TimeWait, CloseReason::Finished),
                _ => {}
            }
        }
    }

    /// Options of a SYN.
    fn negotiate(&mut self, now: Nanos, tcp: &Tcp<'_>) {
        let options = &tcp.options;
        let default = if self.local.is_ipv4() { DEFAULT_MSS_V4 } else { DEFAULT_MSS_V6 };
        self.peer_mss = u64::from(options.mss.unwrap_or(default)).max(MIN_MSS);
        match options.scale {
            Some(scale) => self.snd.scale = scale,
            None => self.rcv.scale = 0,
        }
        self.snd.sack = options.sack_permitted;
        self.timestamps = match (self.timestamps, options.timestamps) {
            (Some(own), Some((value, _))) => Some(Timestamps { recent: value, recent_at: now, ..own }),
            _ => None,
        };
        self.resize(false);
    }

    /// The MSS from the path and from the peer, less our options (RFC 6691).
    fn resize(&mut self, shrunk: bool) {
        let path = (self.mtu - ip_header(self.local.ip()) - 20) as u64;
        let options = if self.timestamps.is_some() { 12 } else { 0 };
        self.snd.set_mss(path.min(self.peer_mss).max(MIN_MSS) - options, shrunk);
    }

    /// The path carries packets of at most `mtu` bytes.
    pub(crate) fn shrink(&mut self, mtu: usize) {
        if mtu < self.mtu {
            self.mtu = mtu;
            self.resize(self.synchronised());
        }
    }

    /// An ICMP error quotes this sequence number of ours: it is believed when it is outstanding (RFC 5927 §4).
    pub(crate) fn quoted(&self, seq: u32) -> bool {
        let offset = from_wire(self.snd.initial, self.snd.una, seq);
        offset >= self.snd.una as i64 && offset < self.snd.nxt as i64
    }

    /// Unreachable: hard only while connecting (RFC 5927 §5.2).
    pub(crate) fn unreachable(&mut self, ctx: &mut Context<'_>, refused: bool) {
        if self.state == State::SynSent {
            let reason = if refused { CloseReason::Refused } else { CloseReason::Unreachable };
            self.close(ctx, State::Closed, reason);
        }
    }

    fn establish(&mut self, ctx: &mut Context<'_>) {
        self.state = if self.snd.fin { State::FinWait1 } else { State::Established };
        self.snd.established(ctx.now);
        self.syn_due = false;
        self.news.connected = true;
    }

    fn close(&mut self, ctx: &mut Context<'_>, state: State, reason: CloseReason) {
        if state == State::TimeWait {
            // The acknowledgement of the peer's FIN leaves by the control queue, the connection itself is done.
            self.push_control(ctx, Flags::ACK, self.snd.nxt);
        }
        self.state = state;
        self.reason = Some(reason);
        self.news.closed = true;
        self.snd.clear(ctx.pool);
        self.rcv.due = false;
        self.rcv.delayed_at = None;
        self.syn_due = false;
        self.linger_at = None;
        if self.detached || reason != CloseReason::Finished {
            self.rcv.clear(ctx.pool);
        }
    }

    fn push_control(&mut self, ctx: &mut Context<'_>, flags: u8, seq: u64) {
        let window = if flags & Flags::RST != 0 { 0 } else { self.window(ctx) };
        push(
            ctx.control,
            Control {
                local: self.local,
                remote: self.remote,
                seq: to_wire(self.snd.initial, seq),
                ack: to_wire(self.rcv.initial, self.rcv.nxt),
                flags,
                window,
                timestamps: self.timestamps.map(|own| (own.clock(ctx.now), own.recent)),
            },
        );
    }

    fn push_reset(&self, ctx: &mut Context<'_>, seq: u32) {
        push(
            ctx.control,
            Control {
                local: self.local,
                remote: self.remote,
                seq,
                ack: 0,
                flags: Flags::RST,
                window: 0,
                timestamps: None,
            },
        );
    }

    fn window(&mut self, ctx: &Context<'_>) -> u16 {
        let scale = self.rcv.scale;
        (self.rcv.offer(ctx.now, ctx.pool) >> scale).min(65_535) as u16
    }

    // ---- time -------------------------------------------------------------------------------------------------

    /// The earliest timer.
    pub(crate) fn deadline(&self, config: &Config) -> Option<Nanos> {
        if self.over() {
            return None;
        }
        let keepalive = config.keepalive.filter(|_| self.synchronised()).map(|keepalive| {
            self.heard_at
                + keepalive.idle.as_nanos() as Nanos
                + Nanos::from(self.keepalives) * keepalive.interval.as_nanos() as Nanos
        });
        [self.snd.deadline(), self.rcv.delayed_at, self.linger_at, keepalive].into_iter().flatten().min()
    }

    /// Runs what is due.
    pub(crate) fn expire(&mut self, ctx: &mut Context<'_>) {
        if self.over() {
            return;
        }
        let now = ctx.now;
        if self.linger_at.is_some_and(|at| at <= now) {
            return self.abort(ctx, CloseReason::Finished);
        }
        if self.rcv.delayed_at.is_some_and(|at| at <= now) {
            self.rcv.due = true;
        }
        if !self.synchronised() {
            return self.expire_handshake(ctx);
        }
        if self.snd.expire(now) {
            if let Some(timestamps) = &mut self.timestamps {
                timestamps.timeout = Some(timestamps.clock(now));
            }
            let silence = now.saturating_sub(self.heard_at);
            if silence > ctx.config.user_timeout.as_nanos() as Nanos {
                return self.abort(ctx, CloseReason::TimedOut);
            }
            // Full segments vanish one after the other: perhaps a black hole for their size.
            let floor = wire::MIN_MTU - ip_header(self.local.ip()) - 20;
            if self.snd.rtt.backoff() == BLACK_HOLE && self.snd.first_length() > floor as u64 {
                self.shrink(wire::MIN_MTU);
            }
        } else if self.snd.ask_window
            && now.saturating_sub(self.heard_at) > ctx.config.user_timeout.as_nanos() as Nanos
        {
            return self.abort(ctx, CloseReason::TimedOut);
        }
        if let Some(keepalive) = ctx.config.keepalive {
            let at = self.heard_at
                + keepalive.idle.as_nanos() as Nanos
                + Nanos::from(self.keepalives) * keepalive.interval.as_nanos() as Nanos;
            if at <= now {
                if self.keepalives >= keepalive.count {
                    return self.abort(ctx, CloseReason::TimedOut);
                }
                self.keepalives += 1;
                self.snd.ask_window = true;
            }
        }
    }

    fn expire_handshake(&mut self, ctx: &mut Context<'_>) {
        if !self.snd.timeout_at.is_some_and(|at| at <= ctx.now) {
            return;
        }
        if ctx.now.saturating_sub(self.started_at) >= ctx.config.connect_timeout.as_nanos() as Nanos {
            return self.close(ctx, State::Closed, CloseReason::TimedOut);
        }
        self.snd.rtt.back_off();
        self.snd.timeout_at = None;
        self.syn_due = !self.held;
    }

    /// Something may be sent.
    pub(crate) fn eager(&self) -> bool {
        !self.over()
            && (self.syn_due
                || self.rcv.due
                || (self.synchronised() && (self.snd.eager() && self.sendable_or_asking())))
    }

    fn sendable_or_asking(&self) -> bool {
        self.sendable() || self.snd.ask_window
    }

    /// Lets a held connection answer.
    pub(crate) fn admit(&mut self, now: Nanos) {
        if std::mem::take(&mut self.held) {
            self.syn_due = true;
            self.started_at = now;
        }
    }

    // ---- output -----------------------------------------------------------------------------------------------

    /// Writes what may leave now. True when there is more than its turn allows or the batch holds.
    pub(crate) fn emit(&mut self, ctx: &mut Context<'_>, out: &mut Batch) -> bool {
        if self.over() {
            return false;
        }
        if self.syn_due {
            if out.is_full() {
                return true;
            }
            self.emit_syn(ctx, out);
        }
        if !self.synchronised() {
            return false;
        }
        let mut turn = 0;
        if self.sendable() {
            // Retransmitted and new data carry the acknowledgement; SACK blocks go in segments of their own.
            let blocks = self.rcv.due && self.snd.sack && self.rcv.has_blocks();
            if blocks {
                if out.is_full() {
                    return true;
                }
                self.emit_ack(ctx, out);
            }
            loop {
                if turn >= QUOTA || out.is_full() {
                    return true;
                }
                match self.snd.plan(ctx.now) {
                    Ok(plan) => {
                        self.emit_data(ctx, out, &plan);
                        self.snd.sent(ctx.now, &plan);
                        turn += 1;
                    }
                    Err(Wait::Peer | Wait::Until(_)) => break,
                }
            }
        }
        while self.rcv.due || (self.rcv.owed > 0 && !self.snd.sack) {
            if out.is_full() {
                return true;
            }
            self.emit_ack(ctx, out);
        }
        if self.snd.ask_window {
            if out.is_full() {
                return true;
            }
            // An old sequence number draws an answer without adding anything (as keepalives do, RFC 9293 §3.8.4).
            self.snd.ask_window = false;
            let head = self.head(ctx, self.snd.una - 1, Flags::ACK);
            self.push(out, &head, 0, 0);
        }
        false
    }

    fn emit_syn(&mut self, ctx: &mut Context<'_>, out: &mut Batch) {
        self.syn_due = false;
        let answer = self.state == State::SynReceived;
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        let offered = self.rcv.offer(ctx.now, ctx.pool);
        let mut options = Options {
            mss: Some((ctx.config.mtu.min(wire::MAX_MTU) - ip_header(self.local.ip()) - 20) as u16),
            ..Options::default()
        };
        if !answer || self.snd.scale > 0 || self.rcv.scale > 0 {
            options.scale = Some(self.rcv.scale);
        }
        options.sack_permitted = self.snd.sack;
        options.timestamps =
            self.timestamps.map(|own| (own.clock(ctx.now), if answer { own.recent } else { 0 }));
        let head = Tcp {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            seq: self.snd.initial,
            ack: if answer { to_wire(self.rcv.initial, self.rcv.nxt) } else { 0 },
            flags: Flags(if answer { Flags::SYN | Flags::ACK } else { Flags::SYN }),
            window: offered.min(65_535) as u16,
            options,
            payload: &[],
        };
        self.push(out, &head, 0, 0);
        self.snd.nxt = 1;
        self.snd.timeout_at = Some(ctx.now + self.snd.rtt.rto());
        if answer {
            self.rcv.acknowledged();
        }
    }

    fn emit_data(&mut self, ctx: &mut Context<'_>, out: &mut Batch, plan: &crate::sender::Plan) {
        let mut flags = Flags::ACK;
        if plan.fin {
            flags |= Flags::FIN;
        }
        if plan.push && plan.data > 0 {
            flags |= Flags::PSH;
        }
        let head = self.head(ctx, plan.start, flags);
        self.push(out, &head, plan.start, plan.data);
        self.rcv.acknowledged();
    }

    fn emit_ack(&mut self, ctx: &mut Context<'_>, out: &mut Batch) {
        let mut head = self.head(ctx, self.snd.nxt, Flags::ACK);
        if self.snd.sack && self.rcv.has_blocks() {
            let room = if self.timestamps.is_some() { 3 } else { 4 };
            self.rcv.blocks(&mut head.options, room);
        }
        self.push(out, &head, 0, 0);
        self.rcv.acknowledged();
    }

    fn head(&mut self, ctx: &Context<'_>, seq: u64, flags: u8) -> Tcp<'static> {
        Tcp {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            seq: to_wire(self.snd.initial, seq),
            ack: to_wire(self.rcv.initial, self.rcv.nxt),
            flags: Flags(flags),
            window: self.window(ctx),
            options: Options {
                timestamps: self.timestamps.map(|own| (own.clock(ctx.now), own.recent)),
                ..Options::default()
            },
            payload: &[],
        }
    }

    fn push(&self, out: &mut Batch, head: &Tcp<'_>, offset: u64, length: usize) {
        let written = wire::emit_tcp(out, self.local.ip(), self.remote.ip(), head, length, |payload| {
            self.snd.read(offset, payload);
        });
        debug_assert!(written, "the batch has room for the configured MTU");
    }
}

/// Queues a control segment unless too many wait.
pub(crate) fn push(queue: &mut VecDeque<Control>, control: Control) {
    if queue.len() < MAX_CONTROL {
        queue.push_back(control);
    }
}
