//! The half of the device that the data path's thread holds.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use warren_netstack::Batch;

use super::Net;
use super::shared::Shared;

/// Packets of one batch: two sends of as many full ones as a segmenting send takes (65,507 bytes).
const PACKETS: usize = 90;

/// The next step after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The batch is full: send it, and take another turn.
    Again,
    /// Send the batch, then wait for packets, for [`Driver::wake_fd`], or for as long as this (`None`: for ever).
    Wait(Option<Duration>),
}

/// Drives the stack: for one thread. When it is dropped the device has ended, and every stream with it.
pub struct Driver {
    shared: Arc<Shared>,
    batch: Batch,
    mtu: usize,
    woken: Vec<Waker>,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let mtu = shared.lock().mtu;
        Self { shared, batch: Batch::with_capacity(PACKETS, mtu), mtu, woken: Vec::new() }
    }

    /// A handle of the device.
    pub fn net(&self) -> Net {
        Net::new(Arc::clone(&self.shared))
    }

    /// Readable when a stream has something to do for the stack while its thread sleeps.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }

    /// To be called when [`Driver::wake_fd`] was readable.
    pub fn acknowledge(&self) {
        let _ = rustix::io::read(&self.shared.wake, &mut [0_u8; 8]);
    }

    /// Gives the stack the packets that have come, runs what is due, wakes tasks, and collects the packets that may
    /// leave in [`Driver::batch`].
    pub fn turn<'a>(&mut self, packets: impl IntoIterator<Item = &'a [u8]>) -> Turn {
        let now = self.shared.now();
        self.batch.clear();
        let mut state = self.shared.lock();
        state.asleep = false;
        if state.mtu != self.mtu {
            self.mtu = state.mtu;
            self.batch = Batch::with_capacity(PACKETS, self.mtu);
        }
        for packet in packets {
            state.stack.input(now, packet);
        }
        state.stack.poll(now, &mut self.batch);
        state.dispatch(&mut self.woken);
        let turn = if self.batch.is_full() {
            Turn::Again
        } else {
            let due = state.stack.next_timeout();
            state.asleep = true;
            Turn::Wait(due.map(|due| due.saturating_sub(now)))
        };
        drop(state);
        self.wake();
        turn
    }

    /// What the last turn has collected.
    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    fn wake(&mut self) {
        for waker in self.woken.drain(..) {
            waker.wake();
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.wake_all(&mut self.woken);
        drop(state);
        self.wake();
    }
}
