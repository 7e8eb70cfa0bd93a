//! `warren-tunnel sync` with a real S3 server (moto), Google Cloud Storage (a double), a proxy, kills, and signals.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod google;
mod interrupted;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use warren_harness::{MotoServer, Venv};
use warren_tunnel_tests::Implementation;

type Tree = BTreeMap<String, Vec<u8>>;

/// Moto with a bucket, and a folder for everything else.
struct Lab {
    moto: MotoServer,
    home: tempfile::TempDir,
}

impl Lab {
    fn start() -> Self {
        let moto = MotoServer::start(&Venv::ensure().unwrap()).unwrap();
        let lab = Self { moto, home: tempfile::tempdir().unwrap() };
        let server = format!("127.0.0.1:{}", lab.moto.port());
        let answer = request(&server, "PUT", "/acme-ckpt", "X-Nothing: 0");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        lab
    }

    fn sync(&self, arguments: &[&str]) -> Command {
        let mut command = sync(self.home.path(), arguments);
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.moto.port()));
        command
    }

    fn path(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }
}

/// The answer of a server to a request without a body.
fn request(server: &str, method: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {server}\r\n{header}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The command, without anything of the environment that decides where it goes.
fn sync(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(Implementation::WarrenTunnel.path().unwrap());
    command.arg("sync").args(arguments).env_clear().env("HOME", home).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "hush-hush");
    command.stdin(Stdio::null());
    command
}

/// The last event of a successful run.
fn end(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("hush") && !String::from_utf8_lossy(&output.stderr).contains("hush"));
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn counts(output: &Output) -> (u64, u64, u64) {
    let end = end(output);
    let count = |name: &str| end[name].as_u64().unwrap();
    (count("copied"), count("unchanged"), count("deleted"))
}

fn bytes(length: usize, salt: u64) -> Vec<u8> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

