//! Real clients against the servers of the lab.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;

use warren_dataplane::lab::{Gate, Lab, Link, Node, Script};
use warren_dataplane::servers::{Authority, Image, LAYERS, Registry, Site, Storage, pull};
use warren_harness::{Emulator, ProxyConfig};
use warren_programs::program;

const REGISTRY: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Refuses one path, and lets all others pass to the server.
#[derive(Debug)]
struct Closed;

impl Gate for Closed {
    fn refuses(&self, head: &str, _: SocketAddr) -> Option<String> {
        let refusal = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        head.starts_with("GET /closed ").then(|| refusal.to_owned())
    }
}

/// A client and a server with three addresses, one wire apart.
fn pair(lab: &Lab) -> [Node; 2] {
    let nodes = lab.nodes(["client", "server"]).unwrap();
    let [client, server] = &nodes;
    lab.link(&[Link::new(client, "eth0", server, "eth0")]).unwrap();
    let serving = ["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"]
        .iter()
        .fold(Script::new(), |script, range| script.ip(&format!("address add {range} dev eth0")));
    lab.configure(&[(client, Script::new().ip("address add 10.0.0.9/24 dev eth0")), (server, serving)])
        .unwrap();
    nodes
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A command of the client that knows these names.
fn with_hosts(client: &Node, hosts: &[(&str, &str)], arguments: &[&str]) -> Command {
    let folder = tempfile::tempdir().unwrap().keep();
    let lines: String = hosts.iter().map(|(name, address)| format!("{address} {name}\n")).collect();
    std::fs::write(folder.join("hosts"), lines).unwrap();
    let mut command = client.command("unshare");
    command
        .args(["--mount", "sh", "-c", r#"mount --bind "$0" /etc/hosts && exec "$@""#])
        .arg(folder.join("hosts"));
    command.args(arguments);
    command
}

#[test]
fn clients_read_buckets_pull_an_image_and_read_google_storage_by_name() {
    let lab = Lab::new().unwrap();
    let [client, server] = pair(&lab);
    let aws = Emulator::start(ProxyConfig::default()).unwrap();
    let (registry, storage, authority) =
        (Registry::start(&lab).unwrap(), Storage::start().unwrap(), Authority::new().unwrap());
    let s3 = Site::new(
        &["s3.us-east-1.amazonaws.com", "*.s3.us-east-1.amazonaws.com"],
        aws.endpoint().trim_start_matches("http://").parse().unwrap(),
    );
    let ecr = Site::new(&["*.dkr.ecr.us-east-1.amazonaws.com"], registry.address());
    let google = Site::new(&["storage.googleapis.com"], storage.address()).behind(Arc::new(Closed));
    for (at, site) in [("10.0.0.1", s3), ("10.0.0.2", ecr), ("10.0.0.3", google)] {
        lab.serve_tls(&server, &[address(at)], &authority, &[site]).unwrap();
    }
    let image = Image::with_file("hello", b"from the registry\n");
    registry.push("llm/trainer", "1", &image, &aws.endpoint()).unwrap();
    storage.put("acme-corpus", "part/0", b"an object of Google's").unwrap();

    let layers = format!("{LAYERS}.s3.us-east-1.amazonaws.com");
    let hosts =
        [(layers.as_str(), "10.0.0.1"), (REGISTRY, "10.0.0.2"), ("storage.googleapis.com", "10.0.0.3")];
    let authority = authority.file();
    let curl = program("curl").unwrap();
    let get = |url: &str| {
        let arguments = ["--silent", "--show-error", "--fail", "--cacert", authority.to_str().unwrap(), url];
        output(&mut with_hosts(&client, &hosts, &[&[curl.to_str().unwrap()], &arguments[..]].concat()))
    };
    let read = get("https://storage.googleapis.com/storage/v1/b/acme-corpus/o/part%2F0?alt=media");
    assert_eq!(read, "an object of Google's");

    let status = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--cacert"];
    let closed = [authority.to_str().unwrap(), "https://storage.googleapis.com/closed"];
    let asked = [&[curl.to_str().unwrap()], &status[..], &closed[..]].concat();
    assert_eq!(output(&mut with_hosts(&client, &hosts, &asked)), "403");

    let reference = format!("{REGISTRY}/llm/trainer:1");
    let pulled = pull(|arguments| with_hosts(&client, &hosts, arguments), &reference, &authority).unwrap();
    assert_eq!(pulled, image.manifest());

    // Layers come from S3, and nowhere else.
    let without_s3 = &hosts[1..];
    let refused = pull(|arguments| with_hosts(&client, without_s3, arguments), &reference, &authority);
    let problem = refused.unwrap_err().to_string();
    assert!(problem.contains(&layers), "{problem}");
}
