//! Transfers while the source is still being listed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use warren_sync::{Engine, Options, Progress, Summary, SyncError};

use crate::store::Recorder;
use crate::{End, Lab, Tree, now};

/// A store with five objects, and permits for the pages after its first, which has two of them.
fn five(to_store: bool, pages: usize) -> (Lab, Arc<Semaphore>, Tree) {
    let mut store = Arc::into_inner(Recorder::new(true)).unwrap();
    let permits = Arc::new(Semaphore::new(pages));
    store.pages = Arc::clone(&permits);
    let state = tempfile::tempdir().unwrap();
    let (source, dest) = (End::Store(Arc::new(store)), End::new(to_store, true));
    let tree: Tree = ["a", "b", "c", "d", "e"].iter().map(|name| ((*name).to_owned(), vec![7; 9])).collect();
    source.fill(&tree);
    (Lab { source, dest, state, told: Arc::default() }, permits, tree)
}

async fn run(lab: &Lab, options: Options) -> Result<Summary, SyncError> {
    let told = Arc::clone(&lab.told) as Arc<dyn Progress>;
    Engine::new(lab.source.place("a"), lab.dest.place("b"), options, told).await.unwrap().run().await
}

/// Names at the destination, when there are at least so many.
async fn arrived(lab: &Lab, count: usize) -> Vec<String> {
    loop {
        let found: Vec<String> = std::thread::scope(|scope| {
            scope.spawn(|| lab.dest.content()).join().unwrap().into_keys().collect()
        });
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn transfers_begin_before_the_listing_ends() {
    for to_store in [false, true] {
        let (lab, permits, tree) = five(to_store, 0);
        let observed = async {
            // Whether the last one is also a folder is not known yet.
            assert_eq!(arrived(&lab, 1).await, ["a"]);
            permits.add_permits(1);
            assert_eq!(arrived(&lab, 3).await, ["a", "b", "c"]);
            permits.add_permits(1);
        };
        let both = async { tokio::join!(run(&lab, lab.options()), observed).0 };
        assert_eq!(runtime().block_on(both).unwrap().copied, 5);
        assert_eq!(lab.dest.content(), tree);
    }
}

#[test]
fn only_a_run_deletes_incomplete_files() {
    let (lab, _, _) = five(false, 2);
    let End::Folder(folder) = &lab.dest else { panic!("a folder") };
    let left = folder.path().join(".gone.warren-partial");
    std::fs::write(&left, b"1").unwrap();
    let work = async {
        let told = Arc::clone(&lab.told) as Arc<dyn Progress>;
        let ends = (lab.source.place("a"), lab.dest.place("b"));
        let engine = Engine::new(ends.0, ends.1, lab.options(), told).await.unwrap();
        assert_eq!(engine.plan().await.unwrap().copy.len(), 5);
        assert!(left.exists());
    };
    runtime().block_on(work);
    let (again, ..) = five(false, 2);
    let lab = Lab { source: again.source, ..lab };
    assert_eq!(runtime().block_on(run(&lab, lab.options())).unwrap().copied, 5);
    assert!(!left.exists());
}

/// Nothing is deleted, what was copied is complete, and the next run continues.
#[test]
fn a_listing_that_fails_ends_the_run() {
    for to_store in [false, true] {
        let (lab, permits, tree) = five(to_store, 1);
        lab.dest.fill(&Tree::from([("old".into(), vec![1])]));
        let mut options = lab.options();
        options.delete = true;
        let failed = async {
            let fails = async {
                arrived(&lab, 2).await;
                permits.close();
            };
            tokio::join!(run(&lab, options.clone()), fails).0
        };
        let error = runtime().block_on(failed).unwrap_err();
        assert!(error.to_string().contains("mem://a"), "{error}");
        let mut there = lab.dest.content();
        assert!(there.remove("old").is_some());
        assert!(!there.is_empty() && there.iter().all(|(name, bytes)| tree.get(name) == Some(bytes)));

        let mut whole = Arc::into_inner(Recorder::new(true)).unwrap();
        if let End::Store(source) = &lab.source {
            whole.inner = now(async { source.inner.fork() });
        }
        let lab = Lab { source: End::Store(Arc::new(whole)), ..lab };
        let done = runtime().block_on(run(&lab, options)).unwrap();
        assert_eq!((done.copied + done.unchanged, done.deleted, done.failed), (5, 1, 0));
        assert_eq!(lab.dest.content(), tree);
    }
}
