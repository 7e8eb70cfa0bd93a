//! Recorded measurements: `docs/benchmarks/NAME.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// The figures.
    pub(crate) figures: Figures,
}

/// The machine that measured.
#[derive(Deserialize, Serialize)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    /// Congestion control of new TCP connections, where a measurement does not set another.
    congestion_control: String,
}

/// Stores figures.
pub(crate) fn keep(what: What, rest: &[String], figures: Value) -> Result<()> {
    let words = ["cargo xtask bench".to_owned(), what.name()];
    let record = Record {
        command: words.iter().chain(rest).cloned().collect::<Vec<_>>().join(" "),
        date: today()?,
        machine: Machine::this()?,
        figures: serde_json::from_value(figures).context("figures of an unknown shape")?,
    };
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

impl Machine {
    fn this() -> Result<Machine> {
        let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
        let cpu = read("/proc/cpuinfo")?;
        let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        Ok(Machine {
            cpu: model.trim_start_matches([' ', '\t', ':']).to_owned(),
            cores: std::thread::available_parallelism()?.get(),
            // Without the suffix of its builder.
            kernel: read("/proc/sys/kernel/osrelease")?
                .trim()
                .split('-')
                .next()
                .unwrap_or_default()
                .to_owned(),
            congestion_control: read("/proc/sys/net/ipv4/tcp_congestion_control")?.trim().to_owned(),
        })
    }
}
