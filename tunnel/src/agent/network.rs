//! Addresses, routes, rules and name servers of one interface, applied, changed and undone.

use std::{collections::BTreeSet, fs, io, net::IpAddr, path::Path};

use ipnet::IpNet;
use warren_wire::{config::Config, enrolment::DnsZone};

use super::{
    hooks::{self, Stage},
    local_dns::LocalDns,
};
use crate::runtime::{
    host::InterfaceName,
    log,
    net::{self, Change, Family, Journal, Netlink, Routing, Rule},
    problem::{Problem, Result},
};

/// Length of the device's queue, as for the kernel's WireGuard: a burst of small UDP packets overflows the default of 500.
const QUEUE: u32 = 1000;

/// The network side of an interface that is up, or coming up.
pub(super) struct Network {
    interface: InterfaceName,
    netlink: Netlink,
    journal: Journal,
    index: u32,
    table: u32,
    addresses: BTreeSet<IpNet>,
    routing: Routing,
    dns: Dns,
    local_dns: Option<LocalDns>,
}

/// Name servers as a configuration has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Dns {
    servers: Vec<IpAddr>,
    search: Vec<String>,
    zones: Vec<DnsZone>,
}

impl Network {
    /// Prepares for an interface that does not exist yet. Undoes what an earlier agent left behind first.
    ///
    /// # Errors
    /// When netlink or the journal cannot be used, or such an interface exists.
    pub(super) fn new(interface: &InterfaceName, config: &Config, folder: &Path) -> Result<Self> {
        let mut journal = Journal::open(interface.journal(folder))?;
        if !journal.is_empty() {
            tracing::warn!(%interface, "an earlier agent did not end cleanly, undoing its changes");
            let mut netlink = open()?;
            undo(&mut journal, &mut netlink, interface, Some(config), Why::Crash);
        }
        let mut netlink = open()?;
        if netlink.link(interface.as_str()).map_err(|error| failed("listing interfaces", &error))?.is_some() {
            return Err(Problem::new(format!("interface {interface} already exists")).hint(format!(
                "stop the WireGuard that uses it (`wg-quick down {interface}`), remove it (`ip link del {interface}`), or choose another name with --interface"
            )));
        }
        let mut table = net::FIRST_TABLE;
        while netlink.table_in_use(table).map_err(|error| failed("listing routes", &error))? {
            table += 1;
        }
        Ok(Self {
            interface: interface.clone(),
            netlink,
            journal,
            index: 0,
            table,
            addresses: BTreeSet::new(),
            routing: Routing::default(),
            dns: Dns::default(),
            local_dns: None,
        })
    }

    /// The firewall mark of the tunnel's own datagrams: the configured one, else that of the routing rules.
    pub(super) fn fwmark(&self, config: &Config) -> Option<u32> {
        let configured = config.interface.fwmark.filter(|mark| *mark != 0);
        configured.or_else(|| net::routing(config, self.table).fwmark)
    }

    /// As [`net::outside_mtu`].
    pub(super) fn outside_mtu(&mut self, peers: impl Iterator<Item = IpAddr>) -> Option<u32> {
        net::outside_mtu(&mut self.netlink, peers)
    }

