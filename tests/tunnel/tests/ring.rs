//! `examples/ring`: three pods without privileges train one model, and sum their gradients with an all-reduce over the tunnel.
//!
//! ```text
//! train-0, train-1: exec --transparent ─┐
//! train-2: exec, proxy and --reverse ───┴── gateway 10.210.0.1, at most 20 Mbit/s for each pod
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use warren_tunnel_tests::events::{event, events};
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::{Fabric, Implementation, Namespace, wait_for, workspace_root};

const PODS: usize = 3;
const STEPS: &str = "60";
/// The rate of each pod and direction, and the bytes of the all-reduce that is measured.
const MBIT: u64 = 20;
const BYTES: u64 = 2_000_000;
const PATIENCE: Duration = Duration::from_secs(90);

fn example() -> PathBuf {
    workspace_root().join("examples/ring")
}

/// The gateway's rules as the README has them.
fn rules() -> String {
    let readme = fs::read_to_string(example().join("README.md")).unwrap();
    let block = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert!(block.contains("[[groups.trainers.allow]]"), "{block}");
    block
}

struct Lab {
    fabric: Fabric,
    gateway: Arc<Namespace>,
}

impl Lab {
    fn new() -> Self {
        let gateway = Arc::new(Namespace::new().unwrap());
        gateway.ip("addr add 10.210.0.1/32 dev lo").unwrap();
        let rest = format!(
            "STORE\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n[groups.trainers]\npeer_rate_mbit = {MBIT}\n{}",
            rules()
        );
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], &rest).unwrap();
        Self { fabric, gateway }
    }

    /// A host with a wire to the gateway.
    fn host(&self, number: usize) -> Namespace {
        let (host, wire, net) =
            (Namespace::new().unwrap(), format!("pod{number}"), format!("10.220.{number}"));
        host.join_as(&self.gateway, &wire).unwrap();
        host.ip(&format!("addr add {net}.1/24 dev {wire}")).unwrap();
        self.gateway.ip(&format!("addr add {net}.2/24 dev {wire}")).unwrap();
        host.ip(&format!("route add default via {net}.2")).unwrap();
        host
    }
}

/// A pod that trains.
struct Pod {
    _host: Namespace,
    home: TempDir,
    child: Child,
}

