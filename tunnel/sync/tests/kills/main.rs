//! Transfers between stores in memory and folders, killed between any two steps and continued.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adapt;
mod listing;
mod store;

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRng, TestRunner};
use store::Recorder;
use tokio::sync::Notify;
use warren_sync::journal::Journal;
use warren_sync::{
    Engine, Event, Filter, Gate, Objects, Options, Place, Progress, Remote, Step, Summary, SyncError,
};

const PART: u64 = 4096;

type Tree = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
struct Silent(Mutex<Vec<String>>);

impl Progress for Silent {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Failed(error) => self.0.lock().push(error.to_string()),
            Event::Restarted { name } => self.0.lock().push(format!("restarted {name}")),
            Event::Done { entry, verified } => self.0.lock().push(format!("{} {verified:?}", entry.name)),
            _ => {}
        }
    }
}

/// Stops the run before its `at`th step, or does something then.
struct Kill {
    at: usize,
    taken: AtomicUsize,
    reached: Notify,
    act: Option<Box<dyn Fn() + Send + Sync>>,
}

#[async_trait]
impl Gate for Kill {
    async fn before(&self, _: Step) {
        if self.taken.fetch_add(1, Ordering::SeqCst) < self.at {
            return;
        }
        match &self.act {
            Some(act) => {
                if self.taken.load(Ordering::SeqCst) == self.at + 1 {
                    act();
                }
            }
            None => {
                self.reached.notify_one();
                std::future::pending::<()>().await;
            }
        }
    }
}

/// One end: a folder or a store.
enum End {
    Folder(tempfile::TempDir),
    Store(Arc<Recorder>),
}

impl End {
    fn new(store: bool, sums: bool) -> Self {
        if store { Self::Store(Recorder::new(sums)) } else { Self::Folder(tempfile::tempdir().unwrap()) }
    }

    fn place(&self, name: &str) -> Place {
        match self {
            Self::Folder(folder) => Place::Folder(folder.path().to_owned()),
            Self::Store(store) => Place::Store(Remote {
                read: Arc::clone(store) as Arc<dyn Objects>,
                write: Arc::clone(store) as Arc<dyn Objects>,
                prefix: "top/data".into(),
                url: format!("mem://{name}/top/data"),
                keeps_crc: false,
            }),
        }
    }

    fn fill(&self, tree: &Tree) {
        for (name, bytes) in tree {
            match self {
                Self::Folder(folder) => {
                    let path = folder.path().join(name);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, bytes).unwrap();
                }
                Self::Store(store) => {
                    let path = Path::parse(format!("top/data/{name}")).unwrap();
                    now(store.inner.put(&path, bytes.clone().into())).unwrap();
                }
            }
        }
    }

    /// Everything under its final name.
    fn content(&self) -> Tree {
        match self {
            Self::Folder(folder) => {
                let listing = warren_sync::local::list(folder.path()).unwrap();
                let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
                listing.files.iter().map(|file| (file.name.clone(), read(&file.name))).collect()
            }
            Self::Store(store) => now(async {
                use futures_util::TryStreamExt as _;
                let mut tree = Tree::new();
                for meta in store.inner.list(None).try_collect::<Vec<_>>().await.unwrap() {
                    let bytes = store.inner.get(&meta.location).await.unwrap().bytes().await.unwrap();
                    let name = meta.location.as_ref().strip_prefix("top/data/").unwrap();
                    tree.insert(name.to_owned(), bytes.to_vec());
                }
                tree
            }),
        }
    }

    fn recorder(&self) -> Option<&Recorder> {
        match self {
            Self::Folder(_) => None,
            Self::Store(store) => Some(store),
        }
    }
}

fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

struct Lab {
    source: End,
    dest: End,
    state: tempfile::TempDir,
    told: Arc<Silent>,
}

impl Lab {
    fn new(from_store: bool, to_store: bool, sums: bool) -> Self {
        let state = tempfile::tempdir().unwrap();
        let (source, dest) = (End::new(from_store, sums), End::new(to_store, sums));
        Self { source, dest, state, told: Arc::default() }
    }

