//! Forwarding by the kernel: a TUN interface, routes to it, and one table of nftables' rules.
//!
//! ```text
//! peer --> engine --> TUN --> table: member? allowed? rate? --> masqueraded --> host
//! peer <-- engine <-- TUN <-- table: answer? allowed? rate? <-- host
//! ```
//!
//! The gateway creates all of it and removes it at the end. A killed gateway leaves its table and settings: they are in the
//! journal ([`host::Host`]), let nothing pass, and are adopted by the next start.

mod conntrack;
mod flows;
mod host;
mod nft;
mod preflight;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use parking_lot::Mutex;
use warren_device::tun::{Queue, Tun};
use warren_device::user::Congestion;
use warren_wire::Name;
use warren_wire::gateway::GatewayConfig;

use super::{Forward, ForwardContext, ForwardCounters};
use crate::gateway::peers::Member;
use crate::runtime::Queues;
use crate::runtime::host::InterfaceName;
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Problem, Result};
use flows::{Flows, PERIOD};
use host::Host;
use nft::{Count, Nft};
pub(in crate::gateway) use preflight::{check_machine, check_routes, tunnel_ranges};
use rules::{ErrorSender, NameServerRules, NewlyForwarded, Place, REFUSED_SETS, Table};

/// Minimum interval between two reads of the counters.
const READ_INTERVAL: Duration = Duration::from_millis(500);
/// Prefixes of the table's and the interface's name, before the gateway's name.
const TABLE: &str = "warren-";
const INTERFACE: &str = "wg-";

/// Forwarding by the kernel.
pub(in crate::gateway) struct Kernel {
    nft: Nft,
    error_sender: ErrorSender,
    table: String,
    interface: InterfaceName,
    audited: bool,
    state: Mutex<State>,
    flows: Mutex<Flows>,
    host: Mutex<Host>,
}

struct State {
    config: GatewayConfig,
    /// Members as wanted, and as they are in the table.
    wanted: BTreeMap<IpAddr, Place>,
    made: BTreeMap<IpAddr, Place>,
    /// Whether the table may differ from `made`; it is then replaced.
    unknown: bool,
    /// Counters of tables that were replaced.
    before: BTreeMap<String, Count>,
    last: Option<(Instant, ForwardCounters)>,
}

/// The program that sets the rules.
///
/// # Errors
/// It is not installed.
pub(in crate::gateway) fn program() -> Result<PathBuf> {
    Nft::find().map(Nft::into_path)
}

/// Reverts the changes of a killed gateway of this name, for a gateway that does not forward in the kernel.
///
/// # Errors
/// The journal cannot be read.
pub(in crate::gateway) fn clean(gateway: &Name, folder: &Path) -> Result<()> {
    let mut host = Host::open(gateway, folder)?;
    if host.left() {
        tracing::warn!(%gateway, "an earlier gateway did not end cleanly: reverting its changes");
        host.down(|table| Nft::find()?.delete(table));
    }
    Ok(())
}

impl Kernel {
    /// Creates interface, routes and rules, and enables forwarding.
    ///
    /// # Errors
    /// Something is missing or refused; all changes are reverted.
    pub(in crate::gateway) fn start(
        config: &GatewayConfig,
        folder: &Path,
        context: &ForwardContext,
        queues: Queues,
    ) -> Result<(Arc<Self>, Vec<Queue>)> {
        let nft = Nft::find()?;
        let error_sender = nft.error_sender();
        let interface = interface(&config.name)?;
        // This fails if another gateway of this name runs, so it comes before anything that would disturb that gateway.
        let queues = Tun::open(interface.as_str(), queues.count(usize::MAX)).map_err(|error| {
            let text = error.to_string();
            let (what, hint) = text.split_once("; ").unwrap_or((&text, "check `ip link`"));
            Problem::new(what).hint(hint)
        })?;
        let host = Host::open(&config.name, folder)?;
        if host.left() {
            tracing::warn!("an earlier gateway did not end cleanly: replacing its rules");
        }
        let table = format!("{TABLE}{}", config.name);
        let state = State {
            config: config.clone(),
            wanted: BTreeMap::new(),
            made: BTreeMap::new(),
            unknown: false,
            before: BTreeMap::new(),
            last: None,
        };
        let connections = conntrack::all().while_doing(|| "listing the kernel's connections".into())?;
        let flows = Flows::new(
            Arc::clone(&context.peer_table),
            Arc::clone(&context.audit),
            config.own_addresses(),
            &connections,
        );
        let kernel = Arc::new(Self {
            nft,
            error_sender,
            table,
            interface,
            audited: context.audit.is_kept(),
            state: Mutex::new(state),
            flows: Mutex::new(flows),
            host: Mutex::new(host),
        });
        if let Err(problem) = kernel.make(config) {
            kernel.undo();
            return Err(problem);
        }
        if kernel.audited {
            let watching = Arc::clone(&kernel);
            let watch = move || Arc::clone(&watching).watch();
            context.supervisor.restarted_task(&context.runtime, "audit of the kernel", watch);
        }
        Ok((kernel, queues))
    }

