//! One file: redb, a copy-on-write B-tree. A thread of its own writes; what waits for it meanwhile goes into one
//! commit, so that many transactions share one fsync.
//!
//! After a failed write, such as on a full disk, nobody knows what is in the file. The thread closes it, opens it again
//! once a second until reading and writing succeed, and tells followers the contents anew. Until then every request
//! fails with the reason.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self as blocking, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redb::backends::FileBackend;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use tokio::sync::{mpsc, oneshot};
use warren_lease::{Key, Outcome, Table, Transaction};

use crate::{Member, NEWS, News, Presence, Store, StoreError};

/// Record texts to versions and values.
const RECORDS: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("records");
/// `revision` and `format`.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// What this program writes.
const FORMAT: u64 = 1;
/// So many transactions go into one commit at most.
const BATCH: usize = 512;
/// Length of the mark with which redb's files begin.
const MARK: usize = 9;
/// Length of the header with the mark, and more than a new file has.
const HEADER: usize = 512;
const LARGEST_NEW: u64 = 64 << 20;
/// Time between two attempts to open the file again.
const REOPEN: Duration = Duration::from_secs(1);

/// A store in one file, of mode 0600. One process has it at a time.
#[derive(Debug)]
pub struct Embedded {
    jobs: Option<blocking::Sender<Job>>,
    writer: Option<thread::JoinHandle<()>>,
    members: Arc<Mutex<BTreeMap<String, Member>>>,
    fault: Fault,
}

/// Why the file cannot be used now, if so.
#[derive(Clone, Debug, Default)]
struct Fault(Arc<Mutex<Option<StoreError>>>);

impl Fault {
    fn lock(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.lock().clone().map_or(Ok(()), Err)
    }
}

enum Job {
    Commit(Transaction, oneshot::Sender<Result<Outcome, StoreError>>),
    Follow(mpsc::Sender<News>),
}

impl Embedded {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// It cannot be opened, another process has it, or it is of a newer program.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (database, table) = open(path)?;
        let (jobs, queue) = blocking::channel();
        let fault = Fault::default();
        let writer = Writer {
            path: path.to_owned(),
            database: Some(database),
            table,
            followers: Vec::new(),
            fault: fault.clone(),
            tried: Instant::now(),
        };
        let writer = thread::Builder::new().name("store".into()).spawn(move || writer.run(&queue));
        let writer = writer.map_err(|error| failure(path, &error))?;
        Ok(Self { jobs: Some(jobs), writer: Some(writer), members: Arc::default(), fault })
    }
}

fn failure(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::File(format!("{}: {error}", path.display()))
}

/// Opens a file, or makes it, and reads its contents.
fn open(path: &Path) -> Result<(Database, Table), StoreError> {
    let failed = |error: &dyn std::fmt::Display| failure(path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|error| failed(&error))?;
    let same = file.try_clone().map_err(|error| failed(&error))?;
    // The backend locks the file, so that no other process can be making it.
    let backend = FileBackend::new(file).map_err(|error| failed(&error))?;
    if is_unfinished(&same).map_err(|error| failed(&error))? {
        same.set_len(0).map_err(|error| failed(&error))?;
    }
    let database = Database::builder().create_with_backend(backend).map_err(|error| failed(&error))?;
    let table = read(&database).map_err(|error| failed(&error))?;
    Ok((database, table))
}

/// Whether the file was never a database: redb writes its mark last, so a machine that loses its power at the first start leaves a
/// file with at most the rest of the header, which redb would refuse forever.
fn is_unfinished(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length < HEADER as u64 || length > LARGEST_NEW {
        return Ok(false);
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, 0)?;
    let zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    Ok(zeros(&bytes[..MARK]) && zeros(&bytes[HEADER..]))
}

impl Drop for Embedded {
    /// Returns when what was asked for is written and the file is free for another.
    fn drop(&mut self) {
        self.jobs = None;
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the thread of the store has panicked");
        }
    }
}

/// Reads the contents of the file, and proves that it can be written.
fn read(database: &Database) -> Result<Table, Box<dyn std::error::Error>> {
    let write = database.begin_write()?;
    {
        let mut meta = write.open_table(META)?;
        let format = meta.get("format")?.map_or(FORMAT, |format| format.value());
        if format != FORMAT {
            return Err(
                format!("the file has format {format}, but this version supports format {FORMAT}").into()
            );
        }
        meta.insert("format", FORMAT)?;
        write.open_table(RECORDS)?;
    }
    write.commit()?;
    let read = database.begin_read()?;
    let revision = read.open_table(META)?.get("revision")?.map_or(0, |revision| revision.value());
    let mut contents = Vec::new();
    for record in read.open_table(RECORDS)?.iter()? {
        let (key, value) = record?;
        let (version, value) = value.value();
        let key: Key = key.value().parse().map_err(|error| format!("a record's name: {error}"))?;
        contents.push((key, value.to_vec(), version));
    }
    Ok(Table::new(revision, contents))
}

/// Has the file. The table is what is in it.
struct Writer {
    path: PathBuf,
    /// `None` after a failed write, until the file is open again.
    database: Option<Database>,
    table: Table,
    followers: Vec<mpsc::Sender<News>>,
    fault: Fault,
    /// When opening the file again was last tried.
    tried: Instant,
}

type Waiting = (oneshot::Sender<Result<Outcome, StoreError>>, Outcome);

