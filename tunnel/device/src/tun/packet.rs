//! A packet socket on one end of a pair of virtual Ethernet interfaces (packet(7), veth(4)) in place of a TUN device: what the
//! kernel's stack sends by the other end is read here, and what is written here arrives there. A network namespace may always
//! have that, also where nobody may open `/dev/net/tun`.
//!
//! ```text
//! stack <- IP -> [inner end] ===== [outer end] <- packet socket: vnet header, Ethernet header, IP packet -> Queue
//! ```

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;

use super::queue::{Queue, Read, TunOffload};
use super::sys;
use super::vnet::{GSO_NONE, NEEDS_CSUM, VNET_HEADER, Vnet};

/// Hardware address of the inner end, where the stack is. Both are locally administered, and the only ones on the link.
pub const INNER: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Hardware address of the outer end.
pub const OUTER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Destination, source, type.
const ETHERNET: usize = 14;
const TYPES: usize = 12;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Most pieces of a frame, and the two headers as one.
const PIECES: usize = 129;
/// What the kernel keeps for a reader that is busy, if it lets us: frames have up to 64 KiB.
const RECEIVE_BUFFER: usize = 8 << 20;

impl Queue {
    /// Takes the frames of the interface with the number `index`, which must be up. `socket` is a raw packet socket without
    /// a protocol, which does not block.
    ///
    /// # Errors
    /// The kernel refuses one of the socket's options, or the interface has gone.
    pub fn on_link(socket: OwnedFd, index: u32, name: &str) -> io::Result<Self> {
        let fd = socket.as_fd();
        sys::set_packet_option(fd, sys::PACKET_VNET_HDR)?;
        // What the outer end itself has to say (multicast groups of IPv6) is for nobody. Kernels before 4.20 show it.
        _ = sys::set_packet_option(fd, sys::PACKET_IGNORE_OUTGOING);
        // The kernel takes less where it permits no more.
        _ = rustix::net::sockopt::set_socket_recv_buffer_size(fd, RECEIVE_BUFFER);
        sys::bind_packet(fd, index)?;
        // A kernel before 6.2 refuses joined UDP when it is written; then it is written one by one.
        let offload = TunOffload { vnet: true, checksum: true, tso: true, uso: true };
        Ok(Self::over_ethernet(socket, name, offload))
    }
}

/// As [`Queue::read`]; the Ethernet header is left out.
#[inline]
pub(super) fn read(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<Read> {
    let Some((head, packet)) = buffer.split_at_mut_checked(VNET_HEADER) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut link = [0; ETHERNET];
    loop {
        let mut pieces = [IoSliceMut::new(head), IoSliceMut::new(&mut link), IoSliceMut::new(packet)];
        let length = match rustix::io::readv(fd, &mut pieces) {
            Ok(length) => length,
            Err(Errno::INTR) => continue,
            // ENETDOWN: the interface is down; it may come up.
            Err(Errno::AGAIN | Errno::NETDOWN) => return Ok(Read::Empty),
            Err(error) => return Err(error.into()),
        };
        let Some(length) = length.checked_sub(ETHERNET).filter(|length| *length > VNET_HEADER) else {
            continue;
        };
        if link[TYPES..] != IPV4 && link[TYPES..] != IPV6 {
            continue;
        }
        if let Some((mut vnet, _)) = Vnet::parse(head)
            && vnet.flags & NEEDS_CSUM != 0
        {
            // It counts from the Ethernet header.
            vnet.csum_start = vnet.csum_start.saturating_sub(ETHERNET as u16);
            vnet.hdr_len = vnet.hdr_len.saturating_sub(ETHERNET as u16);
            head.copy_from_slice(&vnet.encode());
        }
        return Ok(Read::Frame(length));
    }
}

/// As [`Queue::write`]; the Ethernet header is put in.
#[inline]
pub(super) fn write(fd: &OwnedFd, pieces: &[IoSlice<'_>]) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (first, rest) = pieces.split_first().ok_or_else(invalid)?;
    let (mut vnet, packet) = Vnet::parse(first).ok_or_else(invalid)?;
    if vnet.flags & NEEDS_CSUM != 0 {
        vnet.csum_start += ETHERNET as u16;
    }
    if vnet.gso_type != GSO_NONE {
        vnet.hdr_len += ETHERNET as u16;
    }
    let kind = match packet.first().ok_or_else(invalid)? >> 4 {
        6 => IPV6,
        _ => IPV4,
    };
    let mut head = [0; VNET_HEADER + ETHERNET];
    head[..VNET_HEADER].copy_from_slice(&vnet.encode());
    head[VNET_HEADER..VNET_HEADER + 6].copy_from_slice(&INNER);
    head[VNET_HEADER + 6..VNET_HEADER + TYPES].copy_from_slice(&OUTER);
    head[VNET_HEADER + TYPES..].copy_from_slice(&kind);
    if rest.is_empty() {
        return send(fd, &[IoSlice::new(&head), IoSlice::new(packet)]);
    }
    let mut all = [IoSlice::new(&[]); PIECES];
    let all = all.get_mut(..rest.len() + 2).ok_or_else(invalid)?;
    all[0] = IoSlice::new(&head);
    all[1] = IoSlice::new(packet);
    all[2..].copy_from_slice(rest);
    send(fd, all)
}

fn send(fd: &OwnedFd, pieces: &[IoSlice<'_>]) -> io::Result<()> {
    loop {
        match rustix::io::writev(fd, pieces) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
