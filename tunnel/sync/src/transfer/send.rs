//! To a store: one request, or an upload in parts, whose sums are compared with those of the store.

use std::fs::File;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{Attribute, Attributes, GetOptions, PutMode, PutMultipartOptions, PutOptions, PutPayload};
use parking_lot::Mutex;

use super::{Expected, Log, PARTS, blocking, differs, short};
use crate::engine::{Event, Shared, Step, Turn};
use crate::error::{Kind, SyncError};
use crate::journal::{Done, Header, Journal};
use crate::local;
use crate::parts::{self, Parts};
use crate::place::{self, Remote};
use crate::plan::{Entry, Stamp};
use crate::sums::{Hasher, METADATA, Reported, Sums, Verified, names_md5};

/// In the receipt of a part whose CRC-64/NVME the store has computed. Then it has that of the object, too.
const CRC64: &str = "<ChecksumCRC64NVME>";

impl Shared {
    /// Writes an object to a store.
    pub(super) async fn send(
        &self,
        entry: &Entry,
        remote: &Remote,
        mut turn: Turn<'_>,
    ) -> Result<(Stamp, Verified), SyncError> {
        let label = self.dest.label_of(&entry.name);
        let path = remote.path(&entry.name)?;
        let parts = Parts::of(entry.stamp.size, self.part());
        if parts.part() > parts::LARGEST {
            return Err(SyncError::new(label, "is too large: an upload has at most 10,000 parts of 96 MiB")
                .hint("split the file"));
        }
        if parts.count() > 1 {
            return self.send_parts(entry, remote, &path, parts, &label).await;
        }
        let opened = self.open(entry, None, false).await?;
        let expected = Expected { reported: opened.reported, recorded: opened.recorded };
        let (pieces, sums) = self.collect(opened.bytes, entry.stamp.size, &label).await?;
        self.unchanged(entry).await?;
        expected.confirms(sums).map_err(|()| differs(&self.source.label_of(&entry.name)))?;
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata(METADATA.into()), format!("{:016x}", sums.crc64).into());
        let options = PutOptions { mode: PutMode::Overwrite, attributes, ..PutOptions::default() };
        self.step(Step::Request).await;
        let put = remote.write.put_opts(&path, pieces.clone(), options).await;
        let put = put.map_err(|error| SyncError::store(&label, &error))?;
        self.progress.event(&Event::Bytes(sums.length));
        let mut reported = put.extensions.get::<Reported>().copied().unwrap_or_default();
        if let (None, Some(tag)) = (reported.agrees(sums), put.e_tag.clone()) {
            reported.md5 = blocking(move || names_md5(&tag, &pieces)).await;
        }
        let stamp = Stamp { size: sums.length, modified: 0, etag: put.e_tag };
        let confirmed = self.confirm(remote, &path, &label, stamp, sums, reported).await?;
        if let Some(slot) = &mut turn.slot {
            slot.moved(sums.length);
        }
        Ok(confirmed)
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
                let stamp = Stamp { size: entry.stamp.size, modified: 0, etag: put.e_tag };
                let reported = Reported { md5: log.confirmed(), ..Reported::default() };
                let confirmed = self.confirm(remote, path, label, stamp, sums, reported).await;
                self.step(Step::Journal).await;
                local::remove(&file).map_err(|error| failed(&error))?;
                confirmed
            }
            Err(error) if error.kind == Kind::Unreached => Err(error),
            Err(error) => {
                // The answer to an earlier completion may have been lost.
                if error.kind == Kind::Forgotten
                    && let Some((stamp, reported)) = self.present(remote, path, sums).await
                    && let Some((true, how)) = reported.agrees(sums)
                {
                    self.step(Step::Journal).await;
                    local::remove(&file).map_err(|error| failed(&error))?;
                    return Ok((stamp, how));
                }
                self.step(Step::Request).await;
                // Kept parts would cost money, and the reason of the failure may be in them.
                _ = remote.write.abort_multipart(path, &upload).await;
                local::remove(&file).map_err(|error| failed(&error))?;
                let kind = if resumed || error.kind == Kind::Forgotten { Kind::Changed } else { error.kind };
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
            let _memory = self.part_memory(length).await;
            let mut slot = self.slot().await;
            let opened = self.open(entry, Some(range), false).await?;
            let (pieces, sums) = self.collect(opened.bytes, length, label).await?;
            self.step(Step::Request).await;
            let put = remote.write.put_part(path, upload, n as usize, pieces.clone()).await;
            let receipt = put.map_err(|error| SyncError::store(label, &error))?.content_id;
            slot.moved(length);
            drop(slot);
            self.progress.event(&Event::Bytes(length));
            let md5 = match remote.keeps_crc || receipt.contains(CRC64) {
                true => false,
                false => {
                    let receipt = receipt.clone();
                    blocking(move || names_md5(&receipt, &pieces)).await
                }
            };
            self.step(Step::Journal).await;
            log.add(Done { n, sums, receipt: Some(receipt), md5 })
                .map_err(|error| SyncError::io(label, &error))
        };
        let most = self.options.connections.min(PARTS);
        stream::iter(missing).map(send).buffer_unordered(most).try_collect::<()>().await
    }

    /// Compares our sums with the store's: those of its answer, else those it reports on request, else by reading again.
    async fn confirm(
        &self,
        remote: &Remote,
        path: &Path,
        label: &str,
        mut stamp: Stamp,
        sums: Sums,
        mut reported: Reported,
    ) -> Result<(Stamp, Verified), SyncError> {
        let read = |head: bool, tag: &Option<String>| GetOptions {
            head,
            if_match: tag.clone(),
            ..GetOptions::default()
        };
        let failed = |error: &object_store::Error| SyncError::store(label, error);
        if reported.agrees(sums).is_none() {
            self.step(Step::Request).await;
            match remote.read.get_opts(path, read(true, &stamp.etag)).await {
                Ok(head) => reported = head.extensions.get::<Reported>().copied().unwrap_or_default(),
                // Google gives an object of parts another tag than its completion. One of another size is somebody else's.
                Err(error @ object_store::Error::Precondition { .. }) => {
                    let present = self.present(remote, path, sums).await;
                    (stamp, reported) = present.ok_or_else(|| failed(&error))?;
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        let (right, how) = match reported.agrees(sums) {
            Some(found) => found,
            None => {
                self.step(Step::Request).await;
                let got = remote
                    .read
                    .get_opts(path, read(false, &stamp.etag))
                    .await
                    .map_err(|error| failed(&error))?;
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

    /// What the store has now, if it has as many bytes.
    async fn present(&self, remote: &Remote, path: &Path, sums: Sums) -> Option<(Stamp, Reported)> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        self.step(Step::Request).await;
        let head = remote.read.get_opts(path, options).await.ok()?;
        let reported = head.extensions.get::<Reported>().copied().unwrap_or_default();
        (head.meta.size == sums.length).then(|| (place::stamp(&head.meta), reported))
    }
}
