//! A running agent: brings its tunnel up, handles events, and undoes all changes.

use std::sync::{
    Arc,
    mpsc::{Receiver, Sender},
};

use signal_hook::consts::SIGINT;
use warren_device::tun::Queue;
use warren_wire::{
    PublicKey,
    config::{Config, Peer},
};

use super::{
    backend,
    choice::{Backend, Chosen},
    credentials::{CredentialServer, Programs},
    direct::DirectClient,
    enrolled,
    events::{Event, Reloader},
    hooks::{self, Stage},
    metrics_source::MetricsSource,
    network::Network,
    settings::{self, Settings, Source},
    tunnel::{Tunnel, Up},
    userspace::UserspaceTunnel,
};
use crate::runtime::{
    control::DATAPATH,
    log,
    metrics::Source as _,
    net::{Change, PrivateNetwork},
    problem::{Problem, Result},
    sandbox,
    status::Status,
    supervise::Supervisor,
    uapi::Gateway,
};

/// The network of a tunnel in a namespace, and the link to it.
pub(super) type Private = (PrivateNetwork, Queue);

/// A tunnel that is up.
pub(super) struct Agent {
    settings: Settings,
    /// Changes to the machine; `None` without an interface.
    network: Option<Network>,
    pub(super) tunnel: Box<dyn Tunnel>,
    services: Services,
    source: Arc<MetricsSource>,
}

/// What talks with the gateway through the tunnel. It ends before the tunnel does.
struct Services {
    credentials: Option<CredentialServer>,
    _direct: Option<DirectClient>,
}

impl Services {
    fn start(settings: &Settings, tunnel: &dyn Tunnel, supervisor: &Supervisor) -> Result<Self> {
        Ok(Self {
            credentials: CredentialServer::start(settings, tunnel.way(), supervisor)?,
            _direct: DirectClient::start(settings, tunnel, supervisor)?,
        })
    }
}

impl Agent {
    /// Brings the tunnel up. If that fails, all changes are undone, and the lease is released.
    pub(super) fn up(
        settings: Settings,
        chosen: &Chosen,
        private: Option<Private>,
        events: &Sender<Event>,
        source: &Arc<MetricsSource>,
    ) -> Result<Self> {
        let leased = settings.source.clone();
        let deaths = events.clone();
        source.supervisor().on_death(move |name| _ = deaths.send(Event::Failed(name.to_owned())));
        Self::start(settings, chosen, private, events, source).inspect_err(|_| {
            source.supervisor().end();
            if let Source::Token(enrolled) = leased {
                enrolled.release();
            }
        })
    }

    fn start(
        settings: Settings,
        chosen: &Chosen,
        private: Option<Private>,
        events: &Sender<Event>,
        source: &Arc<MetricsSource>,
    ) -> Result<Self> {
        let Settings { interface, config, .. } = &settings;
        if config.interface.save_config {
            log::warn(
                &Problem::new("SaveConfig is not supported and is ignored")
                    .hint("run `wg showconf` to print the running configuration"),
            );
        }
        let Chosen::Interface(backend) = *chosen else {
            let tunnel = Self::bring_up_alone(&settings, chosen, private, events, source.supervisor())?;
            source.set(tunnel.handle());
            watch_gateways(&settings, tunnel.as_ref(), events, source.supervisor())?;
            let services = Services::start(&settings, tunnel.as_ref(), source.supervisor())?;
            return Ok(Self { settings, network: None, tunnel, services, source: Arc::clone(source) });
        };
        if settings.services.requested() {
            return Err(Problem::new(
                "proxies and port forwards are not available for a tunnel with an interface",
            )
            .hint("remove these options, since programs use the tunnel's routes, or use --device user"));
        }
        let mut network = Network::new(interface, config, &settings.folder)?;
        match Self::bring_up(&settings, backend, &mut network, events, source.supervisor()) {
            Ok(tunnel) => {
                source.set(tunnel.handle());
                let up = watch_gateways(&settings, tunnel.as_ref(), events, source.supervisor())
                    .and_then(|()| Services::start(&settings, tunnel.as_ref(), source.supervisor()));
                match up {
                    Ok(services) => {
                        let source = Arc::clone(source);
                        Ok(Self { settings, network: Some(network), tunnel, services, source })
                    }
                    Err(problem) => {
                        source.clear();
                        drop(tunnel);
                        network.down(&settings.config);
                        Err(problem)
                    }
                }
            }
            Err(problem) => {
                network.down(&settings.config);
                Err(problem)
            }
        }
    }