    /// Records a change that the caller makes.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(super) fn note(&mut self, change: Change) -> Result<()> {
        self.journal.note(change)
    }

    /// Removes the journal entry of an interface that could not be created.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(super) fn unmake(&mut self, name: &str) -> Result<()> {
        let change = Change::Interface { name: name.to_owned() };
        remove_interface(&mut self.netlink, name)?;
        self.journal.forget(&change)
    }

    /// Brings the interface up: MTU, addresses, name servers, routes, in wg-quick's order.
    ///
    /// # Errors
    /// The first change that the kernel refuses; earlier ones are in the journal.
    pub(super) fn up(&mut self, config: &Config, mtu: u32) -> Result<()> {
        let link = self
            .netlink
            .link(self.interface.as_str())
            .map_err(|error| failed("listing interfaces", &error))?;
        self.index =
            link.ok_or_else(|| Problem::new(format!("interface {} was removed", self.interface)))?.index;
        // As the kernel's WireGuard: no link-local address, so no router solicitations into the tunnel.
        let path = format!("/proc/sys/net/ipv6/conf/{}/addr_gen_mode", self.interface);
        _ = fs::write(path, "1");
        self.set_mtu(mtu)?;
        self.netlink
            .set_queue_length(self.index, QUEUE)
            .map_err(|error| failed("setting the queue length", &error))?;
        self.change_addresses(config)?;
        self.netlink.set_up(self.index).map_err(|error| failed("bringing the interface up", &error))?;
        self.change_dns(config)?;
        self.change_routing(config)
    }

    /// Applies the differences of another configuration. Hooks do not run.
    ///
    /// # Errors
    /// The first change that the kernel refuses.
    pub(super) fn reload(&mut self, config: &Config, mtu: Option<u32>) -> Result<()> {
        if let Some(mtu) = mtu {
            self.set_mtu(mtu)?;
        }
        self.change_addresses(config)?;
        self.change_dns(config)?;
        self.change_routing(config)
    }

    fn set_mtu(&mut self, mtu: u32) -> Result<()> {
        self.netlink.set_mtu(self.index, mtu).map_err(|error| failed(&format!("setting MTU {mtu}"), &error))
    }

    fn change_addresses(&mut self, config: &Config) -> Result<()> {
        let wanted: BTreeSet<IpNet> = config.interface.addresses.iter().copied().collect();
        for gone in self.addresses.difference(&wanted) {
            tolerate(self.netlink.remove_address(self.index, gone), &[libc::EADDRNOTAVAIL])
                .map_err(|error| failed(&format!("removing address {gone}"), &error))?;
        }
        for new in wanted.difference(&self.addresses) {
            match self.netlink.add_address(self.index, new) {
                Err(error) if absent_v6(new, &error) => log::warn(&no_ipv6(&format!("address {new}"))),
                other => tolerate(other, &[libc::EEXIST])
                    .map_err(|error| failed(&format!("adding address {new}"), &error))?,
            }
        }
        self.addresses = wanted;
        Ok(())
    }

    fn change_routing(&mut self, config: &Config) -> Result<()> {
        let wanted = net::routing(config, self.table);
        for (to, table) in self.routing.routes.difference(&wanted.routes) {
            tolerate(self.netlink.remove_route(self.index, to, *table), &[libc::ESRCH])
                .map_err(|error| failed(&format!("removing route {to}"), &error))?;
        }
        for (family, rule) in self.routing.rules.clone() {
            if !wanted.rules.contains(&(family, rule)) {
                self.remove_rule(family, rule)?;
            }
        }
        for (to, table) in wanted.routes.difference(&self.routing.routes) {
            match self.netlink.add_route(self.index, to, *table) {
                Ok(()) => {}
                Err(error) if absent_v6(to, &error) => log::warn(&no_ipv6(&format!("route {to}"))),
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                    return Err(Problem::new(format!("adding route {to}: another route to it already exists"))
                        .hint(format!("find it with `ip route show {to}`, then narrow AllowedIPs, or set `Table = off` and add routes yourself")));
                }
                Err(error) => return Err(failed(&format!("adding route {to}"), &error)),
            }
        }
        for (family, rule) in &wanted.rules {
            if !self.routing.rules.contains(&(*family, *rule)) {
                self.add_rule(*family, *rule)?;
            }
        }
        if wanted.rules.iter().any(|(family, _)| *family == Family::V4) {
            self.sysctl("/proc/sys/net/ipv4/conf/all/src_valid_mark", "1");
            self.look_at_reverse_path();
        }
        self.routing = wanted;
        Ok(())
    }

    fn add_rule(&mut self, family: Family, rule: Rule) -> Result<()> {
        let doing = |error: &io::Error| failed("adding a policy routing rule", error);
        if self.netlink.has_rule(family, rule).map_err(|error| doing(&error))? {
            // An identical rule of another program: it is left alone.
            return Ok(());
        }
        self.journal.note(Change::Rule { family, rule })?;
        match self.netlink.add_rule(family, rule) {
            Err(error) if family == Family::V6 && error.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
            other => other.map_err(|error| doing(&error)),
        }
    }

    fn remove_rule(&mut self, family: Family, rule: Rule) -> Result<()> {
        let change = Change::Rule { family, rule };
        if self.journal.has(|noted| *noted == change) {
            tolerate(self.netlink.remove_rule(family, rule), &[libc::ENOENT, libc::EAFNOSUPPORT])
                .map_err(|error| failed("removing a policy routing rule", &error))?;
            self.journal.forget(&change)?;
        }
        Ok(())
    }

    fn sysctl(&mut self, path: &str, value: &str) {
        let Ok(before) = fs::read_to_string(path) else { return };
        let before = before.trim().to_owned();
        if before == value {
            return;
        }
        let noted = self.journal.note(Change::Sysctl { path: path.into(), before });
        if noted.is_err() || fs::write(path, value).is_err() {
            log::warn(
                &Problem::new(format!("cannot set {path} to {value}"))
                    .hint("set it on the host: with a strict reverse path filter the kernel drops replies"),
            );
        }
    }

    /// Warns about a strict filter, which drops the peers' datagrams: the unmarked route to them is the tunnel itself.
    fn look_at_reverse_path(&mut self) {
        let Ok(Some(path)) = self.netlink.default_path() else { return };
        let Ok(Some(link)) = self.netlink.link_by_index(path.index) else { return };
        let of = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"));
            text.ok().and_then(|text| text.trim().parse::<u8>().ok()).unwrap_or(0)
        };
        if of("all").max(of(&link.name)) == 1 {
            log::warn(
                &Problem::new(format!(
                    "the reverse path filter of {} is strict and may drop packets from peers",
                    link.name
                ))
                .hint(format!("run `sysctl -w net.ipv4.conf.{}.rp_filter=2`", link.name)),
            );
        }
    }

    fn change_dns(&mut self, config: &Config) -> Result<()> {
        let parts = &config.interface;
        let wanted = Dns {
            servers: parts.dns.clone(),
            search: parts.dns_search.clone(),
            zones: parts.dns_zones.clone(),
        };
        if wanted == self.dns {
            return Ok(());
        }
        if let Some(local) = self.local_dns.as_ref().filter(|_| !wanted.zones.is_empty()) {
            local.reload(config);
            self.dns = wanted;
            return Ok(());
        }
        let ours = |change: &Change| {
            matches!(change, Change::Resolvconf { .. } | Change::Resolved { .. } | Change::ResolvFile { .. })
        };
        for change in self.journal.all().iter().filter(|change| ours(change)).cloned().collect::<Vec<_>>() {
            net::dns_undo(&change)?;
            self.journal.forget(&change)?;
        }
        self.local_dns = None;
        let method = net::dns_chosen();
        if !wanted.zones.is_empty() {
            let split = wanted.servers.is_empty()
                && method.set_domains(&self.interface, &wanted.zones, &mut self.journal)?;
            if !split {
                let before = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
                let local = LocalDns::start(config, &before)?;
                method.set_local(&self.interface, local.at().ip(), &before, &mut self.journal)?;
                self.local_dns = Some(local);
            }
        } else if !wanted.servers.is_empty() || !wanted.search.is_empty() {
            method.set(&self.interface, &wanted.servers, &wanted.search, &mut self.journal)?;
        }
        self.dns = wanted;
        Ok(())
    }

    /// Undoes all changes in the journal. A change that cannot be undone is logged and skipped.
    pub(super) fn down(mut self, config: &Config) {
        undo(&mut self.journal, &mut self.netlink, &self.interface, Some(config), Why::Stop);
    }
}

