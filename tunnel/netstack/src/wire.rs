//! Packets to values and back, over the field views of `smoltcp::wire`.
//!
//! Parsing never trusts a length: every view is checked before a field is read. Fragments are left to
//! [`crate::fragments`], and packets whose checksum is wrong are refused.

use std::net::{IpAddr, SocketAddr};

use smoltcp::wire::{IpProtocol, Ipv4Packet, Ipv6Packet, TcpPacket, TcpSeqNumber, UdpPacket};

use crate::batch::Batch;
use crate::checksum;
use crate::ecn;

/// The largest packet the stack handles.
pub const MAX_MTU: usize = 65_535;
/// IPv6's minimum link MTU (RFC 8200 §5); also the smallest MTU a configuration may have.
pub const MIN_MTU: usize = 1_280;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMP4: u8 = 1;
pub(crate) const ICMP6: u8 = 58;
/// IPv6's fragment header.
pub(crate) const FRAGMENT: u8 = 44;
const TTL: u8 = 64;

/// Length of an IP header without options.
pub(crate) fn ip_header(address: IpAddr) -> usize {
    if address.is_ipv4() { 20 } else { 40 }
}

/// What is common to both IP versions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ip<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// RFC 3168.
    pub(crate) ecn: u8,
    pub(crate) payload: &'a [u8],
    /// The packet without trailing bytes.
    pub(crate) whole: &'a [u8],
}

/// Reads an IP packet; `None` when it is malformed, a fragment, or has a wrong header checksum.
pub(crate) fn parse_ip(packet: &[u8]) -> Option<Ip<'_>> {
    match packet.first()? >> 4 {
        4 => {
            let view = Ipv4Packet::new_checked(packet).ok()?;
            let header = usize::from(view.header_len());
            if header < 20
                || view.more_frags()
                || view.frag_offset() != 0
                || checksum::fold(checksum::sum(&packet[..header])) != 0xffff
            {
                return None;
            }
            let whole = packet.get(..usize::from(view.total_len()))?;
            Some(Ip {
                source: IpAddr::V4(view.src_addr()),
                destination: IpAddr::V4(view.dst_addr()),
                protocol: view.next_header().into(),
                ecn: view.ecn(),
                payload: whole.get(header..)?,
                whole,
            })
        }
        6 => {
            let view = Ipv6Packet::new_checked(packet).ok()?;
            let whole = packet.get(..view.total_len())?;
            let (protocol, payload) = skip_extensions(view.next_header().into(), whole.get(40..)?)?;
            if protocol == FRAGMENT {
                return None;
            }
            Some(Ip {
                source: IpAddr::V6(view.src_addr()),
                destination: IpAddr::V6(view.dst_addr()),
                protocol,
                ecn: view.traffic_class() & 3,
                payload,
                whole,
            })
        }
        _ => None,
    }
}

/// Counts a hop of a whole packet. False if it was the last one.
pub(crate) fn one_hop_less(packet: &mut [u8]) -> bool {
    let Some(version) = packet.first().map(|first| first >> 4) else { return false };
    let hops = if version == 4 { 8 } else { 7 };
    match packet.get_mut(hops) {
        Some(left) if *left > 1 => *left -= 1,
        _ => return false,
    }
    let header = usize::from(packet[0] & 15) * 4;
    if version == 4 && packet.len() >= header && header >= 20 {
        packet[10..12].fill(0);
        let sum = !checksum::fold(checksum::sum(&packet[..header]));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    true
}

/// The addresses, protocol and start of the payload of a packet that an ICMP error quotes: it may be cut anywhere.
pub(crate) fn parse_quoted(packet: &[u8]) -> Option<Ip<'_>> {
    match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            if header < 20 || packet.len() < header {
                return None;
            }
            let view = Ipv4Packet::new_unchecked(packet);
            Some(Ip {
                source: IpAddr::V4(view.src_addr()),
                destination: IpAddr::V4(view.dst_addr()),
                protocol: view.next_header().into(),
                ecn: view.ecn(),
                payload: &packet[header..],
                whole: packet,
            })
        }
        6 => {
            let payload = packet.get(40..)?;
            let view = Ipv6Packet::new_unchecked(packet);
            let (protocol, payload) = skip_extensions(view.next_header().into(), payload)?;
            Some(Ip {
                source: IpAddr::V6(view.src_addr()),
                destination: IpAddr::V6(view.dst_addr()),
                protocol,
                ecn: view.traffic_class() & 3,
                payload,
                whole: packet,
            })
        }
        _ => None,
    }
}

/// Walks hop-by-hop and destination options and routing headers without segments left (RFC 8200 §4.4); other routing headers
/// are refused.
pub(crate) fn skip_extensions(mut protocol: u8, mut payload: &[u8]) -> Option<(u8, &[u8])> {
    for _ in 0..4 {
        match protocol {
            0 | 60 => {}
            43 if *payload.get(3)? == 0 => {}
            43 => return None,
            _ => return Some((protocol, payload)),
        }
        let length = (usize::from(*payload.get(1)?) + 1) * 8;
        protocol = payload[0];
        payload = payload.get(length..)?;
    }
    None
}

