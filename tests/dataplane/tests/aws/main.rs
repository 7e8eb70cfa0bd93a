//! AWS's rules, each with packets.

#![expect(clippy::unwrap_used, reason = "tests")]

mod filters;
mod names;
mod policies;
mod read;
mod routes;
mod world;
