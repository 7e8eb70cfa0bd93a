//! Explicit congestion notification: RFC 3168, RFC 9438 §4.6. What a script expects is Not-ECT unless it says `ect()`.

use warren_netstack::{Congestion, Ecn};

use crate::lab::{Lab, PEER, Peer, STACK, config, ms, secs, with_ecn};
use crate::segment::{ACK, CWR, ECE, ack, data, fin, syn, syn_ack};

const ECN: Peer =
    Peer { mss: 1_000, scale: Some(0), sack: true, timestamps: false, ecn: true, window: 60_000 };

fn asking() -> Lab {
    let mut config = config();
    config.ecn = Ecn::Ask;
    Lab::new(config, Peer::default())
}

/// A connection with CUBIC that the peer has opened and asked for ECN.
fn cubic() -> Lab {
    let mut config = config();
    config.congestion = Congestion::Cubic;
    Lab::accepted_by(config, ECN)
}

fn window(lab: &Lab) -> u64 {
    lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").window
}

/// RFC 3168 §6.1.1: the SYN asks where the configuration says so. What the answer agrees to is used from the first data on.
#[test]
fn an_active_open_asks_where_it_is_told_to() {
    for (ecn, asks) in [(Ecn::Off, false), (Ecn::Accept, false), (Ecn::Ask, true)] {
        let mut config = config();
        config.ecn = ecn;
        let mut lab = Lab::new(config, Peer::default());
        lab.connect();
        lab.expect(if asks { syn().echo().reduced() } else { syn() });
        lab.inject(if asks { syn_ack().echo() } else { syn_ack() });
        lab.expect(ack(1));
        lab.write(1_000);
        lab.expect(if asks { data(1, 1_000).ect() } else { data(1, 1_000) });
    }
}

/// RFC 3168 §6.1.1: a SYN with both flags is answered by a SYN,ACK with one, unless ECN is off.
#[test]
fn a_passive_open_accepts_what_asks() {
    let mut lab = Lab::accepted(ECN);
    lab.write(1_000);
    lab.expect(data(1, 1_000).ect());
    let mut config = config();
    config.ecn = Ecn::Off;
    let mut lab = Lab::new(config, Peer::default());
    lab.inject(syn().echo().reduced());
    lab.expect(syn_ack());
    lab.inject(ack(1));
    lab.id = lab.stack.accept(lab.listener);
    lab.inject(data(1, 1_000).marked());
    lab.expect(ack(1_001));
    lab.write(1_000);
    lab.expect(data(1, 1_000).ack(1_001));
}

/// RFC 3168 §6.1.1: every other combination of flags means no. A SYN may not be marked, nor say that it takes marks.
#[test]
fn other_offers_are_refused() {
    for offer in
        [syn().echo(), syn().reduced(), syn().echo().reduced().ect(), syn().echo().reduced().marked()]
    {
        let mut lab = Lab::new(config(), Peer::default());
        lab.inject(offer);
        lab.expect(syn_ack());
        lab.inject(ack(1));
        lab.id = lab.stack.accept(lab.listener);
        lab.write(1_000);
        lab.expect(data(1, 1_000));
    }
    // A host that does not know the flags may reflect them.
    for answer in [syn_ack(), syn_ack().reduced(), syn_ack().echo().reduced()] {
        let mut lab = asking();
        lab.connect();
        lab.expect(syn().echo().reduced());
        lab.inject(answer);
        lab.expect(ack(1));
        lab.write(1_000);
        lab.expect(data(1, 1_000));
        lab.inject(ack(1_001).echo());
        lab.write(1_000);
        lab.expect(data(1_001, 1_000));
    }
}

/// RFC 3168 §6.1.1.1 and §6.1.1: a SYN that is sent again does not ask. Nothing takes marks then, but the peer that got the first
/// one may send what does, and its marks are echoed.
#[test]
fn a_repeated_syn_does_not_ask() {
    let mut lab = asking();
    lab.connect();
    lab.expect(syn().echo().reduced());
    lab.expect_after(secs(1), syn());
    lab.inject(syn_ack().echo());
    lab.expect(ack(1));
    lab.write(1_000);
    lab.expect(data(1, 1_000));
    lab.inject(data(1, 1_000).marked());
    lab.expect(ack(1_001).seq(1_001).echo());
}