fn write(root: &Path, tree: &Tree) {
    for (name, bytes) in tree {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn read(root: &Path) -> Tree {
    fn walk(root: &Path, below: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(below).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, tree);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                tree.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut tree = Tree::new();
    walk(root, root, &mut tree);
    tree.retain(|name, _| !name.starts_with(".warren-sync/"));
    tree
}

fn dataset() -> Tree {
    let mut tree: Tree = (0..20).map(|n| (format!("small/part {n}.bin"), bytes(n * 700, n as u64))).collect();
    tree.insert("model é.bin".into(), bytes(12_000_000, 99));
    tree
}

#[test]
fn a_folder_goes_to_s3_and_back_and_only_changes_go_again() {
    let lab = Lab::start();
    let (there, back) = (lab.path("there"), lab.path("back"));
    write(Path::new(&there), &dataset());
    let up = || counts(&lab.sync(&[&there, "s3://acme-ckpt/run/1/", "--direct"]).output().unwrap());
    assert_eq!(up(), (21, 0, 0));
    assert_eq!(up(), (0, 21, 0));
    let down = |more: &[&str]| {
        let arguments = [&["s3://acme-ckpt/run/1", back.as_str(), "--direct"], more].concat();
        counts(&lab.sync(&arguments).output().unwrap())
    };
    assert_eq!(down(&["--include", "small/**", "--exclude", "*1.bin"]), (18, 0, 0));
    assert_eq!(down(&[]), (3, 18, 0));
    assert_eq!(read(Path::new(&back)), dataset());
    fs::write(Path::new(&there).join("small/part 3.bin"), b"new").unwrap();
    fs::remove_file(Path::new(&there).join("small/part 4.bin")).unwrap();
    let dry =
        lab.sync(&[&there, "s3://acme-ckpt/run/1/", "--direct", "--delete", "--dry-run"]).output().unwrap();
    assert_eq!((end(&dry)["copy"].as_u64(), end(&dry)["delete"].as_u64()), (Some(1), Some(1)));
    let up = lab.sync(&[&there, "s3://acme-ckpt/run/1/", "--direct", "--delete"]).output().unwrap();
    assert_eq!(counts(&up), (1, 19, 1));
    assert_eq!(down(&["--delete"]), (1, 19, 1));
    assert_eq!(read(Path::new(&back)), read(Path::new(&there)));
    let arguments = ["s3://acme-ckpt/run/1/", "s3://acme-ckpt/run/2/", "--direct"];
    assert_eq!(counts(&lab.sync(&arguments).output().unwrap()), (20, 0, 0));
    let copy = lab.path("copy");
    assert_eq!(
        counts(&lab.sync(&["s3://acme-ckpt/run/2/", &copy, "--direct"]).output().unwrap()),
        (20, 0, 0)
    );
    assert_eq!(read(Path::new(&copy)), read(Path::new(&there)));
}

#[test]
fn a_bucket_that_does_not_exist_is_named() {
    let lab = Lab::start();
    let failed = lab.sync(&["s3://acme-none/x", &lab.path("x"), "--direct"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    let text = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(
        text,
        "warren-tunnel: s3://acme-none/x: the store answered NoSuchBucket: The specified bucket does not exist\n  \
         hint: check the name of the bucket, and the endpoint if you set one\n"
    );
}

/// Killed again and again, a transfer comes to its end, and the files that have their final name are whole.
#[test]
fn a_killed_process_continues() {
    let lab = Lab::start();
    let there = lab.path("there");
    write(Path::new(&there), &dataset());
    for (source, dest) in
        [(there.as_str(), "s3://acme-ckpt/killed/"), ("s3://acme-ckpt/killed/", lab.path("back").as_str())]
    {
        let mut killed = 0;
        for wait in [20, 60, 100, 150, 200] {
            let mut child =
                lab.sync(&[source, dest, "--direct", "--rate", "8M"]).stdout(Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_millis(wait));
            killed += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
            if !dest.starts_with("s3:") {
                let whole = read(Path::new(dest));
                for (name, bytes) in whole.iter().filter(|(name, _)| !name.contains("warren-partial")) {
                    assert!(dataset()[name] == *bytes, "{name}");
                }
            }
        }
        assert!(killed >= 3, "{killed}");
        end(&lab.sync(&[source, dest, "--direct"]).output().unwrap());
    }
    assert_eq!(read(Path::new(&lab.path("back"))), dataset());
}

/// Answers CONNECT, whatever the target, with a connection to `to`.
fn proxy(to: u16, seen: Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, seen) = (client.unwrap(), Arc::clone(&seen));
            thread::spawn(move || {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    client.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                assert!(head.starts_with("CONNECT 127.0.0.2:80 HTTP/1.1\r\n"), "{head}");
                assert!(head.contains("Proxy-Authorization: Basic YWRhOnM=\r\n"), "{head}");
                seen.fetch_add(1, Ordering::SeqCst);
                client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let (mut from, mut into) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let back = thread::spawn(move || {
                    _ = std::io::copy(&mut from, &mut into);
                    _ = into.shutdown(std::net::Shutdown::Write);
                });
                _ = std::io::copy(&mut client, &mut &server);
                _ = server.shutdown(std::net::Shutdown::Write);
                _ = back.join();
            });
        }
    });
    port
}

#[test]
fn requests_pass_through_the_proxy_of_the_environment() {
    let lab = Lab::start();
    let there = lab.path("there");
    write(Path::new(&there), &Tree::from([("a".into(), bytes(1000, 1))]));
    let seen = Arc::new(AtomicUsize::new(0));
    let port = proxy(lab.moto.port(), Arc::clone(&seen));
    let mut command = lab.sync(&[&there, "s3://acme-ckpt/proxied/"]);
    command
        .env("AWS_ENDPOINT_URL", "http://127.0.0.2")
        .env("HTTPS_PROXY", format!("http://ada:s@127.0.0.1:{port}"));
    assert_eq!(counts(&command.output().unwrap()), (1, 0, 0));
    assert!(seen.load(Ordering::SeqCst) > 0);
}

/// A process that watches.
struct Watching(Child, BufReader<ChildStdout>, String);

