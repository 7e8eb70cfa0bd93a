//! Logging to standard error, as text or JSON.

use std::str::FromStr;

use clap::ValueEnum;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use super::problem::{Problem, Result};

/// Its callers return the same errors, and one of them is usual: a kernel without WireGuard.
const QUIET: &str = "defguard_wireguard_rs=off";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Human-readable text
    Human,
    /// One JSON object per line
    Json,
}

/// Starts logging. Called once, before any thread is started.
///
/// # Errors
/// When `level` is invalid.
pub fn start(format: LogFormat, level: &str) -> Result<()> {
    let filter = Targets::from_str(&format!("{QUIET},{level}")).map_err(|error| {
        Problem::new(format!("--log-level: invalid level `{}`: {error}", level.escape_debug()))
            .hint("use off, error, warn, info, debug or trace, or levels per module: info,warren_proto=debug")
    })?;
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        LogFormat::Human => {
            let colours = rustix::termios::isatty(rustix::stdio::stderr());
            let lines = fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colours);
            registry.with(lines).try_init()
        }
        LogFormat::Json => {
            let lines = fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
            registry.with(lines).try_init()
        }
    };
    started.map_err(|error| Problem::new(format!("cannot start logging: {error}")))
}

/// Logs a problem, with its hint as a separate field.
pub fn warn(problem: &Problem) {
    match problem.advice() {
        Some(hint) => tracing::warn!(hint, "{}", problem.what()),
        None => tracing::warn!("{}", problem.what()),
    }
}