    /// Brings up a tunnel that ends in this process or in its own namespace. Settings for an interface are ignored with a warning.
    fn bring_up_alone(
        settings: &Settings,
        chosen: &Chosen,
        private: Option<Private>,
        events: &Sender<Event>,
        supervisor: &Supervisor,
    ) -> Result<Box<dyn Tunnel>> {
        let parts = &settings.config.interface;
        let hooks = [&parts.pre_up, &parts.post_up, &parts.pre_down, &parts.post_down];
        if !hooks.iter().all(|commands| commands.is_empty()) {
            log::warn(
                &Problem::new("PreUp, PostUp, PreDown and PostDown do not run: the tunnel has no interface")
                    .hint("remove them from the file, or grant the privileges that --device tun needs"),
            );
        }
        if parts.fwmark.is_some_and(|mark| mark != 0) {
            log::warn(
                &Problem::new("FwMark is ignored: the tunnel has no interface")
                    .hint("remove it from the file"),
            );
        }
        let reloader = Reloader { events: events.clone(), supervisor: supervisor.clone() };
        let Up { tunnel, reason, .. } = match chosen {
            Chosen::Netstack(why) => UserspaceTunnel::over_netstack(settings, reloader, why)?,
            _ => {
                let private = private.map_or_else(PrivateNetwork::open, Ok)?;
                UserspaceTunnel::over_namespace(settings, private, reloader)?
            }
        };
        announce(tunnel.handle().status()?, &reason);
        Ok(tunnel)
    }

    fn bring_up(
        settings: &Settings,
        backend: Backend,
        network: &mut Network,
        events: &Sender<Event>,
        supervisor: &Supervisor,
    ) -> Result<Box<dyn Tunnel>> {
        let Settings { interface, config, .. } = settings;
        let hooks = &config.interface;
        if ![&hooks.pre_up, &hooks.post_up, &hooks.pre_down, &hooks.post_down].iter().all(|h| h.is_empty()) {
            network.note(Change::Hooks)?;
        }
        hooks::run(Stage::PreUp, &hooks.pre_up, interface)?;
        let reloader = Reloader { events: events.clone(), supervisor: supervisor.clone() };
        let Up { tunnel, mtu, reason } = backend::up(settings, backend, network, reloader)?;
        network.up(config, mtu)?;
        hooks::run(Stage::PostUp, &hooks.post_up, interface)?;
        announce(tunnel.handle().status()?, &reason);
        Ok(tunnel)
    }

    /// Variables by which programs find credentials of clouds.
    pub(super) fn programs(&self) -> Programs {
        self.services.credentials.as_ref().map(CredentialServer::programs).unwrap_or_default()
    }

    /// Handles events until one ends the agent, then undoes all changes.
    pub(super) fn run(mut self, events: &Receiver<Event>) -> Result<()> {
        loop {
            match events.recv() {
                Ok(Event::Reload(requester)) => {
                    let result = self.reload().map_err(sandbox::explain);
                    match &result {
                        Ok(changes) => {
                            tracing::info!(interface = %self.settings.interface, "reloaded: {changes}");
                        }
                        Err(problem) => log::warn(problem),
                    }
                    if let Some(requester) = requester {
                        _ = requester.try_send(result);
                    }
                }
                Ok(Event::Gateways(requester)) => _ = requester.try_send(self.gateways()),
                Ok(Event::Replace(config)) => {
                    if let Err(problem) = self.take(*config) {
                        log::warn(&problem);
                    }
                }
                Ok(Event::Stop(signal)) => {
                    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                    tracing::info!(interface = %self.settings.interface, signal = name, "shutting down");
                    self.down();
                    return Ok(());
                }
                Ok(Event::Done) => {
                    self.down();
                    return Ok(());
                }
                Ok(Event::Failed(name)) => {
                    let interface = self.settings.interface.clone();
                    self.down();
                    let what = if name == DATAPATH {
                        format!("interface {interface} was removed, or its device failed")
                    } else {
                        format!("the {name} of interface {interface} has stopped")
                    };
                    return Err(
                        Problem::new(what).hint("see the log for the reason, then start the agent again")
                    );
                }
                // The signal thread holds a sender for the life of the process.
                Err(_) => return Ok(()),
            }
        }
    }

