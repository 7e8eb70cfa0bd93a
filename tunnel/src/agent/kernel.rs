//! A tunnel of the kernel's WireGuard. `wg` talks to the kernel directly; this module serves `status`,
//! `reload` and the metrics, and resolves endpoint names again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use warren_device::kernel::{Kernel, KernelConfig, KernelOwn, KernelPeer, KernelPeerStatus, KernelStatus};
use warren_wire::{
    config::{self, Config},
    key::PublicKey,
};

use super::{
    carriers::Carriers,
    echo::{self, Inside, Pinger},
    events::Reloader,
    network::Network,
    peers,
    proxies::dns_zones,
    settings::Settings,
    tunnel::{Tunnel, TunnelHandle, Up, mtu_for},
};
use crate::runtime::{
    control::{Facts, FilePeer, difference},
    datapath::Clock,
    host::InterfaceName,
    log,
    net::{Netlink, resolve},
    problem::{Context, Problem, Result},
    sandbox,
    status::{Moved, Peer, Status},
    uapi::{self, errno},
};

/// Interval between checks of whether the interface still exists. The kernel's WireGuard ends without a word to the agent.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between checks of peers whose endpoint is a name.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(30);
/// A handshake older than this will not be renewed: 120 s until the next is due, plus three attempts.
const STALE: Duration = Duration::from_secs(135);

/// A running tunnel of the kernel. The interface itself is removed through the journal.
pub(super) struct KernelTunnel {
    _uapi: uapi::Server,
    shared: Arc<Shared>,
    /// Dropped to end the thread that watches the interface.
    _watch: SyncSender<()>,
}

struct Shared {
    interface: InterfaceName,
    kernel: Mutex<Kernel>,
    facts: Mutex<Facts>,
    names: Mutex<BTreeMap<PublicKey, config::Endpoint>>,
}

impl KernelTunnel {
    /// Configures an interface that was just created.
    pub(super) fn up(
        kernel: Kernel,
        settings: &Settings,
        network: &mut Network,
        reloader: Reloader,
        reason: &str,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let file_peers = peers::of(config, &Carriers::udp_only(), None, true);
        let addresses =
            file_peers.iter().filter_map(|peer| peer.config.endpoint).map(|endpoint| endpoint.ip());
        let mtu = mtu_for(config, addresses, |peers| network.outside_mtu(peers));
        let wanted = kernel_config(config, network.fwmark(config), &file_peers)?;
        kernel.configure(interface.as_str(), &wanted).map_err(|error| refused(&error))?;
        let facts = Facts {
            interface: interface.to_string(),
            backend: "kernel",
            backend_reason: reason.to_owned(),
            mtu,
            addresses: config.interface.addresses.clone(),
            dns_zones: dns_zones(config),
            up_since: Clock.now().wall.as_secs_f64(),
            planned_rate_mbit: settings.planned_rate,
            device_offloads: Vec::new(),
            tls: None,
            services: None,
        };
        let shared = Arc::new(Shared {
            interface: interface.clone(),
            kernel: Mutex::new(kernel),
            facts: Mutex::new(facts),
            names: Mutex::new(names(&file_peers)),
        });
        let served = Arc::clone(&shared);
        let supervisor = reloader.supervisor.clone();
        let watch = watch(Arc::clone(&shared), reloader.clone())?;
        let pinger = Pinger::new(Inside::Machine, None)?;
        // `wg` uses the kernel's interface.
        let handler = Arc::new(move |request| {
            let answer = echo::answer(&request, served.as_ref(), &reloader, &pinger);
            answer.unwrap_or_else(|| errno(libc::EOPNOTSUPP).into_bytes())
        });
        let uapi = uapi::Server::bind(interface.fallback_socket(&settings.folder), handler, &supervisor)?;
        Ok(Up {
            tunnel: Box::new(Self { _uapi: uapi, shared, _watch: watch }),
            mtu,
            reason: reason.to_owned(),
        })
    }
}

