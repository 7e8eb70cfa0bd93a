//! The tools, and the command with which each of them copies a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use warren_tunnel_tests::{Implementation, program};

/// Credentials of the server.
pub(super) const KEY: &str = "AKIDEXAMPLE";
pub(super) const SECRET: &str = "example";

/// boto3's own manager of transfers, with its defaults.
const BOTO3: &str = r#"
import os, sys
import boto3
from boto3.s3.transfer import TransferConfig, create_transfer_manager

folder, prefix, up = sys.argv[1], sys.argv[2], sys.argv[3] == "up"
client = boto3.client("s3")
manager = create_transfer_manager(client, TransferConfig())
futures = []
if up:
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            futures.append(manager.upload(path, "bench", prefix + "/" + os.path.relpath(path, folder)))
else:
    for page in client.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=prefix + "/"):
        for found in page.get("Contents", []):
            path = os.path.join(folder, found["Key"][len(prefix) + 1:])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            futures.append(manager.download("bench", found["Key"], path))
for future in futures:
    future.result()
"#;

/// Runs the rest of its arguments, and writes seconds, the largest resident memory of a process in bytes, and CPU seconds.
const MEASURED: &str = r#"
import json, resource, subprocess, sys, time
begun = time.monotonic()
code = subprocess.run(sys.argv[2:]).returncode
seconds = time.monotonic() - begun
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as report:
    json.dump([seconds, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime], report)
sys.exit(code)
"#;

/// A tool that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Warren,
    Aws,
    Boto3,
    Rclone,
    S5cmd,
}

impl Tool {
    const ALL: [Tool; 5] = [Tool::Warren, Tool::Aws, Tool::Boto3, Tool::Rclone, Tool::S5cmd];

    /// Those that were named, or all.
    pub(super) fn chosen(names: &[String]) -> Result<Vec<Tool>> {
        if let Some(unknown) = names.iter().find(|name| !Self::ALL.iter().any(|tool| tool.name() == *name)) {
            let known: Vec<&str> = Self::ALL.iter().map(Tool::name).collect();
            bail!("no tool is called `{unknown}`\nHint: {}", known.join(", "));
        }
        let wanted = |tool: &Tool| names.is_empty() || names.iter().any(|name| tool.name() == name);
        Ok(Self::ALL.into_iter().filter(wanted).collect())
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Tool::Warren => crate::goals::TUNNEL,
            Tool::Aws => "aws s3 cp",
            Tool::Boto3 => "boto3",
            Tool::Rclone => "rclone",
            Tool::S5cmd => "s5cmd",
        }
    }

    pub(super) fn path(self) -> Result<PathBuf> {
        match self {
            Tool::Warren => Implementation::WarrenTunnel.path(),
            Tool::Aws => program("aws"),
            Tool::Boto3 | Tool::Rclone => program(self.name()),
            Tool::S5cmd => unwrapped(&program("s5cmd")?),
        }
    }

    /// Folders beside that of installed programs that it needs: a Python environment has its interpreter elsewhere.
    pub(super) fn folders(self) -> Result<Vec<PathBuf>> {
        let path = self.path()?;
        let interpreter = path.with_file_name("python");
        if !interpreter.exists() {
            return Ok(Vec::new());
        }
        let root = interpreter.canonicalize()?;
        Ok(root.ancestors().nth(2).map(Path::to_path_buf).into_iter().collect())
    }

    /// The command that copies between a folder and `remote` in the bucket.
    pub(super) fn command(
        self,
        folder: &Path,
        remote: &str,
        endpoint: &str,
        up: bool,
    ) -> Result<Vec<OsString>> {
        let folder = folder.to_str().context("a path is text")?;
        let bucket = format!("s3://bench/{remote}");
        let between = |local: &str, remote: &str| {
            let pair = if up { [local, remote] } else { [remote, local] };
            pair.map(str::to_owned).to_vec()
        };
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let arguments = match self {
            Tool::Warren => [text(&["sync"]), between(folder, &bucket)].concat(),
            Tool::Aws => {
                [text(&["s3", "cp", "--recursive", "--only-show-errors"]), between(folder, &bucket)].concat()
            }
            Tool::Boto3 => text(&["-c", BOTO3, folder, remote, if up { "up" } else { "down" }]),
            Tool::Rclone => {
                // With the slash, it does not look for an object of this name first.
                let remote =
                    format!(":s3,provider=Other,env_auth=true,endpoint='{endpoint}':bench/{remote}/");
                // More than its four, as its manual advises for many small files.
                [text(&["copy", "--transfers", "32", "--config", ""]), between(folder, &remote)].concat()
            }
            Tool::S5cmd => {
                let pair = match up {
                    true => [format!("{folder}/"), format!("{bucket}/")],
                    false => [format!("{bucket}/*"), format!("{folder}/")],
                };
                [text(&["--endpoint-url", endpoint, "--log", "error", "cp"]), pair.to_vec()].concat()
            }
        };
        let program = self.path()?.into_os_string();
        Ok(std::iter::once(program).chain(arguments.into_iter().map(OsString::from)).collect())
    }
}

/// The program of a Python package that starts it. Its interpreter would be measured, too.
fn unwrapped(wrapper: &Path) -> Result<PathBuf> {
    let root = wrapper.ancestors().nth(2).context("a program has a folder")?.join("lib");
    let versions = std::fs::read_dir(&root)?.filter_map(|found| found.ok().map(|found| found.path()));
    let mut inside = versions.map(|version| version.join("site-packages/s5cmd/bin/s5cmd"));
    inside.find(|path| path.is_file()).with_context(|| format!("no s5cmd below {}", root.display()))
}

/// What goes before a command for its figures to be written to `report`.
pub(super) fn measured(report: &Path) -> Vec<OsString> {
    vec!["python3".into(), "-c".into(), MEASURED.into(), report.into()]
}

/// Seconds, bytes of memory, and CPU seconds.
pub(super) fn report(path: &Path) -> Result<[f64; 3]> {
    let text = std::fs::read_to_string(path)?;
    serde_json::from_str(&text).context("the report of a copy")
}

/// Settings of this machine that are not those of the server. rclone does not start with the first.
pub(super) const UNSET: [&str; 4] = ["AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_SESSION_TOKEN", "NO_PROXY"];

/// The environment of every tool.
pub(super) fn environment(endpoint: &str) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", endpoint.to_owned()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
    ]
}
