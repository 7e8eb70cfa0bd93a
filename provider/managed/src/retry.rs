//! What is retried, and for how long: one policy for every call to every cloud.
//!
//! A failed call has one [`Remedy`]. Two places act on it:
//!
//! ```text
//! transport   every attempt of every call, polls and reads included: may it be repeated as it is?
//! operation   what a resource does: does it make sense to try again, after another look at the object?
//! ```
//!
//! | remedy | transport | operation |
//! |---|---|---|
//! | throttled | repeats | waits |
//! | lost | repeats a call that does no harm twice | waits; a create looks for its object first |
//! | busy | | waits |
//! | unpropagated | | waits up to 2 minutes |
//! | not found | | waits up to 30 seconds, a create up to 2 minutes |
//! | in use | | waits, if it deletes |
//! | conflict | | looks again, up to 2 minutes, if an object of its own can be the reason |
//! | final | | |
//!
//! Both end at the deadline of the operation, which is the timeout of the resource. No number of attempts ends them.
//! Outside an operation nothing is repeated.

mod budget;
mod patience;
#[cfg(test)]
mod tests;
mod token;

use std::time::Duration;

use tf_provider_rs::CancellationToken;
use tokio::time::Instant;

pub use budget::Budget;
pub(crate) use patience::Pace;
pub use patience::{Patience, Purpose};
pub(crate) use token::{Token, attempt};
pub use token::{digest, token};

/// Why a call failed, by what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The cloud limits the rate of calls, and did not execute this one.
    Throttled,
    /// There is no usable response, so the cloud may have executed the call.
    Lost,
    /// Another change is in progress, or was made since the object was read.
    Busy,
    /// An identity that exists is not known everywhere yet.
    Unpropagated,
    /// The object, or one that the call names, does not exist (yet or any more).
    NotFound,
    /// Something still uses the object.
    InUse,
    /// The call conflicts with another object.
    Conflict,
    /// The same call fails again.
    Final,
}

impl Remedy {
    /// In logs.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Remedy::Throttled => "throttled",
            Remedy::Lost => "response lost",
            Remedy::Busy => "another change in progress",
            Remedy::Unpropagated => "identity not known everywhere yet",
            Remedy::NotFound => "not found yet",
            Remedy::InUse => "in use",
            Remedy::Conflict => "conflict",
            Remedy::Final => "failed",
        }
    }
}

/// The operation that the calls of a task belong to.
#[derive(Clone, Debug)]
struct Running {
    deadline: Instant,
    cancel: CancellationToken,
}

tokio::task_local! {
    static RUNNING: Running;
}

/// Performs `work` as an operation: its calls are repeated until the deadline, unless the run is cancelled.
pub async fn until<T>(deadline: Instant, cancel: CancellationToken, work: impl Future<Output = T>) -> T {
    RUNNING.scope(Running { deadline, cancel }, work).await
}

/// Whether the transport repeats a call that failed; `repeatable` is whether a second execution does no harm.
pub fn repeats(remedy: Remedy, repeatable: bool) -> bool {
    let wanted = remedy == Remedy::Throttled || (remedy == Remedy::Lost && repeatable);
    wanted
        && RUNNING
            .try_with(|running| !running.cancel.is_cancelled() && Instant::now() < running.deadline)
            .unwrap_or_default()
}

/// Sleeps, and returns whether the operation of this task still runs.
pub async fn pause(pause: Duration) -> bool {
    let Ok(Running { deadline, cancel }) = RUNNING.try_with(Clone::clone) else {
        tokio::time::sleep(pause).await;
        return true;
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => false,
        () = tokio::time::sleep_until(deadline) => false,
        () = tokio::time::sleep(pause) => true,
    }
}

/// The pause after the given number of attempts: 50 ms, and 1.6 times as long after each further attempt, up to 5 s. Each
/// is shortened at random by up to a third, so that parallel operations do not call in step.
pub fn backoff(attempts: u32) -> Duration {
    backoff_from(FIRST, LONGEST, attempts)
}

/// The shortest pause.
pub const FIRST: Duration = Duration::from_millis(50);
/// The longest pause, which is also how long the transport may take to notice a cancelled run.
pub const LONGEST: Duration = Duration::from_secs(5);

fn backoff_from(first: Duration, longest: Duration, attempts: u32) -> Duration {
    let steps = i32::try_from(attempts.saturating_sub(1).min(60)).unwrap_or(60);
    let pause = first.as_secs_f64() * 1.6_f64.powi(steps);
    let pause = pause.min(longest.as_secs_f64());
    Duration::from_secs_f64(pause * (1.0 - rand::random::<f64>() / 3.0))
}
