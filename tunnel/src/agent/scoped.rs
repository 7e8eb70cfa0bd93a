//! A tunnel that lives as long as a task, for `exec`.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use warren_sync::net::Network;
use warren_wire::config::Config;

use super::{
    args::AgentArgs, credentials::Programs, enrolled, events::Event, proxies::Proxies, run::Claimed,
    settings::Source, tunnel::TunnelHandle,
};
use crate::runtime::{
    ListenAddress,
    problem::{Context as _, Problem, Result},
    status::Status,
};

/// The tunnel as seen by the work that runs beside it.
pub struct ScopedTunnel {
    handle: Arc<dyn TunnelHandle>,
    proxies: Option<Proxies>,
    dial: Option<Arc<dyn Network>>,
    network: Option<u32>,
    name: Option<String>,
    programs: Programs,
    config: Config,
}

impl ScopedTunnel {
    /// Reads the status of the tunnel.
    ///
    /// # Errors
    /// When the tunnel has ended.
    pub fn status(&self) -> Result<Status> {
        self.handle.status()
    }

    /// Starts a handshake with every peer that has no session yet.
    pub fn start_handshakes(&self) {
        self.handle.start_handshakes();
    }

    /// The proxies through which programs reach the tunnel; `None` if it has an interface.
    pub fn proxies(&self) -> Option<&Proxies> {
        self.proxies.as_ref()
    }

    /// The network that the proxies reach, for connections of this process; `None` if the tunnel has an interface.
    pub(crate) fn dial(&self) -> Option<Arc<dyn Network>> {
        self.dial.clone()
    }

    /// A process in the tunnel's own network, if programs can enter that.
    pub fn network(&self) -> Option<u32> {
        self.network
    }

    /// The name under which other pods of its group reach this one, if it has enrolled.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Variables by which programs find credentials of clouds; empty if the gateway gives none.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The configuration of the tunnel.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// Brings a tunnel up, runs `work` beside it, then undoes everything. If the tunnel fails meanwhile, `failed` is called from
/// another thread and the work continues. `patience` limits the time for enrolling; zero is one attempt.
///
/// # Errors
/// When the tunnel does not come up; `work` does not run then.
pub fn with_tunnel<T: Send>(
    args: &AgentArgs,
    patience: Duration,
    failed: impl FnOnce(&Problem),
    work: impl FnOnce(&ScopedTunnel) -> T + Send,
) -> Result<T> {
    let token = enrolled::token(args)?;
    let mut claimed = Claimed::take(args, token.is_some())?;
    let (events, received) = mpsc::channel();
    let (bring, brought) = mpsc::channel::<ScopedTunnel>();
    thread::scope(|scope| {
        let done = Done(events.clone());
        // It starts before this thread is confined: what it does and starts is the user's own.
        let worker = thread::Builder::new().name("command".into()).spawn_scoped(scope, move || {
            let _done = done;
            brought.recv().ok().map(|scoped| work(&scoped))
        });
        let worker = worker.while_doing(|| "cannot start the thread for the command".into())?;
        // Dropped at the latest with an error of the next lines, which ends the worker.
        let bring = bring;
        let mut settings = claimed.confine(args, token, Some(patience), true)?;
        settings.credentials =
            settings.credentials.or(Some(ListenAddress::At((Ipv4Addr::LOCALHOST, 0).into())));
        if claimed.chosen.is_inside() {
            // The command learns the addresses from its environment, so any free port works and agents do not conflict.
            settings.services.or_proxies(ListenAddress::At((Ipv4Addr::LOCALHOST, 0).into()));
        }
        let config = settings.config.clone();
        let name = match &settings.source {
            Source::Token(enrolled) => enrolled.peer_name(),
            Source::File(_) | Source::Stdin => None,
        };
        let agent = claimed.up(settings, &events)?;
        _ = bring.send(ScopedTunnel {
            handle: agent.tunnel.handle(),
            proxies: agent.tunnel.proxies(),
            dial: agent.tunnel.dial(),
            network: agent.tunnel.network(),
            name,
            programs: agent.programs(),
            config,
        });
        if let Err(problem) = agent.run(&received) {
            failed(&problem);
        }
        let gone = || Problem::new("the task that uses the tunnel panicked; this is a defect, see the log");
        worker.join().ok().flatten().ok_or_else(gone)
    })
}

/// Ends the tunnel when dropped, however the work ended.
struct Done(Sender<Event>);

impl Drop for Done {
    fn drop(&mut self) {
        _ = self.0.send(Event::Done);
    }
}
