//! Where a peer is.

use std::net::{IpAddr, SocketAddr};

/// Names a connection that carries datagrams. Never used again for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// No connection: the place of a peer that is reached by connections alone while there is none.
    pub const NONE: Self = Self(0);

    /// The id of a number that the caller never uses twice.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// What moves the datagrams of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Carrier {
    /// UDP.
    #[default]
    Udp,
    /// This connection.
    Stream(StreamId),
}

impl Carrier {
    /// The connection, if it is one.
    #[must_use]
    pub fn stream(self) -> Option<StreamId> {
        match self {
            Self::Udp => None,
            Self::Stream(id) => Some(id),
        }
    }

    /// Whether both are UDP, or both connections.
    #[must_use]
    pub fn same_kind(self, other: Self) -> bool {
        self.stream().is_some() == other.stream().is_some()
    }
}

/// A peer's address, what moves datagrams there, and the local address that its last packet came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The peer's address: of UDP, or of the other end of the connection.
    pub remote: SocketAddr,
    /// Local address and interface index, to answer from where the peer expects it (sticky source).
    /// `None` lets the system choose.
    pub local: Option<(IpAddr, u32)>,
    /// UDP or a connection.
    pub carrier: Carrier,
}

impl Endpoint {
    /// A UDP endpoint for which the system chooses the local address.
    #[must_use]
    pub fn new(remote: SocketAddr) -> Self {
        Self { remote, local: None, carrier: Carrier::Udp }
    }

    /// The other end of a connection.
    #[must_use]
    pub fn stream(remote: SocketAddr, id: StreamId) -> Self {
        Self { remote, local: None, carrier: Carrier::Stream(id) }
    }

    /// The same peer address without the local one: used when an answer does not come, because the local
    /// address may be the reason.
    #[must_use]
    pub fn without_local(self) -> Self {
        Self { local: None, ..self }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(remote: SocketAddr) -> Self {
        Self::new(remote)
    }
}
