//! `examples/ring`: three pods without privileges train one model, and sum their gradients with an all-reduce over the tunnel.
//!
//! ```text
//! train-0, train-1: exec --transparent ─┐
//! train-2: exec, proxy and --reverse ───┴── gateway 10.210.0.1, at most 20 Mbit/s for each pod
//! ```
//!
//! With `WARREN_RING_PYTHON`, a Python interpreter that has PyTorch, Gloo sums too. All its pods have `exec --transparent`.
//! `WARREN_RING_MBIT` sets another rate, and 0 none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use warren_tunnel_tests::events::{event, events};
use warren_tunnel_tests::fabric::Gateway;
use warren_tunnel_tests::pod::unprivileged;
use warren_tunnel_tests::{Fabric, Implementation, Namespace, wait_for, workspace_root};

const PODS: usize = 3;
const STEPS: &str = "60";
/// The rate of each pod and direction, and the bytes of the all-reduce that is measured.
const MBIT: u64 = 20;
const BYTES: u64 = 2_000_000;
const PATIENCE: Duration = Duration::from_secs(90);
/// Seconds for which pods wait for one that is silent.
const SILENCE: u64 = 5;

/// A program for `torchrun`: the sum of the ranks from 1 on.
const SUM: &str = "import torch, torch.distributed as group
group.init_process_group('gloo')
rank = torch.tensor([group.get_rank() + 1.0])
group.all_reduce(rank)
group.barrier()
print(group.get_backend(), group.get_rank(), 'of', f'{group.get_world_size()}:', rank.item(), flush=True)
";

/// What sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backend {
    Ring,
    Gloo,
}
use Backend::{Gloo, Ring};

/// A Python interpreter that has PyTorch.
fn torch() -> Option<String> {
    std::env::var("WARREN_RING_PYTHON").ok().filter(|path| !path.is_empty())
}

/// The rate of each pod, if there is one.
fn rate() -> Option<u64> {
    let given = std::env::var("WARREN_RING_MBIT").ok().filter(|text| !text.is_empty());
    Some(given.map_or(MBIT, |text| text.parse().expect("WARREN_RING_MBIT: not a number")))
        .filter(|rate| *rate > 0)
}

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
    backend: Backend,
    fabric: Fabric,
    gateway: Arc<Namespace>,
}

impl Lab {
    fn new(backend: Backend) -> Self {
        let gateway = Arc::new(Namespace::new().unwrap());
        gateway.ip("addr add 10.210.0.1/32 dev lo").unwrap();
        let mut rules = rules();
        if backend == Gloo {
            // As the README says.
            rules = rules.replace("ports = [29500]", "ports = [\"1024-65535\"]");
            assert!(rules.contains("1024-65535"), "{rules}");
        }
        let rate = rate().map(|rate| format!("peer_rate_mbit = {rate}\n")).unwrap_or_default();
        let rest = format!("STORE\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n[groups.trainers]\n{rate}{rules}");
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], &rest).unwrap();
        Self { backend, fabric, gateway }
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

/// The name of a pod for others.
fn name(number: usize) -> String {
    format!("train-{number}.trainers.warren.internal")
}

/// A pod that trains.
struct Pod {
    _host: Namespace,
    home: TempDir,
    child: Child,
}

impl Pod {
    fn start(lab: &Lab, number: usize, token: &str, command: &[&str]) -> Self {
        let (host, home) = (lab.host(number), lab.fabric.home_of_pod().unwrap());
        for script in ["allreduce.py", "train.py"] {
            fs::copy(example().join(script), home.path().join(script)).unwrap();
        }
        let mut exec = unprivileged(&host, home.path(), &Implementation::WarrenTunnel.path().unwrap());
        exec.args(["exec", "--metrics", "off", "--log-level", "warn"]);
        let proxies = lab.backend == Ring && number == PODS - 1;
        // Both ways to reach other pods, in one ring.
        exec.args(if proxies {
            ["--device=user", "--reverse=29500=127.0.0.1:29500"]
        } else {
            ["--device=userns", "--transparent"]
        });
        exec.arg("--").args(command).args(proxies.then_some("--proxy")).current_dir(home.path());
        let peers: Vec<String> = (0..PODS).map(name).collect();
        exec.env("RING_PEERS", peers.join(",")).env("WARREN_TOKEN", token);
        exec.env("WARREN_HOST_NAME", format!("train-{number}"));
        let file = |name: &str| File::create(home.path().join(name)).unwrap();
        let child = exec.stdin(Stdio::null()).stdout(file("out")).stderr(file("log")).spawn().unwrap();
        Self { _host: host, home, child }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap()
    }

    /// The weights after training.
    fn weights(&self) -> Vec<f64> {
        numbers(&self.home.path().join("weights"))
    }

    /// Ends it and its program without a word to anybody, as when a machine dies.
    fn vanish(&mut self) {
        kill(&descendants(self.child.id()));
        _ = self.child.wait();
    }