    fn options(&self) -> Options {
        let mut options = Options::new(self.state.path().to_owned());
        options.part = PART;
        options.smallest = PART;
        options.connections = 3;
        options
    }

    /// Runs until the end, or until the gate stops it; then nothing of it runs any longer.
    fn run(
        &self,
        gate: Option<&Arc<Kill>>,
        change: impl Fn(&mut Options),
    ) -> Option<Result<Summary, SyncError>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut options = self.options();
        change(&mut options);
        options.gate = gate.map(|gate| Arc::clone(gate) as Arc<dyn Gate>);
        let (source, dest) = (self.source.place("a"), self.dest.place("b"));
        let work = async {
            let engine =
                Engine::new(source, dest, options, Arc::clone(&self.told) as Arc<dyn Progress>).await?;
            engine.run().await
        };
        runtime.block_on(async {
            tokio::select! {
                done = work => Some(done),
                () = async { match gate { Some(gate) => gate.reached.notified().await, None => std::future::pending().await } } => None,
            }
        })
    }

    /// What the journals say is done must not be asked for again.
    fn forbid(&self) {
        let mut journals = Vec::new();
        collect(self.state.path(), &mut journals);
        if let End::Folder(folder) = &self.dest {
            collect(folder.path(), &mut journals);
        }
        for journal in journals {
            for n in journal.done.keys() {
                let key = format!("top/data/{}", journal.header.name);
                if let Some(source) = self.source.recorder() {
                    source.done_reads.lock().insert((key.clone(), u64::from(*n) * journal.header.part));
                }
                if let Some(dest) = self.dest.recorder() {
                    dest.done_writes.lock().insert((key, *n as usize));
                }
            }
        }
    }

    fn repeated(&self) -> Vec<String> {
        let ends = [self.source.recorder(), self.dest.recorder()];
        ends.into_iter().flatten().flat_map(|store| store.repeated.lock().clone()).collect()
    }
}

fn collect(folder: &FilePath, journals: &mut Vec<Journal>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, journals);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            journals.extend(Journal::parse(&text));
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let name = prop::sample::select(vec!["a", "b.bin", "dir/c", "dir/deep/d.pt", "e é", "f"]);
    let size = prop_oneof![Just(0_usize), 1..PART as usize, Just(PART as usize), (PART as usize)..40_000];
    prop::collection::btree_map(name.prop_map(str::to_owned), (size, any::<u8>()), 1..6).prop_map(|files| {
        let bytes = |(size, salt): (usize, u8)| {
            (0..size).map(|at| (at as u8).wrapping_mul(31) ^ salt ^ (at >> 8) as u8).collect()
        };
        files.into_iter().map(|(name, file)| (name, bytes(file))).collect()
    })
}

/// Every file under its final name is the whole file.
fn whole(found: &Tree, expected: &Tree) {
    for (name, bytes) in found {
        assert!(expected.get(name).is_some_and(|whole| whole == bytes), "{name} has {} bytes", bytes.len());
    }
}

