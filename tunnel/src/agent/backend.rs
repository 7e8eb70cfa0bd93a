//! Creates the interface of a tunnel: by the kernel's WireGuard or as a TUN device.

use warren_device::kernel::{Kernel, KernelError};

use super::{
    choice::Backend, events::Reloader, kernel::KernelTunnel, network::Network, settings::Settings,
    tunnel::Up, userspace::UserspaceTunnel,
};
use crate::runtime::{
    log,
    net::Change,
    problem::{Problem, Result},
};

/// Creates the interface with the requested backend, or the best one available.
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
            &Problem::new(
                "the kernel's WireGuard supports only UDP: TLS endpoints and ListenTLS are ignored",
            )
            .hint("use --device tun for TLS"),
        );
    }
    let missing = match backend {
        Backend::Best if tls => {
            return UserspaceTunnel::over_tun(
                settings,
                network,
                reloader,
                "the kernel's WireGuard does not support TLS",
            );
        }
        Backend::Tun => return UserspaceTunnel::over_tun(settings, network, reloader, "requested"),
        Backend::Best => match make(network, name)? {
            Ok(kernel) => {
                return KernelTunnel::up(kernel, settings, network, reloader, "the kernel has WireGuard");
            }
            Err(error) => error,
        },
        Backend::Kernel => match make(network, name)? {
            Ok(kernel) => return KernelTunnel::up(kernel, settings, network, reloader, "requested"),
            Err(error) => {
                return Err(Problem::new(error.to_string()).hint(
                    "run `modprobe wireguard` on the host, or use --device auto, which falls back to TUN",
                ));
            }
        },
    };
    tracing::debug!(%missing, "falling back to TUN");
    UserspaceTunnel::over_tun(settings, network, reloader, "the kernel's WireGuard is not available")
}

/// Creates the kernel's interface, which outlives this process and is therefore recorded first.
fn make(network: &mut Network, name: &str) -> Result<std::result::Result<Kernel, KernelError>> {
    network.note(Change::Interface { name: name.to_owned() })?;
    let made = Kernel::create(name);
    if made.is_err() {
        network.unmake(name)?;
    }
    Ok(made)
}
