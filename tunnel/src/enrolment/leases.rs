//! The lease service: one task with the lease state machine, the store and the clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle as Runtime;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use warren_lease::{
    COMMIT_WITHIN, Enrolment, Grant, Lease, Leases, Outcome, Output, Peer, PoolError, Refusal, RequestId,
    Settings, Statistics, Transaction, TransactionId, Trust,
};
use warren_store::{News, Store};
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use super::clocks;
use crate::runtime::supervise::Supervisor;

/// Requests that may wait for the task.
const QUEUE_LENGTH: usize = 4096;
/// Transactions that the store has at one time.
const MAX_IN_FLIGHT: usize = 256;
/// Waiting for a place included, and well before the machine's own limit.
const COMMIT: Duration = COMMIT_WITHIN.saturating_sub(Duration::from_secs(5));

/// Clocks that differ by more seconds are logged.
const SKEW_LOGGED: u64 = 30;

/// A change of the interface's peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// Add or change a peer.
    Install(Peer),
    /// Remove a peer.
    Remove(PublicKey),
}

/// A handle of the task. Cheap to clone; the task ends when all handles are dropped.
#[derive(Debug, Clone)]
pub struct LeaseService {
    commands: mpsc::Sender<Command>,
}

type Answer = oneshot::Sender<Result<Option<Grant>, Refusal>>;

#[derive(Debug)]
enum Command {
    Enrol(Enrolment, Answer),
    Release(PublicKey, Answer),
    Evict(PublicKey, UnixTime, Answer),
    Readmit(PublicKey, Answer),
    Revoke(TokenId, UnixTime, bool, Answer),
    Accept(TokenId, Answer),
    Trust(Trust),
    Seen(Vec<(PublicKey, Duration)>),
    Arrived(Vec<PublicKey>),
    Leases(oneshot::Sender<(Vec<(PublicKey, Lease)>, Statistics)>),
    TimeLeft(PublicKey, oneshot::Sender<Option<Duration>>),
}

impl LeaseService {
    /// Starts the task. Peers in the store are reported as installed. Its end is a death, unless all handles are dropped.
    ///
    /// # Errors
    /// The pool has no address.
    pub fn start(
        settings: Settings,
        store: Arc<dyn Store>,
        peers: mpsc::UnboundedSender<PeerEvent>,
        runtime: &Runtime,
        supervisor: &Supervisor,
    ) -> Result<Self, PoolError> {
        let (commands, queue) = mpsc::channel(QUEUE_LENGTH);
        let (settled, outcomes) = mpsc::channel(MAX_IN_FLIGHT);
        let task = Task {
            machine: Leases::new(settings, clocks())?,
            store,
            peers,
            waiting: BTreeMap::new(),
            next: 0,
            ready: false,
            reported: (false, false),
            places: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            settled,
        };
        let watched = supervisor.watch("lease task");
        runtime.spawn(async move {
            if task.run(queue, outcomes).await {
                watched.finish();
            }
        });
        Ok(Self { commands })
    }

    /// Enrols a peer whose token and proof have been verified.
    ///
    /// # Errors
    /// Why not.
    pub async fn enrol(&self, enrolment: Enrolment) -> Result<Grant, Refusal> {
        self.ask(|answer| Command::Enrol(enrolment, answer)).await?.ok_or(Refusal::Contended)
    }

    /// Releases a peer's lease.
    ///
    /// # Errors
    /// Why not.
    pub async fn release(&self, key: PublicKey) -> Result<(), Refusal> {
        self.ask(|answer| Command::Release(key, answer)).await.map(drop)
    }

    /// Ends a peer's lease, and refuses its key until a time.
    ///
    /// # Errors
    /// Why not.
    pub async fn evict(&self, key: PublicKey, until: UnixTime) -> Result<(), Refusal> {
        self.ask(|answer| Command::Evict(key, until, answer)).await.map(drop)
    }

    /// Accepts an evicted key again.
    ///
    /// # Errors
    /// Why not.
    pub async fn readmit(&self, key: PublicKey) -> Result<(), Refusal> {
        self.ask(|answer| Command::Readmit(key, answer)).await.map(drop)
    }

    /// Revokes a token, and with `peers` ends the leases that it created.
    ///
    /// # Errors
    /// Why not.
    pub async fn revoke(&self, token: TokenId, until: UnixTime, peers: bool) -> Result<(), Refusal> {
        self.ask(|answer| Command::Revoke(token, until, peers, answer)).await.map(drop)
    }