/// Writes an IP header into the front of `packet`, whose length is the length of the whole packet.
pub(crate) fn emit_ip(packet: &mut [u8], source: IpAddr, destination: IpAddr, protocol: u8, ecn: u8) {
    let length = packet.len();
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut view = Ipv4Packet::new_unchecked(&mut *packet);
            view.set_version(4);
            view.set_header_len(20);
            view.set_dscp(0);
            view.set_ecn(ecn);
            view.set_total_len(length as u16);
            // With DF set the identification means nothing (RFC 6864 §4.1).
            view.set_ident(0);
            view.clear_flags();
            view.set_dont_frag(true);
            view.set_frag_offset(0);
            view.set_hop_limit(TTL);
            view.set_next_header(IpProtocol::from(protocol));
            view.set_src_addr(source);
            view.set_dst_addr(destination);
            view.set_checksum(0);
            let sum = !checksum::fold(checksum::sum(&packet[..20]));
            Ipv4Packet::new_unchecked(packet).set_checksum(sum);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut view = Ipv6Packet::new_unchecked(packet);
            view.set_version(6);
            view.set_traffic_class(ecn);
            view.set_flow_label(0);
            view.set_payload_len((length - 40) as u16);
            view.set_next_header(IpProtocol::from(protocol));
            view.set_hop_limit(TTL);
            view.set_src_addr(source);
            view.set_dst_addr(destination);
        }
        _ => packet.fill(0),
    }
}

/// TCP's control bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) const FIN: u8 = 1;
    pub(crate) const SYN: u8 = 2;
    pub(crate) const RST: u8 = 4;
    pub(crate) const PSH: u8 = 8;
    pub(crate) const ACK: u8 = 16;
    /// A mark has arrived (RFC 3168 §6.1.3); in a SYN, that marks are understood.
    pub(crate) const ECE: u8 = 64;
    /// The window was reduced (RFC 3168 §6.1.2).
    pub(crate) const CWR: u8 = 128;

    pub(crate) fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// TCP options that the stack knows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    /// Value and echo reply (RFC 7323 §3).
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sacks: [(u32, u32); 4],
    pub(crate) sack_count: u8,
}

impl Options {
    pub(crate) fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..usize::from(self.sack_count)]
    }

    pub(crate) fn push_sack(&mut self, block: (u32, u32)) {
        if usize::from(self.sack_count) < self.sacks.len() {
            self.sacks[usize::from(self.sack_count)] = block;
            self.sack_count += 1;
        }
    }

    fn parse(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        // The layout nearly every segment has (RFC 7323 appendix A).
        if let [1, 1, 8, 10, ts @ ..] = bytes
            && ts.len() == 8
        {
            options.timestamps = Some((be32(ts, 0), be32(ts, 4)));
            return options;
        }
        while let Some(&kind) = bytes.first() {
            match kind {
                0 => break,
                1 => {
                    bytes = &bytes[1..];
                    continue;
                }
                _ => {}
            }
            let Some(&length) = bytes.get(1) else { break };
            let length = usize::from(length);
            if length < 2 || length > bytes.len() {
                break;
            }
            let body = &bytes[2..length];
            match (kind, body.len()) {
                (2, 2) => options.mss = Some(u16::from_be_bytes([body[0], body[1]])),
                (3, 1) => options.scale = Some(body[0].min(14)),
                (4, 0) => options.sack_permitted = true,
                (5, _) => {
                    for block in body.chunks_exact(8) {
                        options.push_sack((be32(block, 0), be32(block, 4)));
                    }
                }
                (8, 8) => options.timestamps = Some((be32(body, 0), be32(body, 4))),
                _ => {}
            }
            bytes = &bytes[length..];
        }
        options
    }

    /// Bytes on the wire, a multiple of four.
    pub(crate) fn length(&self) -> usize {
        let mut length = 0;
        if self.mss.is_some() {
            length += 4;
        }
        if self.scale.is_some() {
            length += 4;
        }
        if self.sack_permitted {
            length += 4;
        }
        if self.timestamps.is_some() {
            length += 12;
        }
        if self.sack_count > 0 {
            length += 4 + 8 * usize::from(self.sack_count);
        }
        length
    }

    fn emit(&self, out: &mut [u8]) {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            put(&[2, 4, high, low]);
        }
        if let Some(scale) = self.scale {
            put(&[1, 3, 3, scale]);
        }
        if self.sack_permitted {
            put(&[1, 1, 4, 2]);
        }
        if let Some((value, echo)) = self.timestamps {
            put(&[1, 1, 8, 10]);
            put(&value.to_be_bytes());
            put(&echo.to_be_bytes());
        }
        if self.sack_count > 0 {
            put(&[1, 1, 5, 2 + 8 * self.sack_count]);
            for (left, right) in self.sacks() {
                put(&left.to_be_bytes());
                put(&right.to_be_bytes());
            }
        }
    }
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The fields of a TCP segment, received or to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tcp<'a> {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: Flags,
    /// Not scaled.
    pub(crate) window: u16,
    pub(crate) options: Options,
    /// Of the IP header.
    pub(crate) ecn: u8,
    pub(crate) payload: &'a [u8],
}

