//! `exec`: a tunnel and a program, together.
//!
//! ```text
//! process 1?  ─ yes ─► init: the same again as a child; forwards signals, reaps orphans
//!     no
//!     ▼
//! tunnel up ─► a peer answers ─► program, with the proxies in its environment ─► its exit code
//!     │               │
//!     └─ 125          └─ timeout: 125, and the reason
//! ```

mod child;
mod drain;
mod environment;
mod init;
mod inside;
mod ready;

use std::{
    process,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use warren_sync::Location;

use crate::{
    agent::{self, ScopedTunnel},
    cli::{ExecArgs, SyncArgs},
    commands::print_error,
    runtime::{
        log,
        problem::{Context as _, Problem, Result},
    },
};

use self::child::Signals;
pub(super) use self::environment::credentials as own_credentials;
pub use self::inside::enter;

/// Interval between looks at whether a transfer has ended, while signals are awaited.
const POLL: Duration = Duration::from_millis(50);
/// Exit code when the tunnel does not come up, as `env`, `timeout` and container runtimes use it for their own failures.
const NOT_UP: u8 = 125;

/// Runs a program beside a tunnel and returns the exit code.
pub fn run(args: &ExecArgs) -> u8 {
    let done = if process::id() == 1 { init::run() } else { run_in_tunnel(args) };
    done.unwrap_or_else(|problem| {
        print_error(&problem);
        NOT_UP
    })
}

fn run_in_tunnel(args: &ExecArgs) -> Result<u8> {
    if args.agent.cleanup {
        return Err(
            Problem::new("--cleanup cannot be used with exec").hint("run `warren-tunnel agent --cleanup`")
        );
    }
    log::start(args.agent.log_format, &args.agent.log_level)?;
    // From here on, signals end the process cleanly.
    let signals = Signals::listen()?;
    let (begun, patience) = (Instant::now(), Duration::from_secs(args.wait));
    let agent = inside::arguments(args)?;
    agent::with_tunnel(&agent, patience, failed, |tunnel| run_program(tunnel, args, begun, &signals))?
}

/// The program is not ended: it may have work that needs no network, and files to close.
fn failed(problem: &Problem) {
    tracing::error!(
        hint = problem.advice(),
        "the tunnel has failed, the program continues without it: {}",
        problem.what()
    );
}

fn run_program(tunnel: &ScopedTunnel, args: &ExecArgs, begun: Instant, signals: &Signals) -> Result<u8> {
    if let Some(signal) = ready::wait(tunnel, begun, Duration::from_secs(args.wait), signals)? {
        return Ok(child::code_of(signal));
    }
    let environment =
        tunnel.proxies().map(|proxies| environment::with(proxies, |name| std::env::var(name).ok()));
    let get = |name: &str| std::env::var(name).ok();
    let programs = tunnel.programs();
    let mut environment = environment.unwrap_or_default();
    let credentials = own_credentials(programs.outside.clone(), &get);
    environment.extend(credentials.iter().cloned());
    for (source, dest) in &args.sync_in {
        let code = sync(tunnel, (source, dest), &credentials, signals)?;
        if code != 0 {
            tracing::error!("the command was not started: sync of {source} has failed");
            return Ok(code);
        }
    }
    let network = tunnel.network().filter(|_| args.transparent);
    let inside = network.map(|process| inside::Names::of(process, tunnel)).transpose()?;
    let code = match &inside {
        Some(names) => {
            let proxies = tunnel.proxies().map(inside::proxies).unwrap_or_default();
            let mut variables = environment::with(&proxies, get);
            variables.extend(own_credentials(programs.inside.clone(), &get));
            child::run(&names.command(&args.command), variables, signals)?
        }
        None => child::run(&args.command, environment, signals)?,
    };
    let mut failed = None;
    // Also after a failure: logs and checkpoints are worth keeping.
    for (source, dest) in &args.sync_out {
        let copied = sync(tunnel, (source, dest), &credentials, signals)?;
        if copied != 0 {
            tracing::error!("sync of {source} has failed");
            failed = failed.or(Some(copied));
        }
    }
    drain::wait(tunnel, signals);
    Ok(if code == 0 { failed.unwrap_or(0) } else { code })
}

/// Copies a folder through the tunnel. The signals meanwhile are those of the transfer.
fn sync(
    tunnel: &ScopedTunnel,
    (source, dest): (&Location, &Location),
    credentials: &[(String, String)],
    signals: &Signals,
) -> Result<u8> {
    let args = SyncArgs::between(source, dest).map_err(|error| Problem::new(error.to_string()))?;
    let found =
        |name: &str| credentials.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let get = |name: &str| found(name).or_else(|| std::env::var(name).ok());
    let (sender, received) = tokio::sync::mpsc::unbounded_channel();
    let running = Arc::new(());
    let watched = Arc::downgrade(&running);
    thread::scope(|scope| {
        let forward = move || {
            while watched.strong_count() > 0 {
                if let Some(signal) = signals.next(POLL) {
                    _ = sender.send(signal);
                }
            }
        };
        let builder = thread::Builder::new().name("sync signals".into()).stack_size(128 << 10);
        builder.spawn_scoped(scope, forward).while_doing(|| "cannot start the signal thread".into())?;
        // Also a panic ends the thread.
        let _running = running;
        Ok(super::sync::beside(&args, tunnel.dial(), &get, received))
    })
}
