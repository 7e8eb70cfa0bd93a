//! Stream buffers in chunks from one budgeted pool.
//!
//! Every byte that a stack keeps for any stream lies in a chunk of the [`Pool`]; when the budget is spent a sender is
//! told that nothing fits and a receiver drops the segment, which its peer sends again. A stream without data holds no
//! chunk.

use std::collections::VecDeque;

/// Bytes in a chunk.
pub(crate) const CHUNK: usize = 4096;
/// Chunks kept for reuse instead of being given back to the allocator.
const SPARE: usize = 512;
/// A queue's index up to this many entries is free; beyond it is charged to the budget.
const FREE_INDEX: usize = 64;

type Chunk = Box<[u8; CHUNK]>;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
}

/// The budget of a stack and its free chunks.
///
/// Neither direction gets more than three quarters: two stacks that have filled everything with data to send could take
/// no data from each other, and neither would ever move again.
pub(crate) struct Pool {
    budget: usize,
    used: usize,
    by_direction: [usize; 2],
    peak: usize,
    spare: Vec<Chunk>,
    /// Something was given back since the flag was taken.
    pub(crate) freed: bool,
}

impl Pool {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, used: 0, by_direction: [0; 2], peak: 0, spare: Vec::new(), freed: false }
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    pub(crate) fn memory(&self) -> usize {
        self.used + self.spare.len() * CHUNK
    }

    /// What one stream may hold in one direction: twice what is free there (the dynamic threshold of shared-memory
    /// switches), less a reserve. Of the reserve each takes a few chunks at most, so that streams which do not move do not
    /// stop those that come after them.
    pub(crate) fn share(&self, direction: Direction) -> usize {
        let free = self.free(direction);
        let reserve = self.limit() / 8;
        let floor = if free > reserve / 2 { 4 * CHUNK } else { CHUNK };
        (free.saturating_sub(reserve) * 2).max(floor)
    }

    /// What one direction of all streams may hold.
    fn limit(&self) -> usize {
        self.budget / 4 * 3
    }

    /// Counts bytes that are held elsewhere; false when the budget is spent.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let fits = self.used + bytes <= self.budget;
        if fits {
            self.used += bytes;
            self.peak = self.peak.max(self.used);
        }
        fits
    }

    /// Gives back what `charge` counted.
    pub(crate) fn refund(&mut self, bytes: usize) {
        self.used -= bytes;
        self.freed = true;
    }

    /// Bytes that a direction can still take.
    pub(crate) fn free(&self, direction: Direction) -> usize {
        let own = self.limit().saturating_sub(self.by_direction[direction as usize]);
        own.min(self.budget.saturating_sub(self.used))
    }

    fn take(&mut self, direction: Direction) -> Option<Chunk> {
        if self.free(direction) < CHUNK {
            return None;
        }
        self.used += CHUNK;
        self.by_direction[direction as usize] += CHUNK;
        self.peak = self.peak.max(self.used);
        Some(self.spare.pop().unwrap_or_else(|| Box::new([0; CHUNK])))
    }

    fn give(&mut self, direction: Direction, chunk: Chunk) {
        self.used -= CHUNK;
        self.by_direction[direction as usize] -= CHUNK;
        self.freed = true;
        if self.spare.len() < SPARE {
            self.spare.push(chunk);
        }
    }
}

/// A window of a stream: chunks addressed by stream offset, with holes where nothing was written.
pub(crate) struct Chunks {
    direction: Direction,
    /// Number of the first chunk: it covers the offsets `first * CHUNK ..`.
    first: u64,
    chunks: VecDeque<Option<Chunk>>,
    charged: usize,
}

impl Chunks {
    pub(crate) fn new(direction: Direction) -> Self {
        Self { direction, first: 0, chunks: VecDeque::new(), charged: 0 }
    }

