//! Uploads in parts that are interrupted, and uploads that the store has forgotten.

use std::path::Path;

use warren_harness::{Emulator, Fault, ProxyConfig};

use super::google::{Store, events, large};
use super::{counts, end, read, request, sync, write};

/// Parts of 5 MiB, and what is left.
const PARTS: usize = 3;

#[test]
fn a_killed_transfer_continues_with_the_parts_that_are_missing() {
    let store = Store::start();
    let (there, back) = (store.folder("there", &large()), store.path("back"));
    for (source, dest, action) in [
        (there.as_str(), "gs://acme-gs/run/", "uploadPart"),
        ("gs://acme-gs/run/", back.as_str(), "getObject"),
    ] {
        store.killed(source, dest, action);
        let before = store.calls(action);
        let output = store.run(&[source, dest]);
        assert_eq!(counts(&output), (1, 0, 0));
        assert!(events(&output, "resumed")[0]["bytes"].as_u64().unwrap() >= 5 << 20, "{output:?}");
        let after = store.calls(action) - before;
        assert!(after < PARTS, "{action}: {after} parts after {before}");
    }
    assert_eq!((store.calls("createUpload"), store.bucket.uploads()), (1, 0));
    assert!(read(Path::new(&back)) == large());
    store.bucket.front().assert_valid();
}

/// A lifecycle rule, or another program, has aborted an upload between two runs.
#[test]
fn an_upload_that_was_aborted_begins_again() {
    let store = Store::start();
    let there = store.folder("there", &large());
    store.killed(&there, "gs://acme-gs/run/", "uploadPart");
    store.bucket.forget_uploads();
    let output = store.run(&[&there, "gs://acme-gs/run/"]);
    assert_eq!(counts(&output), (1, 0, 0));
    assert_eq!(events(&output, "restarted").len(), 1, "{output:?}");
    assert_eq!((store.calls("createUpload"), store.bucket.uploads()), (2, 0));
    assert!(store.bucket.bytes("acme-gs", "run/model.bin").unwrap() == large()["model.bin"]);
}

/// The same within a run: at a part, and at the completion.
#[test]
fn an_upload_that_is_forgotten_in_mid_run_begins_again() {
    for action in ["uploadPart", "completeUpload"] {
        let store = Store::start();
        let there = store.folder("there", &large());
        let forgotten = Fault::error(404, "NoSuchUpload", "The requested upload was not found.");
        store.bucket.front().inject(forgotten.on(action));
        let output = store.run(&[&there, "gs://acme-gs/run/", "--part-size", "5M", "--connections", "1"]);
        assert_eq!(counts(&output), (1, 0, 0), "{action}");
        assert_eq!((store.calls("createUpload"), store.bucket.uploads()), (2, 0), "{action}");
        assert!(store.bucket.bytes("acme-gs", "run/model.bin").unwrap() == large()["model.bin"]);
    }
}

/// The answer to a completion is lost. Repeated at once, it is the same; later, the store has forgotten the upload, but has its
/// object.
#[test]
fn a_completion_whose_answer_is_lost_is_not_repeated_in_vain() {
    for forgotten in [false, true] {
        let store = Store::start();
        let there = store.folder("there", &large());
        let front = store.bucket.front();
        front.inject(Fault::cut_after().on("completeUpload"));
        if forgotten {
            front.inject(
                Fault::error(404, "NoSuchUpload", "The requested upload was not found.").on("completeUpload"),
            );
        }
        let output = store.run(&[&there, "gs://acme-gs/run/", "--part-size", "5M"]);
        assert_eq!(counts(&output), (1, 0, 0), "{forgotten}");
        assert_eq!(events(&output, "copied")[0]["verified"], "store-crc32c");
        assert_eq!((store.calls("uploadPart"), store.calls("completeUpload")), (PARTS, 2), "{forgotten}");
        assert_eq!(counts(&store.run(&[&there, "gs://acme-gs/run/"])), (0, 1, 0));
    }
}

/// S3, in front of which an upload is forgotten.
#[test]
fn an_upload_that_s3_has_forgotten_begins_again() {
    let s3 = Emulator::start(ProxyConfig::default()).unwrap();
    let scope = "AKIAEXAMPLE/20260101/us-east-1/s3/aws4_request";
    let signed =
        format!("Authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
    let made = request(s3.endpoint().trim_start_matches("http://"), "PUT", "/acme-ckpt", &signed);
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    let home = tempfile::tempdir().unwrap();
    let (there, back) = (home.path().join("there"), home.path().join("back"));
    write(&there, &large());
    let there = there.display().to_string();
    let run = |source: &str, dest: &str| {
        let mut command =
            sync(home.path(), &[source, dest, "--direct", "--part-size", "5M", "--connections", "1"]);
        command.env("AWS_ENDPOINT_URL", s3.endpoint()).output().unwrap()
    };
    for (action, folder) in [("UploadPart", "parts"), ("CompleteMultipartUpload", "end")] {
        let message =
            "The specified upload does not exist. The upload ID may be invalid, or it may have been aborted.";
        s3.proxy().inject(Fault::error(404, "NoSuchUpload", message).on(action));
        let output = run(&there, &format!("s3://acme-ckpt/{folder}/"));
        assert_eq!(counts(&output), (1, 0, 0), "{action}");
        assert_eq!(events(&output, "restarted").len(), 1, "{action}: {output:?}");
    }
    end(&run("s3://acme-ckpt/parts/", &back.display().to_string()));
    assert!(read(&back) == large());
}