impl Writer {
    fn run(mut self, queue: &blocking::Receiver<Job>) {
        loop {
            let wait = if self.database.is_some() { Duration::MAX } else { REOPEN };
            let first = match queue.recv_timeout(wait) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.database.is_none() && self.tried.elapsed() >= REOPEN {
                self.reopen();
            }
            let mut batch = Vec::new();
            for job in first.into_iter().chain(queue.try_iter()).take(BATCH) {
                match job {
                    Job::Commit(transaction, answer) => batch.push((transaction, answer)),
                    Job::Follow(follower) => {
                        // What was asked for before is told as contents, what comes after as changes.
                        self.write(std::mem::take(&mut batch));
                        self.follow(follower);
                    }
                }
            }
            self.write(batch);
        }
    }

    /// After a failed write.
    fn close(&mut self, error: &StoreError) {
        tracing::error!(%error, "the lease store failed; it is opened again once a second");
        self.database = None;
        self.tried = Instant::now();
        *self.fault.lock() = Some(error.clone());
        let news = News::Interrupted(error.to_string());
        self.followers.retain(|follower| follower.blocking_send(news.clone()).is_ok());
    }

    fn reopen(&mut self) {
        self.tried = Instant::now();
        match open(&self.path) {
            Ok((database, table)) => {
                (self.database, self.table) = (Some(database), table);
                *self.fault.lock() = None;
                tracing::info!(path = %self.path.display(), "the lease store works again");
                for follower in std::mem::take(&mut self.followers) {
                    self.follow(follower);
                }
            }
            Err(error) => *self.fault.lock() = Some(error),
        }
    }

    fn follow(&mut self, follower: mpsc::Sender<News>) {
        if let Err(error) = self.fault.check() {
            // The contents follow when the file is open again.
            if follower.blocking_send(News::Interrupted(error.to_string())).is_ok() {
                self.followers.push(follower);
            }
            return;
        }
        let records = self.table.contents().collect();
        if follower.blocking_send(News::Contents { revision: self.table.revision(), records }).is_ok() {
            self.followers.push(follower);
        }
    }

    fn write(&mut self, batch: Vec<(Transaction, oneshot::Sender<Result<Outcome, StoreError>>)>) {
        if batch.is_empty() {
            return;
        }
        if let Err(error) = self.fault.check() {
            for (_, answer) in batch {
                // Whoever asked may have gone away.
                _ = answer.send(Err(error.clone()));
            }
            return;
        }
        let mut waiting: Vec<Waiting> = Vec::with_capacity(batch.len());
        let mut done: Vec<(Transaction, u64)> = Vec::new();
        for (transaction, answer) in batch {
            let outcome = self.table.commit(&transaction);
            if let Outcome::Committed(version) = outcome
                && !transaction.is_check()
            {
                done.push((transaction, version));
            }
            waiting.push((answer, outcome));
        }
        if let Err(error) = self.persist(&done) {
            let error = failure(&self.path, &format!("cannot write: {error}"));
            self.close(&error);
            for (answer, _) in waiting {
                _ = answer.send(Err(error.clone()));
            }
            return;
        }
        for (transaction, version) in &done {
            let news = News::Changes { revision: *version, changes: transaction.changes(*version) };
            self.followers.retain(|follower| follower.blocking_send(news.clone()).is_ok());
        }
        for (answer, outcome) in waiting {
            _ = answer.send(Ok(outcome));
        }
    }

    /// Returns when it is on the disk.
    fn persist(&self, done: &[(Transaction, u64)]) -> Result<(), redb::Error> {
        let (Some((_, revision)), Some(database)) = (done.last(), &self.database) else { return Ok(()) };
        let write = database.begin_write()?;
        {
            let mut records = write.open_table(RECORDS)?;
            for (transaction, version) in done {
                for (key, value) in &transaction.put {
                    records.insert(key.to_string().as_str(), (*version, &value[..]))?;
                }
                for key in &transaction.delete {
                    records.remove(key.to_string().as_str())?;
                }
            }
            write.open_table(META)?.insert("revision", *revision)?;
        }
        write.commit()?;
        Ok(())
    }
}

#[async_trait]
impl Store for Embedded {
    async fn commit(&self, transaction: &Transaction) -> Result<Outcome, StoreError> {
        let ended = || StoreError::File("the store's thread has stopped".into());
        let (answer, outcome) = oneshot::channel();
        let job = Job::Commit(transaction.clone(), answer);
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(ended)?;
        outcome.await.map_err(|_| ended())?
    }

    fn follow(&self) -> mpsc::Receiver<News> {
        let (sender, receiver) = mpsc::channel(NEWS);
        // If the thread has ended, the receiver ends too.
        _ = self.jobs.as_ref().map(|jobs| jobs.send(Job::Follow(sender)));
        receiver
    }

    async fn announce(&self, member: Member) -> Result<Presence, StoreError> {
        self.fault.check()?;
        let (end, ended) = oneshot::channel();
        let members = Arc::clone(&self.members);
        let name = member.name.to_string();
        members.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), member);
        tokio::spawn(async move {
            // Either way the gateway has gone.
            _ = ended.await;
            members.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        });
        Ok(Presence { _end: end })
    }

    async fn members(&self) -> Result<Vec<Member>, StoreError> {
        self.fault.check()?;
        Ok(self.members.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect())
    }
}
