//! The transfer of one object.
//!
//! ```text
//! to a folder   journal? ─ resume ─► missing parts ─► sums agree? ─► sync ─► rename ─► index
//!                                     each: GET If-Match ─► partial file ─► journal
//! to a store    one part: PUT with checksum
//!               more:     journal? ─ resume ─► missing parts ─► complete ─► sums agree? ─► index
//! ```
//!
//! A source that changes meanwhile starts the object again. Wherever this is killed, the next run continues.

mod receive;
mod send;

pub(crate) use receive::MEMORY as RECEIVING;

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::{Attribute, GetOptions, GetRange};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::buffers::{self, Buffers};
use crate::engine::{Event, Shared, Step, Turn};
use crate::error::{Kind, SyncError};
use crate::index::Record;
use crate::journal::{self, Done, Journal};
use crate::local;
use crate::place::{self, Place};
use crate::plan::{Entry, Stamp};
use crate::sums::{METADATA, Reported, Sums, Verified};

/// How often an object that keeps changing starts again.
const RESTARTS: usize = 5;
/// Parts of one object that wait at the same time.
const PARTS: usize = 64;

/// A file or object that is being read.
struct Opened {
    bytes: BoxStream<'static, Result<Bytes, SyncError>>,
    reported: Reported,
    recorded: Option<u64>,
}

/// What is known about the source's checksum before its bytes arrive.
#[derive(Default, Clone, Copy)]
struct Expected {
    reported: Reported,
    recorded: Option<u64>,
}

impl Expected {
    /// How the sums were confirmed, if they are right.
    fn confirms(self, sums: Sums) -> Result<Verified, ()> {
        match (self.reported.agrees(sums), self.recorded) {
            (Some((true, how)), _) => Ok(how),
            (None, Some(sum)) if sum == sums.crc64 => Ok(Verified::Metadata),
            (None, None) => Ok(Verified::Size),
            _ => Err(()),
        }
    }
}