    /// Accepts a revoked or evicted token again.
    ///
    /// # Errors
    /// Why not.
    pub async fn accept(&self, token: TokenId) -> Result<(), Refusal> {
        self.ask(|answer| Command::Accept(token, answer)).await.map(drop)
    }

    /// Sets what leases need to be renewed.
    pub async fn set_trust(&self, trust: Trust) {
        // If the task has ended, so has the gateway.
        _ = self.commands.send(Command::Trust(trust)).await;
    }

    /// Reports the last handshakes with peers, by the monotonic clock, every few seconds.
    pub async fn seen(&self, handshakes: Vec<(PublicKey, Duration)>) {
        // If the task has ended, so has the gateway.
        _ = self.commands.send(Command::Seen(handshakes)).await;
    }

    /// Reports peers that have come from another gateway.
    pub async fn arrived(&self, peers: Vec<PublicKey>) {
        // If the task has ended, so has the gateway.
        _ = self.commands.send(Command::Arrived(peers)).await;
    }

    /// All leases and the counters; `None` if the task has ended.
    pub async fn leases(&self) -> Option<(Vec<(PublicKey, Lease)>, Statistics)> {
        let (answer, leases) = oneshot::channel();
        self.commands.send(Command::Leases(answer)).await.ok()?;
        leases.await.ok()
    }

    /// How long a peer's live lease can last at most; `None` if it has none, or the task has ended.
    pub async fn time_left(&self, key: PublicKey) -> Option<Duration> {
        let (answer, left) = oneshot::channel();
        self.commands.send(Command::TimeLeft(key, answer)).await.ok()?;
        left.await.ok()?
    }

    async fn ask(&self, command: impl FnOnce(Answer) -> Command) -> Result<Option<Grant>, Refusal> {
        let (answer, result) = oneshot::channel();
        self.commands.send(command(answer)).await.map_err(|_| Refusal::Store)?;
        result.await.map_err(|_| Refusal::Store)?
    }
}

struct Task {
    machine: Leases,
    store: Arc<dyn Store>,
    peers: mpsc::UnboundedSender<PeerEvent>,
    waiting: BTreeMap<RequestId, Answer>,
    next: u64,
    /// Whether the store's contents are known.
    ready: bool,
    /// Whether the log says that peers are kept out, and that clocks differ.
    reported: (bool, bool),
    places: Arc<Semaphore>,
    settled: mpsc::Sender<(TransactionId, Outcome)>,
}

impl Task {
    /// Whether it has ended because nobody needs it.
    async fn run(
        mut self,
        mut queue: mpsc::Receiver<Command>,
        mut outcomes: mpsc::Receiver<(TransactionId, Outcome)>,
    ) -> bool {
        let mut news = self.store.follow();
        loop {
            let pause = self.machine.poll_timeout().saturating_sub(clocks().mono);
            tokio::select! {
                command = queue.recv() => match command {
                    Some(command) => self.command(command),
                    None => return true,
                },
                Some((id, outcome)) = outcomes.recv() => self.machine.settled(clocks(), id, outcome),
                event = news.recv() => match event {
                    Some(event) => self.news(event),
                    None => {
                        tracing::error!("the lease store has stopped");
                        return false;
                    }
                },
                () = sleep(pause), if self.ready => self.machine.handle_timeout(clocks()),
            }
            self.pump();
            self.report();
        }
    }

    /// Logs that peers are kept out, and that clocks differ, once each time.
    fn report(&mut self) {
        let Statistics { closed, skew, skewed, .. } = self.machine.statistics();
        if closed && !self.reported.0 {
            tracing::warn!(
                "the lease store has been silent for store_grace: no peer is served until it answers"
            );
        } else if self.reported.0 && !closed {
            tracing::info!("the lease store answers again: peers are served");
        }
        let differs = skewed || skew.unsigned_abs() > SKEW_LOGGED;
        if differs && !self.reported.1 {
            tracing::warn!(
                seconds = skew,
                "the clock of another gateway differs from this one's; check time synchronisation on both"
            );
        }
        self.reported = (closed, differs);
    }

    fn news(&mut self, news: News) {
        match news {
            News::Contents { revision, records } => {
                self.machine.restore(clocks(), &records, revision);
                self.ready = true;
            }
            News::Changes { revision, changes } => self.machine.apply(clocks(), &changes, revision),
            News::Interrupted(reason) => tracing::warn!(%reason, "the lease store does not answer"),
        }
    }

