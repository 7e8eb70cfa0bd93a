//! UDP (RFC 768): sockets with bounded queues in both directions.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::icmp::Unreachable;
use crate::random::Keyed;
use crate::wire::{self, ip_header};

/// Datagrams that one socket holds in each direction; more are dropped, as UDP may.
const MAX_QUEUE: usize = 256;
/// The same for the socket that receives for every port. Each sender may have as many there as it leaves free for others.
const MAX_FOR_ALL: usize = 512;
/// Errors that wait for a socket's owner; more are dropped.
const MAX_ERRORS: usize = 16;
/// What a queued datagram costs beside its bytes.
const OVERHEAD: usize = 96;

/// A UDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Why a datagram was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UdpError {
    /// No such socket.
    #[error("the socket is closed")]
    Closed,
    /// The address is taken.
    #[error("the port is in use: choose another, or 0 for any")]
    InUse,
    /// The stack has no address of the destination's family.
    #[error("no local address in the destination's address family")]
    NoAddress,
    /// Larger than the path; there is no fragmentation.
    #[error("the datagram does not fit into a packet: send at most {0} bytes")]
    TooLarge(usize),
    /// The queue or the memory budget is full.
    #[error("the queue is full: try again after the next poll")]
    Full,
}

/// A datagram and its two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The address it was sent to, or is sent from.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The payload.
    pub data: Vec<u8>,
}

/// A datagram that did not arrive, as an ICMP error has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    /// The address it was sent from.
    pub local: SocketAddr,
    /// The address it was sent to.
    pub remote: SocketAddr,
    /// The host that says so.
    pub by: IpAddr,
    /// Why it did not arrive.
    pub why: Unreachable,
}

struct Socket {
    generation: u32,
    /// `None`: every address; port 0: every port (accept-any).
    address: Option<IpAddr>,
    port: u16,
    incoming: VecDeque<Datagram>,
    /// Waiting datagrams by sender; kept only if the socket receives for every port.
    senders: HashMap<IpAddr, usize, Keyed>,
    outgoing: VecDeque<Datagram>,
    undelivered: VecDeque<Undelivered>,
    sending: bool,
}

impl Socket {
    /// Whether a datagram of a sender may wait.
    fn has_room(&self, sender: IpAddr) -> bool {
        if self.port != 0 {
            return self.incoming.len() < MAX_QUEUE;
        }
        let own = self.senders.get(&sender).copied().unwrap_or(0);
        own < MAX_FOR_ALL.saturating_sub(self.incoming.len())
    }
}

/// All sockets of a stack.
pub(crate) struct Udp {
    sockets: Vec<Option<Socket>>,
    free: Vec<u32>,
    generation: u32,
    ports: HashMap<(Option<IpAddr>, u16), u32, Keyed>,
    sending: VecDeque<u32>,
    keyed: Keyed,
    pub(crate) dropped: u64,
}

