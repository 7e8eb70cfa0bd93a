//! How the data path wakes the control side for a peer.
//!
//! A peer sets a bit and, if none was set before, puts its id into the queue. So the queue holds a peer at most
//! once, however many packets ask, and the mutex is taken only at such a change.

use parking_lot::Mutex;

use super::PeerId;

/// Whether the control side must be woken to call `Engine::serve_wakeups`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "if `needed`, the control side must be woken, else timers and handshakes stall"]
pub struct Wakeup(bool);

impl Wakeup {
    /// Nothing to do.
    pub const NONE: Self = Self(false);

    pub(crate) const NEEDED: Self = Self(true);

    /// Whether to wake it.
    #[must_use]
    pub fn needed(self) -> bool {
        self.0
    }

    /// Needed if either is: to wake once a batch.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 || other.0)
    }
}

impl std::ops::BitOrAssign for Wakeup {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Packets wait for a session.
pub(crate) const WANT_SESSION: u8 = 1;
/// The session is old or worn: make the next one.
pub(crate) const REKEY: u8 = 2;
/// The traffic timers must be started.
pub(crate) const TRAFFIC: u8 = 4;
/// The first data message came on a session of ours as responder.
pub(crate) const CONFIRMED: u8 = 8;
/// A message came from the peer itself, which was reached through another one until then.
pub(crate) const ARRIVED: u8 = 16;

#[derive(Debug, Default)]
pub(crate) struct WakeupQueue(Mutex<Vec<PeerId>>);

impl WakeupQueue {
    pub(crate) fn push(&self, id: PeerId) {
        self.0.lock().push(id);
    }

    pub(crate) fn take(&self) -> Vec<PeerId> {
        std::mem::take(&mut *self.0.lock())
    }
}
