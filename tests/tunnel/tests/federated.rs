//! `examples/federated`: three sites train one model with Flower, over gRPC through the tunnel, and nobody reads the data
//! of another site.
//!
//! ```text
//!    ┌────────────────────────────────────── (the VPC of the gateway)
//! data-aws ── site-aws: exec --transparent ─┐
//! data-gcp ── site-gcp: exec ───────────────┼── gateway 10.210.0.1 ── aggregator: exec --reverse
//!  volume ─── site-runpod: exec ────────────┘
//! ```
//!
//! Each site also offers its data to the tunnel, as a forgotten server does, and one trainer gives itself a route to the storage of
//! another site. Only the gateway's rules prevent that it reads it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use warren_harness::Venv;
use warren_tunnel_tests::events::{event, events};
use warren_tunnel_tests::fabric::Gateway;
use warren_tunnel_tests::pod::{Pod as Agent, unprivileged_with};
use warren_tunnel_tests::{
    Daemon, Fabric, Implementation, Interface, KeyPair, Namespace, Remote, program, wait_for, workspace_root,
};

const SITES: [&str; 3] = ["site-aws", "site-gcp", "site-runpod"];
const ROUNDS: usize = 10;
/// The bytes of the model: 48 weights and the bias.
const MODEL: u64 = 49 * 8;
/// The port on which sites offer their data.
const OPEN: u16 = 9000;
/// The storage of the site in AWS, as the gateway reaches it.
const STORAGE: &str = "10.50.0.2";
const PATIENCE: Duration = Duration::from_secs(120);

fn example() -> PathBuf {
    workspace_root().join("examples/federated")
}

/// The gateway's rules as the README has them.
fn rules() -> String {
    let readme = fs::read_to_string(example().join("README.md")).unwrap();
    let block = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert!(block.contains("[[groups.sites.allow]]"), "{block}");
    // The configuration for the clouds has the same tests.
    let main = fs::read_to_string(example().join("main.tf")).unwrap();
    let tests = block.split("[[tests]]").skip(1).map(|test| {
        let lines = test.lines().filter(|line| line.contains(" = "));
        format!("{{ {} }}", lines.collect::<Vec<_>>().join(", "))
    });
    for test in tests {
        assert!(main.contains(&test), "{test}");
    }
    block
}

struct Lab {
    fabric: Fabric,
    at: Arc<Namespace>,
    venv: Venv,
    /// Sample data, a folder for each site.
    data: TempDir,
}

