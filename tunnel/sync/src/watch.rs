//! Uploads checkpoints while they are written.
//!
//! Each complete checkpoint is uploaded once: its files first, index files after the others, its manifest last. At the
//! destination a checkpoint is complete if and only if it has a manifest.

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object_store::ObjectStoreExt as _;
use tokio::time::Instant;

use crate::checkpoint::{self, MANIFEST, Manifest, Piece, Rules, State, Stored, Unit};
use crate::engine::{Engine, Step, Summary};
use crate::error::{Kind, SyncError};
use crate::index::Index;
use crate::local;
use crate::place::Place;
use crate::plan::{Comparison, Entry, Planner, Stamp};
use crate::transfer::blocking;

/// The largest header of a safetensors file, and the largest index, that is read.
const HEADER: u64 = 100 << 20;
/// Pause after an upload that failed.
const PAUSE: Duration = Duration::from_secs(5);

/// How a folder is watched.
#[derive(Debug, Clone)]
pub struct Watch {
    /// When a checkpoint is complete.
    pub rules: Rules,
    /// Interval between looks at the folder.
    pub poll: Duration,
    /// Complete checkpoints to keep at the destination.
    pub keep: Option<usize>,
    /// Time for uploads after the signal to stop.
    pub grace: Duration,
}

/// What happens while watching.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    /// The upload of a checkpoint begins.
    Begun(&'a Unit),
    /// A checkpoint is complete at the destination.
    Stored(&'a Unit),
    /// A surplus checkpoint at the destination was deleted.
    Removed(&'a str),
    /// The signal to stop has arrived.
    Stopping,
    /// A checkpoint is not at the destination when the time is over.
    Left(&'a Unit, &'a str),
}

/// What is known about a unit.
struct Known {
    fingerprint: u64,
    since: Instant,
    stored: bool,
    /// No attempt before.
    not_before: Instant,
}

impl Engine {
    /// Watches the source until `stop`, then uploads for at most the grace period. Returns whether every complete checkpoint
    /// is at the destination.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn watch(
        &self,
        watch: &Watch,
        stop: impl Future<Output = ()>,
        tell: &(dyn Fn(&Seen<'_>) + Sync),
    ) -> Result<bool, SyncError> {
        let Place::Folder(root) = &self.shared.source else {
            return Err(SyncError::new(
                self.shared.source.label(),
                "only a folder of this machine can be watched",
            )
            .hint("name the folder of the checkpoints as the source"));
        };
        let mut stop = std::pin::pin!(stop);
        let (mut known, mut deadline) = (BTreeMap::<String, Known>::new(), None::<Instant>);
        loop {
            let units = self.units(root).await?;
            let now = Instant::now();
            let mut ready = Vec::new();
            let mut waiting = false;
            known.retain(|name, _| units.iter().any(|unit| unit.name == *name));
            for unit in &units {
                let fingerprint = unit.fingerprint();
                let fresh = || Known { fingerprint, since: now, stored: false, not_before: now };
                let state = known.entry(unit.name.clone()).or_insert_with(fresh);
                if state.fingerprint != fingerprint {
                    *state = fresh();
                }
                match unit.state(&watch.rules, now - state.since) {
                    State::Complete if !state.stored => ready.push(unit),
                    State::Unsettled(left) => waiting |= deadline.is_none_or(|end| now + left < end),
                    State::Complete | State::Incomplete(_) => {}
                }
            }
            ready.sort_by_key(|unit| std::cmp::Reverse(unit.modified()));
            let next = ready.iter().find(|unit| known[&unit.name].not_before <= now);
            let Some(&next) = next else {
                match deadline {
                    Some(end) if now >= end || (ready.is_empty() && !waiting) => {
                        for unit in &ready {
                            tell(&Seen::Left(unit, "it was not uploaded within the grace period"));
                        }
                        return Ok(ready.is_empty());
                    }
                    Some(_) => tokio::time::sleep(watch.poll.min(Duration::from_millis(200))).await,
                    None => tokio::select! {
                        () = tokio::time::sleep(watch.poll) => {}
                        () = &mut stop => {
                            deadline = Some(Instant::now() + watch.grace);
                            tell(&Seen::Stopping);
                        }
                    },
                }
                continue;
            };
            let upload = self.store(root, next, watch, tell);
            let done = match deadline {
                Some(end) => match tokio::time::timeout_at(end, upload).await {
                    Ok(done) => Some(done),
                    Err(_) => {
                        for unit in &ready {
                            tell(&Seen::Left(unit, "the grace period is over"));
                        }
                        return Ok(false);
                    }
                },
                // The newest goes first now; completed parts of this one are kept.
                None => tokio::select! {
                    done = upload => Some(done),
                    () = &mut stop => {
                        deadline = Some(Instant::now() + watch.grace);
                        tell(&Seen::Stopping);
                        None
                    }
                },
            };
            let done = match (done, watch.keep) {
                (Some(Ok(true)), Some(keep)) => {
                    let mut surplus = std::pin::pin!(self.keep(keep, tell));
                    let mut kept = None;
                    if deadline.is_none() {
                        tokio::select! {
                            done = &mut surplus => kept = Some(done),
                            () = &mut stop => {
                                deadline = Some(Instant::now() + watch.grace);
                                tell(&Seen::Stopping);
                            }
                        }
                    }
                    // A deletion that is dropped leaves files without a manifest, which nothing deletes.
                    if let (None, Some(end)) = (&kept, deadline) {
                        kept = tokio::time::timeout_at(end, surplus).await.ok();
                    }
                    Some(kept.unwrap_or(Ok(())).map(|()| true))
                }
                (done, _) => done,
            };
            let Some(state) = known.get_mut(&next.name) else { continue };
            match done {
                Some(Ok(true)) => state.stored = true,
                // It changed meanwhile, or an error was reported.
                Some(Ok(false)) => state.not_before = Instant::now() + watch.poll,
                Some(Err(error)) => {
                    self.shared.progress.event(&crate::Event::Failed(&error));
                    state.not_before = Instant::now() + PAUSE;
                }
                None => {}
            }
        }
    }

    async fn units(&self, root: &Path) -> Result<Vec<Unit>, SyncError> {
        let root = root.to_owned();
        let units = blocking(move || {
            let listing = local::list(&root)?;
            Ok::<_, SyncError>(units(&root, listing.files))
        })
        .await?;
        let filter = &self.shared.options.filter;
        Ok(units.into_iter().filter(|unit| filter.admits(&unit.name)).collect())
    }

    /// Uploads a unit, unless it is there. Returns whether it is there now.
    async fn store(
        &self,
        root: &Path,
        unit: &Unit,
        watch: &Watch,
        tell: &(dyn Fn(&Seen<'_>) + Sync),
    ) -> Result<bool, SyncError> {
        let name = unit.manifest_name();
        // A manifest may be on its way.
        self.shared.settled().await;
        let there = self.read(&name).await?;
        let manifest = there.as_deref().and_then(|text| serde_json::from_str::<Manifest>(text).ok());
        if manifest.is_some_and(|manifest| manifest.describes(unit)) {
            return Ok(true);
        }
        if let Some(keep) = watch.keep
            && checkpoint::is_surplus(&unit.name, unit.modified(), &self.stored().await?.0, keep)
        {
            return Ok(true);
        }
        tell(&Seen::Begun(unit));
        if there.is_some() {
            // While its files are replaced, it is not complete.
            self.remove(&name).await?;
        }
        let (indices, pieces): (Vec<&Piece>, Vec<&Piece>) =
            unit.pieces.iter().partition(|piece| checkpoint::is_index(&piece.name));
        let dest = self.below(unit).await?;
        for pieces in [pieces, indices] {
            let summary = self.pieces(&pieces, &dest).await?;
            if summary.failed > 0 {
                return Ok(false);
            }
        }
        let after = self.units(root).await?;
        if after.iter().find(|after| after.name == unit.name).map(Unit::fingerprint)
            != Some(unit.fingerprint())
        {
            return Ok(false);
        }
        let text = serde_json::to_string_pretty(&Manifest::of(unit))
            .map_err(|error| SyncError::new(self.shared.dest.label_of(&name), error.to_string()))?;
        self.write(&name, text).await?;
        tell(&Seen::Stored(unit));
        Ok(true)
    }

    async fn pieces(&self, pieces: &[&Piece], dest: &[Entry]) -> Result<Summary, SyncError> {
        let stamp = |piece: &Piece| Stamp { size: piece.size, modified: piece.modified, etag: None };
        let entries = pieces.iter().map(|piece| Entry { name: piece.name.clone(), stamp: stamp(piece) });
        let path = self.shared.state.join("index.jsonl");
        let index = local::text(&path).map_err(|error| SyncError::io(path.display().to_string(), &error))?;
        let all = crate::Filter::default();
        let index = Index::parse(&index);
        let rules = Comparison { index: &index, filter: &all, delete: false, to_files: false };
        let mut planner = Planner::new(dest, rules);
        entries.for_each(|entry| planner.add(entry));
        self.carry_out(planner.end()).await
    }

    /// What of a unit is at the destination.
    async fn below(&self, unit: &Unit) -> Result<Vec<Entry>, SyncError> {
        let (all, _) = self.list(&self.shared.dest, false).await?;
        let folder = format!("{}/", unit.name);
        Ok(all
            .into_iter()
            .filter(|entry| entry.name == unit.name || entry.name.starts_with(&folder))
            .collect())
    }

    /// Deletes surplus checkpoints: of each, the manifest first.
    async fn keep(&self, keep: usize, tell: &(dyn Fn(&Seen<'_>) + Sync)) -> Result<(), SyncError> {
        let (complete, all) = self.stored().await?;
        for stored in checkpoint::surplus(complete, keep) {
            let folder = format!("{}/", stored.name);
            let alone = format!("{}{MANIFEST}", stored.name);
            let of = |entry: &&Entry| {
                entry.name == stored.name || entry.name == alone || entry.name.starts_with(&folder)
            };
            let (manifests, pieces): (Vec<&Entry>, Vec<&Entry>) =
                all.iter().filter(of).partition(|entry| entry.name.ends_with(MANIFEST));
            for entry in manifests.into_iter().chain(pieces) {
                self.remove(&entry.name).await?;
            }
            tell(&Seen::Removed(&stored.name));
        }
        Ok(())
    }

    /// Complete checkpoints at the destination, and everything there.
    async fn stored(&self) -> Result<(Vec<Stored>, Vec<Entry>), SyncError> {
        let (all, _) = self.list(&self.shared.dest, false).await?;
        let mut complete = Vec::new();
        for entry in &all {
            let Some(name) = entry.name.strip_suffix(MANIFEST) else { continue };
            let name = name.strip_suffix('/').unwrap_or(name);
            if name.is_empty() || name.contains('/') {
                continue;
            }
            let text = self.read(&entry.name).await?.unwrap_or_default();
            // What somebody else wrote under such a name is neither counted nor deleted.
            if let Ok(manifest) = serde_json::from_str::<Manifest>(&text) {
                complete.push(Stored { name: name.to_owned(), written: manifest.modified });
            }
        }
        Ok((complete, all))
    }

    /// The text of a small object at the destination.
    async fn read(&self, name: &str) -> Result<Option<String>, SyncError> {
        self.shared.step(Step::Request).await;
        let label = self.shared.dest.label_of(name);
        match &self.shared.dest {
            Place::Folder(root) => {
                let text = local::text(&root.join(name)).map_err(|error| SyncError::io(label, &error))?;
                Ok(Some(text).filter(|text| !text.is_empty()))
            }
            Place::Store(remote) => {
                let read = async {
                    let got = remote.write.get(&remote.path(name)?).await;
                    let bytes = match got {
                        Ok(got) => got.bytes().await,
                        Err(error) => Err(error),
                    };
                    bytes.map_err(|error| SyncError::store(&label, &error))
                };
                match read.await {
                    Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
                    Err(error) if error.kind == Kind::Missing => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn write(&self, name: &str, text: String) -> Result<(), SyncError> {
        self.shared.step(Step::Request).await;
        let label = self.shared.dest.label_of(name);
        match &self.shared.dest {
            Place::Folder(root) => {
                let path = root.join(name);
                let writes = self.shared.writes();
                let written = writes.run(move || {
                    local::replace(&path, &text)?;
                    path.parent().map_or(Ok(()), local::sync_folder)
                });
                written.await.map_err(|error| SyncError::io(label, &error))
            }
            Place::Store(remote) => {
                let put = remote.write.put(&remote.path(name)?, text.into()).await;
                put.map(drop).map_err(|error| SyncError::store(label, &error))
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), SyncError> {
        self.shared.step(Step::Delete).await;
        let label = self.shared.dest.label_of(name);
        match &self.shared.dest {
            Place::Folder(root) => {
                let path = root.join(name);
                local::remove(&path).map_err(|error| SyncError::io(label, &error))?;
                local::remove_empty(root, &path);
                Ok(())
            }
            Place::Store(remote) => match remote.write.delete(&remote.path(name)?).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(SyncError::store(label, &error)),
            },
        }
    }
}

/// The files and folders directly below `root`, with what their index files and headers say.
fn units(root: &Path, files: Vec<Entry>) -> Vec<Unit> {
    let mut units = BTreeMap::<String, Unit>::new();
    for file in files {
        let (name, folder) = match file.name.split_once('/') {
            Some((folder, _)) => (folder, true),
            None => (file.name.as_str(), false),
        };
        if checkpoint::is_temporary(name) {
            continue;
        }
        let fresh = || Unit { name: name.to_owned(), folder, ..Unit::default() };
        let unit = units.entry(name.to_owned()).or_insert_with(fresh);
        let path = root.join(&file.name);
        if folder && file.name == unit.manifest_name() {
            unit.manifest = Some(file.stamp.modified);
            continue;
        }
        if folder && checkpoint::is_index(&file.name) {
            let above = file.name.rsplit_once('/').map_or("", |(above, _)| above);
            let text = begin(&path, HEADER).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            unit.listed.extend(
                checkpoint::listed(&text.unwrap_or_default())
                    .into_iter()
                    .map(|shard| if above.is_empty() { shard } else { format!("{above}/{shard}") }),
            );
        }
        if file.name.ends_with(".safetensors") && length(&path).is_none_or(|length| length > file.stamp.size)
        {
            unit.short.insert(file.name.clone());
        }
        unit.pieces.push(Piece { name: file.name, size: file.stamp.size, modified: file.stamp.modified });
    }
    units.into_values().collect()
}

/// The length of a safetensors file by its header.
fn length(path: &PathBuf) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut size = [0; 8];
    file.read_exact(&mut size).ok()?;
    let size = u64::from_le_bytes(size);
    let mut header = Vec::new();
    file.take(size.min(HEADER)).read_to_end(&mut header).ok()?;
    if header.len() as u64 == size { checkpoint::safetensors_length(&header) } else { None }
}

fn begin(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
