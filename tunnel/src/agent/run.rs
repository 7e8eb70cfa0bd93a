//! The command `agent`.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use warren_wire::Token;

use super::{
    args::AgentArgs,
    choice::{self, Backend, Chosen},
    confinement, credentials, enrolled,
    events::{Event, listen_to_signals},
    lock::Lock,
    metrics_source::MetricsSource,
    network,
    settings::{self, Settings},
    supervisor::{Agent, Private},
};
use crate::runtime::{
    ListenAddress, cipher,
    host::{InterfaceName, capabilities, environment, folders},
    log, metrics,
    metrics::Source as _,
    net::PrivateNetwork,
    problem::{Problem, Result},
    sandbox,
};

/// Runs until a signal ends it.
///
/// # Errors
/// When the tunnel does not come up. All changes made until then are undone.
pub fn run(args: &AgentArgs) -> Result<()> {
    if args.cleanup {
        let env_key = env_key();
        return clean(args, env_key.as_deref().map(String::as_str));
    }
    let token = enrolled::token(args)?;
    let mut claimed = Claimed::take(args, token.is_some())?;
    let settings = claimed.confine(args, token, None, false)?;
    let (events, received) = mpsc::channel();
    listen_to_signals(&events, claimed.source.supervisor())?;
    claimed.up(settings, &events)?.run(&received)
}

/// What an agent needs of this machine. It is taken before a token is used, since an agent that cannot start must neither
/// spend a use of the token nor leave a lease behind.
pub(super) struct Claimed {
    pub(super) chosen: Chosen,
    pub(super) source: Arc<MetricsSource>,
    interface: InterfaceName,
    folder: PathBuf,
    /// The network of a tunnel in a namespace: its helper starts before this process gives up to start programs.
    private: Option<Private>,
    _lock: Lock,
    metrics: Option<metrics::Server>,
}

impl Claimed {
    /// # Errors
    /// When no device is available, another agent has the interface, or a requested address is in use.
    pub(super) fn take(args: &AgentArgs, with_token: bool) -> Result<Claimed> {
        let chosen = choice::choose(args.device)?;
        let interface = settings::interface_of(args, with_token)?;
        let folder = folders::runtime_folder()?;
        let lock = Lock::take(&interface, &folder)?;
        if with_token {
            args.services.check_addresses()?;
            settings::check_port(args.listen_port)?;
        }
        let source = Arc::new(MetricsSource::default());
        Ok(Claimed { chosen, source, interface, folder, private: None, _lock: lock, metrics: None })
    }

    /// Confines this thread, and all that it starts from now on, then reads the settings: those of a file before, since they
    /// say what is needed; those of a token after, since they come from the network. `patience` limits the time for enrolling.
    /// With `beside`, other threads of this process stay as they are.
    ///
    /// # Errors
    /// When the settings cannot be read, no gateway accepts the token, or the sandbox is required and not available.
    pub(super) fn confine(
        &mut self,
        args: &AgentArgs,
        token: Option<Token>,
        patience: Option<Duration>,
        beside: bool,
    ) -> Result<Settings> {
        let loaded = match &token {
            Some(_) => None,
            None => Some(Settings::load(args, env_key().as_deref().map(String::as_str))?),
        };
        if self.chosen == Chosen::Namespace {
            self.private = Some(PrivateNetwork::open()?);
        }
        // With the privileges of the start.
        capabilities::raise_descriptors();
        let config = loaded.as_ref().map(|settings| &settings.config);
        let mut needs = confinement::needs(args, &self.interface, &self.chosen, config, &self.folder);
        needs.beside = beside;
        // Its library may be in a folder that the sandbox closes. The kernel's WireGuard has a cipher of its own.
        if self.chosen != Chosen::Interface(Backend::Kernel) {
            cipher::select(args.cipher)?;
        }
        sandbox::confine(args.sandbox, &needs)?;
        self.metrics = serve_metrics(args.metrics, &self.source)?;
        match (loaded, token) {
            (Some(settings), _) => Ok(settings),
            (None, Some(token)) => Settings::enrol(args, token, patience),
            (None, None) => Err(Problem::new("no configuration given")),
        }
    }

    /// Brings the tunnel up.
    ///
    /// # Errors
    /// When it does not come up; all changes are undone.
    pub(super) fn up(&mut self, settings: Settings, events: &Sender<Event>) -> Result<Agent> {
        Agent::up(settings, &self.chosen, self.private.take(), events, &self.source)
    }
}

fn env_key() -> Option<zeroize::Zeroizing<String>> {
    environment::get("WARREN_PRIVATE_KEY")
}

fn clean(args: &AgentArgs, env_key: Option<&str>) -> Result<()> {
    let interface = settings::interface_of(args, false)?;
    let folder = folders::runtime_folder()?;
    let _lock = Lock::take(&interface, &folder)?;
    let config = match &args.config {
        Some(_) => Some(Settings::load(args, env_key)?.config),
        None => None,
    };
    for socket in [interface.fallback_socket(&folder), interface.socket()] {
        remove_unused(&socket);
    }
    credentials::forget(&folder, &interface);
    match network::cleanup(&interface, config.as_ref(), &folder)? {
        0 => tracing::info!(%interface, "nothing to clean up"),
        left => tracing::info!(%interface, changes = left, "changes of an earlier agent undone"),
    }
    Ok(())
}

/// Removes a control socket that no process serves. The lock excludes an agent of ours, but not other programs.
fn remove_unused(socket: &Path) {
    if socket.exists() && UnixStream::connect(socket).is_err() {
        _ = std::fs::remove_file(socket);
    }
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
