//! A store in memory that records requests, refuses what a continued transfer must not ask for, and reports checksums.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use md5::{Digest as _, Md5};
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartId, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use warren_sync::sums::{Reported, Sums};

/// The store.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) inner: InMemory,
    /// Whether it reports checksums.
    pub(crate) sums: bool,
    /// Parts that were done before: first byte of a range, or number of a part.
    pub(crate) done_reads: Mutex<BTreeSet<(String, u64)>>,
    pub(crate) done_writes: Mutex<BTreeSet<(String, usize)>>,
    /// Requests for them.
    pub(crate) repeated: Mutex<Vec<String>>,
    pub(crate) aborted: AtomicU64,
    /// Every answer with data differs from the object in one bit, this many times.
    pub(crate) corrupt: AtomicU64,
    /// How it serves requests; at once without it.
    pub(crate) service: Option<Service>,
    /// It lists objects without tags, with the time in nanoseconds. Answers have whole seconds.
    pub(crate) untagged: AtomicBool,
    /// Its tags and receipts are MD5.
    pub(crate) md5: AtomicBool,
    /// A permit for each page of a listing after the first. When it is closed, a listing fails.
    pub(crate) pages: Arc<Semaphore>,
}

/// Objects of a page.
const PAGE: usize = 2;

/// A store at a distance, with some workers that serve one request each.
#[derive(Debug)]
pub(crate) struct Service {
    round_trip: Duration,
    works: Duration,
    workers: Semaphore,
    waiting: AtomicUsize,
    /// The most requests that were there at the same time.
    pub(crate) most: AtomicUsize,
}

impl Service {
    pub(crate) fn new(round_trip: Duration, workers: usize, works: Duration) -> Self {
        let workers = Semaphore::new(workers);
        Self { round_trip, works, workers, waiting: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    async fn serve(&self) {
        tokio::time::sleep(self.round_trip).await;
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(waiting, Ordering::Relaxed);
        let _worker = self.workers.acquire().await;
        tokio::time::sleep(self.works).await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Recorder {
    pub(crate) fn new(sums: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: InMemory::new(),
            sums,
            done_reads: Mutex::default(),
            done_writes: Mutex::default(),
            repeated: Mutex::default(),
            aborted: AtomicU64::new(0),
            corrupt: AtomicU64::new(0),
            service: None,
            untagged: AtomicBool::new(false),
            md5: AtomicBool::new(false),
            pages: Arc::new(Semaphore::new(1_000_000)),
        })
    }

    async fn served(&self) {
        if let Some(service) = &self.service {
            service.serve().await;
        }
    }

    fn tag(&self, sent: &PutPayload) -> Option<String> {
        let bytes = sent.iter().flatten().copied().collect::<Vec<u8>>();
        self.md5.load(Ordering::Relaxed).then(|| {
            format!("\"{}\"", Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        })
    }

    async fn reported(&self, path: &Path) -> Result<Reported> {
        let bytes = self.inner.get(path).await?.bytes().await?;
        let sums = Sums::of(&bytes);
        Ok(Reported { crc32c: Some(sums.crc32c), ..Reported::default() })
    }
}

impl fmt::Display for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("recorder")
    }
}

#[async_trait]
impl ObjectStore for Recorder {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.served().await;
        let sums = payload.iter().fold(Sums::default(), |sums, piece| sums.then(Sums::of(piece)));
        let tag = self.tag(&payload);
        let mut put = self.inner.put_opts(path, payload, options).await?;
        put.e_tag = tag.or(put.e_tag);
        if self.service.is_some() {
            put.extensions.insert(Reported { crc32c: Some(sums.crc32c), ..Reported::default() });
        }
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        if let Some(GetRange::Bounded(range)) = &options.range
            && self.done_reads.lock().contains(&(path.to_string(), range.start))
        {
            self.repeated.lock().push(format!("read {path} {range:?}"));
        }
        let whole = options.range.is_none() && !options.head;
        self.served().await;
        let mut got = self.inner.get_opts(path, options).await?;
        if self.untagged.load(Ordering::Relaxed) {
            let time = got.meta.last_modified;
            got.meta.last_modified -= Duration::from_nanos(time.timestamp_subsec_nanos().into());
        }
        if self.sums {
            got.extensions.insert(self.reported(path).await?);
        }
        let more = self.corrupt.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if whole && more.is_ok() {
            let (meta, range) = (got.meta.clone(), got.range.clone());
            let (attributes, extensions) = (got.attributes.clone(), got.extensions.clone());
            let mut bytes = got.bytes().await?.to_vec();
            bytes[0] ^= 1;
            let stream = futures_util::stream::iter([Ok(bytes.into())]);
            let payload = object_store::GetResultPayload::Stream(Box::pin(stream));
            return Ok(GetResult { payload, meta, range, attributes, extensions });
        }
        Ok(got)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let untagged = self.untagged.load(Ordering::Relaxed);
        let listed = self.inner.list(prefix).map_ok(move |mut meta| {
            meta.e_tag = meta.e_tag.filter(|_| !untagged);
            meta
        });
        let pages = Arc::clone(&self.pages);
        let paged = listed.chunks(PAGE).enumerate().then(move |(n, page)| {
            let pages = Arc::clone(&pages);
            async move {
                tokio::task::yield_now().await;
                if n > 0 {
                    match pages.acquire().await {
                        Ok(permit) => permit.forget(),
                        Err(closed) => {
                            let source = Box::new(closed);
                            return vec![Err(object_store::Error::Generic { store: "recorder", source })];
                        }
                    }
                }
                page
            }
        });
        Box::pin(paged.flat_map(futures_util::stream::iter))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[async_trait]
impl MultipartStore for Recorder {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.inner.create_multipart(path).await
    }

    async fn put_part(&self, path: &Path, id: &MultipartId, part: usize, data: PutPayload) -> Result<PartId> {
        if self.done_writes.lock().contains(&(path.to_string(), part)) {
            self.repeated.lock().push(format!("write {path} {part}"));
        }
        let tag = self.tag(&data);
        let put = self.inner.put_part(path, id, part, data).await?;
        Ok(tag.map_or(put, |content_id| PartId { content_id }))
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        self.inner.complete_multipart(path, id, parts).await
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.aborted.fetch_add(1, Ordering::Relaxed);
        self.inner.abort_multipart(path, id).await
    }
}
