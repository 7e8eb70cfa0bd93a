//! A tunnel of our own data path, over a TUN device, the netstack of this process, or the kernel's stack in a namespace.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use warren_device::{
    tun::{Queue, Tun},
    user::{self, Congestion, Net, UserConfig},
};
use warren_proto::{
    engine::{Engine, EngineConfig, Signs},
    plane::Plane,
};
use warren_transport::udp::Udp;
use warren_wire::{PublicKey, config::Config};

use super::{
    Carriers, Reloader,
    network::Network,
    peers,
    proxies::{BUFFERS, Proxies, Services, Sockets},
    settings::Settings,
    tunnel::{Look, Tunnel, Up, failure, mtu_for, reload_answer, status_answer},
};
use crate::runtime::{
    control::{self, Command, Facts, FilePeer, Handle, Lookup, Parts, Traffic as _},
    datapath::Device,
    host::folders,
    log, lookups,
    net::{self, Netlink, PrivateNetwork},
    netstack::Netstack,
    problem::{Context, Problem, Result},
    random,
    status::{Offload, Status},
    traffic::Moving,
    uapi::{self, Request, errno},
};

/// The minimum MTU without an interface: the minimum of IPv6.
const LEAST_MTU: u32 = 1280;

/// A running tunnel; dropping it ends it, and its interface with it.
pub(super) struct OwnTunnel {
    // Dropped in this order: streams before the device, and all users of the control thread before it.
    services: Option<Services>,
    _uapi: uapi::Server,
    _thread: control::Thread,
    handle: Handle,
    facts: Facts,
    lookups: std::sync::mpsc::SyncSender<Lookup>,
    inside: Inside,
    carriers: Carriers,
}

/// Where packets leave the tunnel.
enum Inside {
    /// Through an interface of the machine.
    Interface,
    /// In the netstack.
    Netstack(Net),
    /// In a network namespace of our own.
    Private(Box<PrivateNetwork>),
}

/// The properties of a device.
struct Kind {
    backend: &'static str,
    told: String,
    mtu: u32,
    fwmark: Option<u32>,
    offloads: Vec<Offload>,
    socket: PathBuf,
}

impl OwnTunnel {
    /// Creates the interface and starts everything behind it. The caller sets addresses and routes.
    pub(super) fn over_tun(
        settings: &Settings,
        network: &mut Network,
        reloader: Reloader,
        told: &str,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let fwmark = network.fwmark(config);
        let file_peers = peers::of(config, &settings.carriers, fwmark, true);
        let mtu = mtu_for(config, endpoints(&file_peers), |peers| network.outside_mtu(peers));
        let queues = Tun::open(interface.as_str(), 1).map_err(|error| device_problem(&error))?;
        let kind = Kind {
            backend: "tun",
            told: told.to_owned(),
            mtu,
            fwmark,
            offloads: queues.first().map(device_offloads).unwrap_or_default(),
            socket: interface.socket(),
        };
        Self::up(settings, reloader, kind, file_peers, |_| Ok((Device::Tun(queues), Inside::Interface)))
    }

    /// Starts a tunnel that ends in this process: it changes nothing on the machine and needs no privileges.
    pub(super) fn over_netstack(settings: &Settings, reloader: Reloader, told: &str) -> Result<Up> {
        let (kind, file_peers) = Self::without_interface(settings, "user", told, Vec::new());
        let mtu = kind.mtu;
        let seed = *random()?;
        let addresses = own_addresses(&settings.config);
        Self::up(settings, reloader, kind, file_peers, move |plane| {
            let routed = Arc::clone(plane);
            let (driver, net) = user::open(UserConfig {
                addresses,
                mtu: mtu as usize,
                memory: BUFFERS,
                congestion: Congestion::Bbr,
                seed,
                routes: Box::new(move |to| routed.route(to).is_some()),
                forward: None,
            })
            .while_doing(|| "cannot start the netstack".into())?;
            Ok((Device::User(Box::new(driver)), Inside::Netstack(net)))
        })
    }

    /// Starts a tunnel that ends in the kernel's stack, in a namespace of its own.
    pub(super) fn over_namespace(settings: &Settings, reloader: Reloader) -> Result<Up> {
        let (mut network, queue) = PrivateNetwork::open()?;
        let (kind, file_peers) =
            Self::without_interface(settings, "userns", "requested", device_offloads(&queue));
        network.configure(own_addresses(&settings.config).into_iter(), kind.mtu)?;
        Self::up(settings, reloader, kind, file_peers, move |_| {
            Ok((Device::Tun(vec![queue]), Inside::Private(Box::new(network))))
        })
    }

