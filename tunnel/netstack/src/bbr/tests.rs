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
        rate: Some(RateSample { rate: 462, delivered: 37, app_limited: true, ..RateSample::default() }),
        ..Ack::default()
    });
    // The initial window in a round trip.
    assert!(bbr.pacing_rate().is_some_and(|rate| rate >= 10 * 1_368 * 12), "{:?}", bbr.pacing_rate());
}
