//! A tunnel of our own data path, over a TUN device, the netstack of this process, or the kernel's stack in a namespace.

mod errors;
mod running;

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use warren_device::{
    tun::{Queue, Tun},
    user::{self, Net, UserConfig},
};
use warren_proto::{
    engine::{Engine, EngineConfig},
    plane::Plane,
};
use warren_transport::udp::Udp;
use warren_wire::{PublicKey, config::Config};

use self::errors::{device_problem, port_problem};
use super::{
    carriers::Carriers,
    echo::{self, Inside, Pinger},
    events::Reloader,
    network::Network,
    peers,
    proxies::{BUFFERS, Services, Sockets, dns_zones},
    settings::Settings,
    tunnel::{Up, failure, mtu_for},
};
use crate::runtime::{
    cipher,
    control::{self, Command, DatapathHandle as _, Facts, FilePeer, Handle, Lookup, Parts},
    datapath::Device,
    datapath_runner::DatapathRunner,
    host::folders,
    log, lookups,
    net::{self, Netlink, PrivateNetwork},
    netstack::Netstack,
    problem::{Context, Problem, Result},
    queues, random,
    status::Offload,
    uapi::{self, Request, errno},
};

/// The minimum MTU without an interface: the minimum of IPv6.
const MIN_MTU: u32 = 1280;

/// A running tunnel; dropping it ends it, and its interface with it.
pub(super) struct UserspaceTunnel {
    // Dropped in this order: streams before the device, and all users of the control thread before it.
    services: Option<Services>,
    _uapi: uapi::Server,
    _thread: control::Thread,
    handle: Handle,
    facts: Facts,
    lookups: std::sync::mpsc::SyncSender<Lookup>,
    stack: Stack,
    carriers: Carriers,
}

/// The network stack at the inner end of the tunnel.
enum Stack {
    /// Through an interface of the machine.
    Interface,
    /// In the netstack.
    Netstack(Net),
    /// In a network namespace of our own.
    Private(Box<PrivateNetwork>),
}

impl Stack {
    /// The same for echo requests.
    fn inside(&self) -> Inside {
        match self {
            Self::Interface => Inside::Machine,
            Self::Netstack(net) => Inside::Netstack(net.clone()),
            Self::Private(network) => Inside::Private(Arc::clone(network.namespace())),
        }
    }
}

/// The properties of a device.
struct DeviceInfo {
    backend: &'static str,
    reason: String,
    mtu: u32,
    fwmark: Option<u32>,
    offloads: Vec<Offload>,
    socket: PathBuf,
}

impl UserspaceTunnel {
    /// Creates the interface and starts everything behind it. The caller sets addresses and routes.
    pub(super) fn over_tun(
        settings: &Settings,
        network: &mut Network,
        reloader: Reloader,
        reason: &str,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let fwmark = network.fwmark(config);
        let file_peers = peers::of(config, &settings.carriers, fwmark, true);
        let mtu = mtu_for(config, endpoints(&file_peers), |peers| network.outside_mtu(peers));
        let queues = Tun::open(interface.as_str(), settings.queues.count(config.peers.len()))
            .map_err(|error| device_problem(&error))?;
        let info = DeviceInfo {
            backend: "tun",
            reason: reason.to_owned(),
            mtu,
            fwmark,
            offloads: queues.first().map(device_offloads).unwrap_or_default(),
            socket: interface.socket(),
        };
        Self::up(settings, reloader, info, file_peers, |_| Ok((Device::Tun(queues), Stack::Interface)))
    }

    /// Starts a tunnel that ends in this process: it changes nothing on the machine and needs no privileges.
    pub(super) fn over_netstack(settings: &Settings, reloader: Reloader, reason: &str) -> Result<Up> {
        let (info, file_peers) = Self::without_interface(settings, "user", reason, Vec::new());
        let mtu = info.mtu;
        let seed = *random()?;
        let addresses = own_addresses(&settings.config);
        let congestion = settings.services.congestion.into();
        Self::up(settings, reloader, info, file_peers, move |plane| {
            let routed = Arc::clone(plane);
            let (driver, net) = user::open(UserConfig {
                addresses,
                mtu: mtu as usize,
                memory: BUFFERS,
                congestion: Box::new(move |_| congestion),
                seed,
                routes: Box::new(move |to| routed.route(to).is_some()),
                forward: None,
                pass: None,
            })
            .while_doing(|| "cannot start the netstack".into())?;
            Ok((Device::User(Box::new(driver)), Stack::Netstack(net)))
        })
    }

    /// Starts a tunnel that ends in the kernel's stack, in a namespace of its own.
    pub(super) fn over_namespace(
        settings: &Settings,
        (mut network, queue): (PrivateNetwork, Queue),
        reloader: Reloader,
    ) -> Result<Up> {
        let (info, file_peers) =
            Self::without_interface(settings, "userns", "requested", device_offloads(&queue));
        network.configure(own_addresses(&settings.config).into_iter(), info.mtu)?;
        Self::up(settings, reloader, info, file_peers, move |_| {
            Ok((Device::Tun(vec![queue]), Stack::Private(Box::new(network))))
        })
    }

