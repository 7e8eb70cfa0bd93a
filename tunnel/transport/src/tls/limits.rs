//! Limits for connections that are not authenticated yet. Pure.

use std::time::Duration;

/// Limits for connections that are not authenticated yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenLimits {
    /// Concurrent connections in a handshake or with a pending request; above the limit, the oldest is closed.
    pub handshakes: usize,
    /// The same per source address; above the limit, new ones are closed.
    pub handshakes_of_one: usize,
    /// New connections per second, with a burst of twice as many. At least 1.
    pub rate: u32,
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
            requests: 64,
            request_timeout: Duration::from_secs(5),
        }
    }
}

/// Bytes of a handshake and a request, encrypted.
pub(super) const HANDSHAKE_BYTES: usize = 96 << 10;
/// Time and bytes until the first authentic WireGuard message.
pub(super) const UNPROVEN: (Duration, u64) = (Duration::from_secs(10), 64 << 10);
/// Connections that have become tunnels.
pub(super) const STREAMS: usize = 8192;

/// A bucket of handshakes that fills by [`ListenLimits::rate`] a second.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// When it will have been full: the generic cell rate algorithm.
    until: Duration,
}

impl Bucket {
    pub(super) fn admits(&mut self, now: Duration, rate: u32) -> bool {
        let until = self.until.max(now) + Duration::from_secs(1) / rate.max(1);
        // Two seconds' worth.
        if until > now + Duration::from_secs(2) {
            return false;
        }
        self.until = until;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_rate() {
        let mut bucket = Bucket::default();
        let count = |bucket: &mut Bucket, at: f64| {
            (0..1000).filter(|_| bucket.admits(Duration::from_secs_f64(at), 200)).count()
        };
        assert_eq!(count(&mut bucket, 1.0), 400);
        assert_eq!(count(&mut bucket, 1.5), 100);
        assert_eq!(count(&mut bucket, 100.0), 400);
    }
}
