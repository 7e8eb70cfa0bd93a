//! The few fields of IP headers the tunnel looks at. Every function takes arbitrary bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a packet goes to. `None`: not an IP packet, or shorter than its fixed header.
#[inline]
pub fn destination(packet: &[u8]) -> Option<IpAddr> {
    address(packet, 16, 24)
}

/// Where a packet says it comes from. `None`: not an IP packet, or shorter than its fixed header.
#[inline]
pub fn source(packet: &[u8]) -> Option<IpAddr> {
    address(packet, 12, 8)
}

#[inline]
fn address(packet: &[u8], v4: usize, v6: usize) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 if packet.len() >= 20 => {
            let bytes = packet.get(v4..v4 + 4)?.first_chunk::<4>()?;
            Some(IpAddr::V4(Ipv4Addr::from(*bytes)))
        }
        6 if packet.len() >= 40 => {
            let bytes = packet.get(v6..v6 + 16)?.first_chunk::<16>()?;
            Some(IpAddr::V6(Ipv6Addr::from(*bytes)))
        }
        _ => None,
    }
}

/// Length of the packet by its own header; what follows is padding. `None`: not IP, or the header claims more than there is.
#[inline]
pub fn length(packet: &[u8]) -> Option<usize> {
    let (length, least) = match packet.first()? >> 4 {
        4 if packet.len() >= 20 => (usize::from(be16(packet, 2)), (usize::from(packet[0] & 15) * 4).max(20)),
        6 if packet.len() >= 40 => (usize::from(be16(packet, 4)) + 40, 40),
        _ => return None,
    };
    (length >= least && length <= packet.len()).then_some(length)
}

/// The two ECN bits (RFC 3168), 0 for what is not IP.
#[inline]
pub fn ecn(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 4 => second & 3,
        [first, second, ..] if first >> 4 == 6 => second >> 4 & 3,
        _ => 0,
    }
}

/// A number that packets of one flow share: of addresses and protocol, and of ports where all packets of the flow have them.
#[inline]
pub fn flow(packet: &[u8]) -> u32 {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    // Of a fragmented datagram only the first part has ports.
    let (addresses, protocol, ports) = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let whole = be16(packet, 6) & 0x3fff == 0;
            (12..20, packet[9], usize::from(packet[0] & 15) * 4 + usize::from(!whole) * packet.len())
        }
        Some(6) if packet.len() >= 40 => (8..40, packet[6], 40),
        _ => return 0,
    };
    let ports = packet.get(ports..ports + 4).filter(|_| matches!(protocol, TCP | UDP)).unwrap_or_default();
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let hash = packet[addresses].iter().chain(ports).fold(0x811c_9dc5 ^ u32::from(protocol), mix);
    // The low bits decide, and the ports come last.
    hash ^ hash >> 15
}

/// Carries congestion marked on the outer header over to the inner one (RFC 6040 section 4.2). False: the packet must be dropped, its sender would not understand the mark.
#[inline]
pub fn decapsulate_ecn(packet: &mut [u8], outer: u8) -> bool {
    const CE: u8 = 3;
    if outer & 3 != CE {
        return true;
    }
    match ecn(packet) {
        0 => return false,
        CE => return true,
        _ => {}
    }
    if packet[0] >> 4 == 4 {
        let header = usize::from(packet[0] & 15) * 4;
        packet[1] |= CE;
        if let Some(header) = packet.get_mut(..header) {
            super::checksum::fill_ipv4_header(header);
        }
    } else {
        packet[1] |= CE << 4;
    }
    true
}

#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(<[u8]>::first_chunk::<2>).map_or(0, |b| u16::from_be_bytes(*b))
}

#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(<[u8]>::first_chunk::<4>).map_or(0, |b| u32::from_be_bytes(*b))
}

#[inline]
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(field) = bytes.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(ecn: u8) -> Vec<u8> {
        let mut packet =
            vec![0x45, ecn, 0, 24, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4];
        super::super::checksum::fill_ipv4_header(&mut packet[..20]);
        packet
    }

    #[test]
    fn addresses_and_lengths() {
        let mut packet = v4(0);
        packet.extend_from_slice(&[0; 8]);
        assert_eq!(source(&packet), Some([10, 0, 0, 1].into()));
        assert_eq!(destination(&packet), Some([10, 0, 0, 2].into()));
        assert_eq!(length(&packet), Some(24));
        assert_eq!(length(&packet[..23]), None);
        assert_eq!(length(&[]), None);
        assert_eq!(length(&[0x60; 39]), None);
        assert_eq!(destination(&[0x55; 60]), None);
    }

    #[test]
    fn packets_of_a_flow_have_one_number() {
        let packet = |port: u8, fragment: u8, content: u8| {
            let mut packet = v4(0);
            packet.truncate(20);
            packet[6..10].copy_from_slice(&[fragment, 0, 64, 6]);
            packet.extend_from_slice(&[0, port, 1, 187, content, content]);
            packet
        };
        assert_eq!(flow(&packet(1, 0, 7)), flow(&packet(1, 0x40, 8)), "only the flow decides");
        let spread: std::collections::BTreeSet<u32> =
            (0..64).map(|port| flow(&packet(port, 0, 7)) % 4).collect();
        assert_eq!(spread.len(), 4);
        // A fragment may have no ports.
        assert_eq!(flow(&packet(1, 0x20, 7)), flow(&packet(2, 0x20, 7)));
        assert_eq!((flow(&[]), flow(&[0x45; 8])), (0, 0));
    }

    #[test]
    fn congestion_is_carried_inward() {
        let mut packet = v4(2);
        assert!(decapsulate_ecn(&mut packet, 3));
        assert_eq!(packet[1], 3);
        assert_eq!(super::super::checksum::naive::checksum(&[&packet[..20]]), 0);
        assert!(!decapsulate_ecn(&mut v4(0), 3));
        assert!(decapsulate_ecn(&mut v4(0), 2));
        let mut v6 = vec![0x60, 0x10, 0, 0];
        v6.resize(40, 0);
        assert!(decapsulate_ecn(&mut v6, 3));
        assert_eq!(v6[1], 0x30);
    }
}
