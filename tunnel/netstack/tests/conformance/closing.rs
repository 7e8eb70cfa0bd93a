//! How connections end: RFC 9293 §3.6 and §3.10, RFC 1337.

use warren_netstack::{CloseReason, State};

use crate::lab::{Lab, Peer, config, ms, secs};
use crate::segment::{ack, data, fin, rst, syn, syn_ack};

/// A connection in TIME-WAIT: the stack has ended it first.
fn waiting() -> Lab {
    let mut lab = Lab::accepted(Peer::default());
    lab.shutdown();
    lab.expect(fin(1));
    lab.inject(ack(2));
    lab.inject(fin(1).ack(2));
    lab.expect(ack(2).seq(2));
    assert_eq!(lab.closed, Some(CloseReason::Finished));
    lab
}

/// RFC 9293 §3.6: the peer ends first, then the stack.
#[test]
fn the_peer_ends_first() {
    let mut lab = Lab::accepted(Peer::default());
    lab.inject(fin(1));
    lab.expect(ack(2));
    assert_eq!(lab.id.map(|id| lab.stack.state(id)), Some(State::CloseWait));
    lab.close();
    lab.expect(fin(1).ack(2));
    lab.inject(ack(2).seq(2));
    lab.silence(secs(120));
    assert_eq!(lab.stack.streams(), 0);
}

/// RFC 9293 §3.10.7.4: a retransmitted FIN is acknowledged again in TIME-WAIT, which then lasts anew.
#[test]
fn time_wait_acknowledges_the_fin_again() {
    let mut lab = waiting();
    for _ in 0..5 {
        lab.silence(secs(40));
        lab.inject(fin(1).ack(2));
        lab.expect(ack(2).seq(2));
    }
    lab.silence(secs(61));
    lab.inject(fin(1).ack(2));
    lab.expect(rst(2));
}

/// RFC 9293 §3.10.7.4: only the peer's own FIN restarts TIME-WAIT.
#[test]
fn a_foreign_fin_does_not_extend_time_wait() {
    let mut lab = waiting();
    lab.wait(secs(59));
    lab.inject(fin(50_000).ack(2));
    lab.wait(secs(2));
    lab.drain();
    lab.inject(fin(1).ack(2));
    lab.expect(rst(2));
}

/// A flood of FINs to one entry costs neither memory nor as many answers.
#[test]
fn a_flood_of_fins_to_time_wait_is_bounded() {
    let mut lab = waiting();
    let before = lab.stack.memory().total;
    let mut answers = 0;
    for _ in 0..1_000 {
        for _ in 0..50 {
            lab.inject(fin(1).ack(2));
        }
        answers += lab.drain().len();
        lab.wait(ms(1));
    }
    let after = lab.stack.memory().total;
    assert!(after < before + 64 * 1_024, "{before} bytes before, {after} after");
    assert!((1..=51).contains(&answers), "{answers} answers in a second");
}

/// RFC 1337 §3: a reset does not end TIME-WAIT.
#[test]
fn a_stray_reset_does_not_end_time_wait() {
    let mut lab = waiting();
    lab.inject(rst(50));
    lab.wait(ms(100));
    lab.inject(fin(1).ack(2));
    lab.expect(ack(2).seq(2));
}

/// RFC 6191: a SYN beyond what was received begins a new connection.
#[test]
fn a_later_syn_leaves_time_wait() {
    let mut lab = waiting();
    lab.inject(syn().seq(100_000));
    lab.expect(syn_ack().ack(100_001));
}

/// The FIN is acknowledged together with everything before it while the application waits for room.
#[test]
fn one_acknowledgement_of_everything_and_the_fin() {
    let mut config = config();
    config.budget_bytes = 64 << 10;
    let mut lab = Lab::accepted_by(config, Peer { scale: Some(4), window: 500_000, ..Peer::default() });
    let mut sent = 0;
    let mut end = 1;
    for round in 0..40 {
        let taken = lab.write(100_000);
        assert!(taken < 100_000, "{taken}");
        sent += taken as u32;
        if round == 39 {
            lab.shutdown();
        }
        lab.wait(ms(if round == 39 { 100 } else { 20 }));
        end = lab.drain().iter().map(|(_, one)| one.seq + one.length as u32).max().unwrap_or(end);
        assert!(end == sent + 1 || round < 39, "everything is in flight at last: {end} of {sent}");
        lab.inject(ack(end + u32::from(round == 39)));
    }
    lab.silence(secs(10));
    assert_eq!(lab.id.map(|id| lab.stack.state(id)), Some(State::FinWait2));
}

/// RFC 9293 §3.8.6.1 obliges to probe while the application waits; without one, the user timeout ends it.
#[test]
fn an_orphan_with_a_zero_window_dies() {
    let mut lab = Lab::accepted(Peer { window: 0, ..Peer::default() });
    lab.write(1_000);
    lab.close();
    let end = lab.now + secs(300);
    while lab.now < end {
        lab.wait(ms(100));
        if lab.drain().iter().any(|(_, seen)| seen.seq == 0) {
            lab.inject(ack(1));
        }
    }
    assert_eq!(lab.stack.streams(), 0, "{}", lab.trace());
}

/// Half-open connections end with their listener.
#[test]
fn unlisten_ends_half_open_connections() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.inject(syn());
    lab.expect(syn_ack());
    lab.stack.unlisten(lab.now, lab.listener);
    lab.wait(ms(1));
    lab.expect(rst(1).acking(1));
    assert_eq!(lab.stack.streams(), 0);
    lab.inject(ack(1));
    lab.expect(rst(1));
}

/// RFC 9293 §3.6.1 with RFC 2525 §2.17: data that nobody reads is answered by a reset.
#[test]
fn data_for_a_closed_reader_is_reset() {
    let mut lab = Lab::accepted(Peer::default());
    lab.close();
    lab.expect(fin(1));
    lab.inject(data(1, 100).ack(2));
    lab.expect(rst(2).acking(1));
}
