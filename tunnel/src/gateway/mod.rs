//! `gateway`: the tunnel's end in the network that pods need to reach.
//!
//! ```text
//!            TLS port: enrolment --> leases (one task, the store) --> reconciler: peers of the interface, members
//!  pods ---- TLS port: tunnels ---+                                      |
//!            UDP port ------------+--> engine, data path --> Forward <---+  allow-lists, rates, audit
//!  sites ----+          |                                       |
//!                       +--> name server --> resolvers           |
//!                       +--> credentials --> STS, Google         |
//!                       +--> direct: pairs of pods that need no gateway between them
//!                                                               +--> network, or another site's gateway
//!  operators --> control socket: peers, evict, drain, revoke, reload
//! ```

mod access;
pub mod admin;
mod audit;
mod confinement;
mod credentials;
mod direct;
mod enrolment_handler;
mod events;
#[cfg(test)]
pub(crate) mod example;
pub(crate) mod forward;
mod in_tunnel;
pub mod model;
mod name_server;
pub mod page;
mod peers;
mod ports;
mod reconciler;
mod running;
mod settings;
mod sites;

use std::path::Path;
use std::sync::mpsc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use warren_transport::tls::Pin;
use warren_wire::{PrivateKey, PublicKey};
use zeroize::Zeroizing;

pub(crate) use settings::gateway_entry;
pub use settings::{check, config};

use crate::runtime::host::{capabilities, secret};
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::sandbox::{self, Demand};
use crate::runtime::supervise::Supervisor;
use crate::runtime::{ListenAddress, Queues, cipher, log, random};
use running::Running;
use settings::Settings;

/// What the main thread waits for.
enum Event {
    Stop(i32),
    Reload,
    /// This has died.
    Failed(String),
}

/// Runs until a signal ends it.
///
/// # Errors
/// The reason why it did not start, or that its data path has stopped.
pub fn run(
    path: &Path,
    metrics: Option<ListenAddress>,
    demand: Option<Demand>,
    cipher: cipher::Demand,
    queues: Queues,
) -> Result<()> {
    let settings = Settings::read(path)?;
    capabilities::raise_descriptors();
    // First: where this gateway runs already, nothing of it changes. And buffers may need a capability that is then given up.
    let udp = ports::bind(settings.config.listen.udp)?;
    let forward = forward::prepare(&settings.config, queues)?;
    let needs = confinement::needs(path, &settings.config, &forward)?;
    cipher::select(cipher)?;
    sandbox::confine(confinement::demand(demand, &settings.config), &needs)?;
    let (events, received) = mpsc::channel();
    let supervisor = Supervisor::default();
    supervisor.on_death({
        let events = events.clone();
        move |name| _ = events.send(Event::Failed(name.to_owned()))
    });
    listen_to_signals(events, &supervisor)?;
    let running = Running::up(settings, metrics, (udp, forward), &supervisor)?;
    loop {
        match received.recv() {
            Ok(Event::Reload) => match running.reload().map_err(sandbox::explain) {
                Ok(changes) => tracing::info!("reloaded: {changes}"),
                Err(problem) => log::warn(&problem),
            },
            Ok(Event::Stop(signal)) => {
                let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                tracing::info!(signal = name, "shutting down");
                drop(running);
                tracing::info!("gateway is down");
                return Ok(());
            }
            Ok(Event::Failed(name)) => {
                drop(running);
                return Err(Problem::new(format!("the {name} has stopped"))
                    .hint("see the log for the reason, then restart the gateway"));
            }
            // The signal thread has a sender.
            Err(_) => return Err(Problem::new("the signal thread has stopped")),
        }
    }
}

/// The identity of a gateway: its WireGuard key and the pin of its certificate. Missing ones are created.
///
/// # Errors
/// A file cannot be read or written.
pub fn identity(key: &Path, certificate: &Path) -> Result<(PublicKey, Pin)> {
    if !key.exists() {
        let created = PrivateKey::from_random(*random()?);
        secret::write_new(key, &Zeroizing::new(format!("{}\n", &*created.to_base64())))?;
    }
    let key = settings::private_key(key)?;
    Ok((key.public(), settings::identity(certificate, certificate)?.pin()))
}

fn listen_to_signals(events: mpsc::Sender<Event>, supervisor: &Supervisor) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).while_doing(|| "signals".into())?;
    supervisor
        .thread("signals", 128 << 10, move || {
            for signal in signals.forever() {
                let event = if signal == SIGHUP { Event::Reload } else { Event::Stop(signal) };
                if events.send(event).is_err() {
                    return;
                }
            }
        })
        .while_doing(|| "thread for signals".into())?;
    Ok(())
}
