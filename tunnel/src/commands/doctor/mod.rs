//! `doctor`: checks this machine and reports what a tunnel would use, what is missing and how to fix it.

mod checks;
mod names;
mod pod;
mod token;

use std::{fmt::Write as _, path::Path};

use serde::Serialize;
use warren_wire::config::Config;

use crate::{
    agent,
    cli::DoctorArgs,
    commands::print,
    enrolment,
    runtime::problem::{Problem, Result},
};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No problem.
    Ok,
    /// A tunnel works without it, but slower or with fewer features.
    Limited,
    /// A tunnel does not work without it.
    Missing,
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// The result.
    #[serde(rename = "verdict")]
    pub outcome: Outcome,
    /// What was found.
    pub seen: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// All findings, and the conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The findings, in the order of the text.
    pub findings: Vec<Finding>,
    /// `kernel`, `tun` or `user`; `None` if no tunnel can run.
    pub backend: Option<&'static str>,
    /// The reason for the backend.
    pub because: String,
}

impl Finding {
    pub(crate) fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Ok, seen: seen.into(), hint: None }
    }

    pub(crate) fn limited(check: &'static str, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Limited, seen: seen.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn missing(check: &'static str, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, outcome: Outcome::Missing, seen: seen.into(), hint: Some(hint.into()) }
    }
}

impl Report {
    /// 0: no problems, 1: a tunnel works with limitations, 2: a tunnel cannot run.
    pub fn exit_code(&self) -> u8 {
        if self.backend.is_none() {
            return 2;
        }
        match self.findings.iter().map(|finding| finding.outcome).max() {
            None | Some(Outcome::Ok) => 0,
            Some(Outcome::Limited) => 1,
            Some(Outcome::Missing) => 2,
        }
    }

    /// Problems that may keep peers from answering.
    pub fn troubles(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.outcome != Outcome::Ok && finding.check != checks::PRIVILEGES)
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let mark = match finding.outcome {
                Outcome::Ok => "ok      ",
                Outcome::Limited => "limited ",
                Outcome::Missing => "missing ",
            };
            _ = writeln!(out, "{mark} {:<18} {}", finding.check, finding.seen);
            if let Some(hint) = &finding.hint {
                _ = writeln!(out, "{:28}hint: {hint}", "");
            }
        }
        _ = match self.backend {
            Some(backend) => {
                writeln!(out, "\nA tunnel on this machine would use `{backend}`: {}.", self.because)
            }
            None => writeln!(out, "\nA tunnel cannot run on this machine: {}.", self.because),
        };
        let problems = self.findings.iter().filter(|finding| finding.outcome != Outcome::Ok).count();
        if self.backend.is_some() {
            _ = match (self.exit_code(), problems) {
                (0, _) => writeln!(out, "No problems found."),
                (1, 1) => writeln!(out, "It works with 1 limitation: see the hint above."),
                (1, n) => writeln!(out, "It works with {n} limitations: see the hints above."),
                _ => writeln!(
                    out,
                    "It does not work until the checks marked `missing` are fixed: see the hints above."
                ),
            };
        }
        out
    }
}

/// Checks this machine.
pub fn examine(config: Option<&Config>) -> Report {
    checks::examine(config)
}

/// Reads a configuration file.
///
/// # Errors
/// When it cannot be read or is invalid.
pub(super) fn config(path: &Path) -> Result<Config> {
    let text = std::fs::read_to_string(path).map(zeroize::Zeroizing::new);
    let text = text.map_err(|error| {
        Problem::new(format!("cannot read configuration {}: {error}", path.display()))
            .hint("check the path given with --config, or run as a user who may read the file")
    })?;
    Config::parse(&text).map_err(|error| {
        Problem::new(format!("{}:{}:{}: {}", path.display(), error.line, error.column, error.what))
            .hint(error.hint)
    })
}

/// Checks, prints the report, and returns the exit code.
///
/// # Errors
/// When the given configuration cannot be read.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    let config = args.config.as_deref().map(config).transpose()?;
    let mut report = checks::examine(config.as_ref());
    report.findings.extend(names::examine());
    if let Some(token) = agent::token_of(args.token_file.as_deref())? {
        report.findings.extend(token::examine(&token, enrolment::now())?);
    }
    if args.json {
        let json = serde_json::to_string_pretty(&report).map_err(|error| Problem::new(error.to_string()))?;
        print(&format!("{json}\n"))?;
    } else {
        print(&report.text())?;
    }
    Ok(report.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let mut report = Report {
            findings: vec![
                Finding::ok("privileges", "CAP_NET_ADMIN"),
                Finding::limited("TUN offloads", "none", "use a newer kernel"),
            ],
            backend: Some("tun"),
            because: "the kernel has no WireGuard".into(),
        };
        assert_eq!(report.exit_code(), 1);
        insta::assert_snapshot!(report.text());
        report.findings.pop();
        assert_eq!(report.exit_code(), 0);
        report.backend = None;
        report.because = "no UDP socket is available".into();
        assert_eq!(report.exit_code(), 2);
    }
}
