//! The overlap guard: refuses, at plan, ranges that may not live together in one fabric.
//!
//! One provider process plans all `warren_*` resources of a run. Each tells its ranges to the [`Guard`], which looks at
//! the other ranges of the run (address plans, networks, subnets), at live networks ([`LiveSource`]) and at the claims
//! of other owners ([`ClaimsUrl`]). At apply, [`Guard::claim`] settles who of two concurrent owners gets a range.

mod check;
mod claims;
mod config;
mod guard;
mod index;
mod key;
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
pub use key::Key;
pub use live::{LiveRange, LiveSource};
pub use planned::{Parent, PlannedRange, PlannedResource, Role};
