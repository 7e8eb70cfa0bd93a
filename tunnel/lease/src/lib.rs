//! Leases of addresses to peers, and what a peer may reach. Without I/O: time, requests and the store's contents are arguments.
//!
//! * [`Leases`]: the leases as one gateway sees and changes them.
//! * [`policy`]: allow lists, rate limits and audit records of peers.
//!
//! # Leases
//!
//! ```text
//!            enrol           not renewed for the ttl | release | evict
//! (none) -----------> Live ------------------------------------------------------> Quarantined
//!    ^                |  ^ \__ handshake: `seen` moves on                             |    |
//!    |                |  |                                                            |    |
//!    |                +--+------------- enrol with the same key, same addresses ------+    |
//!    +----------------------------------- quarantine over ---------------------------------+
//! ```
//!
//! The leases are in a store that several gateways share; each gateway has a replica ([`Leases`]). Every step is one
//! atomic [`Transaction`], which names the record versions that it depends on. So a gateway may die between any two
//! instructions. If two gateways assign the same address, one transaction fails and that gateway selects another.
//!
//! ```text
//! enrol, release, evict, revoke --+                      +--> Commit(transaction) --> store --> settled
//! seen (handshakes) --------------+--> replica, pool ----+--> Install, Remove (peers of the interface)
//! changes of the store -----------+                      +--> Answer (to the request)
//! time ---------------------------+
//! ```
//!
//! A peer is admitted if its record in the replica is live, no matter which gateway wrote it; so every gateway has every
//! peer. A gateway that has not heard from a shared store for some time admits no peer. Each address has its own record, which
//! is created only if absent, so no address is assigned twice. The uses of a token are numbered slots, assigned in the same
//! way.

mod admission;
mod contact;
mod life;
mod machine;
pub mod policy;
mod pool;
mod record;
mod replica;
mod step;
mod table;
mod types;

pub use machine::Leases;
pub use pool::{Family, Full, PoolError};
pub use record::{Change, Ending, Key, KeyError, Lease, State, Transaction};
pub use step::{COMMIT_WITHIN, Outcome, TransactionId};
pub use table::Table;
pub use types::{
    Enrolment, Grant, Now, Output, Peer, Refusal, RequestId, Settings, Shared, Statistics, Trust,
};
