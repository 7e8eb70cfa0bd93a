//! The embedded store: what it promises, also when its process is killed at any moment.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tokio::runtime::Runtime;
use warren_lease::{Key, Outcome, Transaction};
use warren_store::{Embedded, Member, News, Store};
use warren_wire::PublicKey;
use warren_wire::token::TokenId;

/// Set in the process that is going to be killed: where its store is, and which transaction comes first.
const CHILD: &str = "WARREN_STORE_TEST_CHILD";
/// Set in the process with a small disk of its own: where the disk is mounted.
const DISK: &str = "WARREN_STORE_TEST_DISK";

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn token(number: u64) -> Key {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    Key::Revoked(TokenId::from_random(id))
}

fn peer(number: u64) -> Key {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Key::Evicted(PublicKey::from_bytes(key))
}

/// Writes two records that belong together, and removes two of an earlier one.
fn pair(number: u64) -> Transaction {
    let value = number.to_be_bytes().to_vec();
    let delete = if number >= 10 { vec![token(number - 10), peer(number - 10)] } else { Vec::new() };
    Transaction {
        expect: vec![(token(number), 0), (peer(number), 0)],
        put: vec![(token(number), value.clone()), (peer(number), value)],
        delete,
    }
}

fn contents(path: &Path) -> (u64, Vec<Key>) {
    runtime().block_on(async {
        let store = Embedded::open(path).unwrap();
        let Some(News::Contents { revision, records }) = store.follow().recv().await else { panic!() };
        (revision, records.iter().map(|change| change.key).collect())
    })
}

