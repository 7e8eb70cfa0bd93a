//! Acceptance on real accounts: applies examples, proves that nothing is left, sweeps what is, and records answers.
//!
//! Everything else in the test suite runs against emulated clouds, which prove only what their authors knew. This crate
//! lets an owner of accounts find out the rest: [`run`] applies an example as users do, in a fabric of its own;
//! [`sweep`] deletes what interrupted runs left behind; and each run writes the answers that the cloud refused calls
//! with in the form of `tests/evidence`. The same code runs against the emulated clouds in the tests of this crate.

pub mod example;
pub mod fabric;
pub mod price;
pub mod run;
pub mod sweep;
mod terraform;

pub use terraform::Interrupts;
