//! An early end for calls to hosts that never answer.
//!
//! ```text
//! new ── answer ──> answered      every later failure is retried as usual, however long
//!  │
//!  └─ no answer in time ──> dead  calls fail at once, and are tried again after a pause
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Time that a host has at least, even if others have used up that of the first answer.
const LAST_CHANCE: Duration = Duration::from_secs(1);
/// Time in which failed connections to a host that never answered are retried.
const CONNECTING: Duration = Duration::from_secs(3);
/// After this time, a dead host is tried again.
const REST: Duration = Duration::from_secs(30);

/// The hosts of an API, and what is known about them.
#[derive(Debug)]
pub struct Hosts {
    /// Time in which some host must answer, from the first call on.
    first_answer: Duration,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    answered: BTreeSet<String>,
    /// The first call to each host that has not answered yet.
    waiting: BTreeMap<String, Instant>,
    /// Since when, and the reason.
    dead: BTreeMap<String, (Instant, String)>,
}

/// The time by which a call must be answered, and until which failed connections are retried.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For the answer.
    pub answer: Instant,
    /// For connections.
    pub connect: Instant,
}

impl Hosts {
    /// Hosts of which nothing is known yet.
    #[must_use]
    pub fn new(first_answer: Duration) -> Self {
        Self { first_answer, known: Mutex::default() }
    }

    /// The deadlines of a call to `host` that begins now; `None` once the host has answered.
    ///
    /// # Errors
    /// It was found dead a moment ago; the reason.
    pub fn deadlines(&self, host: &str, now: Instant) -> Result<Option<Deadlines>, String> {
        let mut known = self.lock();
        if known.answered.contains(host) {
            return Ok(None);
        }
        match known.dead.get(host) {
            Some((since, reason)) if now < *since + REST => return Err(reason.clone()),
            Some(_) => {
                known.dead.clear();
                known.waiting.clear();
            }
            None => {}
        }
        let first = *known.waiting.entry(host.to_owned()).or_insert(now);
        // While nothing has answered at all, all hosts share the time: STS and EC2 of a region that does not exist.
        let begun = if known.answered.is_empty() {
            known.waiting.values().copied().filter(|begun| now < *begun + REST).min().unwrap_or(first)
        } else {
            first
        };
        let answer = (begun + self.first_answer).max(now + LAST_CHANCE);
        Ok(Some(Deadlines { answer, connect: first + CONNECTING }))
    }

    /// Records an answer.
    pub fn answered(&self, host: &str) {
        let mut known = self.lock();
        known.waiting.remove(host);
        known.dead.remove(host);
        known.answered.insert(host.to_owned());
    }

    /// Records that there was none in time.
    pub fn bury(&self, host: &str, reason: &str) {
        self.lock().dead.insert(host.to_owned(), (Instant::now(), reason.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_ANSWER: Duration = Duration::from_secs(7);
    const HOST: &str = "ec2.us-east-1.amazonaws.com";

    fn at(seconds: u64, from: Instant) -> Instant {
        from + Duration::from_secs(seconds)
    }

    fn hosts() -> (Hosts, Instant) {
        (Hosts::new(FIRST_ANSWER), Instant::now())
    }

    #[test]
    fn a_host_that_answered_has_no_deadline() {
        let (hosts, now) = hosts();
        assert!(matches!(hosts.deadlines(HOST, now), Ok(Some(_))));
        hosts.answered(HOST);
        hosts.bury(HOST, "late");
        assert!(matches!(hosts.deadlines(HOST, at(3600, now)), Ok(None)));
    }

    #[test]
    fn calls_share_the_time_until_one_is_answered() {
        let (hosts, now) = hosts();
        let first = hosts.deadlines(HOST, now).unwrap().unwrap();
        assert_eq!(hosts.deadlines(HOST, at(5, now)).unwrap().unwrap().answer, first.answer);
        let late = hosts.deadlines(HOST, at(20, now)).unwrap().unwrap();
        assert_eq!(late.answer, at(20, now) + LAST_CHANCE);
        assert_eq!(late.connect, now + CONNECTING);
    }

    #[test]
    fn hosts_share_the_time_until_one_answers() {
        let (hosts, now) = hosts();
        let sts = "sts.us-east-1.amazonaws.com";
        let first = hosts.deadlines(sts, now).unwrap().unwrap().answer;
        assert_eq!(hosts.deadlines(HOST, at(5, now)).unwrap().unwrap().answer, first);
        hosts.answered(sts);
        assert_eq!(hosts.deadlines(HOST, at(5, now)).unwrap().unwrap().answer, at(5, now) + FIRST_ANSWER);
    }

    #[test]
    fn a_dead_host_is_tried_again_after_a_pause() {
        let (hosts, now) = hosts();
        assert!(hosts.deadlines(HOST, now).is_ok());
        hosts.bury(HOST, "the connection was refused");
        assert_eq!(hosts.deadlines(HOST, at(1, now)).unwrap_err(), "the connection was refused");
        let later = at(60, now);
        assert_eq!(hosts.deadlines(HOST, later).unwrap().unwrap().answer, later + FIRST_ANSWER);
    }
}