impl Tunnel for KernelTunnel {
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String> {
        let (old, new) = (&before.interface, &after.interface);
        let (known, wanted) = (
            peers::of(before, &Carriers::udp_only(), None, false),
            peers::of(after, &Carriers::udp_only(), None, true),
        );
        let kernel = self.shared.kernel.lock();
        let own = KernelOwn {
            private_key: new.private_key.as_ref().filter(|_| old.private_key != new.private_key),
            listen_port: (old.listen_port != new.listen_port).then(|| new.listen_port.unwrap_or(0)),
            fwmark: (mark.0 != mark.1).then(|| mark.1.unwrap_or(0)),
        };
        let changes_own = own.private_key.is_some() || own.listen_port.is_some() || own.fwmark.is_some();
        if changes_own {
            kernel.set_own(self.shared.interface.as_str(), &own).map_err(|error| refused(&error))?;
        }
        // Compared as written in the file: a name that now resolves to another address is not a change.
        let (gone, changed) = difference(&known, &peers::of(after, &Carriers::udp_only(), None, false));
        for key in &gone {
            kernel.remove(key).map_err(|error| refused(&error))?;
        }
        let changed_keys: Vec<PublicKey> = changed.iter().map(|peer| peer.config.public_key).collect();
        for peer in wanted.iter().filter(|peer| changed_keys.contains(&peer.config.public_key)) {
            kernel.put(&kernel_peer(peer)).map_err(|error| refused(&error))?;
        }
        let own = if changes_own { "private key, port or mark changed, " } else { "" };
        let changes = format!("{own}{} peers removed, {} added or changed", gone.len(), changed.len());
        drop(kernel);
        *self.shared.names.lock() = names(&wanted);
        Ok(changes)
    }

    fn facts(&mut self, config: &Config, mtu: Option<u32>) {
        let mut facts = self.shared.facts.lock();
        facts.addresses.clone_from(&config.interface.addresses);
        facts.dns_zones = dns_zones(config);
        if let Some(mtu) = mtu {
            facts.mtu = mtu;
        }
    }

    fn handle(&self) -> Arc<dyn TunnelHandle> {
        Arc::clone(&self.shared) as Arc<dyn TunnelHandle>
    }
}

impl TunnelHandle for Shared {
    fn status(&self) -> Result<Status> {
        let read = self.kernel.lock().status().map_err(|error| refused(&error))?;
        Ok(status(&self.facts.lock(), &self.names.lock(), Clock.now().wall, read))
    }

    fn alive(&self) -> bool {
        self.kernel.lock().status().is_ok()
    }
}

/// Reports the end of the interface, and resolves the endpoint names of peers that do not answer.
fn watch(shared: Arc<Shared>, reloader: Reloader) -> Result<SyncSender<()>> {
    let (end, ended) = mpsc::sync_channel::<()>(0);
    let doing = || "cannot watch the interface".into();
    let mut netlink = Netlink::open().while_doing(doing)?;
    let link = netlink.link(shared.interface.as_str()).while_doing(doing)?;
    let index =
        link.ok_or_else(|| Problem::new(format!("interface {} was removed", shared.interface)))?.index;
    let supervisor = reloader.supervisor.clone();
    let netlink = Mutex::new(netlink);
    supervisor
        .restarted_thread("watch", 512 << 10, move || {
            let mut looked_up = Instant::now();
            while ended.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // One of the same name that was created meanwhile is another program's.
                if netlink.lock().link_by_index(index).is_ok_and(|link| link.is_none()) {
                    return reloader.failed();
                }
                if looked_up.elapsed() < LOOKUP_INTERVAL {
                    continue;
                }
                looked_up = Instant::now();
                let names = shared.names.lock().clone();
                if !names.is_empty()
                    && let Err(problem) = look_up(&shared, &names)
                {
                    log::warn(&problem);
                }
            }
        })
        .while_doing(|| "cannot start the thread that watches the interface".into())?;
    Ok(end)
}

fn look_up(shared: &Shared, names: &BTreeMap<PublicKey, config::Endpoint>) -> Result<()> {
    let read = shared.kernel.lock().status().map_err(|error| refused(&error))?;
    let now = Clock.now().wall;
    for peer in read.peers {
        let fresh = peer.last_handshake.is_some_and(|time| now.saturating_sub(time) < STALE);
        let Some(name) = names.get(&peer.public_key).filter(|_| !fresh) else { continue };
        let address = resolve(name, peer.endpoint)?;
        if peer.endpoint != Some(address) {
            tracing::info!(peer = %peer.public_key, endpoint = %address, "endpoint resolved");
            shared.kernel.lock().set_endpoint(&peer.public_key, address).map_err(|error| refused(&error))?;
        }
    }
    Ok(())
}

fn names(peers: &[FilePeer]) -> BTreeMap<PublicKey, config::Endpoint> {
    peers.iter().filter_map(|peer| Some((peer.config.public_key, peer.name.clone()?))).collect()
}

