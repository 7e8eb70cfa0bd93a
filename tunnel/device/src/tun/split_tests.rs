//! Segments of frames made here, judged by the naive checksum; hostile frames.

use super::super::checksum::naive;
use super::super::coalesce::{Coalescer, Joins};
use super::super::vnet::VNET_HEADER;
use super::*;
use proptest::prelude::*;

/// A frame as the kernel gives it: vnet header and one packet to be cut.
pub(crate) fn frame(v6: bool, udp: bool, payload: &[u8], size: u16, options: usize, flags: u8) -> Vec<u8> {
    let ip = if v6 { 40 } else { 20 };
    let headers = ip + if udp { 8 } else { 20 + options };
    let total = headers + payload.len();
    let gso = match (udp, v6) {
        _ if payload.len() <= usize::from(size) => GSO_NONE,
        (true, _) => GSO_UDP_L4,
        (_, false) => GSO_TCPV4,
        _ => GSO_TCPV6,
    };
    let vnet = Vnet {
        flags: NEEDS_CSUM,
        gso_type: gso,
        hdr_len: 3,
        gso_size: size,
        csum_start: ip as u16,
        csum_offset: if udp { 6 } else { 16 },
    };
    let mut packet = vec![0u8; total];
    if v6 {
        packet[..8].copy_from_slice(&[0x60, 0x20, 0, 1, 0, 0, if udp { UDP } else { TCP }, 64]);
        put16(&mut packet, 4, (total - 40) as u16);
        packet[8..40].copy_from_slice(&[7; 32]);
        packet[39] = 9;
    } else {
        packet[..20].copy_from_slice(&[
            0x45,
            2,
            0,
            0,
            0xff,
            0xfe,
            0x40,
            0,
            64,
            if udp { UDP } else { TCP },
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ]);
        put16(&mut packet, 2, total as u16);
        fill_ipv4_header(&mut packet[..20]);
    }
    packet[ip..ip + 4].copy_from_slice(&[0x30, 0x39, 0x14, 0x51]);
    if udp {
        put16(&mut packet, ip + 4, (total - ip) as u16);
    } else {
        packet[ip + 4..ip + 8].copy_from_slice(&0xffff_ff00u32.to_be_bytes());
        packet[ip + 8..ip + 12].copy_from_slice(&77u32.to_be_bytes());
        packet[ip + 12] = (((20 + options) / 4) << 4) as u8;
        packet[ip + 13] = flags;
        packet[ip + 15] = 99;
        packet[ip + 20..headers].fill(1);
    }
    packet[headers..].copy_from_slice(payload);
    let addresses = if v6 { 8..40 } else { 12..20 };
    let partial = fold(pseudo(&packet[addresses], if udp { UDP } else { TCP }, total - ip));
    let field = ip + if udp { 6 } else { 16 };
    packet[field..field + 2].copy_from_slice(&partial.to_ne_bytes());
    [&vnet.encode()[..], &packet].concat()
}

pub(crate) fn cut(frame: &[u8]) -> Vec<Vec<u8>> {
    let frame = parse(frame).unwrap();
    (0..frame.segments())
        .map(|index| {
            let mut out = vec![0xee; frame.segment_len(index)];
            assert!(frame.write(index, &mut out));
            out
        })
        .collect()
}

fn join(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut arena = Vec::new();
    let mut coalescer = Coalescer::new(Joins { tcp: true, udp: true });
    let places: Vec<_> = packets
        .iter()
        .map(|packet| {
            arena.extend_from_slice(&[0; 16]);
            arena.extend_from_slice(packet);
            arena.len() - packet.len()..arena.len()
        })
        .collect();
    let mut frames = Vec::new();
    for place in places {
        if coalescer.is_full() {
            coalescer.flush(&mut arena, |pieces, _| {
                frames.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect());
            });
        }
        assert!(coalescer.push(&mut arena, place));
    }
    coalescer
        .flush(&mut arena, |pieces, _| frames.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect()));
    frames
}

