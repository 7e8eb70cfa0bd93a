//! Waits, the deadline and the cancellation of one operation.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tf_provider_rs::{CancellationToken, Context, Diagnostic, Diagnostics};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::retry::{self, Pace, Patience, Purpose};

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
        Op::paced(ctx, cloud, what, timeout, Pace::default())
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
        self.retry(Purpose::Call, &mut call).await
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
        self.retry(Purpose::Release, &mut call).await
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
        let mut patience = Patience::new(self, Purpose::Poll);
        let begun = Instant::now();
        let mut reported = begun;
        loop {
            let state = match read().await {
                Ok(Poll::Ready(found)) => return Ok(found),
                Ok(Poll::Pending(state)) => {
                    patience.found();
                    state
                }
                Err(error) if error.is_not_found() && patience.is_recent() => "not visible yet".to_owned(),
                Err(error) if patience.hopes(error.remedy()) => error.to_string(),
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
            patience.pause().await?;
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
            put().await.map(Poll::Ready)
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
        let mut patience = Patience::new(self, Purpose::Release);
        loop {
            let begun = self.retry(Purpose::Release, &mut known).await?;
            if begun || !patience.is_recent() {
                return self.until_gone(read).await;
            }
            match read().await {
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(self.explain(error)),
                Ok(_) => patience.pause().await?,
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
        self.limited("read", "no result, calls are still being retried", self.perform(work)).await?
    }

    /// Waits for a lock that allows one change at a time.
    ///
    /// # Errors
    /// A timeout, or a cancelled run.
    pub async fn turn<T>(&self, lock: impl Future<Output = T>) -> Result<T, Diagnostics> {
        self.limited("changed", "another change of this run is in progress", lock).await
    }

    async fn limited<T>(
        &self,
        wanted: &str,
        state: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, Diagnostics> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.cancel.cancelled() => Err(self.cancelled().into()),
            () = tokio::time::sleep_until(self.deadline) => Err(self.timed_out(wanted, state).into()),
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

    /// Performs work as this operation, so that its calls are repeated until the deadline.
    pub async fn perform<T>(&self, work: impl Future<Output = T>) -> T {
        retry::until(self.deadline, self.cancel.clone(), work).await
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    async fn retry<T, F>(&self, purpose: Purpose, call: &mut impl FnMut() -> F) -> Result<T, Diagnostics>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut patience = Patience::new(self, purpose);
        loop {
            self.check_cancelled()?;
            match call().await {
                Ok(done) => return Ok(done),
                Err(error) => patience.after(error).await?,
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
        let state = state.trim_end_matches('.');
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

#[cfg(test)]
mod tests;
