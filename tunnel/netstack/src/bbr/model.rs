//! The model of the path: rounds, bandwidth, the bounds that losses set, and lumpy acknowledgements.

use super::{BETA, Bbr, Before, Feedback, LOSS_THRESHOLD, NONE, State};
use crate::congestion::{Ack, Lost};
use crate::rate::RateSample;
use crate::seq::SEC;

/// Rounds that lumpy acknowledgements are remembered.
const EXTRA_ROUNDS: u64 = 10;
/// Growth that shows that the pipe was not full, and the rounds without it that show that it is.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Separate losses in a round that end Startup.
const STARTUP_LOSSES: u32 = 6;

impl Bbr {
    /// An acknowledgement that delivered something.
    pub(super) fn update_model(&mut self, ack: &Ack, sample: &RateSample) {
        self.limited[0] |= ack.window_full;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.flight_latest = self.flight_latest.max(sample.delivered);
        self.loss_round_started = sample.prior_delivered >= self.loss_round_end;
        if self.loss_round_started {
            self.loss_round_end = ack.total_delivered;
        }
        self.update_bandwidth(ack, sample);
        let lost_ranges = self.lost_ranges;
        if self.loss_round_started {
            if self.loss_in_round && !self.state.probes_bandwidth() {
                self.lower_bounds();
            }
            self.loss_in_round = false;
            self.mark_in_round = false;
            self.lost_ranges = 0;
        }
        self.update_extra(ack);
        self.judge_full(sample);
        self.update_state(ack, sample, lost_ranges);
        if self.loss_round_started {
            self.bw_latest = sample.rate;
            self.flight_latest = sample.delivered;
        }
    }

    fn update_bandwidth(&mut self, ack: &Ack, sample: &RateSample) {
        self.round_started = sample.prior_delivered >= self.round_end;
        if self.round_started {
            self.start_round(ack.total_delivered);
            self.round += 1;
            self.rounds_since_up += 1;
            self.limited = [ack.window_full, self.limited[0]];
        }
        if sample.rate > 0 && (!sample.app_limited || sample.rate >= self.max_bandwidth()) {
            self.bandwidths[1] = self.bandwidths[1].max(sample.rate);
        }
    }

    pub(super) fn start_round(&mut self, delivered: u64) {
        self.round_end = delivered;
    }

    /// Another cycle begins: the one before the last is forgotten.
    pub(super) fn advance_bandwidths(&mut self) {
        if self.bandwidths[1] > 0 {
            self.bandwidths = [self.bandwidths[1], 0];
        }
    }

    /// The window held something back in the last round trip.
    pub(super) fn window_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    pub(super) fn reset_full(&mut self, baseline: u64) {
        self.full_bandwidth = baseline;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn judge_full(&mut self, sample: &RateSample) {
        if self.full_now || !self.round_started || sample.app_limited {
            return;
        }
        if sample.rate as f64 >= self.full_bandwidth as f64 * FULL_GROWTH {
            return self.reset_full(sample.rate);
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full |= self.full_now;
    }

    /// Startup ends when a whole round of a recovery loses more than a probe tolerates.
    pub(super) fn judge_startup_loss(&mut self, ack: &Ack, sample: &RateSample, lost_ranges: u32) {
        let Some(since) = self.recovering.filter(|_| self.state == State::Startup) else { return };
        let enough = if ack.selective {
            self.loss_round_started && self.round > since && lost_ranges >= STARTUP_LOSSES
        } else {
            lost_ranges > 0
        };
        if enough && too_much(sample.lost, sample.flight, ack.selective) {
            self.before.state = Some(State::Startup);
            self.full = true;
            self.flight_long = self.bdp(self.bandwidth(), 1.0).max(self.flight_latest);
        }
    }

    /// One segment is held to be lost.
    pub(super) fn lost(&mut self, lost: &Lost) {
        self.begin_loss_round(lost.total_delivered);
        self.lost_ranges += u32::from(lost.start != self.lost_end);
        self.lost_end = lost.start + lost.length;
        if self.probe_sample && too_much(lost.lost, lost.flight, lost.selective) {
            self.flight_too_high(lost);
        }
    }

    /// The path has marked a packet. The draft leaves the answer open; nobody says how many were marked, so it is that to the loss of
    /// a peer without selective acknowledgements: a probe ends, Startup has filled the pipe, and otherwise the short-term bounds
    /// follow at the end of the round.
    pub(super) fn marked(&mut self, mark: &Lost) {
        self.begin_loss_round(mark.total_delivered);
        self.mark_in_round = true;
        if self.state == State::Startup {
            self.full = true;
            self.flight_long = self.bdp(self.bandwidth(), 1.0).max(self.flight_latest);
        } else if self.probe_sample {
            self.flight_too_high(mark);
        }
    }

    fn begin_loss_round(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_end = delivered;
            self.loss_in_round = true;
            self.save_window();
            self.before = Before {
                bw_short: self.bw_short,
                flight_short: self.flight_short,
                flight_long: self.flight_long,
                state: None,
            };
        }
    }

    /// A probe lost more than it may: the flight at which it did is the long-term bound.
    fn flight_too_high(&mut self, lost: &Lost) {
        self.too_high = true;
        self.probe_sample = false;
        if !lost.app_limited {
            // What was in flight when the share of lost bytes crossed the threshold, inside this segment.
            let flight = lost.flight.saturating_sub(lost.length) as f64;
            let before = lost.lost.saturating_sub(lost.length) as f64;
            let prefix = ((LOSS_THRESHOLD * flight - before) / (1.0 - LOSS_THRESHOLD)).max(0.0);
            let target = self.bdp(self.bandwidth(), 1.0).min(self.window);
            self.flight_long = ((flight + prefix) as u64).max((target as f64 * BETA) as u64);
        }
        if self.state == State::Up {
            self.before.state = Some(State::Up);
            self.enter_down(lost.now, lost.total_delivered);
        }
    }

    /// A round outside of a probe had a loss: the short-term bounds move towards what was delivered.
    fn lower_bounds(&mut self) {
        if self.bw_short == NONE {
            self.bw_short = self.max_bandwidth();
        }
        if self.flight_short == NONE {
            self.flight_short = self.window;
        }
        self.bw_short = self.bw_latest.max((self.bw_short as f64 * BETA) as u64);
        self.flight_short = self.flight_latest.max((self.flight_short as f64 * BETA) as u64);
    }

    pub(super) fn reset_short_term(&mut self) {
        self.bw_short = NONE;
        self.flight_short = NONE;
    }

    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.mark_in_round = false;
        self.bw_latest = 0;
        self.flight_latest = 0;
    }

