//! What is reported and inferred about losses: RFC 2018, RFC 2883, RFC 8985, RFC 5681 §3.2.

use warren_netstack::Congestion;

use crate::lab::{Lab, Peer, config, ms};
use crate::segment::{SYN, Segment, ack, data, fin};

/// RFC 2018 §4: the first block holds what arrived last.
#[test]
fn the_latest_arrival_comes_first() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(2_001, 1_000));
    lab.expect(ack(1).sack(2_001, 3_001));
    lab.inject(data(4_001, 1_000));
    lab.expect(ack(1).sack(4_001, 5_001).sack(2_001, 3_001));
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001).sack(4_001, 5_001).sack(2_001, 3_001));
    lab.inject(data(1_001, 1_000));
    lab.expect(ack(3_001).sack(4_001, 5_001));
}

/// RFC 2883 §4: a segment that arrived whole before is reported.
#[test]
fn a_full_duplicate_is_reported() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001));
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001).sack(1, 1_001));
    // Once (RFC 2883 §4).
    lab.inject(data(1_001, 1_000));
    lab.expect(ack(2_001));
}

/// RFC 2883 §4 with RFC 7323 §5.3: also where PAWS drops it, as a retransmission may carry an old timestamp.
#[test]
fn a_full_duplicate_with_an_old_timestamp_is_reported() {
    let mut lab = Lab::accepted(Peer { timestamps: true, ..Peer::default() });
    lab.wait(ms(1_000));
    let old = lab.now.as_millis() as u32;
    lab.inject(data(1, 988).timestamps(old, 0));
    lab.expect(ack(989));
    lab.wait(ms(100));
    lab.inject(data(989, 988).timestamps(old + 100, 0));
    lab.expect(ack(1_977));
    lab.inject(data(1, 988).timestamps(old, 0));
    lab.expect(ack(1_977).sack(1, 989));
    // And beyond a hole.
    lab.inject(data(2_965, 988).timestamps(old + 100, 0));
    lab.expect(ack(1_977).sack(2_965, 3_953));
    lab.inject(data(2_965, 988).timestamps(old, 0));
    lab.expect(ack(1_977).sack(2_965, 3_953).sack(2_965, 3_953));
}

/// RFC 2883 §4.1: of a segment that partly arrived before, that part.
#[test]
fn a_partial_duplicate_is_reported() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001));
    lab.inject(data(501, 1_000));
    lab.expect(ack(1_501).sack(501, 1_001));
}

/// RFC 9293 §3.10.7.4: a segment that fills several holes, because its sender divided the data anew, acknowledges all that is whole.
#[test]
fn one_segment_fills_several_holes() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(301, 100));
    lab.expect(ack(1).sack(301, 401));
    lab.inject(data(501, 100));
    lab.expect(ack(1).sack(501, 601).sack(301, 401));
    lab.inject(data(1, 550));
    lab.expect(ack(601));
}

/// RFC 2883 §4.1: a duplicate beyond a hole comes before the block that holds it.
#[test]
fn a_duplicate_beyond_a_hole_is_reported() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(2_001, 1_000));
    lab.expect(ack(1).sack(2_001, 3_001));
    lab.inject(data(2_001, 1_000));
    lab.expect(ack(1).sack(2_001, 3_001).sack(2_001, 3_001));
}

/// RFC 2883 §4: also after the peer's FIN.
#[test]
fn a_duplicate_after_the_fin_is_reported() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(data(1, 1_000).fin());
    lab.expect(ack(1_002));
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_002).sack(1, 1_001));
}

/// RFC 2018 §2: a peer that did not offer SACK gets no blocks.
#[test]
fn without_sack_no_blocks_are_sent() {
    let mut lab = Lab::accepted(Peer { sack: false, ..Peer::default() });
    lab.inject(data(2_001, 1_000));
    lab.expect(ack(1));
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001));
    lab.inject(data(1, 1_000));
    lab.expect(ack(1_001));
}

/// Five segments in flight, a round trip ago.
fn five_in_flight() -> Lab {
    let mut lab = Lab::accepted(Peer::default());
    lab.write(5_000);
    for start in [1, 1_001, 2_001, 3_001, 4_001] {
        lab.expect(data(start, 1_000));
    }
    lab.wait(ms(20));
    lab
}

