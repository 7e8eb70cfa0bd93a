//! Frames of the TUN device into packets for the wire: TCP segmentation, UDP segmentation, completion of checksums (what a network card does for the kernel).
//!
//! The vnet header is trusted for nothing: every offset it gives is checked against the bytes that are there, and a frame that does not fit is refused as a whole before anything is written.
//! `hdr_len` is not looked at, since the kernel fills it with the length of its linear buffer; header lengths are read from the headers.

use std::net::IpAddr;
use std::ops::Range;

use super::checksum::{fill_ipv4_header, fold, pseudo, sum};
use super::ip::{self, be16, be32, put16};
use super::vnet::{GSO_ECN, GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CSUM, Vnet};

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The reason why a frame cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Shorter than its headers.
    #[error("frame is shorter than its headers")]
    Short,
    /// Neither IPv4 nor IPv6, or not the version in the vnet header.
    #[error("frame is not IPv4 or IPv6, or its version differs from the vnet header")]
    NotIp,
    /// An unknown type of segmentation.
    #[error("frame requires an unknown type of segmentation")]
    Gso,
    /// Offsets outside the packet, or no segment size.
    #[error("frame's vnet header does not fit the packet")]
    Offsets,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Whole,
    /// A single packet whose checksum at `field` covers all from `start`.
    Checksum {
        start: usize,
        field: usize,
        udp: bool,
    },
    Tcp {
        start: usize,
        headers: usize,
        size: usize,
    },
    Udp {
        start: usize,
        headers: usize,
        size: usize,
    },
}

/// A frame that has been checked and can be written out segment by segment.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    packet: &'a [u8],
    kind: Kind,
    count: usize,
    destination: IpAddr,
}

/// Checks a frame as it comes from a TUN queue: vnet header, then IP packet. Any bytes are allowed.
#[inline]
pub fn parse(frame: &[u8]) -> Result<Frame<'_>, Malformed> {
    let (vnet, packet) = Vnet::parse(frame).ok_or(Malformed::Short)?;
    let destination = ip::destination(packet).ok_or(Malformed::NotIp)?;
    let v4 = packet[0] >> 4 == 4;
    let gso = vnet.gso_type & !GSO_ECN;
    if gso == GSO_NONE {
        let length = ip::length(packet).ok_or(Malformed::Short)?;
        let packet = &packet[..length];
        let kind = if vnet.flags & NEEDS_CSUM == 0 { Kind::Whole } else { checksum_only(vnet, packet)? };
        return Ok(Frame { packet, kind, count: 1, destination });
    }
    let size = usize::from(vnet.gso_size);
    let start = transport(vnet, packet, v4)?;
    if size == 0 {
        return Err(Malformed::Offsets);
    }
    let (kind, headers) = match gso {
        GSO_TCPV4 | GSO_TCPV6 => {
            if v4 != (gso == GSO_TCPV4) {
                return Err(Malformed::NotIp);
            }
            let tcp = packet.get(start..).filter(|tcp| tcp.len() >= 20).ok_or(Malformed::Short)?;
            let length = usize::from(tcp[12] >> 4) * 4;
            if length < 20 || length > tcp.len() {
                return Err(Malformed::Short);
            }
            let headers = start + length;
            (Kind::Tcp { start, headers, size }, headers)
        }
        GSO_UDP_L4 => {
            let headers = start + 8;
            if headers > packet.len() {
                return Err(Malformed::Short);
            }
            (Kind::Udp { start, headers, size }, headers)
        }
        _ => return Err(Malformed::Gso),
    };
    if headers + size.min(packet.len() - headers) > usize::from(u16::MAX) {
        return Err(Malformed::Offsets);
    }
    let count = (packet.len() - headers).div_ceil(size).max(1);
    Ok(Frame { packet, kind, count, destination })
}

/// Where the transport header of a packet to be segmented begins.
#[inline]
fn transport(vnet: Vnet, packet: &[u8], v4: bool) -> Result<usize, Malformed> {
    if v4 {
        let header = usize::from(packet[0] & 15) * 4;
        return if header >= 20 && header <= packet.len() { Ok(header) } else { Err(Malformed::Short) };
    }
    // Extension headers may stand before it: only the kernel knows. Without its word they may not.
    let start = if vnet.flags & NEEDS_CSUM == 0 { 40 } else { usize::from(vnet.csum_start) };
    if start >= 40 && start <= packet.len() { Ok(start) } else { Err(Malformed::Offsets) }
}

#[inline]
fn checksum_only(vnet: Vnet, packet: &[u8]) -> Result<Kind, Malformed> {
    let start = usize::from(vnet.csum_start);
    let field = start + usize::from(vnet.csum_offset);
    let least = if packet[0] >> 4 == 4 { 20 } else { 40 };
    if start < least || field + 2 > packet.len() {
        return Err(Malformed::Offsets);
    }
    Ok(Kind::Checksum { start, field, udp: vnet.csum_offset == 6 })
}

