//! Copy buffers: a bounded number of large ones, and small ones for whoever finds none left.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::Mutex;

/// One read and one write of bulk data.
const LARGE: usize = 64 << 10;
/// What a stream works with when all large buffers are in use.
const SMALL: usize = 4 << 10;
/// Large buffers that are kept for the next stream.
const KEPT: usize = 16;

/// Buffers of all streams.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Box<[u8]>>>,
    out: AtomicUsize,
    most: usize,
}

impl Pool {
    /// At most `bytes` are in large buffers at once, and at least one is.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(Vec::new()),
            out: AtomicUsize::new(0),
            most: (bytes / LARGE).max(1),
        })
    }

    /// A buffer; never waits.
    pub(crate) fn take(self: &Arc<Self>) -> Buffer {
        if self.out.fetch_add(1, Relaxed) >= self.most {
            self.out.fetch_sub(1, Relaxed);
            return Buffer { bytes: vec![0; SMALL].into(), home: None };
        }
        let kept = self.free.lock().pop();
        Buffer { bytes: kept.unwrap_or_else(|| vec![0; LARGE].into()), home: Some(Arc::clone(self)) }
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
        if let Some(home) = &self.home {
            home.out.fetch_sub(1, Relaxed);
            let mut free = home.free.lock();
            if free.len() < KEPT {
                free.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_bounded_and_come_back() {
        let pool = Pool::new(2 * LARGE);
        let (a, b, c) = (pool.take(), pool.take(), pool.take());
        assert_eq!((a.len(), b.len(), c.len()), (LARGE, LARGE, SMALL));
        drop(c);
        assert_eq!(pool.out.load(Relaxed), 2);
        drop(a);
        assert_eq!(pool.take().len(), LARGE);
        drop(b);
        assert_eq!(pool.out.load(Relaxed), 0);
        assert_eq!(pool.free.lock().len(), 2);
    }
}