/// 200 kill points: a kill between any two steps leaves no partial file under its final name, the next run continues without
/// repeating a completed part, and in the end both sides are equal.
#[test]
fn killed_transfers_continue() {
    let case = (
        trees(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(any::<prop::sample::Index>(), 2),
    );
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha));
    let killed = AtomicUsize::new(0);
    runner
        .run(&case, |(tree, from_store, to_store, sums, kills)| {
            // How many steps there are, from a run that nothing disturbs.
            let count = Arc::new(Kill {
                at: usize::MAX,
                taken: AtomicUsize::new(0),
                reached: Notify::new(),
                act: None,
            });
            let undisturbed = Lab::new(from_store, to_store, sums);
            undisturbed.source.fill(&tree);
            undisturbed.run(Some(&count), |_| ()).unwrap().unwrap();
            prop_assert_eq!(&undisturbed.dest.content(), &tree);

            let lab = Lab::new(from_store, to_store, sums);
            lab.source.fill(&tree);
            for at in kills {
                let at = at.index(count.taken.load(Ordering::SeqCst));
                let kill =
                    Arc::new(Kill { at, taken: AtomicUsize::new(0), reached: Notify::new(), act: None });
                if lab.run(Some(&kill), |_| ()).is_none() {
                    killed.fetch_add(1, Ordering::SeqCst);
                }
                whole(&lab.dest.content(), &tree);
                lab.forbid();
            }
            let done = lab.run(None, |_| ()).unwrap().unwrap();
            prop_assert_eq!(done.failed, 0, "{:?}", lab.told.0.lock());
            prop_assert_eq!(&lab.dest.content(), &tree);
            prop_assert_eq!(lab.repeated(), Vec::<String>::new());
            if let End::Folder(folder) = &lab.dest {
                prop_assert_eq!(
                    warren_sync::local::list(folder.path()).unwrap().left,
                    Vec::<std::path::PathBuf>::new()
                );
            }
            let again = lab.run(None, |_| ()).unwrap().unwrap();
            prop_assert_eq!((again.copied, again.unchanged), (0, tree.len() as u64));
            Ok(())
        })
        .unwrap();
    assert!(killed.load(Ordering::SeqCst) >= 140, "{killed:?} runs were killed");
}

fn large(salt: u8) -> Tree {
    Tree::from([("big".to_owned(), (0..10 * PART).map(|at| (at / 7) as u8 ^ salt).collect())])
}

#[test]
fn an_object_that_changes_meanwhile_starts_again() {
    for (from_store, to_store) in [(true, false), (true, true)] {
        let lab = Lab::new(from_store, to_store, true);
        lab.source.fill(&large(1));
        let End::Store(store) = &lab.source else { panic!("a store") };
        let changed = Arc::clone(store);
        let act = move || {
            let bytes = large(9).remove("big").unwrap();
            futures_util::FutureExt::now_or_never(
                changed.inner.put(&Path::from("top/data/big"), bytes.into()),
            );
        };
        let kill =
            Kill { at: 12, taken: AtomicUsize::new(0), reached: Notify::new(), act: Some(Box::new(act)) };
        let done = lab.run(Some(&Arc::new(kill)), |_| ()).unwrap().unwrap();
        assert_eq!((done.copied, done.failed), (1, 0), "{:?}", lab.told.0.lock());
        assert_eq!(lab.dest.content(), large(9));
        assert!(lab.told.0.lock().contains(&"restarted big".to_owned()));
        if let Some(dest) = lab.dest.recorder() {
            assert_eq!(dest.aborted.load(Ordering::Relaxed), 1);
        }
    }
}

#[test]
fn bytes_that_change_on_their_way_are_noticed() {
    let lab = Lab::new(true, false, true);
    lab.source.fill(&Tree::from([("x".into(), vec![1, 2, 3])]));
    lab.source.recorder().unwrap().corrupt.store(1, Ordering::Relaxed);
    let done = lab.run(None, |_| ()).unwrap().unwrap();
    assert_eq!((done.copied, done.failed), (0, 1));
    assert!(lab.told.0.lock()[0].contains("the checksum differs"), "{:?}", lab.told.0.lock());
    assert_eq!(lab.dest.content(), Tree::new());
    assert_eq!(lab.run(None, |_| ()).unwrap().unwrap().copied, 1);
    assert_eq!(lab.told.0.lock().last().unwrap(), "x StoreCrc32c");
}

#[test]
fn an_upload_without_a_checksum_of_the_store_is_read_again() {
    let lab = Lab::new(false, true, false);
    lab.source.fill(&large(3));
    lab.source.fill(&Tree::from([("small".into(), vec![5])]));
    assert_eq!(lab.run(None, |_| ()).unwrap().unwrap().copied, 2);
    let mut told = lab.told.0.lock().clone();
    told.sort();
    assert_eq!(told, ["big Reread", "small Reread"]);
    // What was uploaded in one part carries its own checksum.
    let back = Lab { source: lab.dest, dest: End::new(false, false), state: lab.state, told: Arc::default() };
    assert_eq!(back.run(None, |_| ()).unwrap().unwrap().copied, 2);
    let mut told = back.told.0.lock().clone();
    told.sort();
    assert_eq!(told, ["big Size", "small Metadata"]);
}

