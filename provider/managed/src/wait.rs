//! Retries, waits, the deadline and the cancellation of one operation.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tf_provider_rs::{CancellationToken, Context, Diagnostic, Diagnostics};
use tokio::time::Instant;

use crate::failure::Failure;

/// The intervals of retries.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Maximum time until every API call sees an object that the cloud has confirmed.
    settle: Duration,
    first: Duration,
    longest: Duration,
    report: Duration,
}

const PACE: Pace = Pace {
    settle: Duration::from_secs(30),
    first: Duration::from_millis(50),
    longest: Duration::from_secs(5),
    report: Duration::from_secs(10),
};

/// An operation on one object, with its deadline and its cancellation. `E` is the error of failed calls.
#[derive(Clone, Debug)]
pub struct Op<E> {
    cloud: &'static str,
    what: String,
    deadline: Instant,
    timeout: Duration,
    pace: Pace,
    cancel: CancellationToken,
    error: PhantomData<fn() -> E>,
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll<T> {
    /// The object is as wanted.
    Ready(T),
    /// Not finished; the state of the object as the cloud reports it.
    Pending(String),
}

impl<E: Failure> Op<E> {
    /// An operation on `what` (such as `warren_aws_vpc "hub"`) with a deadline of `timeout` from now.
    pub fn new(ctx: &Context, cloud: &'static str, what: impl Into<String>, timeout: Duration) -> Op<E> {
        Op::paced(ctx, cloud, what, timeout, PACE)
    }

    fn paced(
        ctx: &Context,
        cloud: &'static str,
        what: impl Into<String>,
        timeout: Duration,
        pace: Pace,
    ) -> Op<E> {
        let now = Instant::now();
        Op {
            cloud,
            what: what.into(),
            deadline: now + timeout,
            timeout,
            pace,
            cancel: ctx.cancel.clone(),
            error: PhantomData,
        }
    }

    /// Calls, and retries while the cloud does not find an object that is known to exist (eventual
    /// consistency).
    ///
    /// # Errors
    /// The last error of the cloud, or a cancelled run.
    pub async fn call<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut absence = self.absence();
        self.retry(&mut call, |error, now| {
            absence.tolerates(error) || (error.is_not_ready() && now < self.deadline)
        })
        .await
    }

    /// As [`Op::call`], but what the cloud does not find may still be on its way: while `comes` says so, it is waited for
    /// until the deadline.
    ///
    /// # Errors
    /// The last error of the cloud, or a cancelled run.
    pub async fn call_while<T, F, C>(
        &self,
        mut call: impl FnMut() -> F,
        comes: impl Fn() -> C,
    ) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
        C: Future<Output = bool>,
    {
        loop {
            let lost = AtomicBool::new(false);
            let attempt = || {
                let attempt = call();
                let lost = &lost;
                async move {
                    let done = attempt.await;
                    lost.store(done.as_ref().is_err_and(E::is_not_found), Ordering::Relaxed);
                    done
                }
            };
            match self.call(attempt).await {
                Err(_) if lost.load(Ordering::Relaxed) && !self.is_expired() && comes().await => {}
                done => return done,
            }
        }
    }

