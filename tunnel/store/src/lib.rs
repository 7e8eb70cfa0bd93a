//! Where leases are kept: [`Embedded`], a file of one gateway, or [`Etcd`], which several gateways share.
//!
//! A store is a table of records with versions, and transactions that happen whole or not at all
//! ([`warren_proto::lease::Transaction`]). What it has acknowledged it keeps, through crashes. Who follows a store
//! ([`Store::follow`]) is first given its contents and then every change, in order, whoever made it.
//!
//! What the records mean is known by [`warren_proto::lease`] alone.

mod embedded;
mod etcd;

use async_trait::async_trait;
use tokio::sync::mpsc;
use warren_proto::lease::{Change, Outcome, Transaction};
use warren_wire::Name;

pub use embedded::Embedded;
pub use etcd::{Etcd, EtcdSettings, Tls};

/// What happened in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// All records, as of a revision: at first, and when changes can no longer be had one by one.
    Contents {
        /// The store's revision.
        revision: u64,
        /// Every record.
        records: Vec<Change>,
    },
    /// Changes in their order; all up to a revision are told now.
    Changes {
        /// The store's revision.
        revision: u64,
        /// What changed.
        changes: Vec<Change>,
    },
    /// The store does not answer; the next news comes when it does again.
    Interrupted(String),
}

/// Why a store did not do what it was asked to. It is not known whether a transaction happened.
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
    /// What it said of itself.
    pub value: Vec<u8>,
}

/// A table of records with transactions, and its followers.
#[async_trait]
pub trait Store: Send + Sync {
    /// Does a transaction, or tells what keeps it from happening. Never [`Outcome::Unknown`]: that is an error.
    ///
    /// # Errors
    /// The store did not answer; the transaction may have happened.
    async fn commit(&self, transaction: &Transaction) -> Result<Outcome, StoreError>;

    /// Everything there is, then everything that changes. Ends when the receiver is dropped.
    fn follow(&self) -> mpsc::Receiver<News>;

    /// Makes it known that a gateway is alive, until the returned value is dropped or the process dies.
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

/// A gateway is known to be alive as long as it has this.
#[derive(Debug)]
#[must_use = "the gateway counts as dead when this is dropped"]
pub struct Presence {
    _end: tokio::sync::oneshot::Sender<()>,
}

/// How much news may wait for a follower; a store waits for those that are slower.
const NEWS: usize = 256;
