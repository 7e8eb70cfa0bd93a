//! A direct path to a peer that can also be reached through a gateway: when it is tried, used, and left.
//!
//! ```text
//!            a handshake there and back                     nothing came back for so long
//!   trying ------------------------------> in use ----------------------------------------> trying
//!     | one candidate after the other, at first every second, then less often
//! ```
//!
//! Both ends try at the same time, which opens the way through translators of addresses at both. An initiation that arrives
//! proves one direction only, so it is no sign. A handshake of this end that was answered is one; and one of the other end whose
//! first message has arrived, since it is sent when the answer is there.

use std::net::SocketAddr;
use std::time::Duration;

use warren_proto::engine::Liveness;

/// Interval between two calls of [`Direct::poll`].
pub const TICK: Duration = Duration::from_millis(500);
/// Without an answer for so long, a path with traffic is left, and one without.
pub const SILENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(15));
/// Before that, a handshake asks for an answer, of which several fit.
const ASK_AFTER: (Duration, Duration) = (Duration::from_millis(1500), Duration::from_secs(5));
/// Something that was sent is unanswered for so long: the path has traffic.
const UNANSWERED: Duration = Duration::from_secs(1);
/// Between two initiations. A path with a longer round trip is not used: the second one invalidates the first.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Attempts in quick succession, and the interval after them.
const QUICK: u32 = 20;
const SLOW: Duration = Duration::from_secs(15);

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send an initiation there.
    Probe(SocketAddr),
    /// Use the path.
    Use,
    /// Use the gateway.
    Leave,
}

/// The state of one path.
#[derive(Debug, Clone)]
pub struct Direct {
    candidates: Vec<SocketAddr>,
    next: usize,
    tries: u32,
    due: Duration,
    in_use: bool,
    /// What the last signs counted, and when that changed.
    counted: u64,
    changed: Duration,
    /// Round trips when it was left.
    trips: u64,
}

impl Direct {
    /// A path that may lead to any of these places.
    #[must_use]
    pub fn new(now: Duration, candidates: Vec<SocketAddr>) -> Self {
        Self { candidates, next: 0, tries: 0, due: now, in_use: false, counted: 0, changed: now, trips: 0 }
    }

