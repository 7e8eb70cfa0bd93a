//! Why gateways did not accept a pod, and when each is tried again.
//!
//! A gateway that sends `Retry-After` is not tried before that time. Others are tried again after a short pause.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use warren_transport::tls::DialError;
use warren_wire::PublicKey;
use warren_wire::enrolment::{RETRY_AFTER_MAX, Retry, with_jitter};

use crate::enrolment::client::ClientError;
use crate::runtime::problem::Problem;

/// How long a starting agent retries gateways that send no `Retry-After`.
const START: Duration = Duration::from_secs(30);
/// Pause before a gateway that sent no `Retry-After` is tried again.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// Why one gateway did not accept the pod.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    gateway: String,
    reason: String,
    hint: Option<&'static str>,
    retry: Retry,
    /// The delay in `Retry-After`.
    retry_after: Option<Duration>,
}

/// Why no gateway accepted the pod: one refusal of each that was tried or is deferred.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Refusal>);

/// Gateways that are not tried before the time in their `Retry-After`, with their refusals.
#[derive(Debug, Default)]
pub(super) struct Deferred(BTreeMap<PublicKey, (Instant, Refusal)>);

impl Refusal {
    /// The gateway has answered, or the connection has broken.
    pub(super) fn answered(gateway: String, error: &ClientError) -> Self {
        let (retry, retry_after) = (error.retry(), error.retry_after());
        Self { gateway, reason: error.to_string(), hint: None, retry, retry_after }
    }

    /// No connection to the gateway.
    pub(super) fn unreachable(gateway: String, error: &DialError) -> Self {
        let retry = if matches!(error, DialError::WrongPin { .. }) { Retry::Elsewhere } else { Retry::Later };
        Self { gateway, reason: error.to_string(), hint: Some(error.hint()), retry, retry_after: None }
    }

    /// Gateways that have not answered when time was up.
    pub(super) fn no_answer() -> Self {
        Self {
            gateway: "all others".into(),
            reason: "no answer in time".into(),
            hint: None,
            retry: Retry::Later,
            retry_after: None,
        }
    }

    /// Whether no gateway will accept the pod.
    pub(super) fn is_final(&self) -> bool {
        self.retry == Retry::Never
    }

    /// How long until the gateway may be tried again; `None` if the refusal is final.
    fn delay(&self) -> Option<Duration> {
        (self.retry == Retry::Later).then(|| self.retry_after.unwrap_or(PAUSE))
    }
}

impl Refusals {
    pub(super) fn push(&mut self, refusal: Refusal) {
        self.0.push(refusal);
    }

    /// How long until the first gateway may be tried again; `None` if no later attempt can succeed.
    pub(super) fn delay(&self) -> Option<Duration> {
        if self.0.iter().any(Refusal::is_final) {
            return None;
        }
        self.0.iter().filter_map(Refusal::delay).min()
    }

    /// The pause of an agent that has been starting for `elapsed`; `None` to give up, at the latest after `patience`.
    ///
    /// It waits longer for a gateway that has named a time than for one that cannot be reached, but not for a time that is
    /// too far away.
    pub(super) fn pause_at_start(&self, elapsed: Duration, patience: Option<Duration>) -> Option<Duration> {
        let delay = self.delay()?;
        let timed = self.0.iter().any(|refusal| refusal.retry_after.is_some());
        let limit = if timed { RETRY_AFTER_MAX } else { START }.min(patience.unwrap_or(Duration::MAX));
        (elapsed.saturating_add(delay) <= limit).then_some(delay)
    }

    /// For the user: the refusal of each gateway.
    pub(super) fn problem(&self) -> Problem {
        let mut what = "no gateway of the token accepted this pod".to_owned();
        for Refusal { gateway, reason, retry_after, .. } in &self.0 {
            what += &format!("\n  {gateway}: {reason}");
            if let Some(delay) = retry_after {
                what += &format!(" (retry after {} s)", delay.as_secs().max(1));
            }
        }
        let hint = self.0.iter().find_map(|refusal| refusal.hint);
        let hint =
            hint.unwrap_or("run `warren-tunnel token inspect` to see the token's gateways, group and expiry");
        Problem::new(what).hint(hint)
    }
}

impl Deferred {
    /// Remembers the time that a gateway has named. `random` spreads pods that were refused at the same moment.
    pub(super) fn defer(&mut self, now: Instant, gateway: PublicKey, refusal: &Refusal, random: u32) {
        if let Some(delay) = refusal.retry_after
            && refusal.retry == Retry::Later
        {
            let until = now + with_jitter(delay.min(RETRY_AFTER_MAX), random);
            self.0.insert(gateway, (until, refusal.clone()));
        }
    }

