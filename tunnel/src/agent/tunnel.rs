//! The tunnel, independent of its backend.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use warren_proto::engine::Liveness;
use warren_sync::net::Network;
use warren_wire::{PublicKey, config::Config};

use super::{credentials::Way, events::Reloader, proxies::Proxies};
use crate::runtime::{
    control::DirectOffer,
    net,
    problem::{Context, Problem, Result},
    status::Status,
    uapi::errno,
};

/// A tunnel whose interface exists, and its properties.
pub(super) struct Up {
    /// The tunnel.
    pub tunnel: Box<dyn Tunnel>,
    /// MTU to set on the interface.
    pub mtu: u32,
    /// Why this backend.
    pub reason: String,
}

/// A running tunnel; dropping it ends it, and its interface with it.
pub(super) trait Tunnel {
    /// Applies the differences of another file and returns a summary. `mark` is the firewall mark before and after.
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String>;
    /// Resets connections after a failover: those through the previous gateway cannot continue.
    fn reset_connections(&self) {}
    /// Updates the facts that the status reports.
    fn facts(&mut self, config: &Config, mtu: Option<u32>);
    /// A view of the tunnel.
    fn handle(&self) -> Arc<dyn TunnelHandle>;
    /// The proxies through which programs reach it, if it has no interface.
    fn proxies(&self) -> Option<Proxies> {
        None
    }
    /// The network that the proxies reach, for connections of this process.
    fn dial(&self) -> Option<Arc<dyn Network>> {
        None
    }
    /// The network in which the addresses of the tunnel are.
    fn way(&self) -> Way {
        Way::Machine
    }
    /// A process in the tunnel's own network, if that is one of the kernel's that programs can enter.
    fn network(&self) -> Option<u32> {
        None
    }
}

/// A view of a tunnel. Its methods fail after the tunnel has ended.
pub(super) trait TunnelHandle: Send + Sync {
    /// Reads the status.
    fn status(&self) -> Result<Status>;
    /// Whether the tunnel works.
    fn alive(&self) -> bool;
    /// Whether the tunnel has ended. One that is late has not.
    fn ended(&self) -> bool {
        !self.alive()
    }
    /// Starts a handshake with every peer without a session. The kernel starts its own when there is something to send.
    fn start_handshakes(&self) {}
    /// Whether it reports signs of life of its peers.
    fn has_signs(&self) -> bool {
        false
    }
    /// Signs of life of the given peers, and the time on the same clock.
    ///
    /// # Errors
    /// When the tunnel has ended, is late, or has no such signs.
    fn signs(&self, _: Vec<PublicKey>) -> Result<(Duration, Vec<(PublicKey, Liveness)>)> {
        Err(Problem::new("the kernel's WireGuard reports no signs of life"))
    }
    /// Addresses in these ranges that packets were sent to since the last time, and this end's own UDP addresses.
    ///
    /// # Errors
    /// When the tunnel has ended, is late, or does not know.
    fn destinations(&self, _: &[IpNet]) -> Result<(Vec<IpAddr>, Vec<SocketAddr>)> {
        Err(Problem::new("the kernel's WireGuard reports no destinations"))
    }
    /// Replaces the peers that may be reached directly.
    fn set_direct(&self, _: Vec<DirectOffer>) {}
    /// Starts a handshake with a peer.
    fn probe(&self, _: PublicKey) {}
}

/// The configured MTU, else the one that fits the path to the peers, whose MTU `outside` returns.
pub(super) fn mtu_for<P: Iterator<Item = IpAddr>>(
    config: &Config,
    peers: P,
    outside: impl FnOnce(P) -> Option<u32>,
) -> u32 {
    match config.interface.mtu {
        Some(mtu) => u32::from(mtu),
        None => net::tunnel_mtu(outside(peers)),
    }
}

/// The answer to `warren_status=1`.
pub(super) fn status_answer(handle: &dyn TunnelHandle) -> Result<Vec<u8>> {
    let json = serde_json::to_string(&handle.status()?).while_doing(|| "cannot encode the status".into())?;
    Ok(format!("status={json}\n{}", errno(0)).into_bytes())
}

/// The answer to `warren_reload=1`.
pub(super) fn reload_answer(reloader: &Reloader) -> Result<Vec<u8>> {
    Ok(format!("reload={}\n{}", reloader.reload()?, errno(0)).into_bytes())
}

/// The answer to a failed request: the text for `warren-tunnel`, the number for `wg`.
pub(super) fn failure(problem: &Problem) -> Vec<u8> {
    format!("error={}\n{}", problem.to_string().replace('\n', "\\n"), errno(libc::EIO)).into_bytes()
}