impl Watching {
    /// Returns when signals are handled.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (mut lines, mut text) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        lines.read_line(&mut text).unwrap();
        assert!(text.contains("\"event\":\"start\""), "{text}");
        Self(child, lines, text)
    }

    /// Sends SIGTERM; returns the exit code and the events.
    fn stop(self) -> (Option<i32>, Vec<Value>) {
        let Self(mut child, mut lines, mut text) = self;
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        lines.read_to_string(&mut text).unwrap();
        let code = child.wait().unwrap().code();
        (code, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// SIGTERM at any moment of a checkpoint, 40 times: it is at the destination as a whole or not at all, and whatever was
/// complete before the signal is there.
#[test]
fn a_signal_in_mid_checkpoint_leaves_it_complete_or_absent() {
    let home = tempfile::tempdir().unwrap();
    let (source, dest) = (home.path().join("ckpt"), home.path().join("dest"));
    fs::create_dir_all(&source).unwrap();
    let (from, to) = (source.display().to_string(), dest.display().to_string());
    for round in 0..40_u64 {
        let watching = Watching::start(sync(
            home.path(),
            &[&from, &to, "--direct", "--watch", "--marker", "done", "--quiet-period", "0", "--grace", "20"],
        ));
        thread::sleep(Duration::from_millis(20 + round % 7 * 15));
        let unit = source.join(format!("step-{round}"));
        let tree: Tree = (0..4).map(|n| (format!("shard-{n}.pt"), bytes(40_000, round * 10 + n))).collect();
        write(&unit, &tree);
        // In every third round the writer is killed too, before the marker.
        let whole = round % 3 != 0;
        if whole {
            fs::write(unit.join("done"), b"").unwrap();
        }
        thread::sleep(Duration::from_millis(round % 10 * 8));
        let (code, events) = watching.stop();
        assert_eq!(code, Some(0), "{events:?}");
        let there = dest.join(format!("step-{round}"));
        assert_eq!(there.join(".warren-complete.json").exists(), whole, "round {round}: {events:?}");
        if whole {
            let mut found = read(&there);
            found.remove(".warren-complete.json");
            assert_eq!(found, read(&unit), "round {round}");
        }
    }
}

#[test]
fn checkpoints_go_to_s3_once_the_newest_first_and_two_stay() {
    let lab = Lab::start();
    let source = lab.path("ckpt");
    let arguments =
        [source.as_str(), "s3://acme-ckpt/run/", "--direct", "--watch", "--quiet-period", "0", "--keep", "2"];
    for step in 0..3 {
        let tree = Tree::from([("a.pt".into(), bytes(5000, step)), ("config.json".into(), b"{}".to_vec())]);
        write(&Path::new(&source).join(format!("step-{step}")), &tree);
        thread::sleep(Duration::from_millis(15));
    }
    fs::create_dir_all(Path::new(&source).join("tmp-step-3")).unwrap();
    fs::write(Path::new(&source).join("tmp-step-3/a.pt"), b"half").unwrap();
    let log = Path::new(&source).join("../log");
    let mut command = lab.sync(&arguments);
    command.stdout(fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let complete = |name: &str| {
        let text = fs::read_to_string(&log).unwrap();
        text.contains(&format!("\"event\":\"checkpoint-complete\",\"name\":\"{name}\""))
    };
    wait_for("the second newest", || complete("step-1"));
    fs::rename(Path::new(&source).join("tmp-step-3"), Path::new(&source).join("step-3")).unwrap();
    wait_for("the renamed one", || complete("step-3"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let text = fs::read_to_string(&log).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let begun = events.iter().filter(|event| event["event"] == "checkpoint-begun");
    let names: Vec<&str> = begun.map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["step-2", "step-1", "step-3"]);
    // A second process finds them there.
    let again = lab.sync(&arguments);
    let watching = Watching::start(again);
    thread::sleep(Duration::from_millis(700));
    let (code, events) = watching.stop();
    assert_eq!(code, Some(0));
    assert!(events.iter().all(|event| event["event"] != "checkpoint-begun"), "{events:?}");
    let back = lab.path("back");
    end(&lab.sync(&["s3://acme-ckpt/run/", &back, "--direct"]).output().unwrap());
    let manifests =
        read(Path::new(&back)).into_keys().filter(|name| name.ends_with(".warren-complete.json")).count();
    assert_eq!(manifests, 2);
}
