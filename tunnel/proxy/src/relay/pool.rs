//! Copy buffers: a bounded number of large ones, as many bytes in small ones, and tiny ones for whoever finds none left.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::Mutex;

/// One read and one write of bulk data.
const LARGE: usize = 64 << 10;
/// What a stream works with when all large buffers are in use.
const SMALL: usize = 4 << 10;
/// What a stream works with when those are in use too: thousands of streams whose readers have stopped hold one each way.
const TINY: usize = 512;
/// Large buffers that are kept for the next stream.
const KEPT: usize = 16;

/// Buffers of all streams.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Box<[u8]>>>,
    large: Share,
    small: Share,
}

/// How many buffers of one size are out.
#[derive(Debug)]
struct Share {
    out: AtomicUsize,
    most: usize,
}

impl Share {
    fn of(bytes: usize, size: usize) -> Self {
        Self { out: AtomicUsize::new(0), most: (bytes / size).max(1) }
    }

    fn take(&self) -> bool {
        let taken = self.out.fetch_add(1, Relaxed) < self.most;
        if !taken {
            self.give();
        }
        taken
    }

    fn is_half_out(&self) -> bool {
        self.out.load(Relaxed) >= self.most.div_ceil(2)
    }

    fn give(&self) {
        self.out.fetch_sub(1, Relaxed);
    }
}

impl Pool {
    /// At most `bytes` are in large buffers at once, and as many in small ones; at least one of each is.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(Vec::new()),
            large: Share::of(bytes, LARGE),
            small: Share::of(bytes, SMALL),
        })
    }

    /// Whether half of the large buffers are out: from then on, streams hold none if they can do without. The other half is for
    /// those that move.
    pub(crate) fn is_tight(&self) -> bool {
        self.large.is_half_out()
    }

    /// Buffers that are out, those aside that are not counted.
    #[cfg(test)]
    pub(crate) fn out(&self) -> usize {
        self.large.out.load(Relaxed) + self.small.out.load(Relaxed)
    }

    /// A buffer; never waits.
    pub(crate) fn take(self: &Arc<Self>) -> Buffer {
        if self.large.take() {
            let kept = self.free.lock().pop();
            Buffer { bytes: kept.unwrap_or_else(|| vec![0; LARGE].into()), home: Some(Arc::clone(self)) }
        } else if self.small.take() {
            Buffer { bytes: vec![0; SMALL].into(), home: Some(Arc::clone(self)) }
        } else {
            Buffer { bytes: vec![0; TINY].into(), home: None }
        }
    }
}

/// A buffer that goes back to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    home: Option<Arc<Pool>>,
}

impl Buffer {
    /// Bytes that were read before there was a stream to write them to.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), home: None }
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(home) = &self.home else { return };
        if self.bytes.len() < LARGE {
            home.small.give();
            return;
        }
        home.large.give();
        let mut free = home.free.lock();
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_bounded_and_come_back() {
        let pool = Pool::new(2 * LARGE);
        let mut all: Vec<Buffer> = (0..2 + 2 * LARGE / SMALL + 1).map(|_| pool.take()).collect();
        assert_eq!((all[1].len(), all[2].len()), (LARGE, SMALL));
        assert_eq!(all[all.len() - 2..].iter().map(|one| one.len()).collect::<Vec<_>>(), [SMALL, TINY]);
        all.truncate(3);
        assert_eq!((pool.large.out.load(Relaxed), pool.small.out.load(Relaxed)), (2, 1));
        all.remove(0);
        assert_eq!(pool.take().len(), LARGE);
        all.clear();
        assert_eq!((pool.large.out.load(Relaxed), pool.small.out.load(Relaxed)), (0, 0));
        assert_eq!(pool.free.lock().len(), 2);
    }
}
