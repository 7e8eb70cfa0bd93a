//! Reading and changing the claims in any supported location.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::oneshot;

use super::file::LocalFile;
use super::object::{Object, Written};
use super::{Claim, ClaimRole, Document};
use crate::{ClaimsUrl, GuardConfig, Key};

/// Maximum size of a document in bytes, which holds about 80,000 claims.
pub(super) const LIMIT: u64 = 16 << 20;

/// Maximum number of attempts for a change that conflicts with other processes.
const TRIES: u32 = 40;

/// An error while reading or changing claims.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("{place} cannot be read: {cause}")]
    Read { place: String, cause: String },
    #[error("{place} cannot be written: {cause}")]
    Write { place: String, cause: String },
    #[error("{place} is damaged at line {line}, column {column}: {cause}")]
    Corrupt { place: String, line: usize, column: usize, cause: String },
    #[error("{place} is larger than {} MiB", LIMIT >> 20)]
    TooLarge { place: String },
    #[error("{place} has format version {version}; this provider supports versions 1 and 2")]
    Version { place: String, version: u64 },
    #[error("{place} contains the claims of fabric {theirs:?}, not of {ours:?}")]
    OtherFabric { place: String, theirs: String, ours: String },
    #[error(
        "{place} could not be updated, because other processes changed it during each of {TRIES} attempts"
    )]
    Contended { place: String },
}

/// A change of the claims of one key.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Its ranges are planned.
    Plan(Wanted),
    /// Its object is about to be created or changed.
    Claim(Wanted),
    /// Its object is gone.
    Release { key: Key },
}

/// The ranges of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    pub(crate) role: ClaimRole,
    pub(crate) nets: Vec<IpNet>,
    /// Whether claims of the same owner in other locations forbid it.
    pub(crate) own_elsewhere: bool,
}

/// The result of a change: the claims that forbid it, if any.
type Outcome = Result<Vec<Claim>, StoreError>;

/// The claims of one fabric, changed on behalf of one owner.
pub(crate) struct Store {
    place: String,
    backend: Backend,
    fabric: String,
    owner: String,
    /// Changes that wait for the next write. Changes that arrive during a write are combined in the next one, so that
    /// a thousand resources do not cause a thousand writes.
    waiting: Mutex<Vec<(Change, oneshot::Sender<Outcome>)>>,
    writing: tokio::sync::Mutex<()>,
}

enum Backend {
    File(LocalFile),
    Object(Object),
}

impl Store {
    /// Opens the configured store without sending a request.
    pub(crate) fn open(url: &ClaimsUrl, config: &GuardConfig) -> Result<Store, StoreError> {
        let unreadable =
            |error: object_store::Error| StoreError::Read { place: url.to_string(), cause: causes(&error) };
        let backend = match url {
            ClaimsUrl::File(path) => Backend::File(LocalFile::new(path.clone())),
            ClaimsUrl::S3 { bucket, key } => {
                Backend::Object(Object::s3(bucket, key, &config.s3).map_err(unreadable)?)
            }
            ClaimsUrl::Gcs { bucket, key } => {
                Backend::Object(Object::gcs(bucket, key, &config.gcs).map_err(unreadable)?)
            }
        };
        Ok(Store::over(backend, url.to_string(), config))
    }

    #[cfg(test)]
    pub(crate) fn over_object(object: Object, config: &GuardConfig) -> Store {
        Store::over(Backend::Object(object), "s3://test/claims.json".to_owned(), config)
    }

