//! What a measurement gave: figures, what could not be measured and why, and the conditions.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Error, Result, ensure};
use serde_json::{Value, json};

use crate::figures::{median, spread, table};

/// Every case of a subject.
pub(crate) const ALL: &str = "everything";

/// Characters of a recorded reason; all of it is printed when it occurs.
const REASON: usize = 200;

/// A case and what is measured in it, such as `one stream up` and `Gbit/s`.
type Metric = (String, String);

/// The results of one measurement, by subject: a program, or a way of working.
#[derive(Default)]
pub(crate) struct Sheet {
    figures: BTreeMap<String, BTreeMap<Metric, Vec<f64>>>,
    missing: Vec<Missing>,
    conditions: BTreeMap<String, String>,
}

/// A case that failed.
struct Missing {
    subject: String,
    case: String,
    reason: String,
}

/// Figures of one case, by unit.
pub(crate) type Figures = Vec<(&'static str, f64)>;

impl Sheet {
    /// Measures one case. An error is recorded, and ends no more than this case.
    pub(crate) fn case(&mut self, subject: &str, case: &str, work: impl FnOnce() -> Result<Figures>) {
        if let Some(figures) = self.contain(subject, case, work()) {
            for (unit, value) in figures {
                self.note(subject, case, unit, value);
            }
        }
    }

    /// The outcome of a case, or of [`ALL`] cases of a subject. An error is recorded.
    pub(crate) fn contain<T>(&mut self, subject: &str, case: &str, outcome: Result<T>) -> Option<T> {
        let error = match outcome {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        eprintln!("  {subject}, {case}: NOT MEASURED: {error:#}");
        let reason = reason(&error);
        self.missing.push(Missing { subject: subject.to_owned(), case: case.to_owned(), reason });
        None
    }

    /// Adds a figure of one run.
    pub(crate) fn note(&mut self, subject: &str, case: &str, unit: &str, value: f64) {
        let metrics = self.figures.entry(subject.to_owned()).or_default();
        metrics.entry((case.to_owned(), unit.to_owned())).or_default().push(value);
    }

    /// Records under which condition everything was measured.
    pub(crate) fn condition(&mut self, name: &str, value: impl Into<String>) {
        self.conditions.insert(name.to_owned(), value.into());
    }

    /// The median of a figure. A case that failed in any run has none.
    pub(crate) fn of(&self, subject: &str, case: &str, unit: &str) -> Option<f64> {
        let key = (case.to_owned(), unit.to_owned());
        median(self.complete(subject).find(|(metric, _)| **metric == key)?.1.iter().copied())
    }

    /// Medians of one figure by subject, except the `other` one.
    pub(crate) fn others(&self, other: &str, case: &str, unit: &str) -> Vec<f64> {
        let subjects = self.figures.keys().filter(|subject| *subject != other);
        subjects.filter_map(|subject| self.of(subject, case, unit)).collect()
    }

    /// Subjects that have figures.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &str> {
        self.figures.keys().map(String::as_str)
    }

    /// Cases of a subject that have figures, or failed.
    pub(crate) fn cases(&self, subject: &str) -> BTreeSet<String> {
        let known = self.figures.get(subject).into_iter().flat_map(BTreeMap::keys).map(|(case, _)| case);
        let failed = self.missing.iter().filter(|one| one.subject == subject).map(|one| &one.case);
        known.chain(failed).filter(|case| *case != ALL).cloned().collect()
    }

    /// The figures of a subject without those of failed cases.
    fn complete<'a>(&'a self, subject: &'a str) -> impl Iterator<Item = (&'a Metric, &'a Vec<f64>)> {
        let failed = move |case: &str| {
            let mut missing = self.missing.iter().filter(|one| one.subject == subject);
            missing.any(|one| one.case == case || one.case == ALL)
        };
        self.figures.get(subject).into_iter().flatten().filter(move |((case, _), _)| !failed(case))
    }

    /// Prints medians with the smallest and the largest run, and what was not measured.
    pub(crate) fn print(&self) {
        let subjects: BTreeSet<&str> = self
            .figures
            .keys()
            .map(String::as_str)
            .chain(self.missing.iter().map(|one| one.subject.as_str()))
            .collect();
        let metrics: BTreeSet<&Metric> = self.figures.values().flat_map(BTreeMap::keys).collect();
        let cell = |subject: &str, metric: &Metric| {
            let found = self.complete(subject).find(|(known, _)| *known == metric);
            found.and_then(|(_, runs)| spread(runs)).unwrap_or_else(|| "NOT MEASURED".to_owned())
        };
        let rows: Vec<Vec<String>> = metrics
            .into_iter()
            .map(|metric| {
                let cells = subjects.iter().map(|subject| cell(subject, metric));
                std::iter::once(name(metric)).chain(cells).collect()
            })
            .collect();
        println!("\nMedians; smallest and largest run in brackets\n");
        table(&[&["metric"][..], &subjects.into_iter().collect::<Vec<_>>()].concat(), &rows);
        println!();
        for (name, value) in &self.conditions {
            println!("{name}: {value}");
        }
        for Missing { subject, case, reason } in &self.missing {
            println!("NOT MEASURED: {subject}, {case}: {reason}");
        }
    }

    /// The results as `cargo xtask bench --record` stores them.
    pub(crate) fn json(&self) -> Value {
        let figures: BTreeMap<&String, BTreeMap<String, &Vec<f64>>> = self
            .figures
            .keys()
            .map(|subject| (subject, self.complete(subject).map(|(key, runs)| (name(key), runs)).collect()))
            .collect();
        let missing: Vec<Value> = self
            .missing
            .iter()
            .map(|one| json!({ "subject": one.subject, "case": one.case, "reason": one.reason }))
            .collect();
        json!({ "conditions": self.conditions, "figures": figures, "not_measured": missing })
    }

    /// # Errors
    /// A case was not measured.
    pub(crate) fn finish(&self) -> Result<()> {
        ensure!(self.missing.is_empty(), "{} cases were not measured", self.missing.len());
        Ok(())
    }
}

