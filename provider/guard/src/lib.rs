//! The overlap guard: rejects ranges that conflict within a fabric during the plan.
//!
//! Each resource registers its ranges with the [`Guard`] of its provider process, which compares them with the other
//! ranges of the run (address plans, networks, subnets), with live networks ([`LiveSource`]) and with the claims of
//! other owners ([`ClaimsUrl`]). Terraform starts one process for each provider configuration; those of a run share
//! their ranges in a ledger. During the apply, [`Guard::claim`]
//! decides which of two concurrent owners gets a range.

mod check;
mod claims;
mod config;
mod guard;
mod index;
mod key;
mod ledger;
mod live;
mod planned;
mod report;
mod run;
mod suggest;

pub use claims::ClaimRole;
pub use config::{
    ClaimsUrl, ClaimsUrlError, CredentialSource, GcsOptions, GuardConfig, S3Credentials, S3Options,
    TokenSource,
};
pub use guard::Guard;
pub use key::{Key, Location};
pub use live::{Listing, LiveRange, LiveSource, Unread, Usage};
pub use planned::{Parent, PlannedRange, PlannedResource, Role};
