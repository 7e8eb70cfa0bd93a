//! The bounded, non-blocking queue from the data path to the control thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rustix::event::{EventfdFlags, eventfd};
use warren_proto::plane::{Endpoint, Wakeup};

/// Messages to the control thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// A handshake message or cookie: for `Engine::handle`.
    Datagram {
        /// Its sender.
        from: Endpoint,
        /// The UDP payload.
        bytes: Vec<u8>,
    },
    /// To call `Engine::serve_wakeups`.
    Wakeup,
}

#[derive(Debug)]
struct Inner {
    wake: OwnedFd,
    wakeup: AtomicBool,
    dropped: AtomicU64,
}

/// The data path's end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ControlSender {
    queue: SyncSender<Control>,
    inner: Arc<Inner>,
}

/// The control thread's end: wait until it is readable, then take all with [`Self::next`].
#[derive(Debug)]
pub struct ControlReceiver {
    queue: Receiver<Control>,
    inner: Arc<Inner>,
}

/// A channel for `capacity` datagrams. Further ones are dropped and counted.
pub fn control_channel(capacity: usize) -> io::Result<(ControlSender, ControlReceiver)> {
    let (queue, received) = sync_channel(capacity);
    let inner = Arc::new(Inner {
        wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        wakeup: AtomicBool::new(false),
        dropped: AtomicU64::new(0),
    });
    Ok((ControlSender { queue, inner: Arc::clone(&inner) }, ControlReceiver { queue: received, inner }))
}

impl ControlSender {
    /// Sends a datagram. False if it was dropped because the queue is full.
    pub fn datagram(&self, from: Endpoint, bytes: &[u8]) -> bool {
        let sent = self.queue.try_send(Control::Datagram { from, bytes: bytes.to_vec() }).is_ok();
        if sent {
            self.wake();
        } else {
            self.inner.dropped.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }

    /// Requests `Engine::serve_wakeups` if needed.
    #[inline]
    pub fn attend(&self, wakeup: Wakeup) {
        if wakeup.needed() && !self.inner.wakeup.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    /// Makes the receiver readable.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.inner.wake, &1u64.to_ne_bytes());
    }

    /// Datagrams that were dropped.
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Ordering::Relaxed)
    }
}

impl ControlReceiver {
    /// Call this before reading the messages: later messages make it readable again.
    pub fn acknowledge(&self) {
        let _ = rustix::io::read(&self.inner.wake, &mut [0u8; 8]);
    }

    /// The next message, without waiting.
    #[expect(
        clippy::should_implement_trait,
        reason = "a queue that is empty for now is no iterator that ended"
    )]
    pub fn next(&mut self) -> Option<Control> {
        if self.inner.wakeup.swap(false, Ordering::AcqRel) {
            return Some(Control::Wakeup);
        }
        self.queue.try_recv().ok()
    }
}

impl AsFd for ControlReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (sender, mut receiver) = control_channel(2).unwrap();
        let from = Endpoint::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let taken: Vec<_> = (0..4).map(|n| sender.datagram(from, &[n])).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(sender.dropped(), 2);
        receiver.acknowledge();
        assert_eq!(receiver.next(), Some(Control::Datagram { from, bytes: vec![0] }));
        assert_eq!(receiver.next(), Some(Control::Datagram { from, bytes: vec![1] }));
        assert_eq!(receiver.next(), None);
    }
}
