//! Code that the gateways of all clouds share.
//!
//! * [`key`]: keys that are generated in the provider process and stored only in a secret store.
//! * [`boot`]: the script that sets up a gateway at every boot.
//! * [`config`]: validation of the configuration file of a gateway at plan time.

pub mod boot;
pub mod config;
pub mod key;