/// RFC 8985 §6.2 step 4: one segment delivered beyond a hole may have been reordered; it is given a quarter of a round trip.
#[test]
fn one_selective_acknowledgement_waits_for_reordering() {
    let mut lab = five_in_flight();
    lab.inject(ack(1).sack(4_001, 5_001));
    lab.expect_after(ms(5), data(1, 1_000));
}

/// RFC 8985 §6.2 step 4: the wait is for reordering, which ends it.
#[test]
fn what_was_only_reordered_is_not_sent_again() {
    let mut lab = five_in_flight();
    lab.inject(ack(1).sack(4_001, 5_001));
    lab.wait(ms(4));
    lab.inject(ack(5_001));
    lab.silence(ms(1_000));
}

/// RFC 8985 §6.2 step 4: three segments delivered beyond a hole mean a loss at once.
#[test]
fn three_selective_acknowledgements_mean_a_loss() {
    let mut lab = five_in_flight();
    lab.inject(ack(1).sack(2_001, 5_001));
    lab.expect(data(1, 1_000));
}

/// RFC 5681 §3.2: without SACK, the third duplicate acknowledgement means a loss.
#[test]
fn three_duplicate_acknowledgements_mean_a_loss() {
    let mut lab = Lab::accepted(Peer { sack: false, ..Peer::default() });
    lab.write(5_000);
    lab.wait(ms(20));
    assert_eq!(lab.drain().len(), 5);
    lab.inject(ack(1));
    lab.inject(ack(1));
    lab.nothing();
    lab.inject(ack(1));
    lab.expect(data(1, 1_000));
}

fn probed() -> Lab {
    let mut config = config();
    config.congestion = Congestion::Cubic;
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    // Two round trips and, for a single segment, the delay of an acknowledgement.
    lab.expect_after(ms(80), data(1, 1_000));
    lab
}

fn window(lab: &Lab) -> u64 {
    lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").window
}

/// RFC 8985 §7.4.2: an acknowledgement of the probe itself does not say that the probe repaired a loss.
#[test]
fn a_probe_of_what_had_arrived_costs_no_window() {
    let mut lab = probed();
    let before = window(&lab);
    lab.inject(ack(1_001));
    assert!(window(&lab) >= before, "{} of {before}", window(&lab));
    lab.inject(ack(1_001).sack(1, 1_001));
    lab.write(1_000);
    lab.expect(data(1_001, 1_000));
    lab.wait(ms(20));
    lab.inject(ack(2_001));
    assert!(window(&lab) >= before, "{} of {before}", window(&lab));
}

/// RFC 8985 §7.4.2: an acknowledgement beyond the probe without word of a duplicate says that the original was lost.
#[test]
fn a_probe_that_repaired_a_loss_costs_window() {
    let mut lab = probed();
    let before = window(&lab);
    lab.write(1_000);
    lab.expect(data(1_001, 1_000));
    lab.wait(ms(20));
    lab.inject(ack(2_001));
    assert!(window(&lab) < before, "{} of {before}", window(&lab));
}

/// RFC 9293 §3.10.7.4: an acknowledgement of what was not sent is answered and changes nothing.
#[test]
fn an_acknowledgement_of_the_future_is_answered() {
    let mut lab = Lab::accepted(Peer::default());
    lab.wait(ms(100));
    lab.inject(ack(5_000));
    lab.expect(ack(1));
    lab.inject(fin(1));
    lab.expect(ack(2));
}

/// RFC 5961 §7: challenge acknowledgements are limited, and by connection: what one is granted says nothing of another.
#[test]
fn challenges_are_limited_by_connection() {
    let mut lab = Lab::accepted(Peer::default());
    lab.port += 1;
    lab.open();
    lab.drain();
    for _ in 0..2_000 {
        lab.inject(Segment { flags: SYN, seq: 1, ..Segment::default() });
    }
    assert_eq!(lab.drain().len(), 1);
    lab.port -= 1;
    lab.inject(Segment { flags: SYN, seq: 1, ..Segment::default() });
    lab.expect(ack(1));
    lab.wait(ms(1_000));
    lab.inject(Segment { flags: SYN, seq: 1, ..Segment::default() });
    lab.expect(ack(1));
}
