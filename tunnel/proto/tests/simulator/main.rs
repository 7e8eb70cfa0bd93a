//! A simulator of peers over a bad network, in virtual time.
//!
//! [`world`] runs engines against each other: it owns the clocks, the [`network`] and the traffic, and is a data
//! path of the simplest kind ([`node`]). [`model`] knows what was sent and judges everything that is delivered.
//! All randomness is from one seed, so that a failure can be run again.
//!
//! Invariants, checked at each step:
//!
//! * a delivered packet was sent by the peer that owns its source, to the one that owns its destination, unchanged
//!   and at most once;
//! * no key is used at the age of `REJECT_AFTER_TIME` or later, seen from outside: by the times at which data
//!   messages of one index leave and arrive;
//! * nothing is sent to a peer whose address is unknown, and initiations are `REKEY_TIMEOUT` apart, but for
//!   the repetition of the very first;
//! * after the faults end, everything sent later than [`world::RECOVERY`] arrives.

mod day;
mod model;
mod network;
mod node;
mod scenarios;
mod world;
