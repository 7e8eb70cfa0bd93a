//! Changes of the host for kernel forwarding, apart from the rules: interface, routes, settings.
//!
//! Routes vanish with the interface, and the interface with this process. Settings outlive it: each is recorded in the journal
//! before it changes, so that a start after a crash can restore it.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use warren_wire::Name;

use super::rules::NewlyForwarded;
use crate::runtime::host::InterfaceName;
use crate::runtime::log;
use crate::runtime::net::Netlink;
use crate::runtime::net::{Change, Journal};
use crate::runtime::problem::{Context as _, Problem, Result};

/// Length of the device's queue, as for the kernel's WireGuard.
const QUEUE: u32 = 1000;
/// The kernel's main routing table.
const MAIN_TABLE: u32 = 254;
/// Whether packets between interfaces are forwarded at all.
pub(super) const FORWARD_V4: &str = "/proc/sys/net/ipv4/ip_forward";
pub(super) const FORWARD_V6: &str = "/proc/sys/net/ipv6/conf/all/forwarding";
/// Whether the kernel counts the bytes of each connection.
const ACCOUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_acct";
const INTERFACES_V6: &str = "/proc/sys/net/ipv6/conf";

/// The changes to this machine.
pub(super) struct Host {
    journal: Journal,
}

impl Host {
    /// Opens the journal, with the changes that an earlier gateway of this name left.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(super) fn open(gateway: &Name, folder: &Path) -> Result<Self> {
        Ok(Self { journal: Journal::open(folder.join(format!("{gateway}.gateway.json")))? })
    }

    /// Whether an earlier gateway of this name left changes behind.
    pub(super) fn left(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Brings the interface up and adds own addresses, and routes to pods and sites.
    ///
    /// # Errors
    /// The kernel refuses a change. Earlier changes vanish with the interface.
    pub(super) fn attach(
        &self,
        interface: &InterfaceName,
        own: &[IpAddr],
        nets: &[IpNet],
        mtu: u32,
    ) -> Result<()> {
        let doing = |what: String| move || what;
        let (mut netlink, index) = find(interface)?;
        // No link-local address, so no router solicitations into the tunnel. Without IPv6 there is no such file.
        _ = fs::write(format!("{INTERFACES_V6}/{interface}/addr_gen_mode"), "1");
        netlink.set_mtu(index, mtu).while_doing(doing(format!("MTU {mtu}")))?;
        netlink.set_queue_length(index, QUEUE).while_doing(doing("queue length".into()))?;
        netlink.set_up(index).while_doing(doing(format!("bringing {interface} up")))?;
        for address in own {
            let made = netlink.add_address(index, &IpNet::from(*address));
            made.map_err(|error| own_address_problem(*address, &error))?;
        }
        self.lead(interface, nets)
    }

    /// Adds routes.
    ///
    /// # Errors
    /// The kernel refuses a route; no route is added then.
    pub(super) fn lead(&self, interface: &InterfaceName, nets: &[IpNet]) -> Result<()> {
        if nets.is_empty() {
            return Ok(());
        }
        let (mut netlink, index) = find(interface)?;
        for (made, net) in nets.iter().enumerate() {
            if let Err(error) = netlink.add_route(index, net, MAIN_TABLE) {
                self.mislead(interface, &nets[..made]);
                return Err(route_problem(net, &error));
            }
        }
        Ok(())
    }

    /// Removes routes; failures are logged.
    pub(super) fn mislead(&self, interface: &InterfaceName, nets: &[IpNet]) {
        if nets.is_empty() {
            return;
        }
        let (mut netlink, index) = match find(interface) {
            Ok(found) => found,
            Err(problem) => return log::warn(&problem),
        };
        for net in nets {
            if let Err(error) = netlink.remove_route(index, net, MAIN_TABLE) {
                tracing::warn!(%error, %net, "cannot remove a route");
            }
        }
    }

    /// Enables forwarding in the kernel. Call it after the rules are in place.
    ///
    /// # Errors
    /// A setting cannot be changed. [`Host::down`] restores the others.
    pub(super) fn forward(&mut self, interface: &InterfaceName, nets: &[IpNet], audited: bool) -> Result<()> {
        if audited {
            self.set(ACCOUNT, "1")?;
        }
        if nets.iter().any(|net| matches!(net, IpNet::V4(_))) {
            self.set(FORWARD_V4, "1")?;
        }
        if nets.iter().any(|net| matches!(net, IpNet::V6(_))) {
            self.keep_learning_routes(interface)?;
            self.set(FORWARD_V6, "1")?;
        }
        Ok(())
    }

    /// A machine that forwards no longer accepts router advertisements unless `accept_ra` is 2.
    fn keep_learning_routes(&mut self, ours: &InterfaceName) -> Result<()> {
        let folders = fs::read_dir(INTERFACES_V6).while_doing(|| INTERFACES_V6.to_owned())?;
        for folder in folders.flatten() {
            let name = folder.file_name();
            if name == "all" || name == "default" || name == "lo" || name.to_str() == Some(ours.as_str()) {
                continue;
            }
            let path = folder.path().join("accept_ra");
            if fs::read_to_string(&path).is_ok_and(|value| value.trim() == "1") {
                self.set(&path.display().to_string(), "2")?;
            }
        }
        Ok(())
    }

    /// Records that a table of that name is about to be created.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn note_table(&mut self, table: &str) -> Result<()> {
        let change = Change::Rules { table: table.to_owned() };
        if self.journal.has(|noted| *noted == change) { Ok(()) } else { self.journal.note(change) }
    }

    fn set(&mut self, path: &str, value: &str) -> Result<()> {
        let doing = || path.to_owned();
        let before = fs::read_to_string(path).while_doing(doing)?.trim().to_owned();
        if before == value {
            return Ok(());
        }
        // After a crash the journal still has the original value.
        if !self
            .journal
            .has(|change| matches!(change, Change::Sysctl { path: noted, .. } if noted == Path::new(path)))
        {
            self.journal.note(Change::Sysctl { path: PathBuf::from(path), before })?;
        }
        fs::write(path, value).while_doing(doing)
    }

    /// The families that this machine did not forward before the first gateway changed it.
    pub(super) fn newly_forwarded(&self, nets: &[IpNet]) -> NewlyForwarded {
        let was_off = |v4: bool, wanted: &str| {
            let noted = |change: &Change| matches!(change, Change::Sysctl { path, before } if path == Path::new(wanted) && before == "0");
            nets.iter().any(|net| matches!(net, IpNet::V4(_)) == v4)
                && (self.journal.has(noted)
                    || fs::read_to_string(wanted).is_ok_and(|value| value.trim() == "0"))
        };
        NewlyForwarded { v4: was_off(true, FORWARD_V4), v6: was_off(false, FORWARD_V6) }
    }

    /// Reverts all changes, the last one first; `delete` removes a table of rules. Failures are logged.
    pub(super) fn down(&mut self, delete: impl Fn(&str) -> Result<()>) {
        while let Some(change) = self.journal.last().cloned() {
            let undone = match &change {
                Change::Rules { table } => delete(table),
                Change::Sysctl { path, before } => match fs::write(path, before) {
                    // Its interface may no longer exist.
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        Err(Problem::new(format!("{}: {error}", path.display())))
                    }
                    _ => Ok(()),
                },
                _ => Ok(()),
            };
            if let Err(problem) = undone {
                log::warn(&problem);
            }
            if let Err(problem) = self.journal.undone() {
                return log::warn(&problem);
            }
        }
    }
}

