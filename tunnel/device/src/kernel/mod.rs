//! The kernel's own WireGuard, configured and read through defguard_wireguard_rs.
//!
//! Only the WireGuard side is done here: addresses, routes and name servers are the agent's, the same as for TUN.
//! An interface made here outlives its process.

mod own;
#[cfg(test)]
mod tests;
mod translate;

use std::{net::SocketAddr, path::Path, time::Duration};

use defguard_wireguard_rs::{
    Kernel as InKernel, WGApi, WireguardInterfaceApi, error::WireguardInterfaceError,
};
use ipnet::IpNet;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};

/// The desired configuration of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelConfig {
    /// Our key.
    pub private_key: PrivateKey,
    /// UDP port; 0 lets the kernel choose.
    pub listen_port: u16,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// All peers.
    pub peers: Vec<KernelPeer>,
}

/// Settings of an interface itself that change; `None` leaves one as it is.
#[derive(Debug, Default)]
pub struct KernelOwn<'a> {
    /// Our key.
    pub private_key: Option<&'a PrivateKey>,
    /// UDP port; 0 lets the kernel choose.
    pub listen_port: Option<u16>,
    /// Mark of our datagrams; 0 removes it.
    pub fwmark: Option<u32>,
}

/// The desired configuration of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPeer {
    /// Its public key.
    pub public_key: PublicKey,
    /// The key both ends share.
    pub preshared_key: Option<PresharedKey>,
    /// Where it is; `None` leaves what the kernel knows.
    pub endpoint: Option<SocketAddr>,
    /// Seconds between keepalives.
    pub persistent_keepalive: Option<u16>,
    /// All its ranges.
    pub allowed_ips: Vec<IpNet>,
}

/// The state of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelStatus {
    /// Our public key.
    pub public_key: Option<PublicKey>,
    /// The UDP port that is bound.
    pub listen_port: u16,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// All peers, by public key.
    pub peers: Vec<KernelPeerStatus>,
}

/// The state of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPeerStatus {
    /// Its public key.
    pub public_key: PublicKey,
    /// Whether a preshared key is set.
    pub preshared_key_set: bool,
    /// Where it was last.
    pub endpoint: Option<SocketAddr>,
    /// Since the UNIX epoch.
    pub last_handshake: Option<Duration>,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Seconds between keepalives.
    pub persistent_keepalive: Option<u16>,
    /// Its ranges.
    pub allowed_ips: Vec<IpNet>,
}

/// An error of the kernel's WireGuard.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// This kernel has no WireGuard, or it may not be used here.
    #[error("the kernel's WireGuard is not available: {0}")]
    Unavailable(String),
    /// The kernel refused the operation.
    #[error("the kernel's WireGuard: {0}")]
    Refused(String),
}

impl From<WireguardInterfaceError> for KernelError {
    fn from(error: WireguardInterfaceError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// An interface of the kernel's WireGuard.
pub struct Kernel {
    api: WGApi<InKernel>,
}

impl Kernel {
    /// Makes the interface. The kernel loads its module for this if it has one.
    ///
    /// # Errors
    /// [`KernelError::Unavailable`]: use another backend.
    pub fn create(name: &str) -> Result<Self, KernelError> {
        let unavailable = |error: WireguardInterfaceError| KernelError::Unavailable(error.to_string());
        let mut api = WGApi::<InKernel>::new(name).map_err(unavailable)?;
        api.create_interface().map_err(unavailable)?;
        // Some kernels take an unknown kind for an ordinary link: only one that answers is WireGuard.
        api.read_interface_data().map_err(unavailable)?;
        Ok(Self { api })
    }

    /// Configures the whole interface, and removes its addresses: for one that was just created.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn configure(&self, name: &str, config: &KernelConfig) -> Result<(), KernelError> {
        Ok(self.api.configure_interface(&translate::interface(name, config))?)
    }

    /// Changes key, port, or mark. Peers stay; another key ends their sessions.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn set_own(&self, name: &str, own: &KernelOwn<'_>) -> Result<(), KernelError> {
        own::set(name, own).map_err(|error| KernelError::Refused(error.to_string()))
    }

    /// Adds a peer or changes it; its session stays.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn put(&self, peer: &KernelPeer) -> Result<(), KernelError> {
        Ok(self.api.configure_peer(&translate::peer(peer))?)
    }

    /// Sets a peer's endpoint, and leaves its other settings unchanged.
    ///
    /// # Errors
    /// The kernel's answer, or that there is no such peer.
    pub fn set_endpoint(&self, peer: &PublicKey, endpoint: SocketAddr) -> Result<(), KernelError> {
        let host = self.api.read_interface_data()?;
        let known = host.peers.get(&translate::key(peer));
        let known = known.ok_or_else(|| KernelError::Refused("no such peer".into()))?;
        Ok(self.api.configure_peer(&translate::moved(known, endpoint))?)
    }

    /// Removes a peer.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove(&self, peer: &PublicKey) -> Result<(), KernelError> {
        Ok(self.api.remove_peer(&translate::key(peer))?)
    }

    /// Reads everything.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn status(&self) -> Result<KernelStatus, KernelError> {
        Ok(translate::status(&self.api.read_interface_data()?))
    }
}

/// Whether the module is loaded or built in. Where it is neither, the kernel may still load it when asked for an
/// interface: only [`Kernel::create`] knows.
#[must_use]
pub fn loaded() -> bool {
    Path::new("/sys/module/wireguard").exists()
}
