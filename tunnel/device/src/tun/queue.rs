//! Opening the device, reading and writing frames.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::coalesce::Joins;
use super::packet;
use super::sys;
use super::vnet::VNET_HEADER;

const DEVICE: &str = "/dev/net/tun";

/// The reason why the device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The name is empty, too long or not a name.
    #[error("`{0}` is not a valid interface name; use 1 to 15 characters without `/` or space")]
    Name(String),
    /// `/dev/net/tun` is missing.
    #[error(
        "{DEVICE} is missing; load the `tun` module, or give the container the device (`--device {DEVICE}`)"
    )]
    Missing,
    /// Not allowed.
    #[error("not allowed to open a TUN device; run as root or with CAP_NET_ADMIN")]
    Denied,
    /// The interface exists and another program has it.
    #[error("interface `{0}` is in use; stop the program that uses it, or choose another name")]
    Busy(String),
    /// Anything else.
    #[error(
        "cannot open TUN interface `{name}`: {source}; `warren-tunnel doctor` shows what the kernel offers"
    )]
    Other {
        /// The interface.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// The offloads that the kernel accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunOffload {
    /// Frames carry a vnet header; frames of several segments may be written.
    pub vnet: bool,
    /// Checksums may be left to us.
    pub checksum: bool,
    /// TCP comes unsegmented.
    pub tso: bool,
    /// UDP comes and goes unsegmented (Linux 6.2).
    pub uso: bool,
}

impl TunOffload {
    /// What may be joined when writing.
    pub fn joins(self) -> Joins {
        // Frames are accepted by the driver in the same versions that offer them.
        Joins { tcp: self.vnet && self.tso, udp: self.vnet && self.uso }
    }
}

/// How to open a device.
#[derive(Clone, Debug)]
pub struct Tun {
    name: String,
    queues: usize,
    offload: bool,
}

impl Tun {
    /// Opens the interface `name` (created when missing, gone when its last queue is dropped) with `queues` queues and all offloads there are.
    pub fn open(name: &str, queues: usize) -> Result<Vec<Queue>, OpenError> {
        Self::new(name).queues(queues).create()
    }

    /// To be opened with one queue and all offloads.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), queues: 1, offload: true }
    }

    /// Number of queues; 0 counts as 1. An interface that has only one gets one.
    #[must_use]
    pub fn queues(mut self, queues: usize) -> Self {
        self.queues = queues.max(1);
        self
    }

    /// False: no offloads, for comparison and for kernels where they are broken.
    #[must_use]
    pub fn offload(mut self, offload: bool) -> Self {
        self.offload = offload;
        self
    }

    /// Opens it.
    pub fn create(&self) -> Result<Vec<Queue>, OpenError> {
        let named = !self.name.is_empty()
            && self.name.len() <= sys::NAME
            && !self.name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control());
        if !named {
            return Err(OpenError::Name(self.name.clone()));
        }
        let first = match self.queue(&self.name, self.queues > 1) {
            // An interface that was made with one queue, or a kernel that has no others.
            Err(OpenError::Other { source, .. })
                if self.queues > 1 && source.raw_os_error() == Some(libc::EINVAL) =>
            {
                return Ok(vec![self.queue(&self.name, false)?]);
            }
            first => first?,
        };
        // A pattern (`wg%d`) is filled in once.
        let name = first.name().to_owned();
        let mut queues = vec![first];
        for _ in 1..self.queues {
            queues.push(self.queue(&name, true)?);
        }
        Ok(queues)
    }

    fn queue(&self, name: &str, several: bool) -> Result<Queue, OpenError> {
        let flags = sys::IFF_TUN | sys::IFF_NO_PI | if several { sys::IFF_MULTI_QUEUE } else { 0 };
        let failed = |source: io::Error| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => OpenError::Denied,
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => OpenError::Missing,
            Some(libc::EBUSY) => OpenError::Busy(name.to_owned()),
            _ => OpenError::Other { name: name.to_owned(), source },
        };
        let file = || {
            rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
                .map_err(|error| failed(error.into()))
        };
        let fd = file()?;
        let (fd, given, vnet) = match sys::attach(fd.as_fd(), name, flags | sys::IFF_VNET_HDR) {
            Ok(given) => (fd, given, true),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                let fd = file()?;
                let given = sys::attach(fd.as_fd(), name, flags).map_err(failed)?;
                (fd, given, false)
            }
            Err(error) => return Err(failed(error)),
        };
        let offload = if vnet { self.negotiate(fd.as_fd()) } else { TunOffload::default() };
        Ok(Queue { fd, name: given, offload, ethernet: false })
    }

    /// Asks for all, then for less.
    fn negotiate(&self, fd: BorrowedFd<'_>) -> TunOffload {
        let tso = sys::TUN_F_CSUM | sys::TUN_F_TSO4 | sys::TUN_F_TSO6;
        if self.offload {
            if sys::set_offload(fd, tso | sys::TUN_F_USO4 | sys::TUN_F_USO6).is_ok() {
                return TunOffload { vnet: true, checksum: true, tso: true, uso: true };
            }
            if sys::set_offload(fd, tso).is_ok() {
                return TunOffload { vnet: true, checksum: true, tso: true, uso: false };
            }
        }
        // An interface that outlived its last owner may still have them.
        let _ = sys::set_offload(fd, 0);
        TunOffload { vnet: true, ..TunOffload::default() }
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A frame of that many bytes, vnet header included.
    Frame(usize),
    /// Nothing for now.
    Empty,
}

