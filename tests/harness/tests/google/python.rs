//! Google's own Python client, which reads the same documents with other code.

use std::process::Command;

use warren_harness::{Google, GoogleConfig, Venv};

fn run(config: GoogleConfig) {
    let google = Google::start(config).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/google_client.py");
    let output = Command::new(Venv::ensure().unwrap().python())
        .args([script, &google.endpoint()])
        .env_remove("PYTHONPATH")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}\n{:?}", String::from_utf8_lossy(&said), google.front().violations());
    google.front().assert_valid();
    assert_eq!(google.running_operations(), Vec::<String>::new());
    assert_eq!(google.left(), Vec::<String>::new());
    assert_eq!(google.front().calls_of("compute.subnetworks.insert").len(), 8);
}

#[test]
fn a_quick_cloud_serves_googles_client() {
    run(GoogleConfig::default());
}

#[test]
fn a_slow_cloud_serves_googles_client() {
    run(GoogleConfig { polls: 3, ..GoogleConfig::default() });
}
