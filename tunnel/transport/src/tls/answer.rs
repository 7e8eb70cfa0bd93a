//! A request that is not for a tunnel, and its answer.

use std::net::SocketAddr;

use warren_wire::stream::http::Head;

/// An HTTP answer, after which the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status.
    pub status: u16,
    /// Content type.
    pub content_type: &'static str,
    /// `Retry-After` in seconds.
    pub retry_after: Option<u32>,
    /// Body.
    pub body: Vec<u8>,
}

/// A request that is not for a tunnel.
#[derive(Clone, Debug)]
pub struct Request {
    /// The other end; it may be a proxy's.
    pub remote: SocketAddr,
    /// Method, path, headers.
    pub head: Head,
    /// Body of at most 64 KiB.
    pub body: Vec<u8>,
    /// 32 bytes that both ends of this connection know and no other connection has: `tls-exporter` of RFC 9266.
    pub binding: [u8; 32],
}
