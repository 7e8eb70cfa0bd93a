//! UDP with the kernel's offloads: one call sends up to 64 datagrams of one size (`UDP_SEGMENT`), one call
//! receives many (`recvmmsg` with `UDP_GRO`).
//!
//! IPv4 and IPv6 have a socket each, on one port, so that neither address family is mapped into the other
//! and hosts without IPv6 work. Datagrams are answered from the address they came to.

mod receive;
mod send;
mod sys;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

pub use receive::{Datagram, Receiver, Wake};
pub use send::{MAX_BYTES, MAX_SEGMENTS};
pub use sys::set_mark;
pub(crate) use sys::tcp_limits;

/// What is asked of the kernel for the socket's buffers. It holds the datagrams of some milliseconds.
const RECEIVE_BUFFER: usize = 8 << 20;
const SEND_BUFFER: usize = 4 << 20;
/// How often a port is looked for that is free in both families.
const PORT_TRIES: usize = 16;

/// Options for opening the sockets.
#[derive(Clone, Copy, Debug)]
pub struct UdpOptions {
    /// 0: the kernel chooses.
    pub port: u16,
    /// Mark of the packets, for routing rules; needs `CAP_NET_ADMIN`.
    pub fwmark: Option<u32>,
    /// False: no segmentation offload either way, for comparison.
    pub offload: bool,
    /// Pairs of sockets on the port, between which the kernel spreads the remote addresses. 0 counts as 1.
    pub queues: usize,
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self { port: 0, fwmark: None, offload: true, queues: 1 }
    }
}

/// The offloads in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpOffload {
    /// Several datagrams in one call to send.
    pub gso: bool,
    /// Several datagrams in one slot on receipt.
    pub gro: bool,
}

/// The available address families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    /// IPv4.
    pub v4: bool,
    /// IPv6.
    pub v6: bool,
}

#[derive(Debug)]
struct Pair {
    v4: Option<OwnedFd>,
    v6: Option<OwnedFd>,
}

/// The sockets of an interface. Shared between threads: sending needs no lock.
#[derive(Debug)]
pub struct Udp {
    pairs: Vec<Pair>,
    port: u16,
    options: UdpOptions,
    gro: bool,
    gso: AtomicBool,
    /// Sends in a row that the kernel refused with `EINVAL` as a whole and took one by one.
    refused: AtomicU32,
}

impl Udp {
    /// Opens the sockets with all offloads there are.
    pub fn bind(port: u16, fwmark: Option<u32>) -> io::Result<Self> {
        Self::open(UdpOptions { port, fwmark, ..UdpOptions::default() })
    }

    /// Opens the sockets.
    pub fn open(options: UdpOptions) -> io::Result<Self> {
        let mut tries = if options.port == 0 { PORT_TRIES } else { 1 };
        loop {
            tries -= 1;
            match Self::open_once(options) {
                // The port the kernel chose for one family is taken in the other.
                Err(error) if tries > 0 && error.kind() == io::ErrorKind::AddrInUse => {}
                result => return result,
            }
        }
    }

    fn open_once(options: UdpOptions) -> io::Result<Self> {
        let mut port = options.port;
        let pair = Pair::open(&mut port, &options, false)?;
        if pair.v4.is_none() && pair.v6.is_none() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let mut capabilities = UdpOffload { gso: options.offload, gro: options.offload };
        for fd in pair.fds() {
            capabilities.gso = capabilities.gso && sys::has_segment(fd);
            capabilities.gro = capabilities.gro && sys::enable_gro(fd).is_ok();
        }
        let gso = AtomicBool::new(capabilities.gso);
        let mut udp =
            Self { pairs: vec![pair], port, options, gro: capabilities.gro, gso, refused: AtomicU32::new(0) };
        udp.widen(options.queues)?;
        Ok(udp)
    }