/// Why changes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The agent ends; PreDown has run.
    Stop,
    /// An agent was killed.
    Crash,
}

/// `agent --cleanup`: undoes what a killed agent left.
///
/// # Errors
/// When the journal cannot be read.
pub(super) fn cleanup(interface: &InterfaceName, config: Option<&Config>, folder: &Path) -> Result<usize> {
    let mut journal = Journal::open(interface.journal(folder))?;
    let left = journal.all().len();
    undo(&mut journal, &mut open()?, interface, config, Why::Crash);
    Ok(left)
}

fn undo(
    journal: &mut Journal,
    netlink: &mut Netlink,
    interface: &InterfaceName,
    config: Option<&Config>,
    why: Why,
) {
    while let Some(change) = journal.last().cloned() {
        if let Err(problem) = undo_one(&change, netlink, interface, config, why) {
            log::warn(&problem);
        }
        if let Err(problem) = journal.undone() {
            return log::warn(&problem);
        }
    }
}

fn undo_one(
    change: &Change,
    netlink: &mut Netlink,
    interface: &InterfaceName,
    config: Option<&Config>,
    why: Why,
) -> Result<()> {
    match change {
        Change::Interface { name } => remove_interface(netlink, name),
        Change::Rule { family, rule } => {
            tolerate(netlink.remove_rule(*family, *rule), &[libc::ENOENT, libc::EAFNOSUPPORT])
                .map_err(|error| failed("removing a policy routing rule", &error))
        }
        Change::Sysctl { path, before } => restore(path, before),
        Change::Hooks => match config {
            Some(config) => {
                if why == Why::Crash {
                    hooks::run(Stage::PreDown, &config.interface.pre_down, interface)
                        .unwrap_or_else(|p| log::warn(&p));
                }
                hooks::run(Stage::PostDown, &config.interface.post_down, interface)
            }
            None => Err(Problem::new("PreDown and PostDown did not run: the configuration is not known")
                .hint("run `warren-tunnel agent --cleanup --config FILE`")),
        },
        dns => net::dns_undo(dns),
    }
}

