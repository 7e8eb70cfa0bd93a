//! Chooses the device: the requested one, else the best one available to this process.

use warren_device::kernel;

use super::DeviceChoice;
use crate::runtime::{
    host::capabilities,
    problem::{Problem, Result},
};

/// The chosen device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chosen {
    /// An interface of the machine.
    Interface(Backend),
    /// The netstack of this process, and the reason.
    Netstack(String),
    /// The kernel's stack in a user namespace.
    Namespace,
}

impl Chosen {
    /// Whether programs reach the tunnel only through proxies.
    pub(super) fn is_inside(&self) -> bool {
        !matches!(self, Self::Interface(_))
    }
}

/// The backend that creates the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    /// The kernel if it has WireGuard, else TUN.
    Best,
    /// The kernel's WireGuard.
    Kernel,
    /// A TUN device.
    Tun,
}

/// Chooses the device.
///
/// # Errors
/// When an interface was requested and this process lacks the privilege to create it.
pub(super) fn choose(requested: DeviceChoice) -> Result<Chosen> {
    let permitted = capabilities::may_configure_network();
    let interface = match requested {
        DeviceChoice::User => return Ok(Chosen::Netstack("requested".into())),
        DeviceChoice::Userns => return Ok(Chosen::Namespace),
        DeviceChoice::Auto => return Ok(best(permitted, capabilities::tun_device().err(), kernel::loaded())),
        DeviceChoice::Kernel => Backend::Kernel,
        DeviceChoice::Tun => Backend::Tun,
    };
    if !permitted {
        let container = capabilities::in_container();
        return Err(Problem::new("cannot create an interface: CAP_NET_ADMIN is missing").hint(
            if container {
                "start the container with --cap-add NET_ADMIN --device /dev/net/tun, or use --device user, which needs no privileges"
            } else {
                "run as root, set `AmbientCapabilities=CAP_NET_ADMIN` in the systemd unit, or use --device user, which needs no privileges"
            },
        ));
    }
    Ok(Chosen::Interface(interface))
}

fn best(permitted: bool, no_tun: Option<std::io::Error>, in_kernel: bool) -> Chosen {
    match no_tun {
        _ if !permitted => {
            Chosen::Netstack("CAP_NET_ADMIN is missing, so no interface can be created".into())
        }
        Some(_) if in_kernel => Chosen::Interface(Backend::Kernel),
        Some(error) => Chosen::Netstack(format!(
            "the kernel has no WireGuard, and there is no TUN device ({}: {error})",
            capabilities::TUN_DEVICE
        )),
        None => Chosen::Interface(Backend::Best),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_netstack_is_taken_where_there_is_no_interface_to_be_had() {
        let missing = || Some(std::io::Error::from_raw_os_error(libc::ENOENT));
        assert_eq!(best(true, None, false), Chosen::Interface(Backend::Best));
        assert_eq!(best(true, missing(), true), Chosen::Interface(Backend::Kernel));
        let told = |chosen| match chosen {
            Chosen::Netstack(told) => told,
            Chosen::Interface(_) | Chosen::Namespace => String::new(),
        };
        insta::assert_snapshot!(
            [told(best(false, None, true)), told(best(true, missing(), false))].join("\n")
        );
    }
}
