//! Lists both ends, transfers what differs, deletes what is surplus.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join;
use futures_util::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use tokio::sync::{RwLock, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::adapt::{Refusals, Slot, Slots};
use crate::buffers::Buffers;
use crate::error::SyncError;
use crate::filter::Filter;
use crate::index::Index;
use crate::listing::Listed;
use crate::local;
use crate::parts::{self, Parts};
use crate::place::Place;
use crate::plan::{Entry, Plan, Totals};
use crate::queue::Queue;
use crate::sums::{Sums, Verified};
use crate::transfer::{self, blocking};

/// Bytes of parts in memory. The process takes about half as much again; a larger part is alone.
const MEMORY: u64 = 64 << 20;
/// The unit in which memory is counted.
const PAGE: u64 = 64 << 10;
/// The most requests at the same time, unless told otherwise.
const CONNECTIONS: usize = 256;
/// Objects of more than one part at the same time: each has an open file, and its parts wait in memory.
const LARGE: usize = 8;

/// Objects that fail before a run ends, if none succeeds: credentials or a path that do not work.
const HOPELESS: u64 = 32;

/// How a transfer runs.
#[derive(Clone)]
pub struct Options {
    /// Names to transfer.
    pub filter: Filter,
    /// Delete at the destination what the source does not have.
    pub delete: bool,
    /// The most requests at the same time; their number adapts to what the path carries.
    pub connections: usize,
    /// Where the HTTP client counts requests that stores refuse because there are too many.
    pub refusals: Refusals,
    /// The preferred size of a part.
    pub part: u64,
    /// The smallest part that the destination accepts.
    pub smallest: u64,
    /// Bytes of parts in memory.
    pub memory: u64,
    /// Bytes per second, if limited.
    pub rate: Option<u64>,
    /// Folder of what runs to a store remember.
    pub state: PathBuf,
    /// Called before each step.
    pub gate: Option<Arc<dyn Gate>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("filter", &self.filter)
            .field("part", &self.part)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Everything, with at most 256 requests at the same time, parts of 8 MiB, and 64 MiB of memory for parts.
    pub fn new(state: PathBuf) -> Self {
        Self {
            filter: Filter::default(),
            delete: false,
            connections: CONNECTIONS,
            refusals: Refusals::default(),
            part: 8 << 20,
            smallest: parts::SMALLEST,
            memory: MEMORY,
            rate: None,
            state,
            gate: None,
        }
    }
}

/// Something that a run is about to do. Between two steps a kill leaves what the next run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A request to a store.
    Request,
    /// Bytes to a file.
    Write,
    /// A line of a journal, or its end.
    Journal,
    /// A complete file to disk, and its final name.
    Finish,
    /// A line of the index.
    Index,
    /// A deletion.
    Delete,
}

/// Waits before steps; tests use it to stop a run at any of them.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Returns when the step may be taken.
    async fn before(&self, step: Step);
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A portion of the source was listed and compared; what there is to do so far.
    Found(Totals),
    /// Everything is listed.
    Planned(Totals),
    /// Bytes of an object have been transferred.
    Bytes(u64),
    /// Bytes of an object are there from an earlier run.
    Resumed {
        /// The object.
        name: &'a str,
        /// Its bytes; may be zero.
        bytes: u64,
    },
    /// An object changed during its transfer, or the store has forgotten its upload; the transfer starts again.
    Restarted {
        /// The object.
        name: &'a str,
    },
    /// An object is complete.
    Done {
        /// The object.
        entry: &'a Entry,
        /// How it was verified.
        verified: Verified,
    },
    /// An object was not transferred or deleted; others are.
    Failed(&'a SyncError),
    /// An object at the destination was deleted.
    Deleted {
        /// The object.
        name: &'a str,
    },
}

/// Receives the events of a run.
pub trait Progress: Send + Sync {
    /// Called for every event, from any thread.
    fn event(&self, event: &Event<'_>);
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Objects transferred.
    pub copied: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that were the same already.
    pub unchanged: u64,
    /// Objects deleted.
    pub deleted: u64,
    /// Objects that failed.
    pub failed: u64,
}

/// A transfer.
pub struct Engine {
    pub(crate) shared: Shared,
    pub(crate) known: Index,
    _lock: Option<File>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("source", &self.shared.source).finish_non_exhaustive()
    }
}