/// RFC 3168 §6.1.1: a peer whose second SYN does not ask is not answered as if it did.
#[test]
fn a_repeated_syn_of_the_peer_withdraws_the_question() {
    let mut lab = Lab::new(config(), Peer::default());
    lab.inject(syn().echo().reduced());
    lab.expect(syn_ack().echo());
    lab.inject(syn());
    lab.expect(syn_ack());
    lab.inject(ack(1));
    lab.id = lab.stack.accept(lab.listener);
    lab.write(1_000);
    lab.expect(data(1, 1_000));
}

/// RFC 3168 §6.1.1: when both open at the same time, all four segments must agree. The flag of the SYN,ACK is no echo.
#[test]
fn a_simultaneous_open_agrees_when_all_segments_do() {
    for (first, answer, agreed) in [
        (syn().echo().reduced(), syn_ack().echo(), true),
        (syn().echo().reduced(), syn_ack(), false),
        (syn(), syn_ack().echo(), false),
    ] {
        let mut lab = asking();
        lab.connect();
        lab.expect(syn().echo().reduced());
        let accepted = first.flags & ECE != 0;
        lab.inject(first);
        lab.expect(if accepted { syn_ack().echo() } else { syn_ack() });
        lab.inject(answer);
        lab.drain();
        lab.write(1_000);
        lab.expect(if agreed { data(1, 1_000).ect() } else { data(1, 1_000) });
        let marked = lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").marked;
        assert_eq!(marked, 0, "{}", lab.trace());
    }
    // Our SYN has not asked.
    let mut lab = Lab::new(config(), Peer::default());
    lab.connect();
    lab.expect(syn());
    lab.inject(syn().echo().reduced());
    lab.expect(syn_ack());
}

/// RFC 3168 §6.1.4 to §6.1.6: acknowledgements, retransmissions, ends without data, and probes of a window take no marks.
#[test]
fn only_new_data_takes_marks() {
    let mut lab = Lab::accepted(ECN);
    lab.inject(data(1, 1_000).ect());
    lab.expect(ack(1_001));
    lab.write(1_000);
    lab.expect(data(1, 1_000).ack(1_001).ect());
    // A tail loss probe, then a retransmission timeout.
    for _ in 0..2 {
        lab.wait(ms(150));
        lab.expect(data(1, 1_000).ack(1_001));
    }
    lab.inject(ack(1_001).seq(1_001).window(0));
    lab.write(1_000);
    lab.wait(secs(1));
    let probes = lab.drain();
    assert!(!probes.is_empty(), "{}", lab.trace());
    assert!(probes.iter().all(|(_, probe)| (probe.ecn, probe.length) == (0, 0)), "{}", lab.trace());
    lab.inject(ack(1_001).seq(1_001));
    lab.expect(data(1_001, 1_000).ack(1_001).ect().reduced());
    lab.inject(ack(2_001).seq(1_001));
    lab.shutdown();
    lab.expect(fin(2_001).ack(1_001));
}

/// RFC 3168 §5.2: what tries a larger size takes no marks, because its loss would be no congestion (RFC 8899 §3).
#[test]
fn a_probe_of_the_size_takes_no_marks() {
    let mut lab = crate::sending::after_a_black_hole(ECN);
    lab.write(3_000);
    lab.wait(ms(15));
    let seen: Vec<_> = lab.drain().into_iter().map(|(_, segment)| (segment.length, segment.ecn)).collect();
    assert!(seen.contains(&(1_380, 0)) && seen.contains(&(1_240, 2)), "{seen:?}");
    assert!(!seen.contains(&(1_380, 2)), "{seen:?}");
}

