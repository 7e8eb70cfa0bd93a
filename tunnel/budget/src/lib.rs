//! Budgets: what a principal may use, acquired before work is done for it.
//!
//! A principal is whoever a use is accounted to: a [`Source`] for strangers, or any ordered key such as a peer's.
//!
//! | type | limits |
//! |---|---|
//! | [`RateLimit`] | one rate, without a lock |
//! | [`Buckets`] | a rate for each principal, in a table of bounded size |
//! | [`Admission`] | a rate for each principal beside one for all, which principals within their share do not lose |
//! | [`Shares`] | an amount for all, of which each principal has a share for certain |
//! | [`Slots`] | things held at the same time, with a guard that releases on drop |
//!
//! The crate is pure: time is an argument, counted from any fixed origin.

mod admission;
mod buckets;
mod rate;
mod shares;
mod slots;
mod source;

pub use admission::{Admission, AdmissionRates, Refused};
pub use buckets::{Buckets, Rate};
pub use rate::RateLimit;
pub use shares::{Part, ShareLimits, Shares};
pub use slots::{Full, Slot, Slots};
pub use source::Source;
