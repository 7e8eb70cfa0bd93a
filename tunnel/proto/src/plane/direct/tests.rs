use std::num::NonZeroU32;

use warren_wire::PublicKey;

use super::*;
use crate::plane::{PeerId, Plane};

const OWN: [u8; 4] = [10, 100, 0, 2];
const THEIRS: [u8; 4] = [10, 100, 0, 7];

fn peer(plane: &Plane, slot: u32) -> Arc<Peer> {
    let id = PeerId { slot, generation: NonZeroU32::MIN };
    Arc::new(plane.new_peer(id, PublicKey::from_bytes([slot as u8; 32])))
}

fn opening(protocol: Protocol, first: u16, last: u16) -> Opening {
    Opening { protocol, first, last }
}

/// A path on which this end may begin TCP, UDP and echo to 29500, and the peer TCP to 8080.
fn path(plane: &Plane) -> Arc<Direct> {
    let rules = DirectRules {
        addresses: vec![THEIRS.into()],
        opens: vec![
            opening(Protocol::Tcp, 29500, 29500),
            opening(Protocol::Udp, 29500, 29500),
            opening(Protocol::Icmp, 0, 0),
        ],
        accepts: vec![opening(Protocol::Tcp, 8080, 8090)],
    };
    let direct = Direct::new(peer(plane, 1), rules);
    direct.set_up(true);
    Arc::new(direct)
}

fn ipv4(protocol: u8, from: [u8; 4], to: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&from);
    packet[16..20].copy_from_slice(&to);
    packet.extend_from_slice(payload);
    packet
}

fn ends(from: u16, to: u16, more: usize) -> Vec<u8> {
    let mut head = [from.to_be_bytes(), to.to_be_bytes()].concat();
    head.resize(4 + more, 0);
    head
}

fn tcp(from: ([u8; 4], u16), to: ([u8; 4], u16), flags: u8) -> Vec<u8> {
    let mut segment = ends(from.1, to.1, 16);
    segment[13] = flags;
    ipv4(6, from.0, to.0, &segment)
}

fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
    ipv4(17, from.0, to.0, &ends(from.1, to.1, 4))
}

fn echo(from: [u8; 4], to: [u8; 4], kind: u8, identifier: u16) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0];
    message.extend_from_slice(&identifier.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    ipv4(1, from, to, &message)
}

/// An error about a packet.
fn unreachable(from: [u8; 4], to: [u8; 4], about: &[u8]) -> Vec<u8> {
    ipv4(1, from, to, &[&[3, 3, 0, 0, 0, 0, 0, 0], about].concat())
}

const SYN: u8 = 2;
const ACK: u8 = 16;
const SYN_ACK: u8 = 18;

fn sends(direct: &Direct, packet: &[u8]) -> bool {
    direct.sends(Duration::from_secs(1), THEIRS.into(), packet)
}

fn takes(direct: &Direct, packet: &[u8]) -> bool {
    direct.takes(Duration::from_secs(1), THEIRS.into(), packet)
}

#[test]
fn what_no_rule_allows_is_not_taken() {
    let direct = path(&Plane::new());
    let to = |port| tcp((THEIRS, 40_000), (OWN, port), SYN);
    assert!(takes(&direct, &to(8080)) && takes(&direct, &to(8090)));
    assert!(!takes(&direct, &to(8091)) && !takes(&direct, &to(29500)) && !takes(&direct, &to(22)));
    // Segments open nothing, but belong to what one of the two rules allows.
    let segment = |from, to| tcp((THEIRS, from), (OWN, to), ACK);
    assert!(!takes(&direct, &segment(40_000, 22)));
    assert!(takes(&direct, &segment(40_000, 8081)) && takes(&direct, &segment(29500, 50_000)));
    // With SYN and ACK, too, since that opens nothing.
    assert!(!takes(&direct, &tcp((THEIRS, 40_000), (OWN, 22), SYN_ACK)));
    for other in [udp((THEIRS, 1000), (OWN, 8080)), echo(THEIRS, OWN, 8, 5), echo(THEIRS, OWN, 0, 5)] {
        assert!(!takes(&direct, &other));
    }
    // Another protocol, a fragment, and what is cut.
    let mut fragment = udp((THEIRS, 29500), (OWN, 40_000));
    fragment[6] = 0x20;
    for odd in [ipv4(47, THEIRS, OWN, &[0; 20]), fragment, to(8080)[..30].to_vec(), vec![0x45], Vec::new()] {
        assert!(!takes(&direct, &odd) && !sends(&direct, &odd));
    }
    assert_eq!(direct.refused(), 13);
}