/// One queue of the device. Frames always begin with a vnet header here, also where the device has none.
#[derive(Debug)]
pub struct Queue {
    fd: OwnedFd,
    name: String,
    offload: TunOffload,
    /// Frames have an Ethernet header after the vnet header, which nobody else sees.
    ethernet: bool,
}

impl Queue {
    /// A queue that was opened elsewhere: handed over by another process, or a socket that keeps the bounds
    /// of its messages and stands in for a device. It must not block.
    pub fn from_fd(fd: OwnedFd, name: &str, offload: TunOffload) -> Self {
        Self { fd, name: name.to_owned(), offload, ethernet: false }
    }

    /// A queue whose frames have an Ethernet header.
    pub(super) fn over_ethernet(fd: OwnedFd, name: &str, offload: TunOffload) -> Self {
        Self { fd, name: name.to_owned(), offload, ethernet: true }
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offloads that the kernel accepted.
    pub fn offload(&self) -> TunOffload {
        self.offload
    }

    /// Reads a frame without waiting. `buffer` should hold [`super::FRAME`] bytes: the kernel cuts what does not fit.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        if self.ethernet {
            return packet::read(&self.fd, buffer);
        }
        let skip = if self.offload.vnet { 0 } else { VNET_HEADER };
        let (header, space) = buffer.split_at_mut_checked(skip).ok_or(io::ErrorKind::InvalidInput)?;
        header.fill(0);
        loop {
            match rustix::io::read(&self.fd, &mut *space) {
                Ok(0) => return Ok(Read::Empty),
                Ok(length) => return Ok(Read::Frame(skip + length)),
                Err(Errno::INTR) => {}
                // EIO: the interface is down; it may come up.
                Err(Errno::AGAIN | Errno::IO) => return Ok(Read::Empty),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until there is a frame or `stop` is readable; true: a frame (or an error, which [`Self::read`] returns).
    pub fn wait(&self, stop: BorrowedFd<'_>) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN), PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) => Ok(fds[1].revents().is_empty()),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes one frame from its pieces, the first of which begins with the vnet header. Fails with EIO while the interface is down.
    #[inline]
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        if self.ethernet {
            return packet::write(&self.fd, pieces);
        }
        loop {
            let written = if self.offload.vnet {
                match pieces {
                    [one] => rustix::io::write(&self.fd, one),
                    _ => rustix::io::writev(&self.fd, pieces),
                }
            } else {
                // Nothing is joined for such a device: all is in the first piece.
                match pieces {
                    [one] if one.len() > VNET_HEADER => rustix::io::write(&self.fd, &one[VNET_HEADER..]),
                    _ => return Err(io::ErrorKind::InvalidInput.into()),
                }
            };
            match written {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
