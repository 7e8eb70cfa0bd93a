//! The command `agent`.

use std::sync::{Arc, mpsc};

use super::{
    args::AgentArgs,
    choice, enrolled,
    events::listen_to_signals,
    lock::Lock,
    metrics_source::MetricsSource,
    network,
    settings::{self, Settings},
    supervisor::Agent,
};
use crate::runtime::{ListenAddress, host::folders, log, metrics, problem::Result};

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

/// The settings from a token, else from flags, environment and file.
///
/// # Errors
/// When they cannot be read, or no gateway accepts the token.
pub(super) fn load_settings(args: &AgentArgs) -> Result<Settings> {
    if let Some(token) = enrolled::token(args)? {
        return Settings::enrol(args, token);
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

/// A default address that is in use is only a warning: a second agent on the machine runs without metrics.
pub(super) fn serve_metrics(
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
