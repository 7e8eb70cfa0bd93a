//! BBR version 3: a model of the path, its bottleneck bandwidth and its round trip (draft-ietf-ccwg-bbr-06).
//!
//! ```text
//!            pipe full              flight <= BDP, or 3 rounds
//!  Startup ------------> Drain ------------------------------> Down -> Cruise -> Refill -> Up -+
//!     ^                                                         ^  gain 0.9      1       1   1.25 |
//!     |                                                         +--- excessive loss, or full ----+
//!     +-- least round trip not seen for 5 s: ProbeRtt, 200 ms at half the BDP, then Cruise (or Startup again)
//! ```
//!
//! - [`model`]: what acknowledgements and losses say. A loss above 2 % in a probe sets the long-term bound of the flight, and any
//!   loss between probes pulls the short-term bounds towards what was delivered.
//! - [`cycle`]: the states, and when each ends.

mod cycle;
mod filter;
mod model;

use crate::congestion::{Ack, Controller, INITIAL_WINDOW, Lost};
use crate::seq::{MS, Nanos, SEC};
use filter::MaxFilter;

/// 4 ln 2: the least gain that doubles the delivery rate each round.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const WINDOW_GAIN: f64 = 2.0;
/// In `Up`: above the pacing gain, so that the window does not hold the probe back.
const UP_WINDOW_GAIN: f64 = 2.25;
const PROBE_RTT_GAIN: f64 = 0.5;
/// Pacing stays a little below the estimate so that queues drain.
const MARGIN: f64 = 0.99;
/// Loss in a round trip that a probe tolerates.
const LOSS_THRESHOLD: f64 = 0.02;
/// The most that one round trip with loss takes.
const BETA: f64 = 0.7;
/// Share of the long-term bound that is left to others between probes. The draft has 0.15, with which four streams take 2.7 times
/// as much as four of CUBIC (decision 16).
const HEADROOM: f64 = 0.35;
/// A bound that is not set.
const NONE: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    fn in_cycle(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain => DRAIN_GAIN,
            Self::Down => 0.9,
            Self::Up => 1.25,
            Self::Cruise => 1.0,
            Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    fn window_gain(self) -> f64 {
        match self {
            Self::Up => UP_WINDOW_GAIN,
            Self::ProbeRtt => PROBE_RTT_GAIN,
            _ => WINDOW_GAIN,
        }
    }
}

/// What the acknowledgements that arrive say of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// To be restored when a recovery was spurious.
#[derive(Debug, Clone, Copy)]
struct Before {
    bw_short: u64,
    flight_short: u64,
    flight_long: u64,
    /// The state that the loss has ended.
    state: Option<State>,
}

/// The controller.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    mss: u64,
    random: u64,
    state: State,
    /// Rounds, each ended by an acknowledgement of what was sent after its beginning.
    round: u64,
    round_end: u64,
    round_started: bool,
    /// The window held something back in this round, and in the one before.
    limited: [bool; 2],
    /// Largest delivery rate of the cycle before, and of this one.
    bandwidths: [u64; 2],
    /// Short-term bounds of rate and flight.
    bw_short: u64,
    flight_short: u64,
    /// Long-term bound of the flight.
    flight_long: u64,
    /// Rounds of the reaction to loss: largest rate and volume delivered.
    bw_latest: u64,
    flight_latest: u64,
    loss_round_end: u64,
    loss_round_started: bool,
    loss_in_round: bool,
    mark_in_round: bool,
    lost_ranges: u32,
    lost_end: u64,
    before: Before,
    /// Recovery, and the round in which it began.
    recovering: Option<u64>,
    timeout: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    full_now: bool,
    full: bool,
    drain_round: u64,
    feedback: Feedback,
    probe_sample: bool,
    up_acked: u64,
    up_step: u64,
    up_rounds: u32,
    rounds_since_up: u64,
    probe_wait: Nanos,
    cycle_at: Nanos,
    too_high: bool,
    precautionary: bool,
    min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    probe_rtt_min: Option<Nanos>,
    probe_rtt_at: Nanos,
    probe_rtt_done: Option<Nanos>,
    probe_rtt_round: bool,
    idle_restart: bool,
    window: u64,
    prior_window: u64,
    /// Acknowledgements that come in lumps: most in excess, epoch and its bytes.
    extra: MaxFilter,
    epoch_at: Nanos,
    epoch_acked: u64,
    rate: Option<u64>,
}

impl Bbr {
    pub(crate) fn new(mss: u64, now: Nanos, random: u64) -> Self {
        Self {
            mss,
            random,
            state: State::Startup,
            round: 0,
            round_end: 0,
            round_started: false,
            limited: [false; 2],
            bandwidths: [0; 2],
            bw_short: NONE,
            flight_short: NONE,
            flight_long: NONE,
            bw_latest: 0,
            flight_latest: 0,
            loss_round_end: 0,
            loss_round_started: false,
            loss_in_round: false,
            mark_in_round: false,
            lost_ranges: 0,
            lost_end: 0,
            before: Before { bw_short: NONE, flight_short: NONE, flight_long: NONE, state: None },
            recovering: None,
            timeout: false,
            full_bandwidth: 0,
            full_rounds: 0,
            full_now: false,
            full: false,
            drain_round: 0,
            feedback: Feedback::None,
            probe_sample: false,
            up_acked: 0,
            up_step: NONE,
            up_rounds: 0,
            rounds_since_up: 0,
            probe_wait: 0,
            cycle_at: now,
            too_high: false,
            precautionary: false,
            min_rtt: None,
            min_rtt_at: now,
            probe_rtt_min: None,
            probe_rtt_at: now,
            probe_rtt_done: None,
            probe_rtt_round: false,
            idle_restart: false,
            window: INITIAL_WINDOW * mss,
            prior_window: 0,
            extra: MaxFilter::default(),
            epoch_at: now,
            epoch_acked: 0,
            rate: None,
        }
    }

