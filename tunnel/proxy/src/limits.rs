//! How much a client may take.

use std::time::Duration;

/// Bounds of all services together. Every one can be reached by a client, and none of them is an error of the network.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections of clients at once, whether they wait, shake hands or move bytes. More are reset as they come.
    pub streams: usize,
    /// From accepting a connection to its complete request.
    pub handshake: Duration,
    /// From a request to a connection with its target, names included.
    pub connect: Duration,
    /// A connection on which nothing moves at least so long is reset.
    pub idle: Duration,
    /// The same, once one end has said that it sends no more.
    pub half_closed: Duration,
    /// Between two requests of one HTTP connection.
    pub keep_alive: Duration,
    /// Bytes of the head of an HTTP request or response; at least 8192.
    pub head_bytes: usize,
    /// Header fields of an HTTP request or response.
    pub head_fields: usize,
    /// Bytes in large copy buffers. Further streams use small ones.
    pub buffer_bytes: usize,
    /// Peers of one UDP forward at once, and associations of SOCKS at once.
    pub udp_sessions: usize,
    /// A UDP session without datagrams ends after this (RFC 4787 section 4.3: no less than two minutes).
    pub udp_idle: Duration,
    /// DNS questions that wait for an answer at once. More are answered with "server failure".
    pub dns_questions: usize,
    /// Answers that are kept.
    pub dns_cache: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: 16_384,
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(3_600),
            half_closed: Duration::from_secs(300),
            keep_alive: Duration::from_secs(60),
            head_bytes: 64 << 10,
            head_fields: 128,
            buffer_bytes: 8 << 20,
            udp_sessions: 1_024,
            udp_idle: Duration::from_secs(120),
            dns_questions: 512,
            dns_cache: 4_096,
        }
    }
}