/// What all objects of a run share.
pub(crate) struct Shared {
    pub(crate) source: Place,
    pub(crate) dest: Place,
    pub(crate) options: Options,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) state: PathBuf,
    pub(crate) index: Mutex<File>,
    /// Whether earlier runs may have left incomplete files at the destination.
    pub(crate) resumes: AtomicBool,
    pub(crate) touched: Mutex<BTreeSet<PathBuf>>,
    pub(crate) buffers: Buffers,
    slots: Slots,
    memory: Semaphore,
    /// What of the memory parts may use, so that they keep no small object waiting.
    parts: Semaphore,
    free_at: Mutex<Instant>,
    /// Held while a thread writes to a file.
    writing: Arc<RwLock<()>>,
}

/// Pages that parts may use.
fn of_parts(options: &Options) -> u64 {
    (options.memory / PAGE * 3 / 4).max(1)
}

impl Shared {
    pub(crate) async fn step(&self, step: Step) {
        if let Some(gate) = &self.options.gate {
            gate.before(step).await;
        }
    }

    /// Waits until one more request may run.
    pub(crate) async fn slot(&self) -> Slot<'_> {
        self.slots.take().await
    }

    /// Whether an object is transferred by one request.
    pub(crate) fn is_whole(&self, entry: &Entry) -> bool {
        Parts::of(entry.stamp.size, self.part()).count() == 1
    }

    /// The preferred size of a part; those of an upload have a lower limit.
    pub(crate) fn part(&self) -> u64 {
        match self.dest {
            Place::Folder(_) => self.options.part,
            Place::Store(_) => self.options.part.max(self.options.smallest),
        }
    }

    /// Waits for the memory and the slot of an object that is transferred by one request.
    pub(crate) async fn turn(&self, entry: &Entry) -> Turn<'_> {
        if !self.is_whole(entry) {
            return Turn::default();
        }
        let memory = match self.dest {
            Place::Folder(_) => entry.stamp.size.min(transfer::RECEIVING),
            Place::Store(_) => entry.stamp.size,
        };
        Turn { _memory: self.memory(memory).await, slot: Some(self.slot().await) }
    }

    /// Waits until `bytes` fit into the memory for parts.
    pub(crate) async fn memory(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let pages = bytes.div_ceil(PAGE).min(self.options.memory / PAGE);
        self.memory.acquire_many(u32::try_from(pages).unwrap_or(u32::MAX)).await.ok()
    }

    /// Waits until a part of `bytes` fits into the memory that parts may use.
    pub(crate) async fn part_memory(&self, bytes: u64) -> [Option<SemaphorePermit<'_>>; 2] {
        let pages = bytes.div_ceil(PAGE).min(of_parts(&self.options));
        let part = self.parts.acquire_many(u32::try_from(pages).unwrap_or(u32::MAX)).await.ok();
        [part, self.memory(bytes).await]
    }

    /// Writes of one object, or of one more thing.
    pub(crate) fn writes(&self) -> Writes {
        Writes { own: Arc::default(), all: Arc::clone(&self.writing) }
    }

    /// Waits for the writes of all transfers that were dropped.
    pub(crate) async fn settled(&self) {
        drop(self.writing.write().await);
    }

    /// Waits until the rate permits `bytes` more.
    pub(crate) async fn pace(&self, bytes: u64) {
        let Some(rate) = self.options.rate else { return };
        let until = {
            let mut free = self.free_at.lock();
            let from = (*free).max(Instant::now());
            *free = from + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            from
        };
        tokio::time::sleep_until(until).await;
    }
}

/// What an object that is transferred by one request has before it begins.
#[derive(Default)]
pub(crate) struct Turn<'a> {
    _memory: Option<SemaphorePermit<'a>>,
    pub(crate) slot: Option<Slot<'a>>,
}

/// Writes on threads that may block. They go on if their transfer is dropped, so whoever begins it again waits until they are
/// settled: one that is late would truncate a file that is complete by then, or write an earlier version into it.
pub(crate) struct Writes {
    own: Arc<RwLock<()>>,
    all: Arc<RwLock<()>>,
}

impl Writes {
    /// Does one of them.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let all = Arc::clone(&self.all).read_owned().await;
        let own = Arc::clone(&self.own).read_owned().await;
        blocking(move || {
            let done = work();
            drop((own, all));
            done
        })
        .await
    }

    /// Waits for those of this object.
    pub(crate) async fn settled(&self) {
        drop(self.own.write().await);
    }
}

