//! The sending half of a connection: what waits, and what may leave. [`acknowledgements`] has what arrived and what was lost,
//! and [`timers`] when to try again.

mod acknowledgements;
mod search;
mod timers;

use crate::buffer::{CHUNK, Chunks, Direction, Pool};
use crate::congestion::{Ack, Congestion, Controller, Lost};
use crate::pacing::Pacer;
use crate::rack::{self, Rack};
use crate::rate::Rate;
use crate::rtt::Rtt;
use crate::scoreboard::{Place, Scoreboard, Segment};
use crate::seq::{MS, Nanos, SEC};

pub(crate) use acknowledgements::Incoming;

use search::Search;

/// Bytes that may be queued before there is anything to measure.
const MIN_BUFFER: u64 = 128 * 1024;

/// One segment to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) start: u64,
    /// Bytes of data.
    pub(crate) data: usize,
    pub(crate) fin: bool,
    /// Nothing more is queued behind it.
    pub(crate) push: bool,
    again: Option<u64>,
    /// Larger than the path is known to take.
    larger: bool,
}

impl Plan {
    /// Data that was not sent before, and whose loss would be one of congestion: the path may mark it (RFC 3168 §5.2, §6.1.5).
    pub(crate) fn fresh(&self) -> bool {
        self.again.is_none() && self.data > 0 && !self.larger
    }

    fn length(&self) -> u32 {
        self.data as u32 + u32::from(self.fin)
    }
}

/// What the sender is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing to send, or an acknowledgement must come first.
    Peer,
    /// The pacer: not before this time.
    Until(Nanos),
}

#[derive(Debug, Clone, Copy)]
struct Probe {
    end: u64,
    retransmission: bool,
}

/// The sender.
pub(crate) struct Sender {
    pub(crate) initial: u32,
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// One past the last byte queued; the FIN has this offset.
    pub(crate) end: u64,
    pub(crate) fin: bool,
    /// Right edge of the peer's window.
    pub(crate) right: u64,
    pub(crate) scale: u8,
    pub(crate) sack: bool,
    largest_window: u64,
    window_seq: u64,
    window_ack: u64,
    mss: u64,
    buffer: Chunks,
    board: Scoreboard,
    rack: Rack,
    pub(crate) rtt: Rtt,
    rate: Rate,
    pacer: Pacer,
    pub(crate) congestion: Congestion,
    controller: Box<dyn Controller>,
    pub(crate) timeout_at: Option<Nanos>,
    probe_at: Option<Nanos>,
    reorder_at: Option<Nanos>,
    persist_at: Option<Nanos>,
    pace_at: Option<Nanos>,
    persist_count: u32,
    /// The peer has taken back what it promised: its window is zero although something is outstanding.
    pub(crate) shut: bool,
    /// Since when the window has been too small for what is queued.
    pub(crate) stalled_at: Option<Nanos>,
    /// The override timer of silly-window avoidance has fired.
    override_silly: bool,
    /// What had been sent when the recovery began.
    recovery: Option<u64>,
    after_timeout: bool,
    forced: bool,
    probe_due: bool,
    probe: Option<Probe>,
    /// Of a path that took less than before.
    search: Option<Search>,
    /// A window probe must be sent.
    pub(crate) ask_window: bool,
    duplicates: u32,
    window_limited: bool,
    /// Small segments wait while others are unacknowledged (RFC 9293 §3.7.4).
    pub(crate) nagle: bool,
    /// More than one SYN was lost.
    lost_syns: bool,
    /// The path may mark what is sent (RFC 3168).
    pub(crate) marks: bool,
    /// The first new data tells the peer that the window was reduced.
    pub(crate) cwr: bool,
    /// What had been sent at the last reduction. Echoes of marks up to here are answered.
    reduced_at: u64,
    /// What had been sent when an echo began the present reduction.
    easing: Option<u64>,
    /// Nothing new leaves before: a mark came at the smallest window.
    hold_until: Nanos,
    /// Reductions that an echo has caused.
    pub(crate) marked: u64,
    last_sent_at: Nanos,
    pub(crate) retransmitted: u64,
}

impl Sender {
    pub(crate) fn new(initial: u32, mss: u64, congestion: Congestion, now: Nanos, random: u64) -> Self {
        Self {
            initial,
            una: 0,
            nxt: 0,
            end: 1,
            fin: false,
            right: 1,
            scale: 0,
            sack: false,
            largest_window: 0,
            window_seq: 0,
            window_ack: 0,
            mss,
            buffer: Chunks::new(Direction::Send),
            board: Scoreboard::default(),
            rack: Rack::new(),
            rtt: Rtt::new(),
            rate: Rate::default(),
            pacer: Pacer::new(),
            congestion,
            controller: congestion.controller(mss, now, random),
            timeout_at: None,
            probe_at: None,
            reorder_at: None,
            persist_at: None,
            pace_at: None,
            persist_count: 0,
            shut: false,
            stalled_at: None,
            override_silly: false,
            recovery: None,
            after_timeout: false,
            forced: false,
            probe_due: false,
            probe: None,
            search: None,
            ask_window: false,
            duplicates: 0,
            window_limited: false,
            nagle: false,
            lost_syns: false,
            marks: false,
            cwr: false,
            reduced_at: 0,
            easing: None,
            hold_until: 0,
            marked: 0,
            last_sent_at: now,
            retransmitted: 0,
        }
    }