/// What redb has written to a new file before its mark, which it writes last.
#[test]
fn a_file_whose_making_was_interrupted_is_made_again_and_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases.redb");
    let mut bytes = vec![0; 1 << 20];
    for header in [false, true] {
        bytes[9] = u8::from(header);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(contents(&path), (0, vec![]));
    }
    bytes[9000] = 1;
    std::fs::write(&path, &bytes).unwrap();
    let refused = Embedded::open(&path).unwrap_err().to_string();
    assert!(refused.contains("Not a redb database"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn contents_survive_and_versions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases.redb");
    runtime().block_on(async {
        let store = Embedded::open(&path).unwrap();
        assert_eq!(store.commit(&pair(1)).await, Ok(Outcome::Committed(1)));
        let mut news = store.follow();
        assert!(
            matches!(news.recv().await, Some(News::Contents { revision: 1, records }) if records.len() == 2)
        );
        let Ok(Outcome::Conflict(changes)) = store.commit(&pair(1)).await else { panic!("done twice") };
        assert_eq!(changes[0].version, 1);
        assert_eq!(changes[0].value.as_deref(), Some(&1_u64.to_be_bytes()[..]));
        let again = Transaction {
            expect: vec![(token(1), 1)],
            put: vec![(token(1), b"new".to_vec())],
            delete: vec![peer(1)],
        };
        assert_eq!(store.commit(&again).await, Ok(Outcome::Committed(2)));
        assert_eq!(news.recv().await, Some(News::Changes { revision: 2, changes: again.changes(2) }));
        let second = Embedded::open(&path).unwrap_err().to_string();
        assert!(second.contains("already open"), "{second}");
        let member = Member { name: "gw-a".parse().unwrap(), value: b"x".to_vec() };
        let presence = store.announce(member.clone()).await.unwrap();
        assert_eq!(store.members().await, Ok(vec![member]));
        drop(presence);
        while store.members().await != Ok(Vec::new()) {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(contents(&path), (2, vec![token(1)]));
}

#[test]
fn a_file_that_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases.redb");
    std::fs::write(&path, "a list of things to buy").unwrap();
    let error = Embedded::open(&path).unwrap_err().to_string();
    assert!(error.contains("leases.redb"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a list of things to buy");
}

/// The process that is killed; as a test of its own it does nothing.
#[test]
fn child() {
    let Ok(arguments) = std::env::var(CHILD) else { return };
    let (path, first) = arguments.rsplit_once('|').unwrap();
    let first: u64 = first.parse().unwrap();
    let store = Embedded::open(Path::new(path)).unwrap();
    runtime().block_on(async {
        for number in first.. {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nbegin {number}").unwrap();
            out.flush().unwrap();
            assert!(matches!(store.commit(&pair(number)).await, Ok(Outcome::Committed(_))));
            writeln!(out, "\ndone {number}").unwrap();
            out.flush().unwrap();
        }
    });
}

fn spawn(path: &Path, first: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{}|{first}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_at_every_write_it_loses_nothing_that_it_acknowledged() {
    const WRITES: u64 = 24;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("leases.redb");
    let mut first = 0;
    let (mut kills, mut kept) = (0, 0);
    // Killed as soon as the k-th write has begun, and as soon as it is done; each time on the file that is left.
    for write in 0..WRITES {
        for event in ["begin", "done"] {
            let mut child = spawn(&path, first);
            let last = format!("{event} {}", first + write % 6);
            let mut acknowledged = None;
            for line in BufReader::new(child.stdout.take().unwrap()).lines() {
                let line = line.unwrap();
                if let Some(number) = line.strip_prefix("done ") {
                    acknowledged = Some(number.parse::<u64>().unwrap());
                }
                if line == last {
                    child.kill().unwrap();
                    break;
                }
            }
            child.wait().unwrap();
            kills += 1;
            let (_, keys) = contents(&path);
            // Of what begun writes may have left, the last is whole or not there.
            let newest = (0..).take_while(|number| *number < first + 1000);
            let newest = newest.filter(|number| keys.contains(&token(*number))).max();
            if let Some(number) = acknowledged {
                assert!(newest >= Some(number), "write {number} was acknowledged, {newest:?} is there");
            }
            if let Some(newest) = newest {
                let mut expected: Vec<Key> = (newest.saturating_sub(9)..=newest)
                    .flat_map(|number| [token(number), peer(number)])
                    .collect();
                expected.sort_unstable();
                assert_eq!(keys, expected, "half a transaction");
                kept += u64::from(acknowledged != Some(newest));
                first = newest + 1;
            }
        }
    }
    println!("{kills} kills, {kept} writes that were not acknowledged and yet there, {first} writes in all");
}

/// A disk that is full for a while, in a process with a mount namespace of its own.
#[test]
fn a_full_disk_is_reported_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=4m disk \"${DISK}\" && exec \"$0\" --exact on_a_small_disk --nocapture --test-threads=1"
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(DISK, folder.path())
        .output()
        .unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("the disk was full"), "needs root: {told}");
}

/// The process with a small disk; as a test of its own it does nothing.
#[test]
fn on_a_small_disk() {
    let Some(disk) = std::env::var_os(DISK) else { return };
    let path = Path::new(&disk).join("leases.redb");
    let ballast = Path::new(&disk).join("ballast");
    runtime().block_on(async {
        let store = Embedded::open(&path).unwrap();
        let mut news = store.follow();
        assert!(matches!(news.recv().await, Some(News::Contents { revision: 0, .. })));
        assert_eq!(store.commit(&pair(1)).await, Ok(Outcome::Committed(1)));
        assert!(matches!(news.recv().await, Some(News::Changes { revision: 1, .. })));
        // What is left of the disk.
        let mut file = std::fs::File::create(&ballast).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        let big =
            |number| Transaction { put: vec![(token(number), vec![7; 1 << 20])], ..Transaction::default() };
        let error = store.commit(&big(2)).await.unwrap_err().to_string();
        assert!(error.contains("leases.redb: cannot write"), "{error}");
        assert!(matches!(news.recv().await, Some(News::Interrupted(reason)) if reason == error));
        // Also what needs no space, until the file was opened again.
        assert!(store.commit(&pair(3)).await.is_err());
        assert!(store.members().await.is_err());
        println!("the disk was full");
        drop(file);
        std::fs::remove_file(&ballast).unwrap();
        let Some(News::Contents { revision, records }) = news.recv().await else { panic!("no contents") };
        assert_eq!((revision, records.len()), (1, 2), "what was acknowledged, and nothing else");
        assert_eq!(store.members().await, Ok(Vec::new()));
        let Ok(Outcome::Committed(_)) = store.commit(&pair(3)).await else { panic!("refused") };
        assert!(matches!(news.recv().await, Some(News::Changes { .. })));
    });
    assert_eq!(contents(&path).1.len(), 4);
}
