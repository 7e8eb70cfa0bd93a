//! TAI64N stamps (whitepaper section 5.1): 8 bytes of seconds and 4 of nanoseconds, big endian, so that they
//! compare as bytes.

use std::time::Duration;

/// TAI64 of the UNIX epoch, as WireGuard's implementations have it: 10 s of TAI offset, no leap seconds.
const EPOCH: u64 = 0x4000_0000_0000_000a;
/// Nanoseconds are rounded down to this, so that a stamp tells nothing about the clock's fine state.
const GRAIN: u32 = 1 << 24;
const SECOND: u32 = 1_000_000_000;

/// A stamp. Its order is the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(pub(crate) [u8; 12]);

impl Stamp {
    pub(crate) fn new(wall: Duration) -> Self {
        Self::of(wall.as_secs().saturating_add(EPOCH), wall.subsec_nanos() / GRAIN * GRAIN)
    }

    /// The time of it since the UNIX epoch, to the second.
    pub(crate) fn wall(self) -> Duration {
        Duration::from_secs(self.parts().0.saturating_sub(EPOCH))
    }

    /// The next greater stamp.
    pub(crate) fn successor(self) -> Self {
        let (mut seconds, mut nanos) = self.parts();
        nanos = nanos.saturating_add(GRAIN);
        if nanos >= SECOND {
            seconds = seconds.saturating_add(1);
            nanos = 0;
        }
        Self::of(seconds, nanos)
    }

    fn of(seconds: u64, nanos: u32) -> Self {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&seconds.to_be_bytes());
        bytes[8..].copy_from_slice(&nanos.to_be_bytes());
        Self(bytes)
    }

    fn parts(self) -> (u64, u32) {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.0;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]), u32::from_be_bytes([i, j, k, l]))
    }
}

/// Gives out stamps that a peer accepts although the wall clock may jump.
///
/// A peer takes only stamps greater than the last one of the same static key. So none is less than the greatest
/// one given to anyone, and each peer's are strictly increasing: a removed and added peer is served too.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    greatest: Option<Stamp>,
}

impl Stamps {
    /// The stamp for an initiation to a peer whose last one is `last`.
    pub(crate) fn next(&mut self, wall: Duration, last: Option<Stamp>) -> Stamp {
        let mut stamp = Stamp::new(wall);
        if let Some(greatest) = self.greatest {
            stamp = stamp.max(greatest);
        }
        if last.is_some_and(|last| stamp <= last) {
            stamp = stamp.successor();
        }
        self.greatest = Some(stamp);
        stamp
    }

    /// No stamp from now on is less than that of this time.
    pub(crate) fn raise(&mut self, wall: Duration) {
        self.greatest = self.greatest.max(Some(Stamp::new(wall)));
    }

    /// A stamp for a peer that is new to the engine but may have been here before.
    pub(crate) fn unknown(&self) -> Option<Stamp> {
        self.greatest
    }
}