impl Lab {
    fn new() -> Self {
        let requirements = fs::read_to_string(example().join("requirements.txt")).unwrap();
        let venv = Venv::of("flower", &requirements).unwrap();
        let at = Arc::new(Namespace::new().unwrap());
        at.ip("addr add 10.210.0.1/32 dev lo").unwrap();
        let rest = format!("STORE\n[pool]\nprefixes = [\"10.100.0.0/24\"]\n{}", rules());
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], &rest).unwrap();
        let lab = Self { fabric, at, venv, data: tempfile::tempdir().unwrap() };
        lab.example("model.py", &[]);
        lab
    }

    /// What a script of the example prints that runs on this machine, with the folder of all data as its argument.
    fn example(&self, script: &str, more: &[&str]) -> Vec<Value> {
        let mut command = Command::new(self.venv.python());
        command.arg("-B").arg(example().join(script)).arg(self.data.path()).args(more);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        events(&String::from_utf8(output.stdout).unwrap())
    }

    /// The bytes of a site's samples.
    fn raw(&self, site: &str) -> Vec<u8> {
        fs::read(self.data.path().join(site).join("samples.npz")).unwrap()
    }

    /// A host with a wire to the gateway.
    fn host(&self, number: usize) -> Namespace {
        let (host, wire, net) =
            (Namespace::new().unwrap(), format!("pod{number}"), format!("10.220.{number}"));
        host.join_as(&self.at, &wire).unwrap();
        host.ip(&format!("addr add {net}.1/24 dev {wire}")).unwrap();
        self.at.ip(&format!("addr add {net}.2/24 dev {wire}")).unwrap();
        host.ip(&format!("route add default via {net}.2")).unwrap();
        host
    }

    /// A host of a site that serves its data to the site: its URL there.
    fn storage(&self, site: &str, trainer: &Namespace, net: &str) -> (Storage, String) {
        let host = Arc::new(Namespace::new().unwrap());
        host.join_as(trainer, "data").unwrap();
        host.ip(&format!("addr add {net}.2/24 dev data")).unwrap();
        trainer.ip(&format!("addr add {net}.1/24 dev data")).unwrap();
        if site == SITES[0] {
            host.join_as(&self.at, "vpc").unwrap();
            host.ip(&format!("addr add {STORAGE}/24 dev vpc")).unwrap();
            self.at.ip("addr add 10.50.0.1/24 dev vpc").unwrap();
        }
        let mut command = host.command(program("python3").unwrap());
        command.args(["-m", "http.server", &OPEN.to_string(), "--directory"]);
        let server = Daemon::start(command.arg(self.data.path().join(site))).unwrap();
        let at = format!("{net}.2:{OPEN}");
        let url = format!("http://{at}/samples.npz");
        wait_for(PATIENCE, "data", || {
            let at = at.clone();
            host.inside(move || Ok(TcpStream::connect(at).ok()))
        })
        .unwrap_or_else(|error| panic!("{error}\n{}", server.log()));
        (Storage { _host: host, _server: server }, url)
    }

    /// An agent with the key and the address of a site, and with routes of its own choice: to the storage of another site.
    fn hostile(&self, at: &Gateway, host: &Arc<Namespace>) -> Agent {
        let home = self.fabric.home_of_pod().unwrap();
        let state = home.path().join("state").display().to_string();
        let token = self.fabric.token("sites", &["--uses", "1"]).unwrap();
        let arguments = ["--device=user", "--host-name=hostile", "--state", &state];
        // Killed, so that its lease stays.
        drop(self.fabric.pod(host, &token, &arguments).unwrap());
        let config = fs::read_to_string(self.fabric.config(0)).unwrap();
        let public_key = config.split("\nkey = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let gateway = Remote {
            public_key,
            endpoint: Some("10.210.0.1:51820".to_owned()),
            allowed: vec!["10.50.0.0/24".to_owned()],
            ..Remote::default()
        };
        let private = fs::read_to_string(format!("{state}/agent.key")).unwrap().trim().to_owned();
        let interface = Interface {
            keys: KeyPair { private, public: String::new() },
            port: 51999,
            addresses: vec![format!("{}/32", peers(at)["hostile"].0)],
            mtu: 1420,
            peers: vec![gateway],
            extra: Vec::new(),
        };
        Agent::start(host, &interface, &["--device=user", "--metrics=off"]).unwrap()
    }

    /// A pod with a shell inside `exec`.
    fn pod(&self, name: &'static str, group: &str, host: Namespace, arguments: &[&str]) -> Pod {
        let home = self.fabric.home_of_pod().unwrap();
        for script in ["model.py", "aggregator.py", "trainer.py"] {
            fs::copy(example().join(script), home.path().join(script)).unwrap();
        }
        let tunnel = Implementation::WarrenTunnel.path().unwrap();
        // The interpreter may be installed where only root may go.
        let python = fs::canonicalize(self.venv.python()).unwrap();
        let python = python.ancestors().nth(2).unwrap();
        let mut exec = unprivileged_with(&host, home.path(), &tunnel, &[self.venv.root(), python]);
        exec.args(["exec", "--metrics", "off", "--log-level", "warn"]).args(arguments).args(["--", "sh"]);
        exec.env("HOME", home.path()).env("WARREN_HOST_NAME", name);
        exec.env("WARREN_TOKEN", self.fabric.token(group, &["--uses", "1"]).unwrap());
        // A program with plain sockets needs no proxy for names of pods.
        if arguments.contains(&"--transparent") {
            exec.env("NO_PROXY", ".warren.internal");
        }
        let file = |name: &str| File::create(home.path().join(name)).unwrap();
        exec.stdin(Stdio::piped()).stdout(file("out")).stderr(file("log"));
        let child = exec.spawn().unwrap();
        Pod { name, _host: host, home, child, python: self.venv.python() }
    }
}

