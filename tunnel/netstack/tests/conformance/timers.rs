//! When the stack sends again, and when it gives up: RFC 9293 §3.8, RFC 6298, RFC 1122 §4.2.3.

use warren_netstack::{CloseReason, Congestion, Keepalive};

use crate::lab::{Lab, Peer, config, ms, secs};
use crate::segment::{ack, data};

/// RFC 6298 §5.1, §5.4 and §5.5: the timeout doubles.
#[test]
fn retransmissions_back_off() {
    let mut lab = Lab::accepted(Peer { sack: false, ..Peer::default() });
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    // The handshake took 20 ms: 20 ms and at least 200 ms above it.
    for timeout in [220, 440, 880, 1_760, 3_520, 7_040, 14_080] {
        lab.expect_after(ms(timeout), data(1, 1_000));
    }
    lab.inject(ack(1_001));
    lab.silence(secs(100));
}

/// RFC 5681 §3.1: the second timeout of a segment holds the threshold of slow start, which the first one has set.
#[test]
fn a_second_timeout_holds_the_threshold() {
    let mut config = config();
    config.congestion = Congestion::Cubic;
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.write(10_000);
    lab.wait(ms(800));
    let timeouts = lab.drain().iter().filter(|(_, one)| one.seq == 1).count();
    assert_eq!(timeouts, 3, "{}", lab.trace());
    lab.write(40_000);
    for acked in 1..=12 {
        lab.inject(ack(acked * 1_000 + 1));
        lab.wait(ms(20));
    }
    let window = lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").window;
    assert!((8_000..=12_000).contains(&window), "{window}\n{}", lab.trace());
}

/// RFC 9293 §3.8.3: R2 is counted from the first transmission that was not answered, not from the last segment heard.
#[test]
fn a_write_after_a_long_pause_has_the_whole_user_timeout() {
    let mut lab = Lab::accepted(Peer::default());
    lab.silence(secs(600));
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    lab.wait(secs(118));
    assert_eq!(lab.closed, None, "{}", lab.trace());
    assert!(lab.drain().len() >= 8, "{}", lab.trace());
    lab.wait(secs(70));
    assert_eq!(lab.closed, Some(CloseReason::TimedOut), "{}", lab.trace());
}

/// RFC 9293 §3.8.3 with keepalive: what is silent because nobody asked has not failed to answer.
#[test]
fn a_write_before_the_first_keepalive_has_the_whole_user_timeout() {
    let mut config = config();
    config.keepalive = Some(Keepalive { idle: secs(120), interval: secs(30), count: 5 });
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.silence(secs(119));
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    lab.wait(secs(60));
    assert_eq!(lab.closed, None, "{}", lab.trace());
    lab.inject(ack(1_001));
    lab.drain();
    lab.silence(secs(119));
}

/// RFC 9293 §3.8.3: a peer that has stopped answering is given up, and not before R2.
#[test]
fn silence_in_the_middle_of_data_ends_the_connection_after_the_user_timeout() {
    let mut lab = Lab::accepted(Peer::default());
    lab.write(2_000);
    lab.wait(ms(20));
    lab.drain();
    lab.inject(ack(1_001));
    lab.wait(secs(119));
    assert_eq!(lab.closed, None, "{}", lab.trace());
    lab.wait(secs(61));
    assert_eq!(lab.closed, Some(CloseReason::TimedOut), "{}", lab.trace());
}

/// RFC 9293 §3.8.6.1: a window that was zero for ten minutes and its first probe say nothing about R2.
#[test]
fn a_write_into_a_zero_window_after_a_long_pause_is_probed() {
    let mut lab = Lab::accepted(Peer { window: 0, ..Peer::default() });
    lab.silence(secs(600));
    lab.write(1_000);
    // An old sequence number, which the peer must answer.
    lab.expect_after(ms(220), ack(1).seq(0));
    assert_eq!(lab.closed, None, "{}", lab.trace());
    lab.inject(ack(1).window(10_000));
    lab.expect(data(1, 1_000));
}

/// RFC 9293 §3.8.6.1: as long as the probes are answered, the connection stays.
#[test]
fn an_answered_probe_keeps_the_connection_for_hours() {
    let mut lab = Lab::accepted(Peer { window: 0, ..Peer::default() });
    lab.write(1_000);
    let end = lab.now + secs(3 * 3_600);
    while lab.now < end {
        lab.wait(ms(100));
        if !lab.drain().is_empty() {
            lab.inject(ack(1));
            lab.drain();
        }
    }
    assert_eq!(lab.closed, None);
    lab.inject(ack(1).window(10_000));
    lab.expect(data(1, 1_000));
}

/// RFC 9293 §3.8.4: no keepalive while data is outstanding.
#[test]
fn keepalives_wait_for_outstanding_data() {
    let mut config = config();
    config.keepalive = Some(Keepalive { idle: secs(1), interval: secs(1), count: 5 });
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.expect_after(secs(1), ack(1).seq(0));
    lab.inject(ack(1));
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    lab.wait(secs(30));
    assert!(lab.drain().iter().all(|(_, segment)| segment.length == 1_000), "{}", lab.trace());
    assert_eq!(lab.closed, None, "{}", lab.trace());
}

/// RFC 9293 §3.8.4: a peer that answers no keepalive is gone.
#[test]
fn unanswered_keepalives_end_the_connection() {
    let mut config = config();
    config.keepalive = Some(Keepalive { idle: secs(120), interval: secs(30), count: 5 });
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.expect_after(secs(120), ack(1).seq(0));
    for _ in 0..4 {
        lab.expect_after(secs(30), ack(1).seq(0));
    }
    lab.wait(secs(31));
    assert_eq!(lab.closed, Some(CloseReason::TimedOut), "{}", lab.trace());
}
