//! Who may talk to the plugin.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;
use tf_provider_rs::test::{Address, ClientCertificate, Plugin};

use crate::common::example;
use crate::proving;

const COOKIE: &str = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

#[test]
fn only_the_client_that_started_it_is_let_in() {
    let plugin = proving();
    let other = ClientCertificate::generate().unwrap();
    assert!(plugin.ask_as(Some(&other)).is_err(), "another certificate was let in");
    assert!(plugin.ask_as(None).is_err(), "no certificate was let in");
    // And still serves the right one.
    assert!(plugin.schema().is_ok());
    // A rejected client may know it before the plugin has written its line.
    let rejected = || plugin.stderr().matches("rejected a connection").count();
    let end = Instant::now() + Duration::from_secs(10);
    while rejected() < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(rejected(), 2, "{}", plugin.stderr());
}

#[test]
fn only_this_user_reaches_the_socket() {
    let plugin = proving();
    let folder = plugin.socket().parent().unwrap().to_path_buf();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    plugin.shutdown().unwrap();
    plugin.wait_exit(Duration::from_secs(5)).unwrap();
    assert!(!folder.exists(), "{} was left behind", folder.display());
}

#[test]
fn the_socket_is_where_the_client_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let plugin = Plugin::launch(&example("proving"), &[("PLUGIN_UNIX_SOCKET_DIR", path)]).unwrap();
    assert!(plugin.socket().starts_with(folder.path()), "{}", plugin.socket().display());
    assert!(plugin.schema().is_ok());
}

#[test]
fn tcp_has_the_port_and_the_trust_of_the_client() {
    let environment =
        [("TF_PROVIDER_NETWORK", "tcp"), ("PLUGIN_MIN_PORT", "21000"), ("PLUGIN_MAX_PORT", "21999")];
    let plugin = Plugin::launch(&example("proving"), &environment).unwrap();
    let Address::Tcp(address) = plugin.address() else { panic!("{:?}", plugin.address()) };
    assert!(address.ip().is_loopback() && (21_000..22_000).contains(&address.port()), "{address}");
    assert!(plugin.configure(&json!({})).unwrap().is_empty());
    let other = ClientCertificate::generate().unwrap();
    assert!(plugin.ask_as(Some(&other)).is_err(), "another certificate was let in");
    assert!(plugin.ask_as(None).is_err(), "no certificate was let in");
    plugin.shutdown().unwrap();
    assert_eq!(plugin.wait_exit(Duration::from_secs(5)).unwrap(), 0);
}

#[test]
fn a_developer_stays_on_a_socket_of_their_own() {
    // Without TLS, everybody on the machine could connect to a port.
    let plugin = Plugin::launch_debug(&example("proving"), &[("TF_PROVIDER_NETWORK", "tcp")]).unwrap();
    assert!(plugin.socket().exists());
}

#[test]
fn a_developer_attaches_without_tls() {
    let plugin = Plugin::launch_debug(&example("proving"), &[]).unwrap();
    assert!(plugin.configure(&json!({ "greeting": "hi" })).unwrap().is_empty());
    let folder = plugin.socket().parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    plugin.signal("INT").unwrap();
    assert_eq!(plugin.wait_exit(Duration::from_secs(10)).unwrap(), 0);
}

fn run(environment: &[(&str, &str)]) -> Output {
    Command::new(example("proving")).env_clear().envs(environment.iter().copied()).output().unwrap()
}

fn told(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"", "standard output belongs to the handshake");
    String::from_utf8(output.stderr.clone()).unwrap().replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn a_person_is_told_what_it_is() {
    insta::assert_snapshot!(told(&run(&[])));
}

#[test]
fn an_old_client_is_told_what_is_needed() {
    let output = run(&[
        ("TF_PLUGIN_MAGIC_COOKIE", COOKIE),
        ("PLUGIN_PROTOCOL_VERSIONS", "4,5"),
        ("PLUGIN_CLIENT_CERT", "x"),
    ]);
    insta::assert_snapshot!(told(&output));
}

#[test]
fn a_client_without_certificate_is_refused() {
    let output = run(&[("TF_PLUGIN_MAGIC_COOKIE", COOKIE), ("PLUGIN_PROTOCOL_VERSIONS", "6")]);
    insta::assert_snapshot!(told(&output));
}

#[test]
fn a_client_with_a_broken_certificate_is_refused() {
    let output = run(&[
        ("TF_PLUGIN_MAGIC_COOKIE", COOKIE),
        ("PLUGIN_PROTOCOL_VERSIONS", "6"),
        ("PLUGIN_CLIENT_CERT", "not a certificate"),
    ]);
    insta::assert_snapshot!(told(&output));
}

#[test]
fn a_directory_too_deep_for_a_socket_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(100));
    std::fs::create_dir(&deep).unwrap();
    let output = run(&[
        ("TF_PLUGIN_MAGIC_COOKIE", COOKIE),
        ("PLUGIN_PROTOCOL_VERSIONS", "6"),
        ("PLUGIN_CLIENT_CERT", "x"),
        ("TMPDIR", deep.to_str().unwrap()),
    ]);
    let text = told(&output);
    assert!(text.contains("too long for a Unix socket (limit 103 bytes)"), "{text}");
    assert!(text.contains("set TMPDIR or PLUGIN_UNIX_SOCKET_DIR to a shorter directory"), "{text}");
}
