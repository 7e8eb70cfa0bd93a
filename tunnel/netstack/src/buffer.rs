//! Stream buffers in chunks from one budgeted pool.
//!
//! All data that a stack buffers for its streams is in chunks of the [`Pool`]. When the budget is used up, a sender accepts
//! no more data. A receiver announces no more than it has reserved, so it always has room for what arrives inside its
//! window. A reserved chunk is counted but not allocated, so a stream without data uses no memory for chunks. What a stream is
//! beside its chunks counts too, within an eighth of the budget.

use std::collections::VecDeque;

/// Bytes in a chunk.
pub(crate) const CHUNK: usize = 4096;
/// Chunks kept for reuse instead of being given back to the allocator.
const SPARE: usize = 512;
/// A stream that has not shown that it needs a large window gets this part of what is free.
const UNPROVED: usize = 1024;
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
    /// Counted for receive windows, and not held yet.
    promised: usize,
    by_direction: [usize; 2],
    /// What the streams are beside their chunks.
    streams: usize,
    peak: usize,
    spare: Vec<Chunk>,
    /// Something was given back since the flag was taken.
    pub(crate) freed: bool,
    /// Streams whose windows are small for want of memory: the others do not grow meanwhile.
    pub(crate) waiting: usize,
    /// Bytes inside announced windows that streams did not keep.
    pub(crate) discarded: u64,
}