/// RFC 3168 §6.1.3: every acknowledgement echoes a mark, until the peer says that it has reduced its window. A mark on that
/// segment counts anew.
#[test]
fn a_mark_is_echoed_until_the_window_was_reduced() {
    let mut lab = Lab::accepted(ECN);
    lab.inject(data(1, 1_000).marked());
    lab.expect(ack(1_001).echo());
    lab.inject(data(1_001, 1_000).ect());
    lab.expect(ack(2_001).echo());
    lab.write(1_000);
    lab.expect(data(1, 1_000).ack(2_001).echo().ect());
    lab.inject(data(2_001, 1_000).ack(1_001).ect().reduced());
    lab.expect(ack(3_001).seq(1_001));
    lab.inject(data(3_001, 1_000).ack(1_001).marked().reduced());
    lab.expect(ack(4_001).seq(1_001).echo());
    lab.inject(data(4_001, 1_000).ack(1_001).reduced());
    lab.expect(ack(5_001).seq(1_001));
}

/// RFC 3168 §6.1.3: a mark does not wait for a delayed acknowledgement.
#[test]
fn a_mark_is_echoed_at_once() {
    let mut lab = Lab::accepted(ECN);
    // The first segments are acknowledged at once in any case.
    let mut seq = 1;
    for _ in 0..18 {
        lab.inject(data(seq, 1_000).ect());
        seq += 1_000;
    }
    lab.wait(secs(1));
    lab.drain();
    lab.inject(data(seq, 1_000).ect());
    lab.nothing();
    lab.wait(secs(1));
    lab.drain();
    lab.inject(data(seq + 1_000, 1_000).marked());
    lab.expect(ack(seq + 2_000).echo());
}

/// RFC 3168 §6.1.5: marks on what lies outside of the window, and on segments without data, say nothing.
#[test]
fn a_mark_outside_of_the_window_is_ignored() {
    let mut lab = Lab::accepted(ECN);
    lab.inject(data(1, 1_000).ect());
    lab.expect(ack(1_001));
    lab.wait(ms(100));
    lab.inject(data(1, 1_000).marked());
    lab.expect(ack(1_001).sack(1, 1_001));
    lab.inject(data(900_001, 1_000).marked());
    lab.expect(ack(1_001));
    lab.inject(ack(1).seq(1_001).marked());
    lab.inject(data(1_001, 1_000).ect());
    lab.expect(ack(2_001));
}

/// Ten segments in flight, a round trip ago.
fn ten_in_flight(mut lab: Lab) -> Lab {
    lab.write(10_000);
    for place in 0..10 {
        lab.expect(data(1 + place * 1_000, 1_000).ect());
    }
    lab.wait(ms(20));
    lab
}

/// RFC 3168 §6.1.2, RFC 9438 §4.6: an echo reduces the window as a loss does, without a retransmission. The first new data says
/// so, and nothing else. Echoes of what was sent before are answered by then; one of what came later is not.
#[test]
fn an_echo_reduces_the_window_once_in_a_round_trip() {
    let mut lab = ten_in_flight(cubic());
    let before = window(&lab);
    for acked in 1..=10 {
        lab.inject(ack(acked * 1_000 + 1).echo());
    }
    assert_eq!(window(&lab), before * 7 / 10, "{}", lab.trace());
    lab.nothing();
    lab.write(40_000);
    lab.wait(ms(15));
    let sent = lab.drain();
    let told: Vec<u32> =
        sent.iter().filter(|(_, one)| one.flags & CWR != 0).map(|(_, one)| one.seq).collect();
    assert_eq!(told, [10_001], "{}", lab.trace());
    assert!(sent.iter().all(|(_, one)| one.seq > 10_000 && one.ecn == 2), "{}", lab.trace());
    // The peer has heard of the reduction, and sees another mark.
    let end = sent.last().expect("data").1.seq + 1_000;
    lab.inject(ack(11_001).echo());
    lab.inject(ack(end).echo());
    assert_eq!(window(&lab), before * 49 / 100, "{}", lab.trace());
    let marked = lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").marked;
    assert_eq!(marked, 2);
}

