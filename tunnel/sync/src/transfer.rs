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

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, PutMode, PutMultipartOptions, PutOptions, PutPayload,
};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::engine::{Event, Shared, Step, Writes};
use crate::error::{Kind, SyncError};
use crate::index::Record;
use crate::journal::{self, Done, Header, Journal};
use crate::local::{self, Paths};
use crate::parts::{self, Parts};
use crate::place::{self, Place, Remote};
use crate::plan::{Entry, Stamp};
use crate::sums::{Hasher, METADATA, Reported, Sums, Verified};

/// How often an object that keeps changing starts again.
const RESTARTS: usize = 5;
/// What is written to a file at once.
const WRITE: usize = 256 << 10;
/// What is read from a file at once.
const READ: u64 = 1 << 20;

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
    pub(crate) async fn object(&self, mut entry: Entry) -> Result<(Entry, Verified), SyncError> {
        let mut restarts = 0;
        let writes = self.writes();
        loop {
            let done = match &self.dest {
                Place::Folder(root) => self.receive(&entry, root, &writes).await,
                Place::Store(remote) => self.send(&entry, remote).await,
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
                    read_file(root.join(&entry.name), label, range)
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
                if !place::stamp(&got.meta).is(&entry.stamp) {
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

    /// Writes an object to a file.
    async fn receive(
        &self,
        entry: &Entry,
        root: &FilePath,
        writes: &Writes,
    ) -> Result<(Stamp, Verified), SyncError> {
        let label = self.dest.label_of(&entry.name);
        let failed = |error: &std::io::Error| SyncError::io(&label, error);
        let paths = Paths::of(root, &entry.name);
        self.step(Step::Write).await;
        let (name, stamp, at) = (entry.name.clone(), entry.stamp.clone(), paths.clone());
        let opened = writes.run(move || local::resume(&at, &name, &stamp)).await;
        let (file, before) = opened.map_err(|error| failed(&error))?;
        let file = Arc::new(file);
        let parts = match &before {
            Some(journal) => Parts::exactly(entry.stamp.size, journal.header.part),
            None => Parts::of(entry.stamp.size, self.options.part),
        };
        let count = parts.count();
        let (sums, expected) = if count == 1 {
            let _connection = self.connection().await;
            let opened = self.open(entry, None, false).await?;
            let expected = Expected { reported: opened.reported, recorded: opened.recorded };
            (self.store_part(opened.bytes, &file, 0..entry.stamp.size, &label, writes).await?, expected)
        } else {
            let head = self.open(entry, None, true).await?;
            let expected = Expected { reported: head.reported, recorded: head.recorded };
            let header = Header {
                name: entry.name.clone(),
                source: entry.stamp.clone(),
                part: parts.part(),
                upload: None,
            };
            let journal = before.unwrap_or(Journal { header, done: std::collections::BTreeMap::new() });
            let already: u64 = journal.done.values().map(|done| done.sums.length).sum();
            self.progress.event(&Event::Resumed { name: &entry.name, bytes: already });
            self.step(Step::Journal).await;
            let lines = local::journal(&paths.journal, &journal).map_err(|error| failed(&error))?;
            let log = Log(Mutex::new((journal, lines)));
            let missing: Vec<u32> = (0..count).filter(|n| !log.has(*n)).collect();
            let fetch = |n: u32| {
                let (log, file, label) = (&log, &file, &label);
                async move {
                    let _connection = self.connection().await;
                    let range = parts.range(n);
                    let opened = self.open(entry, Some(range.clone()), false).await?;
                    let sums = self.store_part(opened.bytes, file, range, label, writes).await?;
                    self.step(Step::Journal).await;
                    log.add(Done { n, sums, receipt: None }).map_err(|error| SyncError::io(label, &error))
                }
            };
            stream::iter(missing)
                .map(fetch)
                .buffer_unordered(self.options.connections)
                .try_collect::<()>()
                .await?;
            (log.sums(), expected)
        };
        self.unchanged(entry).await?;
        let Ok(verified) = expected.confirms(sums) else {
            // Whatever is on disk is not the object.
            local::remove(&paths.journal).map_err(|error| failed(&error))?;
            local::remove(&paths.partial).map_err(|error| failed(&error))?;
            return Err(differs(&label));
        };
        self.step(Step::Seal).await;
        let modified = entry.stamp.modified;
        writes.run(move || local::seal(&file, modified)).await.map_err(|error| failed(&error))?;
        self.step(Step::Rename).await;
        std::fs::rename(&paths.partial, &paths.whole).map_err(|error| failed(&error))?;
        self.step(Step::Journal).await;
        if count > 1 {
            local::remove(&paths.journal).map_err(|error| failed(&error))?;
        }
        if let Some(folder) = paths.whole.parent() {
            self.touched.lock().insert(folder.to_owned());
        }
        Ok((local::stamp(&paths.whole).map_err(|error| failed(&error))?, verified))
    }

    /// Writes the bytes of one part to their place in the file.
    async fn store_part(
        &self,
        mut bytes: BoxStream<'static, Result<Bytes, SyncError>>,
        file: &Arc<File>,
        range: std::ops::Range<u64>,
        label: &str,
        writes: &Writes,
    ) -> Result<Sums, SyncError> {
        let mut hasher = Hasher::default();
        let (mut at, mut waiting, mut pieces) = (range.start, 0, Vec::new());
        loop {
            let next = bytes.try_next().await?;
            let ended = next.is_none();
            if let Some(piece) = next {
                self.pace(piece.len() as u64).await;
                self.progress.event(&Event::Bytes(piece.len() as u64));
                waiting += piece.len();
                pieces.push(piece);
            }
            if waiting >= WRITE || (ended && waiting > 0) {
                self.step(Step::Write).await;
                let (file, write) = (Arc::clone(file), std::mem::take(&mut pieces));
                let length = std::mem::take(&mut waiting) as u64;
                let (written, back) = writes
                    .run(move || {
                        let mut to = at;
                        for piece in &write {
                            hasher.update(piece);
                            if let Err(error) = file.write_all_at(piece, to) {
                                return (Err(error), hasher);
                            }
                            to += piece.len() as u64;
                        }
                        (Ok(()), hasher)
                    })
                    .await;
                written.map_err(|error| SyncError::io(label, &error))?;
                hasher = back;
                at += length;
            }
            if ended {
                break;
            }
        }
        if at == range.end { Ok(hasher.sums()) } else { Err(short(label)) }
    }

    /// Writes an object to a store.
    async fn send(&self, entry: &Entry, remote: &Remote) -> Result<(Stamp, Verified), SyncError> {
        let label = self.dest.label_of(&entry.name);
        let path = remote.path(&entry.name)?;
        // Parts of an upload have a lower limit.
        let parts = Parts::of(entry.stamp.size, self.options.part.max(self.options.smallest));
        if parts.part() > parts::LARGEST {
            return Err(SyncError::new(label, "is too large: an upload has at most 10,000 parts of 96 MiB")
                .hint("split the file"));
        }
        if parts.count() > 1 {
            return self.send_parts(entry, remote, &path, parts, &label).await;
        }
        let _memory = self.memory(entry.stamp.size).await;
        let _connection = self.connection().await;
        let opened = self.open(entry, None, false).await?;
        let expected = Expected { reported: opened.reported, recorded: opened.recorded };
        let (pieces, sums) = self.collect(opened.bytes, entry.stamp.size, &label).await?;
        self.unchanged(entry).await?;
        expected.confirms(sums).map_err(|()| differs(&self.source.label_of(&entry.name)))?;
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata(METADATA.into()), format!("{:016x}", sums.crc64).into());
        let options = PutOptions { mode: PutMode::Overwrite, attributes, ..PutOptions::default() };
        self.step(Step::Request).await;
        let put = remote.write.put_opts(&path, pieces, options).await;
        let put = put.map_err(|error| SyncError::store(&label, &error))?;
        let reported = put.extensions.get::<Reported>().copied().unwrap_or_default();
        let stamp = Stamp { size: sums.length, modified: 0, etag: put.e_tag };
        self.confirm(remote, &path, &label, stamp, sums, reported).await
    }

    /// The bytes of one part in memory.
    async fn collect(
        &self,
        mut bytes: BoxStream<'static, Result<Bytes, SyncError>>,
        length: u64,
        label: &str,
    ) -> Result<(PutPayload, Sums), SyncError> {
        let (mut hasher, mut pieces) = (Hasher::default(), Vec::new());
        while let Some(piece) = bytes.try_next().await? {
            self.pace(piece.len() as u64).await;
            hasher.update(&piece);
            pieces.push(piece);
        }
        let sums = hasher.sums();
        if sums.length == length { Ok((pieces.into_iter().collect(), sums)) } else { Err(short(label)) }
    }

    async fn send_parts(
        &self,
        entry: &Entry,
        remote: &Remote,
        path: &Path,
        parts: Parts,
        label: &str,
    ) -> Result<(Stamp, Verified), SyncError> {
        let head = self.open(entry, None, true).await?;
        let expected = Expected { reported: head.reported, recorded: head.recorded };
        let file = self.upload_journal(&entry.name);
        let failed = |error: &std::io::Error| SyncError::io(file.display().to_string(), error);
        let before = local::text(&file).map_err(|error| failed(&error))?;
        let before = Journal::parse(&before).filter(|journal| journal.header.upload.is_some());
        let (before, outdated) = match before {
            Some(journal) if journal.is_about(&entry.name, &entry.stamp) => (Some(journal), None),
            other => (None, other.filter(|journal| journal.header.name == entry.name)),
        };
        if let Some(upload) = outdated.and_then(|journal| journal.header.upload) {
            self.step(Step::Request).await;
            // The store may have forgotten it.
            _ = remote.write.abort_multipart(path, &upload).await;
        }
        let resumed = before.is_some();
        let journal = match before {
            Some(journal) => journal,
            None => {
                self.step(Step::Request).await;
                let upload = remote.write.create_multipart_opts(path, PutMultipartOptions::default()).await;
                let upload = Some(upload.map_err(|error| SyncError::store(label, &error))?);
                let header = Header {
                    name: entry.name.clone(),
                    source: entry.stamp.clone(),
                    part: parts.part(),
                    upload,
                };
                let journal = Journal { header, done: std::collections::BTreeMap::new() };
                // Nothing comes between: an upload that no journal names is never completed.
                local::journal(&file, &journal).map_err(|error| failed(&error))?;
                journal
            }
        };
        let parts = Parts::exactly(entry.stamp.size, journal.header.part);
        let upload = journal.header.upload.clone().unwrap_or_default();
        let already: u64 = journal.done.values().map(|done| done.sums.length).sum();
        self.progress.event(&Event::Resumed { name: &entry.name, bytes: already });
        let lines = File::options().append(true).open(&file).map_err(|error| failed(&error))?;
        let log = Log(Mutex::new((journal, lines)));
        let done = self.upload_parts(entry, remote, path, parts, &upload, &log, label).await;
        let sums = log.sums();
        let done = match done {
            Ok(()) if self.unchanged(entry).await.is_err() => {
                Err(SyncError::changed(self.source.label_of(&entry.name)))
            }
            Ok(()) => {
                expected.confirms(sums).map(drop).map_err(|()| differs(&self.source.label_of(&entry.name)))
            }
            failed => failed,
        };
        let completed = match done {
            Ok(()) => {
                self.step(Step::Request).await;
                let completed = remote.write.complete_multipart(path, &upload, log.receipts()).await;
                completed.map_err(|error| SyncError::store(label, &error))
            }
            Err(error) => Err(error),
        };
        match completed {
            Ok(put) => {
                let reported = put.extensions.get::<Reported>().copied().unwrap_or_default();
                let stamp = Stamp { size: entry.stamp.size, modified: 0, etag: put.e_tag };
                let confirmed = self.confirm(remote, path, label, stamp, sums, reported).await;
                self.step(Step::Journal).await;
                local::remove(&file).map_err(|error| failed(&error))?;
                confirmed
            }
            Err(error) if error.kind == Kind::Unreached => Err(error),
            Err(error) => {
                self.step(Step::Request).await;
                // Kept parts would cost money, and the reason of the failure may be in them.
                _ = remote.write.abort_multipart(path, &upload).await;
                local::remove(&file).map_err(|error| failed(&error))?;
                // An upload from an earlier run may have expired: S3 answers NoSuchUpload.
                let kind = if resumed { Kind::Changed } else { error.kind };
                Err(SyncError { kind, ..error })
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all that one upload is")]
    async fn upload_parts(
        &self,
        entry: &Entry,
        remote: &Remote,
        path: &Path,
        parts: Parts,
        upload: &String,
        log: &Log,
        label: &str,
    ) -> Result<(), SyncError> {
        let missing: Vec<u32> = (0..parts.count()).filter(|n| !log.has(*n)).collect();
        let send = |n: u32| async move {
            let range = parts.range(n);
            let length = range.end - range.start;
            let _memory = self.memory(length).await;
            let _connection = self.connection().await;
            let opened = self.open(entry, Some(range), false).await?;
            let (pieces, sums) = self.collect(opened.bytes, length, label).await?;
            self.step(Step::Request).await;
            let put = remote.write.put_part(path, upload, n as usize, pieces).await;
            let receipt = Some(put.map_err(|error| SyncError::store(label, &error))?.content_id);
            self.progress.event(&Event::Bytes(length));
            self.step(Step::Journal).await;
            log.add(Done { n, sums, receipt }).map_err(|error| SyncError::io(label, &error))
        };
        stream::iter(missing).map(send).buffer_unordered(self.options.connections).try_collect::<()>().await
    }

    /// Compares our sums with the store's: those of its answer, else those it reports on request, else by reading again.
    async fn confirm(
        &self,
        remote: &Remote,
        path: &Path,
        label: &str,
        stamp: Stamp,
        sums: Sums,
        mut reported: Reported,
    ) -> Result<(Stamp, Verified), SyncError> {
        let read = |head: bool| GetOptions { head, if_match: stamp.etag.clone(), ..GetOptions::default() };
        let failed = |error: &object_store::Error| SyncError::store(label, error);
        if reported.agrees(sums).is_none() {
            self.step(Step::Request).await;
            let head = remote.read.get_opts(path, read(true)).await.map_err(|error| failed(&error))?;
            reported = head.extensions.get::<Reported>().copied().unwrap_or_default();
        }
        let (right, how) = match reported.agrees(sums) {
            Some(found) => found,
            None => {
                self.step(Step::Request).await;
                let got = remote.read.get_opts(path, read(false)).await.map_err(|error| failed(&error))?;
                let mut bytes = got.into_stream();
                let mut hasher = Hasher::default();
                while let Some(piece) = bytes.try_next().await.map_err(|error| failed(&error))? {
                    hasher.update(&piece);
                }
                (hasher.sums() == sums, Verified::Reread)
            }
        };
        if right {
            return Ok((stamp, how));
        }
        // Nobody may take it for the object.
        _ = object_store::ObjectStoreExt::delete(remote.write.as_ref(), path).await;
        Err(differs(label))
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
) -> BoxStream<'static, Result<Bytes, SyncError>> {
    let begin = (None::<Arc<File>>, range.start);
    let next = move |(file, at): (Option<Arc<File>>, u64)| {
        let (path, label, end) = (path.clone(), label.clone(), range.end);
        async move {
            if at >= end {
                return Ok(None);
            }
            let read = blocking(move || {
                let file = match file {
                    Some(file) => file,
                    None => Arc::new(File::open(&path)?),
                };
                let mut buffer = vec![0; usize::try_from((end - at).min(READ)).unwrap_or_default()];
                file.read_exact_at(&mut buffer, at)?;
                Ok::<_, std::io::Error>((file, Bytes::from(buffer)))
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
