//! The formulas of `docs/capacity.md`. Each is one function of its inputs.

use crate::units::{BitRate, Bytes, LinkRate, Seconds, Share};
use std::num::NonZeroU64;

/// Part of a planned rate above which the alert rule of the tunnel fires.
pub const ALERT: f64 = 0.7;
/// Factor for the headroom above a peak.
pub const HEADROOM: f64 = 1.3;
/// Bytes of UDP payload for each byte that programs transfer, in full packets at the tunnel's MTU of 1420.
///
/// IPv4, TCP, and its timestamps take 52 of the 1420 bytes. WireGuard adds a header of 16 bytes and a tag of 16 bytes.
pub const OVERHEAD: f64 = 1452.0 / 1368.0;
/// Time for which the alert rule waits: transfers that last longer count as sustained.
pub const SUSTAINED: Seconds = Seconds(600.0);

/// Bytes that each participant of a ring all-reduce sends: 2 (n − 1) / n × bytes. None for one participant.
pub fn ring(bytes: Bytes, participants: u64) -> Bytes {
    let n = participants.max(1) as f64;
    Bytes((bytes.0 as f64 * 2.0 * (n - 1.0) / n).round() as u64)
}

/// Bytes that pass the link of a parameter server in a step: 2 × model × workers.
pub fn parameter_server(model: Bytes, workers: u64) -> Bytes {
    Bytes(model.0.saturating_mul(2).saturating_mul(workers))
}

/// Bytes that pass the link of a participant in a round of federated training: model up and model down.
pub fn federated(model: Bytes) -> Bytes {
    aggregator(model, 1)
}

/// Bytes that pass the link of the aggregator in a round of federated training: the models of all participants.
pub fn aggregator(model: Bytes, participants: u64) -> Bytes {
    parameter_server(model, participants)
}

/// Part of the time in which training waits, if each period of work is followed by a wait: wait / (work + wait).
pub fn lost(wait: Seconds, work: Seconds) -> Share {
    Share(wait.0 / (work.0 + wait.0))
}

/// The rate to plan: peak × 1.3, and at least sustained / 0.7, so that sustained traffic does not raise the alert.
pub fn planned(peak: BitRate, sustained: BitRate) -> BitRate {
    peak.times(HEADROOM).max(sustained.times(1.0 / ALERT))
}

/// The planned rate of each gateway or agent in whole Mbit/s, as its metrics count: with the overhead of the tunnel, and at most
/// what its part of the link carries. Above that, an alert could never fire. None if this part is below 1 Mbit/s.
pub fn planned_mbit(planned: BitRate, link: LinkRate, among: NonZeroU64) -> Option<u64> {
    let part = |rate: BitRate| rate.0 as f64 * OVERHEAD / among.get() as f64 / 1e6;
    let most = part(link.rate()).floor() as u64;
    (most > 0).then(|| (part(planned).ceil() as u64).clamp(1, most))
}

/// Size of a model or checkpoint: parameters × bytes per parameter. None above 10¹⁸ bytes.
pub fn size(parameters: u64, bytes_per_parameter: u64) -> Option<Bytes> {
    Bytes(parameters).times(bytes_per_parameter as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, published: f64, tolerance: f64) {
        assert!((value - published).abs() <= tolerance, "{value} is not {published}");
    }

    fn gbit(count: u64) -> LinkRate {
        format!("{count} Gbit/s").parse().unwrap()
    }

    /// The time holds if 28 GB is the traffic of a link, and not the size of the gradients. `tests/rules.rs` has the rest.
    #[test]
    fn traffic_of_28_gb() {
        let traffic = Bytes(28_000_000_000);
        near(traffic.time_at(gbit(100)).0, 2.24, 1e-9);
        near(traffic.time_at(gbit(200)).0, 1.12, 1e-9);
    }

    /// Headroom of 30 % alone means 77 % utilisation at the peak, so the 70 % rule decides for sustained traffic.
    #[test]
    fn headroom_and_the_70_percent_rule() {
        let rate = BitRate(1_000_000_000);
        near(1.0 / HEADROOM, 0.77, 0.001);
        assert_eq!(planned(rate, BitRate(0)), BitRate(1_300_000_000));
        assert_eq!(planned(rate, rate), BitRate(1_428_571_429));
    }

    #[test]
    fn a_planned_rate_counts_as_metrics_do() {
        // 1,368 bytes of a program are 1,452 bytes of UDP payload.
        let of = |planned, link, among| {
            planned_mbit(BitRate(planned), gbit(link), NonZeroU64::new(among).unwrap())
        };
        assert_eq!(of(1_368_000_000, 10, 1), Some(1452));
        assert_eq!(of(1_368_000_000, 10, 4), Some(363));
        // Rounded up, and at least 1 Mbit/s.
        assert_eq!((of(1_368_000_001, 10, 1), of(0, 10, 1)), (Some(1453), Some(1)));
    }

    #[test]
    fn a_planned_rate_is_at_most_what_the_link_carries() {
        let one = NonZeroU64::MIN;
        let of = |link: &str, among| planned_mbit(BitRate(9_000_000_000), link.parse().unwrap(), among);
        assert_eq!(of("1.368 Gbit/s", one), Some(1452));
        assert_eq!(of("1.369 Gbit/s", one), Some(1453), "rounded down");
        assert_eq!(of("940 kbit/s", one), None, "998 kbit/s are less than 1 Mbit/s");
        assert_eq!(of("1.8 Mbit/s", NonZeroU64::new(2).unwrap()), None);
    }

    #[test]
    fn traffic_of_training() {
        let model = Bytes(14_000_000_000);
        assert_eq!(ring(model, 1), Bytes(0));
        assert_eq!(ring(model, 2), model);
        assert_eq!(ring(model, 8), Bytes(24_500_000_000));
        assert_eq!(parameter_server(model, 8), Bytes(224_000_000_000));
        assert_eq!(federated(model), Bytes(28_000_000_000));
        assert_eq!(aggregator(model, 3), Bytes(84_000_000_000));
        assert_eq!(size(70_000_000_000, 14), Some(Bytes(980_000_000_000)));
        assert_eq!(size(1_000_000_000_000_000_000, 2), None);
    }
}