#[test]
fn answers_belong_to_their_flows() {
    let direct = path(&Plane::new());
    let answer = udp((THEIRS, 29500), (OWN, 40_000));
    assert!(!takes(&direct, &answer));
    let request = udp((OWN, 40_000), (THEIRS, 29500));
    assert!(sends(&direct, &request) && takes(&direct, &answer));
    assert!(!takes(&direct, &udp((THEIRS, 29500), (OWN, 40_001))));
    assert!(sends(&direct, &echo(OWN, THEIRS, 8, 9)) && takes(&direct, &echo(THEIRS, OWN, 0, 9)));
    assert!(!takes(&direct, &echo(THEIRS, OWN, 0, 10)));
    // Errors about what was sent, and only these.
    assert!(takes(&direct, &unreachable(THEIRS, OWN, &request)));
    assert!(!takes(&direct, &unreachable(THEIRS, OWN, &udp((OWN, 40_001), (THEIRS, 29500)))));
    assert!(!takes(&direct, &unreachable(THEIRS, OWN, &udp((OWN, 40_000), ([10, 0, 0, 1], 29500)))));
    // And errors of this end about what came.
    assert!(takes(&direct, &tcp((THEIRS, 7), (OWN, 8080), SYN)));
    assert!(sends(&direct, &unreachable(OWN, THEIRS, &tcp((THEIRS, 7), (OWN, 8080), SYN))));
    assert!(!sends(&direct, &unreachable(OWN, THEIRS, &tcp((THEIRS, 8), (OWN, 8080), SYN))));
}

#[test]
fn a_connection_stays_where_it_began() {
    let direct = path(&Plane::new());
    let out = |flags| tcp((OWN, 40_000), (THEIRS, 29500), flags);
    // It began at the gateway, before there was a path or because no rule allows it.
    assert!(!sends(&direct, &out(ACK)));
    assert!(!sends(&direct, &tcp((OWN, 40_000), (THEIRS, 22), SYN)));
    assert!(sends(&direct, &out(SYN)) && sends(&direct, &out(ACK)));
    // The path is lost, and comes back.
    direct.set_up(false);
    assert!(!sends(&direct, &out(ACK)));
    direct.set_up(true);
    assert!(sends(&direct, &out(ACK)));
    // It is made anew while the path is lost.
    direct.set_up(false);
    assert!(!sends(&direct, &out(SYN)));
    direct.set_up(true);
    assert!(!sends(&direct, &out(ACK)));
    // The same when the peer makes it, through the gateway.
    let come = |flags| tcp((THEIRS, 50_000), (OWN, 8080), flags);
    assert!(takes(&direct, &come(SYN)) && sends(&direct, &tcp((OWN, 8080), (THEIRS, 50_000), SYN_ACK)));
    direct.came_by_gateway(THEIRS.into(), &come(ACK));
    assert!(sends(&direct, &tcp((OWN, 8080), (THEIRS, 50_000), ACK)));
    direct.came_by_gateway(THEIRS.into(), &come(SYN));
    assert!(!sends(&direct, &tcp((OWN, 8080), (THEIRS, 50_000), ACK)));
}

