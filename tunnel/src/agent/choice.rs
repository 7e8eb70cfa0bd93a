//! Which device: what was asked for, else the best that this process may have.

use warren_device::kernel;

use crate::{
    cli::DeviceChoice,
    machine,
    problem::{Problem, Result},
};

/// What the packets are moved by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chosen {
    /// An interface of the machine.
    Interface(Backend),
    /// The netstack of this process, and why.
    Netstack(String),
    /// The kernel's stack in a user namespace.
    Namespace,
}

impl Chosen {
    /// Whether programs reach the tunnel by proxies alone.
    pub(super) fn is_inside(&self) -> bool {
        !matches!(self, Self::Interface(_))
    }
}

/// Who makes the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    /// The kernel if it has WireGuard, else we.
    Best,
    /// The kernel.
    Kernel,
    /// We.
    Tun,
}

/// Chooses.
///
/// # Errors
/// When an interface was asked for and may not be made.
pub(super) fn choose(asked: DeviceChoice) -> Result<Chosen> {
    let permitted = machine::may_configure_network();
    let interface = match asked {
        DeviceChoice::User => return Ok(Chosen::Netstack("asked for".into())),
        DeviceChoice::Userns => return Ok(Chosen::Namespace),
        DeviceChoice::Auto => return Ok(best(permitted, machine::tun_device().err(), kernel::loaded())),
        DeviceChoice::Kernel => Backend::Kernel,
        DeviceChoice::Tun => Backend::Tun,
    };
    if !permitted {
        let container = machine::in_container();
        return Err(Problem::new("not permitted to make interfaces and routes: CAP_NET_ADMIN is missing").hint(
            if container {
                "give the container --cap-add NET_ADMIN and --device /dev/net/tun, or take --device user, which needs neither"
            } else {
                "run as root, or with `AmbientCapabilities=CAP_NET_ADMIN` in a systemd unit; --device user needs no privilege"
            },
        ));
    }
    Ok(Chosen::Interface(interface))
}

fn best(permitted: bool, no_tun: Option<std::io::Error>, in_kernel: bool) -> Chosen {
    match no_tun {
        _ if !permitted => {
            Chosen::Netstack("CAP_NET_ADMIN is missing, so no interface can be made here".into())
        }
        Some(_) if in_kernel => Chosen::Interface(Backend::Kernel),
        Some(error) => Chosen::Netstack(format!(
            "there is neither WireGuard in the kernel nor a TUN device ({}: {error})",
            machine::TUN_DEVICE
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
