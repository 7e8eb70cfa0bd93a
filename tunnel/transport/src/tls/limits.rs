//! What strangers may ask for. Pure.

use std::time::Duration;

/// Time for TLS and HTTP together.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);
/// Handshakes at one time, in all and of one address; beyond the first the oldest gives way.
pub(super) const HANDSHAKES: usize = 512;
pub(super) const HANDSHAKES_OF_ONE: usize = 64;
/// New handshakes a second, and at once.
const RATE: u32 = 200;
const BURST: u32 = 400;
/// Bytes of a handshake and a request, encrypted.
pub(super) const HANDSHAKE_BYTES: usize = 96 << 10;
/// Time and bytes until the first authentic WireGuard message.
pub(super) const UNPROVEN: (Duration, u64) = (Duration::from_secs(10), 64 << 10);
/// Connections that have become tunnels.
pub(super) const STREAMS: usize = 8192;

/// A bucket of [`BURST`] handshakes that fills by [`RATE`] a second.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    /// When it will have been full: the generic cell rate algorithm.
    until: Duration,
}

impl Bucket {
    pub(super) fn admits(&mut self, now: Duration) -> bool {
        let each = Duration::from_secs(1) / RATE;
        let until = self.until.max(now) + each;
        if until > now + each * BURST {
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
            (0..1000).filter(|_| bucket.admits(Duration::from_secs_f64(at))).count()
        };
        assert_eq!(count(&mut bucket, 1.0), 400);
        assert_eq!(count(&mut bucket, 1.5), 100);
        assert_eq!(count(&mut bucket, 100.0), 400);
    }
}