    /// Whether it is in use.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.in_use
    }

    /// Tries other places from now on.
    pub fn set_candidates(&mut self, now: Duration, candidates: Vec<SocketAddr>) {
        if self.candidates != candidates {
            self.candidates = candidates;
            self.tries = 0;
            self.due = self.due.min(now + ASK_EVERY);
        }
    }

    /// Decides by the signs of life of the peer.
    pub fn poll(&mut self, now: Duration, signs: &Liveness) -> Option<Action> {
        let trips = signs.handshakes + signs.confirmed;
        let counted = trips + signs.received;
        if counted != self.counted {
            self.counted = counted;
            self.changed = now;
        }
        let silent = now.saturating_sub(self.changed);
        if self.in_use {
            let busy = signs.waiting.is_some_and(|since| now.saturating_sub(since) >= UNANSWERED);
            let (limit, ask) = if busy { (SILENCE.0, ASK_AFTER.0) } else { (SILENCE.1, ASK_AFTER.1) };
            if silent >= limit || !signs.session {
                self.in_use = false;
                self.trips = trips;
                self.tries = 0;
                self.due = now;
                return Some(Action::Leave);
            }
            let place = signs.endpoint.map(|endpoint| endpoint.remote);
            return place.filter(|_| silent >= ask && self.is_due(now, ASK_EVERY)).map(Action::Probe);
        }
        if signs.session && trips > self.trips {
            self.in_use = true;
            return Some(Action::Use);
        }
        let interval = if self.tries < QUICK { ASK_EVERY } else { SLOW };
        if self.candidates.is_empty() || !self.is_due(now, interval) {
            return None;
        }
        let place = self.candidates.get(self.next % self.candidates.len()).copied();
        self.next = self.next.wrapping_add(1);
        self.tries = self.tries.saturating_add(1);
        place.map(Action::Probe)
    }

    fn is_due(&mut self, now: Duration, interval: Duration) -> bool {
        let due = now >= self.due;
        if due {
            self.due = now + interval;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use warren_proto::plane::Endpoint;

    use super::*;

    const HALF: u64 = 500;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn place(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 51820))
    }

    /// Signs of a peer with a session that has answered so many handshakes.
    fn answered(handshakes: u64) -> Liveness {
        let endpoint = Some(Endpoint::new(place(1)));
        Liveness { session: handshakes > 0, handshakes, endpoint, ..Liveness::default() }
    }

    /// Polls every half second until something else than a probe is to be done, and returns when.
    fn until_change(path: &mut Direct, from: u64, signs: impl Fn(u64) -> Liveness) -> (u64, Action) {
        for now in (from..).step_by(usize::try_from(HALF).unwrap()) {
            match path.poll(at(now), &signs(now)) {
                Some(action @ (Action::Use | Action::Leave)) => return (now, action),
                _ => assert!(now < from + 120_000, "nothing changes"),
            }
        }
        unreachable!()
    }

    #[test]
    fn candidates_are_tried_in_turn_and_less_often_after_a_while() {
        let mut path = Direct::new(at(0), vec![place(1), place(2)]);
        let tried: Vec<(u64, SocketAddr)> = (0..60_000)
            .step_by(500)
            .filter_map(|now| match path.poll(at(now), &Liveness::default()) {
                Some(Action::Probe(to)) => Some((now, to)),
                other => {
                    assert_eq!(other, None);
                    None
                }
            })
            .collect();
        assert_eq!(tried[..3], [(0, place(1)), (1000, place(2)), (2000, place(1))]);
        assert_eq!(tried.len(), 23, "{tried:?}");
        assert!(!path.is_used());
    }

    #[test]
    fn only_a_way_there_and_back_is_used() {
        let mut path = Direct::new(at(0), vec![place(1)]);
        // Initiations arrive, which are no data.
        let heard = Liveness { session: true, heard: Some(at(900)), ..Liveness::default() };
        assert_eq!(path.poll(at(0), &heard), Some(Action::Probe(place(1))));
        assert_eq!(path.poll(at(500), &heard), None);
        assert_eq!(path.poll(at(1000), &answered(1)), Some(Action::Use));
        let confirmed = Liveness { confirmed: 1, session: true, ..Liveness::default() };
        assert_eq!(Direct::new(at(0), vec![]).poll(at(0), &confirmed), Some(Action::Use));
    }

    #[test]
    fn a_path_with_traffic_is_left_within_seconds_and_used_again_after_a_handshake() {
        let mut path = Direct::new(at(0), vec![place(1)]);
        path.poll(at(0), &answered(1));
        assert!(path.is_used());
        let cut = |_| Liveness { waiting: Some(at(300)), ..answered(1) };
        assert_eq!(until_change(&mut path, 500, cut), (5000, Action::Leave));
        // The old session remains, and says nothing about the path.
        for now in (5500..60_000).step_by(500) {
            assert!(!matches!(path.poll(at(now), &cut(now)), Some(Action::Use)));
        }
        assert_eq!(path.poll(at(60_000), &answered(2)), Some(Action::Use));
    }

    #[test]
    fn an_idle_path_is_asked_and_stays() {
        let mut path = Direct::new(at(0), vec![place(1)]);
        path.poll(at(0), &answered(1));
        let (mut asked, mut trips) = (0, 1);
        for now in (500..60_000).step_by(500) {
            match path.poll(at(now), &answered(trips)) {
                Some(Action::Probe(_)) => {
                    asked += 1;
                    trips += 1;
                }
                other => assert_eq!(other, None),
            }
        }
        assert!((8..=12).contains(&asked), "{asked}");
        // Without answers it is left, though nothing was sent.
        assert_eq!(until_change(&mut path, 60_000, |_| answered(trips)).1, Action::Leave);
    }

    #[test]
    fn a_path_without_a_session_is_left_at_once() {
        let mut path = Direct::new(at(0), vec![place(1)]);
        path.poll(at(0), &answered(1));
        assert_eq!(path.poll(at(500), &Liveness { session: false, ..answered(1) }), Some(Action::Leave));
    }
}
