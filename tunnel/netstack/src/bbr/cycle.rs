//! The states, and when each of them ends.

use super::{Bbr, Feedback, State};
use crate::congestion::Ack;
use crate::rate::RateSample;
use crate::seq::{MS, Nanos, SEC};

const MIN_RTT_WINDOW: Nanos = 10 * SEC;
const PROBE_RTT_INTERVAL: Nanos = 5 * SEC;
const PROBE_RTT_TIME: Nanos = 200 * MS;
const DRAIN_ROUNDS: u64 = 3;
/// Between probes: twice the rounds of a window, but after these rounds, and after this time plus up to a second, at the latest. The
/// draft has them once, as often as Reno causes a loss. CUBIC does so more rarely, and four streams whose windows are small would
/// probe in each other's recovery (decision 16).
const ROUNDS: u64 = 2;
const MOST_ROUNDS: u64 = 63;
const PROBE_WAIT: Nanos = 2 * SEC;

impl Bbr {
    pub(super) fn update_state(&mut self, ack: &Ack, sample: &RateSample, lost_ranges: u32) {
        self.judge_startup_loss(ack, sample, lost_ranges);
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
            self.drain_round = self.round;
        }
        if self.state == State::Drain {
            let drained = ack.flight <= self.quantised(self.bdp(self.bandwidth(), 1.0));
            if drained || self.round > self.drain_round + DRAIN_ROUNDS {
                self.enter_down(ack.now, ack.total_delivered);
            }
        }
        if self.full {
            self.advance_cycle(ack, sample);
        }
        self.update_min_rtt(ack);
    }

    fn advance_cycle(&mut self, ack: &Ack, sample: &RateSample) {
        if self.advance_feedback(ack, sample) {
            return;
        }
        self.raise_long_term(ack, sample);
        let down = self.state == State::Up && self.time_to_go_down(ack.flight, sample);
        match self.state {
            State::Down | State::Cruise => {
                if self.time_to_probe(ack.now) {
                    self.enter_refill(ack.total_delivered);
                } else if self.state == State::Down && self.has_headroom(ack.flight) {
                    self.state = State::Cruise;
                }
            }
            State::Refill if self.round_started => {
                self.probe_sample = true;
                self.feedback = Feedback::Starting;
                self.start_round(ack.total_delivered);
                self.reset_full(sample.rate);
                self.state = State::Up;
                self.raise_slope();
            }
            State::Up if down => {
                self.too_high = false;
                self.enter_down(ack.now, ack.total_delivered);
            }
            _ => {}
        }
    }

    pub(super) fn enter_down(&mut self, now: Nanos, delivered: u64) {
        self.reset_signals();
        self.up_step = super::NONE;
        self.rounds_since_up = self.draw() & 1;
        self.probe_wait = PROBE_WAIT + self.draw() % SEC;
        self.cycle_at = now;
        self.feedback = Feedback::Stopping;
        self.start_round(delivered);
        self.state = State::Down;
    }

    pub(super) fn enter_refill(&mut self, delivered: u64) {
        self.reset_short_term();
        self.up_rounds = 0;
        self.up_acked = 0;
        self.precautionary = false;
        self.feedback = Feedback::Refilling;
        self.start_round(delivered);
        self.state = State::Refill;
    }

    /// Streams that start together must not probe together.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        self.random >> 33
    }

    fn time_to_probe(&self, now: Nanos) -> bool {
        let target = self.bdp(self.bandwidth(), 1.0).min(self.window);
        now > self.cycle_at + self.probe_wait
            || self.rounds_since_up >= (ROUNDS * target / self.mss).min(MOST_ROUNDS)
    }

    fn has_headroom(&self, flight: u64) -> bool {
        flight <= self.with_headroom() && flight <= self.quantised(self.bdp(self.max_bandwidth(), 1.0))
    }

    fn time_to_go_down(&mut self, flight: u64, sample: &RateSample) -> bool {
        if self.too_high && flight >= self.flight_long {
            self.precautionary = true;
            return true;
        }
        if self.window_limited() && self.window >= self.flight_long {
            // The bound holds the rate back, not the path.
            self.reset_full(sample.rate);
            return false;
        }
        self.full_now
    }

    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now > self.probe_rtt_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (expired || self.probe_rtt_min.is_none_or(|least| rtt < least))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_at = ack.now;
        }
        if let Some(probed) = self.probe_rtt_min
            && (self.min_rtt.is_none_or(|least| probed < least) || ack.now > self.min_rtt_at + MIN_RTT_WINDOW)
        {
            self.min_rtt = Some(probed);
            self.min_rtt_at = self.probe_rtt_at;
        }
        if expired && self.state != State::ProbeRtt && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.feedback = Feedback::Stopping;
            self.start_round(ack.total_delivered);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_done {
                // A segment that does not fit keeps the flight up to one below the window.
                None if ack.flight <= self.probe_rtt_window() + self.mss => {
                    self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round = false;
                    self.start_round(ack.total_delivered);
                }
                Some(_) => {
                    self.probe_rtt_round |= self.round_started;
                    if self.probe_rtt_round {
                        self.end_probe_rtt(ack.now);
                    }
                }
                None => {}
            }
        }
        self.idle_restart = false;
    }

    /// Back to what it was before, when the time has passed.
    pub(super) fn end_probe_rtt(&mut self, now: Nanos) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_at = now;
        self.window = self.window.max(self.prior_window);
        self.reset_short_term();
        if self.full {
            self.enter_down(now, self.round_end);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
