//! Leases: which peer has which addresses, and for how long. Sans-IO.
//!
//! ```text
//!            enrol                 ttl after the last handshake | release | evict
//! (none) -----------> Live ------------------------------------------------------> Quarantined
//!    ^                |  ^ \__ handshake: `seen` moves on                             |    |
//!    |                |  |                                                            |    |
//!    |                +--+------------- enrol with the same key, same addresses ------+    |
//!    +----------------------------------- quarantine over ---------------------------------+
//! ```
//!
//! The truth is in a store that several gateways share; each has a replica here ([`Leases`]). Every step is one
//! [`Transaction`]: it names the versions that it rests on and happens whole or not at all. So a gateway may die
//! between any two instructions, and of two that want the same address one is told so and takes another.
//!
//! ```text
//! enrol, release, evict, revoke --+                      +--> Commit(transaction) --> store --> settled
//! seen (handshakes) --------------+--> replica, pool ----+--> Install, Remove (peers of the interface)
//! changes of the store -----------+                      +--> Answer (to the request)
//! time ---------------------------+
//! ```
//!
//! What makes a peer one is that its record in the replica is live, whoever wrote it; so every gateway has every
//! peer. An address has a record of its own, created only where there is none: that is what keeps it from being
//! handed out twice. A token's uses are numbered slots, taken the same way.

mod machine;
mod pool;
mod record;
mod replica;
mod step;
mod table;

pub use machine::{Enrolment, Grant, Leases, Output, Peer, Refusal, RequestId, Settings, Statistics};
pub use pool::{Family, Full, PoolError};
pub use record::{Change, Ending, Key, KeyError, Lease, State, Transaction};
pub use step::{COMMIT_WITHIN, Outcome, TransactionId};
pub use table::Table;
