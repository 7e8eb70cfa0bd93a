//! The header in front of every frame of a TUN queue: `struct virtio_net_hdr` in its legacy form, native-endian (virtio 1.2 section 5.1.6).

use super::ip::be16;

/// Length of the header.
pub const VNET_HEADER: usize = 10;

/// The checksum at `csum_start + csum_offset` holds the pseudo-header's sum only.
pub const NEEDS_CSUM: u8 = 1;
/// One packet as it is.
pub const GSO_NONE: u8 = 0;
/// TCP over IPv4 to be segmented.
pub const GSO_TCPV4: u8 = 1;
/// TCP over IPv6 to be segmented.
pub const GSO_TCPV6: u8 = 4;
/// UDP datagrams of equal size in one, either IP version.
pub const GSO_UDP_L4: u8 = 5;
/// Added to the TCP types: the flow uses ECN.
pub const GSO_ECN: u8 = 0x80;

/// What the kernel says about a frame, or we to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vnet {
    /// `NEEDS_CSUM` or 0; other bits are ignored.
    pub flags: u8,
    /// One of the `GSO_` constants.
    pub gso_type: u8,
    /// Length of all headers. Not to be relied on: the kernel gives the linear part of its buffer.
    pub hdr_len: u16,
    /// Payload bytes of a segment.
    pub gso_size: u16,
    /// Where the transport header begins.
    pub csum_start: u16,
    /// Where its checksum is, from there.
    pub csum_offset: u16,
}

impl Vnet {
    /// Header and the rest of the frame; `None` when it is shorter than a header.
    #[inline]
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (header, packet) = frame.split_at_checked(VNET_HEADER)?;
        // `be16` reads big-endian: turned to native.
        let native = |at| u16::from_ne_bytes(be16(header, at).to_be_bytes());
        let vnet = Self {
            flags: header[0],
            gso_type: header[1],
            hdr_len: native(2),
            gso_size: native(4),
            csum_start: native(6),
            csum_offset: native(8),
        };
        Some((vnet, packet))
    }

    /// The header's bytes.
    #[inline]
    pub fn encode(&self) -> [u8; VNET_HEADER] {
        let mut bytes = [self.flags, self.gso_type, 0, 0, 0, 0, 0, 0, 0, 0];
        let fields = [self.hdr_len, self.gso_size, self.csum_start, self.csum_offset];
        for (place, value) in bytes[2..].as_chunks_mut::<2>().0.iter_mut().zip(fields) {
            *place = value.to_ne_bytes();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let vnet =
            Vnet { flags: 1, gso_type: 4, hdr_len: 72, gso_size: 1380, csum_start: 40, csum_offset: 16 };
        let mut frame = vnet.encode().to_vec();
        frame.push(7);
        assert_eq!(Vnet::parse(&frame), Some((vnet, &[7u8][..])));
        assert_eq!(Vnet::parse(&frame[..9]), None);
    }
}
