//! Findings and the report.

use crate::{Known, Lines, Rule};
use serde::Serialize;
use std::collections::BTreeMap;
use warren_cidr::{CidrError, IpNet};
use warren_model::{Attachment, How, Site};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cloud rejects it, or routing breaks.
    Error,
    /// It works, but something else may not.
    Warning,
}

/// One of the ranges that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Side {
    /// Resource address or path of the entry.
    pub name: String,
    /// The repo or team that manages it.
    pub owner: String,
    /// The range. `None` if the value is not a valid range, or if the finding is not about a range.
    pub net: Option<IpNet>,
    /// Where the range is defined.
    #[serde(flatten)]
    pub site: Site,
}

/// One finding. Reports are sorted by these fields, in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The ranges, the one that is easier to move first.
    pub sides: Vec<Side>,
    /// One sentence without a final period.
    pub message: String,
    /// Explanation, one or more lines. Empty if the message needs none.
    pub detail: String,
    /// One thing to do.
    pub hint: Option<String>,
}

/// How many subnets were attached to a network, and which were not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Subnets {
    /// Number of subnets in Terraform plans and states.
    pub total: usize,
    /// Number of those whose network was found.
    pub attached: usize,
    /// Subnets whose network was inferred, because neither an ID nor a reference in the file names it.
    pub inferred: Vec<Attachment>,
    /// Subnets whose network was not found. They are not compared with networks of the same owner.
    pub unattached: Vec<Attachment>,
}

impl Subnets {
    pub(crate) fn new(attachments: &[Attachment]) -> Self {
        // A plan and the state of the same run contain a subnet twice.
        let mut best: BTreeMap<(&str, &str), &Attachment> = BTreeMap::new();
        for attachment in attachments {
            let slot = best.entry((&attachment.file, &attachment.subnet)).or_insert(attachment);
            if slot.how.is_none() {
                *slot = attachment;
            }
        }
        let listed = |wanted: fn(&Attachment) -> bool| {
            best.values().copied().filter(|it| wanted(it)).cloned().collect::<Vec<_>>()
        };
        let unattached = listed(|it| it.how.is_none());
        Self {
            total: best.len(),
            attached: best.len() - unattached.len(),
            inferred: listed(|it| it.how.is_some_and(|how| !matches!(how, How::Id | How::Reference))),
            unattached,
        }
    }

    /// One sentence about the subnets without a network, if any.
    pub(crate) fn note(&self) -> Option<String> {
        const NAMED: usize = 5;
        let names = self.unattached.iter().map(|it| it.subnet.as_str()).take(NAMED).collect::<Vec<_>>();
        let more = self.unattached.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| {
            format!(
                "{} of {} subnets attached to a network; the plan does not show the network of {}{more}",
                self.attached,
                self.total,
                names.join(", "),
            )
        })
    }
}

/// Numbers of findings that are counted but not held.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unlisted {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Version of this format: 1.
    pub version: u32,
    /// Number of errors, including those that are not listed.
    pub errors: usize,
    /// Number of warnings, including those that are not listed.
    pub warnings: usize,
    /// Number of findings that are not listed because they exceed the requested maximum.
    pub omitted: usize,
    /// Number of files that were read.
    pub files: usize,
    /// Number of ranges that were compared.
    pub ranges: usize,
    /// The subnets, and whether their networks were found.
    pub subnets: Subnets,
    /// Ranges that are known only after apply and were not checked: resource address and attribute.
    pub unknown: Vec<String>,
    /// The findings, in a fixed order. The JSON report writes them last, because there may be more than memory holds.
    #[serde(skip_serializing)]
    pub findings: Vec<Finding>,
    /// Number of findings that are hidden and not counted, because a baseline lists them.
    pub known: usize,
    /// Number of findings that are hidden and not counted, because an exception covers them.
    pub ignored: usize,
    /// Findings of the baseline that no longer occur.
    pub fixed: Vec<Known>,
    /// Notes for the reader, such as the number of ranges known only after apply.
    pub notes: Vec<String>,
    /// Number of findings that are written after `findings`, from the pages of [`crate::check_all`].
    #[serde(skip_serializing)]
    pub later: usize,
    /// Where configurations define the resources. Text, SARIF and GitLab reports name these lines.
    #[serde(skip_serializing)]
    pub lines: Lines,
}

impl Report {
    /// Sorts the findings and keeps up to `limit`. `unlisted` are counted elsewhere.
    pub(crate) fn new(
        mut findings: Vec<Finding>,
        unlisted: Unlisted,
        limit: usize,
        files: usize,
        ranges: usize,
        notes: Vec<String>,
    ) -> Self {
        findings.sort();
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) =
            (count(Severity::Error) + unlisted.errors, count(Severity::Warning) + unlisted.warnings);
        findings.truncate(limit);
        let omitted = errors + warnings - findings.len();
        Self {
            version: 1,
            errors,
            warnings,
            omitted,
            files,
            ranges,
            subnets: Subnets::default(),
            unknown: Vec::new(),
            findings,
            known: 0,
            ignored: 0,
            fixed: Vec::new(),
            notes,
            later: 0,
            lines: Lines::default(),
        }
    }

    /// One sentence about the findings that are not listed, if any.
    pub(crate) fn left_out(&self) -> Option<String> {
        let all = self.errors + self.warnings;
        (self.omitted > 0).then(|| {
            let listed = self.findings.len() + self.later;
            let hint = if self.later > 0 { "" } else { "; use `--max-findings 0` to list all" };
            format!("{listed} of {all} findings are listed{hint}")
        })
    }
}

pub(crate) fn defect(owner: &str, site: &Site, error: &CidrError) -> Finding {
    let (rule, hint) = match error {
        CidrError::HostBits { meant, .. } => (Rule::HostBits, Some(format!("write {meant}"))),
        _ => (Rule::BadCidr, None),
    };
    let (owner, name) = (owner.to_owned(), site.path.clone());
    let sides = vec![Side { name, owner, net: None, site: site.clone() }];
    let message = error.to_string();
    Finding { severity: Severity::Error, rule, sides, message, detail: String::new(), hint }
}
