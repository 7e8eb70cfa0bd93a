//! How pods join: the gateway's side and the pod's.
//!
//! ```text
//! pod: client::enrol --TLS--> the carrier's listener --> serve --> server::Enrolment::handle
//!                                                                          token, proof, limits
//!                                                    leases::LeaseService <--+
//!                                                    the machine and its store, one task
//!                                                      +--> PeerEvent: the interface's peers
//! ```

pub mod client;
pub mod leases;
mod limits;
pub mod serve;
pub mod server;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use warren_lease::Now;
use warren_wire::UnixTime;

use crate::runtime::datapath::Clock;

/// Both clocks.
pub(crate) fn clocks() -> Now {
    Now { mono: Clock.mono(), wall: now() }
}

/// The system's clock.
pub(crate) fn now() -> UnixTime {
    // Before 1970 every token is early, and nobody is let in.
    UnixTime::from_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}
