//! `examples/llm-finetune`: a pod reads its data from S3 and keeps its checkpoints in Google Cloud Storage, both through the
//! tunnel. It is killed in mid-training, and another one continues from the last complete checkpoint. No pod has a key of a
//! cloud: the gateway gives it credentials for its prefixes, and those of Google are enforced.
//!
//! ```text
//! pod --wire-- gateway --wire-- STS and S3 (moto) 10.50.0.2:5000
//!                               metadata, token service and Cloud Storage of Google (a double) 10.50.0.2:5001
//! ```

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use warren_harness::{Bucket, BucketConfig, Venv};
use warren_tunnel_tests::fabric::{By, Gateway};
use warren_tunnel_tests::{Daemon, Fabric, Implementation, Namespace, wait_for, workspace_root};

const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[credentials.aws]
role_arn = "arn:aws:iam::123456789012:role/warren-pods"
region = "us-east-1"
[credentials.google]
[groups.gpu]
allow = [{ to = ["10.50.0.2/32"], ports = ["5000-5001"], protocols = ["tcp"] }]
grants = [
  { objects = "s3://acme-datasets/tales/", access = "read" },
  { objects = "gs://acme-checkpoints/run-7/", access = "read-write" },
  { objects = "gs://acme-checkpoints/logs/", access = "read-write" },
]
"#;
const STORE: &str = "10.50.0.2:5000";
const GOOGLE: &str = "10.50.0.2:5001";
/// The key of the gateway, and of who prepares the buckets.
const SECRET: &str = "never-seen-in-a-pod";
/// More than a pod can do before it is ended.
const ENDLESS: u64 = 1_000_000;
const EVERY: u64 = 25;
const PATIENCE: Duration = Duration::from_secs(60);

struct Lab {
    fabric: Fabric,
    gateway: Gateway,
    store: Arc<Namespace>,
    pods: Namespace,
    token: String,
    home: TempDir,
    bucket: Bucket,
    _moto: Daemon,
}

impl Lab {
    fn start() -> Self {
        let [at, store] = [(); 2].map(|()| Arc::new(Namespace::new().unwrap()));
        let pods = Namespace::new().unwrap();
        for (host, wire, net) in [(&pods, "pods", "10.210.0"), (&store, "store", "10.50.0")] {
            host.join_as(&at, wire).unwrap();
            host.ip(&format!("addr add {net}.2/24 dev {wire}")).unwrap();
            at.ip(&format!("addr add {net}.1/24 dev {wire}")).unwrap();
        }
        let moto = moto(&store);
        let names = vec!["acme-checkpoints".to_owned()];
        let config = BucketConfig { names, address: GOOGLE.parse().unwrap(), ..BucketConfig::default() };
        let bucket = store.inside(|| Bucket::start_with(config)).unwrap();
        let fabric = Fabric::new(&["10.210.0.1".parse().unwrap()], REST).unwrap();
        let own = [
            ("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_ENDPOINT_URL_STS", "http://10.50.0.2:5000"),
            ("GCE_METADATA_HOST", GOOGLE),
            ("CLOUDSDK_API_ENDPOINT_OVERRIDES_STS", "http://10.50.0.2:5001"),
        ];
        let gateway = fabric.start_with(By::User, &at, &own).unwrap();
        let token = fabric.token("gpu", &["--uses", "1"]).unwrap();
        let home = tempfile::tempdir().unwrap();
        Self { fabric, gateway, store, pods, token, home, bucket, _moto: moto }
    }

