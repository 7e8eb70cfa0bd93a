//! Where a peer is.

use std::net::{IpAddr, SocketAddr};

/// A peer's address, and the local address that its last packet came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The peer's UDP address.
    pub remote: SocketAddr,
    /// Local address and interface index, to answer from where the peer expects it (sticky source).
    /// `None` lets the system choose.
    pub local: Option<(IpAddr, u32)>,
}

impl Endpoint {
    /// An endpoint for which the system chooses the local address.
    #[must_use]
    pub fn new(remote: SocketAddr) -> Self {
        Self { remote, local: None }
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