    /// What was held to be lost was not.
    pub(super) fn spurious(&mut self) {
        self.loss_in_round = self.mark_in_round;
        self.reset_full(0);
        self.bw_short = self.bw_short.max(self.before.bw_short);
        self.flight_short = self.flight_short.max(self.before.flight_short);
        self.flight_long = self.flight_long.max(self.before.flight_long);
        match self.before.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state.in_cycle() && self.state != State::Up => {
                self.enter_refill(self.round_end);
            }
            _ => {}
        }
    }

    /// A safe loss rate raises the long-term bound.
    pub(super) fn raise_long_term(&mut self, ack: &Ack, sample: &RateSample) {
        if self.flight_long == NONE || too_much(sample.lost, sample.flight, ack.selective) {
            return;
        }
        self.flight_long = self.flight_long.max(sample.flight);
        if self.state != State::Up || !self.window_limited() || self.window < self.flight_long {
            return;
        }
        self.up_acked += ack.delivered;
        let steps = self.up_acked / self.up_step;
        self.up_acked -= steps * self.up_step;
        self.flight_long += steps * self.mss;
        if self.round_started {
            self.raise_slope();
        }
    }

    /// The long-term bound grows by one segment in the first round of a probe, then by twice as much in each.
    pub(super) fn raise_slope(&mut self) {
        self.up_step = (self.window >> self.up_rounds).max(self.mss);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }

    fn update_extra(&mut self, ack: &Ack) {
        let elapsed = ack.now.saturating_sub(self.epoch_at);
        let mut expected = (self.bandwidth() as f64 * elapsed as f64 / SEC as f64) as u64;
        if self.epoch_acked <= expected || self.epoch_acked > 1 << 30 {
            self.epoch_at = ack.now;
            self.epoch_acked = 0;
            expected = 0;
        }
        self.epoch_acked += ack.delivered;
        let extra = self.epoch_acked.saturating_sub(expected).min(self.window);
        // No more than 100 ms of it.
        let most = self.max_bandwidth() / 10;
        let rounds = if self.full { EXTRA_ROUNDS } else { 1 };
        self.extra.update(rounds, self.round, extra.min(most));
    }

    /// The feedback of a probe is complete or has begun. True when it begins another one.
    pub(super) fn advance_feedback(&mut self, ack: &Ack, sample: &RateSample) -> bool {
        if !self.round_started {
            return false;
        }
        match self.feedback {
            Feedback::Starting => self.feedback = Feedback::Probing,
            Feedback::Stopping => {
                self.probe_sample = false;
                self.feedback = Feedback::None;
                if !self.state.in_cycle() {
                    return false;
                }
                if !sample.app_limited {
                    self.advance_bandwidths();
                }
                // A careful probe was harmless: a longer one follows at once.
                if self.precautionary && !self.too_high {
                    self.enter_refill(ack.total_delivered);
                    return true;
                }
            }
            Feedback::None | Feedback::Refilling | Feedback::Probing => {}
        }
        false
    }
}

/// Loss beyond what a probe tolerates; without selective acknowledgements only one loss is seen in a round trip.
fn too_much(lost: u64, flight: u64, selective: bool) -> bool {
    if selective { lost as f64 > LOSS_THRESHOLD * flight as f64 } else { lost > 0 }
}
