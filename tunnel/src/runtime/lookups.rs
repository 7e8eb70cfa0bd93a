//! The thread that resolves endpoint names, so that no other thread waits for DNS.

use std::{
    collections::HashMap,
    sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    time::{Duration, Instant},
};

use warren_wire::key::PublicKey;

use crate::runtime::{
    control::{Command, Handle, Lookup},
    log,
    net::resolve,
    problem::{Context, Result},
    supervise::Supervisor,
};

/// Length of the queue; lookups beyond it are requested again later.
const QUEUE_LENGTH: usize = 1024;
/// First and longest pause after a lookup that failed.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

struct Failed {
    lookup: Lookup,
    due: Instant,
    pause: Duration,
}

/// Starts the thread. It ends when all senders are dropped and the control thread has ended.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn start(handle: Handle, supervisor: &Supervisor) -> Result<SyncSender<Lookup>> {
    let (sender, lookups) = mpsc::sync_channel(QUEUE_LENGTH);
    supervisor
        .restarted_thread("lookups", 512 << 10, move || run(&lookups, &handle))
        .while_doing(|| "cannot start the lookup thread".into())?;
    Ok(sender)
}

fn run(lookups: &Receiver<Lookup>, handle: &Handle) {
    let mut failed: HashMap<PublicKey, Failed> = HashMap::new();
    loop {
        let next = failed.values().map(|failed| failed.due).min();
        let received = match next {
            None => lookups.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => lookups.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match received {
            Ok(lookup) => attempt(lookup, PAUSE.0, &mut failed, handle),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                let due: Vec<PublicKey> =
                    failed.iter().filter(|(_, f)| f.due <= now).map(|(key, _)| *key).collect();
                for key in due {
                    if let Some(Failed { lookup, pause, .. }) = failed.remove(&key) {
                        attempt(lookup, (pause * 2).min(PAUSE.1), &mut failed, handle);
                    }
                }
            }
        }
    }
}

fn attempt(lookup: Lookup, pause: Duration, failed: &mut HashMap<PublicKey, Failed>, handle: &Handle) {
    match resolve(&lookup.name, lookup.unresponsive) {
        Ok(address) => {
            failed.remove(&lookup.peer);
            handle.send(Command::Endpoint(lookup.peer, address));
        }
        Err(problem) => {
            // Logged once per series of failures.
            if pause == PAUSE.0 && !failed.contains_key(&lookup.peer) {
                log::warn(&problem);
            }
            let due = Instant::now() + pause;
            failed.insert(lookup.peer, Failed { due, pause, lookup });
        }
    }
}