    /// `sync` beside the store, without a tunnel.
    fn sync(&self, from: &str, to: &str) -> Output {
        let mut command = self.store.command(Implementation::WarrenTunnel.path().unwrap());
        command.args(["sync", from, to, "--direct"]).env("HOME", self.home.path());
        at_stores(&mut command).env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE").env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("GCE_METADATA_HOST", GOOGLE);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// What the bucket with checkpoints has.
    fn kept(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join(name);
        self.sync("gs://acme-checkpoints/", &folder.display().to_string());
        folder
    }

    fn pod(&self, steps: u64) -> Pod {
        let home = self.fabric.home_of_pod().unwrap();
        copy(&["train.py", "run.sh"], home.path());
        let at = |name: &str| home.path().join(name).display().to_string();
        // A container: when its first process is killed, nothing of it is left.
        let mut command = self.pods.command("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "setpriv"]);
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
        command.args(["--bounding-set", "-all", "--inh-caps", "-all"]);
        let program = Implementation::WarrenTunnel.path().unwrap();
        command.arg(&program).args(["exec", "--device", "user", "--metrics", "off", "--log-level", "warn"]);
        command.args(["--sync-in", &format!("s3://acme-datasets/tales/={}", at("data"))]);
        command.args(["--sync-in", &format!("gs://acme-checkpoints/run-7/={}", at("restored"))]);
        command.args(["--sync-out", &format!("{}=gs://acme-checkpoints/logs/", at("logs"))]);
        command.args(["--", &at("run.sh")]).current_dir("/");
        at_stores(&mut command).env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
        command.env("WARREN_TOKEN", &self.token).env("WARREN_HOST_NAME", "train-0");
        command.env("WARREN_TUNNEL", program).env("WORK", home.path());
        command.env("CHECKPOINTS", "gs://acme-checkpoints/run-7/");
        command.env("STEPS", steps.to_string()).env("EVERY", EVERY.to_string());
        let file = |name: &str| File::create(home.path().join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("log"));
        Pod { child: command.spawn().unwrap(), home }
    }
}

/// S3, with a bucket.
fn moto(host: &Namespace) -> Daemon {
    let python = Venv::ensure().unwrap().python();
    let mut command = host.command(&python);
    command.args(["-m", "moto.server", "-H", "10.50.0.2", "-p", "5000"]);
    let moto = Daemon::start(&mut command).unwrap();
    wait_for(PATIENCE, "S3", || host.inside(|| Ok(TcpStream::connect(STORE).ok())))
        .unwrap_or_else(|error| panic!("{error:#}\n{}", moto.log()));
    let url = format!("http://{STORE}/acme-datasets");
    host.run("curl", &["-sS", "--fail", "-H", "Authorization: AWS id:0", "-X", "PUT", &url]).unwrap();
    moto
}

fn at_stores(command: &mut Command) -> &mut Command {
    for name in
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"]
    {
        command.env_remove(name);
    }
    command.env("AWS_ENDPOINT_URL", format!("http://{STORE}")).env("AWS_REGION", "us-east-1");
    command.env("GOOGLE_BASE_URL", format!("http://{GOOGLE}"))
}

fn copy(scripts: &[&str], into: &Path) {
    for script in scripts {
        let to = into.join(script);
        fs::copy(workspace_root().join("examples/llm-finetune").join(script), &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A pod that trains.
struct Pod {
    child: Child,
    home: TempDir,
}

impl Pod {
    fn events(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path().join(name)).unwrap_or_default();
        // A killed program may have written half a line.
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    fn uploads(&self) -> usize {
        let uploads = self.events("logs/upload.jsonl");
        uploads.iter().filter(|event| event["event"] == "checkpoint-complete").count()
    }

    /// The process that the kernel kills with the container's first one.
    fn first(&self) -> Pid {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let text = fs::read_to_string(children).unwrap();
        Pid::from_raw(text.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
    }

    fn ended(&mut self) -> Option<i32> {
        wait_for(PATIENCE, "end of the pod", || Ok(self.child.try_wait()?))
            .unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
            .code()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The losses by the number of the step.
fn losses(events: &[Value]) -> BTreeMap<u64, f64> {
    let steps = events.iter().filter(|event| event["event"] == "step");
    steps.map(|event| (event["step"].as_u64().unwrap(), event["loss"].as_f64().unwrap())).collect()
}

/// The step of the checkpoint that a pod continued from.
fn resumed(events: &[Value]) -> u64 {
    assert_eq!(events[0]["event"], "resumed", "{events:?}");
    events[0]["checkpoint"].as_str().unwrap().rsplit('-').next().unwrap().parse().unwrap()
}

fn last(events: &[Value]) -> &Value {
    events.last().unwrap()
}

/// A text of few words, and a model that was trained on other texts with them.
fn data(folder: &Path) {
    let words: Vec<&str> =
        "the brown fox trains a model and the lazy dog writes a checkpoint to the bucket over the tunnel"
            .split(' ')
            .collect();
    let text = |salt: usize| -> String {
        (0..1_500)
            .map(|n| {
                words[(n * n + n * salt) % 97 % words.len()].to_owned() + if n % 9 == 8 { ".\n" } else { " " }
            })
            .collect()
    };
    fs::create_dir_all(folder.join("other")).unwrap();
    fs::write(folder.join("other/corpus.txt"), text(3)).unwrap();
    let base = train(&folder.join("other"), folder, 20);
    assert_eq!(last(&base)["event"], "done");
    fs::create_dir(folder.join("data")).unwrap();
    fs::rename(folder.join("ckpt/step-000020"), folder.join("data/base")).unwrap();
    fs::write(folder.join("data/corpus.txt"), text(5)).unwrap();
}

/// An undisturbed run on this machine.
fn train(data: &Path, folder: &Path, steps: u64) -> Vec<Value> {
    let mut command = Command::new("python3");
    command.arg("-B").arg(workspace_root().join("examples/llm-finetune/train.py"));
    command.arg("--data").arg(data).arg("--checkpoints").arg(folder.join("ckpt"));
    let output = command.args(["--steps", &steps.to_string()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_killed_pod_is_replaced_by_one_that_continues_with_the_same_losses() {
    let lab = Lab::start();
    data(lab.home.path());
    let folder = lab.home.path().join("data");
    lab.sync(&folder.display().to_string(), "s3://acme-datasets/tales/");

    // The provider takes the machine away without notice.
    let mut pod = lab.pod(ENDLESS);
    let trained = wait_for(PATIENCE, "uploaded checkpoints", || {
        anyhow::ensure!(pod.child.try_wait()?.is_none(), "it has ended");
        Ok((pod.uploads() >= 2).then_some(()))
    });
    trained.unwrap_or_else(|error| panic!("{error}\n{}\n{}", pod.log(), lab.gateway.daemon.log()));
    kill_process(pod.first(), Signal::KILL).unwrap();
    pod.ended();
    let first = pod.events("out");
    assert_eq!(first[0]["event"], "base", "{first:?}");
    let kept = lab.kept("after-kill");
    assert!(!kept.join("logs").exists(), "nothing is copied after a kill");
    // What the kill may leave: files of a checkpoint without its manifest. The next pod must not use it.
    let half = lab.home.path().join("half/step-999999");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("weights.bin"), b"half").unwrap();
    lab.sync(&lab.home.path().join("half").display().to_string(), "gs://acme-checkpoints/run-7/");

    // The next pod has the same name and the same token. It is given notice.
    let mut pod = lab.pod(ENDLESS);
    let uploaded = wait_for(PATIENCE, "uploaded checkpoint", || Ok((pod.uploads() >= 1).then_some(())));
    uploaded.unwrap_or_else(|error| panic!("{error}\n{}\n{:?}", pod.log(), pod.events("out")));
    kill_process(pod.first(), Signal::TERM).unwrap();
    assert_eq!(pod.ended(), Some(143), "{}", pod.log());
    let second = pod.events("out");
    let from = resumed(&second);
    let newest = fs::read_dir(kept.join("run-7")).unwrap().map(|entry| entry.unwrap().path());
    let newest = newest.filter(|path| path.join(".warren-complete.json").is_file()).max().unwrap();
    assert!(newest.ends_with(format!("step-{from:06}")), "{newest:?}");
    assert_eq!(last(&second)["event"], "stopped", "{second:?}");
    let stopped = last(&second)["step"].as_u64().unwrap();
    assert!(losses(&second).keys().copied().eq(from..stopped), "{from}: {second:?}");

    // The third one loses no step, and ends with the model of a run that nothing disturbed.
    let steps = stopped + 50;
    let mut pod = lab.pod(steps);
    assert_eq!(pod.ended(), Some(0), "{}\n{:?}", pod.log(), pod.events("logs/upload.jsonl"));
    let third = pod.events("out");
    assert_eq!(resumed(&third), stopped);
    assert!(losses(&third).keys().copied().eq(stopped..steps), "{stopped}: {third:?}");
    let undisturbed = train(&folder, lab.home.path(), steps);
    let expected = losses(&undisturbed);
    let sum = |from: u64| (from..from + 20).map(|step| expected[&step]).sum::<f64>();
    assert!(expected.len() as u64 == steps && sum(steps - 20) < 0.9 * sum(0), "{expected:?}");
    for seen in [&first, &second, &third].map(|events| losses(events)) {
        assert!(seen.iter().all(|(step, loss)| expected[step] == *loss), "{seen:?}\n{expected:?}");
    }
    assert_eq!(last(&third)["sha256"], last(&undisturbed)["sha256"], "weights and optimizer");
    println!(
        "killed after step {}, resumed from {from}, stopped at {stopped}, resumed, ended at {steps}",
        losses(&first).len()
    );

    // The last checkpoint is in the bucket as it was written, and so is the log.
    let kept = lab.kept("after-end");
    let name = format!("step-{steps:06}");
    let uploaded = kept.join("run-7").join(&name);
    assert!(uploaded.join(".warren-complete.json").is_file());
    for file in ["weights.bin", "mean.bin", "square.bin", "state.json"] {
        let written = pod.home.path().join("checkpoints").join(&name).join(file);
        assert!(fs::read(uploaded.join(file)).unwrap() == fs::read(written).unwrap(), "{file}");
    }
    assert!(fs::read_to_string(kept.join("logs/upload.jsonl")).unwrap().contains(&name));

    // Each pod had credentials of its own, and none had the key.
    let credentials = lab.gateway.status().unwrap()["credentials"].clone();
    assert_eq!([&credentials[0]["issued"], &credentials[1]["issued"]], [3, 3], "{credentials}");
    // The bucket refused nothing, and had only requests that its reference allows. No upload is left.
    lab.bucket.front().assert_valid();
    assert!(lab.bucket.front().calls().iter().all(|call| !matches!(call.status, Some(401 | 403))));
    assert_eq!(lab.bucket.uploads(), 0);
    assert!(!pod.log().contains(SECRET) && !lab.gateway.daemon.log().contains(SECRET));
}