    fn over(backend: Backend, place: String, config: &GuardConfig) -> Store {
        Store {
            place,
            backend,
            fabric: config.fabric.clone(),
            owner: config.owner.clone(),
            waiting: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// All claims.
    pub(crate) async fn read(&self) -> Result<Document, StoreError> {
        let text = match &self.backend {
            Backend::File(file) => {
                let file = file.clone();
                blocking(move || file.read()).await.map_err(|cause| self.unreadable(cause))?
            }
            Backend::Object(object) => {
                object.read().await.map_err(|error| self.unreadable(causes(&error)))?.0
            }
        };
        let mut document = self.setting().parse(text.as_deref())?;
        document.lapse(now());
        Ok(document)
    }

    /// Applies a change and returns conflicting claims of other owners.
    pub(crate) async fn change(&self, change: Change) -> Outcome {
        loop {
            let (reply, answer) = oneshot::channel();
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((change.clone(), reply));
            {
                let _writing = self.writing.lock().await;
                let batch = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
                if !batch.is_empty() {
                    self.write_batch(batch).await;
                }
            }
            // No answer, because the task that performed the write was cancelled.
            if let Ok(outcome) = answer.await {
                return outcome;
            }
        }
    }

    async fn write_batch(&self, batch: Vec<(Change, oneshot::Sender<Outcome>)>) {
        let (changes, replies): (Vec<Change>, Vec<oneshot::Sender<Outcome>>) = batch.into_iter().unzip();
        let outcomes = match &self.backend {
            Backend::File(file) => self.change_file(file.clone(), changes).await,
            Backend::Object(object) => self.change_object(object, &changes).await,
        };
        for (position, reply) in replies.into_iter().enumerate() {
            let outcome = match &outcomes {
                Ok(outcomes) => Ok(outcomes.get(position).cloned().unwrap_or_default()),
                Err(error) => Err(error.clone()),
            };
            // If the operation was cancelled, no task is waiting any more.
            drop(reply.send(outcome));
        }
    }

    async fn change_file(
        &self,
        file: LocalFile,
        changes: Vec<Change>,
    ) -> Result<Vec<Vec<Claim>>, StoreError> {
        let setting = self.setting();
        let unwritable = |cause| StoreError::Write { place: self.place.clone(), cause };
        blocking(move || {
            let locked = file.lock()?;
            let text = file.read()?;
            let result = setting.transform(text.as_deref(), &changes);
            if let Ok((_, Some(text))) = &result {
                locked.write(text.as_bytes())?;
            }
            Ok(result)
        })
        .await
        .map_err(unwritable)?
        .map(|(outcomes, _)| outcomes)
    }

    async fn change_object(
        &self,
        object: &Object,
        changes: &[Change],
    ) -> Result<Vec<Vec<Claim>>, StoreError> {
        for attempt in 0..TRIES {
            let (text, seen) = object.read().await.map_err(|error| self.unreadable(causes(&error)))?;
            let (outcomes, text) = self.setting().transform(text.as_deref(), changes)?;
            let Some(text) = text else { return Ok(outcomes) };
            let written = object
                .write(text, seen)
                .await
                .map_err(|error| StoreError::Write { place: self.place.clone(), cause: causes(&error) })?;
            if written == Written::Yes {
                return Ok(outcomes);
            }
            tracing::debug!(place = %self.place, attempt, "claims changed by another process, retrying");
            let most = 50_u64.saturating_mul(1 << attempt.min(5));
            tokio::time::sleep(Duration::from_millis(jitter(10, most))).await;
        }
        Err(StoreError::Contended { place: self.place.clone() })
    }

    fn setting(&self) -> Setting {
        Setting { place: self.place.clone(), fabric: self.fabric.clone(), owner: self.owner.clone() }
    }

    fn unreadable(&self, cause: String) -> StoreError {
        StoreError::Read { place: self.place.clone(), cause }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The outcome of every change, and the new text if it differs.
type Transformed = Result<(Vec<Vec<Claim>>, Option<String>), StoreError>;

/// Whose claims are changed, and where.
struct Setting {
    place: String,
    fabric: String,
    owner: String,
}

impl Setting {
    fn parse(&self, text: Option<&[u8]>) -> Result<Document, StoreError> {
        if text.is_some_and(too_large) {
            return Err(StoreError::TooLarge { place: self.place.clone() });
        }
        Document::parse(text, &self.fabric, &self.place)
    }

    fn transform(&self, text: Option<&[u8]>, changes: &[Change]) -> Transformed {
        let now = now();
        let before = self.parse(text)?;
        let mut after = before.clone();
        let outcomes = changes
            .iter()
            .map(|change| match change {
                Change::Plan(wanted) => after.plan(&self.owner, wanted, now),
                Change::Claim(wanted) => after.claim(&self.owner, wanted, now),
                Change::Release { key } => {
                    after.release(&self.owner, key);
                    Vec::new()
                }
            })
            .collect();
        if after == before {
            return Ok((outcomes, None));
        }
        after.lapse(now);
        let text = after
            .text()
            .map_err(|error| StoreError::Write { place: self.place.clone(), cause: error.to_string() })?;
        if too_large(text.as_bytes()) {
            return Err(StoreError::TooLarge { place: self.place.clone() });
        }
        Ok((outcomes, Some(text)))
    }
}

fn too_large(text: &[u8]) -> bool {
    u64::try_from(text.len()).is_ok_and(|length| length > LIMIT)
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// A random number from `least` to `most`.
pub(super) fn jitter(least: u64, most: u64) -> u64 {
    least + RandomState::new().hash_one(()) % (most.saturating_sub(least) + 1)
}

/// An error with its causes, without repetitions.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