    /// Opens further pairs on the port, up to `queues`. The kernel then selects the pair of a datagram by its addresses and ports
    /// (`SO_REUSEPORT`, socket(7)), so that all datagrams of a peer arrive at one, in their order.
    ///
    /// # Errors
    /// The kernel refuses; the pairs that are there remain.
    pub fn widen(&mut self, queues: usize) -> io::Result<()> {
        if queues > self.pairs.len() {
            // The first pair was bound alone: a process that has the port already was found by that.
            for fd in self.pairs.iter().flat_map(Pair::fds) {
                sockopt::set_socket_reuseport(fd, true)?;
            }
        }
        while self.pairs.len() < queues {
            let mut port = self.port;
            let pair = Pair::open(&mut port, &self.options, true)?;
            if self.gro {
                pair.fds().try_for_each(sys::enable_gro)?;
            }
            self.pairs.push(pair);
        }
        Ok(())
    }

    /// The port, the same in both families.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The offloads in use. Segmentation is disabled when a device turns out not to support it.
    pub fn capabilities(&self) -> UdpOffload {
        UdpOffload { gso: self.gso.load(Ordering::Relaxed), gro: self.gro }
    }

    /// The available address families.
    pub fn families(&self) -> Families {
        let pair = self.pairs.first();
        Families { v4: pair.is_some_and(|p| p.v4.is_some()), v6: pair.is_some_and(|p| p.v6.is_some()) }
    }

    /// Pairs of sockets.
    pub fn queues(&self) -> usize {
        self.pairs.len()
    }

    /// Changes the mark; 0 removes it.
    pub fn set_fwmark(&self, mark: u32) -> io::Result<()> {
        self.pairs.iter().flat_map(Pair::fds).try_for_each(|fd| sys::set_mark(fd, mark))
    }

    fn socket(&self, queue: usize, to: &SocketAddr) -> io::Result<BorrowedFd<'_>> {
        let pair = self.pairs.get(queue).or(self.pairs.first());
        let fd = pair.and_then(|pair| if to.is_ipv4() { pair.v4.as_ref() } else { pair.v6.as_ref() });
        fd.map(AsFd::as_fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))
    }
}

impl Pair {
    fn open(port: &mut u16, options: &UdpOptions, shared: bool) -> io::Result<Self> {
        let v4 = absent(socket(Ipv4Addr::UNSPECIFIED.into(), port, options, shared))?;
        let v6 = absent(socket(Ipv6Addr::UNSPECIFIED.into(), port, options, shared))?;
        Ok(Self { v4, v6 })
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.v4.iter().chain(&self.v6).map(AsFd::as_fd)
    }
}

/// Treats an address family that the host does not have as absent, not as an error.
fn absent(socket: io::Result<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    match socket {
        Ok(fd) => Ok(Some(fd)),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::EADDRNOTAVAIL) => Ok(None),
            _ => Err(error),
        },
    }
}

fn socket(any: IpAddr, port: &mut u16, options: &UdpOptions, shared: bool) -> io::Result<OwnedFd> {
    let family = if any.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    if any.is_ipv6() {
        sockopt::set_ipv6_v6only(&fd, true)?;
    }
    if shared {
        sockopt::set_socket_reuseport(&fd, true)?;
    }
    if let Some(mark) = options.fwmark {
        sys::set_mark(fd.as_fd(), mark)?;
    }
    // More than the system's limit only where we may.
    if sockopt::set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER);
    }
    if sys::force_send_buffer(fd.as_fd(), SEND_BUFFER).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(&fd, SEND_BUFFER);
    }
    // A send that waits for the device must not keep a thread from stopping.
    let timeout = Some(std::time::Duration::from_millis(50));
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, timeout)?;
    sys::tunnel_options(fd.as_fd(), any.is_ipv6())?;
    rustix::net::bind(&fd, &SocketAddr::new(any, *port))?;
    if *port == 0 {
        let name = rustix::net::getsockname(&fd)?;
        *port = SocketAddr::try_from(name).map_err(io::Error::from)?.port();
    }
    Ok(fd)
}