    /// Writes `data` at `offset`; returns how much of it fitted into the budget.
    pub(crate) fn write(&mut self, pool: &mut Pool, offset: u64, data: &[u8]) -> usize {
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let within = (at % CHUNK as u64) as usize;
            let Some(chunk) = self.chunk_mut(pool, at / CHUNK as u64) else { break };
            let length = (CHUNK - within).min(data.len() - done);
            chunk[within..within + length].copy_from_slice(&data[done..done + length]);
            done += length;
        }
        done
    }

    /// Copies from `offset`; what was never written reads as nothing and ends the copy.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() {
            let slice = self.slice(offset + done as u64, out.len() - done);
            if slice.is_empty() {
                break;
            }
            out[done..done + slice.len()].copy_from_slice(slice);
            done += slice.len();
        }
        done
    }

    /// The longest slice at `offset`, at most `limit` bytes, at most to the end of its chunk.
    pub(crate) fn slice(&self, offset: u64, limit: usize) -> &[u8] {
        let number = offset / CHUNK as u64;
        let within = (offset % CHUNK as u64) as usize;
        let index = number.checked_sub(self.first).map(|index| index as usize);
        match index.and_then(|index| self.chunks.get(index)) {
            Some(Some(chunk)) => &chunk[within..within + limit.min(CHUNK - within)],
            _ => &[],
        }
    }

    /// Gives back the chunks that lie wholly below `offset`; all of them when nothing from `offset` on is in use.
    pub(crate) fn release(&mut self, pool: &mut Pool, offset: u64, empty: bool) {
        if empty {
            return self.clear(pool, offset);
        }
        let number = offset / CHUNK as u64;
        while self.first < number {
            match self.chunks.pop_front() {
                Some(Some(chunk)) => pool.give(self.direction, chunk),
                Some(None) => {}
                None => {
                    self.first = number;
                    break;
                }
            }
            self.first += 1;
        }
    }

    /// Gives back everything; the next write may be at `offset` or beyond.
    pub(crate) fn clear(&mut self, pool: &mut Pool, offset: u64) {
        for chunk in self.chunks.drain(..).flatten() {
            pool.give(self.direction, chunk);
        }
        self.first = offset / CHUNK as u64;
        if self.charged > 0 {
            pool.used -= self.charged;
            self.charged = 0;
            self.chunks = VecDeque::new();
        }
    }

    /// Gives back the chunks above `offset`.
    pub(crate) fn truncate(&mut self, pool: &mut Pool, offset: u64) {
        let keep = (offset.div_ceil(CHUNK as u64).saturating_sub(self.first)) as usize;
        while self.chunks.len() > keep {
            if let Some(Some(chunk)) = self.chunks.pop_back() {
                pool.give(self.direction, chunk);
            }
        }
    }

    fn chunk_mut(&mut self, pool: &mut Pool, number: u64) -> Option<&mut Chunk> {
        let index = number.checked_sub(self.first)? as usize;
        if index >= self.chunks.len() {
            if index >= self.chunks.capacity().max(FREE_INDEX) {
                self.charge(pool, index)?;
            }
            self.chunks.resize_with(index + 1, || None);
        }
        let slot = &mut self.chunks[index];
        if slot.is_none() {
            *slot = Some(pool.take(self.direction)?);
        }
        slot.as_mut()
    }

    /// Grows the index under the budget: a segment far ahead of a hole must not cost memory that nobody counts.
    fn charge(&mut self, pool: &mut Pool, index: usize) -> Option<()> {
        let capacity = (index + 1).next_power_of_two();
        let bytes = capacity * size_of::<Option<Chunk>>();
        if pool.used + bytes - self.charged > pool.budget {
            return None;
        }
        self.chunks.reserve_exact(capacity - self.chunks.len());
        pool.used = pool.used - self.charged + bytes;
        pool.peak = pool.peak.max(pool.used);
        self.charged = bytes;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_writes_read_back_and_everything_is_given_back() {
        let mut pool = Pool::new(1 << 20);
        let mut chunks = Chunks::new(Direction::Receive);
        let data: Vec<u8> = (0..20_000_u32).map(|i| (i % 251) as u8).collect();
        chunks.clear(&mut pool, 5_000);
        assert_eq!(chunks.write(&mut pool, 5_000, &data[..100]), 100);
        assert_eq!(chunks.write(&mut pool, 15_000, &data[10_000..]), 10_000);
        assert_eq!(chunks.write(&mut pool, 5_100, &data[100..10_000]), 9_900);
        let mut out = vec![0; 20_000];
        assert_eq!(chunks.read(5_000, &mut out), 20_000);
        assert_eq!(out, data);
        chunks.release(&mut pool, 12_288, false);
        assert_eq!(chunks.slice(12_287, 1), &[] as &[u8]);
        assert_eq!(chunks.slice(12_288, 1), &data[7_288..7_289]);
        chunks.release(&mut pool, 25_000, true);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn the_budget_holds() {
        let mut pool = Pool::new(14 * CHUNK);
        let mut chunks = Chunks::new(Direction::Receive);
        assert_eq!(chunks.write(&mut pool, 0, &[7; 20 * CHUNK]), 10 * CHUNK);
        assert_eq!(pool.used(), 10 * CHUNK);
        assert_eq!(chunks.write(&mut pool, 1 << 40, b"x"), 0);
        chunks.release(&mut pool, CHUNK as u64, false);
        assert_eq!(pool.used(), 9 * CHUNK);
    }
}
