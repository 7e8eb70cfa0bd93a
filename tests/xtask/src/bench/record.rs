//! Recorded measurements: `docs/benchmarks/NAME.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use warren_harness::workspace_root;

use super::What;

/// Figures of one measurement by subject (a program or a way of working) and metric, run by run.
pub(crate) type Figures = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// A measurement, with what is needed to repeat and to judge it.
#[derive(Deserialize, Serialize)]
pub(crate) struct Record {
    /// The command that measured.
    pub(crate) command: String,
    /// Day of the measurement, `YYYY-MM-DD`.
    pub(crate) date: String,
    /// The machine.
    pub(crate) machine: Machine,
    /// Under which conditions, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) conditions: BTreeMap<String, String>,
    /// The figures.
    pub(crate) figures: Figures,
    /// Cases that failed. They have no figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_measured: Vec<Missing>,
}

/// What a program that measures writes.
#[derive(Deserialize)]
pub(crate) struct Results {
    pub(crate) conditions: BTreeMap<String, String>,
    pub(crate) figures: Figures,
    #[serde(default)]
    pub(crate) not_measured: Vec<Missing>,
}

/// A case of a subject that was not measured.
#[derive(Deserialize, Serialize)]
pub(crate) struct Missing {
    pub(crate) subject: String,
    pub(crate) case: String,
    pub(crate) reason: String,
}

/// The machine that measured.
#[derive(Deserialize, Serialize)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    /// Congestion control of new TCP connections, where a measurement does not set another.
    congestion_control: String,
    /// Of the vector instructions that ciphers use, those that the CPU has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<String>,
    /// The kernel's settings for sockets and queues.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sysctls: BTreeMap<String, String>,
    /// Load averages of 1, 5, and 15 minutes right before the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<String>,
}

/// Settings that change what sockets and queues carry.
const SYSCTLS: [&str; 9] = [
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
];
const VECTORS: [&str; 4] = ["avx2", "avx512f", "avx512ifma", "asimd"];

/// Stores results.
pub(crate) fn keep(what: What, rest: &[String], machine: Machine, results: Results) -> Result<()> {
    let words = ["cargo xtask bench".to_owned(), what.name()];
    let command = words.iter().chain(rest).cloned().collect::<Vec<_>>().join(" ");
    let Results { mut conditions, figures, not_measured } = results;
    conditions.extend(commit().map(|commit| ("commit".to_owned(), commit)));
    let record = Record { command, date: today()?, machine, conditions, figures, not_measured };
    let path = path(what);
    std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    std::fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")?;
    Ok(())
}

/// The recorded measurement, if there is one.
pub(crate) fn read(what: What) -> Result<Option<Record>> {
    let path = path(what);
    if !path.is_file() {
        return Ok(None);
    }
    let record = serde_json::from_str(&std::fs::read_to_string(&path)?);
    record.map(Some).with_context(|| format!("{} is not a record", path.display()))
}

fn path(what: What) -> PathBuf {
    workspace_root().join(format!("docs/benchmarks/{}.json", what.name()))
}

/// The day, `YYYY-MM-DD`.
pub(crate) fn today() -> Result<String> {
    let output = Command::new("date").args(["--utc", "+%Y-%m-%d"]).output().context("cannot start date")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The measured version of this repository; `None` outside a clone.
fn commit() -> Option<String> {
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Machine {
    /// This machine as it is now: call it right before a measurement.
    pub(crate) fn this() -> Result<Machine> {
        let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
        let setting = |name: &str| -> Result<String> {
            let value = read(&format!("/proc/sys/{}", name.replace('.', "/")))?;
            Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let cpu = read("/proc/cpuinfo")?;
        let field = |name: &str| {
            let line = cpu.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.trim_start_matches([' ', '\t', ':']).to_owned()
        };
        let flags = field("flags") + &field("Features");
        let vectors = VECTORS.into_iter().filter(|name| flags.split_whitespace().any(|flag| flag == *name));
        let load = read("/proc/loadavg")?;
        Ok(Machine {
            cpu: field("model name"),
            cores: std::thread::available_parallelism()?.get(),
            // Without the suffix of its builder.
            kernel: setting("kernel.osrelease")?.split('-').next().unwrap_or_default().to_owned(),
            congestion_control: setting("net.ipv4.tcp_congestion_control")?,
            vectors: Some(vectors.collect::<Vec<_>>().join(" ")),
            sysctls: SYSCTLS
                .into_iter()
                .map(|name| Ok((name.to_owned(), setting(name)?)))
                .collect::<Result<_>>()?,
            load: Some(load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")),
        })
    }

    /// Its conditions that depend on settings and on time, by name.
    pub(crate) fn conditions(&self) -> BTreeMap<&'static str, String> {
        let sysctls: Vec<String> =
            self.sysctls.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let known = [
            ("sysctls", (!sysctls.is_empty()).then(|| sysctls.join(", "))),
            ("load before the run", self.load.clone()),
            ("vector instructions", self.vectors.clone()),
        ];
        known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