    /// Another controller, which begins anew.
    pub(crate) fn set_congestion(&mut self, congestion: Congestion, now: Nanos, random: u64) {
        self.congestion = congestion;
        self.controller = congestion.controller(self.mss, now, random);
        if self.lost_syns {
            self.controller.on_lost_syns();
        }
        self.update_pacer();
    }

    /// Heap bytes beside the chunks of the pool.
    pub(crate) fn memory(&self) -> usize {
        self.board.memory()
    }

    pub(crate) fn flight(&self) -> u64 {
        self.board.flight()
    }

    /// Something was sent and is not acknowledged.
    pub(crate) fn waiting(&self) -> bool {
        !self.board.is_empty()
    }

    pub(crate) fn window(&self) -> u64 {
        self.controller.window()
    }

    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    /// The FIN was acknowledged.
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.fin && self.una > self.end
    }

    /// The handshake is over: our SYN was acknowledged.
    pub(crate) fn established(&mut self, now: Nanos) {
        self.una = 1;
        self.nxt = self.nxt.max(1);
        self.timeout_at = None;
        match self.rtt.backoff() {
            0 => {}
            1 => self.rtt.syn_lost(),
            _ => {
                self.rtt.syn_lost();
                self.lost_syns = true;
                self.controller.on_lost_syns();
            }
        }
        self.rtt.progress();
        self.last_sent_at = now;
    }

    /// Bytes of the application that are not acknowledged; an acknowledged FIN lies beyond them.
    fn queued(&self) -> u64 {
        self.end.saturating_sub(self.una)
    }

    /// Bytes that `queue` would take.
    pub(crate) fn room(&self, pool: &Pool) -> usize {
        let limit = (2 * self.controller.window()).max(MIN_BUFFER).min(pool.share() as u64);
        let room = limit.saturating_sub(self.queued()) as usize;
        room.min(self.buffer.room(pool, self.end))
    }

    /// Takes data from the application.
    pub(crate) fn queue(&mut self, pool: &mut Pool, data: &[u8]) -> usize {
        let room = self.room(pool).min(data.len());
        let taken = self.buffer.write(pool, self.end, &data[..room]);
        self.end += taken as u64;
        taken
    }

    /// Drops everything queued.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.buffer.clear(pool, self.end);
        self.board = Scoreboard::default();
        self.timeout_at = None;
        self.probe_at = None;
        self.reorder_at = None;
        self.persist_at = None;
        self.pace_at = None;
    }

    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        self.buffer.read(offset, out)
    }

    /// The path carries only `mss` bytes of data. What was larger and is in flight did not arrive. With the time, the path is
    /// asked later whether it takes more.
    pub(crate) fn set_mss(&mut self, mss: u64, shrunk: bool, search: Option<Nanos>) {
        let before = self.search.map_or(self.mss, |search| search.ceiling().max(self.mss));
        self.search = search.filter(|_| mss < before).map(|now| Search::new(now, before));
        self.mss = mss;
        self.controller.set_mss(mss);
        if shrunk && !self.board.is_empty() {
            self.board.mark_oversized(mss as u32 + 1);
            self.forced = true;
        }
    }

    /// Larger segments than now are not wanted.
    pub(crate) fn end_search(&mut self) {
        self.search = None;
    }

    /// Sets the timers after progress or a transmission (RFC 6298 §5, RFC 8985 §7.2).
    fn arm(&mut self, now: Nanos, restart: bool) {
        if self.board.is_empty() {
            self.timeout_at = None;
            self.probe_at = None;
            self.reorder_at = None;
            return;
        }
        if restart || self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.rtt.rto());
        }
        let quiet = self.recovery.is_none()
            && self.probe.is_none()
            && self.sack
            && !self.board.has_sacked()
            && !self.board.has_lost()
            && self.rtt.backoff() == 0;
        self.probe_at = None;
        if quiet {
            let at = now + rack::probe_timeout(&self.rtt, self.board.len() == 1);
            if self.timeout_at.is_none_or(|timeout| at < timeout) {
                self.probe_at = Some(at);
            }
        }
    }

    fn update_pacer(&mut self) {
        let rate = self.controller.pacing_rate().unwrap_or(0);
        self.pacer.set_rate(rate, self.mss);
    }

    /// The next segment that may leave now.
    pub(crate) fn plan(&mut self, now: Nanos) -> Result<Plan, Wait> {
        self.stop_waiting(now);
        if let Some((id, segment)) = self.board.next_lost() {
            if !self.forced {
                self.permitted(now, segment.length.into(), 0)?;
            }
            return Ok(self.again(id, &segment));
        }
        let pending = self.end - self.nxt.min(self.end);
        let fin = self.fin && self.nxt <= self.end;
        if pending == 0 && !fin {
            if self.probe_due {
                return self.tail_probe().ok_or(Wait::Peer);
            }
            if self.board.flight() < self.controller.window() {
                self.rate.app_limited(self.board.flight());
            }
            return Err(Wait::Peer);
        }
        let usable = self.right.saturating_sub(self.nxt);
        let search = self.search.filter(|_| self.recovery.is_none() && !self.probe_due && !self.cwr);
        let larger = search.and_then(|search| search.due(now)).filter(|size| *size <= pending.min(usable));
        let data = larger.unwrap_or_else(|| pending.min(self.mss).min(usable));
        if pending > 0 && data < pending.min(self.mss) && (data == 0 || data < self.largest_window / 2) {
            // A silly window (RFC 9293 §3.8.6.2.1): wait, and ask when nothing is under way that would tell.
            if self.probe_due {
                return self.tail_probe().ok_or(Wait::Peer);
            }
            if self.board.is_empty() {
                if data == 0 || !self.override_silly {
                    self.stalled_at.get_or_insert(now);
                    self.persist_at
                        .get_or_insert(now + (self.rtt.rto() << self.persist_count.min(8)).min(60 * SEC));
                    return Err(Wait::Peer);
                }
            } else {
                return Err(Wait::Peer);
            }
        }
        let fin = fin && data == pending;
        if self.nagle && data < self.mss && !fin && !self.probe_due && !self.board.is_empty() {
            return Err(Wait::Peer);
        }
        if self.board.is_empty() {
            let idle = now.saturating_sub(self.last_sent_at);
            if idle > self.rtt.rto() && self.nxt > 1 {
                self.controller.on_restart(now, idle, self.rtt.rto());
                self.update_pacer();
            }
            if idle > 0 {
                self.pacer.restart(now);
            }
        }
        if !self.probe_due {
            self.permitted(now, data, 1)?;
        }
        Ok(Plan {
            start: self.nxt,
            data: data as usize,
            fin,
            push: data == pending,
            again: None,
            larger: larger.is_some(),
        })
    }

    fn tail_probe(&mut self) -> Option<Plan> {
        let Some((id, segment)) = self.board.probe() else {
            self.probe_due = false;
            return None;
        };
        Some(self.again(id, &segment))
    }

    fn again(&self, id: u64, segment: &Segment) -> Plan {
        let data = segment.end().min(self.end) - segment.start;
        let fits = data.min(self.mss);
        let fin = fits == data && segment.end() > self.end;
        Plan {
            start: segment.start,
            data: fits as usize,
            fin,
            push: segment.start + fits == self.end,
            again: Some(id),
            larger: false,
        }
    }

    /// Congestion window, memory for `records` more, and pacer. A retransmission needs no record: of a window much larger than
    /// the present one, everything that was lost is still sent at the present rate.
    fn permitted(&mut self, now: Nanos, length: u64, records: usize) -> Result<(), Wait> {
        let flight = self.board.flight().saturating_sub(u64::from(self.duplicates) * self.mss);
        let window = self.controller.window();
        let most_records = (window / self.mss * 4).max(256) as usize;
        let full = records > 0 && self.board.len() > most_records;
        if flight > 0 && (flight + length > window || full) {
            self.window_limited = true;
            return Err(Wait::Peer);
        }
        let held = (records > 0 && self.hold_until > now).then_some(self.hold_until);
        if let Some(at) = held.or_else(|| self.pacer.blocked(now)) {
            self.pace_at = Some(at);
            return Err(Wait::Until(at));
        }
        Ok(())
    }

    /// A planned segment has left.
    pub(crate) fn sent(&mut self, now: Nanos, plan: &Plan) {
        let length = plan.length();
        let stamp = self.rate.stamp(now, self.board.is_empty(), self.board.flight() + u64::from(length));
        match plan.again {
            Some(id) => {
                if let Some(search) = &mut self.search {
                    search.lost(now, plan.start, self.mss);
                }
                self.board.resend(id, length, stamp);
                self.retransmitted += 1;
            }
            None => {
                self.board.push(plan.start, length, stamp);
                self.nxt = plan.start + u64::from(length);
                if let Some(search) = self.search.as_mut().filter(|_| plan.larger) {
                    search.sent(plan.start);
                }
            }
        }
        if self.probe_due {
            self.probe_due = false;
            self.probe = Some(Probe { end: self.nxt, retransmission: plan.again.is_some() });
        }
        self.forced = false;
        self.override_silly = false;
        self.last_sent_at = now;
        self.pacer.sent(now, u64::from(length) + 52);
        self.controller.on_sent(length.into());
        self.arm(now, false);
    }

    /// The largest record in flight or lost, for black-hole detection.
    pub(crate) fn first_length(&self) -> u64 {
        self.board.first().map_or(0, |first| u64::from(first.length))
    }

    /// Bytes the application may still have queued before `room` is worth an event.
    pub(crate) fn worth_telling(&self, pool: &Pool) -> bool {
        let room = self.room(pool).min(pool.free(Direction::Send)) as u64;
        room >= CHUNK as u64 && (room >= self.queued() / 2 || room >= MIN_BUFFER)
    }
}
