//! Events that end the agent or change its configuration, and who sends them.

use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::time::Duration;

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use warren_wire::config::Config;

use crate::runtime::control::DATAPATH;
use crate::runtime::problem::{Context, Problem, Result};
use crate::runtime::supervise::Supervisor;
use crate::runtime::uapi::Gateway;

/// Timeout for the list of gateways: an agent that enrols again is busy for as long.
const GATEWAYS_TIMEOUT: Duration = Duration::from_secs(25);

/// Events that the main thread waits for.
pub(super) enum Event {
    Stop(i32),
    /// The work beside the tunnel is done.
    Done,
    /// This has died.
    Failed(String),
    /// Switch to this configuration.
    Replace(Box<Config>),
    /// List the peers of the configuration, for the requester.
    Gateways(SyncSender<Vec<Gateway>>),
    /// Reload the file; the result goes to the requester, if there is one (not for a signal).
    Reload(Option<SyncSender<Result<String>>>),
}

/// Requests a reload from the main thread and waits for the result.
#[derive(Clone)]
pub(super) struct Reloader {
    pub(super) events: Sender<Event>,
    pub(super) supervisor: Supervisor,
}

impl Reloader {
    /// Reports that the tunnel has failed.
    pub(super) fn failed(&self) {
        self.supervisor.died(DATAPATH);
    }

    /// The peers of the configuration.
    ///
    /// # Errors
    /// When the agent is shutting down, or busy with a reload for long.
    pub(super) fn gateways(&self) -> Result<Vec<Gateway>> {
        let (answer, answered) = mpsc::sync_channel(1);
        let gone = || Problem::new("the agent is shutting down");
        self.events.send(Event::Gateways(answer)).map_err(|_| gone())?;
        answered.recv_timeout(GATEWAYS_TIMEOUT).map_err(|error| match error {
            RecvTimeoutError::Timeout => Problem::new("the agent is busy").hint("try again"),
            RecvTimeoutError::Disconnected => gone(),
        })
    }

    /// Reloads the file and returns a summary of the changes.
    ///
    /// # Errors
    /// When the file is invalid; the agent keeps its configuration.
    pub(super) fn reload(&self) -> Result<String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let gone = || Problem::new("the agent is shutting down");
        self.events.send(Event::Reload(Some(answer))).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

/// Sends an event for each signal.
///
/// # Errors
/// When signals cannot be handled.
pub(super) fn listen_to_signals(events: &Sender<Event>, supervisor: &Supervisor) -> Result<()> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP]).while_doing(|| "cannot handle signals".into())?;
    let events = events.clone();
    supervisor
        .thread("signals", 128 << 10, move || {
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