    fn max_bandwidth(&self) -> u64 {
        self.bandwidths[0].max(self.bandwidths[1])
    }

    /// The rate that all time scales permit.
    fn bandwidth(&self) -> u64 {
        self.max_bandwidth().min(self.bw_short)
    }

    /// `gain` round trips at the rate.
    fn bdp(&self, bandwidth: u64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) if bandwidth > 0 => (gain * bandwidth as f64 * rtt as f64 / SEC as f64) as u64,
            _ => INITIAL_WINDOW * self.mss,
        }
    }

    /// At least three bursts, so that they do not starve the pacer.
    fn quantised(&self, flight: u64) -> u64 {
        let burst = (self.rate.unwrap_or(0) / 1000).clamp(2 * self.mss, 64 * 1024);
        let flight = flight.max(3 * burst).max(self.floor());
        if self.state == State::Up { flight + 2 * self.mss } else { flight }
    }

    fn floor(&self) -> u64 {
        4 * self.mss
    }

    fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bandwidth(), PROBE_RTT_GAIN).max(self.floor())
    }

    /// The long-term bound, less what is left to others.
    fn with_headroom(&self) -> u64 {
        if self.flight_long == NONE {
            return NONE;
        }
        let headroom = ((self.flight_long as f64 * HEADROOM) as u64).max(self.mss);
        self.flight_long.saturating_sub(headroom).max(self.floor())
    }

    fn save_window(&mut self) {
        let fresh = self.recovering.is_none() && !self.timeout && self.state != State::ProbeRtt;
        self.prior_window = if fresh { self.window } else { self.prior_window.max(self.window) };
    }

    fn update_window(&mut self, ack: &Ack) {
        let most = self.bdp(self.bandwidth(), self.state.window_gain()) + self.extra.get();
        let most = self.quantised(most);
        if self.full {
            self.window = (self.window + ack.delivered).min(most);
        } else if self.window < most || ack.total_delivered < INITIAL_WINDOW * self.mss {
            self.window += ack.delivered;
        }
        if !self.timeout {
            self.window = self.window.max(self.floor());
        }
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.flight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => NONE,
        };
        self.window = self.window.min(long.min(self.flight_short).max(self.floor()));
    }

    fn update_rate(&mut self, ack: &Ack) {
        let measured = self.state.pacing_gain() * self.bandwidth() as f64 * MARGIN;
        let rate = if self.full {
            measured
        } else {
            // A few bytes of an application that had no more say nothing of the path: the initial window a round trip may
            // always be tried before it is known.
            let Some(rtt) = ack.smoothed_rtt else { return };
            let initial = (INITIAL_WINDOW * self.mss) as f64 * SEC as f64 / rtt.max(MS) as f64;
            measured.max(self.state.pacing_gain() * initial)
        };
        let rate = rate as u64;
        if self.full || self.rate.is_none_or(|known| rate > known) {
            self.rate = Some(rate.max(self.mss));
        }
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(sample) = ack.rate.filter(|_| ack.delivered > 0) {
            self.update_model(ack, &sample);
        }
        self.update_rate(ack);
        self.update_window(ack);
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.lost(lost);
    }

    /// The model answers at the end of the round, and tolerates a few losses.
    fn on_loss(&mut self, _now: Nanos, _flight: u64) -> bool {
        self.save_window();
        self.recovering = Some(self.round);
        false
    }

    fn on_mark(&mut self, mark: &Lost) {
        self.marked(mark);
    }

    fn on_recovered(&mut self, _now: Nanos) {
        if self.recovering.is_none() && !self.timeout {
            return;
        }
        self.recovering = None;
        self.timeout = false;
        self.window = self.window.max(self.prior_window);
    }

    fn on_timeout(&mut self, _now: Nanos, _flight: u64, _again: bool) {
        self.save_window();
        self.timeout = true;
        self.window = self.mss;
    }

    fn undo(&mut self) {
        self.on_recovered(0);
        self.spurious();
    }

    fn on_sent(&mut self, _bytes: u64) {}

    fn on_restart(&mut self, now: Nanos, _idle: Nanos, _rto: Nanos) {
        self.idle_restart = true;
        self.epoch_at = now;
        self.epoch_acked = 0;
        if self.state.in_cycle() {
            self.rate = Some(((self.bandwidth() as f64 * MARGIN) as u64).max(self.mss));
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(now);
        }
    }

    fn on_lost_syns(&mut self) {
        self.window = self.mss;
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.rate
    }
}

#[cfg(test)]
mod tests;
