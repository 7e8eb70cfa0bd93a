//! What the check found.

use crate::Rule;
use serde::Serialize;
use warren_cidr::IpNet;
use warren_model::Site;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cloud refuses it, or routing breaks.
    Error,
    /// It works, but something else may not.
    Warning,
}

/// One of the ranges that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Side {
    /// Resource address or path of the entry.
    pub name: String,
    /// Who manages it.
    pub owner: String,
    /// The range; none where the text is no range or the place of it is the finding.
    pub net: Option<IpNet>,
    /// Where it was written.
    #[serde(flatten)]
    pub site: Site,
}

/// One finding. The order of fields is the order of reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The ranges: first the one that is easier to move.
    pub sides: Vec<Side>,
    /// One sentence without a full stop.
    pub message: String,
    /// Explanation, some lines; empty if the message says it all.
    pub detail: String,
    /// One thing to do.
    pub hint: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Version of this format: 1.
    pub version: u32,
    /// Findings of severity error, those that are not listed too.
    pub errors: usize,
    /// Findings of severity warning, those that are not listed too.
    pub warnings: usize,
    /// Findings that are counted and not listed, because there are more than were asked for.
    pub omitted: usize,
    /// Inputs that were read.
    pub files: usize,
    /// Ranges that were compared.
    pub ranges: usize,
    /// The findings, in a fixed order.
    pub findings: Vec<Finding>,
    /// What the reader should know: ranges known only after apply.
    pub notes: Vec<String>,
}

impl Report {
    /// Sorts and lists up to `limit` of the findings; `unlisted` errors were counted elsewhere.
    pub(crate) fn new(
        mut findings: Vec<Finding>,
        unlisted: usize,
        limit: usize,
        files: usize,
        ranges: usize,
        notes: Vec<String>,
    ) -> Self {
        findings.sort();
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error) + unlisted, count(Severity::Warning));
        findings.truncate(limit);
        let omitted = errors + warnings - findings.len();
        Self { version: 1, errors, warnings, omitted, files, ranges, findings, notes }
    }

    /// One sentence about the findings that are not listed, if there are any.
    pub(crate) fn left_out(&self) -> Option<String> {
        let all = self.errors + self.warnings;
        (self.omitted > 0).then(|| {
            let listed = self.findings.len();
            format!("{listed} of {all} findings are listed; warren check --max-findings 0 lists all")
        })
    }
}
