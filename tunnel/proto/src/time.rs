//! Time as an argument.

use std::time::Duration;

/// One reading of both clocks. The crate never reads a clock itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Monotonic time since any origin that stays the same for the life of an engine.
    /// All timers run on it.
    pub mono: Duration,
    /// Wall time since the UNIX epoch. Only the TAI64N stamp of an initiation (whitepaper section 5.1) and
    /// the "latest handshake" of the status come from it. It may jump.
    pub wall: Duration,
}

impl Now {
    /// Both readings.
    #[must_use]
    pub fn new(mono: Duration, wall: Duration) -> Self {
        Self { mono, wall }
    }
}

/// The constants of whitepaper section 6.1.
pub mod limits {
    use std::time::Duration;

    /// The initiator of a session makes a new one when it sends with a session of this age.
    pub const REKEY_AFTER_TIME: Duration = Duration::from_secs(120);
    /// A session of this age is used no more.
    pub const REJECT_AFTER_TIME: Duration = Duration::from_secs(180);
    /// Initiations are repeated for this long.
    pub const REKEY_ATTEMPT_TIME: Duration = Duration::from_secs(90);
    /// Time between two initiations, to which up to [`REKEY_JITTER`] is added.
    pub const REKEY_TIMEOUT: Duration = Duration::from_secs(5);
    /// Time after which the very first initiation to a peer is repeated, once. The peer drops an initiation that comes too
    /// soon after one of the same key ([`INITIATION_INTERVAL`], and stamps of 16 ms), which a program that has just been
    /// started again cannot know of; and at a start nothing else would notice a lost datagram for [`REKEY_TIMEOUT`].
    pub const FIRST_RETRY: Duration = Duration::from_millis(250);
    /// Upper bound of the random addition that keeps two peers from initiating in step.
    pub const REKEY_JITTER: Duration = Duration::from_millis(333);
    /// Silence after which received data is answered by a keepalive.
    pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
    /// Messages after which a new session is made.
    pub const REKEY_AFTER_MESSAGES: u64 = 1 << 60;
    /// Counters from here on are never used.
    pub const REJECT_AFTER_MESSAGES: u64 = u64::MAX - (1 << 13);
    /// A cookie, and the secret that makes cookies, lives this long.
    pub const COOKIE_LIFETIME: Duration = Duration::from_secs(120);
    /// Initiations of one peer closer together than this are dropped (50 a second).
    pub const INITIATION_INTERVAL: Duration = Duration::from_millis(20);
    /// Received data on the initiator's session of this age starts a new one, so that the next one is there
    /// before this one is refused, even if the local end sends nothing but keepalives.
    pub const REKEY_ON_RECEIVE: Duration = Duration::from_secs(165);
}
