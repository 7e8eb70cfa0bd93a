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

mod arrival;
mod output;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::config::Config;
use crate::demux::Waiting;
use crate::ecn::{Agreement, ECT_0, Ecn, NOT_ECT};
use crate::icmp::Unreachable;
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
    /// A rule on the way forbids it (ICMP code 13, or ICMPv6 code 1).
    #[error("administratively prohibited")]
    Prohibited,
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
    /// Resets of segments without a connection left in this second.
    pub(crate) reset_tokens: &'a mut u32,
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
    ecn: Agreement,
    peer_mss: u64,
    mtu: usize,
    syn_due: bool,
    started_at: Nanos,
    heard_at: Nanos,
    /// The first transmission since then that asks for an answer.
    asked_at: Option<Nanos>,
    stray_at: Nanos,
    challenged_at: Option<Nanos>,
    /// When the application let go of it.
    orphan_at: Option<Nanos>,
    /// End of FIN-WAIT-2 of a connection that nobody holds any more.
    linger_at: Option<Nanos>,
    keepalives: u32,
}

impl Conn {
    /// Bytes of one without data: itself and its controller.
    pub(crate) const SIZE: usize = size_of::<Self>() + 512;

    /// A connection that begins with our SYN, with our first sequence number and the offset of our timestamps.
    pub(crate) fn connect(
        ctx: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        (initial, offset): (u32, u32),
        mtu: usize,
    ) -> Self {
        let mut conn = Self::new(ctx, local, remote, initial, mtu);
        conn.timestamps = Some(Timestamps { offset, recent: 0, recent_at: ctx.now, timeout: None });
        conn.snd.sack = true;
        conn.ecn = Agreement::new(ctx.config.ecn == Ecn::Ask);
        conn.syn_due = true;
        conn
    }

    /// A connection that begins with a peer's SYN.
    pub(crate) fn answer(
        ctx: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        numbers: (u32, u32),
        mtu: usize,
        syn: &Tcp<'_>,
    ) -> Self {
        let mut conn = Self::connect(ctx, local, remote, numbers, mtu);
        conn.state = State::SynReceived;
        conn.rcv.synchronise(syn.seq);
        conn.negotiate(ctx.now, syn);
        conn.ecn = Agreement::default();
        conn.ecn.heard_syn(ctx.config.ecn != Ecn::Off, syn);
        conn.snd.update_window(0, 0, u64::from(syn.window));
        conn
    }

    fn new(ctx: &mut Context<'_>, local: SocketAddr, remote: SocketAddr, initial: u32, mtu: usize) -> Self {
        let mss = (mtu - ip_header(local.ip()) - 20) as u64;
        let random = ctx.rng.next();
        let mut snd = Sender::new(initial, mss, ctx.config.congestion, ctx.now, random);
        snd.nagle = ctx.config.nagle;
        Self {
            local,
            remote,
            state: State::SynSent,
            reason: None,
            news: News::default(),
            snd,
            rcv: Receiver::new(ctx.config.max_window.min(ctx.pool.most()) as u64, ctx.now),
            listener: None,
            detached: false,
            starved: false,
            held: false,
            timestamps: None,
            ecn: Agreement::default(),
            peer_mss: mss,
            mtu,
            syn_due: false,
            started_at: ctx.now,
            heard_at: ctx.now,
            asked_at: None,
            stray_at: 0,
            challenged_at: None,
            orphan_at: None,
            linger_at: None,
            keepalives: 0,
        }
    }

    /// Heap and inline bytes beside the pool's chunks.
    pub(crate) fn memory(&self) -> usize {
        Self::SIZE + self.snd.memory() + self.rcv.memory()
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
        self.orphan_at = Some(ctx.now);
        if self.over() {
            return;
        }
        if self.rcv.readable() > 0 || !self.synchronised() {
            // Data that nobody will read: the peer must not believe that it arrived (RFC 2525 §2.17).
            self.abort(ctx, CloseReason::Aborted);
        } else {
            self.rcv.abandon(ctx.pool);
            self.shutdown();
            self.linger(ctx);
        }
    }

    fn linger(&mut self, ctx: &Context<'_>) {
        if self.state == State::FinWait2 && self.detached && self.linger_at.is_none() {
            self.linger_at = Some(ctx.now + ctx.config.time_wait.as_nanos() as Nanos);
        }
    }

