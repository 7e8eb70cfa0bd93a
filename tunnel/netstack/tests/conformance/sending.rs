//! What leaves and when, without loss: RFC 9293 §3.7.4, RFC 6056 §3.3, RFC 1122 §4.1.3.3.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use warren_netstack::{CloseReason, Event, Stack, Undelivered, Unreachable};

use crate::lab::{Lab, PEER, Peer, STACK, config, ipv4, ms, secs};
use crate::segment::{ack, data};

/// RFC 9293 §3.7.4: a small segment waits while another is unacknowledged, and until there is a full one.
#[test]
fn nagle_holds_back_small_segments() {
    let mut config = config();
    config.nagle = true;
    let mut lab = Lab::accepted_by(config, Peer::default());
    lab.write(100);
    lab.expect(data(1, 100));
    lab.write(100);
    lab.write(100);
    lab.nothing();
    lab.wait(ms(20));
    lab.inject(ack(101));
    lab.expect(data(101, 200));
    lab.write(1_500);
    lab.expect(data(301, 1_000));
    lab.nothing();
    // What is left goes with the end of the stream.
    lab.shutdown();
    lab.expect(data(1_301, 500).fin());
}

/// RFC 9293 §3.7.4: an application can turn it off for a connection; here that is the default.
#[test]
fn without_nagle_small_segments_leave_at_once() {
    let mut lab = Lab::accepted(Peer::default());
    for seq in [1, 101, 201] {
        lab.write(100);
        lab.expect(data(seq, 100));
    }
    let id = lab.id.expect("a stream");
    lab.stack.set_nodelay(lab.now, id, false);
    lab.write(100);
    lab.nothing();
    lab.stack.set_nodelay(lab.now, id, true);
    lab.wait(ms(0));
    lab.expect(data(301, 100));
}

/// The ports of this many connections to an address, by a stack with this secret.
fn ports(stack: &mut Stack, to: Ipv4Addr, count: usize) -> Vec<u16> {
    let remote = SocketAddr::new(IpAddr::V4(to), 443);
    let ids = (0..count).map(|_| stack.connect(ms(1), remote).expect("connects"));
    ids.collect::<Vec<_>>().iter().map(|id| stack.info(*id).expect("a stream").local.port()).collect()
}

/// RFC 6056 §3.3.4: the ports towards one destination tell neither those towards another nor those of another secret.
#[test]
fn source_ports_depend_on_a_secret_and_on_the_destination() {
    let (one, other) = (Ipv4Addr::new(10, 0, 0, 8), Ipv4Addr::new(10, 0, 0, 9));
    let mut distances = BTreeSet::new();
    for seed in 0..64 {
        let mut config = config();
        config.seed = [seed; 32];
        let mut stack = Stack::new(config);
        let (first, second) = (ports(&mut stack, one, 1)[0], ports(&mut stack, other, 1)[0]);
        assert!(first >= 32_768 && second >= 32_768);
        distances.insert(second.wrapping_sub(first));
    }
    assert!(distances.len() > 60, "{} distances of 64 secrets", distances.len());
    // No port is used twice before all were used.
    let many: BTreeSet<u16> = ports(&mut Stack::new(config()), one, 5_000).into_iter().collect();
    assert_eq!(many.len(), 5_000);
}

/// A stream whose full segments of 1,380 bytes vanished until it sent small ones, ten minutes later.
pub(crate) fn after_a_black_hole(peer: Peer) -> Lab {
    let mut lab = Lab::accepted(Peer { mss: 1_460, ..peer });
    lab.write(1_380);
    lab.wait(secs(4));
    let last = lab.drain().pop().expect("retransmissions").1;
    assert_eq!((last.seq, last.length), (1, 1_240), "{}", lab.trace());
    lab.inject(ack(1_381));
    lab.wait(secs(300));
    lab.drain();
    // Too early.
    assert_eq!(sent(&mut lab, 2_000), [(1_381, 1_240), (2_621, 760)]);
    lab.inject(ack(3_381));
    lab.wait(secs(300));
    lab
}

/// What leaves when the application writes this much.
fn sent(lab: &mut Lab, length: usize) -> Vec<(u32, usize)> {
    lab.write(length);
    lab.wait(ms(15));
    lab.drain().into_iter().map(|(_, segment)| (segment.seq, segment.length)).collect()
}

