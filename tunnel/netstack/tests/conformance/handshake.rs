//! How connections begin: RFC 9293 §3.5 and §3.10.7, RFC 5681 §3.1, RFC 6298 §5.7, RFC 7323 §2.

use warren_netstack::{Congestion, State};

use crate::lab::{Lab, Peer, config, ipv4, ms, secs};
use crate::segment::{ack, data, rst, syn, syn_ack};

/// RFC 9293 §3.7.1, RFC 7323 §2.2 and §3.2, RFC 2018 §2: what the SYN offers. The window of a SYN is not scaled.
#[test]
fn an_active_open_offers_its_options() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.connect();
    let seen = lab.expect(syn().window(16_383).scale(9));
    assert_eq!((seen.mss, seen.sack_permitted), (Some(1_380), Some(true)));
    assert!(seen.timestamps.is_some());
    lab.wait(ms(20));
    lab.inject(syn_ack());
    lab.expect(ack(1));
    lab.silence(secs(60));
}

/// RFC 7323 §2.2 and §3.2, RFC 2018 §2: options that the peer's SYN lacks are not used.
#[test]
fn a_passive_open_answers_only_what_was_offered() {
    let mut lab = Lab::new(config(), Peer { scale: None, sack: false, ..Peer::default() });
    lab.inject(syn());
    let seen = lab.expect(syn_ack());
    assert_eq!((seen.scale, seen.sack_permitted, seen.timestamps), (None, Some(false), None));
}

/// RFC 6298 §5.5: an unanswered SYN,ACK is sent again.
#[test]
fn a_lost_answer_is_sent_again() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.inject(syn());
    lab.expect(syn_ack());
    lab.expect_after(secs(1), syn_ack());
    lab.expect_after(secs(2), syn_ack());
    lab.inject(ack(1));
    lab.silence(secs(60));
}

/// RFC 6298 §5.7: after a lost SYN, the timeout of the first data is 3 s.
#[test]
fn data_after_a_lost_syn_has_a_timeout_of_three_seconds() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.connect();
    lab.expect(syn());
    lab.expect_after(secs(1), syn());
    lab.wait(ms(20));
    lab.inject(syn_ack());
    lab.expect(ack(1));
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    lab.expect_after(secs(3), data(1, 1_000));
}

/// RFC 5681 §3.1 with RFC 6928 §2: after more than one lost SYN, the initial window is one segment, also if the controller is
/// replaced before the first data.
#[test]
fn data_after_two_lost_syns_begins_with_one_segment() {
    for replacement in [None, Some(Congestion::Bbr), Some(Congestion::Cubic)] {
        let mut lab = Lab::new(config(), Peer::default());
        lab.connect();
        lab.expect(syn());
        lab.expect_after(secs(1), syn());
        lab.expect_after(secs(2), syn());
        lab.wait(ms(20));
        lab.inject(syn_ack());
        lab.expect(ack(1));
        if let (Some(id), Some(congestion)) = (lab.id, replacement) {
            lab.stack.set_congestion(lab.now, id, congestion);
        }
        lab.write(20_000);
        lab.expect(data(1, 1_000));
        lab.silence(ms(100));
    }
}

/// RFC 7323 §2.2: the window of a SYN,ACK is not scaled, not even in a simultaneous open.
#[test]
fn a_simultaneous_open_does_not_scale_the_window_of_the_answer() {
    let mut lab = Lab::new(config(), Peer { scale: Some(7), window: 1_500, ..Peer::default() });
    lab.connect();
    lab.expect(syn());
    lab.inject(syn());
    lab.expect(syn_ack());
    lab.inject(syn_ack());
    assert_eq!(lab.id.map(|id| lab.stack.state(id)), Some(State::Established));
    lab.drain();
    lab.write(10_000);
    lab.expect(data(1, 1_000));
    lab.silence(ms(30));
}

/// RFC 9293 §3.5.2: a segment for no connection is answered by a reset that its sender accepts.
#[test]
fn a_segment_for_no_connection_is_reset() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.inject(data(1, 100).ack(77));
    lab.expect(rst(77));
    lab.inject(rst(1));
    lab.silence(secs(1));
}

/// RFC 9293 §3.9.2.3: a segment to or from a broadcast address has no answer, also where any address is accepted.
#[test]
fn broadcasts_have_no_answer() {
    let mut config = config();
    config.accept_any = true;
    let mut lab = Lab::new(config, Peer::default());
    let broadcast = std::net::Ipv4Addr::BROADCAST;
    for (from, to) in [(crate::lab::PEER, broadcast), (broadcast, crate::lab::STACK)] {
        let mut tcp = lab.packet(&syn())[20..].to_vec();
        tcp[16..18].fill(0);
        let packet = ipv4(from, to, 6, &mut tcp, Some(16));
        lab.inject_packet(&packet);
        let mut udp = vec![0; 12];
        udp[..6].copy_from_slice(&[1, 0, 2, 0, 0, 12]);
        let packet = ipv4(from, to, 17, &mut udp, None);
        lab.inject_packet(&packet);
    }
    lab.silence(secs(1));
    assert!(lab.other.is_empty(), "{:?}", lab.other);
}
