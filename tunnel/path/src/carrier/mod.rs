//! The choice of a peer's carrier: UDP, or a TLS connection where UDP is blocked.
//!
//! ```text
//!                 silent: probe UDP, connect               no answer by the time it is connected
//!        +-----+ ----------------------------> +-----------+ -----------------------> +--------+
//!        | UDP |                               | suspicion |                          | stream |
//!        +-----+ <---------------------------- +-----------+ <----------------------- +--------+
//!           ^      answered: a longer silence                connection lost: UDP, and    |
//!           |      is tolerated from now on                  connect again with backoff   |
//!           +-----------------------------------------------------------------------------+
//!                 a handshake by UDP is answered (tried after a hold-down, then less often)
//! ```
//!
//! * **Silence** is data or an initiation that nothing has answered. WireGuard takes 15 s to act on it; here it is
//!   looked into within one. A flow that only goes out is answered by keepalives every 10 s, so silence alone proves
//!   nothing: a handshake by UDP, which is always answered, does. Each false suspicion doubles the tolerated silence, and
//!   a thousand received packets reset it, so that a busy tunnel notices soon and an idle one is left in peace.
//! * Without a session the first initiation is the test: after a head start for UDP the connection is made
//!   beside it (as RFC 8305 does with addresses), and UDP wins whenever it answers.
//! * On a connection UDP is probed by an initiation that moves nothing unless it is answered. A UDP that is lost
//!   again soon after is given more and more time before it is tried next.
//!
//! Pure: time and signs go in, actions come out. The same seed gives the same jitter.

#[cfg(test)]
mod tests;

use std::time::Duration;

use warren_proto::engine::Liveness;
use warren_proto::plane::{Carrier, StreamId};

/// Head start of UDP when there is no session yet.
const HEAD_START: Duration = Duration::from_millis(300);
/// Silence that raises a suspicion: least and most. The least is such that TCP inside, whose repetitions come 0.2, 0.6, 1.4 and
/// 3 s after a loss, finds the other carrier with the third of them.
const SILENCE: (Duration, Duration) = (Duration::from_millis(600), Duration::from_secs(8));
/// The tolerated silence is at least so many round trips.
const SILENCE_ROUND_TRIPS: u32 = 3;
/// Received packets that reset the tolerated silence to the least.
const BUSY_PACKETS: u64 = 1000;
/// Time that UDP has to answer a suspicion, also when the connection is established before.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(150);
/// Time between the first probes of UDP under suspicion.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// How long a connection is kept when UDP answers again: it may be gone the next moment.
const GRACE: Duration = Duration::from_secs(5);
/// Time on a connection before UDP is probed: first and most.
const HOLD_DOWN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(600));
/// Longest time between probes of UDP, unless the hold-down is longer.
const PROBE_INTERVAL_MAX: Duration = Duration::from_secs(30);
/// UDP that worked for so long was not flapping.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// Time between attempts to connect: first and most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Time between two polls: during a change, and while all is well.
const POLL_INTERVAL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(250));

/// Which carriers may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// UDP, and the connection while UDP does not get through.
    #[default]
    Auto,
    /// The connection alone.
    Stream,
}

/// An action for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Connect; [`Selector::connected`] or [`Selector::refused`] is to follow.
    Connect,
    /// Close a connection that is needed no more.
    Close(StreamId),
    /// Send an initiation by UDP (`Engine::probe`).
    Probe,
    /// Use this carrier from now on (`Engine::relocate`).
    Move(Carrier, Reason),
    /// UDP has answered and is in use again; worth a log message.
    Returned,
    /// Stay on this connection, regardless of messages from elsewhere (`Engine::hold`).
    Hold(StreamId),
}

/// Why a carrier is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Nothing speaks against it yet.
    First,
    /// UDP does not answer.
    UdpSilent,
    /// UDP answered a handshake.
    UdpAnswers,
    /// The connection was lost, and there is no other.
    StreamLost,
    /// The configuration says so.
    Configured,
}

