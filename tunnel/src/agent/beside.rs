//! A tunnel for as long as something else takes.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
};

use warren_wire::config::Config;

use super::{Agent, Event, Live, Lock, choice, gather, serve_metrics, tunnel::Look};
use crate::{
    cli::{Address, AgentArgs},
    problem::{Problem, Result},
    services::Proxies,
    status::Status,
};

/// The tunnel, as whoever works beside it sees it.
pub struct Beside {
    look: Arc<dyn Look>,
    proxies: Option<Proxies>,
    config: Config,
}

impl Beside {
    /// All figures.
    ///
    /// # Errors
    /// The tunnel has gone.
    pub fn status(&self) -> Result<Status> {
        self.look.status()
    }

    /// Begins handshakes where there is no session yet.
    pub fn greet(&self) {
        self.look.greet();
    }

    /// Where programs reach the tunnel; `None`: by its interface.
    pub fn proxies(&self) -> Option<&Proxies> {
        self.proxies.as_ref()
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        &self.config
    }
}

/// Brings a tunnel up, does `work` beside it, undoes everything. A tunnel that fails meanwhile is told by `failed`, from
/// another thread; the work goes on.
///
/// # Errors
/// What kept the tunnel from coming up; then there was no work.
pub fn beside<T: Send>(
    args: &AgentArgs,
    failed: impl FnOnce(&Problem),
    work: impl FnOnce(&Beside) -> T + Send,
) -> Result<T> {
    let mut settings = gather(args)?;
    let chosen = choice::choose(settings.device)?;
    if chosen.is_inside() {
        // Whoever works beside it is told where they are: any free port will do, and no other agent is in the way.
        settings.services.or_proxies(Address::On((Ipv4Addr::LOCALHOST, 0).into()));
    }
    let _lock = Lock::take(&settings.interface, &settings.folder)?;
    let (events, received) = mpsc::channel();
    let live = Arc::new(Live::default());
    let _metrics = serve_metrics(args.metrics, &live)?;
    let config = settings.config.clone();
    let agent = Agent::up(settings, &chosen, &events, &live)?;
    let beside = Beside { look: agent.tunnel.look(), proxies: agent.tunnel.proxies(), config };
    thread::scope(|scope| {
        let done = Done(events);
        let worker = scope.spawn(move || {
            let _done = done;
            work(&beside)
        });
        if let Err(problem) = agent.run(&received) {
            failed(&problem);
        }
        worker.join().map_err(|_| Problem::new("a defect ended what ran beside the tunnel; the log has more"))
    })
}

/// Tells the tunnel to end, however the work does.
struct Done(Sender<Event>);

impl Drop for Done {
    fn drop(&mut self) {
        _ = self.0.send(Event::Done);
    }
}
