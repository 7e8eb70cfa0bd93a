//! What all services of a process share: limits, counters, places, and how they end.

use std::{
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    counters::{Counters, Refusal, Service},
    limits::Limits,
    net::{Gone, Listen as _, Listener, Stream, System, SystemListener},
    relay::{Broken, Moved, Pool, Relay, Timeouts},
};

/// Pause after a failure to accept: most often a lack of descriptors, which passes.
const PAUSE: Duration = Duration::from_millis(100);

/// The services of a process. Each is started by its module; they end together.
#[derive(Debug, Clone)]
pub struct Services(pub(crate) Arc<Shared>);

impl Services {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Shared {
            counters: Arc::default(),
            pool: Pool::new(limits.buffer_bytes),
            places: Arc::new(Semaphore::new(limits.streams)),
            full: AtomicBool::new(false),
            sessions: Arc::new(Semaphore::new(limits.udp_sessions)),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
            tasks: TaskTracker::new(),
            limits,
        }))
    }

    /// The counters of all of them.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.0.counters
    }

    /// The limits that they keep.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Accepts no more connections, lets streams end for at most `grace`, then resets the rest. Returns their number.
    pub async fn shutdown(&self, grace: Duration) -> u64 {
        self.0.stop.cancel();
        self.0.tasks.close();
        let ended = timeout(grace, self.0.tasks.wait()).await.is_ok();
        let left = if ended { 0 } else { self.0.counters.snapshot().open() };
        self.0.abort.cancel();
        self.0.tasks.wait().await;
        left
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) counters: Arc<Counters>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) sessions: Arc<Semaphore>,
    pub(crate) stop: CancellationToken,
    places: Arc<Semaphore>,
    /// Whether it was told already that there is no place.
    full: AtomicBool,
    abort: CancellationToken,
    tasks: TaskTracker,
}

impl Shared {
    /// Runs a task that ends, at the latest, when the grace of a shutdown is over.
    pub(crate) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_pinned(Box::pin(task));
    }

    /// The same. `select!` would hold the task twice.
    fn spawn_pinned(self: &Arc<Self>, mut task: impl Future<Output = ()> + Send + Unpin + 'static) {
        let mut abort = Box::pin(self.abort.clone().cancelled_owned());
        self.tasks.spawn(poll_fn(move |cx| match abort.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Pin::new(&mut task).poll(cx),
        }));
    }

    /// Accepts until a shutdown begins or the network has gone; each connection is served in a task of its own.
    pub(crate) fn accept<L, S, F>(self: &Arc<Self>, mut listener: L, service: Service, serve: S)
    where
        L: Listener,
        S: Fn(L::Stream, SocketAddr, Place) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = Arc::clone(self);
        self.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    biased;
                    () = shared.stop.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                match accepted {
                    Ok((stream, from)) => {
                        if let Some(place) = shared.place(service) {
                            shared.spawn(serve(stream, from, place));
                        }
                    }
                    Err(error) if Gone::is(&error) => return,
                    Err(error) => {
                        tracing::debug!(%error, service = service.label(), "accept");
                        sleep(PAUSE).await;
                    }
                }
            }
        });
    }

    fn place(self: &Arc<Self>, service: Service) -> Option<Place> {
        let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() else {
            self.counters.refuse(Refusal::Limit);
            if !self.full.swap(true, Relaxed) {
                tracing::warn!(limit = self.limits.streams, "stream limit reached: new streams are reset");
            }
            return None;
        };
        self.full.store(false, Relaxed);
        Some(Place::new(self, service, permit))
    }

    /// A place among UDP sessions.
    pub(crate) fn session(self: &Arc<Self>, service: Service) -> Option<Place> {
        match Arc::clone(&self.sessions).try_acquire_owned() {
            Ok(permit) => Some(Place::new(self, service, permit)),
            Err(_) => {
                self.counters.refuse(Refusal::Limit);
                None
            }
        }
    }

    /// Joins a client's stream with its target's in a task of its own, which is small: what the handshake needed is gone by then.
    pub(crate) fn join<A: Stream, B: Stream>(
        self: &Arc<Self>,
        client: A,
        target: B,
        early: &[u8],
        place: Place,
    ) {
        let shared = Arc::clone(self);
        let timeouts = Timeouts { idle: shared.limits.idle, half_closed: shared.limits.half_closed };
        let mut relay = Some(Relay::new(client, target, early, &shared.pool, timeouts));
        self.spawn_pinned(poll_fn(move |cx| {
            // The whole of it, not its label alone: it is held as long as the stream.
            let place = &place;
            let counters = &shared.counters;
            let moved = Moved { there: &counters.sent, back: &counters.received };
            let Some(running) = &mut relay else { return Poll::Ready(()) };
            let ended = ready!(running.poll(cx, moved));
            relay = None;
            if let Err(broken) = ended {
                match broken {
                    Broken::Idle => &counters.idle,
                    Broken::Failed(_) => &counters.reset,
                }
                .fetch_add(1, Relaxed);
                tracing::debug!(service = place.service.label(), "stream ended: {broken}");
            }
            Poll::Ready(())
        }));
    }
}

/// One of the places that a limit gives out; counts as an open stream.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
    counters: Arc<Counters>,
    service: Service,
}

impl Place {
    fn new(shared: &Shared, service: Service, permit: OwnedSemaphorePermit) -> Self {
        shared.counters.opened(service);
        Self { _permit: permit, counters: Arc::clone(&shared.counters), service }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counters.closed(self.service);
    }
}

/// A listening socket of this machine. Beyond loopback it is everybody's, and so is what is behind it: that is told.
///
/// # Errors
/// When the address is taken or not of this machine.
pub(crate) async fn listen_here(what: &str, at: SocketAddr, guarded: bool) -> io::Result<SystemListener> {
    let listener = System.listen(at).await?;
    warn_exposed(what, at, guarded);
    Ok(listener)
}

pub(crate) fn warn_exposed(what: &str, at: SocketAddr, guarded: bool) {
    if at.ip().to_canonical().is_loopback() {
        return;
    }
    if guarded {
        tracing::warn!(%at, "the {what} is reachable from other machines; passwords cross the network in clear text");
    } else {
        tracing::warn!(%at, "the {what} is reachable from other machines, and gives them access to everything this machine can reach: use a loopback address, or set a password");
    }
}

/// Says the last word on a stream that will not be joined, and sees that it arrives: closing with bytes unread would reset it.
pub(crate) async fn part<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, last: &[u8]) {
    const TIMEOUT: Duration = Duration::from_secs(1);
    const MOST: usize = 64;
    let farewell = async {
        stream.write_all(last).await?;
        stream.shutdown().await?;
        let mut sink = [0; 1024];
        for _ in 0..MOST {
            if stream.read(&mut sink).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    if let Ok(Err(error)) = timeout(TIMEOUT, farewell).await {
        tracing::trace!(%error, "parting");
    }
}
