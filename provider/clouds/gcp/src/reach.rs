//! An early end for calls to an API that never answers: a dead endpoint, a name that does not resolve, a token endpoint
//! out of reach. Once its host has answered, the retry policy decides alone, however long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::{Code, Status};
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::RetryThrottler;
use google_cloud_gax::throttle_result::ThrottleResult;

use crate::error::{UNREACHABLE, chain, redact};

/// Time in which the API must answer, from the start of a call.
const FIRST_ANSWER: Duration = Duration::from_millis(8_500);
/// Time in which failed connections are retried.
const CONNECTING: Duration = Duration::from_secs(3);

/// The hosts of the APIs. An unreachable host is reported even if others answer: a service perimeter or a private DNS zone
/// may leave out one API.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Mutex<BTreeMap<String, Reach>>);

impl Hosts {
    /// The host with this name.
    pub(crate) fn of(&self, name: &str) -> Reach {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_default().clone()
    }
}

/// Whether a host has answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach(Arc<AtomicBool>);

impl Reach {
    /// A retry policy that gives up early while nothing has answered.
    pub(crate) fn policy<P>(&self, inner: P) -> Policy<P> {
        Policy { inner, reach: self.clone() }
    }

    /// A throttler that takes notice of answers.
    pub(crate) fn throttler<T>(&self, inner: T) -> Throttler<T> {
        Throttler { inner, reach: self.clone() }
    }

    fn is_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn reached(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// See [`Reach::policy`].
#[derive(Clone, Debug)]
pub(crate) struct Policy<P> {
    inner: P,
    reach: Reach,
}

impl<P: RetryPolicy> RetryPolicy for Policy<P> {
    fn on_error(&self, state: &RetryState, error: Error) -> RetryResult {
        if error.http_status_code().is_some() || error.status().is_some() {
            self.reach.reached();
        }
        if self.reach.is_reached() || state.start.elapsed() < CONNECTING {
            return self.inner.on_error(state, error);
        }
        let message = format!("{UNREACHABLE}: {}", redact(&chain(&error)));
        let status = Status::default().set_code(Code::FailedPrecondition).set_message(message);
        RetryResult::Permanent(Error::service(status))
    }

    fn on_throttle(&self, state: &RetryState, error: Error) -> ThrottleResult {
        self.inner.on_throttle(state, error)
    }

    fn remaining_time(&self, state: &RetryState) -> Option<Duration> {
        let remaining = self.inner.remaining_time(state);
        if self.reach.is_reached() {
            return remaining;
        }
        // The pause before the next attempt counts, so an attempt may begin at any time before the end.
        let end = state.start + FIRST_ANSWER;
        let first = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        Some(remaining.map_or(first, |remaining| remaining.min(first)))
    }
}

/// See [`Reach::throttler`].
#[derive(Debug)]
pub(crate) struct Throttler<T> {
    inner: T,
    reach: Reach,
}

impl<T: RetryThrottler> RetryThrottler for Throttler<T> {
    fn throttle_retry_attempt(&self) -> bool {
        self.inner.throttle_retry_attempt()
    }

    fn on_retry_failure(&mut self, flow: &RetryResult) {
        self.inner.on_retry_failure(flow);
    }

    fn on_success(&mut self) {
        self.reach.reached();
        self.inner.on_success();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use google_cloud_gax::retry_policy::AlwaysRetry;
    use tf_provider_rs::{CancellationToken, Diagnostic};
    use warren_managed::{Failure as _, retry};

    use super::*;
    use crate::client::Clients;
    use crate::error::Named as _;

    /// What a user sees of the first call of a run, and the time it takes.
    async fn first_call(clients: Clients) -> (String, Duration) {
        let begun = Instant::now();
        let call = clients.networks().await.unwrap().get().set_project("acme-ml").set_network("hub").send();
        let timeout = tokio::time::Instant::now() + Duration::from_secs(60);
        let error = retry::until(timeout, CancellationToken::new(), call).await;
        let error = error.named("networks.get").unwrap_err();
        assert!(!error.is_ambiguous() && !error.is_throttle() && !error.is_not_ready());
        let told = Diagnostic::from(error);
        (format!("{}\n{}", told.summary, told.detail), begun.elapsed())
    }

    #[tokio::test]
    async fn a_dead_endpoint_is_told_within_ten_seconds() {
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hole = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = hole.local_addr().unwrap();
        let clients = async |endpoint: String| Clients::new(Some(&endpoint), None).await.unwrap();
        let dead = clients(format!("http://{dead}")).await;
        let silent = clients(format!("http://{silent}")).await;
        let unknown = clients("http://compute.invalid".into()).await;
        let (dead, silent, unknown) = tokio::join!(first_call(dead), first_call(silent), first_call(unknown));
        for (told, time) in [&dead, &silent, &unknown] {
            assert!(*time < Duration::from_secs(10), "{time:?}: {told}");
            assert!(told.starts_with("networks.get failed: unreachable\n"), "{told}");
            assert!(told.contains("`gcp.endpoint_url`"), "{told}");
            assert!(!["Some(", " { ", "Err("].iter().any(|debug| told.contains(debug)), "{told}");
        }
    }

    #[test]
    fn an_answer_of_one_host_says_nothing_about_another() {
        let hosts = Hosts::default();
        hosts.of("compute").reached();
        assert!(hosts.of("compute").is_reached());
        let dns = hosts.of("dns").policy(AlwaysRetry);
        let state = RetryState::new(true).set_start(Instant::now() - Duration::from_secs(60));
        assert!(dns.on_error(&state, Error::io("lost")).is_permanent());
    }

    #[test]
    fn after_an_answer_the_inner_policy_decides() {
        let reach = Reach::default();
        let policy = reach.policy(AlwaysRetry);
        let state = RetryState::new(true).set_start(Instant::now() - Duration::from_secs(3600));
        assert!(policy.remaining_time(&state).is_some());
        assert!(policy.on_error(&state, Error::io("lost")).is_permanent());
        reach.throttler(google_cloud_gax::retry_throttler::AdaptiveThrottler::default()).on_success();
        assert_eq!(policy.remaining_time(&state), None);
        assert!(policy.on_error(&state, Error::io("lost")).is_continue());
    }
}
