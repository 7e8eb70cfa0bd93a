//! CUBIC (RFC 9438) with HyStart++ (RFC 9406) and proportional rate reduction (RFC 6937).

use crate::congestion::{Ack, Controller, INITIAL_WINDOW, Lost};
use crate::seq::{MS, Nanos, SEC};

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// HyStart++ (RFC 9406 §4.2, §4.3).
const MIN_RTT_THRESHOLD: Nanos = 4 * MS;
const MAX_RTT_THRESHOLD: Nanos = 16 * MS;
const RTT_SAMPLES: u32 = 8;
const CSS_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

#[derive(Debug, Clone, Default)]
struct Slow {
    round_end: u64,
    last_least: Option<Nanos>,
    least: Option<Nanos>,
    samples: u32,
    /// Conservative slow start: its baseline and rounds.
    careful: Option<(Nanos, u32)>,
}

#[derive(Debug, Clone, Default)]
struct Reduction {
    flight_at_loss: u64,
    delivered: u64,
    sent: u64,
}

/// The controller.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    mss: u64,
    window: f64,
    threshold: f64,
    /// Window before the last reduction, in bytes.
    w_max: f64,
    w_estimate: f64,
    epoch: Option<Nanos>,
    k: f64,
    epoch_window: f64,
    slow: Slow,
    reduction: Option<Reduction>,
    recovery_window: u64,
    smoothed: Nanos,
    before: Option<Box<(f64, f64, f64)>>,
}

impl Cubic {
    pub(crate) fn new(mss: u64) -> Self {
        Self {
            mss,
            window: (INITIAL_WINDOW * mss) as f64,
            threshold: f64::INFINITY,
            w_max: 0.0,
            w_estimate: 0.0,
            epoch: None,
            k: 0.0,
            epoch_window: 0.0,
            slow: Slow::default(),
            reduction: None,
            recovery_window: 0,
            smoothed: 0,
            before: None,
        }
    }

    fn reduce(&mut self) {
        self.before = Some(Box::new((self.window, self.threshold, self.w_max)));
        // Fast convergence (RFC 9438 §4.7).
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.threshold = (self.window * BETA).max(2.0 * self.mss as f64);
        self.epoch = None;
    }

    /// Ends a reduction where it was to lead. True when there was one.
    fn settle(&mut self) -> bool {
        let under_way = self.reduction.take().is_some();
        if under_way {
            self.window = self.threshold;
        }
        under_way
    }

    fn slow_start(&mut self, ack: &Ack) {
        let mut growth = ack.delivered;
        if ack.total_delivered >= self.slow.round_end {
            self.slow.round_end = ack.total_delivered + ack.flight;
            self.slow.last_least = self.slow.least.take().or(self.slow.last_least);
            self.slow.samples = 0;
            if let Some((_, rounds)) = &mut self.slow.careful {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    self.threshold = self.window;
                    return;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.slow.samples += 1;
            let least = self.slow.least.map_or(rtt, |least| least.min(rtt));
            self.slow.least = Some(least);
            if self.slow.samples >= RTT_SAMPLES
                && let Some(last) = self.slow.last_least
            {
                let threshold = (last / 8).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
                match self.slow.careful {
                    None if least >= last + threshold => self.slow.careful = Some((least, 0)),
                    Some((baseline, _)) if least < baseline => self.slow.careful = None,
                    _ => {}
                }
            }
        }
        if self.slow.careful.is_some() {
            growth /= CSS_DIVISOR;
        }
        self.window += growth as f64;
    }

    fn avoid(&mut self, ack: &Ack) {
        let mss = self.mss as f64;
        let now = ack.now;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.epoch_window = self.window;
            self.w_estimate = self.window;
            self.w_max = self.w_max.max(self.window);
            self.k = ((self.w_max - self.window) / mss / C).cbrt();
            now
        });
        let rtt = ack.smoothed_rtt.unwrap_or(0);
        let elapsed = (now - epoch + rtt) as f64 / SEC as f64;
        let target =
            (C * (elapsed - self.k).powi(3) * mss + self.w_max).clamp(self.window, self.window * 1.5);
        // The Reno-friendly region (RFC 9438 §4.3).
        let alpha = if self.w_estimate >= self.w_max { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        let acked = ack.delivered as f64;
        self.w_estimate += alpha * mss * acked / self.window;
        let cubic = self.window + (target - self.window) * acked / self.window;
        self.window = cubic.max(self.w_estimate.min(self.window + acked));
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(smoothed) = ack.smoothed_rtt {
            self.smoothed = smoothed;
        }
        if let Some(reduction) = &mut self.reduction {
            // RFC 6937 §3, with the slow-start reduction bound.
            reduction.delivered += ack.delivered;
            let threshold = self.threshold as u64;
            let allowance = if ack.flight > threshold {
                (reduction.delivered * threshold)
                    .div_ceil(reduction.flight_at_loss.max(1))
                    .saturating_sub(reduction.sent)
            } else {
                let limit = reduction.delivered.saturating_sub(reduction.sent).max(ack.delivered) + self.mss;
                limit.min(threshold - ack.flight)
            };
            self.recovery_window = ack.flight + allowance;
            return;
        }
        if ack.delivered == 0 || !ack.window_limited {
            return;
        }
        if self.window < self.threshold {
            self.slow_start(ack);
        } else {
            self.avoid(ack);
        }
    }