impl Pod {
    fn start(lab: &Lab, number: usize, token: &str) -> Self {
        let (host, home) = (lab.host(number), lab.fabric.home_of_pod().unwrap());
        for script in ["allreduce.py", "train.py"] {
            fs::copy(example().join(script), home.path().join(script)).unwrap();
        }
        let mut exec = unprivileged(&host, home.path(), &Implementation::WarrenTunnel.path().unwrap());
        exec.args(["exec", "--metrics", "off", "--log-level", "warn"]);
        let proxies = number == PODS - 1;
        // Both ways to reach other pods, in one ring.
        exec.args(if proxies {
            ["--device=user", "--reverse=29500=127.0.0.1:29500"]
        } else {
            ["--device=userns", "--transparent"]
        });
        exec.args(["--", "python3", "-B"]).arg(home.path().join("train.py"));
        exec.args(["--backend", "ring", "--steps", STEPS, "--measure", &BYTES.to_string()]);
        exec.args(proxies.then_some("--proxy"));
        let peers: Vec<String> =
            (0..PODS).map(|number| format!("train-{number}.trainers.warren.internal")).collect();
        exec.env("RING_PEERS", peers.join(",")).env("WARREN_TOKEN", token);
        exec.env("WARREN_HOST_NAME", format!("train-{number}"));
        let file = |name: &str| File::create(home.path().join(name)).unwrap();
        let child = exec.stdin(Stdio::null()).stdout(file("out")).stderr(file("log")).spawn().unwrap();
        Self { _host: host, home, child }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What `warren capacity` computes for an all-reduce of these bytes between these pods, in seconds.
fn planned(folder: &Path) -> f64 {
    let file = folder.join("capacity.yaml");
    let text = format!(
        "store: aws\nmodel: {{ parameters: {BYTES}, gradient_bytes: 1 }}\ncheckpoint: {{ interval: 1 h }}\n\
         training: {{ gpus: {PODS}, pods: {PODS}, step: 1 s, network: {MBIT} Mbit/s }}\n\
         links: {{ gateways: {{ kind: wireguard }} }}\n"
    );
    fs::write(&file, text).unwrap();
    let warren = Implementation::WarrenTunnel.path().unwrap().with_file_name("warren");
    assert!(warren.is_file(), "no {}; `cargo build --bin warren` makes it", warren.display());
    let output = Command::new(warren).arg("capacity").arg(&file).args(["--format", "json"]).output().unwrap();
    let plan: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let modes = plan["training"]["modes"].as_array().unwrap();
    let ring = modes.iter().find(|mode| mode["mode"] == "one-site").unwrap();
    ring["time_per_step_seconds"].as_f64().unwrap()
}

#[test]
fn pods_that_train_together_have_the_weights_of_one_that_trains_alone() {
    let lab = Lab::new();
    let gateway = lab.fabric.start(0, &lab.gateway).unwrap();
    let token = lab.fabric.token("trainers", &["--uses", "3"]).unwrap();
    let mut pods: Vec<Pod> = (0..PODS).map(|number| Pod::start(&lab, number, &token)).collect();
    let alone = Command::new("python3")
        .args(["-B", "train.py", "--steps", STEPS, "--alone", &PODS.to_string()])
        .current_dir(example())
        .output()
        .unwrap();
    let alone = events(&String::from_utf8(alone.stdout).unwrap());
    let ended = wait_for(PATIENCE, "end of training", || {
        let mut all = Vec::new();
        for pod in &mut pods {
            all.extend(pod.child.try_wait()?);
        }
        Ok((all.len() == PODS || all.iter().any(|status| !status.success())).then_some(all))
    });
    let logs: String = pods.iter().map(|pod| pod.read("log") + "\n").collect();
    let logs = format!("{logs}{}", gateway.daemon.log());
    let ended = ended.unwrap_or_else(|error| panic!("{error}\n{logs}"));
    assert!(ended.len() == PODS && ended.iter().all(|status| status.success()), "{ended:?}\n{logs}");

    // Each loss and the weights, to the last bit.
    let losses =
        |events: &[Value]| -> Vec<f64> { events.iter().filter_map(|event| event["loss"].as_f64()).collect() };
    let expected = losses(&alone);
    assert!(expected.len() == 60 && expected[59] < expected[0] / 5.0, "nothing was learned: {expected:?}");
    let mut slowest: f64 = 0.0;
    for pod in &pods {
        let told = events(&pod.read("out"));
        assert_eq!(losses(&told), expected);
        let done = event(&told, "done");
        assert_eq!(done["weights"], event(&alone, "done")["weights"]);
        println!(
            "pod {}: {} B per step in {} s",
            done["rank"], done["allreduce_bytes"], done["allreduce_seconds"]
        );
        let measured = event(&told, "measured");
        assert_eq!(measured["bytes"], BYTES);
        slowest = slowest.max(measured["seconds"].as_f64().unwrap());
    }
    let planned = planned(pods[0].home.path());
    println!("all-reduce of {BYTES} B at {MBIT} Mbit/s per pod: {slowest:.2} s; planned {planned:.2} s");
    // A shorter time would mean that the gateway does not limit the traffic. A busy machine takes longer.
    assert!(slowest > 0.8 * planned && slowest < 20.0 * planned, "{slowest} {planned}");

    // The gateway saw one connection of each pod to the next.
    drop(pods);
    let mut gateway = gateway;
    assert!(gateway.daemon.terminate().unwrap().success(), "{}", gateway.daemon.log());
    let audit = gateway.audit();
    let allowed = |line: &&str| line.contains("\"port\":29500,\"verdict\":\"allowed\"");
    assert!(audit.lines().filter(allowed).count() >= PODS, "{audit}");
}
