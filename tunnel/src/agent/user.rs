//! A tunnel that our own data path moves, over a TUN device.

use std::sync::Arc;

use warren_device::tun::{Queue, Tun};
use warren_proto::engine::{Engine, EngineConfig};
use warren_transport::udp::Udp;
use warren_wire::config::Config;

use super::{
    Reloader, lookups,
    network::Network,
    peers,
    settings::Settings,
    traffic::Moving,
    tunnel::{Look, Tunnel, Up, failure, mtu_for, reload_answer, status_answer},
};
use crate::{
    commands::keys::random,
    control::{self, Command, Facts, FilePeer, Handle, Lookup, Parts},
    problem::{Problem, Result},
    status::{Offload, Status},
    uapi::{self, Request, errno},
};

/// A running tunnel; dropping it ends it, and its interface with it.
pub(super) struct UserTunnel {
    // In the order in which they end: nobody asks a control thread that has gone.
    _uapi: uapi::Server,
    _thread: control::Thread,
    handle: Handle,
    facts: Facts,
    lookups: std::sync::mpsc::SyncSender<Lookup>,
}

impl UserTunnel {
    /// Makes the interface and starts everything behind it. Addresses and routes are the caller's.
    pub(super) fn up(
        settings: &Settings,
        network: &mut Network,
        reloader: Reloader,
        told: &str,
    ) -> Result<Up> {
        let Settings { interface, config, .. } = settings;
        let file_peers = peers::of(config, true);
        let addresses =
            file_peers.iter().filter_map(|peer| peer.config.endpoint).map(|endpoint| endpoint.ip());
        let mtu = mtu_for(config, network, addresses);
        let fwmark = network.fwmark(config);
        let udp = Arc::new(bind(config.interface.listen_port.unwrap_or(0), fwmark)?);
        let queues = Tun::open(interface.as_str(), 1).map_err(|error| device_problem(&error))?;
        let device_offloads = queues.first().map(device_offloads).unwrap_or_default();

        let private_key =
            config.interface.private_key.clone().ok_or_else(|| Problem::new("no private key"))?;
        let engine = Engine::new(EngineConfig::new(private_key.clone()), *random()?);
        let traffic = Box::new(Moving::start(engine.plane(), queues, Arc::clone(&udp), mtu as usize)?);
        let (handle, commands) = Handle::new()?;
        let lookups = lookups::start(handle.clone())?;
        let facts = Facts {
            interface: interface.to_string(),
            backend_reason: told.to_owned(),
            mtu,
            addresses: config.interface.addresses.clone(),
            up_since: wall(),
            planned_rate_mbit: settings.planned_rate,
            device_offloads,
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
        let uapi = uapi::Server::bind(
            interface.socket(),
            Arc::new(move |request| answer(request, &answers, &reloader)),
        )?;
        let tunnel = Self { _uapi: uapi, _thread: thread, handle, facts, lookups };
        tunnel.put(Vec::new(), file_peers)?;
        Ok(Up { tunnel: Box::new(tunnel), mtu, told: told.to_owned() })
    }

    /// Hands peers to the control thread, and names that are still to be looked up to theirs.
    fn put(&self, gone: Vec<warren_wire::PublicKey>, changed: Vec<FilePeer>) -> Result<()> {
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

impl Tunnel for UserTunnel {
    /// Applies what another file has otherwise; says what that was.
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String> {
        let mut said = Vec::new();
        let (old, new) = (&before.interface, &after.interface);
        if old.listen_port != new.listen_port || mark.0 != mark.1 {
            let port = new.listen_port.filter(|_| old.listen_port != new.listen_port);
            let fwmark = (mark.0 != mark.1).then(|| mark.1.unwrap_or(0));
            self.handle
                .ask(|done| Command::Listen { port, fwmark, done })?
                .map_err(|error| port_problem(port.unwrap_or(0), &error))?;
            said.push("port or mark".to_owned());
        }
        if old.private_key != new.private_key
            && let Some(key) = &new.private_key
        {
            self.handle.tell(Command::PrivateKey(key.clone()));
            said.push("private key, so all sessions".to_owned());
        }
        let (gone, changed) = control::difference(&peers::of(before, false), &peers::of(after, false));
        if !gone.is_empty() {
            said.push(format!("{} peers removed", gone.len()));
        }
        if !changed.is_empty() {
            said.push(format!("{} peers added or changed", changed.len()));
        }
        self.put(gone, changed)?;
        if old.addresses != new.addresses
            || old.mtu != new.mtu
            || old.dns != new.dns
            || old.table != new.table
        {
            said.push("addresses, MTU, DNS or table".to_owned());
        }
        Ok(if said.is_empty() { "nothing has changed".to_owned() } else { said.join(", ") })
    }

    /// Tells the control thread what its status shall say.
    fn facts(&mut self, config: &Config, mtu: Option<u32>) {
        self.facts.addresses.clone_from(&config.interface.addresses);
        if let Some(mtu) = mtu {
            self.facts.mtu = mtu;
        }
        self.handle.tell(Command::Facts(Box::new(self.facts.clone())));
    }

    fn look(&self) -> Arc<dyn Look> {
        Arc::new(self.handle.clone())
    }
}

impl Look for Handle {
    fn status(&self) -> Result<Status> {
        self.ask(Command::Status)
    }

    fn alive(&self) -> bool {
        self.ask(Command::Ping).is_ok()
    }
}

fn bind(port: u16, fwmark: Option<u32>) -> Result<Udp> {
    Udp::bind(port, fwmark).map_err(|error| port_problem(port, &error))
}

fn port_problem(port: u16, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("UDP port {port}: {error}"));
    match error.raw_os_error() {
        Some(libc::EADDRINUSE) => problem.hint(format!(
            "`ss -lunp sport = :{port}` tells who has it; choose another with --listen-port or ListenPort, or leave it out"
        )),
        Some(libc::EPERM) => problem.hint("the mark of outgoing packets needs CAP_NET_ADMIN"),
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
    crate::datapath::Clock.now().wall.as_secs_f64()
}

/// The device's errors end in what can be done.
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
        one("tun_checksum", offload.checksum, "checksums once a batch", "the kernel refused TUNSETOFFLOAD"),
        one("tun_tso", offload.tso, "TCP comes and goes unsegmented", "the kernel refused TUNSETOFFLOAD"),
        one("tun_uso", offload.uso, "UDP comes and goes unsegmented", "the kernel is older than 6.2"),
    ]
}