    /// Ends its program alone.
    fn crash(&self) {
        let tree = descendants(self.child.id());
        let is_program = |process: &&u32| {
            let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).nth(2) == Some(b"train.py")
        };
        kill(&[*tree.iter().find(is_program).expect("no program")]);
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.vanish();
    }
}

fn kill(processes: &[u32]) {
    for process in processes {
        let process = Pid::from_raw(i32::try_from(*process).unwrap()).unwrap();
        _ = kill_process(process, Signal::KILL);
    }
}

/// A process and all that it started, the oldest first.
fn descendants(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut at = 0;
    while let Some(parent) = all.get(at) {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        let by_threads: Vec<String> =
            tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect();
        for child in by_threads.iter().flat_map(|text| text.split_whitespace()) {
            all.extend(child.parse().ok().filter(|child| !all.contains(child)));
        }
        at += 1;
    }
    all
}

/// Numbers as `array("d").tofile` writes them.
fn numbers(file: &Path) -> Vec<f64> {
    let bytes = fs::read(file).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
}

/// The largest difference between two lists.
fn difference(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// What `warren capacity` computes for an all-reduce of these bytes between these pods, in seconds.
fn planned(folder: &Path, rate: u64) -> f64 {
    let file = folder.join("capacity.yaml");
    let text = format!(
        "store: aws\nmodel: {{ parameters: {BYTES}, gradient_bytes: 1 }}\ncheckpoint: {{ interval: 1 h }}\n\
         training: {{ gpus: {PODS}, pods: {PODS}, step: 1 s, network: {rate} Mbit/s }}\n\
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

/// What the pods did together.
struct Trained {
    pods: Vec<Pod>,
    gateway: Gateway,
    /// It ends with this.
    _lab: Lab,
}

/// The command that trains in each pod. PyTorch is found without a flag.
fn trainer<'a>(backend: Backend, python: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let flag = if backend == Ring { "ring" } else { "auto" };
    [&[python, "-B", "train.py", "--backend", flag], rest].concat()
}

/// Runs a command in all pods to its end.
fn run(backend: Backend, command: &[&str]) -> Trained {
    let lab = Lab::new(backend);
    let gateway = lab.fabric.start(0, &lab.gateway).unwrap();
    let token = lab.fabric.token("trainers", &["--uses", "3"]).unwrap();
    let mut pods: Vec<Pod> = (0..PODS).map(|number| Pod::start(&lab, number, &token, command)).collect();
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
    Trained { pods, gateway, _lab: lab }
}

/// The events and weights of one process that does the work of all pods.
fn alone(folder: &Path) -> (Vec<Value>, Vec<f64>) {
    let file = folder.join("weights");
    let alone = Command::new("python3")
        .args(["-B", "train.py", "--steps", STEPS, "--alone", &PODS.to_string(), "--save"])
        .arg(&file)
        .current_dir(example())
        .output()
        .unwrap();
    (events(&String::from_utf8(alone.stdout).unwrap()), numbers(&file))
}

fn losses(events: &[Value]) -> Vec<f64> {
    events.iter().filter_map(|event| event["loss"].as_f64()).collect()
}

/// Checks how long an all-reduce took, and says it.
fn times(backend: Backend, pods: &[Pod]) -> String {
    let (mut slowest, mut said): (f64, _) = (0.0, String::new());
    for pod in pods {
        let told = events(&pod.read("out"));
        let done = event(&told, "done");
        let seconds = done["allreduce_seconds"].as_f64().unwrap();
        said += &format!(
            "{backend:?}, pod {}: {} B per step in {seconds:.4} s\n",
            done["rank"], done["allreduce_bytes"]
        );
        let measured = event(&told, "measured");
        assert_eq!(measured["bytes"], BYTES);
        slowest = slowest.max(measured["seconds"].as_f64().unwrap());
    }
    let Some(rate) = rate() else {
        return format!("{said}{backend:?}: all-reduce of {BYTES} B without a limit: {slowest:.3} s");
    };
    let planned = planned(pods[0].home.path(), rate);
    // A shorter time would mean that the gateway does not limit the traffic. A busy machine takes longer.
    assert!(slowest > 0.8 * planned && slowest < 20.0 * planned, "{slowest} {planned}");
    format!(
        "{said}{backend:?}: all-reduce of {BYTES} B at {rate} Mbit/s per pod: {slowest:.2} s; planned {planned:.2} s"
    )
}

/// Ends the gateway, and returns the ports of the flows that it allowed.
fn ports(mut gateway: Gateway) -> Vec<u64> {
    assert!(gateway.daemon.terminate().unwrap().success(), "{}", gateway.daemon.log());
    let lines: Vec<Value> = gateway.audit().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let allowed = |line: &&Value| line["verdict"] == "allowed" && line["protocol"] == "tcp";
    lines.iter().filter(allowed).filter_map(|line| line["port"].as_u64()).collect()
}

#[test]
fn pods_that_train_together_have_the_weights_of_one_that_trains_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (alone, weights) = alone(folder.path());
    let expected = losses(&alone);
    assert!(expected.len() == 60 && expected[59] < expected[0] / 5.0, "nothing was learned: {expected:?}");

    // Each loss and the weights, to the last bit.
    let bytes = BYTES.to_string();
    let work = ["--steps", STEPS, "--measure", &bytes, "--save", "weights"];
    let Trained { pods, gateway, _lab } = run(Ring, &trainer(Ring, "python3", &work));
    for pod in &pods {
        let told = events(&pod.read("out"));
        assert_eq!(losses(&told), expected);
        assert_eq!(event(&told, "done")["weights"], event(&alone, "done")["weights"]);
        assert_eq!(event(&told, "done")["backend"], "ring");
    }
    println!("{}", times(Ring, &pods));
    // The gateway saw one connection of each pod to the next.
    drop(pods);
    let ports = ports(gateway);
    assert!(ports.iter().filter(|port| **port == 29500).count() >= PODS, "{ports:?}");

    let Some(python) = torch() else { return };
    let Trained { pods, gateway, _lab } = run(Gloo, &trainer(Gloo, &python, &work));
    let digest = event(&events(&pods[0].read("out")), "done")["weights"].clone();
    let mut largest: f64 = 0.0;
    for pod in &pods {
        let told = events(&pod.read("out"));
        let done = event(&told, "done");
        assert_eq!(done["backend"], "gloo");
        // All pods have the same bits. One process has others, since Gloo adds in another order.
        assert_eq!(done["weights"], digest);
        largest = largest.max(difference(&losses(&told), &expected));
        largest = largest.max(difference(&pod.weights(), &weights));
    }
    println!("Gloo: losses and weights differ from those of one process by at most {largest:e}");
    assert!(largest < 1e-12, "{largest}");
    println!("{}", times(Gloo, &pods));
    // Beside the meeting, each pair of pods has connections of its own on random ports.
    drop(pods);
    let ports = self::ports(gateway);
    let random = ports.iter().filter(|port| **port != 29500).count();
    assert!(random >= PODS && ports.len() - random >= PODS - 1, "{ports:?}");

    check_torchrun(&python);
}

/// `torchrun` needs no address: the pods meet at the name of one of them, and send each other their own names.
fn check_torchrun(python: &str) {
    let meeting = format!("--rdzv_endpoint={}:29400", name(0));
    let options = ["--nnodes=3", "--nproc_per_node=1", "--rdzv_backend=c10d", "--rdzv_id=ring", &meeting];
    // PyTorch 1.13 fails without redirections in Python 3.11, where iterations skip the empty value of a flag.
    let output = ["--redirects=1", "--tee=1", "--no_python", python, "-c", SUM];
    let command = [&[python, "-B", "-m", "torch.distributed.run"], &options[..], &output].concat();
    let Trained { pods, .. } = run(Gloo, &command);
    let mut said: Vec<String> = pods.iter().map(|pod| pod.read("out")).collect();
    for text in &mut said {
        *text = text.trim().rsplit("]:").next().unwrap().to_owned();
    }
    said.sort();
    assert_eq!(said, ["gloo 0 of 3: 6.0", "gloo 1 of 3: 6.0", "gloo 2 of 3: 6.0"]);
}

/// The others end with an error if a pod vanishes or its program crashes: at once if it can still say so, else after a silence.
#[test]
fn a_pod_that_ends_early_ends_the_others() {
    let backends = [Some((Ring, "python3".to_owned())), torch().map(|python| (Gloo, python))];
    let cases = backends.into_iter().flatten().flat_map(|case| [(case.clone(), true), (case, false)]);
    for ((backend, python), vanishes) in cases {
        let lab = Lab::new(backend);
        let _gateway = lab.fabric.start(0, &lab.gateway).unwrap();
        let token = lab.fabric.token("trainers", &["--uses", "3"]).unwrap();
        let silence = SILENCE.to_string();
        let command = trainer(backend, &python, &["--steps", "1000000", "--timeout", &silence]);
        let mut pods: Vec<Pod> = (0..PODS).map(|number| Pod::start(&lab, number, &token, &command)).collect();
        let steps = |pod: &Pod| pod.read("out").lines().count();
        let trains = wait_for(PATIENCE, "step", || Ok(pods.iter().all(|pod| steps(pod) > 20).then_some(())));
        trains.unwrap_or_else(|error| panic!("{error}\n{}", pods[0].read("log")));
        if vanishes {
            pods[1].vanish();
        } else {
            pods[1].crash();
        }
        let begun = Instant::now();
        for pod in [0, 2] {
            let ended =
                wait_for(Duration::from_secs(SILENCE + 15), "end", || Ok(pods[pod].child.try_wait()?));
            let log = pods[pod].read("log");
            let ended = ended.unwrap_or_else(|error| panic!("{error}\n{log}"));
            let last = log.lines().rfind(|line| line.contains("Error")).unwrap_or_default();
            let (later, how) = (begun.elapsed().as_secs_f64(), if vanishes { "vanished" } else { "crashed" });
            println!("{backend:?}, a pod {how}, pod {pod}: {ended} {later:.1} s later: {last}");
            assert!(!ended.success() && !last.is_empty(), "{log}");
        }
    }
}
