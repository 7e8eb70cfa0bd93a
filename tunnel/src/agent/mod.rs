//! `agent`: brings a tunnel up, keeps it up, and undoes all changes at the end.

mod args;
mod carriers;
mod choice;
mod enrolled;
mod hooks;
mod kernel;
mod lock;
mod metrics_source;
mod network;
mod peers;
pub mod proxies;
mod scoped;
mod settings;
mod tunnel;
mod userspace;

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use warren_wire::{PublicKey, config::Config};

pub use args::{AgentArgs, CarrierChoice, DeviceChoice, KeyArgument};
pub use carriers::{Carriers, TlsOverrides};
pub use enrolled::Enrolled;
pub use scoped::{ScopedTunnel, with_tunnel};
pub use settings::{Settings, Source};

use self::{
    choice::{Backend, Chosen},
    hooks::Stage,
    lock::Lock,
    metrics_source::MetricsSource,
    network::Network,
    tunnel::{Tunnel, Up},
    userspace::UserspaceTunnel,
};
use crate::runtime::{
    ListenAddress,
    host::{capabilities, folders},
    log, metrics,
    net::Change,
    problem::{Context, Problem, Result},
    status::Status,
};

/// Events that the main thread waits for.
enum Event {
    Stop(i32),
    /// The work beside the tunnel is done.
    Done,
    /// The tunnel has failed.
    Failed,
    /// Switch to this configuration.
    Replace(Box<Config>),
    /// Reload the file; the result goes to the requester, if there is one (not for a signal).
    Reload(Option<SyncSender<Result<String>>>),
}

/// Requests a reload from the main thread and waits for the result.
#[derive(Clone)]
pub struct Reloader(Sender<Event>);

impl Reloader {
    /// Reports that the tunnel has failed.
    pub(crate) fn failed(&self) {
        _ = self.0.send(Event::Failed);
    }

    /// Reloads the file and returns a summary of the changes.
    ///
    /// # Errors
    /// When the file is invalid; the agent keeps its configuration.
    pub fn reload(&self) -> Result<String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let gone = || Problem::new("the agent is shutting down");
        self.0.send(Event::Reload(Some(answer))).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

/// Runs until a signal ends it.
///
/// # Errors
/// When the tunnel does not come up. All changes made until then are undone.
pub fn run(args: &AgentArgs) -> Result<()> {
    if args.cleanup {
        let env_key = env_key();
        return clean(args, env_key.as_deref().map(String::as_str));
    }
    let settings = load_settings(args)?;
    let chosen = choice::choose(settings.device)?;
    let _lock = Lock::take(&settings.interface, &settings.folder)?;
    let (events, received) = mpsc::channel();
    listen_to_signals(&events)?;
    let source = Arc::new(MetricsSource::default());
    let _metrics = serve_metrics(args.metrics, &source)?;
    Agent::up(settings, &chosen, &events, &source)?.run(&received)
}

fn env_key() -> Option<zeroize::Zeroizing<String>> {
    std::env::var("WARREN_PRIVATE_KEY").ok().map(zeroize::Zeroizing::new)
}

fn load_settings(args: &AgentArgs) -> Result<Settings> {
    if let Some(token) = enrolled::token(args)? {
        return enrolled::settings(args, token);
    }
    Settings::load(args, env_key().as_deref().map(String::as_str))
}

fn clean(args: &AgentArgs, env_key: Option<&str>) -> Result<()> {
    let interface = settings::interface_of(args)?;
    let folder = folders::runtime_folder()?;
    let _lock = Lock::take(&interface, &folder)?;
    let config = match &args.config {
        Some(_) => Some(Settings::load(args, env_key)?.config),
        None => None,
    };
    match network::cleanup(&interface, config.as_ref(), &folder)? {
        0 => tracing::info!(%interface, "nothing to clean up"),
        left => tracing::info!(%interface, changes = left, "changes of an earlier agent undone"),
    }
    Ok(())
}

fn listen_to_signals(events: &Sender<Event>) -> Result<()> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP]).while_doing(|| "cannot handle signals".into())?;
    let events = events.clone();
    thread::Builder::new()
        .name("signals".into())
        .stack_size(128 << 10)
        .spawn(move || {
            for signal in signals.forever() {
                let event = if signal == SIGHUP { Event::Reload(None) } else { Event::Stop(signal) };
                if events.send(event).is_err() {
                    return;
                }
            }
        })
        .while_doing(|| "cannot start the signal thread".into())?;
    Ok(())
}

