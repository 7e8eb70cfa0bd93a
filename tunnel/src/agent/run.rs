//! The command `agent`.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use warren_wire::Token;

use super::{
    args::AgentArgs,
    choice::{self, Chosen},
    enrolled,
    events::listen_to_signals,
    lock::Lock,
    metrics_source::MetricsSource,
    network,
    settings::{self, Settings},
    supervisor::Agent,
};
use crate::runtime::{
    ListenAddress,
    host::{environment, folders},
    log, metrics,
    metrics::Source as _,
    problem::Result,
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
    let claimed = Claimed::take(args, token.is_some())?;
    let Claimed { chosen, source, .. } = &claimed;
    let settings = load_settings(args, token, None)?;
    let (events, received) = mpsc::channel();
    listen_to_signals(&events, source.supervisor())?;
    Agent::up(settings, chosen, &events, source)?.run(&received)
}

/// What an agent needs of this machine. It is taken before a token is used, since an agent that cannot start must neither
/// spend a use of the token nor leave a lease behind.
pub(super) struct Claimed {
    pub(super) chosen: Chosen,
    pub(super) source: Arc<MetricsSource>,
    _lock: Lock,
    _metrics: Option<metrics::Server>,
}

impl Claimed {
    /// # Errors
    /// When no device is available, another agent has the interface, or a requested address is in use.
    pub(super) fn take(args: &AgentArgs, with_token: bool) -> Result<Claimed> {
        let chosen = choice::choose(args.device)?;
        let interface = settings::interface_of(args, with_token)?;
        let lock = Lock::take(&interface, &folders::runtime_folder()?)?;
        if with_token {
            args.services.check_addresses()?;
            settings::check_port(args.listen_port)?;
        }
        let source = Arc::new(MetricsSource::default());
        let metrics = serve_metrics(args.metrics, &source)?;
        Ok(Claimed { chosen, source, _lock: lock, _metrics: metrics })
    }
}

fn env_key() -> Option<zeroize::Zeroizing<String>> {
    environment::get("WARREN_PRIVATE_KEY")
}

/// The settings from a token, else from flags, environment and file. `patience` limits the time for enrolling.
///
/// # Errors
/// When they cannot be read, or no gateway accepts the token.
pub(super) fn load_settings(
    args: &AgentArgs,
    token: Option<Token>,
    patience: Option<Duration>,
) -> Result<Settings> {
    if let Some(token) = token {
        return Settings::enrol(args, token, patience);
    }
    Settings::load(args, env_key().as_deref().map(String::as_str))
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