/// An error in one line, without the logs that it has as context.
pub(crate) fn reason(error: &Error) -> String {
    let links: Vec<String> = error.chain().map(|link| link.to_string().trim().to_owned()).collect();
    let short: Vec<&str> = links.iter().map(String::as_str).filter(|link| !link.contains('\n')).collect();
    let text = if short.is_empty() { links.join(": ") } else { short.join(": ") };
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(REASON).collect()
}

fn name((case, unit): &Metric) -> String {
    if unit.is_empty() { case.clone() } else { format!("{case}, {unit}") }
}

/// All subjects, in another order in each run, counted from 1: none always comes first.
pub(crate) fn rotated<T>(subjects: &[T], run: usize) -> impl Iterator<Item = &T> {
    let first = run.saturating_sub(1) % subjects.len().max(1);
    subjects.iter().cycle().skip(first).take(subjects.len())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_failed_case_hides_neither_its_reason_nor_later_cases() {
        let mut sheet = Sheet::default();
        for case in ["up", "UDP", "down"] {
            sheet.case("ours", case, || match case {
                "UDP" => bail!("planted,\n  twice"),
                _ => Ok(vec![("Gbit/s", 1.0)]),
            });
        }
        assert_eq!(sheet.of("ours", "up", "Gbit/s"), Some(1.0));
        assert_eq!(sheet.of("ours", "down", "Gbit/s"), Some(1.0));
        assert_eq!(sheet.of("ours", "UDP", "Gbit/s"), None);
        let json = sheet.json();
        let missing = json!([{ "subject": "ours", "case": "UDP", "reason": "planted, twice" }]);
        assert_eq!(json["not_measured"], missing);
        sheet.finish().unwrap_err();
    }

    #[test]
    fn a_case_that_failed_in_one_run_has_no_figure() {
        let mut sheet = Sheet::default();
        for run in 0..3 {
            sheet.case("ours", "up", || if run == 1 { bail!("planted") } else { Ok(vec![("Gbit/s", 9.0)]) });
            sheet.case("ours", "up, no wire offload", || Ok(vec![("Gbit/s", 1.0)]));
        }
        assert_eq!(sheet.of("ours", "up", "Gbit/s"), None);
        assert_eq!(
            sheet.json()["figures"]["ours"],
            json!({ "up, no wire offload, Gbit/s": [1.0, 1.0, 1.0] })
        );
    }

    #[test]
    fn a_subject_that_did_not_start_has_no_figures_and_others_have() {
        let mut sheet = Sheet::default();
        sheet.note("peer", "up", "Gbit/s", 9.0);
        sheet.note("ours", "up", "Gbit/s", 1.0);
        sheet.contain::<()>("peer", ALL, Err(anyhow::anyhow!("planted")));
        assert_eq!(sheet.of("peer", "up", "Gbit/s"), None);
        assert_eq!(sheet.of("ours", "up", "Gbit/s"), Some(1.0));
    }

    #[test]
    fn the_reason_is_not_buried_in_a_log() {
        let error = anyhow::anyhow!("exit status: 3").context("no device within 10s");
        assert_eq!(
            reason(&error.context("its log:\nfirst line\nsecond line")),
            "no device within 10s: exit status: 3"
        );
        assert_eq!(reason(&anyhow::anyhow!("{{\n  \"a\"  }}")), "{ \"a\" }");
        assert_eq!(reason(&anyhow::anyhow!("x".repeat(900))).len(), REASON);
    }

    #[test]
    fn a_complete_sheet_is_no_error() {
        let mut sheet = Sheet::default();
        sheet.note("ours", "up", "Gbit/s", 1.0);
        sheet.finish().unwrap();
    }

    #[test]
    fn each_subject_is_first_in_turn() {
        let order = |run| rotated(&["a", "b", "c"], run).copied().collect::<String>();
        assert_eq!([1, 2, 3, 4].map(order), ["abc", "bca", "cab", "abc"]);
        assert_eq!(rotated::<u8>(&[], 2).count(), 0);
    }
}