impl Udp {
    pub(crate) fn new(keyed: Keyed) -> Self {
        Self {
            sockets: Vec::new(),
            free: Vec::new(),
            generation: 0,
            ports: HashMap::with_hasher(keyed),
            keyed,
            sending: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(crate) fn used(&self, address: Option<IpAddr>, port: u16) -> bool {
        self.ports.contains_key(&(address, port))
    }

    pub(crate) fn bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<SocketId, UdpError> {
        if self.used(address, port) {
            return Err(UdpError::InUse);
        }
        self.generation = self.generation.wrapping_add(1);
        let socket = Socket {
            generation: self.generation,
            address,
            port,
            incoming: VecDeque::new(),
            senders: HashMap::with_hasher(self.keyed),
            outgoing: VecDeque::new(),
            undelivered: VecDeque::new(),
            sending: false,
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.sockets[index as usize] = Some(socket);
                index
            }
            None => {
                self.sockets.push(Some(socket));
                self.sockets.len() as u32 - 1
            }
        };
        self.ports.insert((address, port), index);
        Ok(SocketId { index, generation: self.generation })
    }

    pub(crate) fn close(&mut self, pool: &mut Pool, id: SocketId) {
        let Some(socket) = self.get(id) else { return };
        let key = (socket.address, socket.port);
        let held: usize =
            socket.incoming.iter().chain(&socket.outgoing).map(|one| one.data.len() + OVERHEAD).sum();
        pool.refund(held);
        self.ports.remove(&key);
        self.sending.retain(|index| *index != id.index);
        self.sockets[id.index as usize] = None;
        self.free.push(id.index);
    }

    pub(crate) fn port(&self, id: SocketId) -> Option<u16> {
        let socket = self.sockets.get(id.index as usize)?.as_ref()?;
        (socket.generation == id.generation).then_some(socket.port)
    }

    pub(crate) fn address(&self, id: SocketId) -> Option<IpAddr> {
        self.sockets
            .get(id.index as usize)?
            .as_ref()
            .filter(|socket| socket.generation == id.generation)?
            .address
    }

    pub(crate) fn send(
        &mut self,
        pool: &mut Pool,
        id: SocketId,
        datagram: Datagram,
        mtu: usize,
    ) -> Result<(), UdpError> {
        let most = mtu - ip_header(datagram.local.ip()) - 8;
        if datagram.data.len() > most {
            return Err(UdpError::TooLarge(most));
        }
        let socket = self.get(id).ok_or(UdpError::Closed)?;
        if socket.outgoing.len() >= MAX_QUEUE || !pool.charge(datagram.data.len() + OVERHEAD) {
            return Err(UdpError::Full);
        }
        socket.outgoing.push_back(datagram);
        if !std::mem::replace(&mut socket.sending, true) {
            self.sending.push_back(id.index);
        }
        Ok(())
    }

    pub(crate) fn receive(&mut self, pool: &mut Pool, id: SocketId) -> Option<Datagram> {
        let socket = self.get(id)?;
        let datagram = socket.incoming.pop_front()?;
        if let Some(count) = socket.senders.get_mut(&datagram.remote.ip()) {
            *count -= 1;
            if *count == 0 {
                socket.senders.remove(&datagram.remote.ip());
            }
        }
        pool.refund(datagram.data.len() + OVERHEAD);
        Some(datagram)
    }

    /// A datagram has arrived: the socket to tell, when it had nothing to read before. `Err` when nobody listens.
    pub(crate) fn deliver(
        &mut self,
        pool: &mut Pool,
        local: SocketAddr,
        remote: SocketAddr,
        data: &[u8],
    ) -> Result<Option<SocketId>, ()> {
        let keys = [(Some(local.ip()), local.port()), (None, local.port()), (None, 0)];
        let index = *keys.iter().find_map(|key| self.ports.get(key)).ok_or(())?;
        let Some(Some(socket)) = self.sockets.get_mut(index as usize) else { return Err(()) };
        if !socket.has_room(remote.ip()) || !pool.charge(data.len() + OVERHEAD) {
            self.dropped += 1;
            return Ok(None);
        }
        if socket.port == 0 {
            *socket.senders.entry(remote.ip()).or_default() += 1;
        }
        socket.incoming.push_back(Datagram { local, remote, data: data.to_vec() });
        let id = SocketId { index, generation: socket.generation };
        Ok((socket.incoming.len() == 1).then_some(id))
    }

    /// An ICMP error quotes a datagram: the socket to tell, when it had no error before. `None` when no socket sent it.
    pub(crate) fn fail(&mut self, error: Undelivered) -> Option<Option<SocketId>> {
        let (address, port) = (error.local.ip(), error.local.port());
        let keys = [(Some(address), port), (None, port), (None, 0)];
        let index = *keys.iter().find_map(|key| self.ports.get(key))?;
        let socket = self.sockets.get_mut(index as usize)?.as_mut()?;
        if socket.undelivered.len() >= MAX_ERRORS {
            self.dropped += 1;
            return Some(None);
        }
        socket.undelivered.push_back(error);
        let id = SocketId { index, generation: socket.generation };
        Some((socket.undelivered.len() == 1).then_some(id))
    }

    pub(crate) fn undelivered(&mut self, id: SocketId) -> Option<Undelivered> {
        self.get(id)?.undelivered.pop_front()
    }

    pub(crate) fn eager(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Writes queued datagrams, one a socket in turn.
    pub(crate) fn emit(&mut self, pool: &mut Pool, out: &mut Batch) {
        while !out.is_full() {
            let Some(index) = self.sending.pop_front() else { break };
            let Some(Some(socket)) = self.sockets.get_mut(index as usize) else { continue };
            if let Some(datagram) = socket.outgoing.pop_front() {
                pool.refund(datagram.data.len() + OVERHEAD);
                if !wire::emit_udp(out, datagram.local, datagram.remote, &datagram.data) {
                    self.dropped += 1;
                }
            }
            if socket.outgoing.is_empty() {
                socket.sending = false;
            } else {
                self.sending.push_back(index);
            }
        }
    }

    fn get(&mut self, id: SocketId) -> Option<&mut Socket> {
        let socket = self.sockets.get_mut(id.index as usize)?.as_mut()?;
        (socket.generation == id.generation).then_some(socket)
    }
}