    /// Calls, and retries while something still uses the object, or while the cloud does not find it yet.
    ///
    /// # Errors
    /// The last error of the cloud, or a cancelled run.
    pub async fn release<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut absence = self.absence();
        self.retry(&mut call, |error, now| {
            ((error.is_in_use() || error.is_not_ready()) && now < self.deadline) || absence.tolerates(error)
        })
        .await
    }

    /// Polls until the object is as wanted. A read that does not find it is repeated for a while, as in
    /// [`Op::call`].
    ///
    /// # Errors
    /// The error of the read, a timeout, or a cancelled run.
    pub async fn until<T, F>(&self, wanted: &str, mut read: impl FnMut() -> F) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<Poll<T>, E>>,
    {
        let mut pause = Pause::at(self.pace);
        let mut absence = self.absence();
        let begun = Instant::now();
        let mut reported = begun;
        loop {
            let state = match read().await {
                Ok(Poll::Ready(found)) => return Ok(found),
                Ok(Poll::Pending(state)) => {
                    absence = self.absence();
                    state
                }
                Err(error) if absence.tolerates(&error) => "not visible yet".to_owned(),
                Err(error) => return Err(self.explain(error)),
            };
            let now = Instant::now();
            if now >= self.deadline {
                return Err(self.timed_out(wanted, &state).into());
            }
            tracing::debug!(object = self.what, state, wanted, "waiting");
            if now - reported >= self.pace.report {
                reported = now;
                let seconds = (now - begun).as_secs();
                tracing::info!(object = self.what, state, wanted, seconds, "still waiting");
            }
            self.sleep(pause.grow()).await?;
        }
    }

    /// Performs an action that must not be retried blindly, unless it is `done`. After a lost response, or
    /// while another change is in progress, it checks `done` first. Returns whether the action was needed.
    ///
    /// # Errors
    /// The last error of the cloud, a timeout, or a cancelled run.
    pub async fn settle<D, P>(
        &self,
        wanted: &str,
        done: impl Fn() -> D,
        put: impl Fn() -> P,
    ) -> Result<bool, Diagnostics>
    where
        D: Future<Output = Result<bool, E>>,
        P: Future<Output = Result<(), E>>,
    {
        let tried = AtomicBool::new(false);
        self.until(wanted, || async {
            if done().await? {
                return Ok(Poll::Ready(()));
            }
            tried.store(true, Ordering::Relaxed);
            match put().await {
                Ok(()) => Ok(Poll::Ready(())),
                Err(error) if error.is_ambiguous() || error.is_throttle() || error.is_not_ready() => {
                    Ok(Poll::Pending(error.to_string()))
                }
                Err(error) => Err(error),
            }
        })
        .await?;
        Ok(tried.into_inner())
    }

    /// Deletes, retries while something still uses the object, and polls until it no longer exists.
    ///
    /// A delete may not find an object that was created a moment ago although other calls return it: it is
    /// then repeated. It must return "not found" as an error.
    ///
    /// # Errors
    /// The last error of the cloud, a timeout, or a cancelled run.
    pub async fn delete<T, D, L>(
        &self,
        mut delete: impl FnMut() -> D,
        mut read: impl FnMut() -> L,
    ) -> Result<(), Diagnostics>
    where
        D: Future<Output = Result<(), E>>,
        L: Future<Output = Result<T, E>>,
    {
        let mut known = || {
            let call = delete();
            async { E::if_found(call.await).map(|known| known.is_some()) }
        };
        let mut pause = Pause::at(self.pace);
        let mut absence = self.absence();
        loop {
            let begun = self
                .retry(&mut known, |error, now| {
                    (error.is_in_use() || error.is_not_ready()) && now < self.deadline
                })
                .await?;
            if begun || !absence.is_recent() {
                return self.until_gone(read).await;
            }
            match read().await {
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(self.explain(error)),
                Ok(_) => self.sleep(pause.grow()).await?,
            }
        }
    }

    /// Polls until the object no longer exists.
    ///
    /// # Errors
    /// As [`Op::until`].
    pub async fn until_gone<T, F>(&self, mut read: impl FnMut() -> F) -> Result<(), Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
    {
        self.until("deleted", || {
            let read = read();
            async {
                match read.await {
                    Ok(_) => Ok(Poll::Pending("still exists".to_owned())),
                    Err(error) if error.is_not_found() => Ok(Poll::Ready(())),
                    Err(error) => Err(error),
                }
            }
        })
        .await
    }

    /// Performs work that does not wait, such as a read, within the timeout and until the run is cancelled.
    ///
    /// # Errors
    /// The error of the work, a timeout, or a cancelled run.
    pub async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, Diagnostics>>,
    ) -> Result<T, Diagnostics> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.cancel.cancelled() => Err(self.cancelled().into()),
            () = tokio::time::sleep_until(self.deadline) => {
                Err(self.timed_out("read", "no result, calls are still being retried").into())
            }
        }
    }

    /// Sleeps, but not beyond the deadline.
    ///
    /// # Errors
    /// The run is cancelled; the sleep then ends immediately.
    pub async fn sleep(&self, pause: Duration) -> Result<(), Diagnostics> {
        let until = (Instant::now() + pause).min(self.deadline);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(self.cancelled().into()),
            () = tokio::time::sleep_until(until) => Ok(()),
        }
    }

    /// Returns an error if the run is cancelled; used between the steps of a long operation.
    ///
    /// # Errors
    /// The run is cancelled.
    pub fn check_cancelled(&self) -> Result<(), Diagnostics> {
        if self.cancel.is_cancelled() { Err(self.cancelled().into()) } else { Ok(()) }
    }

    /// Whether the deadline has passed.
    pub fn is_expired(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn absence(&self) -> Absence {
        Absence { since: None, grace: self.pace.settle, deadline: self.deadline }
    }

    async fn retry<T, F>(
        &self,
        call: &mut impl FnMut() -> F,
        mut again: impl FnMut(&E, Instant) -> bool,
    ) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut pause = Pause::at(self.pace);
        let mut reported = Instant::now();
        loop {
            self.check_cancelled()?;
            match call().await {
                Ok(done) => return Ok(done),
                Err(error) if again(&error, Instant::now()) => {
                    tracing::debug!(object = self.what, reason = reason(&error), "retrying");
                    if reported.elapsed() >= self.pace.report {
                        reported = Instant::now();
                        tracing::info!(object = self.what, %error, "still retrying");
                    }
                    self.sleep(pause.grow()).await?;
                }
                Err(error) => return Err(self.explain(error)),
            }
        }
    }

    /// An API error together with its object.
    pub fn explain(&self, error: impl Into<Diagnostic>) -> Diagnostics {
        let mut diagnostic: Diagnostic = error.into();
        diagnostic.detail = format!("{}: {}", self.what, diagnostic.detail);
        diagnostic.into()
    }

    fn timed_out(&self, wanted: &str, state: &str) -> Diagnostic {
        Diagnostic::error(
            "Timed out",
            format!(
                "{} was not {wanted} within {} seconds. {} last reported: {state}. Apply again to \
                 continue waiting, or increase the `timeouts` of the resource.",
                self.what,
                self.timeout.as_secs(),
                self.cloud
            ),
        )
    }

    fn cancelled(&self) -> Diagnostic {
        Diagnostic::error(
            "Cancelled",
            format!(
                "The run was cancelled during an operation on {}. Everything that was created is in the \
                 state. Apply again to finish.",
                self.what
            ),
        )
    }
}

