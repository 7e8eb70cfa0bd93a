//! The two ioctls of the TUN driver (`linux/if_tun.h`).
#![expect(unsafe_code, reason = "ioctl is a system call with a pointer whose type only its number tells")]

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