    /// Feeds the audit log with passed and refused flows, forever.
    async fn watch(self: Arc<Self>) {
        let mut tick = tokio::time::interval(PERIOD);
        loop {
            tick.tick().await;
            let kernel = Arc::clone(&self);
            if let Err(error) = tokio::task::spawn_blocking(move || kernel.look()).await {
                tracing::error!(%error, "audit records were lost");
            }
        }
    }

    /// Reads all connections and returns the numbers of TCP and UDP connections.
    fn look(&self) -> (u64, u64) {
        let mut flows = self.flows.lock();
        if self.audited {
            for set in REFUSED_SETS {
                match self.nft.refused(&self.table, set) {
                    Ok(refused) => flows.refused(set, &refused),
                    Err(problem) => log::warn(&problem),
                }
            }
        }
        match conntrack::all() {
            Ok(connections) => flows.look(&connections),
            Err(error) => {
                tracing::warn!(%error, "cannot list connections");
                (0, 0)
            }
        }
    }

    fn make(&self, config: &GatewayConfig) -> Result<()> {
        check_routes(config)?;
        let nets = tunnel_ranges(config);
        let mut host = self.host.lock();
        let own = config.own_addresses();
        host.attach(&self.interface, &own, &nets, config.peers.mtu.into())?;
        host.note_table(&self.table)?;
        self.nft.run(&self.rules_of(config, host.newly_forwarded(&nets)).script(&BTreeMap::new()))?;
        host.forward(&self.interface, &nets, self.audited)
    }

    fn undo(&self) {
        self.host.lock().down(|table| self.nft.delete(table));
    }

    /// The interface.
    pub(in crate::gateway) fn interface(&self) -> &InterfaceName {
        &self.interface
    }

    fn rules_of<'a>(&'a self, config: &'a GatewayConfig, newly_forwarded: NewlyForwarded) -> Table<'a> {
        Table {
            name: &self.table,
            interface: &self.interface,
            pool: &config.pool.prefixes,
            site: &config.site,
            name_server: NameServerRules::of(config),
            groups: &config.groups,
            audited: self.audited,
            newly_forwarded,
            error_sender: self.error_sender,
        }
    }

    fn place(&self, member: &Member, place: &Place) {
        let mut state = self.state.lock();
        for address in &member.addresses {
            state.wanted.insert(*address, place.clone());
        }
    }

    /// Replaces the table atomically with the rules of a configuration.
    fn replace(&self, state: &mut State, config: &GatewayConfig) -> Result<()> {
        let counted = self.nft.counters(&self.table);
        let newly_forwarded = self.host.lock().newly_forwarded(&tunnel_ranges(config));
        self.nft.run(&self.rules_of(config, newly_forwarded).script(&state.wanted))?;
        add(&mut state.before, &counted.unwrap_or_default());
        state.made = state.wanted.clone();
        state.unknown = false;
        Ok(())
    }

    /// Applies changes of members to the table.
    fn change(&self, state: &mut State) -> Result<()> {
        let same = |address: &IpAddr| state.wanted.get(address) == state.made.get(address);
        let touched: BTreeSet<IpAddr> =
            state.wanted.keys().chain(state.made.keys()).filter(|address| !same(address)).copied().collect();
        let table = self.rules_of(&state.config, NewlyForwarded::default());
        let known = |of: &BTreeMap<IpAddr, Place>, address: &IpAddr| {
            of.get(address).filter(|place| table.has(place)).cloned()
        };
        let of = |places: &BTreeMap<IpAddr, Place>| -> BTreeMap<IpAddr, Place> {
            touched.iter().filter_map(|address| Some((*address, known(places, address)?))).collect()
        };
        let (gone, come) = (of(&state.made), of(&state.wanted));
        let script = table.change(&gone, &come);
        if !script.is_empty() {
            self.nft.run(&script)?;
        }
        for address in touched {
            match state.wanted.get(&address) {
                Some(place) => state.made.insert(address, place.clone()),
                None => state.made.remove(&address),
            };
        }
        Ok(())
    }
}