/// Why a failed call is retried, without the message of the cloud.
pub(crate) fn reason<E: Failure>(error: &E) -> &'static str {
    match error {
        error if error.is_not_found() => "not found yet",
        error if error.is_in_use() => "in use",
        error if error.is_throttle() => "throttled",
        error if error.is_ambiguous() => "response lost",
        error if error.is_conflict() => "conflict",
        error if error.is_not_ready() => "not ready",
        _ => "failed",
    }
}

/// The time since an object that is known to exist was first not found. It counts from the first such
/// response, however long the calls before took: a throttled create may end minutes after its operation
/// began.
struct Absence {
    since: Option<Instant>,
    grace: Duration,
    deadline: Instant,
}

impl Absence {
    /// Whether `error` is "not found" and the object may still appear.
    fn tolerates<E: Failure>(&mut self, error: &E) -> bool {
        error.is_not_found() && self.is_recent()
    }

    /// Records that the object was not found, and returns whether to retry.
    fn is_recent(&mut self) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        now < (since + self.grace).min(self.deadline)
    }
}

/// Pauses that grow by a factor of 1.6 from 50 ms to 5 s. Each is shortened at random by up to a third, so
/// that parallel operations do not call in step.
pub struct Pause {
    next: Duration,
    longest: Duration,
}

