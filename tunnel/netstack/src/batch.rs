//! Packets on their way to the crypto: one arena that is used again and again.
//!
//! ```text
//! | headroom | packet | padding | tailroom | headroom | packet | padding | tailroom | ...
//! ```
//!
//! They lie side by side, each with room for the tunnel's header, padding and tag, so that a run of equal packets can be
//! sealed where it stands and sent with one segmenting call.

use std::ops::Range;

use crate::wire::MAX_MTU;

/// Bytes free before each packet, for the tunnel's own header.
pub const HEADROOM: usize = 16;
/// Bytes free after each packet and its padding, for the authentication tag.
pub const TAILROOM: usize = 16;
/// Default number of packets in a batch.
pub const BATCH: usize = 64;

/// Where a packet lies in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    start: usize,
    length: usize,
    padded: usize,
}

impl Place {
    /// The packet.
    #[must_use]
    pub fn packet(&self) -> Range<usize> {
        self.start + HEADROOM..self.start + HEADROOM + self.length
    }

    /// The packet with its padding, [`HEADROOM`] and [`TAILROOM`]. The next packet's begins where it ends.
    #[must_use]
    pub fn frame(&self) -> Range<usize> {
        self.start..self.start + HEADROOM + self.padded + TAILROOM
    }
}

/// A reusable set of IP packets, each with room for header, padding to 16 bytes (but not beyond the MTU) and tag.
#[derive(Debug)]
pub struct Batch {
    arena: Vec<u8>,
    places: Vec<Place>,
    used: usize,
    capacity: usize,
    mtu: usize,
}

impl Batch {
    /// A batch of [`BATCH`] packets of up to `mtu` bytes.
    #[must_use]
    pub fn new(mtu: usize) -> Self {
        Self::with_capacity(BATCH, mtu)
    }

    /// A batch of `capacity` packets of up to `mtu` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize, mtu: usize) -> Self {
        let mtu = mtu.min(MAX_MTU);
        Self {
            arena: vec![0; capacity * (HEADROOM + mtu + TAILROOM)],
            places: Vec::with_capacity(capacity),
            used: 0,
            capacity,
            mtu,
        }
    }

    /// Packets in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True when there is no packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// True when no packet can be added.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.places.len() >= self.capacity
    }

    /// Empties the batch; the memory stays.
    pub fn clear(&mut self) {
        self.places.clear();
        self.used = 0;
    }

    /// The packets.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.arena[place.packet()])
    }

    /// The arena, and where in it the packets lie. Padding is zero.
    pub fn parts(&mut self) -> (&mut [u8], &[Place]) {
        (&mut self.arena, &self.places)
    }

    /// Adds a packet of `length` bytes that `fill` writes in full. False when there is no room.
    pub(crate) fn push(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.is_full() || length > self.mtu {
            return false;
        }
        let padded = length.next_multiple_of(16).min(self.mtu);
        let place = Place { start: self.used, length, padded };
        fill(&mut self.arena[place.packet()]);
        // Of earlier packets in the same bytes nothing may leave.
        self.arena[place.packet().end..place.frame().end - TAILROOM].fill(0);
        self.used = place.frame().end;
        self.places.push(place);
        true
    }

    /// The largest packet that fits.
    pub(crate) fn room(&self) -> usize {
        self.mtu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_lie_side_by_side_with_clean_padding() {
        let mut batch = Batch::with_capacity(3, 1_420);
        assert!(batch.push(1_420, |packet| packet.fill(7)));
        batch.clear();
        assert!(batch.push(1_410, |packet| packet.fill(1)));
        assert!(batch.push(1_420, |packet| packet.fill(2)));
        assert!(!batch.push(1_421, |_| {}));
        assert!(batch.push(17, |packet| packet.fill(3)));
        assert!(batch.is_full() && !batch.push(1, |_| {}));
        let (arena, places) = batch.parts();
        let frames: Vec<_> = places.iter().map(Place::frame).collect();
        assert_eq!(frames, [0..1_452, 1_452..2_904, 2_904..2_968]);
        assert_eq!(places[0].packet(), 16..1_426);
        assert!(arena[1_426..1_436].iter().all(|byte| *byte == 0));
        assert_eq!(batch.iter().map(<[u8]>::len).collect::<Vec<_>>(), [1_410, 1_420, 17]);
    }
}