/// Reads and verifies a TCP segment.
pub(crate) fn parse_tcp<'a>(ip: &Ip<'a>) -> Option<Tcp<'a>> {
    let bytes = ip.payload;
    let view = TcpPacket::new_checked(bytes).ok()?;
    let pseudo = checksum::pseudo(ip.source, ip.destination, TCP, bytes.len());
    if checksum::fold(pseudo + checksum::sum(bytes)) != 0xffff {
        return None;
    }
    let header = usize::from(view.header_len());
    if header < 20 || view.src_port() == 0 || view.dst_port() == 0 {
        return None;
    }
    Some(Tcp {
        source_port: view.src_port(),
        destination_port: view.dst_port(),
        seq: view.seq_number().0 as u32,
        ack: view.ack_number().0 as u32,
        flags: Flags(bytes[13]),
        window: view.window_len(),
        options: Options::parse(&bytes[20..header]),
        ecn: ip.ecn,
        payload: &bytes[header..],
    })
}

/// Writes a whole TCP packet; `payload` is asked to fill the data.
pub(crate) fn emit_tcp(
    out: &mut Batch,
    source: IpAddr,
    destination: IpAddr,
    head: &Tcp<'_>,
    length: usize,
    payload: impl FnOnce(&mut [u8]),
) -> bool {
    let ip = ip_header(source);
    let header = 20 + head.options.length();
    out.push(ip + header + length, |packet| {
        emit_ip(packet, source, destination, TCP, head.ecn);
        let segment = &mut packet[ip..];
        payload(&mut segment[header..]);
        let mut view = TcpPacket::new_unchecked(&mut *segment);
        view.set_src_port(head.source_port);
        view.set_dst_port(head.destination_port);
        view.set_seq_number(TcpSeqNumber(head.seq as i32));
        view.set_ack_number(TcpSeqNumber(head.ack as i32));
        view.clear_flags();
        view.set_header_len(header as u8);
        view.set_window_len(head.window);
        view.set_checksum(0);
        view.set_urgent_at(0);
        segment[13] = head.flags.0;
        head.options.emit(&mut segment[20..header]);
        let sum = checksum::pseudo(source, destination, TCP, header + length) + checksum::sum(segment);
        TcpPacket::new_unchecked(segment).set_checksum(!checksum::fold(sum));
    })
}

/// Reads and verifies a UDP datagram: ports and payload.
pub(crate) fn parse_udp<'a>(ip: &Ip<'a>) -> Option<(u16, u16, &'a [u8])> {
    let view = UdpPacket::new_checked(ip.payload).ok()?;
    let length = usize::from(view.len());
    let bytes = ip.payload.get(..length)?;
    if view.checksum() != 0 {
        let pseudo = checksum::pseudo(ip.source, ip.destination, UDP, length);
        if checksum::fold(pseudo + checksum::sum(bytes)) != 0xffff {
            return None;
        }
    } else if ip.source.is_ipv6() {
        return None;
    }
    Some((view.src_port(), view.dst_port(), bytes.get(8..)?))
}

/// Writes a whole UDP packet.
pub(crate) fn emit_udp(out: &mut Batch, source: SocketAddr, destination: SocketAddr, payload: &[u8]) -> bool {
    let ip = ip_header(source.ip());
    let length = 8 + payload.len();
    out.push(ip + length, |packet| {
        emit_ip(packet, source.ip(), destination.ip(), UDP, ecn::NOT_ECT);
        let datagram = &mut packet[ip..];
        datagram[8..].copy_from_slice(payload);
        let mut view = UdpPacket::new_unchecked(&mut *datagram);
        view.set_src_port(source.port());
        view.set_dst_port(destination.port());
        view.set_len(length as u16);
        view.set_checksum(0);
        let sum = checksum::pseudo(source.ip(), destination.ip(), UDP, length) + checksum::sum(datagram);
        // Zero would mean "none" (RFC 768).
        let sum = !checksum::fold(sum);
        UdpPacket::new_unchecked(datagram).set_checksum(if sum == 0 { 0xffff } else { sum });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8200 §4.4.
    #[test]
    fn a_routing_header_is_skipped_when_no_segment_is_left() {
        let mut header = [UDP, 0, 0, 0, 0, 0, 0, 0, 42];
        assert_eq!(skip_extensions(43, &header), Some((UDP, &[42][..])));
        header[3] = 1;
        assert_eq!(skip_extensions(43, &header), None);
    }
}
