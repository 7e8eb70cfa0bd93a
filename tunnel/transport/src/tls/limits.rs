//! Limits for connections that are not authenticated yet, and for those that are. Pure.

use std::time::Duration;

use warren_budget::{AdmissionRates, Rate};

/// Limits of a TLS port. A source is an IPv4 address or an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenLimits {
    /// Concurrent connections in a handshake or with a pending request; above the limit, the oldest is closed.
    pub handshakes: usize,
    /// The same per source; above the limit, new ones are closed. Also the tunnels of a source that no known peer has used yet.
    pub handshakes_of_one: usize,
    /// New connections per second, with a burst of twice as many. At least 1.
    pub rate: u32,
    /// The same per source. At least 1.
    pub rate_of_one: u32,
    /// Tunnels of one source, and as many connections beyond the first of each.
    pub tunnels_of_one: usize,
    /// Maximum number of pending requests; further requests get status 503.
    pub requests: usize,
    /// Timeout for the TLS handshake and the request together.
    pub request_timeout: Duration,
}

impl Default for ListenLimits {
    fn default() -> Self {
        Self {
            handshakes: 512,
            handshakes_of_one: 64,
            rate: 200,
            rate_of_one: 100,
            tunnels_of_one: 256,
            requests: 64,
            request_timeout: Duration::from_secs(5),
        }
    }
}

impl ListenLimits {
    /// A source that opens no more than this part of all connections is not refused because of others.
    const SHARES: u64 = 64;

    pub(super) fn rates(&self) -> AdmissionRates {
        let each = u64::from(self.rate_of_one.min(self.rate));
        let share = (u64::from(self.rate) / Self::SHARES).clamp(1, each.max(1));
        AdmissionRates {
            total: Rate::of_two_seconds(self.rate.into()),
            each: Rate::of_two_seconds(each),
            share: Rate::of_two_seconds(share),
        }
    }
}

/// Sources whose rates are remembered: about 16 MiB.
pub(super) const SOURCES: usize = 65_536;
/// Bytes of a handshake and a request, encrypted.
pub(super) const HANDSHAKE_BYTES: usize = 96 << 10;
/// Time until the first authentic WireGuard message.
pub(super) const STRANGER_TIME: Duration = Duration::from_secs(10);
/// Encrypted bytes and frames until then: a handshake and a few pings need a hundredth.
pub(super) const STRANGER_BYTES: u64 = 64 << 10;
pub(super) const STRANGER_FRAMES: u64 = 512;
/// Encrypted bytes of a stranger's turn on the receiving thread.
pub(super) const STRANGER_TURN: usize = 16 << 10;
/// Pings per second that are answered, and at once. Our own agents send at most one per second.
pub(super) const PONGS: (u64, u64) = (4, 8);
/// Bytes that are not data and wait for the socket: one pong, one ping, and what TLS itself says.
pub(super) const CONTROL_BYTES: usize = 4 << 10;
/// A connection ends when its socket accepts nothing for so long.
pub(super) const STALLED: Duration = Duration::from_secs(15);
/// Tunnels.
pub(super) const STREAMS: usize = 8192;
/// Connections of one tunnel.
pub(super) const CONNECTIONS: usize = 16;
/// Connections of all tunnels beyond the first of each: they take no room from tunnels.
pub(super) const OTHERS: usize = 2 * STREAMS;
