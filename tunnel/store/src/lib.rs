//! Lease stores: [`Embedded`], a file of one gateway, or [`Etcd`], which several gateways share.
//!
//! A store is a table of versioned records with atomic transactions ([`warren_lease::Transaction`]).
//! Acknowledged changes survive crashes. A follower ([`Store::follow`]) first receives the contents, then every change
//! in order, including those of other gateways.
//!
//! Only [`warren_lease`] interprets the records.

mod embedded;
mod etcd;

use async_trait::async_trait;
use tokio::sync::mpsc;
use warren_lease::{Change, Outcome, Transaction};
use warren_wire::Name;

pub use embedded::Embedded;
pub use etcd::{Etcd, EtcdSettings, Tls};

/// News from a store for its followers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// All records as of a revision: at first, and when single changes are no longer available.
    Contents {
        /// The store's revision.
        revision: u64,
        /// Every record.
        records: Vec<Change>,
    },
    /// Changes in order; completes all changes up to a revision.
    Changes {
        /// The store's revision.
        revision: u64,
        /// What changed.
        changes: Vec<Change>,
    },
    /// The store does not answer; the next news arrives when it recovers.
    Interrupted(String),
}

/// A failed request to a store. Whether a transaction was committed is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, read or written.
    #[error("{0}")]
    File(String),
    /// No member of the cluster answered in time.
    #[error("etcd does not answer: {0}")]
    Unreachable(String),
    /// The cluster refused.
    #[error("etcd refused: {0}")]
    Refused(String),
}

/// A gateway that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// The value that it announced.
    pub value: Vec<u8>,
}

/// A table of records with transactions, and its followers.
#[async_trait]
pub trait Store: Send + Sync {
    /// Commits a transaction, or returns the conflict. Never [`Outcome::Unknown`]: that is an error.
    ///
    /// # Errors
    /// The store did not answer; the transaction may have happened.
    async fn commit(&self, transaction: &Transaction) -> Result<Outcome, StoreError>;

    /// Sends all records, then every change. Ends when the receiver is dropped.
    fn follow(&self) -> mpsc::Receiver<News>;

    /// Announces a live gateway, until the returned value is dropped or the process dies.
    ///
    /// # Errors
    /// The store did not answer.
    async fn announce(&self, member: Member) -> Result<Presence, StoreError>;

    /// The gateways that are alive.
    ///
    /// # Errors
    /// The store did not answer.
    async fn members(&self) -> Result<Vec<Member>, StoreError>;
}

/// The announcement of a live gateway, withdrawn on drop.
#[derive(Debug)]
#[must_use = "the gateway counts as dead when this is dropped"]
pub struct Presence {
    _end: tokio::sync::oneshot::Sender<()>,
}

/// Capacity of a follower's queue; the store waits for slower followers.
const NEWS: usize = 256;
