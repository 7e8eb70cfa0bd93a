//! A record of the packets that cross a node.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType};

use super::Node;

/// `ETH_P_ALL` in network byte order, as packet(7) wants it.
const EVERYTHING: NonZeroU32 = NonZeroU32::new(0x0003_u16.to_be() as u32).expect("not zero");

/// After a pause of this length, no connection is closing.
const QUIET: Duration = Duration::from_millis(50);

/// A packet of TCP, UDP or ICMP, as its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packet {
    /// Its source.
    pub source: IpAddr,
    /// Its destination.
    pub destination: IpAddr,
    /// The protocol's number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// The source's port, or 0.
    pub source_port: u16,
    /// The destination's port, or 0.
    pub destination_port: u16,
}

/// What crosses a node, without multicast, from the call of [`Watch::of`] on.
#[derive(Clone, Debug)]
pub struct Watch {
    record: Arc<Record>,
}

#[derive(Debug)]
struct Record {
    socket: OwnedFd,
    seen: Mutex<Vec<Packet>>,
}

impl Watch {
    /// Records the packets that arrive at a node, leave it or cross it, until the value is dropped.
    ///
    /// # Errors
    /// The kernel refuses a packet socket.
    pub fn of(node: &Node) -> Result<Watch> {
        let socket = node.inside(|| {
            rustix::net::socket_with(
                AddressFamily::PACKET,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
                Some(Protocol::from_raw(EVERYTHING)),
            )
            .context("the kernel refuses a packet socket")
        })?;
        set_socket_recv_buffer_size(&socket, 8 << 20)?;
        let record = Arc::new(Record { socket, seen: Mutex::default() });
        let weak = Arc::downgrade(&record);
        std::thread::spawn(move || keep_empty(&weak));
        Ok(Watch { record })
    }

    /// All packets so far, in their order; one that is forwarded is here for each interface. What was answered is complete.
    pub fn packets(&self) -> Vec<Packet> {
        self.record.drained().clone()
    }

    /// Forgets all so far, once it is quiet: connections that were answered may still be closing.
    pub fn clear(&self) {
        for _ in 0..20 {
            let before = self.record.drained().len();
            std::thread::sleep(QUIET);
            let mut seen = self.record.drained();
            if seen.len() == before {
                return seen.clear();
            }
        }
        self.record.drained().clear();
    }
}

impl Record {
    /// The kernel queues a packet while it crosses, so that whoever has seen an answer finds the packets here.
    fn drained(&self) -> MutexGuard<'_, Vec<Packet>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = vec![0; 1 << 16];
        while let Ok((length, _)) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
            seen.extend(parse(&buffer[..length]).filter(|packet| !packet.destination.is_multicast()));
        }
        seen
    }
}

/// The socket's queue is limited.
fn keep_empty(record: &Weak<Record>) {
    while let Some(record) = record.upgrade() {
        drop(record.drained());
        drop(record);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The header of an IP packet; extension headers of IPv6 are not followed.
fn parse(bytes: &[u8]) -> Option<Packet> {
    let (protocol, source, destination, payload): (u8, IpAddr, IpAddr, &[u8]) = match bytes.first()? >> 4 {
        4 => {
            let header = usize::from(bytes[0] & 15) * 4;
            let at = |from: usize| -> Option<Ipv4Addr> {
                Some(<[u8; 4]>::try_from(bytes.get(from..from + 4)?).ok()?.into())
            };
            (*bytes.get(9)?, at(12)?.into(), at(16)?.into(), bytes.get(header..)?)
        }
        6 => {
            let at = |from: usize| -> Option<Ipv6Addr> {
                Some(<[u8; 16]>::try_from(bytes.get(from..from + 16)?).ok()?.into())
            };
            (*bytes.get(6)?, at(8)?.into(), at(24)?.into(), bytes.get(40..)?)
        }
        _ => return None,
    };
    let port = |from: usize| match (protocol, payload.get(from..from + 2)) {
        (6 | 17, Some(pair)) => u16::from_be_bytes([pair[0], pair[1]]),
        _ => 0,
    };
    Some(Packet { source, destination, protocol, source_port: port(0), destination_port: port(2) })
}
