//! A data plane beneath the emulated clouds: packets decide what a configuration reaches.
//!
//! - [`lab`] is the neutral layer: hosts and routers that are network namespaces, links between them, name servers, servers
//!   that say who they are, and probes.
//! - [`aws`] and [`google`] build the clouds' networks of it, from what the emulated clouds hold.
//! - [`oracle`] compares the model of `warren check --policy` with packets, on random topologies.
//! - [`servers`] are real ones, which answer behind the endpoints of the clouds.

pub mod aws;
pub mod google;
pub mod lab;
pub mod oracle;
pub mod servers;
