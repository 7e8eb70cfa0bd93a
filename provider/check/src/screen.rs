//! Hides the findings that a team already knows, before they are counted.

use crate::baseline::{Baseline, Known};
use crate::fingerprint::Fingerprints;
use crate::{Day, Exception, Finding, Report};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What to hide from a report.
#[derive(Debug, Default)]
pub struct Screen {
    mode: Mode,
    /// Exceptions, and whether each applies.
    exceptions: Vec<(Exception, bool)>,
    state: RefCell<State>,
}

#[derive(Debug, Clone, Default)]
enum Mode {
    #[default]
    Report,
    /// Hides the findings of a baseline.
    Compare(Baseline),
    /// Hides all findings and records them.
    Record,
}

#[derive(Debug, Default)]
struct State {
    /// Of the current list.
    prints: Fingerprints,
    /// Recorded findings, or those of the baseline that occurred.
    found: BTreeMap<String, Known>,
    /// Number of known findings.
    known: usize,
    /// Number of findings that an exception covers.
    ignored: usize,
    /// Indices of the exceptions that cover a finding, also if they no longer apply.
    used: BTreeSet<usize>,
}

impl Screen {
    /// Hides the findings of a baseline.
    pub fn compare(baseline: Baseline) -> Self {
        Self { mode: Mode::Compare(baseline), ..Self::default() }
    }

    /// Hides all findings and records them as a [`Screen::baseline`].
    pub fn record() -> Self {
        Self { mode: Mode::Record, ..Self::default() }
    }

    /// Hides the findings of exceptions, too, unless they expired before `today`.
    pub fn with_exceptions(mut self, exceptions: Vec<Exception>, today: Day) -> Self {
        self.exceptions = exceptions
            .into_iter()
            .map(|exception| {
                let applies = !exception.is_expired(today);
                (exception, applies)
            })
            .collect();
        self
    }

    /// The recorded findings.
    pub fn baseline(&self) -> Baseline {
        Baseline { known: self.state.borrow().found.clone() }
    }

    /// Adds the numbers of hidden findings to the report, the entries of the baseline that no longer occur, and notes about
    /// exceptions that expired or cover nothing.
    pub fn finish(&self, report: &mut Report) {
        let state = self.state.borrow();
        report.known = state.known;
        report.ignored = state.ignored;
        if let Mode::Compare(baseline) = &self.mode {
            let gone = baseline.known.iter().filter(|(print, _)| !state.found.contains_key(*print));
            report.fixed = gone.map(|(_, known)| known.clone()).collect();
            report.fixed.sort();
        }
        if state.ignored > 0 {
            let findings = if state.ignored == 1 { "finding" } else { "findings" };
            report.notes.push(format!("{} {findings} hidden by exceptions", state.ignored));
        }
        for (index, (exception, applies)) in self.exceptions.iter().enumerate() {
            if !state.used.contains(&index) {
                report.notes.push(format!("the exception {exception} matches no finding; remove it"));
            } else if let Some((year, month, day)) = exception.until.filter(|_| !applies) {
                let reason =
                    exception.reason.as_ref().map_or_else(String::new, |why| format!(" (reason: {why})"));
                report.notes.push(format!(
                    "the exception {exception} expired after {year}-{month:02}-{day:02} and no longer applies{reason}"
                ));
            }
        }
    }

    /// Whether it may hide findings.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.mode, Mode::Report) || !self.exceptions.is_empty()
    }

    /// The same screen for a second look at the findings, whose numbers are not counted again.
    pub(crate) fn again(&self) -> Self {
        Self { mode: self.mode.clone(), exceptions: self.exceptions.clone(), state: RefCell::default() }
    }

    /// Starts a new list of findings: equal fingerprints are numbered within one list.
    pub(crate) fn start(&self) {
        self.state.borrow_mut().prints = Fingerprints::default();
    }

    /// Whether the report has the finding.
    pub(crate) fn keeps(&self, finding: &Finding) -> bool {
        if !self.is_active() {
            return true;
        }
        let state = &mut *self.state.borrow_mut();
        let mut ignored = false;
        for (index, (exception, applies)) in self.exceptions.iter().enumerate() {
            if exception.covers(finding) {
                state.used.insert(index);
                ignored |= applies;
            }
        }
        if ignored {
            state.ignored += 1;
            return false;
        }
        let print = state.prints.next(finding);
        let known = match &self.mode {
            Mode::Report => None,
            Mode::Compare(baseline) => baseline.known.get(&print).cloned(),
            Mode::Record => Some(Known::new(finding, print.clone())),
        };
        let Some(known) = known else { return true };
        state.found.insert(print, known);
        state.known += 1;
        false
    }
}
