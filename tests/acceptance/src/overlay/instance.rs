//! A gateway's instance: its boot script is run with a folder as root, and what the units start is started here.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;
use warren_harness::{Call, Google};

use super::Host;
use super::process::{Process, done, hand_over, unprivileged};
use crate::build_folder;

/// What the boot script asks of the machine; systemd's part is done here.
const RECORDED: [&str; 3] = ["systemctl", "systemd-sysusers", "sysctl"];

/// The folders that units make for the gateway.
const FOLDERS: [&str; 3] = ["run/warren", "run/warren-tunnel", "var/lib/warren"];

/// An instance that has booted.
#[derive(Debug)]
pub struct Instance {
    root: TempDir,
    script: String,
    /// What the cloud gives to it: who it is, and the variable of the secret store's address.
    identity: Vec<(&'static str, String)>,
    store: &'static str,
    gateway: Option<Process>,
}

impl Instance {
    /// Boots the instance that a `RunInstances` call of AWS asked for.
    ///
    /// # Errors
    /// The call has no user data, or the script fails.
    pub fn boot(run: &Call) -> Result<Instance> {
        Instance::boot_with(run.params.get("UserData"))
    }

    /// Boots an instance of AWS with this user data, in base64.
    ///
    /// # Errors
    /// The script fails.
    pub fn boot_with(user_data: &str) -> Result<Instance> {
        let script = String::from_utf8(STANDARD.decode(user_data)?)?;
        let identity =
            [("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
        let identity = identity.map(|(name, value)| (name, value.to_owned())).to_vec();
        Instance::run(script, identity, "AWS_ENDPOINT_URL")
    }

    /// Boots the instance of Google Cloud `name`, `projects/p/zones/z/instances/i`, which has its own metadata service.
    ///
    /// # Errors
    /// There is no such instance, it has no startup script, or that fails.
    pub fn boot_in_google(google: &Google, name: &str) -> Result<Instance> {
        let objects = google.objects();
        let metadata = objects.get(name).and_then(|instance| instance["metadata"]["items"].as_array());
        let mut items = metadata.with_context(|| format!("no instance {name}"))?.iter();
        let script = items.find(|item| item["key"] == "startup-script").context("no startup script")?;
        let script = script["value"].as_str().unwrap_or_default().to_owned();
        let identity = vec![("GCE_METADATA_HOST", google.metadata_host(name))];
        Instance::run(script, identity, "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER")
    }

    fn run(script: String, identity: Vec<(&'static str, String)>, store: &'static str) -> Result<Instance> {
        let instance = Instance { root: tempfile::tempdir()?, script, identity, store, gateway: None };
        for program in RECORDED {
            let path = instance.path("programs").join(program);
            std::fs::create_dir_all(instance.path("programs"))?;
            std::fs::write(&path, "#!/bin/sh\n")?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
        for folder in FOLDERS {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(instance.path(folder))?;
        }
        let path = std::env::var("PATH")?;
        done(
            Command::new("sh")
                .args(["-c", &instance.script])
                .env("PATH", format!("{}:{path}", instance.path("programs").display()))
                .env("WARREN_ROOT", instance.root.path()),
        )?;
        Ok(instance)
    }

    /// The boot script.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// A file or folder of the instance, by its path without the first slash.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The command that a unit starts, with this build's binary in place of the installed one.
    ///
    /// # Errors
    /// The boot script made no such unit.
    pub fn starts(&self, unit: &str) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(self.path("etc/systemd/system").join(unit))?;
        let line =
            text.lines().find_map(|line| line.strip_prefix("ExecStart=")).context("it starts nothing")?;
        let binary = build_folder()?.join("warren-tunnel").display().to_string();
        Ok(line
            .replace("/usr/local/bin/warren-tunnel", &binary)
            .split_whitespace()
            .map(str::to_owned)
            .collect())
    }

    /// The command of `warren-fetch.service` against the secret store at `endpoint`.
    ///
    /// # Errors
    /// The boot script made no such unit, or no list of files.
    pub fn fetching(&self, endpoint: &str) -> Result<Command> {
        let list = self.path("etc/warren/fetch.toml");
        let text = std::fs::read_to_string(&list)?;
        let here = self.path("fetch.toml");
        std::fs::write(&here, text.replace("/run/warren", &self.path("run/warren").display().to_string()))?;
        let words = self.starts("warren-fetch.service")?;
        let mut command = Command::new(words.first().context("no program")?);
        let there = "/etc/warren/fetch.toml";
        command.args(words.iter().skip(1).map(|word| word.replace(there, &here.display().to_string())));
        command.env(self.store, endpoint).envs(self.identity.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Runs `warren-fetch.service` to its end, and returns its log.
    ///
    /// # Errors
    /// Something is missing for longer than half a minute; the error has the log.
    pub fn fetch(&self, endpoint: &str) -> Result<String> {
        let output = self.fetching(endpoint)?.args(["--give-up-after", "30"]).output()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        anyhow::ensure!(output.status.success(), "{told}");
        hand_over(&self.path("run"))?;
        Ok(told)
    }

    /// A file that was fetched.
    ///
    /// # Errors
    /// It is not there.
    pub fn fetched(&self, name: &str) -> Result<String> {
        let path = self.path("run/warren").join(name);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// Starts `warren-gateway.service` on `host`, again if it runs, and waits until it is up. The folders that the units
    /// make are where the configuration says, in mounts of the process alone.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start(&mut self, host: &impl Host) -> Result<()> {
        self.gateway = None;
        hand_over(&self.path("run"))?;
        hand_over(&self.path("var"))?;
        // In place of the capability that systemd gives to the gateway.
        done(host.command("sh").args(["-c", "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"]))?;
        let mut script = "set -e; mount -t tmpfs none /run; mount -t tmpfs none /var/lib\n".to_owned();
        for folder in FOLDERS {
            script += &format!("mkdir /{folder}; mount --bind {} /{folder}\n", self.path(folder).display());
        }
        script +=
            &format!("cd /; exec {} {}\n", unprivileged()?, self.starts("warren-gateway.service")?.join(" "));
        let mut command = host.command("unshare");
        command.args(["--mount", "sh", "-c", &script]).env("XDG_RUNTIME_DIR", "/run");
        let mut process = Process::start(&mut command)?;
        process.says(" up ").context("the gateway")?;
        self.gateway = Some(process);
        Ok(())
    }

    /// The gateway's process, if it was started.
    pub fn gateway(&mut self) -> Option<&mut Process> {
        self.gateway.as_mut()
    }

    /// What the gateway printed so far.
    pub fn log(&self) -> String {
        self.gateway.as_ref().map(Process::log).unwrap_or_default()
    }

    /// Asks the running gateway something, as an operator does: `["peers", "--json"]`.
    ///
    /// # Errors
    /// It refuses; the error has its words.
    pub fn ask(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(build_folder()?.join("warren-tunnel"));
        command.arg("gateway").args(words).arg("--socket").arg(self.socket()?);
        done(&mut command)
    }

    /// Its leases.
    ///
    /// # Errors
    /// It does not answer.
    pub fn peers(&self) -> Result<Vec<Value>> {
        Ok(serde_json::from_str(&self.ask(&["peers", "--json"])?)?)
    }

    fn socket(&self) -> Result<PathBuf> {
        let folder = self.path("run/warren-tunnel");
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if is_gateway(&path) {
                return Ok(path);
            }
        }
        anyhow::bail!("no control socket in {}", folder.display())
    }
}

fn is_gateway(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains("gateway"))
}
