//! To a folder: parts are written into an incomplete file, which gets its name when all of them are there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;

use super::{Expected, Log, PARTS, differs, short};
use crate::engine::{Event, Shared, Step, Turn, Writes};
use crate::error::SyncError;
use crate::journal::{Done, Header, Journal};
use crate::local::{self, Paths};
use crate::parts::Parts;
use crate::plan::{Entry, Stamp};
use crate::sums::{Hasher, Sums, Verified};

/// What is written to a file at once.
const WRITE: usize = 256 << 10;
/// Memory of a part that is on its way to a file: what is written at once, as much again in the HTTP client, and what the allocator
/// keeps of earlier pieces. With a third less, 128 parts at a time took 126 MB.
pub(crate) const MEMORY: u64 = 3 * WRITE as u64;

/// An incomplete file. That of a small object is opened when it is written: switching to another thread costs more than the system
/// calls do.
struct Incomplete {
    paths: Paths,
    opened: OnceLock<File>,
}

impl Incomplete {
    /// The file, which is created if it was not opened before.
    fn open(&self) -> io::Result<&File> {
        match self.opened.get() {
            Some(file) => Ok(file),
            None => {
                let file = local::create(&self.paths)?;
                Ok(self.opened.get_or_init(|| file))
            }
        }
    }

    /// Opens what an earlier run left, and returns its journal.
    fn resume(&self, name: &str, source: &Stamp) -> io::Result<Option<Journal>> {
        let (file, journal) = local::resume(&self.paths, name, source)?;
        self.opened.get_or_init(|| file);
        Ok(journal)
    }
}

impl Shared {
    /// Writes an object to a file.
    pub(super) async fn receive(
        &self,
        entry: &Entry,
        root: &Path,
        writes: &Writes,
        mut turn: Turn<'_>,
    ) -> Result<(Stamp, Verified), SyncError> {
        let label = self.dest.label_of(&entry.name);
        let failed = |error: &io::Error| SyncError::io(&label, error);
        let file = Arc::new(Incomplete { paths: Paths::of(root, &entry.name), opened: OnceLock::new() });
        let paths = &file.paths;
        let before = if self.is_whole(entry) && !self.resumes.load(Ordering::Relaxed) {
            None
        } else {
            self.step(Step::Write).await;
            let (name, stamp, at) = (entry.name.clone(), entry.stamp.clone(), Arc::clone(&file));
            let resumed = writes.run(move || at.resume(&name, &stamp)).await;
            resumed.map_err(|error| failed(&error))?
        };
        let parts = match &before {
            Some(journal) => Parts::exactly(entry.stamp.size, journal.header.part),
            None => Parts::of(entry.stamp.size, self.part()),
        };
        let count = parts.count();
        let (sums, expected) = if count == 1 {
            let mut slot = match turn.slot.take() {
                Some(slot) => slot,
                None => self.slot().await,
            };
            let opened = self.open(entry, None, false).await?;
            let expected = Expected { reported: opened.reported, recorded: opened.recorded };
            let sums = self.store_part(opened.bytes, &file, 0..entry.stamp.size, &label, writes).await?;
            slot.moved(sums.length);
            (sums, expected)
        } else {
            // A journal with smaller parts.
            drop(turn);
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
                    let range = parts.range(n);
                    let _memory = self.memory((range.end - range.start).min(MEMORY)).await;
                    let mut slot = self.slot().await;
                    let opened = self.open(entry, Some(range.clone()), false).await?;
                    let sums = self.store_part(opened.bytes, file, range, label, writes).await?;
                    slot.moved(sums.length);
                    drop(slot);
                    self.step(Step::Journal).await;
                    log.add(Done { n, sums, receipt: None, md5: false })
                        .map_err(|error| SyncError::io(label, &error))
                }
            };
            stream::iter(missing)
                .map(fetch)
                .buffer_unordered(self.options.connections.min(PARTS))
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
        self.step(Step::Finish).await;
        let modified = entry.stamp.modified;
        let whole = Arc::clone(&file);
        let finished = writes.run(move || local::finish(whole.open()?, &whole.paths, modified)).await;
        let stamp = finished.map_err(|error| failed(&error))?;
        if count > 1 {
            self.step(Step::Journal).await;
            local::remove(&paths.journal).map_err(|error| failed(&error))?;
        }
        if let Some(folder) = paths.whole.parent() {
            self.touched.lock().insert(folder.to_owned());
        }
        Ok((stamp, verified))
    }

    /// Writes the bytes of one part to their place in the file.
    async fn store_part(
        &self,
        mut bytes: BoxStream<'static, Result<Bytes, SyncError>>,
        file: &Arc<Incomplete>,
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
                        let file = match file.open() {
                            Ok(file) => file,
                            Err(error) => return (Err(error), hasher),
                        };
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
}