impl Engine {
    /// Prepares a transfer: the destination's folder, and the index of earlier runs.
    ///
    /// # Errors
    /// The folder cannot be written, or another run writes to it.
    pub async fn new(
        source: Place,
        dest: Place,
        options: Options,
        progress: Arc<dyn Progress>,
    ) -> Result<Self, SyncError> {
        let state = match &dest {
            Place::Folder(root) => root.join(local::STATE),
            Place::Store(_) => {
                let pair = format!("{}\n{}", source.label(), dest.label());
                options.state.join(format!("{:016x}", Sums::of(pair.as_bytes()).crc64))
            }
        };
        let label = state.display().to_string();
        let folder = state.clone();
        let opened = blocking(move || {
            std::fs::create_dir_all(&folder)?;
            let lock = File::create(folder.join("lock"))?;
            let locked = match lock.try_lock() {
                Ok(()) => Some(lock),
                Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
                // Some network file systems have no locks.
                Err(std::fs::TryLockError::Error(_)) => None,
            };
            let path = folder.join("index.jsonl");
            let known = Index::parse(&local::text(&path)?);
            if known.is_stale() {
                local::replace(&path, &known.text())?;
            }
            // A torn last line must not join the next one.
            let mut index = File::options().create(true).append(true).open(&path)?;
            std::io::Write::write_all(&mut index, b"\n")?;
            Ok::<_, std::io::Error>(Some((known, index, locked)))
        });
        let Some((known, index, lock)) = opened.await.map_err(|error| SyncError::io(&label, &error))? else {
            return Err(SyncError::new(dest.label(), "another run of sync writes to this destination")
                .hint("wait for it, or end it"));
        };
        let shared = Shared {
            slots: Slots::new(options.connections, options.refusals.clone()),
            buffers: Buffers::default(),
            memory: Semaphore::new(usize::try_from(options.memory / PAGE).unwrap_or(1).max(1)),
            parts: Semaphore::new(usize::try_from(of_parts(&options)).unwrap_or(1)),
            free_at: Mutex::new(Instant::now()),
            writing: Arc::default(),
            index: Mutex::new(index),
            resumes: AtomicBool::new(true),
            touched: Mutex::default(),
            source,
            dest,
            options,
            progress,
            state,
        };
        Ok(Self { shared, known, _lock: lock })
    }

    /// Lists both ends and compares them, without a transfer.
    ///
    /// # Errors
    /// One end cannot be listed, or everything would be deleted because the source is empty.
    pub async fn plan(&self) -> Result<Plan, SyncError> {
        let mut plan = Plan::default();
        self.compare(|portion| plan.append(portion)).await?;
        Ok(plan)
    }

    /// Transfers what differs, while the source is still being listed, and then deletes. One failed object does not stop the
    /// others, but nothing is deleted then.
    ///
    /// # Errors
    /// An end cannot be listed, the destination cannot be written at all, many objects failed and none was transferred, or
    /// everything would be deleted because the source is empty.
    pub async fn run(&self) -> Result<Summary, SyncError> {
        let queue = Queue::default();
        let listing = async {
            let _closes = queue.closing();
            let mut listed = Listed::default();
            let left = self.compare(|portion| listed.add(&self.shared, &queue, portion)).await?;
            if self.shared.options.filter.admits_all() {
                self.sweep(left).await;
            }
            Ok(listed)
        };
        self.follow(&queue, listing).await
    }

    /// Transfers and deletes what a plan says.
    pub(crate) async fn carry_out(&self, plan: Plan) -> Result<Summary, SyncError> {
        let queue = Queue::default();
        let listing = async {
            let _closes = queue.closing();
            let mut listed = Listed::default();
            listed.add(&self.shared, &queue, plan);
            Ok(listed)
        };
        self.follow(&queue, listing).await
    }

    /// Transfers what `listing` adds to the queue, and deletes what it found, if nothing failed.
    async fn follow(
        &self,
        queue: &Queue,
        listing: impl Future<Output = Result<Listed, SyncError>>,
    ) -> Result<Summary, SyncError> {
        let shared = &self.shared;
        shared.settled().await;
        let listing = async {
            let listed = listing.await?;
            shared.progress.event(&Event::Planned(listed.totals));
            Ok(listed)
        };
        let (listed, mut summary) = try_join(listing, self.transfer(queue)).await?;
        summary.unchanged = listed.totals.unchanged;
        summary.failed += listed.refused;
        let touched = std::mem::take(&mut *shared.touched.lock());
        for folder in touched {
            let label = folder.display().to_string();
            blocking(move || local::sync_folder(&folder))
                .await
                .map_err(|error| SyncError::io(label, &error))?;
        }
        if summary.failed == 0 {
            self.delete(&listed.delete, &mut summary).await?;
        }
        Ok(summary)
    }