/// The pauses of every operation.
impl Default for Pause {
    fn default() -> Pause {
        Pause::at(PACE)
    }
}

impl Pause {
    fn at(pace: Pace) -> Pause {
        Pause { next: pace.first, longest: pace.longest }
    }

    /// The next pause; longer every time.
    pub fn grow(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.mul_f64(1.6).min(self.longest);
        pause.mul_f64(1.0 - rand::random::<f64>() / 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, error};
    use std::sync::atomic::AtomicUsize;

    /// A hundred times as fast as for users.
    const FAST: Pace = Pace {
        settle: Duration::from_millis(300),
        first: Duration::from_micros(500),
        longest: Duration::from_millis(50),
        report: Duration::from_millis(100),
    };

    fn op(cancel: &CancellationToken, timeout: Duration) -> Op<Fake> {
        let ctx = Context { cancel: cancel.clone(), ..Context::default() };
        Op::paced(&ctx, "AWS", "warren_aws_vpc \"hub\"", timeout, FAST)
    }

    fn shown(diagnostics: &Diagnostics) -> String {
        diagnostics.0.iter().map(|d| format!("{}\n{}", d.summary, d.detail)).collect()
    }

    #[tokio::test]
    async fn an_object_not_seen_yet_is_read_again() {
        let reads = AtomicUsize::new(0);
        let found = op(&CancellationToken::new(), Duration::from_secs(60))
            .until("available", || async {
                match reads.fetch_add(1, Ordering::Relaxed) {
                    0..3 => Err(error("not found")),
                    3..6 => Ok(Poll::Pending("pending".into())),
                    _ => Ok(Poll::Ready("vpc-1")),
                }
            })
            .await;
        assert_eq!(found, Ok("vpc-1"));
        assert_eq!(reads.into_inner(), 7);
    }

    #[tokio::test]
    async fn what_must_not_be_repeated_is_asked_for_after_a_lost_answer() {
        let op = op(&CancellationToken::new(), Duration::from_secs(60));
        // The second attempt takes effect, and its answer is lost.
        let puts = AtomicUsize::new(0);
        let done = || async { Ok(puts.load(Ordering::Relaxed) >= 2) };
        let put = || async {
            puts.fetch_add(1, Ordering::Relaxed);
            Err(error("ambiguous"))
        };
        assert_eq!(op.settle("put", done, put).await, Ok(true));
        assert_eq!(puts.load(Ordering::Relaxed), 2);
        assert_eq!(op.settle("put", done, put).await, Ok(false));
        assert_eq!(puts.into_inner(), 2);
        let refused = op.settle("put", || async { Ok(false) }, || async { Err(error("conflict")) }).await;
        assert!(shown(&refused.unwrap_err()).contains("conflict"));
    }

    #[tokio::test]
    async fn the_grace_period_for_not_found_ends() {
        let begun = Instant::now();
        let result: Result<(), _> = op(&CancellationToken::new(), Duration::from_secs(60))
            .call(|| async { Err(error("not found")) })
            .await;
        assert!(result.is_err());
        assert!(begun.elapsed() >= FAST.settle);
    }

    #[tokio::test]
    async fn what_is_on_its_way_is_waited_for() {
        let op = op(&CancellationToken::new(), Duration::from_secs(60));
        let arrival = Instant::now() + FAST.settle * 3;
        let call = || async { if Instant::now() < arrival { Err(error("not found")) } else { Ok("vpc-1") } };
        assert_eq!(op.call_while(call, || async { true }).await, Ok("vpc-1"));
        let never = || async { Err::<(), _>(error("not found")) };
        let begun = Instant::now();
        assert!(op.call_while(never, || async { begun.elapsed() < FAST.settle * 2 }).await.is_err());
        assert!(begun.elapsed() >= FAST.settle * 2);
        let refused = op.call_while(|| async { Err::<(), _>(error("conflict")) }, || async { true }).await;
        assert!(shown(&refused.unwrap_err()).contains("conflict"));
    }

    #[tokio::test]
    async fn an_object_made_late_in_an_operation_is_read_for_as_long() {
        let op = op(&CancellationToken::new(), Duration::from_secs(60));
        tokio::time::sleep(FAST.settle * 2).await;
        let calls = AtomicUsize::new(0);
        let answer = || async {
            match calls.fetch_add(1, Ordering::Relaxed) % 3 {
                0..2 => Err(error("not found")),
                _ => Ok(()),
            }
        };
        assert_eq!(op.call(answer).await, Ok(()));
        assert_eq!(op.release(answer).await, Ok(()));
        let read = || async { answer().await.map(Poll::Ready) };
        assert_eq!(op.until("available", read).await, Ok(()));
        assert_eq!(calls.into_inner(), 9);
    }

    #[tokio::test]
    async fn what_is_in_use_is_released_until_the_deadline() {
        let begun = Instant::now();
        let timeout = Duration::from_millis(200);
        let result: Result<(), _> =
            op(&CancellationToken::new(), timeout).release(|| async { Err(error("in use")) }).await;
        insta::assert_snapshot!(shown(&result.unwrap_err()));
        assert!(begun.elapsed() >= timeout);
    }

    #[tokio::test]
    async fn a_wait_times_out() {
        let result: Result<(), _> = op(&CancellationToken::new(), Duration::from_secs(1))
            .until::<(), _>("available", || async { Ok(Poll::Pending("pending".into())) })
            .await;
        insta::assert_snapshot!(shown(&result.unwrap_err()));
    }

    #[tokio::test]
    async fn a_stopped_run_stops_waiting_at_once() {
        let cancel = CancellationToken::new();
        let begun = Instant::now();
        let stop = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            cancel.cancel();
        };
        let op = op(&cancel, Duration::from_secs(600));
        let (result, ()) = tokio::join!(
            op.until::<(), _>("available", || async { Ok(Poll::Pending("pending".into())) }),
            stop
        );
        insta::assert_snapshot!(shown(&result.unwrap_err()));
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[tokio::test]
    async fn what_is_gone_is_gone() {
        let reads = AtomicUsize::new(0);
        let result = op(&CancellationToken::new(), Duration::from_secs(60))
            .until_gone(|| async {
                match reads.fetch_add(1, Ordering::Relaxed) {
                    0..2 => Ok(()),
                    _ => Err(error("not found")),
                }
            })
            .await;
        assert_eq!(result, Ok(()));
        assert_eq!(reads.into_inner(), 3);
    }

    #[tokio::test]
    async fn an_object_that_is_shown_and_unknown_to_the_delete_is_deleted_again() {
        let deletes = AtomicUsize::new(0);
        let result = op(&CancellationToken::new(), Duration::from_secs(5))
            .delete(
                || async {
                    match deletes.fetch_add(1, Ordering::Relaxed) {
                        0..2 => Err(error("not found")),
                        _ => Ok(()),
                    }
                },
                || async {
                    if deletes.load(Ordering::Relaxed) < 3 { Ok(()) } else { Err(error("not found")) }
                },
            )
            .await;
        assert_eq!(result, Ok(()));
        assert_eq!(deletes.into_inner(), 3);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let mut pause = Pause::default();
        let all: Vec<Duration> = (0..30).map(|_| pause.grow()).collect();
        assert!(all[0] <= PACE.first);
        assert!(all.iter().all(|pause| *pause <= PACE.longest && *pause >= PACE.first.mul_f64(0.66)));
        assert!(all[29] >= PACE.longest.mul_f64(0.66));
    }
}
