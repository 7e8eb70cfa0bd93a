//! Lists both ends, and compares them while the source is still being listed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use futures_util::stream::{self, BoxStream, StreamExt as _};

use crate::engine::{Engine, Event, Shared, Step};
use crate::error::{Kind, SyncError};
use crate::local;
use crate::place::Place;
use crate::plan::{Comparison, Entry, Plan, Planner, Totals};
use crate::queue::Queue;
use crate::transfer::blocking;

type Pages<'a> = BoxStream<'a, Result<Vec<Entry>, SyncError>>;

/// What was listed, besides the objects in the queue.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) totals: Totals,
    pub(crate) refused: u64,
    pub(crate) delete: Vec<Entry>,
}

impl Listed {
    /// Adds a portion, and its objects to the queue.
    pub(crate) fn add(&mut self, shared: &Shared, queue: &Queue, portion: Plan) {
        self.totals.add(&portion);
        shared.progress.event(&Event::Found(self.totals));
        for (name, why) in portion.refused {
            let error = SyncError::new(shared.dest.label_of(&name), why);
            shared.progress.event(&Event::Failed(&error));
            self.refused += 1;
        }
        self.delete.extend(portion.delete);
        queue.add(portion.copy, |entry| shared.is_whole(entry));
    }
}

impl Engine {
    /// Passes what is decided to `found`, the last portion with the deletions. Returns the incomplete files at the destination
    /// that no object needs.
    pub(crate) async fn compare(&self, mut found: impl FnMut(Plan)) -> Result<BTreeSet<PathBuf>, SyncError> {
        let Shared { source, dest, options, .. } = &self.shared;
        let mut pages = self.pages(source).await?;
        let ((there, left), early) = meanwhile(self.list(dest, false), &mut pages).await?;
        let mut pages = stream::iter(early.into_iter().map(Ok)).chain(pages);
        self.shared.resumes.store(!left.is_empty(), Ordering::Relaxed);
        let mut left: BTreeSet<PathBuf> = left.into_iter().collect();
        let mut portion = |plan: Plan| {
            if let Place::Folder(root) = dest {
                for entry in &plan.copy {
                    let paths = local::Paths::of(root, &entry.name);
                    left.remove(&paths.partial);
                    left.remove(&paths.journal);
                }
            }
            found(plan);
        };
        let to_files = matches!(dest, Place::Folder(_));
        let rules =
            Comparison { index: &self.known, filter: &options.filter, delete: options.delete, to_files };
        let mut planner = Planner::new(&there, rules);
        let mut is_empty = true;
        while let Some(page) = pages.next().await {
            for entry in page? {
                is_empty = false;
                planner.add(entry);
            }
            portion(planner.decided());
        }
        if options.delete && is_empty && !there.is_empty() {
            return Err(SyncError::new(
                source.label(),
                "the source is empty, so --delete would delete everything",
            )
            .hint("check the name of the folder; to empty the destination, delete it there"));
        }
        portion(planner.end());
        Ok(left)
    }

    /// All objects of an end, and the incomplete files that earlier runs left there.
    pub(crate) async fn list(
        &self,
        place: &Place,
        must_exist: bool,
    ) -> Result<(Vec<Entry>, Vec<PathBuf>), SyncError> {
        match place {
            Place::Store(remote) => {
                self.shared.step(Step::Request).await;
                Ok((remote.list().await?, Vec::new()))
            }
            Place::Folder(root) if !must_exist && !root.exists() => Ok((Vec::new(), Vec::new())),
            Place::Folder(root) => {
                let root = root.clone();
                let listing = blocking(move || local::list(&root)).await;
                listing.map(|listing| (listing.files, listing.left)).map_err(|error| match error.kind {
                    Kind::Missing => error.hint("check the path of the folder"),
                    _ => error,
                })
            }
        }
    }

    /// The objects of the source. A folder is one page.
    async fn pages<'a>(&'a self, source: &'a Place) -> Result<Pages<'a>, SyncError> {
        match source {
            Place::Store(remote) => {
                self.shared.step(Step::Request).await;
                remote.pages()
            }
            Place::Folder(_) => {
                let listing = async { self.list(source, true).await.map(|(files, _)| files) };
                Ok(stream::once(listing).boxed())
            }
        }
    }
}

/// Waits for `work`, and collects the pages that arrive meanwhile.
async fn meanwhile<T>(
    work: impl Future<Output = Result<T, SyncError>>,
    pages: &mut Pages<'_>,
) -> Result<(T, Vec<Vec<Entry>>), SyncError> {
    let mut work = std::pin::pin!(work);
    let mut early = Vec::new();
    loop {
        tokio::select! {
            done = &mut work => return Ok((done?, early)),
            Some(page) = pages.next() => early.push(page?),
        }
    }
}