    fn down(self) {
        let Self { settings, network, tunnel, services, source } = self;
        source.supervisor().end();
        drop(services);
        let Settings { interface, config, .. } = &settings;
        if network.is_some()
            && let Err(problem) = hooks::run(Stage::PreDown, &config.interface.pre_down, interface)
        {
            log::warn(&problem);
        }
        source.clear();
        drop(tunnel);
        if let Some(network) = network {
            network.down(config);
        }
        if let Source::Token(enrolled) = &settings.source {
            enrolled.release();
        }
        tracing::info!(%interface, "tunnel is down");
    }

    /// The peers of the configuration, with their names if the agent has enrolled.
    fn gateways(&self) -> Vec<Gateway> {
        let names = match &self.settings.source {
            Source::Token(enrolled) => enrolled.names(),
            Source::File(_) | Source::Stdin => Vec::new(),
        };
        let name = |key| names.iter().find(|(of, _)| *of == key).map(|(_, name)| name.clone());
        let gateway = |peer: &Peer| Gateway {
            name: name(peer.public_key),
            key: peer.public_key,
            udp: peer.endpoint.clone(),
            tls: peer.tls.as_ref().map(|tls| tls.endpoint.clone()),
            pins: peer.tls.as_ref().and_then(|tls| tls.pins.clone()),
            tls_name: peer.tls.as_ref().and_then(|tls| tls.name.clone()),
            in_use: !peer.allowed_ips.is_empty(),
        };
        self.settings.config.peers.iter().map(gateway).collect()
    }

    fn reload(&mut self) -> Result<String> {
        if matches!(self.settings.source, Source::Stdin) {
            return Err(Problem::new("cannot reload: the configuration was read from standard input")
                .hint("start the agent with --config FILE, or change settings with `wg set`"));
        }
        self.take(settings::read(&self.settings.source, &self.settings.over)?)
    }

    /// Switches to another configuration and returns a summary of the changes.
    fn take(&mut self, config: Config) -> Result<String> {
        // The mark comes before the routes that need it; otherwise the tunnel's own datagrams would enter the tunnel.
        let mark = match &self.network {
            Some(network) => (network.fwmark(&self.settings.config), network.fwmark(&config)),
            None => (None, None),
        };
        let changes = self.tunnel.apply(&self.settings.config, &config, mark)?;
        let mtu = config.interface.mtu.filter(|_| config.interface.mtu != self.settings.config.interface.mtu);
        if let Some(network) = &mut self.network {
            network.reload(&config, mtu.map(u32::from))?;
        }
        self.tunnel.facts(&config, mtu.map(u32::from));
        if let Source::Token(_) = &self.settings.source
            && gateway(&self.settings.config) != gateway(&config)
        {
            self.tunnel.reset_connections();
        }
        self.settings.config = config;
        Ok(changes)
    }
}

/// Watches the gateways of an enrolled agent.
fn watch_gateways(
    settings: &Settings,
    tunnel: &dyn Tunnel,
    events: &Sender<Event>,
    supervisor: &Supervisor,
) -> Result<()> {
    match &settings.source {
        Source::Token(enrolled) => {
            enrolled::watch(Arc::clone(enrolled), tunnel.handle(), events.clone(), supervisor)
        }
        Source::File(_) | Source::Stdin => Ok(()),
    }
}

/// The gateway that carries an enrolled agent's packets.
fn gateway(config: &Config) -> Option<PublicKey> {
    config.peers.iter().find(|peer| !peer.allowed_ips.is_empty()).map(|peer| peer.public_key)
}

/// Logs that the tunnel is up, and with what.
fn announce(status: Status, reason: &str) {
    let on: Vec<String> = status.offloads.into_iter().filter(|o| o.on).map(|o| o.name).collect();
    tracing::info!(
        interface = status.interface,
        backend = status.backend,
        why = reason,
        mtu = status.mtu,
        port = status.listen_port,
        peers = status.peers.len(),
        offloads = on.join(","),
        "tunnel is up"
    );
}
