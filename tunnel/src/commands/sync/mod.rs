//! `warren-tunnel sync`: objects between stores and folders.
//!
//! Exit code: 0 done, 1 could not start, 3 some objects failed and the others are done, 128 and the signal if one ended it.

mod google;
mod profile;
mod proxy;
mod report;
mod reporting;
mod route;
mod stores;
mod watch;

use std::sync::Arc;

use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use warren_sync::adapt::Refusals;
use warren_sync::net::{Http, Network};
use warren_sync::{Engine, Filter, Location, Options, SyncError};

use super::print_error;
use crate::cli::SyncArgs;
use crate::runtime::host::capabilities;
use crate::runtime::problem::{Context as _, Problem, Result};
use report::{Report, Shows};
use reporting::Reporting;

/// Exit code when some objects failed.
const SOME: u8 = 3;
/// Threads that read and write files, and sync them to disk.
const DISK: usize = 64;

/// Runs the command and returns the exit code.
pub fn run(args: &SyncArgs) -> u8 {
    let get = |name: &str| std::env::var(name).ok();
    // An agent beside this command may have credentials of its gateway.
    let folders = [&args.source, &args.dest].iter().all(|end| matches!(end, Location::Folder(_)));
    let found = if folders { Vec::new() } else { stores::of_agent(&get) };
    let get = |name: &str| {
        get(name).or_else(|| found.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    };
    code(route::find(args.direct, &get).and_then(|path| sync(args, &get, path, signals()?)))
}

/// Runs it beside a tunnel of this process, which it dials without a proxy. Returns the exit code.
pub(super) fn beside(
    args: &SyncArgs,
    tunnel: Option<Arc<dyn Network>>,
    get: stores::Variables<'_>,
    signals: UnboundedReceiver<i32>,
) -> u8 {
    let path = match tunnel {
        Some(tunnel) => Ok(route::within(tunnel, get)),
        None => route::find(args.direct, get),
    };
    code(path.and_then(|path| sync(args, get, path, signals)))
}

fn code(done: Result<u8>) -> u8 {
    done.unwrap_or_else(|problem| {
        print_error(&problem);
        1
    })
}

impl From<SyncError> for Problem {
    fn from(error: SyncError) -> Self {
        let problem = Self::new(error.to_string());
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

fn sync(
    args: &SyncArgs,
    get: stores::Variables<'_>,
    (network, path): (Arc<dyn Network>, String),
    mut signals: UnboundedReceiver<i32>,
) -> Result<u8> {
    let filter = Filter::new(&args.include, &args.exclude).map_err(|what| {
        Problem::new(format!("--include, --exclude: invalid pattern {what}"))
            .hint("quote patterns: '*.parquet'")
    })?;
    let authorities = stores::authorities(get)?;
    let refusals = Refusals::default();
    let http = || {
        let more = authorities.as_ref().map(|pem| pem.as_slice());
        let http = Http::new(Arc::clone(&network), more);
        let http = http.map_err(|what| Problem::new(format!("TLS: {what}")))?;
        Ok(http.counting(refusals.clone()))
    };
    let source = stores::place(&args.source, &http, get)?;
    let dest = stores::place(&args.dest, &http, get)?;
    let mut options = Options::new(args.state.clone().unwrap_or_else(|| stores::state(get)));
    options.filter = filter;
    options.delete = args.delete;
    options.connections = args.connections;
    options.refusals = refusals.clone();
    options.rate = args.rate.map(|rate| rate.0);
    options.part = args.part_size.map_or(options.part, |size| size.0);
    let terminal =
        rustix::termios::isatty(rustix::stdio::stderr()) && rustix::termios::isatty(rustix::stdio::stdout());
    let shows = match (args.quiet, args.json || !terminal) {
        (true, _) => Shows::Errors,
        (false, true) => Shows::Json,
        (false, false) => Shows::Bar,
    };
    let report = Arc::new(Report::new(shows));
    let ends = (&args.source, &args.dest);
    let mut reporting = Reporting::find(ends, options.rate, &report, get);
    // Each request has a connection, and files that are synced to disk are open.
    capabilities::raise_descriptors();
    report.line(&json!({"event": "start", "source": source.label(), "dest": dest.label(), "path": path}));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(DISK)
        .enable_all()
        .build()
        .while_doing(|| "starting".to_owned())?;
    let done = runtime.block_on(async {
        let progress = Arc::clone(&report) as Arc<dyn warren_sync::Progress>;
        let engine = Engine::new(source, dest, options, progress).await?;
        let work = async {
            if args.watch {
                return watch::run(&engine, args, &mut signals, &report).await;
            }
            transfer(&engine, args, &mut signals, &report).await
        };
        let done = tokio::select! {
            done = work => done,
            () = tell(reporting.as_mut()) => Ok(0),
        };
        if let Some(reporting) = &mut reporting {
            reporting.end().await;
        }
        done
    });
    // Threads that write to a disk that hangs do not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    done
}

/// Reports the transfer to an agent, forever.
async fn tell(reporting: Option<&mut Reporting>) {
    match reporting {
        Some(reporting) => reporting.run().await,
        None => std::future::pending().await,
    }
}

/// One transfer, until its end or a signal. Returns the exit code.
async fn transfer(
    engine: &Engine,
    args: &SyncArgs,
    signals: &mut UnboundedReceiver<i32>,
    report: &Report,
) -> Result<u8> {
    let work = async {
        if args.dry_run {
            dry_run(report, &engine.plan().await?);
            return Ok(0);
        }
        let summary = engine.run().await?;
        report.end(&summary);
        Ok::<u8, SyncError>(if summary.failed > 0 { SOME } else { 0 })
    };
    tokio::select! {
        done = work => done.map_err(Problem::from),
        Some(signal) = signals.recv() => Ok(interrupted(report, signal)),
    }
}

fn interrupted(report: &Report, signal: i32) -> u8 {
    report.line(&json!({"event": "interrupted", "signal": signal}));
    report.say("interrupted; run the same command again to continue");
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Signals that end the command.
fn signals() -> Result<UnboundedReceiver<i32>> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).while_doing(|| "cannot handle signals".into())?;
    let (sender, received) = unbounded_channel();
    std::thread::Builder::new()
        .name("signals".into())
        .stack_size(128 << 10)
        .spawn(move || {
            for signal in signals.forever() {
                if sender.send(signal).is_err() {
                    return;
                }
            }
        })
        .while_doing(|| "cannot start the signal thread".into())?;
    Ok(received)
}

fn dry_run(report: &Report, plan: &warren_sync::plan::Plan) {
    for entry in &plan.copy {
        report.line(&json!({"event": "would-copy", "name": entry.name, "bytes": entry.stamp.size}));
        report.say(&format!("copy    {} ({} bytes)", entry.name, entry.stamp.size));
    }
    for entry in &plan.delete {
        report.line(&json!({"event": "would-delete", "name": entry.name, "bytes": entry.stamp.size}));
        report.say(&format!("delete  {}", entry.name));
    }
    let (copy, bytes, same, delete) =
        (plan.copy.len(), plan.bytes(), plan.unchanged.len(), plan.delete.len());
    report.line(
        &json!({"event": "dry-run", "copy": copy, "bytes": bytes, "unchanged": same, "delete": delete}),
    );
    report.say(&format!("{copy} to transfer ({bytes} bytes), {same} unchanged, {delete} to delete"));
}
