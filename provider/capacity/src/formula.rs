//! The formulas of `docs/capacity.md`. Each is one function of its inputs.

use crate::units::{BitRate, Bytes, Seconds, Share};

/// Part of a planned rate above which the alert rule of the tunnel fires.
pub const ALERT: f64 = 0.7;
/// Factor for the headroom above a peak.
pub const HEADROOM: f64 = 1.3;
/// Time for which the alert rule waits: transfers that last longer count as sustained.
pub const SUSTAINED: Seconds = Seconds(600.0);

/// Bytes that each participant of a ring all-reduce sends: 2 (n − 1) / n × bytes. None for one participant.
pub fn ring(bytes: Bytes, participants: u64) -> Bytes {
    let n = participants.max(1) as f64;
    bytes.times(2.0 * (n - 1.0) / n)
}

/// Bytes that pass the link of a parameter server in a step: 2 × model × workers.
pub fn parameter_server(model: Bytes, workers: u64) -> Bytes {
    model.times(2.0 * workers as f64)
}

/// Bytes that pass the link of a participant in a round of federated training: model up and model down.
pub fn federated(model: Bytes) -> Bytes {
    model.times(2.0)
}

/// Part of the time in which training waits, if each period of work is followed by a wait: wait / (work + wait).
pub fn lost(wait: Seconds, work: Seconds) -> Share {
    Share(wait.0 / (work.0 + wait.0))
}

/// The rate to plan: peak × 1.3, and at least sustained / 0.7, so that sustained traffic does not raise the alert.
pub fn planned(peak: BitRate, sustained: BitRate) -> BitRate {
    peak.times(HEADROOM).max(sustained.times(1.0 / ALERT))
}

/// Size of a model or checkpoint: parameters × bytes per parameter.
pub fn size(parameters: u64, bytes_per_parameter: u64) -> Bytes {
    Bytes(parameters.saturating_mul(bytes_per_parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, published: f64, tolerance: f64) {
        assert!((value - published).abs() <= tolerance, "{value} is not {published}");
    }

    /// Published: 28 GB per all-reduce take about 2.2 s on 100 GbE and 1.1 s on 200 GbE.
    ///
    /// The time holds if 28 GB is the traffic of a link. A ring sends almost twice its gradients, so it belongs to gradients of
    /// 14 GB: 7 billion parameters of 2 bytes. With 28 GB of gradients (4 bytes each), the time is twice as long.
    #[test]
    fn an_all_reduce_of_28_gb() {
        let (fast, faster) = (BitRate(100_000_000_000), BitRate(200_000_000_000));
        let traffic = Bytes(28_000_000_000);
        near(traffic.time_at(fast).0, 2.2, 0.05);
        near(traffic.time_at(faster).0, 1.1, 0.05);
        let gradients = size(7_000_000_000, 2);
        near(ring(gradients, 512).time_at(fast).0, 2.2, 0.05);
        near(ring(gradients, 8).time_at(fast).0, 1.96, 0.001);
        near(ring(size(7_000_000_000, 4), 512).time_at(fast).0, 4.47, 0.01);
    }

    /// Published: a checkpoint of 5 minutes every 30 minutes costs 14 %.
    ///
    /// This holds if 30 minutes of training pass between two checkpoints. From start to start it is 5 / 30 = 16.7 %.
    #[test]
    fn a_checkpoint_of_5_minutes_every_30() {
        near(lost(Seconds(300.0), Seconds(1800.0)).0, 0.143, 0.0005);
        near(lost(Seconds(300.0), Seconds(1500.0)).0, 0.167, 0.0005);
    }

    /// Published: a checkpoint of a 70B model is 140 to 280 GB.
    ///
    /// These are weights of 2 and 4 bytes. With the state of Adam in mixed precision, it is 14 bytes: 980 GB.
    #[test]
    fn a_checkpoint_of_70b() {
        assert_eq!(size(70_000_000_000, 2), Bytes(140_000_000_000));
        assert_eq!(size(70_000_000_000, 4), Bytes(280_000_000_000));
        assert_eq!(size(70_000_000_000, 14), Bytes(980_000_000_000));
    }

    /// Headroom of 30 % alone means 77 % utilisation at the peak, so the 70 % rule decides for sustained traffic.
    #[test]
    fn headroom_and_the_70_percent_rule() {
        let rate = BitRate(1_000_000_000);
        near(1.0 / HEADROOM, 0.77, 0.001);
        assert_eq!(planned(rate, BitRate(0)), BitRate(1_300_000_000));
        assert_eq!(planned(rate, rate).mbit(), 1429);
    }

    #[test]
    fn traffic_of_training() {
        let model = Bytes(14_000_000_000);
        assert_eq!(ring(model, 1), Bytes(0));
        assert_eq!(ring(model, 2), model);
        assert_eq!(ring(model, 8), Bytes(24_500_000_000));
        assert_eq!(parameter_server(model, 8), Bytes(224_000_000_000));
        assert_eq!(federated(model), Bytes(28_000_000_000));
    }
}
