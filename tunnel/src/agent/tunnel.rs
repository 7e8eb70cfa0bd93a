//! The tunnel by whichever backend moves its packets.

use std::{net::IpAddr, sync::Arc, time::Duration};

use warren_device::kernel::{Kernel, KernelError};
use warren_proto::engine::Signs;
use warren_wire::{PublicKey, config::Config};

use super::{
    Reloader, choice::Backend, journal::Change, kernel::KernelTunnel, network::Network, own::OwnTunnel,
    settings::Settings,
};
use crate::{
    log, net,
    problem::{Context, Problem, Result},
    services::Proxies,
    status::Status,
    uapi::errno,
};

/// A tunnel whose interface exists, and what was chosen for it.
pub(super) struct Up {
    /// It.
    pub tunnel: Box<dyn Tunnel>,
    /// MTU that the interface shall have.
    pub mtu: u32,
    /// Why this backend.
    pub told: String,
}

/// A running tunnel; dropping it ends it, and its interface with it.
pub(super) trait Tunnel {
    /// Applies what another file has otherwise; says what that was. `mark` is the mark of datagrams before and after.
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String>;
    /// Another gateway carries packets from now on: connections through the last one cannot go on.
    fn forsake(&self) {}
    /// Takes note of what the status shall say.
    fn facts(&mut self, config: &Config, mtu: Option<u32>);
    /// A view of it.
    fn look(&self) -> Arc<dyn Look>;
    /// Where programs reach it, if it has no interface.
    fn proxies(&self) -> Option<Proxies> {
        None
    }
}

/// A view of a tunnel that outlives nothing: it says so when the tunnel has gone.
pub(super) trait Look: Send + Sync {
    /// All figures.
    fn status(&self) -> Result<Status>;
    /// Whether it moves.
    fn alive(&self) -> bool;
    /// Begins handshakes where there is no session yet. The kernel begins its own when there is something to send.
    fn greet(&self) {}
    /// How the ways to peers do, and what time it is for them.
    ///
    /// # Errors
    /// The tunnel has ended, or does not tell.
    fn signs(&self, _: Vec<PublicKey>) -> Result<(Duration, Vec<(PublicKey, Signs)>)> {
        Err(Problem::new("the kernel's WireGuard tells no signs"))
    }
    /// Begins a handshake with a peer.
    fn probe(&self, _: PublicKey) {}
}

/// Makes the interface by the backend that was asked for, or by the best there is.
pub(super) fn up(
    settings: &Settings,
    backend: Backend,
    network: &mut Network,
    reloader: Reloader,
) -> Result<Up> {
    let name = settings.interface.as_str();
    let tls = settings.carriers.wanted(&settings.config);
    if tls && matches!(backend, Backend::Kernel) {
        log::warn(
            &Problem::new("the kernel's WireGuard has UDP alone: TLS endpoints and ports are left out")
                .hint("--device tun has both"),
        );
    }
    let missing = match backend {
        Backend::Best if tls => {
            return OwnTunnel::over_tun(settings, network, reloader, "the kernel's WireGuard has no TLS");
        }
        Backend::Tun => return OwnTunnel::over_tun(settings, network, reloader, "asked for"),
        Backend::Best => match make(network, name)? {
            Ok(kernel) => {
                return KernelTunnel::up(kernel, settings, network, reloader, "the kernel has WireGuard");
            }
            Err(error) => error,
        },
        Backend::Kernel => match make(network, name)? {
            Ok(kernel) => return KernelTunnel::up(kernel, settings, network, reloader, "asked for"),
            Err(error) => {
                return Err(Problem::new(error.to_string())
                    .hint("--device auto takes TUN then; on the host `modprobe wireguard` may load it"));
            }
        },
    };
    tracing::debug!(%missing, "taking TUN");
    OwnTunnel::over_tun(settings, network, reloader, "the kernel has no WireGuard that may be used here")
}

/// Has the kernel make the interface, which outlives this process and so is written down first.
fn make(network: &mut Network, name: &str) -> Result<std::result::Result<Kernel, KernelError>> {
    network.note(Change::Interface { name: name.to_owned() })?;
    let made = Kernel::create(name);
    if made.is_err() {
        network.unmake(name)?;
    }
    Ok(made)
}

/// The configuration's MTU, else what fits the way to the peers, which `outside` looks at.
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
pub(super) fn status_answer(look: &dyn Look) -> Result<Vec<u8>> {
    let json = serde_json::to_string(&look.status()?).while_doing(|| "status".into())?;
    Ok(format!("status={json}\n{}", errno(0)).into_bytes())
}

/// The answer to `warren_reload=1`.
pub(super) fn reload_answer(reloader: &Reloader) -> Result<Vec<u8>> {
    Ok(format!("reload={}\n{}", reloader.reload()?, errno(0)).into_bytes())
}

/// What is answered when it did not work: the text for `warren-tunnel`, the number for `wg`.
pub(super) fn failure(problem: &Problem) -> Vec<u8> {
    format!("error={}\n{}", problem.to_string().replace('\n', "\\n"), errno(libc::EIO)).into_bytes()
}
