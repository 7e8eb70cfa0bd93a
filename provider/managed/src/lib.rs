//! The resource lifecycle that all clouds share.
//!
//! A cloud implements [`Cloud`] for its configured account and [`Failure`] for its errors. An object type
//! implements [`Common`] and [`Object`] for its model. [`Managed`] turns it into a resource and handles
//! adoption, saving of state, timeouts, identity and import.

pub mod adopt;
mod cloud;
mod common;
mod elsewhere;
mod failure;
mod managed;
mod memory;
pub mod ranges;
pub mod reach;
mod references;
pub mod retry;
mod session;
pub mod sets;
pub mod timeouts;
mod wait;
mod work;

pub use cloud::{Cloud, Imported, Locator, Memory, Place, Scope};
pub use common::{Common, HasShared, Operation, Shared, key};
pub use failure::Failure;
pub use managed::{Managed, Object, ensure};
pub use memory::{Objects, Table};
pub use retry::Remedy;
pub use session::Session;
pub use timeouts::Timeouts;
pub use wait::{Op, Poll};
pub use work::Work;

#[cfg(test)]
mod fake;
