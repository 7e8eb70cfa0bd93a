//! `docs/kill-points.md`, written from the recorded results.

use anyhow::Result;
use clap::ValueEnum as _;
use serde::Serialize;

use super::Example;
use super::record::{self, Record};
use crate::docs::output::Output;
use crate::docs::templates::Templates;

/// A row of the table.
#[derive(Serialize)]
struct Row {
    example: String,
    calls: String,
    writes: String,
    recorded: String,
    points: String,
    result: String,
}

/// Adds the page.
pub(crate) fn pages(output: &mut Output) -> Result<()> {
    let rows = Example::value_variants().iter().map(|example| row(*example));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let page = Templates::new()?.render("kill-points.md", &serde_json::json!({ "rows": rows }))?;
    output.file("docs/kill-points.md", page);
    Ok(())
}

/// Writes the page.
pub(super) fn draw() -> Result<()> {
    let mut output = Output::default();
    pages(&mut output)?;
    output.finish(false, true)
}

fn row(example: Example) -> Result<Row> {
    let none = || "-".to_owned();
    Ok(match record::read(example)? {
        Some(record) => Row {
            example: example.name(),
            calls: format!("{}, {}", record.apply.calls, record.destroy.calls),
            writes: format!("{}, {}", record.apply.writes, record.destroy.writes),
            recorded: format!("{}, {}", record.apply.recorded, record.destroy.recorded),
            points: total(&record).to_string(),
            result: result(&record),
        },
        None => Row {
            example: example.name(),
            calls: none(),
            writes: none(),
            recorded: none(),
            points: none(),
            result: "not recorded".to_owned(),
        },
    })
}

/// The number of kill points of both runs.
fn total(record: &Record) -> usize {
    record.apply.points() + record.destroy.points()
}

fn result(record: &Record) -> String {
    let Record { survived, missed, date, .. } = record;
    let untried = total(record).saturating_sub(survived + missed);
    let parts = [
        Some(format!("{survived} survived")),
        (*missed > 0).then(|| format!("{missed} not reached")),
        (untried > 0).then(|| format!("{untried} not tried")),
    ];
    format!("{}, {date}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::record::Undisturbed;
    use super::*;

    #[test]
    fn a_sample_is_not_shown_as_all() {
        let run = || Undisturbed { calls: 30, writes: 8, recorded: 4 };
        let record = |survived, missed| Record {
            date: "2026-01-02".to_owned(),
            apply: run(),
            destroy: run(),
            survived,
            missed,
            next: None,
        };
        assert_eq!(total(&record(26, 0)), 26);
        assert_eq!(result(&record(26, 0)), "26 survived, 2026-01-02");
        assert_eq!(result(&record(20, 1)), "20 survived, 1 not reached, 5 not tried, 2026-01-02");
    }
}
