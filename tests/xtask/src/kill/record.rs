//! Recorded results: `docs/kill-points/EXAMPLE.json`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use warren_acceptance::{KillReport, Moment};
use warren_harness::workspace_root;

use super::Example;
use crate::bench::record::today;

/// The result of an example.
#[derive(Deserialize, Serialize)]
pub(super) struct Record {
    /// Day of the run, `YYYY-MM-DD`.
    pub(super) date: String,
    /// API calls of an undisturbed apply and destroy.
    pub(super) apply: Calls,
    pub(super) destroy: Calls,
    /// Kill points after which everything converged.
    pub(super) survived: usize,
    /// Kill points that came to nothing, because the run made fewer calls.
    pub(super) missed: usize,
}

/// API calls in all clouds.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Calls {
    pub(super) all: usize,
    pub(super) writes: usize,
}

impl Calls {
    fn of(report: &KillReport, of: Moment) -> Calls {
        let clouds = report.calls.iter().filter(|((moment, _), _)| *moment == of);
        clouds.fold(Calls::default(), |sum, (_, calls)| Calls {
            all: sum.all + calls.all,
            writes: sum.writes + calls.writes,
        })
    }
}

/// Stores the result of an example.
pub(super) fn keep(example: Example, report: &KillReport) -> Result<()> {
    let record = Record {
        date: today()?,
        apply: Calls::of(report, Moment::Apply),
        destroy: Calls::of(report, Moment::Destroy),
        survived: report.survived,
        missed: report.missed,
    };
    let path = path(example);
    std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    std::fs::write(&path, serde_json::to_string_pretty(&record)? + "\n")?;
    Ok(())
}

/// The recorded result of an example, if there is one.
pub(super) fn read(example: Example) -> Result<Option<Record>> {
    let path = path(example);
    if !path.is_file() {
        return Ok(None);
    }
    let record = serde_json::from_str(&std::fs::read_to_string(&path)?);
    record.map(Some).with_context(|| format!("{} is not a record", path.display()))
}

fn path(example: Example) -> PathBuf {
    workspace_root().join(format!("docs/kill-points/{}.json", example.name()))
}