fn kernel_config(config: &Config, fwmark: Option<u32>, peers: &[FilePeer]) -> Result<KernelConfig> {
    let private_key = config.interface.private_key.clone().ok_or_else(|| Problem::new("no private key"))?;
    let listen_port = config.interface.listen_port.unwrap_or(0);
    Ok(KernelConfig { private_key, listen_port, fwmark, peers: peers.iter().map(kernel_peer).collect() })
}

fn kernel_peer(peer: &FilePeer) -> KernelPeer {
    let config = &peer.config;
    KernelPeer {
        public_key: config.public_key,
        preshared_key: config.preshared_key.clone(),
        endpoint: config.endpoint,
        persistent_keepalive: config.persistent_keepalive,
        allowed_ips: config.allowed_ips.clone(),
    }
}

/// The same model as for our own data path; values that the kernel does not report are absent.
fn status(
    facts: &Facts,
    names: &BTreeMap<PublicKey, config::Endpoint>,
    now: Duration,
    read: KernelStatus,
) -> Status {
    let peer = |peer: KernelPeerStatus| Peer {
        direct: None,
        endpoint_name: names.get(&peer.public_key).map(ToString::to_string),
        public_key: peer.public_key.to_string(),
        preshared_key: peer.preshared_key_set,
        endpoint: peer.endpoint,
        carrier: None,
        allowed_ips: peer.allowed_ips,
        persistent_keepalive: peer.persistent_keepalive,
        last_handshake: peer.last_handshake.map(|time| time.as_secs_f64()),
        handshake_rtt: None,
        answer_rtt: None,
        handshakes: None,
        session_age: None,
        rx_bytes: peer.rx_bytes,
        tx_bytes: peer.tx_bytes,
        rx_packets: None,
        tx_packets: None,
        drops: BTreeMap::new(),
    };
    Status {
        interface: facts.interface.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        backend: "kernel".into(),
        backend_reason: facts.backend_reason.clone(),
        public_key: read.public_key.map(|key| key.to_string()),
        listen_port: read.listen_port,
        fwmark: read.fwmark,
        mtu: facts.mtu,
        addresses: facts.addresses.clone(),
        dns_zones: facts.dns_zones.clone(),
        at: now.as_secs_f64(),
        up_since: facts.up_since,
        planned_rate_mbit: facts.planned_rate_mbit,
        offloads: Vec::new(),
        drops: BTreeMap::new(),
        tls: None,
        services: None,
        sandbox: sandbox::in_force(),
        cipher: None,
        peers: read.peers.into_iter().map(peer).collect(),
        // The kernel forgets peers with their counters.
        former_peers: Moved::default(),
    }
}

fn refused(error: &warren_device::kernel::KernelError) -> Problem {
    Problem::new(error.to_string()).hint("use --device tun, which does not need the kernel's WireGuard")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_becomes_the_kernels_configuration_and_its_figures_our_status() {
        let key = warren_wire::key::PrivateKey::from_random([3; 32]);
        let config = Config::parse(&format!(
            "[Interface]\nPrivateKey = {}\nListenPort = 7\n[Peer]\nPublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\nAllowedIPs = 10.0.0.5/24\nEndpoint = hub.example.net:51820\nPersistentKeepalive = 25\n",
            key.to_base64().as_str()
        ))
        .unwrap();
        let peers = peers::of(&config, &Carriers::udp_only(), None, false);
        let wanted = kernel_config(&config, Some(51820), &peers).unwrap();
        assert_eq!((wanted.listen_port, wanted.fwmark), (7, Some(51820)));
        assert_eq!(wanted.peers[0].allowed_ips, ["10.0.0.0/24".parse().unwrap()]);
        assert_eq!(wanted.peers[0].endpoint, None);

        let read = KernelStatus {
            public_key: Some(key.public()),
            listen_port: 7,
            fwmark: Some(51820),
            peers: vec![KernelPeerStatus {
                public_key: wanted.peers[0].public_key,
                preshared_key_set: false,
                endpoint: Some("192.0.2.1:51820".parse().unwrap()),
                last_handshake: Some(Duration::from_secs(90)),
                rx_bytes: 1,
                tx_bytes: 2,
                persistent_keepalive: Some(25),
                allowed_ips: wanted.peers[0].allowed_ips.clone(),
            }],
        };
        let status = status(&Facts::default(), &names(&peers), Duration::from_secs(100), read);
        assert_eq!(status.backend, "kernel");
        assert_eq!(status.peers[0].endpoint_name.as_deref(), Some("hub.example.net:51820"));
        assert_eq!((status.peers[0].last_handshake, status.at), (Some(90.0), 100.0));
    }
}
