//! Both ends of a transfer.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::error::SyncError;
use crate::plan::{Entry, Stamp};

/// Objects of one page of a listing (ListObjectsV2 and the JSON API of Google Cloud Storage return at most so many).
const PAGE: usize = 1_000;

/// A store whose multipart uploads can be continued.
pub trait Objects: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Objects for T {}

/// One end.
#[derive(Debug, Clone)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A folder of a bucket.
    Store(Remote),
}

/// A folder of a bucket.
#[derive(Debug, Clone)]
pub struct Remote {
    /// The client that reads objects and asks for their checksums.
    pub read: Arc<dyn Objects>,
    /// The client that lists, writes, and deletes.
    pub write: Arc<dyn Objects>,
    /// The folder, without a slash at either end; may be empty.
    pub prefix: String,
    /// The URL of the folder, for messages, without a slash at the end.
    pub url: String,
    /// Whether the store has a CRC of every object, as Google Cloud Storage has: no other sum is computed for it.
    pub keeps_crc: bool,
}

impl Place {
    /// The URL or path, for messages.
    pub fn label(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Store(remote) => remote.url.clone(),
        }
    }

    /// The URL or path of an object.
    pub fn label_of(&self, name: &str) -> String {
        format!("{}/{name}", self.label().trim_end_matches('/'))
    }
}

impl Remote {
    /// The key of an object.
    ///
    /// # Errors
    /// The name has a segment that a key may not have.
    pub fn path(&self, name: &str) -> Result<Path, SyncError> {
        let key = if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        Path::parse(&key).map_err(|error| {
            SyncError::new(format!("{}/{name}", self.url), error.to_string()).hint("rename it, or exclude it")
        })
    }

    /// All objects of the folder, in portions as the store's pages arrive.
    ///
    /// # Errors
    /// The store does not answer, or refuses.
    pub fn pages(&self) -> Result<BoxStream<'_, Result<Vec<Entry>, SyncError>>, SyncError> {
        let folder =
            Path::parse(&self.prefix).map_err(|error| SyncError::new(&self.url, error.to_string()))?;
        let folder = (!self.prefix.is_empty()).then_some(&folder);
        let pages = self.write.list(folder).try_ready_chunks(PAGE);
        let entries = |found: Vec<ObjectMeta>| found.iter().filter_map(|meta| self.entry(meta)).collect();
        Ok(pages.map_ok(entries).map_err(|error| SyncError::store(&self.url, &error.1)).boxed())
    }

    /// All objects of the folder.
    ///
    /// # Errors
    /// As [`Self::pages`].
    pub async fn list(&self) -> Result<Vec<Entry>, SyncError> {
        self.pages()?.try_concat().await
    }

    fn entry(&self, meta: &ObjectMeta) -> Option<Entry> {
        let name = self.name(&meta.location)?;
        Some(Entry { name: name.to_owned(), stamp: stamp(meta) })
    }

    /// The name of a key below the folder.
    pub(crate) fn name<'a>(&self, key: &'a Path) -> Option<&'a str> {
        let name = key.as_ref().strip_prefix(self.prefix.as_str())?;
        let name = if self.prefix.is_empty() { name } else { name.strip_prefix('/')? };
        Some(name).filter(|name| !name.is_empty())
    }
}

/// The version that a store reports.
pub(crate) fn stamp(meta: &ObjectMeta) -> Stamp {
    Stamp {
        size: meta.size,
        modified: meta.last_modified.timestamp_nanos_opt().unwrap_or(0),
        etag: meta.e_tag.clone(),
    }
}
