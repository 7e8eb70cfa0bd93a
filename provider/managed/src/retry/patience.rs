//! How long an operation tries again.

use std::time::Duration;

use tf_provider_rs::Diagnostics;
use tokio::time::Instant;

use super::{FIRST, LONGEST, Remedy, backoff_from};
use crate::failure::Failure;
use crate::wait::Op;

/// The intervals of retries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Maximum time until every API call sees an object that the cloud has confirmed.
    pub(crate) settle: Duration,
    /// Maximum time until every API call knows an identity, and until a create sees what it names. As in hashicorp/aws
    /// (`propagationTimeout`, `iamPropagationTimeout`).
    pub(crate) propagate: Duration,
    /// How long a create whose response was lost looks for its object before it makes another.
    pub(crate) appear: Duration,
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
    pub(crate) report: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            settle: Duration::from_secs(30),
            propagate: Duration::from_secs(120),
            appear: Duration::from_secs(15),
            first: FIRST,
            longest: LONGEST,
            report: Duration::from_secs(10),
        }
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A change that may be made twice, or a read.
    Call,
    /// A read that is repeated until the object is as wanted.
    Poll,
    /// A call that ends the use of something.
    Release,
    /// A create.
    Create {
        /// Whether the cloud refuses a second object of the name.
        unique: bool,
    },
}

/// The tries of one step of an operation.
pub struct Patience<'a, E> {
    op: &'a Op<E>,
    purpose: Purpose,
    tries: u32,
    /// Whether a response was lost: a conflict may then be with the object of the lost call.
    lost: bool,
    /// Since when the failure is one that only time can heal. It counts from the first such response, however long the
    /// calls before took: a throttled create may end minutes after its operation began.
    since: Option<Instant>,
    reported: Instant,
}

impl<'a, E: Failure> Patience<'a, E> {
    /// The tries of a step of `op`.
    pub fn new(op: &'a Op<E>, purpose: Purpose) -> Patience<'a, E> {
        Patience { op, purpose, tries: 0, lost: false, since: None, reported: Instant::now() }
    }

    /// Sleeps before the next try.
    ///
    /// # Errors
    /// The error itself, if trying again does not help; a cancelled run.
    pub async fn after(&mut self, error: E) -> Result<(), Diagnostics> {
        let remedy = error.remedy();
        if !self.hopes(remedy) || self.op.is_expired() {
            return Err(self.op.explain(error));
        }
        let (object, reason) = (self.op.what(), remedy.reason());
        tracing::debug!(object, reason, "retrying");
        if self.reported.elapsed() >= self.op.pace().report {
            self.reported = Instant::now();
            tracing::info!(object, %error, "still retrying");
        }
        self.pause().await
    }

    /// Sleeps, longer every time.
    ///
    /// # Errors
    /// A cancelled run.
    pub(crate) async fn pause(&mut self) -> Result<(), Diagnostics> {
        self.tries += 1;
        let Pace { first, longest, .. } = self.op.pace();
        self.op.sleep(backoff_from(*first, *longest, self.tries)).await
    }

    /// Records that the object was found.
    pub(crate) fn found(&mut self) {
        self.since = None;
    }

    /// Records that the object was not found, and returns whether it may still appear.
    pub(crate) fn is_recent(&mut self) -> bool {
        self.lasts(self.op.pace().settle)
    }

    /// Whether to try again.
    pub(crate) fn hopes(&mut self, remedy: Remedy) -> bool {
        let create = matches!(self.purpose, Purpose::Create { .. });
        let Pace { settle, propagate, .. } = *self.op.pace();
        self.lost |= remedy == Remedy::Lost;
        match remedy {
            Remedy::Throttled | Remedy::Busy | Remedy::Lost => true,
            Remedy::Unpropagated => self.lasts(propagate),
            Remedy::NotFound => self.lasts(if create { propagate } else { settle }),
            Remedy::InUse => self.purpose == Purpose::Release,
            Remedy::Conflict => {
                let own = self.lost || self.purpose == (Purpose::Create { unique: true });
                (create || self.purpose == Purpose::Poll) && own && self.lasts(propagate)
            }
            Remedy::Final => false,
        }
    }

    fn lasts(&mut self, grace: Duration) -> bool {
        let now = Instant::now();
        now < *self.since.get_or_insert(now) + grace
    }
}