/// A default address that is in use is only a warning: a second agent on the machine runs without metrics.
fn serve_metrics(
    requested: Option<ListenAddress>,
    source: &Arc<MetricsSource>,
) -> Result<Option<metrics::Server>> {
    let source = Arc::clone(source) as Arc<dyn metrics::Source>;
    let started = match requested {
        Some(ListenAddress::Off) => return Ok(None),
        Some(ListenAddress::At(address)) => return metrics::Server::start(address, source).map(Some),
        None => metrics::Server::start(metrics::DEFAULT_ADDRESS, source),
    };
    match started {
        Ok(server) => Ok(Some(server)),
        Err(problem) => {
            log::warn(&problem);
            Ok(None)
        }
    }
}

/// A tunnel that is up.
struct Agent {
    settings: Settings,
    /// Changes to the machine; `None` without an interface.
    network: Option<Network>,
    tunnel: Box<dyn Tunnel>,
    source: Arc<MetricsSource>,
}

impl Agent {
    fn up(
        settings: Settings,
        chosen: &Chosen,
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
            let tunnel = Self::bring_up_alone(&settings, chosen, events)?;
            source.set(tunnel.handle());
            watch_gateways(&settings, tunnel.as_ref(), events)?;
            return Ok(Self { settings, network: None, tunnel, source: Arc::clone(source) });
        };
        if settings.services.requested() {
            return Err(Problem::new(
                "proxies and port forwards are not available for a tunnel with an interface",
            )
            .hint("remove these options, since programs use the tunnel's routes, or use --device user"));
        }
        let mut network = Network::new(interface, config, &settings.folder)?;
        match Self::bring_up(&settings, backend, &mut network, events) {
            Ok(tunnel) => {
                source.set(tunnel.handle());
                watch_gateways(&settings, tunnel.as_ref(), events)?;
                Ok(Self { settings, network: Some(network), tunnel, source: Arc::clone(source) })
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
        events: &Sender<Event>,
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
        capabilities::raise_descriptors();
        let reloader = Reloader(events.clone());
        let Up { tunnel, reason, .. } = match chosen {
            Chosen::Netstack(why) => UserspaceTunnel::over_netstack(settings, reloader, why)?,
            _ => UserspaceTunnel::over_namespace(settings, reloader)?,
        };
        announce(tunnel.handle().status()?, &reason);
        Ok(tunnel)
    }

    fn bring_up(
        settings: &Settings,
        backend: Backend,
        network: &mut Network,
        events: &Sender<Event>,
    ) -> Result<Box<dyn Tunnel>> {
        let Settings { interface, config, .. } = settings;
        let hooks = &config.interface;
        if ![&hooks.pre_up, &hooks.post_up, &hooks.pre_down, &hooks.post_down].iter().all(|h| h.is_empty()) {
            network.note(Change::Hooks)?;
        }
        hooks::run(Stage::PreUp, &hooks.pre_up, interface)?;
        let Up { tunnel, mtu, reason } = tunnel::up(settings, backend, network, Reloader(events.clone()))?;
        network.up(config, mtu)?;
        hooks::run(Stage::PostUp, &hooks.post_up, interface)?;
        announce(tunnel.handle().status()?, &reason);
        Ok(tunnel)
    }

    fn run(mut self, events: &Receiver<Event>) -> Result<()> {
        loop {
            match events.recv() {
                Ok(Event::Reload(requester)) => {
                    let result = self.reload();
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
                Ok(Event::Failed) => {
                    let interface = self.settings.interface.clone();
                    self.down();
                    return Err(Problem::new(format!(
                        "interface {interface} was removed, or its device failed"
                    ))
                    .hint("see the log for the reason, then start the agent again"));
                }
                // The signal thread holds a sender for the life of the process.
                Err(_) => return Ok(()),
            }
        }
    }

    fn down(self) {
        let Self { settings, network, tunnel, source } = self;
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
fn watch_gateways(settings: &Settings, tunnel: &dyn Tunnel, events: &Sender<Event>) -> Result<()> {
    match &settings.source {
        Source::Token(enrolled) => enrolled::watch(Arc::clone(enrolled), tunnel.handle(), events.clone()),
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
