//! The life that the objects of all clouds share.
//!
//! A cloud implements [`Cloud`] for what a configured account of it is, and [`Failure`] for its errors. A kind of
//! object implements [`Common`] and [`Object`] for its model; [`Managed`] makes a resource of that: what may be
//! adopted, when state is saved, timeouts, identity, import.

pub mod adopt;
pub mod checks;
mod cloud;
mod common;
mod managed;
mod memory;
pub mod ranges;
mod session;
pub mod sets;
pub mod timeouts;
mod wait;

pub use cloud::{Cloud, Failure, Memory, Scope};
pub use common::{Common, Operation, key, listed};
pub use managed::{Managed, Object, Work, ensure};
pub use memory::{Objects, Table};
pub use session::Session;
pub use timeouts::Timeouts;
pub use wait::{Look, Op, Pause};

#[cfg(test)]
mod fake;