/// RFC 8899 §5, RFC 4821 §7: a larger segment is tried, and that size is used when it arrives.
#[test]
fn larger_segments_are_tried_again_after_a_black_hole() {
    let mut lab = after_a_black_hole(Peer::default());
    assert_eq!(sent(&mut lab, 4_000), [(3_381, 1_380), (4_761, 1_240), (6_001, 1_240), (7_241, 140)]);
    lab.inject(ack(7_381));
    assert_eq!(sent(&mut lab, 3_000), [(7_381, 1_380), (8_761, 1_380), (10_141, 240)]);
}

/// RFC 8899 §3: a larger segment that is lost costs no window, and its data is sent in small ones.
#[test]
fn a_lost_probe_of_the_size_costs_no_window() {
    let mut lab = after_a_black_hole(Peer::default());
    let window = |lab: &Lab| lab.id.and_then(|id| lab.stack.info(id)).expect("a stream").window;
    let before = window(&lab);
    assert_eq!(sent(&mut lab, 5_100), [(3_381, 1_380), (4_761, 1_240), (6_001, 1_240), (7_241, 1_240)]);
    lab.inject(ack(3_381).sack(4_761, 8_481));
    lab.wait(ms(15));
    let again: Vec<_> = lab.drain().into_iter().map(|(_, segment)| (segment.seq, segment.length)).collect();
    assert_eq!(again, [(3_381, 1_240), (4_621, 140)], "{}", lab.trace());
    assert!(window(&lab) >= before, "{} of {before}", window(&lab));
    lab.inject(ack(8_481));
    assert_eq!(sent(&mut lab, 2_000), [(8_481, 1_240), (9_721, 760)]);
}

/// An ICMP error of this code about a packet of the stack.
fn unreachable(code: u8, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![3, code, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&quoted[..28]);
    let sum: u32 = message.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    ipv4(Ipv4Addr::new(10, 0, 0, 254), STACK, 1, &mut message, None)
}

/// RFC 1122 §4.1.3.3: an ICMP error reaches the socket whose datagram it quotes, and no other.
#[test]
fn an_icmp_error_reaches_the_socket() {
    let mut lab = Lab::new(config(), Peer::default());
    let remote = SocketAddr::new(IpAddr::V4(PEER), 53);
    let [mine, foreign] = [5_353, 5_354].map(|port| lab.stack.udp_bind(None, port).expect("binds"));
    for (code, why) in [(1, Unreachable::Host), (3, Unreachable::Port), (13, Unreachable::Prohibited)] {
        lab.stack.udp_send_to(mine, remote, b"question").expect("sends");
        lab.wait(ms(0));
        let packet = lab.other.pop().expect("a datagram");
        lab.stack.input(lab.now, &unreachable(code, &packet));
        assert_eq!(lab.stack.poll_event(), Some(Event::Datagram(mine)));
        let local = SocketAddr::new(IpAddr::V4(STACK), 5_353);
        let by = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 254));
        assert_eq!(lab.stack.udp_undelivered(mine), Some(Undelivered { local, remote, by, why }));
        assert_eq!(lab.stack.udp_undelivered(mine), None);
        assert_eq!(lab.stack.udp_undelivered(foreign), None);
    }
}

/// RFC 1122 §3.2.2.1 and §4.2.3.9: a connection that a rule forbids ends with that reason.
#[test]
fn a_forbidden_connection_ends_as_prohibited() {
    for (code, reason) in [
        (0, CloseReason::Unreachable),
        (3, CloseReason::Refused),
        (9, CloseReason::Prohibited),
        (10, CloseReason::Prohibited),
        (13, CloseReason::Prohibited),
    ] {
        let mut lab = Lab::new(config(), Peer::default());
        let id = lab.stack.connect(lab.now, SocketAddr::new(IpAddr::V4(PEER), 80)).expect("connects");
        let mut batch = warren_netstack::Batch::new(1_420);
        lab.stack.poll(lab.now, &mut batch);
        let syn = batch.iter().next().expect("a SYN").to_vec();
        lab.stack.input(lab.now, &unreachable(code, &syn));
        assert_eq!(lab.stack.reason(id), Some(reason), "code {code}");
    }
}
