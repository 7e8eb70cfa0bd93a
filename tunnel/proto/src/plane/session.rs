//! A session as the data path sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Peer;
use crate::time::limits::REJECT_AFTER_TIME;
use crate::transport::{RecvKey, Reject, SendKey};

/// The keys that one handshake made.
#[derive(Debug)]
pub struct Session {
    /// The receiving direction.
    pub recv: RecvKey,
    /// Whose session it is.
    pub peer: Arc<Peer>,
    pub(crate) send: Arc<SendKey>,
    pub(crate) index: u32,
    pub(crate) initiator: bool,
    /// Set on the first data message. An initiator's session is confirmed by the response.
    pub(crate) confirmed: AtomicBool,
}

impl Session {
    /// Decrypts a data message in place, see [`RecvKey::open`]; refuses all once the session is older than
    /// `REJECT_AFTER_TIME`.
    pub fn open<'a>(&self, now: Duration, packet: &'a mut [u8]) -> Result<&'a mut [u8], Reject> {
        if self.expired(now) {
            return Err(Reject::Expired);
        }
        self.recv.open(packet)
    }

    /// Whether the session is older than `REJECT_AFTER_TIME`.
    #[must_use]
    pub fn expired(&self, now: Duration) -> bool {
        now.saturating_sub(self.send.born()) >= REJECT_AFTER_TIME
    }

    /// Whether `Plane::confirm` has nothing to do for it.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed)
    }

    /// Our index: what the other end writes into its data messages.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }
}
