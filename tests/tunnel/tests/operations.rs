//! What operators are given beside the binary: `tunnel/operations`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::{Command, Output};

use warren_tunnel_tests::{program, workspace_root};

fn folder() -> PathBuf {
    workspace_root().join("tunnel/operations")
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name).unwrap()).args(arguments).current_dir(folder()).output().unwrap()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_alerts_fire_when_they_should() {
    let rules = run("promtool", &["check", "rules", "alerts.yaml"]);
    assert!(rules.status.success(), "{}", told(&rules));
    let played = run("promtool", &["test", "rules", "alerts_test.yaml"]);
    assert!(played.status.success(), "{}", told(&played));
}

/// The binary that the unit starts is not installed here: that is the only complaint.
#[test]
fn the_unit_is_one_and_sandboxed() {
    let unit = "./warren-tunnel-gateway.service";
    let verified = told(&run("systemd-analyze", &["verify", "--man=no", unit]));
    let complaints: Vec<&str> = verified
        .lines()
        .filter(|line| !line.contains("/usr/local/bin/warren-tunnel is not executable"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let exposure =
        run("systemd-analyze", &["security", "--offline=true", "--threshold=20", "--no-pager", unit]);
    assert!(exposure.status.success(), "more exposed than 2.0 of 10:\n{}", told(&exposure));
}