    /// Transfers what is in a queue, until it is closed and empty.
    async fn transfer(&self, queue: &Queue) -> Result<Summary, SyncError> {
        let shared = &self.shared;
        let mut summary = Summary::default();
        let large = queue.large().map(|entry| shared.object(entry, None));
        // They wait for their slots one after the other: parts of large objects that wait too have their turn soon.
        let whole = queue.whole().then(async |entry| {
            let turn = shared.turn(&entry).await;
            (entry, turn)
        });
        let whole = whole.map(|(entry, turn)| shared.object(entry, Some(turn)));
        let whole = whole.buffer_unordered(2 * shared.options.connections);
        let mut transfers = std::pin::pin!(stream::select(large.buffer_unordered(LARGE), whole));
        while let Some(done) = transfers.next().await {
            match done {
                Ok((entry, verified)) => {
                    summary.copied += 1;
                    summary.bytes += entry.stamp.size;
                    shared.progress.event(&Event::Done { entry: &entry, verified });
                }
                Err(error) => {
                    summary.failed += 1;
                    shared.progress.event(&Event::Failed(&error));
                    if summary.copied == 0 && summary.failed >= HOPELESS {
                        return Err(error);
                    }
                }
            }
        }
        Ok(summary)
    }

    /// Deletes incomplete files that no object needs.
    async fn sweep(&self, left: BTreeSet<PathBuf>) {
        for path in left {
            self.shared.step(Step::Delete).await;
            // What stays is swept by the next run.
            _ = local::remove(&path);
        }
    }

    async fn delete(&self, surplus: &[Entry], summary: &mut Summary) -> Result<(), SyncError> {
        let shared = &self.shared;
        match &shared.dest {
            Place::Folder(root) => {
                for entry in surplus {
                    shared.step(Step::Delete).await;
                    let path = root.join(&entry.name);
                    match local::remove(&path) {
                        Ok(()) => {
                            local::remove_empty(root, &path);
                            summary.deleted += 1;
                            shared.progress.event(&Event::Deleted { name: &entry.name });
                        }
                        Err(error) => {
                            summary.failed += 1;
                            let failed = SyncError::io(path.display().to_string(), &error);
                            shared.progress.event(&Event::Failed(&failed));
                        }
                    }
                }
            }
            Place::Store(remote) => {
                let mut paths = Vec::new();
                for entry in surplus {
                    paths.push(Ok(remote.path(&entry.name)?));
                }
                if !paths.is_empty() {
                    shared.step(Step::Delete).await;
                }
                let mut deleted = remote.write.delete_stream(stream::iter(paths).boxed());
                while let Some(done) = deleted.next().await {
                    match done {
                        Ok(path) => {
                            summary.deleted += 1;
                            let name = remote.name(&path).unwrap_or(path.as_ref());
                            shared.progress.event(&Event::Deleted { name });
                        }
                        // By somebody else, or by a request whose answer was lost.
                        Err(object_store::Error::NotFound { .. }) => summary.deleted += 1,
                        Err(error) => {
                            summary.failed += 1;
                            shared.progress.event(&Event::Failed(&SyncError::store(&remote.url, &error)));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Progress for Silent {
        fn event(&self, _: &Event<'_>) {}
    }

    #[tokio::test]
    async fn a_run_waits_for_the_writes_of_a_transfer_that_was_dropped() {
        let home = tempfile::tempdir().unwrap();
        let [source, dest] = ["source", "dest"].map(|name| home.path().join(name));
        std::fs::create_dir_all(&source).unwrap();
        std::fs::write(source.join("a"), b"whole").unwrap();
        let (from, to) = (Place::Folder(source), Place::Folder(dest.clone()));
        let options = Options::new(home.path().to_owned());
        let engine = Engine::new(from, to, options, Arc::new(Silent)).await.unwrap();
        // It is dropped while its thread is about to truncate the incomplete file.
        let (proceed, wait) = std::sync::mpsc::channel::<()>();
        let paths = local::Paths::of(&dest, "a");
        let late = paths.clone();
        let writes = engine.shared.writes();
        let dropped = writes.run(move || {
            wait.recv().unwrap();
            [late.partial, late.whole]
                .map(|path| File::options().write(true).truncate(true).open(path).is_ok())
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), dropped).await.is_err());
        let mut run = std::pin::pin!(engine.run());
        assert!(tokio::time::timeout(Duration::from_millis(100), &mut run).await.is_err());
        proceed.send(()).unwrap();
        assert_eq!(run.await.unwrap().copied, 1);
        engine.shared.settled().await;
        assert_eq!(std::fs::read(paths.whole).unwrap(), b"whole");
    }
}