/// RFC 3168 §6.1.2: the sender reports a reduction after a loss with CWR, on new data and not on the retransmission. Echoes of the
/// same flight then reduce nothing more.
#[test]
fn a_loss_is_told_as_a_reduction() {
    let mut lab = ten_in_flight(cubic());
    let before = window(&lab);
    lab.inject(ack(1).sack(1_001, 9_001));
    lab.expect(data(1, 1_000));
    lab.inject(ack(10_001).echo());
    assert_eq!(window(&lab), before * 7 / 10);
    lab.write(20_000);
    lab.wait(ms(15));
    let sent = lab.drain();
    assert_eq!((sent[0].1.seq, sent[0].1.flags), (10_001, ACK | CWR), "{}", lab.trace());
    assert!(sent[1..].iter().all(|(_, one)| one.flags == ACK), "{}", lab.trace());
}

/// RFC 3168 §6.1.2: a loss in the flight of which an echo was answered does not reduce the window again.
#[test]
fn a_loss_after_an_echo_reduces_nothing_more() {
    let mut lab = ten_in_flight(cubic());
    let before = window(&lab);
    lab.inject(ack(1_001).echo());
    lab.inject(ack(1_001).sack(2_001, 9_001).echo());
    lab.wait(ms(20));
    lab.expect(data(1_001, 1_000));
    lab.inject(ack(10_001).echo());
    assert_eq!(window(&lab), before * 7 / 10, "{}", lab.trace());
    lab.write(1_000);
    lab.expect(data(10_001, 1_000).ect().reduced());
}

/// RFC 3168 §6.1.2: a timeout in a flight that was reduced already reduces the window once more, and the peer hears of it.
#[test]
fn a_timeout_after_an_echo_is_told_as_a_reduction() {
    let mut lab = ten_in_flight(cubic());
    lab.inject(ack(1_001).echo());
    lab.inject(ack(8_001));
    lab.write(1_000);
    lab.expect(data(10_001, 1_000).ect().reduced());
    // All that is in flight is lost, with the segment that told.
    lab.wait(ms(700));
    assert!(lab.drain().iter().any(|(_, one)| one.seq == 8_001), "{}", lab.trace());
    lab.inject(ack(11_001));
    lab.write(1_000);
    lab.expect(data(11_001, 1_000).ect().reduced());
}

/// RFC 3522, RFC 4015: a timeout that was spurious is undone also where an echo had reduced the window: what the echo has taken
/// remains taken.
#[test]
fn a_spurious_timeout_after_an_echo_is_undone() {
    let mut config = config();
    config.congestion = Congestion::Cubic;
    let mut lab = Lab::accepted_by(config, Peer { timestamps: true, ..ECN });
    lab.write(9_880);
    lab.wait(ms(20));
    let first = lab.drain()[0].1.timestamps.expect("timestamps").0;
    let before = window(&lab);
    lab.inject(ack(989).echo());
    lab.wait(ms(700));
    let again = lab.drain().last().expect("a retransmission").1.timestamps.expect("timestamps").0;
    assert!(again > first && window(&lab) <= 988, "{}", lab.trace());
    // It had only been delayed.
    lab.inject(ack(1_977).timestamps(lab.now.as_millis() as u32, first));
    let after = window(&lab);
    assert!((before * 7 / 10..before).contains(&after), "{after} after {before}\n{}", lab.trace());
}

/// RFC 3168 §6.1.2: the window of BBR does not follow a loss that its model tolerates, so CWR does not say that it did, and an echo
/// of the same flight is answered.
#[test]
fn bbr_answers_an_echo_in_the_flight_of_a_loss() {
    let mut lab = ten_in_flight(Lab::accepted(ECN));
    lab.inject(ack(1).sack(1_001, 9_001));
    lab.expect(data(1, 1_000));
    lab.write(2_000);
    lab.wait(ms(2));
    let sent = lab.drain();
    assert!(!sent.is_empty() && sent.iter().all(|(_, one)| one.flags == ACK), "{}", lab.trace());
    lab.inject(ack(10_001).echo());
    lab.write(2_000);
    lab.wait(ms(15));
    assert!(lab.drain().iter().any(|(_, one)| one.flags & CWR != 0), "{}", lab.trace());
    let marked = lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").marked;
    assert_eq!(marked, 1);
}