    /// The common part of the two tunnels without an interface.
    fn without_interface(
        settings: &Settings,
        backend: &'static str,
        told: &str,
        offloads: Vec<Offload>,
    ) -> (Kind, Vec<FilePeer>) {
        let Settings { interface, config, .. } = settings;
        let file_peers = peers::of(config, &settings.carriers, None, true);
        // Some sandboxes have no netlink: the default MTU is used there.
        let mtu = mtu_for(config, endpoints(&file_peers), |peers| {
            net::outside_mtu(&mut Netlink::open().ok()?, peers)
        });
        if mtu < LEAST_MTU {
            log::warn(
                &Problem::new(format!("MTU {mtu} is too small without an interface, using {LEAST_MTU}"))
                    .hint("set MTU to 1280, the minimum of IPv6, or more"),
            );
        }
        let mtu = mtu.max(LEAST_MTU);
        let socket = if folders::wireguard_may_be_written() {
            interface.socket()
        } else {
            interface.own_socket(&settings.folder)
        };
        (Kind { backend, told: told.to_owned(), mtu, fwmark: None, offloads, socket }, file_peers)
    }

    fn up(
        settings: &Settings,
        reloader: Reloader,
        kind: Kind,
        file_peers: Vec<FilePeer>,
        make: impl FnOnce(&Arc<Plane>) -> Result<(Device, Inside)>,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let Kind { backend, told, mtu, fwmark, offloads, socket } = kind;
        let udp = Arc::new(bind(config.interface.listen_port.unwrap_or(0), fwmark)?);
        let private_key =
            config.interface.private_key.clone().ok_or_else(|| Problem::new("no private key"))?;
        let engine = Engine::new(EngineConfig::new(private_key.clone()), *random()?);
        let (device, inside) = make(&engine.plane())?;
        let traffic = Box::new(Moving::start(engine.plane(), device, Arc::clone(&udp), mtu as usize)?);
        let tls = settings.carriers.listen(config, traffic.streams())?;
        let services = match &inside {
            Inside::Interface => None,
            Inside::Netstack(net) => {
                Some(Services::start(&Netstack(net.clone()), &settings.services, config)?)
            }
            Inside::Private(network) => {
                let reloader = reloader.clone();
                let sockets = Sockets::new(Arc::clone(network.namespace()), move || reloader.failed());
                Some(Services::start(&sockets, &settings.services, config)?)
            }
        };
        let (handle, commands) = Handle::new()?;
        let lookups = lookups::start(handle.clone())?;
        let facts = Facts {
            interface: interface.to_string(),
            backend,
            backend_reason: told.clone(),
            mtu,
            addresses: config.interface.addresses.clone(),
            up_since: wall(),
            planned_rate_mbit: settings.planned_rate,
            device_offloads: offloads,
            tls,
            services: services.as_ref().map(Services::counters),
        };
        let parts = Parts {
            engine,
            private_key,
            fwmark,
            traffic,
            commands,
            lookups: lookups.clone(),
            on_failure: Box::new({
                let reloader = reloader.clone();
                move || reloader.failed()
            }),
            facts: facts.clone(),
        };
        let thread = control::start(parts, handle.clone())?;
        let answers = handle.clone();
        let uapi = uapi::Server::bind(socket, Arc::new(move |request| answer(request, &answers, &reloader)))?;
        let tunnel = Self {
            services,
            _uapi: uapi,
            _thread: thread,
            handle,
            facts,
            lookups,
            inside,
            carriers: settings.carriers.clone(),
        };
        tunnel.put(Vec::new(), file_peers)?;
        Ok(Up { tunnel: Box::new(tunnel), mtu, told })
    }

    /// Sends peers to the control thread, and unresolved names to the lookup thread.
    fn put(&self, gone: Vec<PublicKey>, changed: Vec<FilePeer>) -> Result<()> {
        let unknown: Vec<Lookup> = changed
            .iter()
            .filter(|peer| peer.config.endpoint.is_none())
            .filter_map(|peer| {
                Some(Lookup { peer: peer.config.public_key, name: peer.name.clone()?, not: None })
            })
            .collect();
        self.handle.ask(|done| Command::Peers { gone, changed, done })?;
        for lookup in unknown {
            _ = self.lookups.try_send(lookup);
        }
        Ok(())
    }
}

impl Tunnel for OwnTunnel {
    /// Applies the differences of another file and returns a summary.
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String> {
        let mut said = Vec::new();
        let (old, new) = (&before.interface, &after.interface);
        if old.listen_port != new.listen_port || mark.0 != mark.1 {
            let port = new.listen_port.filter(|_| old.listen_port != new.listen_port);
            let fwmark = (mark.0 != mark.1).then(|| mark.1.unwrap_or(0));
            self.handle
                .ask(|done| Command::Listen { port, fwmark, done })?
                .map_err(|error| port_problem(port.unwrap_or(0), &error))?;
            said.push("port or mark changed".to_owned());
        }
        if old.private_key != new.private_key
            && let Some(key) = &new.private_key
        {
            self.handle.tell(Command::PrivateKey(key.clone()));
            said.push("private key changed, all sessions restarted".to_owned());
        }
        let (gone, changed) = control::difference(
            &peers::of(before, &self.carriers, mark.0, false),
            &peers::of(after, &self.carriers, mark.1, false),
        );
        if !gone.is_empty() {
            said.push(format!("{} peers removed", gone.len()));
        }
        if !changed.is_empty() {
            said.push(format!("{} peers added or changed", changed.len()));
        }
        self.put(gone, changed)?;
        if let Inside::Netstack(net) = &self.inside {
            // Streams whose packets went nowhere need not wait for their timers.
            net.nudge();
        }
        if old.listen_tls != new.listen_tls {
            log::warn(
                &Problem::new("ListenTLS has changed; the agent applies this only when it starts")
                    .hint("restart the agent"),
            );
        }
        if old.addresses != new.addresses
            || old.mtu != new.mtu
            || old.dns != new.dns
            || old.table != new.table
        {
            said.push("addresses, MTU, DNS or table changed".to_owned());
        }
        Ok(if said.is_empty() { "no changes".to_owned() } else { said.join(", ") })
    }

