//! `sync --watch`.

use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;
use warren_sync::Engine;
use warren_sync::checkpoint::Rules;
use warren_sync::watch::{Seen, Watch};

use super::report::Report;
use super::{SOME, interrupted};
use crate::cli::SyncArgs;
use crate::runtime::problem::{Problem, Result};

/// Interval between looks at the folder.
const POLL: Duration = Duration::from_secs(1);

/// Watches until a signal; a second one ends it at once. Returns the exit code.
pub(super) async fn run(
    engine: &Engine,
    args: &SyncArgs,
    signals: &mut UnboundedReceiver<i32>,
    report: &Report,
) -> Result<u8> {
    let quiet = Duration::from_secs(args.quiet_period);
    let watch = Watch {
        rules: Rules { marker: args.marker.clone(), quiet },
        poll: POLL.min(quiet.max(Duration::from_millis(100))),
        keep: args.keep.map(|keep| keep as usize),
        grace: Duration::from_secs(args.grace),
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopping = async {
        // The sender waits for a signal as long as this future is polled.
        _ = stopped.await;
    };
    let tell = |seen: &Seen<'_>| show(report, seen);
    let work = engine.watch(&watch, stopping, &tell);
    let second = async {
        _ = signals.recv().await;
        _ = stop.send(());
        match signals.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work => done.map(|all| if all { 0 } else { SOME }).map_err(Problem::from),
        signal = second => Ok(interrupted(report, signal)),
    }
}

fn show(report: &Report, seen: &Seen<'_>) {
    match seen {
        Seen::Begun(unit) => {
            report.line(&json!({"event": "checkpoint-begun", "name": unit.name, "bytes": unit.size()}));
            report.say(&format!("uploading {} ({} bytes)", unit.name, unit.size()));
        }
        Seen::Stored(unit) => {
            report.line(&json!({"event": "checkpoint-complete", "name": unit.name, "bytes": unit.size()}));
            report.say(&format!("complete  {}", unit.name));
        }
        Seen::Removed(name) => {
            report.line(&json!({"event": "checkpoint-removed", "name": name}));
            report.say(&format!("removed   {name}"));
        }
        Seen::Stopping => {
            report.line(&json!({"event": "stopping"}));
            report.say(
                "stopping after the complete checkpoints are uploaded; a second signal ends sync at once",
            );
        }
        Seen::Left(unit, why) => {
            report.line(&json!({"event": "checkpoint-left", "name": unit.name, "reason": why}));
            report.say(&format!("left      {}: {why}", unit.name));
        }
    }
}
