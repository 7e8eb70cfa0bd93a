//! The lease machine against a reference, with crashes between any two steps; and what one machine does, case by case.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod chance;
mod clocks;
mod credentials;
mod fleet;
mod ledger;
mod model;
mod world;
