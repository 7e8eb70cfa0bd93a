//! An early end for calls to an API that never answers. Once anything has answered, the policy of retries decides alone,
//! however long.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time in which the API must answer, from the first call on.
const FIRST_ANSWER: Duration = Duration::from_secs(8);
/// Time that a call has at least, even if others have used up the time above.
const LAST_CHANCE: Duration = Duration::from_secs(1);
/// Time in which failed connections are retried.
const CONNECTING: Duration = Duration::from_secs(3);
/// After this time, a dead API is tried again.
const REST: Duration = Duration::from_secs(30);

/// What is known about the API.
#[derive(Debug, Default)]
pub(crate) struct Reach(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    /// Called, without an answer so far.
    Waiting {
        since: Instant,
    },
    /// It never answered; the reason.
    Dead {
        since: Instant,
        reason: String,
    },
    Answered,
}

/// The time by which a call must be answered, and until which failed connections are retried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    pub(crate) answer: Instant,
    pub(crate) connect: Instant,
}

impl Reach {
    /// The deadlines of a call that begins now; `None` once the API has answered.
    ///
    /// # Errors
    /// It was found dead a moment ago; the reason.
    pub(crate) fn deadlines(&self, now: Instant) -> Result<Option<Deadlines>, String> {
        let mut state = self.lock();
        let since = match &*state {
            State::Answered => return Ok(None),
            State::Dead { since, reason } if now < *since + REST => return Err(reason.clone()),
            State::Waiting { since } if now < *since + REST => *since,
            State::New | State::Dead { .. } | State::Waiting { .. } => now,
        };
        *state = State::Waiting { since };
        let answer = (since + FIRST_ANSWER).max(now + LAST_CHANCE);
        Ok(Some(Deadlines { answer, connect: since + CONNECTING }))
    }

    /// Records an answer.
    pub(crate) fn answered(&self) {
        *self.lock() = State::Answered;
    }

    /// Records that there was none in time, unless another call had one meanwhile.
    pub(crate) fn bury(&self, reason: &str) {
        let mut state = self.lock();
        if !matches!(*state, State::Answered) {
            *state = State::Dead { since: Instant::now(), reason: reason.to_owned() };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, from: Instant) -> Instant {
        from + Duration::from_secs(seconds)
    }

    #[test]
    fn calls_share_the_time_until_one_is_answered() {
        let (reach, now) = (Reach::default(), Instant::now());
        let first = reach.deadlines(now).unwrap().unwrap();
        assert_eq!(reach.deadlines(at(5, now)).unwrap().unwrap().answer, first.answer);
        assert_eq!(reach.deadlines(at(20, now)).unwrap().unwrap().answer, at(20, now) + LAST_CHANCE);
        reach.answered();
        reach.bury("late");
        assert!(reach.deadlines(at(3600, now)).unwrap().is_none());
    }

    #[test]
    fn a_dead_api_is_tried_again_after_a_pause() {
        let (reach, now) = (Reach::default(), Instant::now());
        assert!(reach.deadlines(now).is_ok());
        reach.bury("refused");
        assert_eq!(reach.deadlines(at(1, now)).unwrap_err(), "refused");
        let later = at(60, now);
        assert_eq!(reach.deadlines(later).unwrap().unwrap().answer, later + FIRST_ANSWER);
    }
}
