//! The overlay of an apply on this machine: instances of gateways, pods, storage behind them; nothing has a privilege.
//!
//! ```text
//! pod's namespace                      hub's namespace
//! agent 203.0.113.2 ---- wire ---- 203.0.113.1, the gateway's public address     storage 172.16.…
//!                                  gateway ------------------------------------> TLS --> the emulated S3
//! ```
//!
//! What runs is what Terraform made: the boot script of the instance's user data, the secret store's values, the
//! environment that the pods' cloud gives them.

mod instance;
mod pod;
mod process;
mod storage;

pub use instance::Instance;
pub use pod::Pod;
pub use process::Process;
pub use storage::{Storage, put};

use anyhow::Result;
use warren_harness::NetNs;

/// The hub's network and, one wire away, that of pods.
#[derive(Debug)]
pub struct Hosts {
    /// Has the gateway's public address, and what is behind it.
    pub hub: NetNs,
    /// Reaches the gateway's public address, nothing else.
    pub pods: NetNs,
}

impl Hosts {
    /// Two namespaces; `gateway` is the gateway's public address, `private` are addresses in the hub.
    ///
    /// # Errors
    /// The kernel allows no namespaces.
    pub fn new(gateway: &str, private: &[&str]) -> Result<Hosts> {
        let hub = NetNs::new()?;
        let pods = hub.neighbour()?;
        hub.ip("address add 203.0.113.1/24 dev wire")?;
        pods.ip("address add 203.0.113.2/24 dev wire")?;
        for address in private.iter().chain([&gateway]) {
            hub.ip(&format!("address add {address}/32 dev lo"))?;
        }
        pods.ip(&format!("route add {gateway}/32 via 203.0.113.1"))?;
        Ok(Hosts { hub, pods })
    }
}
