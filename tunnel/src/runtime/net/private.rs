//! A private network: the kernel's stack in a user namespace, and the link between it and our data path.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    process::Command,
    sync::Arc,
};

use ipnet::IpNet;
use rustix::net::{AddressFamily, SocketType};
use warren_device::{
    namespace::Namespace,
    tun::{
        Queue,
        packet::{INNER, OUTER},
    },
};

use super::{Family, Netlink};
use crate::runtime::problem::{Problem, Result};

/// The command by which this program becomes the helper that [`PrivateNetwork::open`] starts.
pub const HELPER: &str = "make-sockets";

/// The command by which this program enters such a network, and becomes another program there.
pub const ENTER: &str = "enter-network";

/// The link's ends. Nobody else has interfaces there.
const STACK: &str = "stack";
const WIRE: &str = "wire";
/// The data path's end accepts packets of any size; only the stack's end has the tunnel's MTU.
const WIRE_MTU: u32 = 65_535;
const MAIN_TABLE: u32 = 254;

/// It, with an interface that leads to a [`Queue`]. The kernel removes it when its last socket is closed.
pub struct PrivateNetwork {
    namespace: Arc<Namespace>,
    netlink: Netlink,
    /// Of the stack's end.
    index: u32,
    addresses: BTreeSet<IpAddr>,
}

impl PrivateNetwork {
    /// Creates the network, without addresses.
    ///
    /// # Errors
    /// When it is not permitted, with a hint how to permit it.
    pub fn open() -> Result<(Self, Queue)> {
        let mut helper = Command::new("/proc/self/exe");
        helper.arg(HELPER);
        let namespace = Namespace::start(helper).map_err(|error| refused(&error))?;
        let socket = |family, kind| {
            namespace.socket(family, kind, None).map_err(|error| unusable("a socket of its own", &error))
        };
        let netlink = socket(AddressFamily::NETLINK, SocketType::RAW)?;
        let mut netlink = Netlink::from_socket(netlink).map_err(|error| unusable("netlink", &error))?;
        let [index, wire] = link(&mut netlink).map_err(|error| unusable("its interfaces", &error))?;
        let packets = socket(AddressFamily::PACKET, SocketType::RAW)?;
        let queue =
            Queue::on_link(packets, wire, WIRE).map_err(|error| unusable("its packet socket", &error))?;
        let namespace = Arc::new(namespace);
        Ok((Self { namespace, netlink, index, addresses: BTreeSet::new() }, queue))
    }

    /// Where its sockets come from.
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Gives it these addresses and no others, packets of at most `mtu` bytes, and a route for each family that it has.
    ///
    /// # Errors
    /// The first change that the kernel refuses.
    pub fn configure(&mut self, addresses: impl Iterator<Item = IpAddr>, mtu: u32) -> Result<()> {
        let wanted: BTreeSet<IpAddr> = addresses.collect();
        self.change(&wanted, mtu).map_err(|error| unusable("its addresses and routes", &error))?;
        self.addresses = wanted;
        Ok(())
    }

    fn change(&mut self, wanted: &BTreeSet<IpAddr>, mtu: u32) -> io::Result<()> {
        let Self { netlink, index, addresses, .. } = self;
        netlink.set_mtu(*index, mtu)?;
        for gone in addresses.difference(wanted) {
            netlink.remove_address(*index, &IpNet::from(*gone))?;
        }
        for new in wanted.difference(addresses) {
            netlink.add_address(*index, &IpNet::from(*new))?;
        }
        for family in [Family::V4, Family::V6] {
            let all = everything(family);
            let had = wanted.iter().any(|address| Family::of(&IpNet::from(*address)) == family);
            let changed = if had {
                netlink.add_route(*index, &all, MAIN_TABLE)
            } else {
                netlink.remove_route(*index, &all, MAIN_TABLE)
            };
            match changed {
                // It is as it shall be; the kernel takes IPv4's with the last address.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EEXIST | libc::ESRCH)) => {}
                // A kernel without IPv6 has no route to remove.
                Err(_) if !had => {}
                changed => changed?,
            }
        }
        Ok(())
    }
}

/// Creates both ends and brings them up; returns their indexes.
fn link(netlink: &mut Netlink) -> io::Result<[u32; 2]> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    netlink.add_pair([(STACK, INNER), (WIRE, OUTER)])?;
    let mut indices = [0; 2];
    for (index, name) in indices.iter_mut().zip([STACK, WIRE]) {
        *index = netlink.link(name)?.ok_or_else(gone)?.index;
        // A kernel without IPv6 has no link-local address to disable.
        _ = netlink.without_link_local(*index);
    }
    let [_, wire] = indices;
    netlink.set_mtu(wire, WIRE_MTU)?;
    for index in indices {
        netlink.set_up(index)?;
    }
    // Its own addresses are reached by the loopback.
    if let Some(loopback) = netlink.link("lo")? {
        netlink.set_up(loopback.index)?;
    }
    Ok(indices)
}

fn everything(family: Family) -> IpNet {
    match family {
        Family::V4 => IpNet::new_assert(Ipv4Addr::UNSPECIFIED.into(), 0),
        Family::V6 => IpNet::new_assert(Ipv6Addr::UNSPECIFIED.into(), 0),
    }
}

/// The error when the helper cannot start or enter the namespace.
fn refused(error: &io::Error) -> Problem {
    let hint = match error.raw_os_error() {
        Some(libc::ENOSPC) => {
            "raise the limits user.max_user_namespaces and user.max_net_namespaces (sysctl)"
        }
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => {
            "allow it in the container's seccomp profile (Docker's default profile forbids it; in Kubernetes: seccompProfile), \
             or set kernel.unprivileged_userns_clone=1 (sysctl)"
        }
        _ => "mount /proc, and check that the warren-tunnel binary is executable",
    };
    Problem::new(format!("cannot create a user namespace: {error}"))
        .hint(format!("{hint}; --device user works without one"))
}

/// The error when the namespace was created but lacks something.
fn unusable(what: &str, error: &io::Error) -> Problem {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "a security module may restrict capabilities in user namespaces (AppArmor: set \
             kernel.apparmor_restrict_unprivileged_userns=0)"
        }
        Some(libc::EOPNOTSUPP) => "the kernel has no veth driver: run `modprobe veth` on the host",
        _ => "the kernel or sandbox does not support it",
    };
    Problem::new(format!("a user namespace is available, but not {what}: {error}"))
        .hint(format!("{hint}; --device user works without one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_hint() {
        let error = io::Error::from_raw_os_error;
        let messages = [
            refused(&error(libc::ENOSPC)),
            refused(&error(libc::EPERM)),
            refused(&error(libc::ENOENT)),
            unusable("its interfaces", &error(libc::EPERM)),
            unusable("its interfaces", &error(libc::EOPNOTSUPP)),
            unusable("its packet socket", &error(libc::EINVAL)),
        ];
        insta::assert_snapshot!(messages.map(|problem| problem.to_string()).join("\n"));
    }
}