struct Storage {
    _host: Arc<Namespace>,
    _server: Daemon,
}

struct Pod {
    name: &'static str,
    _host: Namespace,
    home: TempDir,
    child: Child,
    python: PathBuf,
}

impl Pod {
    /// Has the shell run a command, whose output goes to files that are called `name`.
    fn begin(&mut self, name: &str, command: &str) {
        let at = self.path(name);
        let at = at.display();
        let line = format!(
            "{command} </dev/null >{at}.out 2>{at}.log; echo $? >{at}.part; mv {at}.part {at}.code\n"
        );
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    fn python(&mut self, name: &str, script: &str, arguments: &str) {
        let command = format!("{} -B {} {arguments}", self.python.display(), self.path(script).display());
        self.begin(name, &command);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// What a command printed, once it has ended, and its exit code.
    fn ended(&self, name: &str, gateway: &Gateway) -> (String, i32) {
        let text = |end: &str| fs::read_to_string(self.path(&format!("{name}.{end}"))).unwrap_or_default();
        let code = wait_for(PATIENCE, name, || Ok(text("code").trim().parse().ok()));
        let code = code.unwrap_or_else(|error| {
            let exec = fs::read_to_string(self.path("log")).unwrap();
            panic!(
                "{}: {error}\n{exec}\n{}\n{}\n{}",
                self.name,
                text("out"),
                text("log"),
                gateway.daemon.log()
            )
        });
        (text("out"), code)
    }

    /// Tries to read what a site offers at an address.
    fn steal(&mut self, name: &str, from: &str) -> PathBuf {
        let loot = self.path(&format!("{name}.npz"));
        let curl = program("curl").unwrap();
        let url = format!("http://{from}:{OPEN}/samples.npz");
        let command = format!("{} -sS --fail -m 20 -o {} {url}", curl.display(), loot.display());
        self.begin(name, &command);
        loot
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The loss before each round.
fn losses(events: &[Value]) -> Vec<f64> {
    let rounds = events.iter().filter(|event| event["event"] == "round");
    rounds.map(|event| event["loss"].as_f64().unwrap()).collect()
}

/// A counter of the gateway's metrics, once it is at least so high: they are read once per second.
fn counter(lab: &Lab, name: &str, least: u64) -> u64 {
    let enough = || Ok(Some(read(lab, name)).filter(|found| *found >= least));
    wait_for(Duration::from_secs(20), name, enough).unwrap_or_else(|_| read(lab, name))
}

fn read(lab: &Lab, name: &str) -> u64 {
    let metrics = lab.at.run("curl", &["-sS", "--fail", "http://127.0.0.1:9600/metrics"]).unwrap();
    let line = metrics.lines().find(|line| {
        let (name, label) = name.split_once(' ').unwrap();
        line.starts_with(&format!("warren_gateway_{name}{{")) && line.contains(label)
    });
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).rsplit(' ').next().unwrap().parse().unwrap()
}

/// The address of each pod, and the bytes that the gateway received from it.
fn peers(gateway: &Gateway) -> BTreeMap<String, (String, u64)> {
    let peers = gateway.peers().unwrap();
    let of = |peer: &Value| {
        let address = peer["addresses"][0].as_str().unwrap().to_owned();
        let bytes = peer["rx_bytes"].as_u64().unwrap_or_else(|| panic!("{peer}"));
        (peer["host"].as_str().unwrap().to_owned(), (address, bytes))
    };
    peers.iter().map(of).collect()
}

/// What a forgotten server offers, tried by the aggregator and by every other site: how many read it.
fn thefts(lab: &Lab, gateway: &Gateway, pods: &mut [Pod; 4], attempt: &str) -> usize {
    let known = peers(gateway);
    let mut tried = Vec::new();
    for (thief, pod) in pods.iter_mut().enumerate() {
        let own = pod.name;
        for site in SITES.into_iter().filter(|site| *site != own) {
            let name = format!("{attempt}-{site}");
            tried.push((thief, site, pod.steal(&name, &known[site].0), name));
        }
    }
    let mut stolen = 0;
    for (thief, site, loot, name) in tried {
        let (_, code) = pods[thief].ended(&name, gateway);
        let read = fs::read(loot).is_ok_and(|loot| loot == lab.raw(site));
        assert_eq!(code == 0, read, "{} from {site}: {code}", pods[thief].name);
        stolen += usize::from(read);
    }
    stolen
}

/// The flows in the audit: group, destination, port, and whether it was allowed.
fn flows(audit: &str) -> BTreeSet<(String, String, u64, bool)> {
    let flow = |event: Value| {
        let text = |field: &str| event[field].as_str().unwrap_or_else(|| panic!("{event}")).to_owned();
        let port = event["port"].as_u64().unwrap();
        (text("group"), text("destination"), port, event["verdict"] == "allowed")
    };
    events(audit).into_iter().map(flow).collect()
}

#[test]
fn sites_train_one_model_and_their_data_stays() {
    let lab = Lab::new();
    let gateway = lab.fabric.start(0, &lab.at).unwrap();
    let [aggregator, aws, gcp, runpod] = [0, 1, 2, 3].map(|number| lab.host(number));
    let (_data_aws, url_aws) = lab.storage(SITES[0], &aws, "10.51.0");
    let (_data_gcp, url_gcp) = lab.storage(SITES[1], &gcp, "10.52.0");
    let mut pods = [
        lab.pod(
            "aggregator",
            "aggregator",
            aggregator,
            &["--device=user", "--no-direct", "--reverse=8080=127.0.0.1:8080"],
        ),
        lab.pod(SITES[0], "sites", aws, &["--device=userns", "--transparent"]),
        lab.pod(SITES[1], "sites", gcp, &["--device=user", "--reverse=9000=10.52.0.2:9000"]),
        lab.pod(
            SITES[2],
            "sites",
            runpod,
            &["--device=user", "--no-direct", "--reverse=9000=127.0.0.1:9000"],
        ),
    ];
    // The forgotten servers: in the tunnel's own network, on the site's storage, and in the pod.
    for pod in [1, 3] {
        let pod = &mut pods[pod];
        fs::write(pod.path("samples.npz"), lab.raw(pod.name)).unwrap();
        let home = pod.home.path().display().to_string();
        // It ends with its shell.
        let watch = "server=$!; (tail --pid=$$ -f /dev/null; kill $server) &";
        pod.begin("server", &format!("python3 -m http.server {OPEN} --directory {home} & {watch}"));
    }

    pods[0].python("training", "aggregator.py", &format!("--rounds {ROUNDS}"));
    let volume = pods[3].path("samples.npz").display().to_string();
    for (pod, data) in pods[1..].iter_mut().zip([url_aws, url_gcp, volume]) {
        pod.python("training", "trainer.py", &format!("--site {} --data {data}", pod.name));
    }
    let expected = lab.example("reference.py", &["--rounds", &ROUNDS.to_string()]);
    for pod in pods.iter().rev() {
        let (told, code) = pod.ended("training", &gateway);
        let log = fs::read_to_string(pod.path("training.log")).unwrap();
        assert_eq!(code, 0, "{}: {log}", pod.name);
        let trained = if pod.name == "aggregator" { 0 } else { ROUNDS };
        assert_eq!(told.matches("\"trained\"").count(), trained, "{}: {told}", pod.name);
    }

    // The weights of one process that has all data, to the last bit, and a better model than that of any site.
    let trained = events(&pods[0].ended("training", &gateway).0);
    let done = event(&expected, "done");
    assert_eq!(event(&trained, "done")["weights"], done["weights"]);
    assert_eq!((losses(&trained), losses(&trained).len()), (losses(&expected), ROUNDS));
    let federated = done["accuracy"].as_f64().unwrap();
    let alone = expected.iter().filter(|event| event["event"] == "alone");
    let best = alone.map(|event| event["accuracy"].as_f64().unwrap()).fold(0.0, f64::max);
    assert!(federated > best + 0.15, "{federated} {best}");

    // What left the sites has the size of weights, not of data.
    let known = peers(&gateway);
    let (sent, least) = ("forwarded_bytes_total direction=\"out\"", 3 * ROUNDS as u64 * MODEL);
    let forwarded = counter(&lab, sent, least);
    println!(
        "accuracy {federated} federated, {best} for the best site alone; {forwarded} B to the aggregator"
    );
    let everything: u64 = SITES.iter().map(|site| lab.raw(site).len() as u64).sum();
    assert!((least..everything / 20).contains(&forwarded), "{forwarded} of {everything}");
    for site in SITES {
        let (sent, raw) = (known[site].1, lab.raw(site).len() as u64);
        println!("{site}: {sent} B sent through the tunnel, {raw} B of data");
        assert!((ROUNDS as u64 * MODEL..raw / 10).contains(&sent), "{site}: {sent} of {raw}");
    }

    // Nobody reads what the sites offer, and the gateway counts and records each attempt.
    let denied = "refused_flows_total reason=\"denied\"";
    assert_eq!(read(&lab, denied), 0);
    assert_eq!(thefts(&lab, &gateway, &mut pods, "refused"), 0);
    // A SYN that waits for its answer for a second is repeated, and counted again.
    let refused = counter(&lab, denied, 9);
    assert!(refused >= 9, "{refused}");
    let rogue = Arc::new(lab.host(4));
    let _agent = lab.hostile(&gateway, &rogue);
    let (loot, url) = (lab.data.path().join("loot"), format!("http://{STORAGE}:{OPEN}/samples.npz"));
    let into = loot.display().to_string();
    let through = ["-sS", "--fail", "-m", "20", "--proxy", "http://127.0.0.1:3128", "-o", &into, &url];
    rogue.run("curl", &through).unwrap_err();
    assert!(counter(&lab, denied, refused + 1) > refused);
    assert!(!loot.exists());
    assert!(read(&lab, sent) < everything / 20);
    let address = |name: &str| known[name].0.clone();
    let mut rightful = BTreeSet::from([
        ("sites".to_owned(), address("aggregator"), 8080, true),
        ("sites".to_owned(), STORAGE.to_owned(), u64::from(OPEN), false),
    ]);
    for group in ["aggregator", "sites"] {
        rightful.extend(SITES.map(|site| (group.to_owned(), address(site), u64::from(OPEN), false)));
    }
    wait_for(PATIENCE, "audit", || Ok((flows(&gateway.audit()) == rightful).then_some(())))
        .unwrap_or_else(|error| panic!("{error}\n{}", gateway.audit()));

    // Rules that would open the sites are refused by the tests of the gateway's file. Without them, the data is read: nothing else
    // kept it in the sites.
    let sites = format!("[\"group:aggregator\", \"group:sites\", \"{STORAGE}/32\"]\nports = [8080, {OPEN}]");
    let aggregator =
        format!("[groups.aggregator]\nallow = [{{ to = [\"group:sites\"], ports = [{OPEN}] }}]\n");
    let open = [
        ("[\"group:aggregator\"]\nports = [8080]", sites.as_str()),
        ("[groups.aggregator]", aggregator.as_str()),
    ];
    lab.fabric.configure(0, &open).unwrap();
    let refusal = format!("{:#}", gateway.run(&["gateway", "reload"]).unwrap_err());
    assert!(refusal.contains("the rules must deny sites to group:sites:9000"), "{refusal}");
    assert_eq!(thefts(&lab, &gateway, &mut pods, "kept"), 0);
    lab.fabric.configure(0, &[&open[..], &[("allow = false", "allow = true")]].concat()).unwrap();
    gateway.run(&["gateway", "reload"]).unwrap();
    assert_eq!(thefts(&lab, &gateway, &mut pods, "opened"), 9);
    rogue.run("curl", &through).unwrap();
    assert!(fs::read(loot).unwrap() == lab.raw(SITES[0]));
}
