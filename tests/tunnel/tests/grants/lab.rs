//! Pods, a gateway with credentials of AWS, and STS and S3 behind it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use warren_harness::Venv;
pub(crate) use warren_tunnel_tests::fabric::By;
use warren_tunnel_tests::fabric::{Gateway, Member};
use warren_tunnel_tests::pod::{unprivileged, unprivileged_with};
use warren_tunnel_tests::{Daemon, Fabric, Implementation, Namespace, program, wait_for};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const ENDPOINT: &str = "http://10.50.0.2:9000";
const GATEWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 200, 0, 2));
/// What only the gateway and STS know.
const SECRET: &str = "gateway-secret-never-seen-elsewhere";
const REST: &str = r#"
STORE
[pool]
prefixes = ["10.100.0.0/24"]
[credentials.aws]
role_arn = "arn:aws:iam::123456789012:role/warren-pods"
region = "us-east-1"
[groups.gpu]
allow = [{ to = ["10.50.0.2/32"], ports = [9000], protocols = ["tcp"] }]
grants = [
  { objects = "s3://acme-data/llm/", access = "read" },
  { objects = "s3://acme-data/out/", access = "read-write" },
]
[credentials.google]
[groups.google]
allow = [{ to = ["10.50.0.2/32"], ports = [9000], protocols = ["tcp"] }]
grants = [{ objects = "gs://acme-gs/llm/", access = "read" }]
[groups.other]
allow = [{ to = ["10.50.0.2/32"], ports = [9000], protocols = ["tcp"] }]
grants = [{ objects = "s3://acme-other/", access = "read" }]
[groups.plain]
allow = [{ to = ["10.50.0.2/32"], ports = [9000], protocols = ["tcp"] }]
[limits]
requests_per_minute_and_source = 100000
"#;

pub(crate) struct Lab {
    pub(crate) gateway: Gateway,
    fabric: Fabric,
    pod: Arc<Namespace>,
    inside: Arc<Namespace>,
    venv: Venv,
    front: TempDir,
    home: TempDir,
    _services: Daemon,
}

impl Lab {
    pub(crate) fn start(by: By) -> Self {
        Self::start_with(by, "")
    }

    /// The same, with more tables in the gateway's file.
    pub(crate) fn start_with(by: By, more: &str) -> Self {
        let venv = Venv::ensure().unwrap();
        let [pod, at, inside] = [(); 3].map(|()| Arc::new(Namespace::new().unwrap()));
        pod.join(&at).unwrap();
        at.join_as(&inside, "lan").unwrap();
        for (host, address, wire) in [
            (&pod, "10.200.0.1/24", "wire"),
            (&at, "10.200.0.2/24", "wire"),
            (&at, "10.50.0.1/24", "lan"),
            (&inside, "10.50.0.2/24", "lan"),
        ] {
            host.ip(&format!("addr add {address} dev {wire}")).unwrap();
        }
        // It would reach the gateway's overlay address, if that were open to it.
        inside.ip("route add 10.100.0.0/24 via 10.50.0.1").unwrap();
        let front = tempfile::tempdir().unwrap();
        let mut command = inside.command(venv.python());
        command.args(["-c", include_str!("front.py"), "10.50.0.2", "9000"]).arg(front.path());
        let services = Daemon::start(&mut command).unwrap();
        wait_for(PATIENCE, "STS and S3", || inside.inside(|| Ok(TcpStream::connect("10.50.0.2:9000").ok())))
            .unwrap_or_else(|error| panic!("{error:#}\n{}", services.log()));
        let fabric = Fabric::new(&[GATEWAY], &format!("{REST}{more}")).unwrap();
        let environment = [
            ("AWS_ACCESS_KEY_ID", "AKIAGATEWAY"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_ENDPOINT_URL_STS", ENDPOINT),
            ("GCE_METADATA_HOST", "10.50.0.2:9000"),
            ("CLOUDSDK_API_ENDPOINT_OVERRIDES_STS", ENDPOINT),
        ];
        let gateway = fabric.start_with(by, &at, &environment).unwrap();
        let home = fabric.home_of_pod().unwrap();
        Self { gateway, fabric, pod, inside, venv, front, home, _services: services }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.home().join(name).display().to_string()
    }

    pub(crate) fn python(&self) -> String {
        self.venv.python().display().to_string()
    }

    fn program() -> PathBuf {
        Implementation::WarrenTunnel.path().unwrap()
    }

    /// `exec` as nobody, before the separator and the program.
    pub(crate) fn exec(&self, group: &str, host: &str, more: &[String]) -> Command {
        // The environment's interpreter is a link to where Python was installed.
        let python = fs::canonicalize(self.venv.python()).unwrap();
        let installed = python.ancestors().nth(2).unwrap();
        let folders = [installed, self.venv.root()];
        let mut command = unprivileged_with(&self.pod, self.home(), &Self::program(), &folders);
        command.args(["exec", "--device", "user", "--metrics", "off", "--log-level", "info"]).args(more);
        command.env("WARREN_TOKEN", self.fabric.token(group, &[]).unwrap()).env("WARREN_HOST_NAME", host);
        command.env("HOME", self.home()).env("AWS_REGION", "us-east-1").env("AWS_ENDPOINT_URL_S3", ENDPOINT);
        command.env("AWS_ENDPOINT_URL", ENDPOINT).env("AWS_ALLOW_HTTP", "true");
        command.env("STORAGE_EMULATOR_HOST", ENDPOINT);
        command
    }

    /// Runs it to its successful end, and returns what it printed. Its log has no secret.
    pub(crate) fn output(&self, command: &mut Command) -> String {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, log) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{printed}\n{log}\n{}", self.gateway.daemon.log());
        for secret in self.secrets() {
            assert!(!log.contains(&secret), "{log}");
        }
        printed
    }

