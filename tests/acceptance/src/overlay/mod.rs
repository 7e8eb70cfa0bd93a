//! The overlay of an apply on this machine: instances of gateways, pods, storage behind them; nothing has a privilege.
//!
//! ```text
//! pods' namespace                  hub's namespace                     storage's namespace
//! agent 203.0.113.2 -- internet -- 203.0.113.1
//!                                  gateway, 198.51.100.1 -- private -- 198.51.100.2, 172.16.…: TLS --> the emulated S3
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
pub(crate) use storage::relay;
pub use storage::{Storage, put};

use anyhow::Result;
use warren_harness::NetNs;

/// The hub's network and, one wire away each, that of pods and that of the storage.
#[derive(Debug)]
pub struct Hosts {
    /// Has the gateway's public address.
    pub hub: NetNs,
    /// Reaches the gateway's public address, nothing else.
    pub pods: NetNs,
    /// Has the private addresses; only the hub reaches it.
    pub storage: NetNs,
}

impl Hosts {
    /// Three namespaces; `gateway` is the gateway's public address, `private` are addresses of the storage.
    ///
    /// # Errors
    /// The kernel allows no namespaces.
    pub fn new(gateway: &str, private: &[&str]) -> Result<Hosts> {
        let hub = NetNs::new()?;
        let (pods, storage) = (hub.neighbour("internet")?, hub.neighbour("private")?);
        hub.ip(&format!("address add {gateway}/32 dev lo"))?;
        hub.ip("address add 203.0.113.1/24 dev internet")?;
        pods.ip("address add 203.0.113.2/24 dev internet")?;
        pods.ip(&format!("route add {gateway}/32 via 203.0.113.1"))?;
        hub.ip("address add 198.51.100.1/24 dev private")?;
        storage.ip("address add 198.51.100.2/24 dev private")?;
        for address in private {
            storage.ip(&format!("address add {address}/32 dev lo"))?;
            hub.ip(&format!("route add {address}/32 via 198.51.100.2"))?;
        }
        Ok(Hosts { hub, pods, storage })
    }
}