    // ---- time -------------------------------------------------------------------------------------------------

    /// The earliest timer.
    pub(crate) fn deadline(&self, config: &Config) -> Option<Nanos> {
        if self.over() {
            return None;
        }
        [self.snd.deadline(), self.rcv.delayed_at, self.linger_at, self.keepalive_at(config)]
            .into_iter()
            .flatten()
            .min()
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
            if self.unanswered(ctx) {
                return self.abort(ctx, CloseReason::TimedOut);
            }
            // Full segments vanish one after the other: perhaps a black hole for their size.
            let floor = wire::MIN_MTU - ip_header(self.local.ip()) - 20;
            let full = self.snd.first_length() > floor as u64 && !self.snd.shut;
            if self.snd.rtt.backoff() == BLACK_HOLE && full {
                self.shrink(wire::MIN_MTU, Some(now));
            }
        } else if self.snd.ask_window && (self.unanswered(ctx) || self.hopeless(ctx)) {
            return self.abort(ctx, CloseReason::TimedOut);
        }
        if let Some(keepalive) = ctx.config.keepalive
            && self.keepalive_at(ctx.config).is_some_and(|at| at <= now)
        {
            if self.keepalives >= keepalive.count {
                return self.abort(ctx, CloseReason::TimedOut);
            }
            self.keepalives += 1;
            self.snd.ask_window = true;
        }
    }

    /// A segment of the peer was acceptable.
    fn heard(&mut self, now: Nanos) {
        self.heard_at = now;
        self.asked_at = None;
        self.keepalives = 0;
    }

    /// The peer has owed an answer for longer than R2 (RFC 9293 §3.8.3). It owes one since the first transmission after it was
    /// last heard: a connection that was idle before has not been silent.
    fn unanswered(&self, ctx: &Context<'_>) -> bool {
        let since = match self.asked_at {
            Some(at) => at,
            None if self.snd.waiting() => self.heard_at,
            None => return false,
        };
        ctx.now.saturating_sub(since) > ctx.config.user_timeout.as_nanos() as Nanos
    }

    /// Nobody holds the connection, and the peer has not taken what is queued for longer than R2.
    fn hopeless(&self, ctx: &Context<'_>) -> bool {
        self.orphan_at.zip(self.snd.stalled_at).is_some_and(|(orphan, stalled)| {
            ctx.now.saturating_sub(orphan.max(stalled)) > ctx.config.user_timeout.as_nanos() as Nanos
        })
    }

    /// When the next keepalive is due; none while data is outstanding, which is probe enough (RFC 9293 §3.8.4).
    fn keepalive_at(&self, config: &Config) -> Option<Nanos> {
        let keepalive = config.keepalive.filter(|_| self.synchronised() && !self.snd.waiting())?;
        let pauses = Nanos::from(self.keepalives) * keepalive.interval.as_nanos() as Nanos;
        Some(self.heard_at + keepalive.idle.as_nanos() as Nanos + pauses)
    }

    fn expire_handshake(&mut self, ctx: &mut Context<'_>) {
        if self.snd.timeout_at.is_none_or(|at| at > ctx.now) {
            return;
        }
        if ctx.now.saturating_sub(self.started_at) >= ctx.config.connect_timeout.as_nanos() as Nanos {
            return self.close(ctx, State::Closed, CloseReason::TimedOut);
        }
        self.snd.rtt.back_off();
        self.snd.timeout_at = None;
        self.syn_due = !self.held;
    }

    /// Answers nothing until it is admitted.
    pub(crate) fn hold(&mut self, until: Nanos) {
        self.held = true;
        self.syn_due = false;
        self.snd.timeout_at = Some(until);
    }

    /// Lets a held connection answer.
    pub(crate) fn admit(&mut self, now: Nanos) {
        if std::mem::take(&mut self.held) {
            self.syn_due = true;
            self.started_at = now;
            // It ran for whoever was to decide.
            self.snd.timeout_at = None;
        }
    }
}

/// Queues a control segment unless too many wait.
pub(crate) fn push(queue: &mut VecDeque<Control>, control: Control) {
    if queue.len() < MAX_CONTROL {
        queue.push_back(control);
    }
}