fn find(interface: &InterfaceName) -> Result<(Netlink, u32)> {
    let mut netlink = Netlink::open().while_doing(|| "netlink".into())?;
    let link = netlink.link(interface.as_str()).while_doing(|| "listing interfaces".into())?;
    let link = link.ok_or_else(|| Problem::new(format!("interface {interface} no longer exists")))?;
    Ok((netlink, link.index))
}

fn own_address_problem(address: IpAddr, error: &io::Error) -> Problem {
    let problem = Problem::new(format!("address {address} for DNS: {error}"));
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::ENODEV) if address.is_ipv6() => {
            problem.hint("if IPv6 is disabled on this machine, enable it, remove the prefix from the file, or set forwarding = \"user\"")
        }
        _ => problem.hint("set forwarding = \"user\", or remove [[dns.zones]]"),
    }
}

fn route_problem(net: &IpNet, error: &io::Error) -> Problem {
    let problem = Problem::new(format!("route {net}: {error}"));
    match error.raw_os_error() {
        Some(libc::EEXIST) => problem.hint(format!(
            "`ip route show {net}` shows its owner; the pool and sites must be reachable only through the tunnel, so use another range, or remove the route"
        )),
        Some(libc::EACCES | libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::ENODEV) if net.addr().is_ipv6() => {
            problem.hint("if IPv6 is disabled on this machine, enable it, remove the prefix from the file, or set forwarding = \"user\"")
        }
        _ => problem,
    }
}
