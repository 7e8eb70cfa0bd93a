//! The two ioctls of the TUN driver (`linux/if_tun.h`), and what packet sockets have beyond others (`linux/if_packet.h`).
#![expect(unsafe_code, reason = "raw system calls take untyped pointers")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Longest name of an interface.
pub(super) const NAME: usize = libc::IFNAMSIZ - 1;

pub(super) const IFF_TUN: u16 = 0x0001;
pub(super) const IFF_NO_PI: u16 = 0x1000;
pub(super) const IFF_VNET_HDR: u16 = 0x4000;
pub(super) const IFF_MULTI_QUEUE: u16 = 0x0100;

pub(super) const TUN_F_CSUM: u32 = 0x01;
pub(super) const TUN_F_TSO4: u32 = 0x02;
pub(super) const TUN_F_TSO6: u32 = 0x04;
pub(super) const TUN_F_USO4: u32 = 0x20;
pub(super) const TUN_F_USO6: u32 = 0x40;

/// `struct ifreq` as TUNSETIFF reads and writes it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// Attaches the open `/dev/net/tun` to the interface called `name` (at most [`NAME`] bytes; `%d` is filled in by the kernel) and returns the name it got.
pub(super) fn attach(fd: BorrowedFd<'_>, name: &str, flags: u16) -> io::Result<String> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags, rest: [0; 22] };
    let place = request
        .name
        .get_mut(..name.len())
        .filter(|place| place.len() <= NAME)
        .ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`; `request` has its size and layout (checked above for size), is initialised, aligned and outlives the call.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    let name = request.name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Tells the kernel what may be handed to us unfinished.
pub(super) fn set_offload(fd: BorrowedFd<'_>, features: u32) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value; no memory is passed.
    let done =
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(features)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) const PACKET_VNET_HDR: libc::c_int = 15;
pub(super) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Switches an option of a packet socket on.
pub(super) fn set_packet_option(fd: BorrowedFd<'_>, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is an int; `on` is one, has that length and outlives the call.
    let done =
        unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_PACKET, option, (&raw const on).cast(), length) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Binds a packet socket to all protocols of one interface.
pub(super) fn bind_packet(fd: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is made of integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is a `sockaddr_ll` of that length and outlives the call.
    let done = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
