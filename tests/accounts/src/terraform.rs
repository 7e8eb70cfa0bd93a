//! The user's Terraform or OpenTofu, with the user's environment: it holds the credentials.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The address of the provider.
const SOURCE: &str = "warren-net/warren";

/// Names the program to use, as in the other tests.
const PROGRAM: &str = "WARREN_TERRAFORM";

/// Events of Terraform's JSON output that show progress.
const SHOWN: [&str; 6] =
    ["apply_start", "apply_complete", "apply_errored", "change_summary", "diagnostic", "resource_drift"];

/// Ctrl-C and SIGTERM.
#[derive(Debug)]
pub struct Interrupts {
    ctrl_c: Signal,
    terminated: Signal,
}

impl Interrupts {
    /// Receives both from now on.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn new() -> Result<Interrupts> {
        Ok(Interrupts {
            ctrl_c: signal(SignalKind::interrupt())?,
            terminated: signal(SignalKind::terminate())?,
        })
    }

    /// Forgets those that have arrived: what follows must not be stopped by them.
    pub(crate) async fn forget(&mut self) {
        while tokio::time::timeout(Duration::ZERO, self.next()).await.is_ok() {}
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}

/// A workspace.
#[derive(Debug)]
pub(crate) struct Terraform {
    program: PathBuf,
    /// The configuration.
    work: PathBuf,
    cli: PathBuf,
    /// What the provider logs.
    pub(crate) log: PathBuf,
    /// The JSON lines of all commands so far.
    pub(crate) output: String,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    stderr: String,
    pub(crate) interrupted: bool,
}

impl Ran {
    /// The run itself if the command succeeded and was not interrupted.
    pub(crate) fn success(self, command: &str) -> Result<Ran> {
        ensure!(!self.interrupted, "interrupted");
        ensure!(self.code == Some(0), "`terraform {command}` failed:\n{}", self.told());
        Ok(self)
    }

    /// The errors, or all output of a command without JSON.
    pub(crate) fn told(&self) -> String {
        let errors: Vec<String> = self.stdout.lines().filter_map(problem).collect();
        let text = if errors.is_empty() { self.stdout.clone() } else { errors.join("\n") };
        format!("{text}\n{}", self.stderr).trim().to_owned()
    }
}

impl Terraform {
    /// A workspace in `folder`, whose configuration is in `work` below it.
    pub(crate) fn new(folder: &Path, build_folder: &Path) -> Result<Terraform> {
        Ok(Terraform {
            program: program()?,
            work: folder.join("work"),
            cli: warren_harness::write_cli_configuration(SOURCE, build_folder, folder)?,
            log: folder.join("provider.log"),
            output: String::new(),
        })
    }

    /// Runs a command. An interrupt is passed on to Terraform once, which then stops and saves its state.
    pub(crate) async fn run(
        &mut self,
        arguments: &[&str],
        interrupts: &mut Interrupts,
        report: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Ran> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(&self.work)
            .env("TF_CLI_CONFIG_FILE", &self.cli)
            .env("TF_IN_AUTOMATION", "1")
            .env("TF_INPUT", "0")
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_LOG_PROVIDER", "DEBUG")
            .env("TF_LOG_PATH", &self.log)
            // These would lead it to another workspace, or change its arguments.
            .env_remove("TF_DATA_DIR")
            .env_remove("TF_WORKSPACE")
            .env_remove("TF_CLI_ARGS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that Ctrl-C in a terminal reaches it only through this program.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut errors = child.stderr.take().context("no standard error")?;
        let errors = tokio::spawn(async move {
            let mut text = String::new();
            // What was read before an error is still worth showing.
            let _ = errors.read_to_string(&mut text).await;
            text
        });
        let mut lines = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        let (mut stdout, mut interrupted) = (String::new(), false);
        loop {
            tokio::select! {
                line = lines.next_line() => {
                    let Some(line) = line? else { break };
                    if let Some(message) = progress(&line) {
                        report(&format!("  {message}"));
                    }
                    stdout += &line;
                    stdout.push('\n');
                }
                () = interrupts.next(), if !interrupted => {
                    interrupted = true;
                    report("interrupted: waiting for Terraform to stop");
                    let pid = child.id().context("Terraform has ended")?;
                    Command::new("kill").args(["-INT", &pid.to_string()]).status().await?;
                }
            }
        }
        let status = child.wait().await?;
        self.output += &stdout;
        Ok(Ran { code: status.code(), stdout, stderr: errors.await.unwrap_or_default(), interrupted })
    }
}

/// What to show of a line of Terraform's JSON output.
fn progress(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    SHOWN.contains(&event["type"].as_str()?).then(|| event["@message"].as_str().map(str::to_owned))?
}

/// The diagnostic in a line, as a text.
fn problem(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let diagnostic = event.get("diagnostic").filter(|diagnostic| diagnostic["severity"] == "error")?;
    let text = |member: &str| diagnostic[member].as_str().unwrap_or_default();
    Some(format!("{}\n  {}", text("summary"), text("detail").replace('\n', "\n  ")))
}

/// `WARREN_TERRAFORM`, or `terraform` or `tofu` on the path.
fn program() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAM).filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = ["terraform", "tofu"].iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    });
    found.with_context(|| format!("neither `terraform` nor `tofu` is on PATH; install one, or set {PROGRAM}"))
}
