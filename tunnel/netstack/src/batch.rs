//! Packets on their way to the crypto: one arena, slots of equal size, used again and again.

use crate::wire::MAX_MTU;

/// Bytes free before each packet, for the tunnel's own header.
pub const HEADROOM: usize = 16;
/// Bytes free after each packet and its padding, for the authentication tag.
pub const TAILROOM: usize = 16;
/// Packets in a batch unless told otherwise.
pub const BATCH: usize = 64;

/// A reusable set of IP packets, each with room for header, padding to 16 bytes and tag.
#[derive(Debug)]
pub struct Batch {
    arena: Vec<u8>,
    lengths: Vec<usize>,
    capacity: usize,
    room: usize,
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
        let room = mtu.min(MAX_MTU).next_multiple_of(16);
        Self {
            arena: vec![0; capacity * (HEADROOM + room + TAILROOM)],
            lengths: Vec::with_capacity(capacity),
            capacity,
            room,
        }
    }

    /// Packets in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// True when there is no packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// True when no packet can be added.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lengths.len() >= self.capacity
    }

    /// Empties the batch; the memory stays.
    pub fn clear(&mut self) {
        self.lengths.clear();
    }

    /// The packets.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let stride = self.stride();
        self.lengths
            .iter()
            .zip(self.arena.chunks_exact(stride))
            .map(|(len, slot)| &slot[HEADROOM..HEADROOM + len])
    }

    /// The packets with their surroundings: `frame[HEADROOM..HEADROOM + len]` is the packet, and after it there is
    /// room for padding to a multiple of 16 and for [`TAILROOM`].
    pub fn frames(&mut self) -> impl Iterator<Item = (&mut [u8], usize)> {
        let stride = self.stride();
        self.lengths.iter().zip(self.arena.chunks_exact_mut(stride)).map(|(len, slot)| (slot, *len))
    }

    /// Adds a packet of `length` bytes that `fill` writes in full. False when there is no room.
    pub(crate) fn push(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.is_full() || length > self.room {
            return false;
        }
        let start = self.lengths.len() * self.stride() + HEADROOM;
        fill(&mut self.arena[start..start + length]);
        self.lengths.push(length);
        true
    }

    /// The largest packet that fits.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    fn stride(&self) -> usize {
        HEADROOM + self.room + TAILROOM
    }
}
