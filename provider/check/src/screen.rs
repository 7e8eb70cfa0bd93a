//! Hides the findings that a team already knows, before they are counted.

use crate::baseline::{Baseline, Known};
use crate::fingerprint::fingerprint;
use crate::{Finding, Report};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What to hide from a report.
#[derive(Debug, Default)]
pub struct Screen {
    mode: Mode,
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
    /// Number of findings with each fingerprint.
    seen: BTreeMap<String, usize>,
    /// Recorded findings, or those of the baseline that occurred.
    found: BTreeMap<String, Known>,
    /// Number of hidden findings.
    hidden: usize,
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

    /// The recorded findings.
    pub fn baseline(&self) -> Baseline {
        Baseline { known: self.state.borrow().found.clone() }
    }

    /// Adds the number of hidden findings to the report, and the entries of the baseline that no longer occur.
    pub fn finish(&self, report: &mut Report) {
        let state = self.state.borrow();
        report.known = state.hidden;
        if let Mode::Compare(baseline) = &self.mode {
            let gone = baseline.known.iter().filter(|(print, _)| !state.found.contains_key(*print));
            report.fixed = gone.map(|(_, known)| known.clone()).collect();
            report.fixed.sort();
        }
    }

    /// Whether it may hide findings.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.mode, Mode::Report)
    }

    /// The same screen for a second look at the findings, whose numbers are not counted again.
    pub(crate) fn again(&self) -> Self {
        Self { mode: self.mode.clone(), state: RefCell::default() }
    }

    /// Starts a new list of findings: equal fingerprints are numbered within one list.
    pub(crate) fn start(&self) {
        self.state.borrow_mut().seen.clear();
    }

    /// Whether the report has the finding.
    pub(crate) fn keeps(&self, finding: &Finding) -> bool {
        if !self.is_active() {
            return true;
        }
        let state = &mut *self.state.borrow_mut();
        let mut print = fingerprint(finding);
        let count = state.seen.entry(print.clone()).or_default();
        *count += 1;
        if *count > 1 {
            print = format!("{print}-{count}");
        }
        let known = match &self.mode {
            Mode::Report => None,
            Mode::Compare(baseline) => baseline.known.get(&print).cloned(),
            Mode::Record => Some(Known::new(finding, print.clone())),
        };
        let Some(known) = known else { return true };
        state.found.insert(print, known);
        state.hidden += 1;
        false
    }
}
