//! BBR: a model of the path, its bottleneck bandwidth and its round trip (draft-cardwell-iccrg-bbr).
//!
//! ```text
//!            pipe full                 flight <= BDP
//!  Startup ------------> Drain -------------------------> ProbeBw (gains 5/4, 3/4, 1 x 6)
//!     ^                                                    |   ^
//!     |      least round trip not seen for 10 s            v   | 200 ms at half the BDP
//!     +------------------------------------------------- ProbeRtt
//!                  (back to Startup while the pipe was never full)
//! ```
//!
//! The probing is version 1's; from version 2 come the response to loss (a round that loses more than 2 % ends Startup
//! and bounds the flight; less is taken for noise of the path) and ProbeRtt at half the BDP instead of four segments.

use crate::congestion::{Ack, Controller, INITIAL_WINDOW};
use crate::seq::{MS, Nanos, SEC};

/// 2 / ln 2: the least gain that doubles the rate each round.
const STARTUP_GAIN: f64 = 2.885;
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds the bandwidth filter remembers.
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Nanos = 10 * SEC;
const PROBE_RTT_TIME: Nanos = 200 * MS;
/// Pacing stays a little below the estimate so that queues drain.
const MARGIN: f64 = 0.99;
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.85;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The maximum over the last rounds, in three samples (Nichols' windowed filter).
#[derive(Debug, Clone, Copy, Default)]
struct MaxFilter {
    best: [(u64, u64); 3],
}

impl MaxFilter {
    fn get(&self) -> u64 {
        self.best[0].1
    }

    fn update(&mut self, window: u64, time: u64, value: u64) {
        let sample = (time, value);
        if value >= self.best[0].1 || time - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        if time - self.best[0].0 > window {
            self.best = [self.best[1], self.best[2], sample];
            if time - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && time - self.best[1].0 > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && time - self.best[2].0 > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    mss: u64,
    mode: Mode,
    random: u64,
    bandwidth: MaxFilter,
    round: u64,
    round_end: u64,
    /// Delivered and lost in this round, and its largest flight.
    round_start_delivered: u64,
    round_lost: u64,
    round_flight: u64,
    full_bandwidth: u64,
    full_rounds: u32,
    full: bool,
    min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    probe_done_at: Option<Nanos>,
    /// A round trip has passed at the small flight.
    probe_round: bool,
    phase: usize,
    phase_at: Nanos,
    phase_lost: bool,
    pacing_gain: f64,
    window_gain: f64,
    window: u64,
    prior_window: u64,
    /// Most that may be in flight without excessive loss.
    flight_bound: u64,
    bound_at: u64,
    /// Acknowledgements that come in lumps (draft-cardwell-iccrg-bbr §4.5.9): most in excess, epoch and its bytes.
    extra: MaxFilter,
    epoch_at: Nanos,
    epoch_acked: u64,
    timeout: bool,
    rate: Option<u64>,
}

impl Bbr {
    pub(crate) fn new(mss: u64, now: Nanos, random: u64) -> Self {
        Self {
            mss,
            mode: Mode::Startup,
            random,
            bandwidth: MaxFilter::default(),
            round: 0,
            round_end: 0,
            round_start_delivered: 0,
            round_lost: 0,
            round_flight: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            full: false,
            min_rtt: None,
            min_rtt_at: now,
            probe_done_at: None,
            probe_round: false,
            phase: 0,
            phase_at: now,
            phase_lost: false,
            pacing_gain: STARTUP_GAIN,
            window_gain: STARTUP_GAIN,
            window: INITIAL_WINDOW * mss,
            prior_window: 0,
            flight_bound: u64::MAX,
            bound_at: 0,
            extra: MaxFilter::default(),
            epoch_at: now,
            epoch_acked: 0,
            timeout: false,
            rate: None,
        }
    }

    fn bdp(&self, gain: f64) -> u64 {
        let (Some(rtt), bandwidth) = (self.min_rtt, self.bandwidth.get()) else {
            return INITIAL_WINDOW * self.mss;
        };
        if bandwidth == 0 {
            return INITIAL_WINDOW * self.mss;
        }
        (gain * bandwidth as f64 * rtt as f64 / SEC as f64) as u64
    }

    /// The flight that a gain asks for, with room for bursts and lumpy acknowledgements.
    fn target(&self, gain: f64) -> u64 {
        let burst = (self.rate.unwrap_or(0) / 1000).clamp(2 * self.mss, 64 * 1024);
        self.bdp(gain) + 3 * burst
    }

    fn floor(&self) -> u64 {
        4 * self.mss
    }

    fn update_round(&mut self, ack: &Ack) -> bool {
        self.round_lost += ack.lost;
        self.round_flight = self.round_flight.max(ack.prior_flight);
        let Some(rate) = ack.rate else { return false };
        let starts = rate.prior_delivered >= self.round_end;
        if starts {
            // The rounds of ProbeRtt say nothing of the bandwidth: they must not age what is known of it.
            self.round += u64::from(self.mode != Mode::ProbeRtt);
            self.probe_round = self.probe_done_at.is_some();
            self.round_end = ack.total_delivered;
            self.judge_loss(ack);
            self.round_start_delivered = ack.total_delivered;
            self.round_lost = 0;
            self.round_flight = ack.flight;
        }
        if !rate.app_limited || rate.rate >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.round, rate.rate);
        }
        if starts && !self.full && !rate.app_limited {
            if self.bandwidth.get() as f64 >= self.full_bandwidth as f64 * FULL_GROWTH {
                self.full_bandwidth = self.bandwidth.get();
                self.full_rounds = 0;
            } else {
                self.full_rounds += 1;
                self.full = self.full_rounds >= FULL_ROUNDS;
            }
        }
        starts
    }

    /// A round has ended: more loss than noise means that the flight was too large.
    fn judge_loss(&mut self, ack: &Ack) {
        let delivered = ack.total_delivered - self.round_start_delivered;
        let lost = self.round_lost;
        let excessive = lost > 8 * self.mss && lost as f64 > LOSS_THRESHOLD * (lost + delivered) as f64;
        if excessive && self.round > 2 {
            if self.mode == Mode::Startup {
                self.full = true;
            }
            let kept = (self.round_flight.min(self.flight_bound) as f64 * BETA) as u64;
            self.flight_bound = kept.max(self.bdp(1.0)).max(self.floor());
            self.bound_at = self.round;
        } else if self.flight_bound != u64::MAX {
            // Probes upwards, faster the longer it goes well.
            let rounds = self.round - self.bound_at;
            self.flight_bound += self.mss << (rounds / 2).min(10);
            if self.flight_bound > self.target(WINDOW_GAIN) {
                self.flight_bound = u64::MAX;
            }
        }
    }

    fn update_extra(&mut self, ack: &Ack) {
        let elapsed = ack.now.saturating_sub(self.epoch_at);
        let expected = (self.bandwidth.get() as f64 * elapsed as f64 / SEC as f64) as u64;
        if self.epoch_acked <= expected || self.epoch_acked > 1 << 30 {
            self.epoch_at = ack.now;
            self.epoch_acked = 0;
        }
        self.epoch_acked += ack.delivered;
        let expected = if self.epoch_at == ack.now { 0 } else { expected };
        let extra = self.epoch_acked.saturating_sub(expected).min(self.window);
        // No more than 100 ms of it.
        let most = self.bandwidth.get() / 10;
        self.extra.update(BANDWIDTH_ROUNDS, self.round, extra.min(most));
    }

    fn update_mode(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / STARTUP_GAIN;
            self.window_gain = STARTUP_GAIN;
        }
        if self.mode == Mode::Drain && ack.flight <= self.bdp(1.0) {
            self.enter_probe_bw(ack.now);
        }
        if self.mode == Mode::ProbeBw {
            self.phase_lost |= ack.lost > 0;
            let elapsed = ack.now.saturating_sub(self.phase_at) > self.min_rtt.unwrap_or(0);
            let next = match self.phase {
                0 => elapsed && (self.phase_lost || ack.prior_flight >= self.bdp(CYCLE[0])),
                1 => elapsed || ack.prior_flight <= self.bdp(1.0),
                _ => elapsed,
            };
            if next {
                self.set_phase((self.phase + 1) % CYCLE.len(), ack.now);
            }
        }
        self.update_min_rtt(ack);
    }

    fn enter_probe_bw(&mut self, now: Nanos) {
        self.mode = Mode::ProbeBw;
        self.window_gain = WINDOW_GAIN;
        // Any phase but the one that drains: flows that start together must not probe together.
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let phase = (self.random >> 33) as usize % (CYCLE.len() - 1);
        self.set_phase(if phase == 0 { 0 } else { phase + 1 }, now);
    }

    fn set_phase(&mut self, phase: usize, now: Nanos) {
        self.phase = phase;
        self.phase_at = now;
        self.phase_lost = false;
        self.pacing_gain = CYCLE[phase];
    }

    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now.saturating_sub(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt <= least))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.prior_window = self.window;
            self.pacing_gain = 1.0;
            self.probe_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_done_at {
                None if ack.flight <= self.probe_window() + self.mss => {
                    self.probe_done_at = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_round = false;
                    self.round_end = ack.total_delivered;
                }
                Some(done) if self.probe_round && ack.now >= done => {
                    self.probe_done_at = None;
                    self.min_rtt_at = ack.now;
                    self.window = self.window.max(self.prior_window);
                    if self.full {
                        self.enter_probe_bw(ack.now);
                    } else {
                        self.mode = Mode::Startup;
                        self.pacing_gain = STARTUP_GAIN;
                        self.window_gain = STARTUP_GAIN;
                    }
                }
                _ => {}
            }
        }
    }

    fn probe_window(&self) -> u64 {
        self.bdp(0.5).max(self.floor())
    }

    fn update_window(&mut self, ack: &Ack) {
        let target = self.target(self.window_gain) + if self.full { self.extra.get() } else { 0 };
        if self.full {
            self.window = (self.window + ack.delivered).min(target);
        } else if self.window < target || ack.total_delivered < INITIAL_WINDOW * self.mss {
            self.window += ack.delivered;
        }
        self.window = self.window.min(self.flight_bound).max(self.floor());
    }

    fn update_rate(&mut self, ack: &Ack) {
        let measured = self.pacing_gain * self.bandwidth.get() as f64 * MARGIN;
        let rate = if self.full {
            measured
        } else {
            // A few bytes of an application that had no more say nothing of the path: the initial window a round trip may
            // always be tried before it is known.
            let Some(rtt) = ack.smoothed_rtt else { return };
            let initial = (INITIAL_WINDOW * self.mss) as f64 * SEC as f64 / rtt.max(MS) as f64;
            measured.max(self.pacing_gain * initial)
        };
        let rate = rate as u64;
        if self.full || self.rate.is_none_or(|known| rate > known) {
            self.rate = Some(rate.max(self.mss));
        }
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, ack: &Ack) {
        self.update_round(ack);
        self.update_extra(ack);
        self.update_mode(ack);
        self.update_rate(ack);
        self.update_window(ack);
    }

    fn on_loss(&mut self, _now: Nanos, _flight: u64) {}

    fn on_recovered(&mut self, _now: Nanos) {
        if std::mem::take(&mut self.timeout) {
            self.window = self.window.max(self.prior_window);
        }
    }

    fn on_timeout(&mut self, _now: Nanos, _flight: u64) {
        if !std::mem::replace(&mut self.timeout, true) && self.mode != Mode::ProbeRtt {
            self.prior_window = self.window;
        }
        self.window = self.mss;
    }

    fn undo(&mut self) {
        self.on_recovered(0);
    }

    fn on_sent(&mut self, _bytes: u64) {}

    fn on_restart(&mut self, now: Nanos, _idle: Nanos, _rto: Nanos) {
        self.epoch_at = now;
        self.epoch_acked = 0;
        if self.mode == Mode::ProbeBw {
            self.pacing_gain = 1.0;
            self.rate = Some(((self.bandwidth.get() as f64) * MARGIN) as u64).map(|rate| rate.max(self.mss));
        } else if self.mode == Mode::ProbeRtt && self.probe_done_at.is_some_and(|done| now >= done) {
            self.min_rtt_at = now;
        }
    }

    fn on_lost_syns(&mut self) {
        self.window = self.mss;
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    fn window(&self) -> u64 {
        if self.mode == Mode::ProbeRtt { self.window.min(self.probe_window()) } else { self.window }
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::RateSample;

    #[test]
    fn a_few_bytes_at_the_beginning_do_not_slow_what_follows() {
        let mut bbr = Bbr::new(1_368, 0, 7);
        bbr.on_ack(&Ack {
            now: 80 * MS,
            delivered: 37,
            total_delivered: 37,
            rtt: Some(80 * MS),
            smoothed_rtt: Some(80 * MS),
            rate: Some(RateSample { rate: 462, prior_delivered: 0, app_limited: true }),
            ..Ack::default()
        });
        // The initial window in a round trip.
        assert!(bbr.pacing_rate().is_some_and(|rate| rate >= 10 * 1_368 * 12), "{:?}", bbr.pacing_rate());
    }
}