/// RFC 3168 §6.1.6: the sequence number of a probe of a zero window is exact, so its mark counts: one with the byte beyond the
/// window, and one with an old number, as Linux sends it.
#[test]
fn a_mark_on_a_probe_of_a_zero_window_counts() {
    for old in [false, true] {
        let mut config = config();
        config.max_window = 4_096;
        let mut lab = Lab::accepted_by(config, ECN);
        let mut next = 1;
        for _ in 0..8 {
            lab.inject(data(next, 1_000).ect());
            lab.wait(ms(200));
            let Some((_, seen)) = lab.drain().pop() else { continue };
            next = seen.ack;
            if seen.window == Some(0) {
                break;
            }
        }
        lab.wait(secs(1));
        lab.drain();
        lab.inject(if old { ack(1).seq(next - 1).marked() } else { data(next, 1).marked() });
        let seen = lab.drain().pop().expect("an answer").1;
        assert_eq!((seen.window, seen.flags), (Some(0), ACK | ECE), "{}", lab.trace());
    }
}

/// RFC 3168 §6.1.2: at a window of one segment, as after several lost SYNs, an echo holds new data back for a timeout.
#[test]
fn an_echo_at_the_smallest_window_waits_for_a_timeout() {
    for congestion in Congestion::ALL {
        let mut config = config();
        config.congestion = congestion;
        let mut lab = Lab::new(config, ECN);
        lab.inject(syn().echo().reduced());
        lab.expect(syn_ack().echo());
        lab.expect_after(secs(1), syn_ack().echo());
        lab.expect_after(secs(2), syn_ack().echo());
        lab.inject(ack(1));
        lab.id = lab.stack.accept(lab.listener);
        lab.write(1_000);
        lab.expect(data(1, 1_000).ect());
        lab.wait(ms(20));
        lab.inject(ack(1_001).echo());
        lab.write(5_000);
        lab.expect_after(ms(220), data(1_001, 1_000).ect().reduced());
    }
}

/// RFC 3168 §6.1.2, draft-ietf-ccwg-bbr: BBR answers an echo, too. In Startup, the pipe is full.
#[test]
fn bbr_answers_an_echo() {
    let rate = |echo: bool| {
        let mut lab = Lab::accepted(ECN);
        lab.write(60_000);
        let mut acked = 1;
        for _ in 0..8 {
            lab.wait(ms(20));
            let end = lab.drain().last().map_or(acked, |(_, last)| last.seq + 1_000);
            while acked < end {
                acked += 1_000;
                let one = ack(acked);
                lab.inject(if echo && acked > 10_001 { one.echo() } else { one });
            }
            lab.write(60_000);
        }
        lab.id.and_then(|id| lab.stack.info(id)).and_then(|info| info.pacing_rate).expect("a rate")
    };
    let (with, without) = (rate(true), rate(false));
    assert!(with * 2 < without, "{with} and {without} bytes a second");
}

/// RFC 3168 §5.3: a mark on any fragment is one on the whole, and none is made up where the sender takes none.
#[test]
fn marks_of_fragments_are_combined() {
    let expected = |echo: bool| if echo { ack(1_001).echo() } else { ack(1_001) };
    for (bits, whole) in [
        ([2, 2], Some(expected(false))),
        ([2, 3], Some(expected(true))),
        ([3, 2], Some(expected(true))),
        ([3, 3], Some(expected(true))),
        ([0, 0], Some(expected(false))),
        ([0, 2], Some(expected(false))),
        ([0, 3], None),
        ([3, 0], None),
    ] {
        let mut lab = Lab::accepted(ECN);
        let packet = lab.packet(&data(1, 1_000));
        let tcp = &packet[20..];
        for (place, bits) in bits.into_iter().enumerate() {
            let (part, place) = if place == 0 { (&tcp[..512], 0x2000_u16) } else { (&tcp[512..], 64) };
            let mut fragment = crate::lab::ipv4(PEER, STACK, 6, &mut part.to_vec(), None);
            fragment[6..8].copy_from_slice(&place.to_be_bytes());
            lab.inject_packet(&with_ecn(fragment, bits));
        }
        match whole {
            Some(answer) => drop(lab.expect(answer)),
            None => lab.nothing(),
        }
    }
}