    /// The common part of the two tunnels without an interface.
    fn without_interface(
        settings: &Settings,
        backend: &'static str,
        reason: &str,
        offloads: Vec<Offload>,
    ) -> (DeviceInfo, Vec<FilePeer>) {
        let Settings { interface, config, .. } = settings;
        let file_peers = peers::of(config, &settings.carriers, None, true);
        // Some sandboxes have no netlink: the default MTU is used there.
        let mtu = mtu_for(config, endpoints(&file_peers), |peers| {
            net::outside_mtu(&mut Netlink::open().ok()?, peers)
        });
        if mtu < MIN_MTU {
            log::warn(
                &Problem::new(format!("MTU {mtu} is too small without an interface, using {MIN_MTU}"))
                    .hint("set MTU to 1280, the minimum of IPv6, or more"),
            );
        }
        let mtu = mtu.max(MIN_MTU);
        let socket = if folders::wireguard_writable() {
            interface.socket()
        } else {
            interface.fallback_socket(&settings.folder)
        };
        (DeviceInfo { backend, reason: reason.to_owned(), mtu, fwmark: None, offloads, socket }, file_peers)
    }

    fn up(
        settings: &Settings,
        reloader: Reloader,
        info: DeviceInfo,
        file_peers: Vec<FilePeer>,
        make: impl FnOnce(&Arc<Plane>) -> Result<(Device, Stack)>,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let DeviceInfo { backend, reason, mtu, fwmark, offloads, socket } = info;
        let mut udp = bind(config.interface.listen_port.unwrap_or(0), fwmark)?;
        let private_key =
            config.interface.private_key.clone().ok_or_else(|| Problem::new("no private key"))?;
        let mut engine = Engine::new(
            EngineConfig { cipher: cipher::suite(), ..EngineConfig::new(private_key.clone()) },
            *random()?,
        );
        if let Some(floor) = config.interface.stamp_floor {
            engine.raise_stamps(Duration::from_secs(floor.as_secs()));
        }
        let (device, stack) = make(&engine.plane())?;
        queues::widen(&mut udp, &device);
        let udp = Arc::new(udp);
        let datapath =
            Box::new(DatapathRunner::start(engine.plane(), device, Arc::clone(&udp), mtu as usize)?);
        let tls = settings.carriers.listen(config, datapath.streams())?;
        let services = match &stack {
            Stack::Interface => None,
            Stack::Netstack(net) => {
                Some(Services::start(&Netstack(net.clone()), &settings.services, config)?)
            }
            Stack::Private(network) => {
                let reloader = reloader.clone();
                let congestion = settings.services.congestion.into();
                let sockets =
                    Sockets::new(Arc::clone(network.namespace()), congestion, move || reloader.failed());
                Some(Services::start(&sockets, &settings.services, config)?)
            }
        };
        let (handle, commands) = Handle::new()?;
        let lookups = lookups::start(handle.clone(), &reloader.supervisor)?;
        let facts = Facts {
            interface: interface.to_string(),
            backend,
            backend_reason: reason.clone(),
            mtu,
            addresses: config.interface.addresses.clone(),
            dns_zones: dns_zones(config),
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
            datapath,
            commands,
            lookups: lookups.clone(),
            supervisor: reloader.supervisor.clone(),
            facts: facts.clone(),
        };
        let thread = control::start(parts, handle.clone())?;
        let answers = handle.clone();
        let supervisor = reloader.supervisor.clone();
        let pinger = Pinger::new(stack.inside(), services.as_ref().map(Services::lookup))?;
        let answer = Arc::new(move |request| answer(request, &answers, &reloader, &pinger));
        let uapi = uapi::Server::bind(socket, answer, &supervisor)?;
        let tunnel = Self {
            services,
            _uapi: uapi,
            _thread: thread,
            handle,
            facts,
            lookups,
            stack,
            carriers: settings.carriers.clone(),
        };
        tunnel.put(Vec::new(), file_peers)?;
        Ok(Up { tunnel: Box::new(tunnel), mtu, reason })
    }

    /// Sends peers to the control thread, and unresolved names to the lookup thread.
    fn put(&self, gone: Vec<PublicKey>, changed: Vec<FilePeer>) -> Result<()> {
        let unknown: Vec<Lookup> = changed
            .iter()
            .filter(|peer| peer.config.endpoint.is_none())
            .filter_map(|peer| {
                Some(Lookup { peer: peer.config.public_key, name: peer.name.clone()?, unresponsive: None })
            })
            .collect();
        self.handle.request(|done| Command::Peers { gone, changed, done })?;
        for lookup in unknown {
            _ = self.lookups.try_send(lookup);
        }
        Ok(())
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

/// Answers one request of the control socket.
fn answer(request: Request, handle: &Handle, reloader: &Reloader, pinger: &Pinger) -> Vec<u8> {
    if let Some(answer) = echo::answer(&request, handle, reloader, pinger) {
        return answer;
    }
    let result = match request {
        Request::Get => handle.request(Command::Get).map(|device| uapi::get(&device).as_bytes().to_vec()),
        Request::Set(set) => {
            handle.request(|done| Command::Set(set, done)).map(|number| errno(number).into_bytes())
        }
        _ => Ok(errno(libc::EOPNOTSUPP).into_bytes()),
    };
    result.unwrap_or_else(|problem| failure(&problem))
}

fn wall() -> f64 {
    crate::runtime::datapath::Clock.now().wall.as_secs_f64()
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