impl Pool {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget,
            used: 0,
            promised: 0,
            by_direction: [0; 2],
            streams: 0,
            peak: 0,
            spare: Vec::new(),
            freed: false,
            waiting: 0,
            discarded: 0,
        }
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

    /// Counted for receive windows whose data has not arrived.
    pub(crate) fn promised(&self) -> usize {
        self.promised
    }

    /// What one stream may hold for sending: twice what is free there (the dynamic threshold of shared-memory switches), less
    /// a reserve. Of the reserve each takes a few chunks at most, so that streams which do not move do not stop those that come
    /// after them.
    pub(crate) fn share(&self) -> usize {
        let free = self.free(Direction::Send);
        let reserve = self.limit() / 8;
        let floor = if free > reserve / 2 { 4 * CHUNK } else { CHUNK };
        (free.saturating_sub(reserve) * 2).max(floor)
    }

    /// Chunks that a stream may hold and have promised for receiving, when it has `span` of them. One that has `proved` by its
    /// reader that it needs a window gets up to twice what is then left, less the reserve; others a small part of what is free, so
    /// that thousands that are idle leave room. `least` chunks come from the reserve.
    pub(crate) fn allowance(&self, span: usize, least: usize, proved: bool) -> usize {
        let free = self.free(Direction::Receive) / CHUNK;
        let reserve = self.limit() / CHUNK / 8;
        let most = match proved {
            _ if self.waiting > 0 => 0,
            true => (free + span).saturating_sub(reserve) * 2 / 3,
            false => (free + span) / UNPROVED,
        };
        most.max(least).min(span + free).max(span)
    }

    /// The largest window that a stream can ever have.
    pub(crate) fn most(&self) -> usize {
        self.budget / 4 * 3
    }

    /// What one direction of all streams may hold.
    fn limit(&self) -> usize {
        self.spendable() / 4 * 3
    }

    /// The budget without what thousands of streams take of it by being there, which is an eighth at most: each of five
    /// thousand still gets a chunk for what arrives.
    fn spendable(&self) -> usize {
        self.budget - self.streams.min(self.budget / 8)
    }

    /// A stream is there, with so many bytes beside its chunks.
    pub(crate) fn opened(&mut self, bytes: usize) {
        self.streams += bytes;
    }

    /// It is no more.
    pub(crate) fn closed(&mut self, bytes: usize) {
        self.streams -= bytes;
        self.freed = true;
    }

    /// Counts bytes that are held elsewhere; false when the budget is spent.
    pub(crate) fn charge(&mut self, bytes: usize) -> bool {
        let fits = self.used + self.promised + bytes <= self.spendable();
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
        let promised = if direction == Direction::Receive { self.promised } else { 0 };
        let own = self.limit().saturating_sub(self.by_direction[direction as usize] + promised);
        own.min(self.spendable().saturating_sub(self.used + self.promised))
    }

    /// Counts chunks for a receive window; as many as there are, at most.
    fn promise(&mut self, chunks: usize) -> usize {
        let granted = chunks.min(self.free(Direction::Receive) / CHUNK);
        self.promised += granted * CHUNK;
        granted
    }

    /// Takes back what `promise` counted.
    fn withdraw(&mut self, chunks: usize) {
        self.promised -= chunks * CHUNK;
        self.freed |= chunks > 0;
    }

    /// A chunk that was promised: there is always one.
    fn redeem(&mut self) -> Chunk {
        self.promised -= CHUNK;
        self.hold(Direction::Receive)
    }

    fn hold(&mut self, direction: Direction) -> Chunk {
        self.used += CHUNK;
        self.by_direction[direction as usize] += CHUNK;
        self.peak = self.peak.max(self.used);
        self.spare.pop().unwrap_or_else(|| Box::new([0; CHUNK]))
    }

    fn take(&mut self, direction: Direction) -> Option<Chunk> {
        if self.free(direction) < CHUNK {
            return None;
        }
        Some(self.hold(direction))
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

/// A window of a stream: chunks addressed by stream offset, with holes where nothing was written. For receiving, chunks are
/// reserved before they are written.
pub(crate) struct Chunks {
    direction: Direction,
    /// Offset at which the first chunk begins. It moves to the next byte whenever nothing is held, so that the chunks that a
    /// stream has are whole.
    start: u64,
    /// Chunks from there on that are held or promised; for receiving.
    reserved: usize,
    chunks: VecDeque<Option<Chunk>>,
    charged: usize,
}

impl Chunks {
    pub(crate) fn new(direction: Direction) -> Self {
        Self { direction, start: 0, reserved: 0, chunks: VecDeque::new(), charged: 0 }
    }

    /// Reserves memory up to the offset `edge` as far as it is `allowed` (in chunks); returns up to where there is memory.
    pub(crate) fn reserve(&mut self, pool: &mut Pool, edge: u64, allowed: usize) -> u64 {
        let free = pool.free(Direction::Receive) / CHUNK;
        let mut wanted = self.chunks_to(edge).min(allowed).min(self.reserved + free);
        if wanted > self.chunks.capacity().max(FREE_INDEX) && self.charge(pool, wanted - 1).is_none() {
            wanted = self.chunks.capacity().max(FREE_INDEX);
        }
        self.reserved += pool.promise(wanted.saturating_sub(self.reserved));
        edge.min(self.reach(self.reserved))
    }

    /// Chunks from the first one on that cover everything below `edge`.
    pub(crate) fn chunks_to(&self, edge: u64) -> usize {
        edge.saturating_sub(self.start).div_ceil(CHUNK as u64) as usize
    }

    /// Offset at which so many chunks from the first one on end.
    pub(crate) fn reach(&self, chunks: usize) -> u64 {
        self.start + (chunks * CHUNK) as u64
    }

    /// Chunks that are held or promised.
    pub(crate) fn span(&self) -> usize {
        self.reserved
    }

    /// Gives back what is reserved beyond `edge`, where nothing was written.
    pub(crate) fn withdraw(&mut self, pool: &mut Pool, edge: u64) {
        let keep = self.chunks_to(edge).max(self.chunks.len());
        pool.withdraw(self.reserved.saturating_sub(keep));
        self.reserved = self.reserved.min(keep);
    }

    /// Writes `data` at `offset`; returns how much of it fitted into the budget.
    pub(crate) fn write(&mut self, pool: &mut Pool, offset: u64, data: &[u8]) -> usize {
        let mut done = 0;
        while done < data.len() {
            let Some(at) = (offset + done as u64).checked_sub(self.start) else { break };
            let within = (at % CHUNK as u64) as usize;
            let Some(chunk) = self.chunk_mut(pool, (at / CHUNK as u64) as usize) else { break };
            let length = (CHUNK - within).min(data.len() - done);
            chunk[within..within + length].copy_from_slice(&data[done..done + length]);
            done += length;
        }
        done
    }

    /// Bytes for sending that fit at `offset`, which is where the data ends: into its chunk, and into what is free.
    pub(crate) fn room(&self, pool: &Pool, offset: u64) -> usize {
        let at = offset.saturating_sub(self.start);
        let begun = matches!(self.chunks.get((at / CHUNK as u64) as usize), Some(Some(_)));
        let rest = if begun { CHUNK - (at % CHUNK as u64) as usize } else { 0 };
        rest + pool.free(Direction::Send) / CHUNK * CHUNK
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
        let Some(at) = offset.checked_sub(self.start) else { return &[] };
        let within = (at % CHUNK as u64) as usize;
        match self.chunks.get((at / CHUNK as u64) as usize) {
            Some(Some(chunk)) => &chunk[within..within + limit.min(CHUNK - within)],
            _ => &[],
        }
    }

    /// Gives back the chunks that lie wholly below `offset`; all that are held when nothing from `offset` on is in use. What is
    /// reserved from `offset` on stays so.
    pub(crate) fn release(&mut self, pool: &mut Pool, offset: u64, empty: bool) {
        let gone = offset.saturating_sub(self.start) / CHUNK as u64;
        for chunk in self.chunks.drain(..self.chunks.len().min(gone as usize)).flatten() {
            pool.give(self.direction, chunk);
            if self.direction == Direction::Receive {
                pool.promised += CHUNK;
            }
        }
        self.start += gone * CHUNK as u64;
        let passed = self.reserved.min(gone as usize);
        pool.withdraw(passed);
        self.reserved -= passed;
        if empty {
            self.empty(pool, offset);
        }
    }

    /// Gives back everything; the next write may be at `offset` or beyond.
    pub(crate) fn clear(&mut self, pool: &mut Pool, offset: u64) {
        let reserved = std::mem::take(&mut self.reserved);
        self.empty(pool, offset);
        pool.withdraw(reserved);
    }

    /// Gives back every chunk; what is reserved stays so, and covers what follows `offset`.
    fn empty(&mut self, pool: &mut Pool, offset: u64) {
        for chunk in self.chunks.drain(..).flatten() {
            pool.give(self.direction, chunk);
            if self.direction == Direction::Receive {
                pool.promised += CHUNK;
            }
        }
        self.start = self.start.max(offset);
        if self.charged > 0 && self.reserved <= FREE_INDEX {
            pool.used -= self.charged;
            self.charged = 0;
            self.chunks = VecDeque::new();
        }
    }

    fn chunk_mut(&mut self, pool: &mut Pool, index: usize) -> Option<&mut Chunk> {
        if self.direction == Direction::Receive && index >= self.reserved {
            return None;
        }
        if index >= self.chunks.len() {
            if index >= self.chunks.capacity().max(FREE_INDEX) {
                self.charge(pool, index)?;
            }
            self.chunks.resize_with(index + 1, || None);
        }
        let slot = &mut self.chunks[index];
        if slot.is_none() {
            *slot = Some(match self.direction {
                Direction::Send => pool.take(self.direction)?,
                Direction::Receive => pool.redeem(),
            });
        }
        slot.as_mut()
    }

    /// Grows the index under the budget: a segment far ahead of a hole must not cost memory that nobody counts.
    fn charge(&mut self, pool: &mut Pool, index: usize) -> Option<()> {
        let capacity = (index + 1).next_power_of_two();
        let bytes = capacity * size_of::<Option<Chunk>>();
        if pool.used + pool.promised + bytes - self.charged > pool.spendable() {
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
        assert_eq!(chunks.reserve(&mut pool, 25_000, usize::MAX), 25_000);
        assert_eq!(chunks.write(&mut pool, 5_000, &data[..100]), 100);
        assert_eq!(chunks.write(&mut pool, 15_000, &data[10_000..]), 10_000);
        assert_eq!(chunks.write(&mut pool, 5_100, &data[100..10_000]), 9_900);
        let mut out = vec![0; 20_000];
        assert_eq!(chunks.read(5_000, &mut out), 20_000);
        assert_eq!(out, data);
        chunks.release(&mut pool, 5_000 + 8_192, false);
        assert_eq!(chunks.slice(5_000 + 8_191, 1), &[] as &[u8]);
        assert_eq!(chunks.slice(5_000 + 8_192, 1), &data[8_192..8_193]);
        chunks.release(&mut pool, 25_000, true);
        assert_eq!(
            (pool.used(), pool.promised()),
            (0, CHUNK),
            "of five chunks from 5,000 on, one reaches beyond 25,000"
        );
        chunks.clear(&mut pool, 25_000);
        assert_eq!((pool.used(), pool.promised()), (0, 0));
    }

    #[test]
    fn the_budget_holds() {
        let mut pool = Pool::new(14 * CHUNK);
        let mut chunks = Chunks::new(Direction::Send);
        assert_eq!(chunks.write(&mut pool, 0, &[7; 20 * CHUNK]), 10 * CHUNK);
        assert_eq!(pool.used(), 10 * CHUNK);
        assert_eq!(chunks.write(&mut pool, 1 << 40, b"x"), 0);
        chunks.release(&mut pool, CHUNK as u64, false);
        assert_eq!(pool.used(), 9 * CHUNK);
    }

    #[test]
    fn streams_count_up_to_an_eighth() {
        let mut pool = Pool::new(32 * CHUNK);
        assert_eq!(pool.free(Direction::Send), 24 * CHUNK);
        pool.opened(4 * CHUNK);
        assert_eq!(pool.free(Direction::Send), 21 * CHUNK);
        pool.opened(100 * CHUNK);
        assert_eq!(pool.free(Direction::Send), 21 * CHUNK);
        assert!(!pool.charge(29 * CHUNK) && pool.charge(28 * CHUNK));
        pool.refund(28 * CHUNK);
        pool.closed(104 * CHUNK);
        assert_eq!(pool.free(Direction::Send), 24 * CHUNK);
    }

    #[test]
    fn there_is_room_for_what_a_write_takes() {
        let mut pool = Pool::new(14 * CHUNK);
        let mut chunks = Chunks::new(Direction::Send);
        let mut end = 0;
        for length in [100, CHUNK, 3 * CHUNK - 100, CHUNK / 2, 20 * CHUNK, 1] {
            let room = chunks.room(&pool, end);
            let taken = chunks.write(&mut pool, end, &vec![7; length]);
            assert_eq!(taken, length.min(room), "{length} bytes at {end}");
            end += taken as u64;
        }
        assert_eq!(end, 10 * CHUNK as u64);
        chunks.release(&mut pool, CHUNK as u64, false);
        assert_eq!(chunks.room(&pool, end), CHUNK);
    }

    #[test]
    fn what_is_reserved_can_be_written_whatever_others_take() {
        let mut pool = Pool::new(16 * CHUNK);
        let (mut mine, mut theirs) = (Chunks::new(Direction::Receive), Chunks::new(Direction::Receive));
        let edge = (5 * CHUNK) as u64 - 7;
        assert_eq!(mine.reserve(&mut pool, edge, usize::MAX), edge);
        assert_eq!(theirs.reserve(&mut pool, 1 << 17, usize::MAX), 7 * CHUNK as u64);
        assert_eq!(pool.free(Direction::Receive), 0);
        let mut sender = Chunks::new(Direction::Send);
        assert_eq!(sender.write(&mut pool, 0, &[1; 16 * CHUNK]), 4 * CHUNK);
        assert_eq!(pool.used(), 4 * CHUNK);
        assert_eq!(mine.write(&mut pool, 0, &vec![2; edge as usize]), edge as usize);
        assert_eq!(mine.write(&mut pool, 5 * CHUNK as u64, b"x"), 0, "not reserved");
        // Reading moves the reservation on: there is room behind the edge again.
        mine.release(&mut pool, 2 * CHUNK as u64, false);
        assert_eq!(mine.reserve(&mut pool, 1 << 20, 5), 7 * CHUNK as u64);
        assert_eq!(pool.free(Direction::Receive), 0);
        theirs.withdraw(&mut pool, 1);
        assert_eq!(theirs.span(), 1);
        mine.clear(&mut pool, edge);
        theirs.clear(&mut pool, 0);
        assert_eq!((pool.used(), pool.promised()), (4 * CHUNK, 0));
    }
}