    /// The refusal of a deferred gateway, with the remaining time.
    pub(super) fn get(&self, now: Instant, gateway: &PublicKey) -> Option<Refusal> {
        let (until, refusal) = self.0.get(gateway)?;
        let left = until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(Refusal { retry_after: Some(left), ..refusal.clone() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warren_wire::PrivateKey;
    use warren_wire::enrolment::{Kind, Problem as Refused};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused(kind: Kind, retry_after: Option<u64>) -> Refusal {
        let problem = Refused::new(kind, "");
        let problem = match retry_after {
            Some(seconds) => problem.retry_after(Duration::from_secs(seconds)),
            None => problem,
        };
        Refusal::answered("gw".into(), &ClientError::Refused(problem))
    }

    fn pause(refusals: &[Refusal], elapsed: u64) -> Option<Duration> {
        Refusals(refusals.to_vec()).pause_at_start(Duration::from_secs(elapsed), None)
    }

    #[test]
    fn a_single_gateway_that_is_draining_full_or_ahead_of_the_token_is_asked_again() {
        for kind in [Kind::Draining, Kind::PoolExhausted, Kind::TokenEarly] {
            assert_eq!(pause(&[refused(kind, Some(10))], 0), Some(10 * SECOND), "{kind}");
            assert_eq!(pause(&[refused(kind, Some(10))], 590), Some(10 * SECOND), "{kind}");
            assert_eq!(pause(&[refused(kind, Some(10))], 591), None, "{kind}");
            // A gateway of an earlier version names no time.
            assert_eq!(pause(&[refused(kind, None)], 0), Some(PAUSE), "{kind}");
            assert_eq!(pause(&[refused(kind, None)], 30), None, "{kind}");
        }
    }

    #[test]
    fn nobody_waits_for_longer_than_the_user() {
        let refusals = Refusals(vec![refused(Kind::Draining, Some(10))]);
        let pause = |elapsed, patience| refusals.pause_at_start(elapsed * SECOND, Some(patience * SECOND));
        assert_eq!(pause(0, 10), Some(10 * SECOND));
        assert_eq!(pause(1, 10), None);
        assert_eq!(pause(0, 0), None);
    }

    #[test]
    fn a_token_that_becomes_valid_in_an_hour_fails_at_once() {
        assert_eq!(pause(&[refused(Kind::TokenEarly, Some(3600))], 0), None);
    }

    #[test]
    fn what_no_gateway_accepts_is_final_whatever_the_others_say() {
        for kind in Kind::ALL.iter().filter(|kind| kind.retry() == Retry::Never) {
            assert_eq!(pause(&[refused(Kind::Draining, Some(1)), refused(*kind, None)], 0), None, "{kind}");
        }
    }

    #[test]
    fn an_unreachable_gateway_does_not_wait_for_a_full_one() {
        let full = refused(Kind::PoolExhausted, Some(300));
        let down =
            Refusal::answered("gw-b".into(), &ClientError::Connection(std::io::ErrorKind::TimedOut.into()));
        assert_eq!(pause(&[full.clone(), down], 0), Some(PAUSE));
        assert_eq!(pause(&[full, refused(Kind::TokenGateway, None)], 0), Some(300 * SECOND));
    }

    #[test]
    fn a_gateway_is_not_asked_before_the_time_that_it_named() {
        let (now, gateway) = (Instant::now(), PrivateKey::from_random([1; 32]).public());
        let mut deferred = Deferred::default();
        deferred.defer(now, gateway, &refused(Kind::Draining, None), u32::MAX);
        assert!(deferred.get(now, &gateway).is_none());
        deferred.defer(now, gateway, &refused(Kind::Draining, Some(8)), u32::MAX);
        assert!(deferred.get(now + 10 * SECOND, &gateway).is_none());
        let refusal = deferred.get(now + 9 * SECOND, &gateway).unwrap();
        assert_eq!(refusal.retry_after, Some(SECOND));
        // A running agent is kept out for ten minutes at most.
        deferred.defer(now, gateway, &refused(Kind::Draining, Some(86_400)), 0);
        assert!(deferred.get(now + RETRY_AFTER_MAX, &gateway).is_none());
    }

    proptest! {
        #[test]
        fn an_agent_waits_neither_too_long_nor_in_vain(
            refusals in prop::collection::vec(
                (prop::sample::select(Kind::ALL), prop::option::of(1..10_000_u64)), 1..4),
            elapsed in 0..700_u64,
        ) {
            let refusals: Vec<Refusal> =
                refusals.into_iter().map(|(kind, delay)| refused(kind, delay)).collect();
            let pause = pause(&refusals, elapsed);
            let hopeless = refusals.iter().any(Refusal::is_final)
                || refusals.iter().all(|refusal| refusal.retry == Retry::Elsewhere);
            prop_assert!(!(hopeless && pause.is_some()));
            if let Some(pause) = pause {
                prop_assert!(Duration::from_secs(elapsed) + pause <= RETRY_AFTER_MAX);
                // Some gateway may be asked then.
                let open = |refusal: &Refusal| refusal.delay().is_some_and(|delay| delay <= pause);
                prop_assert!(refusals.iter().any(open));
            }
        }
    }
}