    /// A running agent of its own.
    pub(crate) fn agent(&self, group: &str, host: &str, more: &[&str]) -> Member {
        let token = self.fabric.token(group, &[]).unwrap();
        let arguments =
            ["--device", "user", "--credentials", "127.0.0.1:0", "--host-name", host, "--socks5", "off"];
        let proxy: &[&str] = if more.is_empty() { &["--http-proxy", "off"] } else { more };
        let agent = self.fabric.pod(&self.pod, &token, &[&arguments, proxy].concat()).unwrap();
        wait_for(PATIENCE, "credentials", || {
            Ok(agent.daemon.log().contains("serving credentials of the gateway").then_some(()))
        })
        .unwrap();
        agent
    }

    /// A command of ours beside an agent.
    pub(crate) fn beside(&self, agent: &Member, arguments: &[&str]) -> Command {
        let mut command = unprivileged(&self.pod, agent.home.path(), &Self::program());
        command.args(arguments).env("HOME", self.home()).env("AWS_REGION", "us-east-1");
        command.env("AWS_ENDPOINT_URL", ENDPOINT).env("AWS_ALLOW_HTTP", "true");
        // In the home of the agent's programs.
        chown(self.home(), Some(65534), Some(65534)).unwrap();
        fs::set_permissions(self.home(), fs::Permissions::from_mode(0o755)).unwrap();
        command
    }

    /// Status and body of a request in the pod.
    pub(crate) fn curl(&self, url: &str, headers: &[&str]) -> (u16, String) {
        self.curl_with(url, headers, &[])
    }

