//! Data messages: one key for each direction of a session (whitepaper section 5.4.6).
//!
//! ```text
//! 0      4          8          16                        len-16    len
//! | type | receiver | counter  | encrypted inner packet  | tag     |
//! |  4   | u32 LE   | u64 LE   | padded to 16 bytes      | Poly1305|
//! ```
//!
//! The nonce is four zero bytes and the counter. Packets are sealed and opened in place, without allocation.
//! [`SendKey`] is shared between threads without a lock: a thread reserves a run of counters at once and seals
//! with them. [`RecvKey`] keeps the replay window behind a mutex that is held for some nanoseconds.

#[cfg(test)]
mod tests;
mod window;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use warren_cipher::{Key, NONCE, Suite};

use crate::time::limits::{REJECT_AFTER_MESSAGES, REKEY_AFTER_MESSAGES};

pub use window::{WINDOW, Window};

/// Bytes before the encrypted packet.
pub const DATA_HEADER: usize = 16;
/// Bytes after the encrypted packet.
pub const TAG: usize = warren_cipher::TAG;
/// First word of a data message, little endian.
pub const DATA_TYPE: u32 = 4;

/// Why a data message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// Shorter than header and tag.
    #[error("the message is too short")]
    Short,
    /// The first word is not that of a data message.
    #[error("not a data message")]
    Type,
    /// The tag does not fit.
    #[error("the message is not authentic")]
    Authentication,
    /// The counter was seen before, or is older than the window.
    #[error("the message is a replay or too old")]
    Replay,
    /// The counter is beyond `REJECT_AFTER_MESSAGES`, or the session is older than `REJECT_AFTER_TIME`.
    #[error("the session has expired")]
    Expired,
}

/// The receiver's index of a data message that is long enough to be one.
#[must_use]
pub fn data_receiver(message: &[u8]) -> Option<u32> {
    if message.len() < DATA_HEADER + TAG || word(message, 0) != DATA_TYPE {
        return None;
    }
    Some(word(message, 4))
}

/// Key of the sending direction.
pub struct SendKey {
    key: Key,
    receiver: u32,
    born: Duration,
    next: AtomicU64,
}

impl SendKey {
    /// A key that addresses its messages to `receiver`, the other end's index. `born` is monotonic time.
    #[must_use]
    pub fn new(suite: Suite, key: &[u8; 32], receiver: u32, born: Duration) -> Self {
        Self::with_counter(suite, key, receiver, born, 0)
    }

    /// As [`SendKey::new`], with the counter to start from: to test what happens near the end of it.
    #[must_use]
    pub fn with_counter(suite: Suite, key: &[u8; 32], receiver: u32, born: Duration, counter: u64) -> Self {
        Self { key: Key::new(suite, key), receiver, born, next: AtomicU64::new(counter) }
    }

    /// Takes `n` counters and returns the first of them; `None` once `REJECT_AFTER_MESSAGES` would pass.
    ///
    /// A counter is given out once, whatever the number of threads: the update is a compare and swap, because
    /// a plain addition could wrap around after enough refusals.
    pub fn reserve(&self, n: u64) -> Option<u64> {
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| {
                first.checked_add(n).filter(|end| *end <= REJECT_AFTER_MESSAGES)
            })
            .ok()
    }

    /// Writes the header, encrypts and appends the tag.
    ///
    /// `packet` is 16 bytes of room for the header, the plaintext (already padded) and 16 bytes of room for the
    /// tag. `counter` is one that [`SendKey::reserve`] gave, used once.
    ///
    /// # Panics
    ///
    /// If `packet` has not the room for header and tag.
    pub fn seal(&self, counter: u64, packet: &mut [u8]) {
        let (header, rest) = packet.split_at_mut(DATA_HEADER);
        let (body, room) = rest.split_at_mut(rest.len() - TAG);
        header[..4].copy_from_slice(&DATA_TYPE.to_le_bytes());
        header[4..8].copy_from_slice(&self.receiver.to_le_bytes());
        header[8..].copy_from_slice(&counter.to_le_bytes());
        match self.key.seal(&nonce(counter), &[], body) {
            Ok(tag) => room.copy_from_slice(&tag),
            // A packet of more than 256 GiB, or a defect. Nothing unencrypted may leave.
            Err(_) => packet.fill(0),
        }
    }

    /// The other end's index.
    #[must_use]
    pub fn receiver(&self) -> u32 {
        self.receiver
    }

    /// Monotonic time at which the session was made.
    #[must_use]
    pub fn born(&self) -> Duration {
        self.born
    }

    /// Counters given out so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Whether so many messages were sent that a new session is due.
    #[must_use]
    pub fn worn(&self) -> bool {
        self.used() >= REKEY_AFTER_MESSAGES
    }
}

impl std::fmt::Debug for SendKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SendKey").field("receiver", &self.receiver).field("used", &self.used()).finish()
    }
}

/// Key of the receiving direction, with its replay window.
pub struct RecvKey {
    key: Key,
    window: Mutex<Window>,
}

impl RecvKey {
    /// A key of which nothing was received yet.
    #[must_use]
    pub fn new(suite: Suite, key: &[u8; 32]) -> Self {
        Self { key: Key::new(suite, key), window: Mutex::new(Window::new()) }
    }

    /// Decrypts a whole data message in place and returns the inner packet with its padding; empty is a
    /// keepalive. The window moves only after authentication. On error the bytes are unspecified.
    pub fn open<'a>(&self, packet: &'a mut [u8]) -> Result<&'a mut [u8], Reject> {
        if packet.len() < DATA_HEADER + TAG {
            return Err(Reject::Short);
        }
        if word(packet, 0) != DATA_TYPE {
            return Err(Reject::Type);
        }
        let counter = u64::from(word(packet, 8)) | (u64::from(word(packet, 12)) << 32);
        if counter >= REJECT_AFTER_MESSAGES {
            return Err(Reject::Expired);
        }
        let plain = self
            .key
            .open(&nonce(counter), &[], &mut packet[DATA_HEADER..])
            .map_err(|_| Reject::Authentication)?;
        if self.window.lock().accept(counter) { Ok(plain) } else { Err(Reject::Replay) }
    }
}

impl std::fmt::Debug for RecvKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecvKey(redacted)")
    }
}

fn nonce(counter: u64) -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