fn remove_interface(netlink: &mut Netlink, name: &str) -> Result<()> {
    match netlink.link(name) {
        Ok(Some(link)) => {
            netlink.delete_link(link.index).map_err(|error| failed(&format!("removing {name}"), &error))
        }
        _ => Ok(()),
    }
}

fn restore(path: &Path, before: &str) -> Result<()> {
    fs::write(path, before).map_err(|error| failed(&path.display().to_string(), &error))
}

fn open() -> Result<Netlink> {
    Netlink::open().map_err(|error| failed("netlink", &error))
}

fn tolerate(result: io::Result<()>, numbers: &[i32]) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error().is_some_and(|number| numbers.contains(&number)) => Ok(()),
        other => other,
    }
}

/// Whether the error means that IPv6 is disabled; the kernel reports this in several ways.
fn absent_v6(prefix: &IpNet, error: &io::Error) -> bool {
    matches!(prefix, IpNet::V6(_))
        && matches!(
            error.raw_os_error(),
            Some(libc::EACCES | libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::ENODEV)
        )
}

fn no_ipv6(what: &str) -> Problem {
    Problem::new(format!("{what} skipped: IPv6 is disabled on this machine"))
        .hint("remove it from the configuration, or enable IPv6 (sysctl net.ipv6.conf.all.disable_ipv6)")
}

fn failed(doing: &str, error: &io::Error) -> Problem {
    let problem = Problem::new(format!("{doing}: {error}"));
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => problem
            .hint("CAP_NET_ADMIN is missing: run as root, or start the container with --cap-add NET_ADMIN"),
        _ => problem,
    }
}
