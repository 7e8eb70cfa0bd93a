//! Reassembly of fragments: RFC 791 §3.2, RFC 1122 §3.3.2, RFC 5722, RFC 8200 §4.5.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use warren_netstack::{Config, SocketId};

use crate::lab::{Lab, PEER, Peer, STACK, config, ipv4, ms, secs};

const SIZE: usize = 4_000;
const STACK6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const PEER6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn lab(config: Config) -> (Lab, SocketId) {
    let mut lab = Lab::new(config, Peer::default());
    let socket = lab.stack.udp_bind(None, 53).expect("binds");
    (lab, socket)
}

/// A UDP datagram of 4,000 bytes: what stands behind the IP header.
fn datagram(from: IpAddr) -> Vec<u8> {
    let mut udp = Vec::new();
    udp.extend(9_000_u16.to_be_bytes());
    udp.extend(53_u16.to_be_bytes());
    udp.extend((SIZE as u16 + 8).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend((0..SIZE).map(|at| (at % 251) as u8));
    if let IpAddr::V6(from) = from {
        let pairs = from.segments().into_iter().chain(STACK6.segments()).map(u32::from);
        let data = udp.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let mut sum: u32 = pairs.chain(data).sum::<u32>() + 17 + udp.len() as u32;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        udp[6..8].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    udp
}

/// The part of a payload from `start` to `end` as an IPv4 fragment.
fn part4(from: Ipv4Addr, id: u16, payload: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut packet = ipv4(from, STACK, 17, &mut payload[start..end].to_vec(), None);
    let more = if end < payload.len() { 0x2000 } else { 0 };
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[6..8].copy_from_slice(&((start / 8) as u16 | more).to_be_bytes());
    packet[10..12].fill(0);
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The same for IPv6, with the fragment header of RFC 8200 §4.5.
fn part6(id: u32, payload: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(((end - start + 8) as u16).to_be_bytes());
    packet.extend([44, 64]);
    packet.extend(PEER6.octets());
    packet.extend(STACK6.octets());
    packet.extend([17, 0]);
    packet.extend((start as u16 | u16::from(end < payload.len())).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend(&payload[start..end]);
    packet
}

/// What the socket has received.
fn received(lab: &mut Lab, socket: SocketId) -> usize {
    let mut count = 0;
    while let Some(datagram) = lab.stack.udp_recv_from(socket) {
        assert!(datagram.data.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        assert_eq!(datagram.data.len(), SIZE);
        count += 1;
    }
    count
}

const CUTS: [(usize, usize); 3] = [(0, 1_400), (1_400, 2_800), (2_800, SIZE + 8)];

/// RFC 791 §3.2: fragments become a datagram in any order, also when they come twice.
#[test]
fn fragments_of_ipv4_become_a_datagram() {
    let (mut lab, socket) = lab(config());
    let payload = datagram(IpAddr::V4(PEER));
    for (id, order) in [[0, 1, 2], [2, 1, 0], [1, 0, 2]].into_iter().enumerate() {
        for (place, cut) in order.into_iter().enumerate() {
            assert_eq!(received(&mut lab, socket), 0);
            let packet = part4(PEER, id as u16, &payload, CUTS[cut].0, CUTS[cut].1);
            lab.inject_packet(&packet);
            if place == 0 {
                lab.inject_packet(&packet);
            }
        }
        assert_eq!(received(&mut lab, socket), 1);
    }
    assert_eq!(lab.stack.memory().buffers, 0);
}

/// RFC 8200 §4.5, and RFC 6946: a fragment that is the whole is taken alone.
#[test]
fn fragments_of_ipv6_become_a_datagram() {
    let mut config = config();
    config.addresses.push(IpAddr::V6(STACK6));
    let (mut lab, socket) = lab(config);
    let payload = datagram(IpAddr::V6(PEER6));
    for cut in [1, 2, 0] {
        assert_eq!(received(&mut lab, socket), 0);
        lab.inject_packet(&part6(7, &payload, CUTS[cut].0, CUTS[cut].1));
    }
    assert_eq!(received(&mut lab, socket), 1);
    lab.inject_packet(&part6(8, &payload, 0, payload.len()));
    assert_eq!(received(&mut lab, socket), 1);
    assert_eq!(lab.stack.memory().buffers, 0);
}

/// RFC 5722 §4: overlapping fragments end the datagram, also for those that come later.
#[test]
fn overlapping_fragments_end_the_datagram() {
    let (mut lab, socket) = lab(config());
    let payload = datagram(IpAddr::V4(PEER));
    for (start, end) in [(0, 1_400), (1_000, 2_800), (1_400, 2_800), (2_800, SIZE + 8), (0, 1_400)] {
        lab.inject_packet(&part4(PEER, 1, &payload, start, end));
    }
    assert_eq!(received(&mut lab, socket), 0);
    assert_eq!(lab.stack.memory().buffers, 0, "nothing is held");
    // Another datagram of the same source is not touched.
    for (start, end) in CUTS {
        lab.inject_packet(&part4(PEER, 2, &payload, start, end));
    }
    assert_eq!(received(&mut lab, socket), 1);
}

/// RFC 1122 §3.3.2: fragments wait for a minute, and the source hears that the rest did not come.
#[test]
fn fragments_expire_after_a_minute() {
    let (mut lab, socket) = lab(config());
    let payload = datagram(IpAddr::V4(PEER));
    lab.inject_packet(&part4(PEER, 1, &payload, 0, 1_400));
    lab.inject_packet(&part4(PEER, 2, &payload, 1_400, 2_800));
    lab.wait(secs(59));
    assert!(lab.other.is_empty());
    lab.wait(secs(1) + ms(1));
    let errors: Vec<_> = lab.other.drain(..).map(|packet| (packet[20], packet[21])).collect();
    assert_eq!(errors, [(11, 1)], "for the datagram whose first fragment came");
    assert_eq!(lab.stack.memory().buffers, 0);
    for (start, end) in &CUTS[1..] {
        lab.inject_packet(&part4(PEER, 1, &payload, *start, *end));
    }
    assert_eq!(received(&mut lab, socket), 0);
}

/// Fragments have a small part of the memory, and one source a quarter of it: a flood does not stop the others.
#[test]
fn a_flood_of_fragments_is_bounded() {
    let (mut lab, socket) = lab(config());
    let payload = datagram(IpAddr::V4(PEER));
    let flooder = Ipv4Addr::new(10, 0, 0, 66);
    for id in 0..20_000 {
        lab.inject_packet(&part4(flooder, id, &payload, 1_400, 2_800));
    }
    let flooded = lab.stack.memory().buffers;
    assert!(flooded <= (32 << 20) / 16 / 4, "{flooded}");
    for (start, end) in CUTS {
        lab.inject_packet(&part4(PEER, 1, &payload, start, end));
    }
    assert_eq!(received(&mut lab, socket), 1);
    for low in 0..200 {
        for id in 0..50 {
            lab.inject_packet(&part4(Ipv4Addr::new(10, 0, 1, low), id, &payload, 1_400, 2_800));
        }
    }
    let memory = lab.stack.memory();
    assert!(memory.buffers <= (32 << 20) / 16, "{memory:?}");
}
