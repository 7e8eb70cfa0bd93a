//! A pod: the entrypoint of its container, with the environment that the pod's cloud gives it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use warren_harness::workspace_root;

use super::Host;
use super::process::{Process, done, hand_over, unprivileged};
use crate::build_folder;

/// Where the agent is told to serve HTTP's CONNECT; beside a program it would choose a free port.
const PROXY: &str = "127.0.0.1:3128";

/// A running agent.
#[derive(Debug)]
pub struct Pod {
    process: Process,
    _home: TempDir,
}

impl Pod {
    /// Starts what the example's image starts, with a program that waits, until the agent has joined.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start(host: &impl Host, environment: &BTreeMap<String, String>) -> Result<Pod> {
        let home = tempfile::tempdir()?;
        hand_over(home.path())?;
        let entrypoint = workspace_root().join("examples/pod-image/entrypoint.sh");
        let words = unprivileged()?;
        let mut words = words.split_whitespace();
        let mut command = host.command(words.next().context("no program")?);
        command.args(words).arg(entrypoint).args(["sleep", "600"]).current_dir("/");
        command.env("XDG_RUNTIME_DIR", home.path()).envs(environment);
        command.env("WARREN_TUNNEL", build_folder()?.join("warren-tunnel")).env("WARREN_METRICS", "off");
        command.env("WARREN_HTTP_PROXY", PROXY);
        let mut process = Process::start(&mut command)?;
        // The environment asks for logs in JSON.
        process.says(r#""message":"tunnel is up""#).context("the agent")?;
        Ok(Pod { process, _home: home })
    }

    /// The agent's process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Gets an object as a program in the pod does, through the agent's proxy, with further arguments for curl.
    ///
    /// # Errors
    /// curl's words.
    pub fn get(host: &impl Host, url: &str, authority: &Path, more: &[&str]) -> Result<String> {
        let curl = warren_programs::program("curl")?.display().to_string();
        let mut command = host.command(&curl);
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--max-time",
            "20",
            "--proxy",
            PROXY,
            "--cacert",
        ]);
        done(command.arg(authority).args(more).arg(url))
    }

    /// A command that runs in the pod, and knows the agent's proxy from its environment.
    pub fn command(host: &impl Host, words: &[&str]) -> Command {
        let [program, arguments @ ..] = words else { return host.command("false") };
        let mut command = host.command(program);
        command.args(arguments).env("HTTPS_PROXY", format!("http://{PROXY}"));
        command
    }
}
