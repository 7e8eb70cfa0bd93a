//! What the TLS port refused, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why a connection was refused, or ended before a known peer used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its source opens connections above its own rate.
    SourceRate,
    /// All sources together are above the rate of all, and this one is above its share.
    TotalRate,
    /// Its source has too many handshakes or requests.
    SourceHandshakes,
    /// Its source has too many tunnels that no known peer has used yet.
    SourceStrangers,
    /// Its source has too many tunnels.
    SourceTunnels,
    /// There are too many tunnels.
    Tunnels,
    /// There are too many connections beyond the first of each tunnel: in total, of its source, or of its tunnel.
    Others,
    /// No known peer used it in time.
    StrangerTime,
    /// No known peer used it within the bytes and frames of a stranger.
    StrangerBytes,
    /// The other end does not read.
    Unread,
}

/// The names of all reasons, in the order of [`Refusal`].
const NAMES: [&str; 10] = [
    "source_rate",
    "total_rate",
    "source_handshakes",
    "source_strangers",
    "source_tunnels",
    "tunnels",
    "other_connections",
    "stranger_time",
    "stranger_bytes",
    "unread",
];

/// Counters since the start.
#[derive(Debug, Default)]
pub(super) struct Refusals([AtomicU64; NAMES.len()]);

impl Refusals {
    pub(super) fn count(&self, refusal: Refusal) {
        self.0[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counter of each reason.
    pub(super) fn read(&self) -> Vec<(&'static str, u64)> {
        NAMES.iter().zip(&self.0).map(|(name, counter)| (*name, counter.load(Ordering::Relaxed))).collect()
    }
}