impl Shared {
    /// Transfers one object, from the beginning or from where an earlier run stopped.
    pub(crate) async fn object(
        &self,
        mut entry: Entry,
        mut turn: Option<Turn<'_>>,
    ) -> Result<(Entry, Verified), SyncError> {
        let mut restarts = 0;
        let writes = self.writes();
        loop {
            let turn = match turn.take() {
                Some(turn) => turn,
                None => self.turn(&entry).await,
            };
            let done = match &self.dest {
                Place::Folder(root) => self.receive(&entry, root, &writes, turn).await,
                Place::Store(remote) => self.send(&entry, remote, turn).await,
            };
            match done {
                Ok((dest, verified)) => {
                    self.record(&entry, dest).await?;
                    return Ok((entry, verified));
                }
                Err(error) if error.kind == Kind::Changed && restarts < RESTARTS => {
                    restarts += 1;
                    // The first part that fails drops the others.
                    writes.settled().await;
                    entry.stamp = self.current(&entry.name).await?;
                    self.progress.event(&Event::Restarted { name: &entry.name });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The present version of the source.
    async fn current(&self, name: &str) -> Result<Stamp, SyncError> {
        let label = self.source.label_of(name);
        match &self.source {
            Place::Folder(root) => {
                local::stamp(&root.join(name)).map_err(|error| SyncError::io(label, &error))
            }
            Place::Store(remote) => {
                let options = GetOptions { head: true, ..GetOptions::default() };
                self.step(Step::Request).await;
                let found = remote.read.get_opts(&remote.path(name)?, options).await;
                found.map(|found| place::stamp(&found.meta)).map_err(|error| SyncError::store(label, &error))
            }
        }
    }

    /// Reads a part of the source in the version of `entry`; all of it without a range, which also works if it is empty.
    async fn open(
        &self,
        entry: &Entry,
        range: Option<std::ops::Range<u64>>,
        head: bool,
    ) -> Result<Opened, SyncError> {
        let label = self.source.label_of(&entry.name);
        match &self.source {
            Place::Folder(root) => {
                let range = range.unwrap_or(0..entry.stamp.size);
                let bytes = if head {
                    stream::empty().boxed()
                } else {
                    read_file(root.join(&entry.name), label, range, self.buffers.clone())
                };
                Ok(Opened { bytes, reported: Reported::default(), recorded: None })
            }
            Place::Store(remote) => {
                let length = range.as_ref().map_or(entry.stamp.size, |range| range.end - range.start);
                let options = GetOptions {
                    if_match: entry.stamp.etag.clone(),
                    range: range.map(GetRange::Bounded),
                    head,
                    ..GetOptions::default()
                };
                self.step(Step::Request).await;
                let got = remote.read.get_opts(&remote.path(&entry.name)?, options).await;
                let got = got.map_err(|error| match SyncError::store(&label, &error) {
                    // The range is beyond the end of a new version.
                    failed if error.to_string().contains("InvalidRange") => {
                        SyncError { kind: Kind::Changed, ..failed }
                    }
                    failed => failed,
                })?;
                // Servers that ignore If-Match are found out here.
                if !place::stamp(&got.meta).answers(&entry.stamp) {
                    return Err(SyncError::changed(label));
                }
                if !head && got.range.end - got.range.start != length {
                    return Err(SyncError::new(label, "the store returned another range than requested"));
                }
                let reported = got.extensions.get::<Reported>().copied().unwrap_or_default();
                let key = Attribute::Metadata(METADATA.into());
                let recorded =
                    got.attributes.get(&key).and_then(|text| u64::from_str_radix(text.as_ref(), 16).ok());
                let bytes = if head {
                    stream::empty().boxed()
                } else {
                    got.into_stream().map_err(move |error| SyncError::store(&label, &error)).boxed()
                };
                Ok(Opened { bytes, reported, recorded })
            }
        }
    }

    /// Whether the source is still in the version of `entry`. Stores were asked with each part.
    async fn unchanged(&self, entry: &Entry) -> Result<(), SyncError> {
        match &self.source {
            Place::Store(_) => Ok(()),
            Place::Folder(_) if self.current(&entry.name).await?.is(&entry.stamp) => Ok(()),
            Place::Folder(_) => Err(SyncError::changed(self.source.label_of(&entry.name))),
        }
    }

    /// Adds a transferred object to the index.
    async fn record(&self, entry: &Entry, dest: Stamp) -> Result<(), SyncError> {
        self.step(Step::Index).await;
        let record = Record { name: entry.name.clone(), source: entry.stamp.clone(), dest };
        let text = journal::line(&record);
        let mut index = self.index.lock();
        index
            .write_all(text.as_bytes())
            .map_err(|error| SyncError::io(self.state.display().to_string(), &error))
    }

    /// The journal of an upload.
    pub(crate) fn upload_journal(&self, name: &str) -> PathBuf {
        self.state.join("uploads").join(format!("{:016x}.jsonl", Sums::of(name.as_bytes()).crc64))
    }
}

/// A journal and the file that it is in.
struct Log(Mutex<(Journal, File)>);

impl Log {
    fn has(&self, n: u32) -> bool {
        self.0.lock().0.done.contains_key(&n)
    }

    fn add(&self, done: Done) -> std::io::Result<()> {
        let mut both = self.0.lock();
        both.1.write_all(journal::line(&done).as_bytes())?;
        both.0.done.insert(done.n, done);
        Ok(())
    }

    fn sums(&self) -> Sums {
        self.0.lock().0.done.values().fold(Sums::default(), |sums, done| sums.then(done.sums))
    }

    /// Whether the store has confirmed every part by its MD5.
    fn confirmed(&self) -> bool {
        self.0.lock().0.done.values().all(|done| done.md5)
    }

    fn receipts(&self) -> Vec<object_store::multipart::PartId> {
        let receipt = |done: &Done| object_store::multipart::PartId {
            content_id: done.receipt.clone().unwrap_or_default(),
        };
        self.0.lock().0.done.values().map(receipt).collect()
    }
}

fn differs(label: &str) -> SyncError {
    SyncError::new(label, "the checksum differs from the store's: the bytes changed on their way")
        .hint("run the command again; if this persists, something on the path or the disk changes data")
}

fn short(label: &str) -> SyncError {
    // A file that was truncated, or a store that ended a response early.
    SyncError { kind: Kind::Changed, ..SyncError::new(label, "the source ended early") }
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is ending, and with it this task.
        Err(_) => std::future::pending().await,
    }
}

fn read_file(
    path: PathBuf,
    label: String,
    range: std::ops::Range<u64>,
    buffers: Buffers,
) -> BoxStream<'static, Result<Bytes, SyncError>> {
    let begin = (None::<Arc<File>>, range.start);
    let next = move |(file, at): (Option<Arc<File>>, u64)| {
        let (path, label, end, buffers) = (path.clone(), label.clone(), range.end, buffers.clone());
        async move {
            if at >= end {
                return Ok(None);
            }
            let read = blocking(move || {
                let file = match file {
                    Some(file) => file,
                    None => Arc::new(File::open(&path)?),
                };
                let bytes = if end - at >= buffers::SIZE as u64 {
                    let mut buffer = buffers.take();
                    file.read_exact_at(buffer.as_mut(), at)?;
                    Bytes::from(buffer)
                } else {
                    let mut rest = vec![0; usize::try_from(end - at).unwrap_or_default()];
                    file.read_exact_at(&mut rest, at)?;
                    Bytes::from(rest)
                };
                Ok::<_, std::io::Error>((file, bytes))
            })
            .await;
            match read {
                Ok((file, bytes)) => {
                    let at = at + bytes.len() as u64;
                    Ok(Some((bytes, (Some(file), at))))
                }
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(short(&label)),
                Err(error) => Err(SyncError::io(label, &error)),
            }
        }
    };
    stream::try_unfold(begin, next).boxed()
}