fn headers_of(v6: bool, udp: bool, options: usize) -> usize {
    (if v6 { 40 } else { 20 }) + if udp { 8 } else { 20 + options }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn cut_and_joined_again(v6: bool, udp: bool, payload in proptest::collection::vec(any::<u8>(), 1..20_000), size in 400u16..1400, options in 0usize..11, flags in prop::sample::select(vec![0x10u8, 0x18, 0x50])) {
        let whole = frame(v6, udp, &payload, size, options * 4, flags);
        let packets = cut(&whole);
        let headers = headers_of(v6, udp, options * 4);
        prop_assert_eq!(packets.len(), payload.len().div_ceil(usize::from(size)));
        let mut stream = Vec::new();
        for packet in &packets {
            prop_assert!(naive::valid(packet));
            prop_assert!(packet.len() <= headers + usize::from(size));
            stream.extend_from_slice(&packet[headers..]);
        }
        prop_assert_eq!(&stream, &payload);
        // Joined, they are the frame that was cut, but for what vnet says of the headers' length; and what is cut from that again is the same packets.
        let frames = join(&packets);
        prop_assert_eq!(frames.len(), if udp { packets.len().div_ceil(16) } else { 1 });
        let again: Vec<_> = frames.iter().flat_map(|frame| cut(frame)).collect();
        prop_assert_eq!(again, packets);
    }

    #[test]
    fn any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), version in 0u8..3, gso in 0u8..7) {
        if bytes.len() > VNET_HEADER + 1 {
            bytes[1] = gso;
            bytes[VNET_HEADER] = [0x45, 0x60, bytes[VNET_HEADER]][usize::from(version)];
            // Segments of at least some bytes, offsets near the packet: deeper than random ones would get.
            bytes[5] = 0;
            bytes[7] = 0;
            bytes[9] = 0;
        }
        if let Ok(frame) = parse(&bytes) {
            for index in 0..frame.segments() + 2 {
                let mut out = vec![0; frame.segment_len(index)];
                prop_assert_eq!(frame.write(index, &mut out), index < frame.segments());
                let mut longer = vec![0; frame.segment_len(index) + 1];
                prop_assert!(!frame.write(index, &mut longer));
            }
        }
    }
}

#[test]
fn flags_on_the_right_segments() {
    let packets = cut(&frame(false, false, &[1; 3000], 1000, 0, 0x10 | FIN | PSH | CWR));
    let flags: Vec<_> = packets.iter().map(|packet| packet[33]).collect();
    assert_eq!(flags, [0x10 | CWR, 0x10, 0x10 | FIN | PSH]);
    let ids: Vec<_> = packets.iter().map(|packet| be16(packet, 4)).collect();
    assert_eq!(ids, [0xfffe, 0xffff, 0]);
}

#[test]
fn sequence_wraps() {
    let packets = cut(&frame(true, false, &[1; 2000], 1000, 12, 0x10));
    assert_eq!(be32(&packets[1], 44), 0xffff_ff00u32.wrapping_add(1000));
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = frame(false, false, &[1; 3000], 1000, 0, 0x10);
    assert_eq!(parse(&good[..9]).unwrap_err(), Malformed::Short);
    assert_eq!(parse(&good[..20]).unwrap_err(), Malformed::NotIp);
    let mut size = good.clone();
    size[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(parse(&size).unwrap_err(), Malformed::Offsets);
    let mut kind = good.clone();
    kind[1] = 3;
    assert_eq!(parse(&kind).unwrap_err(), Malformed::Gso);
    kind[1] = GSO_TCPV6;
    assert_eq!(parse(&kind).unwrap_err(), Malformed::NotIp);
    let mut header = good;
    header[VNET_HEADER + 32] = 0x40;
    assert_eq!(parse(&header).unwrap_err(), Malformed::Short);
    let mut single = frame(false, true, &[1; 30], 1000, 0, 0);
    single[8..10].copy_from_slice(&u16::MAX.to_ne_bytes());
    assert_eq!(parse(&single).unwrap_err(), Malformed::Offsets);
}

#[test]
fn trailing_bytes_of_a_single_packet_are_left_out() {
    let mut single = frame(false, true, &[1; 30], 1000, 0, 0);
    let length = parse(&single).unwrap().segment_len(0);
    single.extend_from_slice(&[0; 9]);
    assert_eq!(parse(&single).unwrap().segment_len(0), length);
}
