//! What leaves and when, without loss: RFC 9293 §3.7.4, RFC 6056 §3.3, RFC 1122 §4.1.3.3.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use warren_netstack::{CloseReason, Event, Stack, Undelivered, Unreachable};

use crate::lab::{Lab, PEER, Peer, STACK, config, ipv4, ms};
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
        assert_eq!(lab.stack.udp_undelivered(mine), Some(Undelivered { local, remote, why }));
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
