//! Recorded results: `docs/kill-points/EXAMPLE.json`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
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
    /// What an undisturbed apply and destroy do.
    pub(super) apply: Undisturbed,
    pub(super) destroy: Undisturbed,
    /// Kill points after which everything converged.
    pub(super) survived: usize,
    /// Kill points that were not reached, because the run did less after them.
    pub(super) missed: usize,
    /// The number of the first kill point that was not tried yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<usize>,
}

/// A run that nobody disturbs.
#[derive(Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Undisturbed {
    /// API calls in all clouds.
    pub(super) calls: usize,
    /// Those that change something.
    pub(super) writes: usize,
    /// Changes of Terraform's state with calls after them.
    pub(super) recorded: usize,
}

impl Undisturbed {
    fn of(report: &KillReport, of: Moment) -> Undisturbed {
        let recorded = report.recorded.get(&of).copied().unwrap_or_default();
        let clouds = report.calls.iter().filter(|((moment, _), _)| *moment == of);
        clouds.fold(Undisturbed { recorded, ..Undisturbed::default() }, |sum, (_, calls)| Undisturbed {
            calls: sum.calls + calls.all,
            writes: sum.writes + calls.writes,
            ..sum
        })
    }

    /// The number of its kill points.
    pub(super) fn points(&self) -> usize {
        1 + self.writes + self.recorded
    }
}

/// The record of an example that a run can continue.
pub(super) fn begun(example: Example) -> Result<Option<Record>> {
    Ok(read(example)?.filter(|record| record.next.is_some()))
}

/// Stores the result of an example, together with what `begun` has.
pub(super) fn keep(example: Example, begun: Option<Record>, report: &KillReport) -> Result<()> {
    let path = path(example);
    let [apply, destroy] = [Moment::Apply, Moment::Destroy].map(|moment| Undisturbed::of(report, moment));
    let (mut survived, mut missed) = (report.survived, report.missed);
    if let Some(begun) = begun {
        // How many changes are followed by calls depends a little on time; the page counts what was not tried.
        let writes = |of: [&Undisturbed; 2]| of.map(|run| (run.calls, run.writes));
        ensure!(
            writes([&begun.apply, &begun.destroy]) == writes([&apply, &destroy]),
            "{} counts other calls, so it cannot be continued; delete it to start again",
            path.display()
        );
        survived += begun.survived;
        missed += begun.missed;
    }
    let record = Record { date: today()?, apply, destroy, survived, missed, next: report.next };
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
