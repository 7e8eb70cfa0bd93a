//! When packets are joined, when not, and what comes out.

use super::super::split::parse;
use super::*;
use proptest::prelude::*;

#[derive(Clone)]
struct Tcp {
    port: u16,
    sequence: u32,
    ack: u32,
    flags: u8,
    tos: u8,
    ttl: u8,
    id: u16,
    fragment: u16,
    payload: usize,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            port: 1,
            sequence: 0,
            ack: 5,
            flags: ACK,
            tos: 0,
            ttl: 64,
            id: 0,
            fragment: 0x4000,
            payload: 100,
        }
    }
}

impl Tcp {
    fn bytes(&self) -> Vec<u8> {
        let total = 40 + self.payload;
        let mut packet =
            vec![0x45, self.tos, 0, 0, 0, 0, 0, 0, self.ttl, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        put16(&mut packet, 2, total as u16);
        put16(&mut packet, 4, self.id);
        put16(&mut packet, 6, self.fragment);
        fill_ipv4_header(&mut packet);
        packet.extend_from_slice(&self.port.to_be_bytes());
        packet.extend_from_slice(&80u16.to_be_bytes());
        packet.extend_from_slice(&self.sequence.to_be_bytes());
        packet.extend_from_slice(&self.ack.to_be_bytes());
        packet.extend_from_slice(&[0x50, self.flags, 1, 1, 0, 0, 0, 0]);
        packet.extend((0..self.payload).map(|n| (n as u32).wrapping_add(self.sequence) as u8));
        let checksum = !fold(pseudo(&packet[12..20], TCP, total - 20) + sum(&packet[20..]));
        packet[36..38].copy_from_slice(&checksum.to_ne_bytes());
        packet
    }

    fn next(&self) -> Self {
        Self {
            sequence: self.sequence.wrapping_add(self.payload as u32),
            id: self.id.wrapping_add(1),
            ..self.clone()
        }
    }
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let total = 28 + payload.len();
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    put16(&mut packet, 2, total as u16);
    fill_ipv4_header(&mut packet);
    packet.extend_from_slice(&port.to_be_bytes());
    packet.extend_from_slice(&53u16.to_be_bytes());
    packet.extend_from_slice(&((total - 20) as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(payload);
    let checksum = !fold(pseudo(&packet[12..20], UDP, total - 20) + sum(&packet[20..]));
    packet[26..28].copy_from_slice(&checksum.to_ne_bytes());
    packet
}

fn run(joins: Joins, packets: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
    let mut arena = Vec::new();
    let mut places = Vec::new();
    for packet in packets {
        arena.extend_from_slice(&[0xaa; 16]);
        places.push(arena.len()..arena.len() + packet.len());
        arena.extend_from_slice(packet);
    }
    let mut coalescer = Coalescer::new(joins);
    let mut frames = Vec::new();
    for place in places {
        if coalescer.is_full() {
            coalescer.flush(&mut arena, |pieces, count| {
                frames.push((count, pieces.iter().flat_map(|p| p.to_vec()).collect()));
            });
        }
        assert!(coalescer.push(&mut arena, place));
    }
    coalescer.flush(&mut arena, |pieces, count| {
        frames.push((count, pieces.iter().flat_map(|p| p.to_vec()).collect()));
    });
    frames
}

const ALL: Joins = Joins { tcp: true, udp: true };

fn counts(packets: &[Tcp]) -> Vec<usize> {
    let packets: Vec<_> = packets.iter().map(Tcp::bytes).collect();
    run(ALL, &packets).into_iter().map(|(count, _)| count).collect()
}

#[test]
fn a_flow_in_sequence_is_one_frame() {
    let first = Tcp::default();
    assert_eq!(counts(&[first.clone(), first.next(), first.next().next()]), [3]);
}

#[test]
fn several_flows_at_once() {
    let (one, two) = (Tcp::default(), Tcp { port: 2, ..Tcp::default() });
    assert_eq!(counts(&[one.clone(), two.clone(), one.next(), two.next()]), [2, 2]);
}

#[test]
fn what_differs_is_not_joined() {
    let first = Tcp::default();
    let next = first.next();
    for other in [
        Tcp { sequence: next.sequence + 1, ..next.clone() },
        Tcp { ack: 6, ..next.clone() },
        Tcp { tos: 3, ..next.clone() },
        Tcp { ttl: 63, ..next.clone() },
        Tcp { flags: ACK | ECE, ..next.clone() },
        Tcp { flags: ACK | 1, ..next.clone() },
        Tcp { flags: ACK | 4, ..next.clone() },
        Tcp { flags: ACK | 0x80, ..next.clone() },
        Tcp { payload: 101, ..next.clone() },
        Tcp { payload: 0, ..next.clone() },
        Tcp { fragment: 0, ..next.clone() },
        Tcp { fragment: 0x2000, ..next },
    ] {
        assert_eq!(counts(&[first.clone(), other]), [1, 1]);
    }
    let fragile = Tcp { fragment: 0, ..first };
    assert_eq!(counts(&[fragile.clone(), fragile.next()]), [2]);
    assert_eq!(counts(&[fragile.clone(), Tcp { id: 9, ..fragile.next() }]), [1, 1]);
}

#[test]
fn push_and_short_segments_close() {
    let first = Tcp::default();
    let pushed = Tcp { flags: ACK | PSH, ..first.next() };
    let packets: Vec<_> = [&first, &pushed, &pushed.next()].map(Tcp::bytes).to_vec();
    let frames = run(ALL, &packets);
    assert_eq!(frames.iter().map(|f| f.0).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(frames[0].1[VNET_HEADER + 33], ACK | PSH);
    let short = Tcp { payload: 10, ..first.next() };
    assert_eq!(counts(&[first.clone(), short.clone(), Tcp { payload: 100, ..short.next() }]), [2, 1]);
    let pushed = Tcp { flags: ACK | PSH, ..first };
    assert_eq!(counts(&[pushed.clone(), pushed.next()]), [1, 1]);
}

#[test]
fn nothing_overtakes_in_a_flow() {
    let first = Tcp::default();
    let second = first.next();
    let ack = Tcp { payload: 0, ..second };
    assert_eq!(counts(&[first.clone(), ack, second.clone()]), [1, 1, 1]);
    let fragment = Tcp { port: 9, fragment: 0x2000, ..second };
    assert_eq!(counts(&[first, fragment, second]), [1, 1, 1]);
}

#[test]
fn a_broken_checksum_stays_alone_and_broken() {
    let first = Tcp::default();
    for broken in 0..2 {
        let mut packets = vec![first.bytes(), first.next().bytes()];
        packets[broken][50] ^= 1;
        let frames = run(ALL, &packets);
        assert_eq!(frames.len(), 2);
        assert_eq!(frames[broken].1[VNET_HEADER..], packets[broken]);
        assert_eq!(frames[broken].1[..VNET_HEADER], [0; VNET_HEADER]);
    }
}

#[test]
fn a_frame_holds_64_kib_and_128_packets() {
    let mut packets = vec![Tcp { payload: 1380, ..Tcp::default() }];
    while packets.len() < 60 {
        packets.push(packets[packets.len() - 1].next());
    }
    assert_eq!(counts(&packets), [47, 13]);
    let mut packets = vec![Tcp { payload: 10, ..Tcp::default() }];
    while packets.len() < 130 {
        packets.push(packets[packets.len() - 1].next());
    }
    assert_eq!(counts(&packets), [128, 2]);
}

#[test]
fn datagrams_of_equal_size() {
    let packets = [udp(1, &[1; 50]), udp(1, &[2; 50]), udp(1, &[3; 20]), udp(1, &[4; 50]), udp(2, &[5; 50])];
    let frames = run(ALL, &packets);
    assert_eq!(frames.iter().map(|f| f.0).collect::<Vec<_>>(), [3, 1, 1]);
    let apart = run(Joins { tcp: true, udp: false }, &packets);
    assert_eq!(apart.len(), 5);
    let mut unchecked = packets[..2].to_vec();
    unchecked[1][26..28].copy_from_slice(&[0, 0]);
    assert_eq!(run(ALL, &unchecked).len(), 2);
}

#[test]
fn more_flows_than_the_table_holds() {
    let packets: Vec<_> = (0..200).map(|port| Tcp { port, ..Tcp::default() }).collect();
    assert_eq!(counts(&packets).len(), 200);
}

#[test]
fn places_outside_are_refused() {
    let mut coalescer = Coalescer::new(ALL);
    let mut arena = vec![0x45; 100];
    assert!(!coalescer.push(&mut arena, 9..50));
    assert!(!coalescer.push(&mut arena, 16..101));
    assert!(!coalescer.push(&mut arena, 16..16));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes(packets in proptest::collection::vec((0u8..4, proptest::collection::vec(any::<u8>(), 1..120)), 0..90)) {
        let packets: Vec<Vec<u8>> = packets.into_iter().map(|(kind, mut bytes)| {
            bytes[0] = [0x45, 0x60, 0x46, bytes[0]][usize::from(kind)];
            if bytes.len() > 9 {
                let length = bytes.len() as u16;
                let (at, protocol, length) = if kind == 0 { (2, 9, length) } else { (4, 6, length.saturating_sub(40)) };
                put16(&mut bytes, at, length);
                bytes[protocol] = if bytes[1] & 1 == 0 { TCP } else { UDP };
            }
            bytes
        }).collect();
        let frames = run(ALL, &packets);
        prop_assert_eq!(frames.iter().map(|f| f.0).sum::<usize>(), packets.len());
    }

    /// Interleaved flows with loss, repeats and reordering: every flow's packets come out as they went in.
    #[test]
    fn order_in_a_flow_is_kept(steps in proptest::collection::vec((0u16..4, 0u8..10, 1usize..3), 1..200)) {
        let mut flows: Vec<Tcp> = (0..4).map(|port| Tcp { port, sequence: u32::MAX - 500, ..Tcp::default() }).collect();
        let mut packets = Vec::new();
        for (flow, what, size) in steps {
            let state = &mut flows[usize::from(flow)];
            state.payload = size * 60;
            state.flags = if what == 1 { ACK | PSH } else { ACK };
            match what {
                2 => state.sequence = state.sequence.wrapping_add(60),
                3 => state.sequence = state.sequence.wrapping_sub(60),
                4 => state.ack += 1,
                5 => state.payload = 0,
                _ => {}
            }
            packets.push(state.bytes());
            *state = state.next();
        }
        let mut out: Vec<Vec<u8>> = Vec::new();
        for (count, frame) in run(ALL, &packets) {
            let frame = parse(&frame).unwrap();
            prop_assert_eq!(frame.segments(), count);
            for index in 0..count {
                let mut bytes = vec![0; frame.segment_len(index)];
                prop_assert!(frame.write(index, &mut bytes));
                // Identification is counted up from the first of a run (DF is set: it says nothing).
                put16(&mut bytes, 4, 0);
                put16(&mut bytes, 10, 0);
                out.push(bytes);
            }
        }
        for packet in &mut packets {
            put16(packet, 4, 0);
            put16(packet, 10, 0);
        }
        for port in 0..4u16 {
            let of = |all: &[Vec<u8>]| all.iter().filter(|p| be16(p, 20) == port).cloned().collect::<Vec<_>>();
            prop_assert_eq!(of(&out), of(&packets));
        }
    }
}