    fn curl_with(&self, url: &str, headers: &[&str], more: &[&str]) -> (u16, String) {
        let mut command = self.pod.command(program("curl").unwrap());
        command.args([
            "--silent",
            "--max-time",
            "25",
            "--noproxy",
            "*",
            "--write-out",
            "\n%{http_code}",
            url,
        ]);
        for header in headers {
            command.args(["--header", header]);
        }
        command.args(more);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let (body, status) = printed.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    /// The same of an agent's credentials of AWS, with its token.
    pub(crate) fn ask(&self, agent: &Member) -> (u16, String) {
        let folder = agent.home.path().join("warren-tunnel/warren0.credentials");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let environment = read("env");
        let url =
            environment.lines().find_map(|line| line.strip_prefix("AWS_CONTAINER_CREDENTIALS_FULL_URI='"));
        self.curl(url.unwrap().trim_end_matches('\''), &[&format!("Authorization: {}", read("token"))])
    }

    /// The same of its credentials of Google Cloud.
    pub(crate) fn ask_for_google(&self, agent: &Member) -> (u16, String) {
        let folder = agent.home.path().join("warren-tunnel/warren0.credentials");
        let account: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("google.json")).unwrap()).unwrap();
        let token = fs::read_to_string(folder.join("token")).unwrap();
        let url = account["token_url"].as_str().unwrap();
        self.curl_with(url, &[], &["--data", &format!("subject_token={token}")])
    }

    /// The body of a request by the agent's proxy.
    pub(crate) fn through_the_proxy(&self, url: &str) -> String {
        let mut command = self.pod.command(program("curl").unwrap());
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--max-time",
            "25",
            "--proxy",
            "http://127.0.0.1:3128",
            url,
        ]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Status and body of a request to the gateway by the agent's proxy, as any program of the pod can send it.
    pub(crate) fn as_another_program(&self, url: &str, more: &[&str]) -> (u16, String) {
        let mut command = self.pod.command(program("curl").unwrap());
        command.args(["--silent", "--max-time", "5", "--proxy", "http://127.0.0.1:3128"]).args(more);
        command.args(["--write-out", "\n%{http_code}", url]);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let (body, status) = printed.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    /// The status of a request that does not come through a tunnel, if there is an answer.
    pub(crate) fn outside_the_tunnel(&self, url: &str) -> Option<u16> {
        let mut command = self.inside.command(program("curl").unwrap());
        command.args([
            "--silent",
            "--max-time",
            "2",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
            url,
        ]);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        printed.parse().ok().filter(|status| *status != 0)
    }

    /// Has STS answer otherwise from now on.
    pub(crate) fn fault(&self, how: &str) {
        fs::write(self.front.path().join("fault"), how).unwrap();
    }

    /// What a service noted.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.front.path().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Lines of the audit log, once one of them has this word.
    pub(crate) fn audit(&self, word: &str) -> Vec<Value> {
        let text = wait_for(PATIENCE, "audit record", || {
            let text = self.gateway.audit();
            Ok(text.contains(word).then_some(text))
        });
        text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the agent answers to a report of a transfer.
    pub(crate) fn report(&self, agent: &Member, body: &str) -> (u16, String) {
        let folder = agent.home.path().join("warren-tunnel/warren0.credentials");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let environment = read("env");
        let url = environment.lines().find_map(|line| line.strip_prefix("WARREN_TRANSFERS_URL='"));
        let token = format!("Authorization: {}", read("token"));
        self.curl_with(url.unwrap().trim_end_matches('\''), &[&token], &["--data", body])
    }

    /// The page's data of the gateway.
    pub(crate) fn page(&self) -> Value {
        let data = self
            .gateway
            .host()
            .run(program("curl").unwrap(), &["--silent", "http://127.0.0.1:9600/page.json"])
            .unwrap();
        serde_json::from_str(&data).unwrap()
    }

    /// The transfers of all pods on the page.
    pub(crate) fn transfers(&self) -> Vec<Value> {
        let page = self.page();
        let pods = page["pods"].as_array().unwrap().iter();
        pods.filter_map(|pod| pod["transfers"].as_array()).flatten().cloned().collect()
    }

    pub(crate) fn metrics(&self) -> String {
        self.gateway
            .host()
            .run(program("curl").unwrap(), &["--silent", "http://127.0.0.1:9600/metrics"])
            .unwrap()
    }

    fn secrets(&self) -> Vec<String> {
        let issued = self.lines("issued.jsonl");
        let parts = issued.iter().flat_map(|line| [&line["secret"], &line["token"]]);
        let parts = parts.map(|part| part.as_str().unwrap().to_owned());
        parts.chain([SECRET.to_owned()]).collect()
    }

    /// No secret is where others could read it.
    pub(crate) fn keeps_secrets(&self, agents: &[&Member]) {
        let secrets = self.secrets();
        assert!(secrets.len() > 1, "credentials were issued");
        let mut texts = vec![
            self.gateway.daemon.log(),
            self.gateway.audit(),
            self.gateway.status().unwrap().to_string(),
            self.gateway.daemon.arguments().unwrap(),
        ];
        for agent in agents {
            texts.extend([agent.daemon.log(), agent.daemon.arguments().unwrap()]);
            let token = agent.home.path().join("warren-tunnel/warren0.credentials/token");
            let token = fs::read_to_string(token).unwrap();
            assert!(texts.iter().all(|text| !text.contains(&token)));
        }
        for text in &texts {
            assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
        }
    }
}