    fn on_loss(&mut self, _now: Nanos, flight: u64) -> bool {
        // A mark has reduced the window for the same flight already (RFC 3168 §6.1.2).
        let first = self.reduction.is_none();
        if first {
            self.reduce();
        }
        self.reduction = Some(Reduction { flight_at_loss: flight.max(self.mss), delivered: 0, sent: 0 });
        // The first retransmission must leave.
        self.recovery_window = flight;
        first
    }

    /// RFC 9438 §4.6: the same decrease as for a loss, down to one segment.
    fn on_mark(&mut self, mark: &Lost) {
        self.settle();
        let before = self.window;
        let least = before <= 2.0 * self.mss as f64;
        self.reduce();
        // A mark is never spurious.
        self.before = None;
        if !least {
            let flight_at_loss = mark.flight.max(self.mss);
            self.reduction = Some(Reduction { flight_at_loss, delivered: 0, sent: 0 });
            self.recovery_window = mark.flight;
        } else {
            self.window = (BETA * before).max(self.mss as f64);
        }
    }

    fn on_recovered(&mut self, _now: Nanos) {
        self.settle();
    }

    fn on_timeout(&mut self, _now: Nanos, _flight: u64, again: bool) {
        if self.settle() {
            // The flight was answered already; a spurious timeout goes back to that answer.
            self.before = Some(Box::new((self.window, self.threshold, self.w_max)));
        } else if !again {
            // A repeated timeout holds the threshold (RFC 5681 §3.1).
            self.reduce();
        }
        self.window = self.mss as f64;
        self.slow = Slow::default();
    }

    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            (self.window, self.threshold, self.w_max) = *before;
        }
    }

    fn on_sent(&mut self, bytes: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += bytes;
        }
    }

    fn on_restart(&mut self, _now: Nanos, idle: Nanos, rto: Nanos) {
        // RFC 5681 §4.1: an old window says nothing about the path any more; halved for each timeout that passed.
        let rounds = (idle / rto.max(1)).min(30) as i32;
        if rounds > 0 {
            self.threshold = self.threshold.max(self.window * 0.75);
            let initial = ((INITIAL_WINDOW * self.mss) as f64).min(self.window);
            self.window = (self.window / 2_f64.powi(rounds)).max(initial);
        }
        self.epoch = None;
    }

    fn on_lost_syns(&mut self) {
        self.window = self.mss as f64;
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
        self.window = self.window.max(mss as f64);
    }

    fn window(&self) -> u64 {
        if self.reduction.is_some() { self.recovery_window } else { self.window as u64 }
    }

    fn pacing_rate(&self) -> Option<u64> {
        if self.smoothed == 0 {
            return None;
        }
        let gain = if self.window < self.threshold / 2.0 { 2.0 } else { 1.2 };
        let window =
            self.window.max(self.recovery_window as f64 * f64::from(u8::from(self.reduction.is_some())));
        Some((gain * window * SEC as f64 / self.smoothed as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438 §4.6, with the floor of marks, at which RFC 3168 §6.1.2 has the sender wait.
    #[test]
    fn marks_reduce_the_window_to_one_segment() {
        let mut cubic = Cubic::new(1_000);
        for _ in 0..20 {
            cubic.on_mark(&Lost { flight: cubic.window(), ..Lost::default() });
            cubic.on_recovered(0);
        }
        assert_eq!(cubic.window(), 1_000);
    }

    /// RFC 9406 §4.2 and §4.3: when the round trip grows, slow start grows by a quarter for five rounds, then it ends.
    #[test]
    fn slow_start_ends_when_the_round_trip_grows() {
        let mss = 1_000;
        let mut cubic = Cubic::new(mss);
        let mut total = 0;
        let mut round = |rtt: Nanos| {
            let before = cubic.window();
            for _ in 0..20 {
                total += mss;
                cubic.on_ack(&Ack {
                    delivered: mss,
                    flight: 20 * mss,
                    total_delivered: total,
                    rtt: Some(rtt),
                    smoothed_rtt: Some(rtt),
                    window_limited: true,
                    ..Ack::default()
                });
            }
            cubic.window() - before
        };
        assert_eq!([round(20 * MS), round(20 * MS)], [20 * mss; 2]);
        // The first samples of the round show the growth.
        assert!(round(30 * MS) < 15 * mss);
        assert_eq!(round(30 * MS), 5 * mss);
        let later: Vec<u64> = (0..6).map(|_| round(30 * MS)).collect();
        assert!(later[5] < 2 * mss, "{later:?}");
    }
}