impl Forward for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn install(&self, member: &Arc<Member>) {
        self.place(member, &Place::Group(member.group.clone()));
    }

    fn send_away(&self, member: &Arc<Member>) {
        self.place(member, &Place::Leaving);
    }

    fn remove(&self, member: &Arc<Member>) {
        let mut state = self.state.lock();
        for address in &member.addresses {
            state.wanted.remove(address);
        }
    }

    fn flush(&self) {
        let mut state = self.state.lock();
        if !state.unknown {
            let Err(problem) = self.change(&mut state) else { return };
            // Another program may have changed the table.
            tracing::warn!("{}: rewriting all rules", problem.what());
        }
        let config = state.config.clone();
        state.unknown = true;
        if let Err(problem) = self.replace(&mut state, &config) {
            log::warn(&problem);
        }
    }

    fn rules(&self, config: &GatewayConfig) -> Result<()> {
        check_routes(config)?;
        let mut state = self.state.lock();
        let (before, after) = (tunnel_ranges(&state.config), tunnel_ranges(config));
        let without = |all: &[IpNet], others: &[IpNet]| -> Vec<IpNet> {
            all.iter().filter(|net| !others.contains(net)).copied().collect()
        };
        let (more, less) = (without(&after, &before), without(&before, &after));
        self.host.lock().lead(&self.interface, &more)?;
        let made = self.replace(&mut state, config);
        let made = made.and_then(|()| self.host.lock().forward(&self.interface, &after, self.audited));
        if let Err(problem) = made {
            self.host.lock().mislead(&self.interface, &more);
            // The table may be the new one already.
            let before = state.config.clone();
            state.unknown = self.replace(&mut state, &before).is_err();
            return Err(problem);
        }
        self.host.lock().mislead(&self.interface, &less);
        state.config = config.clone();
        Ok(())
    }

    fn counters(&self) -> ForwardCounters {
        let mut state = self.state.lock();
        if let Some((at, counters)) = &state.last
            && at.elapsed() < READ_INTERVAL
        {
            return counters.clone();
        }
        let mut counted = state.before.clone();
        match self.nft.counters(&self.table) {
            Ok(now) => add(&mut counted, &now),
            Err(problem) => log::warn(&problem),
        }
        let get = |name: &str| counted.get(name).copied().unwrap_or_default();
        let (tcp_now, udp_now) = self.look();
        let counters = ForwardCounters {
            tcp_now,
            udp_now,
            streams: Congestion::ALL.map(|congestion| (congestion.name().to_owned(), 0)).into(),
            tcp: get("new-tcp").packets,
            udp: get("new-udp").packets,
            echo: get("new-echo").packets,
            bytes_out: get("bytes-out").bytes,
            bytes_in: get("bytes-in").bytes,
            denied: get("denied").packets,
            failed: get("failed").packets,
            dropped: get("dropped").packets,
        };
        state.last = Some((Instant::now(), counters.clone()));
        counters
    }

    fn end(&self) {
        if self.audited {
            self.look();
        }
        self.undo();
    }
}

fn add(sum: &mut BTreeMap<String, Count>, more: &BTreeMap<String, Count>) {
    for (name, count) in more {
        let of = sum.entry(name.clone()).or_default();
        of.packets += count.packets;
        of.bytes += count.bytes;
    }
}

/// The interface's name: the gateway's name if it fits, else a part of it and of its digest.
fn interface(gateway: &Name) -> Result<InterfaceName> {
    let whole = format!("{INTERFACE}{gateway}");
    if whole.len() <= InterfaceName::MAX {
        return whole.parse();
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, gateway.as_str().as_bytes());
    let digest: String = digest.as_ref().iter().take(2).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digest}", &whole[..InterfaceName::MAX - 5]).parse()
}
