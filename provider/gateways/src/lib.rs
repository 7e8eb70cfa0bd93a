//! What the gateways of all clouds share.
//!
//! * [`key`]: keys that are made in the provider's process and go nowhere but into a secret store.
//! * [`boot`]: the script that sets a gateway up, at its first boot and at every other.
//! * [`config`]: the check of a gateway's configuration file at plan.

pub mod boot;
pub mod config;
pub mod key;