#[test]
fn flows_return_to_a_path_that_is_offered_again_as_far_as_it_allows_them() {
    let plane = Plane::new();
    let before = path(&plane);
    let [kept, closed, came] = [
        tcp((OWN, 40_000), (THEIRS, 29500), SYN),
        udp((OWN, 40_000), (THEIRS, 29500)),
        tcp((THEIRS, 7), (OWN, 8080), SYN),
    ];
    assert!(sends(&before, &kept) && sends(&before, &closed) && takes(&before, &came));
    before.set_up(false);
    // One begins anew meanwhile.
    before.came_by_gateway(THEIRS.into(), &came);
    let mut rules = before.rules().clone();
    rules.opens.retain(|opening| opening.protocol != Protocol::Udp);
    let after = Direct::after(peer(&plane, 3), rules, &before);
    after.set_up(true);
    assert!(sends(&after, &tcp((OWN, 40_000), (THEIRS, 29500), ACK)));
    assert!(!sends(&after, &closed) && !sends(&after, &tcp((OWN, 8080), (THEIRS, 7), ACK)));
    assert_eq!(after.flows(), 1);
}

#[test]
fn flows_are_limited_and_idle_ones_make_way() {
    let direct = path(&Plane::new());
    let begin = |at: u64, port: u16| {
        let packet = udp((OWN, port), (THEIRS, 29500));
        direct.sends(Duration::from_secs(at), THEIRS.into(), &packet)
    };
    assert!((1..=FLOWS as u16).all(|port| begin(100, port)));
    assert!(!begin(110, 60_000) && direct.flows() == FLOWS);
    assert!(begin(130, 1), "a known one");
    assert!(begin(165, 60_000));
    assert_eq!(direct.flows(), 2);
}

#[test]
fn ipv6_is_read_too() {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    packet[6] = 6;
    let mut segment = ends(40_000, 29500, 16);
    segment[13] = SYN;
    packet.extend_from_slice(&segment);
    let direct = path(&Plane::new());
    let to: IpAddr = "fd00::7".parse().unwrap();
    assert!(direct.sends(Duration::ZERO, to, &packet));
    // Extension headers.
    packet[6] = 0;
    assert!(!direct.sends(Duration::ZERO, to, &packet));
}

#[test]
fn a_direct_peer_has_its_own_addresses_only() {
    let plane = Arc::new(Plane::new());
    let direct = path(&plane);
    let gateway = peer(&plane, 2);
    let mut reader = plane.reader();
    let now = Duration::from_secs(1);
    let packet = tcp((THEIRS, 7), (OWN, 8080), SYN);
    assert_eq!(reader.direct_permits(now, direct.peer(), THEIRS.into(), &packet), None);
    plane.set_directs(&[Arc::clone(&direct)]);
    assert_eq!(reader.direct_permits(now, direct.peer(), THEIRS.into(), &packet), Some(true));
    assert_eq!(reader.direct_permits(now, &gateway, THEIRS.into(), &packet), None);
    // Another pod's address: the allowed IPs decide, and a direct peer has none.
    let other = tcp(([10, 100, 0, 9], 7), (OWN, 8080), SYN);
    assert_eq!(reader.direct_permits(now, direct.peer(), [10, 100, 0, 9].into(), &other), None);
    assert!(!reader.permits(direct.peer(), [10, 100, 0, 9].into()));
    plane.set_directs(&[]);
    assert_eq!(reader.direct_permits(now, direct.peer(), THEIRS.into(), &packet), None);
}

#[test]
fn destinations_are_noted_once_they_are_watched() {
    let plane = Arc::new(Plane::new());
    let mut reader = plane.reader();
    let nets = ["10.100.0.0/24".parse().unwrap()];
    let mut send = |to: [u8; 4]| {
        let packet = udp((OWN, 1), (to, 2));
        assert!(reader.route_packet(Duration::ZERO, || Some(OWN.into()), to.into(), &packet).is_none());
    };
    send(THEIRS);
    assert!(plane.take_destinations(&nets).is_empty());
    send(THEIRS);
    send([10, 0, 0, 1]);
    assert_eq!(plane.take_destinations(&nets), [IpAddr::from(THEIRS)]);
    assert!(plane.take_destinations(&nets).is_empty());
    send(THEIRS);
    assert_eq!(plane.take_destinations(&nets), [IpAddr::from(THEIRS)]);
}