impl Frame<'_> {
    /// Where the packets go to: all to the same address.
    #[inline]
    pub fn destination(&self) -> IpAddr {
        self.destination
    }

    /// Where the packets come from.
    #[inline]
    pub fn source(&self) -> Option<IpAddr> {
        ip::source(self.packet)
    }

    /// ECN bits of the packets: all have the same.
    #[inline]
    pub fn ecn(&self) -> u8 {
        ip::ecn(self.packet)
    }

    /// How many packets come out; at least one.
    #[inline]
    pub fn segments(&self) -> usize {
        self.count
    }

    /// The packet before it is taken apart: for one whose only segment it is, all but its checksum.
    #[inline]
    pub fn packet(&self) -> &[u8] {
        self.packet
    }

    /// Length of packet number `index`; 0 past the last.
    #[inline]
    pub fn segment_len(&self, index: usize) -> usize {
        match self.kind {
            Kind::Whole | Kind::Checksum { .. } => {
                if index == 0 {
                    self.packet.len()
                } else {
                    0
                }
            }
            Kind::Tcp { headers, size, .. } | Kind::Udp { headers, size, .. } => {
                if index >= self.count {
                    return 0;
                }
                headers + self.payload(index, headers, size).len()
            }
        }
    }

    /// Writes packet number `index` to `out`, which must be exactly [`Self::segment_len`] long; returns false and writes nothing when it is not.
    #[inline]
    pub fn write(&self, index: usize, out: &mut [u8]) -> bool {
        if index >= self.count || out.len() != self.segment_len(index) {
            return false;
        }
        match self.kind {
            Kind::Whole => out.copy_from_slice(self.packet),
            Kind::Checksum { start, field, udp } => {
                out.copy_from_slice(self.packet);
                // The field holds the pseudo-header's sum, which is thereby included.
                let mut value = !fold(sum(&out[start..]));
                if udp && value == 0 {
                    value = 0xffff;
                }
                out[field..field + 2].copy_from_slice(&value.to_ne_bytes());
            }
            Kind::Tcp { start, headers, size } => self.write_tcp(index, start, headers, size, out),
            Kind::Udp { start, headers, size } => self.write_udp(index, start, headers, size, out),
        }
        true
    }

    #[inline]
    fn payload(&self, index: usize, headers: usize, size: usize) -> Range<usize> {
        let from = (headers + index * size).min(self.packet.len());
        from..(from + size).min(self.packet.len())
    }

    #[inline]
    fn copy(&self, index: usize, headers: usize, size: usize, out: &mut [u8]) {
        let payload = self.payload(index, headers, size);
        out[..headers].copy_from_slice(&self.packet[..headers]);
        out[headers..].copy_from_slice(&self.packet[payload]);
        let total = u16::try_from(out.len()).unwrap_or(u16::MAX);
        if out[0] >> 4 == 4 {
            put16(out, 2, total);
            // As the kernel counts when it segments itself.
            let id = be16(out, 4).wrapping_add(u16::try_from(index & 0xffff).unwrap_or(0));
            put16(out, 4, id);
            let header = usize::from(out[0] & 15) * 4;
            fill_ipv4_header(&mut out[..header]);
        } else {
            put16(out, 4, total.saturating_sub(40));
        }
    }

    #[inline]
    fn write_tcp(&self, index: usize, start: usize, headers: usize, size: usize, out: &mut [u8]) {
        self.copy(index, headers, size, out);
        let step = u32::try_from(index * size).unwrap_or(0);
        let sequence = be32(out, start + 4).wrapping_add(step);
        out[start + 4..start + 8].copy_from_slice(&sequence.to_be_bytes());
        if index + 1 < self.count {
            out[start + 13] &= !(FIN | PSH);
        }
        if index > 0 {
            out[start + 13] &= !CWR;
        }
        let value = transport_checksum(out, start, 16, TCP);
        out[start + 16..start + 18].copy_from_slice(&value.to_ne_bytes());
    }

    #[inline]
    fn write_udp(&self, index: usize, start: usize, headers: usize, size: usize, out: &mut [u8]) {
        self.copy(index, headers, size, out);
        put16(out, start + 4, u16::try_from(out.len() - start).unwrap_or(u16::MAX));
        let value = match transport_checksum(out, start, 6, UDP) {
            // 0 says "no checksum" (RFC 768).
            0 => 0xffff,
            value => value,
        };
        out[start + 6..start + 8].copy_from_slice(&value.to_ne_bytes());
    }
}

/// The checksum of the transport header at `start` and all that follows, with its field at `offset` taken as zero.
#[inline]
fn transport_checksum(packet: &mut [u8], start: usize, offset: usize, protocol: u8) -> u16 {
    packet[start + offset..start + offset + 2].copy_from_slice(&[0, 0]);
    let addresses = if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] };
    !fold(pseudo(addresses, protocol, packet.len() - start) + sum(&packet[start..]))
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