impl Reason {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::First => "UDP is tried first",
            Self::UdpSilent => "UDP does not answer",
            Self::UdpAnswers => "UDP answers",
            Self::StreamLost => "the TLS connection was lost",
            Self::Configured => "configured",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    /// None; the next attempt is not before then.
    Down(Duration),
    Connecting,
    Up(StreamId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    Udp { suspicion: Option<Suspicion> },
    Stream { probe_at: Duration, interval: Duration },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suspicion {
    since: Duration,
    probe_at: Duration,
    interval: Duration,
}

/// Selects the carrier of one peer.
#[derive(Debug)]
pub struct Selector {
    mode: Mode,
    path: Path,
    link: Link,
    why: Reason,
    silence: Duration,
    /// Received packets when the tolerated silence was last raised.
    raised_at: u64,
    hold_down: Duration,
    /// When UDP was last returned to.
    returned: Option<Duration>,
    /// Handshakes that were answered before UDP was last probed.
    probed: Option<u64>,
    failures: u32,
    connects: u64,
    random: u64,
    next: Duration,
}

impl Selector {
    /// Begins with UDP, unless the mode forbids it.
    #[must_use]
    pub fn new(mode: Mode, seed: u64) -> Self {
        let (path, why) = match mode {
            Mode::Auto => (Path::Udp { suspicion: None }, Reason::First),
            Mode::Stream => {
                (Path::Stream { probe_at: Duration::MAX, interval: Duration::MAX }, Reason::Configured)
            }
        };
        Self {
            mode,
            path,
            link: Link::Down(Duration::ZERO),
            why,
            silence: SILENCE.0,
            raised_at: 0,
            hold_down: HOLD_DOWN.0,
            returned: None,
            probed: None,
            failures: 0,
            connects: 0,
            random: seed,
            next: Duration::ZERO,
        }
    }

    /// The carrier in use, and why.
    #[must_use]
    pub fn carrier(&self) -> (Carrier, Reason) {
        let carrier = match (self.path, self.link) {
            (Path::Udp { .. }, _) => Carrier::Udp,
            (Path::Stream { .. }, Link::Up(id)) => Carrier::Stream(id),
            (Path::Stream { .. }, _) => Carrier::Stream(StreamId::NONE),
        };
        (carrier, self.why)
    }

    /// Connections made so far.
    #[must_use]
    pub fn connects(&self) -> u64 {
        self.connects
    }

    /// When [`Selector::poll`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Duration {
        self.next
    }

    /// Reports that a requested connection is established. [`Selector::poll`] is due.
    pub fn connected(&mut self, id: StreamId) {
        self.link = Link::Up(id);
        self.failures = 0;
        self.connects += 1;
        self.next = Duration::ZERO;
    }

    /// Reports that a requested connection failed.
    pub fn refused(&mut self, now: Duration) {
        let pause = BACKOFF.0.saturating_mul(1 << self.failures.min(16)).min(BACKOFF.1);
        self.failures += 1;
        self.link = Link::Down(now + self.jitter(pause));
    }

    /// A connection has ended by itself. [`Selector::poll`] is due. The next is tried at once; one that never
    /// carried anything counts as refused.
    pub fn lost(&mut self, now: Duration, id: StreamId, carried: bool) {
        if self.link != Link::Up(id) {
            return;
        }
        if carried {
            self.link = Link::Down(now);
        } else {
            self.refused(now);
        }
        self.next = now;
    }

    /// Evaluates the signs and returns the actions, in order.
    #[must_use]
    pub fn poll(&mut self, now: Duration, signs: &Liveness) -> Vec<Action> {
        let mut actions = Vec::new();
        match self.path {
            Path::Udp { suspicion } => self.on_udp(now, signs, suspicion, &mut actions),
            Path::Stream { .. } if self.mode == Mode::Stream => self.only_stream(now, signs, &mut actions),
            Path::Stream { probe_at, interval } => {
                self.on_stream(now, signs, probe_at, interval, &mut actions);
            }
        }
        let calm = matches!(self.path, Path::Udp { suspicion: None }) && signs.waiting.is_none();
        self.next = now + if calm { POLL_INTERVAL.1 } else { POLL_INTERVAL.0 };
        actions
    }

    fn on_udp(
        &mut self,
        now: Duration,
        signs: &Liveness,
        suspicion: Option<Suspicion>,
        actions: &mut Vec<Action>,
    ) {
        if signs.received.saturating_sub(self.raised_at) >= BUSY_PACKETS {
            self.silence = SILENCE.0;
        }
        let round_trips = signs.rtt.unwrap_or_default() * SILENCE_ROUND_TRIPS;
        let silence = if signs.session { self.silence.max(round_trips) } else { HEAD_START };
        let silent = signs.waiting.is_some_and(|since| match suspicion {
            None => now.saturating_sub(since) >= silence,
            // Only an answer ends it, however young the question.
            Some(suspicion) => signs.heard.is_none_or(|heard| heard <= suspicion.since),
        });
        if !silent {
            if suspicion.is_some() {
                self.silence = (self.silence * 2).min(SILENCE.1);
                self.raised_at = signs.received;
                self.path = Path::Udp { suspicion: None };
            }
            if let Link::Up(id) = self.link
                && self.returned.is_none_or(|at| now.saturating_sub(at) >= GRACE)
            {
                self.link = Link::Down(now);
                actions.push(Action::Close(id));
            }
            if signs.handshakes > 0 && self.why == Reason::First {
                self.why = Reason::UdpAnswers;
            }
            return;
        }
        let mut suspicion =
            suspicion.unwrap_or(Suspicion { since: now, probe_at: now, interval: PROBE_INTERVAL });
        if suspicion.probe_at <= now {
            suspicion.probe_at = now + suspicion.interval;
            suspicion.interval = (suspicion.interval * 2).min(PROBE_INTERVAL_MAX);
            actions.push(Action::Probe);
        }
        self.path = Path::Udp { suspicion: Some(suspicion) };
        match self.link {
            Link::Up(id) if now.saturating_sub(suspicion.since) >= ANSWER_TIMEOUT => {
                self.leave_udp(now);
                actions.push(Action::Move(Carrier::Stream(id), self.why));
            }
            _ => self.connect(now, actions),
        }
    }

    fn leave_udp(&mut self, now: Duration) {
        let flapping = self.returned.is_some_and(|at| now.saturating_sub(at) < STABLE_AFTER);
        self.hold_down = if flapping { (self.hold_down * 4).min(HOLD_DOWN.1) } else { HOLD_DOWN.0 };
        self.path = Path::Stream { probe_at: now + self.jitter(self.hold_down), interval: self.hold_down };
        self.why = Reason::UdpSilent;
        self.probed = None;
    }

    fn on_stream(
        &mut self,
        now: Duration,
        signs: &Liveness,
        probe_at: Duration,
        interval: Duration,
        actions: &mut Vec<Action>,
    ) {
        let Link::Up(id) = self.link else {
            // Nothing else is left: by UDP, which is under suspicion from its first moment.
            self.path = Path::Udp {
                suspicion: Some(Suspicion {
                    since: now,
                    probe_at: now + PROBE_INTERVAL,
                    interval: PROBE_INTERVAL * 2,
                }),
            };
            self.why = Reason::StreamLost;
            actions.push(Action::Move(Carrier::Udp, self.why));
            return self.connect(now, actions);
        };
        if signs.endpoint.is_some_and(|endpoint| endpoint.carrier != Carrier::Stream(id)) {
            if self.probed.is_some_and(|before| signs.handshakes > before) {
                self.path = Path::Udp { suspicion: None };
                self.why = Reason::UdpAnswers;
                self.returned = Some(now);
                actions.push(Action::Returned);
                return;
            }
            actions.push(Action::Hold(id));
        }
        if probe_at <= now {
            self.probed = Some(signs.handshakes);
            let interval = (interval * 2).min(PROBE_INTERVAL_MAX.max(self.hold_down));
            self.path = Path::Stream { probe_at: now + self.jitter(interval), interval };
            actions.push(Action::Probe);
        }
    }

    fn only_stream(&mut self, now: Duration, signs: &Liveness, actions: &mut Vec<Action>) {
        match self.link {
            Link::Up(id) if signs.endpoint.map(|endpoint| endpoint.carrier) != Some(Carrier::Stream(id)) => {
                actions.push(Action::Move(Carrier::Stream(id), self.why));
            }
            _ => self.connect(now, actions),
        }
    }

    fn connect(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if let Link::Down(at) = self.link
            && at <= now
        {
            self.link = Link::Connecting;
            actions.push(Action::Connect);
        }
    }

    /// Between three and five quarters of a time: many agents must not come back at one moment.
    fn jitter(&mut self, time: Duration) -> Duration {
        // SplitMix64, <https://prng.di.unimi.it/splitmix64.c>: no secret, only spread.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let part = ((mixed ^ (mixed >> 31)) >> 32) as u32;
        time.mul_f64(0.75 + 0.5 * f64::from(part) / f64::from(u32::MAX))
    }
}