    fn command(&mut self, command: Command) {
        if !self.ready {
            match command {
                Command::Enrol(_, answer)
                | Command::Release(_, answer)
                | Command::Evict(_, _, answer)
                | Command::Readmit(_, answer)
                | Command::Accept(_, answer)
                | Command::Revoke(_, _, _, answer) => _ = answer.send(Err(Refusal::Store)),
                Command::Leases(answer) => _ = answer.send(Default::default()),
                Command::TimeLeft(_, answer) => _ = answer.send(None),
                Command::Trust(trust) => self.machine.set_trust(trust),
                Command::Seen(_) | Command::Arrived(_) => {}
            }
            return;
        }
        let now = clocks();
        match command {
            Command::Enrol(enrolment, answer) => {
                let id = self.wait(answer);
                self.machine.enrol(now, id, enrolment);
            }
            Command::Release(key, answer) => {
                let id = self.wait(answer);
                self.machine.release(now, id, key);
            }
            Command::Evict(key, until, answer) => {
                let id = self.wait(answer);
                self.machine.evict(now, id, key, until);
            }
            Command::Readmit(key, answer) => {
                let id = self.wait(answer);
                self.machine.readmit(now, id, key);
            }
            Command::Revoke(token, until, peers, answer) => {
                let id = self.wait(answer);
                self.machine.revoke(now, id, token, until, peers);
            }
            Command::Accept(token, answer) => {
                let id = self.wait(answer);
                self.machine.restore_token(now, id, token);
            }
            Command::Trust(trust) => self.machine.set_trust(trust),
            Command::Seen(handshakes) => {
                for (key, at) in handshakes {
                    self.machine.seen(now, key, at);
                }
            }
            Command::Arrived(peers) => {
                for key in peers {
                    self.machine.arrived(now, key);
                }
            }
            Command::TimeLeft(key, answer) => _ = answer.send(self.machine.time_left(now, &key)),
            Command::Leases(answer) => {
                let leases = self.machine.leases().map(|(key, lease)| (key, lease.clone())).collect();
                // The requester may have gone.
                _ = answer.send((leases, self.machine.statistics()));
            }
        }
    }

    fn wait(&mut self, answer: Answer) -> RequestId {
        self.next += 1;
        self.waiting.insert(RequestId(self.next), answer);
        RequestId(self.next)
    }

    fn pump(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Commit(id, transaction) => self.commit(id, transaction),
                // Whoever listened may have gone away: then the gateway is about to end.
                Output::Install(peer) => _ = self.peers.send(PeerEvent::Install(peer)),
                Output::Remove(key) => _ = self.peers.send(PeerEvent::Remove(key)),
                Output::Ended(peer, why) => tracing::info!(%peer, ?why, "lease ended"),
                Output::Answer { request, result } => {
                    if let Some(answer) = self.waiting.remove(&request) {
                        _ = answer.send(result);
                    }
                }
            }
        }
    }

    fn commit(&self, id: TransactionId, transaction: Transaction) {
        let (store, places, settled) =
            (Arc::clone(&self.store), Arc::clone(&self.places), self.settled.clone());
        tokio::spawn(async move {
            let settles = Settles(Some((id, settled)));
            let commit = async {
                // The semaphore is never closed.
                let _place = places.acquire().await;
                store.commit(&transaction).await
            };
            let outcome = match timeout(COMMIT, commit).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "a lease change may not have been stored");
                    Outcome::Unknown
                }
                Err(_) => Outcome::Unknown,
            };
            settles.settle(outcome).await;
        });
    }
}

/// Settles a transaction, by a panic too: nothing would be done with its records any more.
struct Settles(Option<(TransactionId, mpsc::Sender<(TransactionId, Outcome)>)>);

impl Settles {
    async fn settle(mut self, outcome: Outcome) {
        if let Some((id, settled)) = self.0.take() {
            // If the task has ended, nobody waits.
            _ = settled.send((id, outcome)).await;
        }
    }
}

impl Drop for Settles {
    fn drop(&mut self) {
        if let Some((id, settled)) = self.0.take()
            && let Ok(runtime) = Runtime::try_current()
        {
            runtime.spawn(async move {
                // As above.
                _ = settled.send((id, Outcome::Unknown)).await;
            });
        }
    }
}
