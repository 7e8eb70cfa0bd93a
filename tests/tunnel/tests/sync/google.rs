//! Google Cloud Storage: a double of its XML API, with tokens of its metadata service.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use warren_harness::{Bucket, BucketConfig, Fault, Venv};

use super::{Lab, Tree, Watching, bytes, counts, dataset, end, read, sync, wait_for, write};

pub(crate) struct Store {
    pub(crate) bucket: Bucket,
    pub(crate) home: tempfile::TempDir,
}

impl Store {
    pub(crate) fn start() -> Self {
        let names = vec!["acme-gs".to_owned(), "acme-other".to_owned()];
        let config = BucketConfig { names, page: 7, ..BucketConfig::default() };
        Self { bucket: Bucket::start_with(config).unwrap(), home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn sync(&self, arguments: &[&str]) -> Command {
        self.at(sync(self.home.path(), &[arguments, &["--direct"]].concat()))
    }

    /// With the credentials of an instance.
    fn at(&self, mut command: Command) -> Command {
        let endpoint = self.bucket.endpoint();
        command.env("GCE_METADATA_HOST", endpoint.trim_start_matches("http://"));
        command.env("GOOGLE_BASE_URL", endpoint);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.sync(arguments).output().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.home.path().join(name).display().to_string()
    }

    /// A folder with these files.
    pub(crate) fn folder(&self, name: &str, tree: &Tree) -> String {
        let path = self.path(name);
        write(Path::new(&path), tree);
        path
    }

    pub(crate) fn calls(&self, action: &str) -> usize {
        self.bucket.front().calls_of(action).len()
    }

    /// A transfer in parts of 5 MiB that is killed when the store has some of them.
    pub(crate) fn killed(&self, source: &str, dest: &str, action: &str) {
        let limits = ["--rate", "8M", "--connections", "1", "--part-size", "5M"];
        let before = self.calls(action);
        let command = self.sync(&[&[source, dest], &limits[..]].concat());
        let mut child = quiet(command);
        // The first part is recorded when the second one begins.
        wait_for("parts", || self.calls(action) >= before + 2);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn quiet(mut command: Command) -> Child {
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// The events of a run, whatever its end.
pub(crate) fn events(output: &Output, name: &str) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event["event"] == name).collect()
}

pub(crate) fn large() -> Tree {
    Tree::from([("model.bin".into(), bytes(12_000_000, 7))])
}

#[test]
fn a_folder_goes_to_google_storage_and_back_and_only_changes_go_again() {
    let store = Store::start();
    let mut tree = dataset();
    tree.insert("odd/a&b <c> 100%+1'\".txt".into(), b"odd".to_vec());
    tree.insert("empty".into(), Vec::new());
    let (there, back) = (store.folder("there", &tree), store.path("back"));
    let up = |more: &[&str]| store.run(&[&[&there, "gs://acme-gs/run/1/"], more].concat());
    let first = up(&[]);
    assert_eq!(counts(&first), (23, 0, 0));
    let copied = events(&first, "copied");
    assert!(copied.iter().all(|event| event["verified"] == "store-crc32c"), "{copied:?}");
    assert_eq!(counts(&up(&[])), (0, 23, 0));

    let down = |more: &[&str]| store.run(&[&["gs://acme-gs/run/1", back.as_str()], more].concat());
    assert_eq!(counts(&down(&["--include", "small/**", "--exclude", "*1.bin"])), (18, 0, 0));
    let rest = down(&[]);
    assert_eq!(counts(&rest), (5, 18, 0));
    assert!(events(&rest, "copied").iter().all(|event| event["verified"] == "store-crc32c"));
    assert!(read(Path::new(&back)) == tree);

    fs::write(Path::new(&there).join("small/part 3.bin"), b"new").unwrap();
    fs::remove_file(Path::new(&there).join("small/part 4.bin")).unwrap();
    let dry = end(&up(&["--delete", "--dry-run"]));
    assert_eq!((dry["copy"].as_u64(), dry["delete"].as_u64()), (Some(1), Some(1)));
    assert_eq!(counts(&up(&["--delete"])), (1, 21, 1));
    assert_eq!(counts(&down(&["--delete"])), (1, 21, 1));
    assert!(read(Path::new(&back)) == read(Path::new(&there)));
    assert_eq!(counts(&store.run(&["gs://acme-gs/run/1/", "gs://acme-other/"])), (22, 0, 0));
    assert_eq!(store.bucket.keys("acme-other").len(), 22);
    store.bucket.front().assert_valid();
    assert!(store.calls("getToken") > 0 && store.calls("listObjects") > 20);
}

/// What other programs store: an empty object for a folder, and compressed objects, which the service decompresses unless asked
/// not to.
#[test]
fn objects_arrive_as_they_are_stored() {
    let store = Store::start();
    let python = Venv::ensure().unwrap().python();
    let script = "import gzip, sys; sys.stdout.buffer.write(gzip.compress(b'plain ' * 1000))";
    let packed = Command::new(python).args(["-c", script]).output().unwrap().stdout;
    let put = |key: &str, bytes: &[u8], headers: &[(&str, &str)]| {
        store.bucket.put("acme-gs", key, bytes.to_vec(), headers);
    };
    put("data/", b"", &[]);
    put("data/logs/", b"", &[]);
    put(
        "data/logs/a.json.gz",
        &packed,
        &[("content-encoding", "gzip"), ("content-type", "application/json")],
    );
    let back = store.path("back");
    let output = store.run(&["gs://acme-gs/data/", &back]);
    assert_eq!(counts(&output), (1, 0, 0));
    assert_eq!(events(&output, "copied")[0]["verified"], "store-crc32c");
    assert!(fs::read(Path::new(&back).join("logs/a.json.gz")).unwrap() == packed);
    // In parts too.
    let noise = bytes(6_000_000, 3);
    put("big/noise.gz", &noise, &[("content-encoding", "gzip")]);
    assert_eq!(counts(&store.run(&["gs://acme-gs/big/", &back, "--part-size", "5M"])), (1, 0, 0));
    assert!(fs::read(Path::new(&back).join("noise.gz")).unwrap() == noise);
}

#[test]
fn objects_go_from_cloud_to_cloud() {
    let (s3, store) = (Lab::start(), Store::start());
    let tree = dataset();
    let there = store.folder("there", &tree);
    end(&s3.sync(&[&there, "s3://acme-ckpt/data/", "--direct"]).output().unwrap());
    let both = |from: &str, to: &str| store.at(s3.sync(&[from, to, "--direct"])).output().unwrap();
    assert_eq!(counts(&both("s3://acme-ckpt/data/", "gs://acme-gs/data/")), (21, 0, 0));
    assert_eq!(counts(&both("s3://acme-ckpt/data/", "gs://acme-gs/data/")), (0, 21, 0));
    assert_eq!(counts(&both("gs://acme-gs/data/", "s3://acme-ckpt/back/")), (21, 0, 0));
    let back = store.path("back");
    assert_eq!(counts(&s3.sync(&["s3://acme-ckpt/back/", &back, "--direct"]).output().unwrap()), (21, 0, 0));
    assert!(read(Path::new(&back)) == tree);
    store.bucket.front().assert_valid();
}

/// A bit that changes on its way is found by the CRC-32C of the store, and nothing of the object stays.
#[test]
fn a_changed_bit_is_found() {
    let store = Store::start();
    let there = store.folder("there", &large());
    let small = store.folder("small", &Tree::from([("a.txt".into(), b"a small object".to_vec())]));
    let back = store.path("back");
    for (source, dest, action) in [
        (small.as_str(), "gs://acme-gs/small/", "putObject"),
        (there.as_str(), "gs://acme-gs/large/", "uploadPart"),
        ("gs://acme-gs/small/", back.as_str(), "getObject"),
        ("gs://acme-gs/large/", back.as_str(), "getObject"),
    ] {
        store.bucket.front().inject(Fault::corrupt().on(action));
        let output = store.run(&[source, dest, "--part-size", "5M"]);
        let failed = events(&output, "failed");
        assert!(!output.status.success() && failed.len() == 1, "{action}: {failed:?}");
        assert!(failed[0]["error"].as_str().unwrap().contains("the checksum differs"), "{failed:?}");
        let name = if source.contains("small") { "a.txt" } else { "model.bin" };
        match dest.strip_prefix("gs://acme-gs/") {
            Some(folder) => assert_eq!(store.bucket.bytes("acme-gs", &format!("{folder}{name}")), None),
            None => assert!(!Path::new(&back).join(name).exists()),
        }
        assert_eq!(counts(&store.run(&[source, dest, "--part-size", "5M"])), (1, 0, 0), "{action}");
    }
    assert!(read(Path::new(&back))["model.bin"] == large()["model.bin"]);
}

/// Every request is refused once, with each error by which the service asks to slow down.
#[test]
fn a_service_that_asks_to_slow_down_gets_everything_later() {
    let store = Store::start();
    let mut tree = large();
    tree.insert("a.txt".into(), b"a".to_vec());
    let (there, back) = (store.folder("there", &tree), store.path("back"));
    store.bucket.put("acme-gs", "run/surplus", b"x".to_vec(), &[]);
    let busy = [Fault::throttle(), Fault::error(503, "ServiceUnavailable", "Service unavailable.")];
    for (fault, (source, dest)) in
        busy.into_iter().zip([(there.as_str(), "gs://acme-gs/run/"), ("gs://acme-gs/run/", back.as_str())])
    {
        store.bucket.front().clear_calls();
        store.bucket.front().inject(fault.each(1));
        assert_eq!(counts(&store.run(&[source, dest, "--delete"])).0, 2);
        let calls = store.bucket.front().calls();
        let refused = calls.iter().filter(|call| matches!(call.status, Some(429 | 503))).count();
        let requests = calls.iter().map(|call| format!("{} {:?}", call.action, call.params));
        assert_eq!(refused, requests.collect::<BTreeSet<_>>().len(), "{calls:?}");
        store.bucket.front().clear_faults();
    }
    assert!(read(Path::new(&back)) == tree);
    assert_eq!(store.bucket.keys("acme-gs"), ["run/a.txt", "run/model.bin"]);
}

#[test]
fn a_surplus_object_that_is_gone_counts_as_deleted() {
    let store = Store::start();
    let there = store.folder("there", &Tree::from([("a".into(), b"a".to_vec())]));
    store.bucket.put("acme-gs", "surplus", b"x".to_vec(), &[]);
    let gone = Fault::error(404, "NoSuchKey", "The specified key does not exist.");
    store.bucket.front().inject(gone.on("deleteObject"));
    assert_eq!(counts(&store.run(&[&there, "gs://acme-gs/", "--delete"])), (1, 0, 1));
}

#[test]
fn errors_of_the_store_are_explained() {
    let store = Store::start();
    let failed = |arguments: &[&str], token: &str| {
        let output = store.sync(arguments).env("GOOGLE_BEARER_TOKEN", token).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    store.bucket.trust(|token| token == "mine");
    assert_eq!(
        failed(&["gs://acme-none/x", &store.path("x")], "mine"),
        "warren-tunnel: gs://acme-none/x: the store answered NoSuchBucket: The specified bucket does not exist.\n  \
         hint: check the name of the bucket, and the endpoint if you set one\n"
    );
    assert_eq!(
        failed(&["gs://acme-gs/x", &store.path("x")], "stale"),
        "warren-tunnel: gs://acme-gs/x: the store answered AuthenticationRequired: Authentication required.\n  \
         hint: renew the credentials\n"
    );
}

/// A service account's key signs tokens for an hour. The store verifies them with its public half.
#[test]
fn the_key_of_a_service_account_signs_tokens() {
    const SCRIPT: &str = r"
import json, sys
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import rsa
key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()).decode()
account = {'type': 'service_account', 'private_key_id': 'k1', 'private_key': pem, 'client_email': 'ml@acme.iam.gserviceaccount.com'}
json.dump(account, open(sys.argv[1], 'w'))
open(sys.argv[2], 'wb').write(key.public_key().public_bytes(s.Encoding.DER, s.PublicFormat.PKCS1))
";
    let store = Store::start();
    let (file, public) = (store.path("key.json"), store.path("public"));
    let made = Command::new(Venv::ensure().unwrap().python()).args(["-c", SCRIPT, &file, &public]).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let public = fs::read(public).unwrap();
    let there = store.folder("there", &Tree::from([("a".into(), b"a".to_vec())]));
    let run = |variable: &str| {
        store.sync(&[&there, "gs://acme-gs/", "--json"]).env(variable, &file).output().unwrap()
    };
    let refused = run("GOOGLE_APPLICATION_CREDENTIALS");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("AuthenticationRequired"));
    store.bucket.trust(move |token| {
        let Some((signed, signature)) = token.rsplit_once('.') else { return false };
        let [Some(claims), Some(signature)] =
            [signed.split('.').nth(1), Some(signature)].map(|part| URL_SAFE_NO_PAD.decode(part?).ok())
        else {
            return false;
        };
        let algorithm = &ring::signature::RSA_PKCS1_2048_8192_SHA256;
        let key = ring::signature::UnparsedPublicKey::new(algorithm, &public);
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        key.verify(signed.as_bytes(), &signature).is_ok()
            && claims["iss"] == "ml@acme.iam.gserviceaccount.com"
            && claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
            && claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap() == 3600
    });
    assert_eq!(counts(&run("GOOGLE_APPLICATION_CREDENTIALS")), (1, 0, 0));
    assert_eq!(counts(&run("GOOGLE_SERVICE_ACCOUNT")), (0, 1, 0));
    assert_eq!(store.calls("getToken"), 0);
}

#[test]
fn checkpoints_go_to_google_storage_once_the_newest_first_and_two_stay() {
    let store = Store::start();
    let source = store.path("ckpt");
    let arguments = [
        source.as_str(),
        "gs://acme-gs/run/",
        "--watch",
        "--quiet-period",
        "0",
        "--keep",
        "2",
        "--part-size",
        "5M",
    ];
    for step in 0..3 {
        let tree =
            Tree::from([("a.pt".into(), bytes(6_000_000, step)), ("config.json".into(), b"{}".to_vec())]);
        write(&Path::new(&source).join(format!("step-{step}")), &tree);
        thread::sleep(Duration::from_millis(15));
    }
    let half = Path::new(&source).join("tmp-step-3");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("a.pt"), b"half").unwrap();
    let log = store.path("log");
    let mut child = store.sync(&arguments).stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let shown = || fs::read_to_string(&log).unwrap();
    let complete =
        |name: &str| shown().contains(&format!("\"event\":\"checkpoint-complete\",\"name\":\"{name}\""));
    wait_for("the second newest", || complete("step-1"));
    fs::File::options().append(true).open(half.join("a.pt")).unwrap().write_all(b" and half").unwrap();
    fs::rename(half, Path::new(&source).join("step-3")).unwrap();
    wait_for("the renamed one", || complete("step-3"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let text = shown();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let begun = events.iter().filter(|event| event["event"] == "checkpoint-begun");
    let names: Vec<&str> = begun.map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["step-2", "step-1", "step-3"]);
    let kept = ["step-2", "step-3"].map(|step| {
        [".warren-complete.json", "a.pt", "config.json"].map(|name| {
            let name = if step == "step-3" && name == "config.json" { "" } else { name };
            format!("run/{step}/{name}")
        })
    });
    let kept: Vec<&String> = kept.iter().flatten().filter(|key| !key.ends_with('/')).collect();
    assert!(store.bucket.keys("acme-gs").iter().eq(kept), "{:?}", store.bucket.keys("acme-gs"));
    assert_eq!(store.bucket.object("acme-gs", "run/step-3/a.pt").unwrap(), "half and half");
    // A second process finds them there.
    let watching = Watching::start(store.sync(&arguments));
    thread::sleep(Duration::from_millis(700));
    let (code, events) = watching.stop();
    assert_eq!(code, Some(0));
    assert!(events.iter().all(|event| event["event"] != "checkpoint-begun"), "{events:?}");
    store.bucket.front().assert_valid();
}
