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

use warren_wire::config::Config;

use super::{
    args::AgentArgs,
    credentials::Programs,
    enrolled,
    events::Event,
    proxies::Proxies,
    run::{Claimed, load_settings},
    supervisor::Agent,
    tunnel::TunnelHandle,
};
use crate::runtime::{
    ListenAddress,
    problem::{Problem, Result},
    status::Status,
};

/// The tunnel as seen by the work that runs beside it.
pub struct ScopedTunnel {
    handle: Arc<dyn TunnelHandle>,
    proxies: Option<Proxies>,
    network: Option<u32>,
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

    /// A process in the tunnel's own network, if programs can enter that.
    pub fn network(&self) -> Option<u32> {
        self.network
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
    let claimed = Claimed::take(args, token.is_some())?;
    let Claimed { chosen, source, .. } = &claimed;
    let mut settings = load_settings(args, token, Some(patience))?;
    settings.credentials = settings.credentials.or(Some(ListenAddress::At((Ipv4Addr::LOCALHOST, 0).into())));
    if chosen.is_inside() {
        // The command learns the addresses from its environment, so any free port works and agents do not conflict.
        settings.services.or_proxies(ListenAddress::At((Ipv4Addr::LOCALHOST, 0).into()));
    }
    let (events, received) = mpsc::channel();
    let config = settings.config.clone();
    let agent = Agent::up(settings, chosen, &events, source)?;
    let (proxies, network) = (agent.tunnel.proxies(), agent.tunnel.network());
    let programs = agent.programs();
    let scoped = ScopedTunnel { handle: agent.tunnel.handle(), proxies, network, programs, config };
    thread::scope(|scope| {
        let done = Done(events);
        let worker = scope.spawn(move || {
            let _done = done;
            work(&scoped)
        });
        if let Err(problem) = agent.run(&received) {
            failed(&problem);
        }
        worker.join().map_err(|_| {
            Problem::new("the task that uses the tunnel panicked; this is a defect, see the log")
        })
    })
}

/// Ends the tunnel when dropped, however the work ended.
struct Done(Sender<Event>);

impl Drop for Done {
    fn drop(&mut self) {
        _ = self.0.send(Event::Done);
    }
}