#[test]
fn an_upload_whose_tags_are_md5_is_not_read_again() {
    let lab = Lab::new(false, true, false);
    lab.source.fill(&large(3));
    lab.source.fill(&Tree::from([("small".into(), vec![5])]));
    lab.dest.recorder().unwrap().md5.store(true, Ordering::Relaxed);
    assert_eq!(lab.run(None, |_| ()).unwrap().unwrap().copied, 2);
    let mut told = lab.told.0.lock().clone();
    told.sort();
    assert_eq!(told, ["big StoreMd5", "small StoreMd5"]);
}

#[test]
fn objects_that_are_listed_without_tags_are_read_once() {
    let lab = Lab::new(true, false, true);
    let tree = large(1);
    lab.source.fill(&tree);
    lab.source.recorder().unwrap().untagged.store(true, Ordering::Relaxed);
    for copied in [1, 0] {
        assert_eq!(lab.run(None, |_| {}).unwrap().unwrap().copied, copied);
    }
    whole(&lab.dest.content(), &tree);
    assert!(!lab.told.0.lock().iter().any(|line| line.starts_with("restarted")), "{:?}", lab.told.0.lock());
}

#[test]
fn only_delete_deletes_and_never_everything() {
    for to_store in [false, true] {
        let lab = Lab::new(true, to_store, true);
        lab.source.fill(&Tree::from([("a".into(), vec![1])]));
        lab.dest.fill(&Tree::from([("old/b".into(), vec![2]), ("keep.txt".into(), vec![3])]));
        assert_eq!(lab.run(None, |_| ()).unwrap().unwrap().deleted, 0);
        let delete = |options: &mut Options| {
            options.delete = true;
            options.filter = Filter::new(&[], &["*.txt".into()]).unwrap();
        };
        assert_eq!(lab.run(None, delete).unwrap().unwrap().deleted, 1);
        assert_eq!(lab.dest.content().into_keys().collect::<Vec<_>>(), ["a", "keep.txt"]);
        let End::Store(store) = &lab.source else { panic!("a store") };
        now(store.inner.delete(&Path::from("top/data/a"))).unwrap();
        let refused = lab.run(None, delete).unwrap().unwrap_err();
        assert!(refused.what.contains("would delete everything"), "{refused}");
    }
}

#[test]
fn a_second_run_on_the_same_destination_is_refused() {
    let lab = Lab::new(true, false, true);
    lab.source.fill(&large(1));
    let End::Folder(folder) = &lab.dest else { panic!("a folder") };
    std::fs::create_dir_all(folder.path().join(".warren-sync")).unwrap();
    let lock = std::fs::File::create(folder.path().join(".warren-sync/lock")).unwrap();
    lock.lock().unwrap();
    assert!(lab.run(None, |_| ()).unwrap().unwrap_err().what.contains("another run"));
}

/// With a rate, virtual time passes as the rate says.
#[tokio::test(start_paused = true)]
async fn the_rate_is_kept() {
    let lab = Lab::new(true, true, true);
    let End::Store(store) = &lab.source else { panic!("a store") };
    store.inner.put(&Path::from("top/data/big"), large(1).remove("big").unwrap().into()).await.unwrap();
    let mut options = lab.options();
    options.rate = Some(PART);
    let told = Arc::clone(&lab.told) as Arc<dyn Progress>;
    let engine = Engine::new(lab.source.place("a"), lab.dest.place("b"), options, told).await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(engine.run().await.unwrap().copied, 1);
    let seconds = begun.elapsed().as_secs_f64();
    assert!((9.0..11.0).contains(&seconds), "{seconds} s for ten parts at one part per second");
}
