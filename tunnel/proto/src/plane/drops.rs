//! Counters of packets that were dropped, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal,)+) => {
        /// Why a packet was dropped.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl DropReason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name in status and metrics.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

reasons! {
    /// No peer has the destination in its allowed IPs.
    NoRoute => "no_route",
    /// A data message of no known session.
    NoSession => "no_session",
    /// Not an IP packet, or not a WireGuard message.
    Malformed => "malformed",
    /// The tag does not fit.
    Authentication => "authentication",
    /// Replayed, or too old to distinguish.
    Replay => "replay",
    /// The session is too old.
    Expired => "expired",
    /// The inner source is not in the peer's allowed IPs.
    NotAllowed => "not_allowed",
    /// The peer's endpoint is not known.
    NoEndpoint => "no_endpoint",
    /// The queue of packets that wait for a session was full.
    StagedOverflow => "staged_overflow",
    /// The attempt to make a session was given up.
    GivenUp => "given_up",
    /// Sending on the socket failed.
    Send => "send",
    /// Writing to the device failed.
    Device => "device",
}

const COUNT: usize = DropReason::ALL.len();

/// One counter a reason.
#[derive(Debug, Default)]
pub struct Drops([AtomicU64; COUNT]);

impl Drops {
    /// Counts `n` packets.
    pub fn count(&self, reason: DropReason, n: u64) {
        self.0[reason as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// Packets dropped for a reason.
    #[must_use]
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0[reason as usize].load(Ordering::Relaxed)
    }

    /// The reasons that occurred, with their counts.
    #[must_use]
    pub fn list(&self) -> Vec<(DropReason, u64)> {
        DropReason::ALL.iter().map(|reason| (*reason, self.get(*reason))).filter(|(_, n)| *n > 0).collect()
    }
}