    fn forsake(&self) {
        if let Inside::Netstack(net) = &self.inside {
            net.forsake();
        }
    }

    /// Updates the facts that the control thread reports in its status.
    fn facts(&mut self, config: &Config, mtu: Option<u32>) {
        self.facts.addresses.clone_from(&config.interface.addresses);
        if let Some(mtu) = mtu {
            self.facts.mtu = mtu;
        }
        match &mut self.inside {
            Inside::Interface => {}
            Inside::Netstack(net) => {
                self.facts.mtu = self.facts.mtu.max(LEAST_MTU);
                net.set_addresses(own_addresses(config));
                net.set_mtu(self.facts.mtu as usize);
            }
            Inside::Private(network) => {
                self.facts.mtu = self.facts.mtu.max(LEAST_MTU);
                if let Err(problem) = network.configure(own_addresses(config).into_iter(), self.facts.mtu) {
                    log::warn(&problem);
                }
            }
        }
        if let Some(services) = &self.services {
            services.reload(config);
        }
        self.handle.tell(Command::Facts(Box::new(self.facts.clone())));
    }

    fn look(&self) -> Arc<dyn Look> {
        Arc::new(self.handle.clone())
    }

    fn proxies(&self) -> Option<Proxies> {
        self.services.as_ref().map(Services::proxies)
    }
}

impl Look for Handle {
    fn status(&self) -> Result<Status> {
        self.ask(Command::Status)
    }

    fn alive(&self) -> bool {
        self.ask(Command::Ping).is_ok()
    }

    fn greet(&self) {
        self.tell(Command::Greet);
    }

    fn signs(&self, keys: Vec<PublicKey>) -> Result<(Duration, Vec<(PublicKey, Signs)>)> {
        self.ask(|answer| Command::Signs(keys, answer))
    }

    fn probe(&self, key: PublicKey) {
        self.tell(Command::Probe(key));
    }
}

fn endpoints(peers: &[FilePeer]) -> impl Iterator<Item = IpAddr> {
    peers.iter().filter_map(|peer| peer.config.endpoint).map(|endpoint| endpoint.ip())
}

fn own_addresses(config: &Config) -> Vec<IpAddr> {
    config.interface.addresses.iter().map(ipnet::IpNet::addr).collect()
}

fn bind(port: u16, fwmark: Option<u32>) -> Result<Udp> {
    Udp::bind(port, fwmark).map_err(|error| port_problem(port, &error))
}

fn port_problem(port: u16, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("UDP port {port}: {error}"));
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => problem.hint(format!(
            "find the process that uses it with `ss -lunp sport = :{port}`, or choose another port with --listen-port or ListenPort"
        )),
        Some(libc::EPERM) => problem.hint("setting FwMark needs CAP_NET_ADMIN"),
        _ => problem,
    }
}

/// Answers one request of the control socket.
fn answer(request: Request, handle: &Handle, reloader: &Reloader) -> Vec<u8> {
    let result = match request {
        Request::Get => handle.ask(Command::Get).map(|device| uapi::get(&device).as_bytes().to_vec()),
        Request::Set(set) => {
            handle.ask(|done| Command::Set(set, done)).map(|number| errno(number).into_bytes())
        }
        Request::Status => status_answer(handle),
        Request::Reload => reload_answer(reloader),
    };
    result.unwrap_or_else(|problem| failure(&problem))
}

fn wall() -> f64 {
    crate::runtime::datapath::Clock.now().wall.as_secs_f64()
}

/// Splits the device's error into problem and hint.
fn device_problem(error: &warren_device::tun::OpenError) -> Problem {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((what, hint)) => Problem::new(what).hint(hint),
        None => Problem::new(text),
    }
}

fn device_offloads(queue: &Queue) -> Vec<Offload> {
    let offload = queue.offload();
    let one = |name: &str, on: bool, does: &str, why: &str| Offload {
        name: name.into(),
        on,
        why: if on { does } else { why }.into(),
    };
    vec![
        one("tun_checksum", offload.checksum, "one checksum per batch", "the kernel refused TUNSETOFFLOAD"),
        one("tun_tso", offload.tso, "large TCP packets, unsegmented", "the kernel refused TUNSETOFFLOAD"),
        one("tun_uso", offload.uso, "large UDP packets, unsegmented", "needs Linux 6.2"),
    ]
}
