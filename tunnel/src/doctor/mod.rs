//! `doctor`: looks at this machine and says what a tunnel would use, what is missing and what to do about it.

mod checks;
mod pod;

use std::fmt::Write as _;

use serde::Serialize;
use warren_wire::config::Config;

use crate::{
    cli::DoctorArgs,
    commands::print,
    problem::{Problem, Result},
};

/// How one thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// A tunnel runs without it, slower or with less.
    Limited,
    /// No tunnel runs without it.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen.
    pub seen: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Everything that was looked at, and the conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The findings, in the order of the text.
    pub findings: Vec<Finding>,
    /// `kernel`, `tun`, `user` or none.
    pub backend: Option<&'static str>,
    /// Why.
    pub because: String,
}

impl Finding {
    pub(crate) fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, seen: seen.into(), hint: None }
    }

    pub(crate) fn limited(check: &'static str, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Limited, seen: seen.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn missing(check: &'static str, seen: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Missing, seen: seen.into(), hint: Some(hint.into()) }
    }
}

impl Report {
    /// 0 all is well, 1 a tunnel would run with limits, 2 a tunnel cannot run here.
    pub fn exit_code(&self) -> u8 {
        if self.backend.is_none() {
            return 2;
        }
        match self.findings.iter().map(|finding| finding.verdict).max() {
            None | Some(Verdict::Ok) => 0,
            Some(Verdict::Limited) => 1,
            Some(Verdict::Missing) => 2,
        }
    }

    /// What is not as it should be and may keep peers from answering.
    pub fn troubles(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.verdict != Verdict::Ok && finding.check != checks::PRIVILEGES)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let mark = match finding.verdict {
                Verdict::Ok => "ok      ",
                Verdict::Limited => "limited ",
                Verdict::Missing => "missing ",
            };
            _ = writeln!(out, "{mark} {:<18} {}", finding.check, finding.seen);
            if let Some(hint) = &finding.hint {
                _ = writeln!(out, "{:28}hint: {hint}", "");
            }
        }
        _ = match self.backend {
            Some(backend) => writeln!(out, "\nA tunnel here uses {backend}: {}.", self.because),
            None => writeln!(out, "\nNo tunnel can run here: {}.", self.because),
        };
        out
    }
}

/// Looks at this machine.
pub fn look(config: Option<&Config>) -> Report {
    checks::look(config)
}

/// Looks, prints, and gives the exit code.
///
/// # Errors
/// When the configuration that was named cannot be read.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    let config = match &args.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).map(zeroize::Zeroizing::new);
            let text =
                text.map_err(|error| Problem::new(format!("configuration {}: {error}", path.display())))?;
            Some(Config::parse(&text).map_err(|error| {
                Problem::new(format!("{}:{}:{}: {}", path.display(), error.line, error.column, error.what))
                    .hint(error.hint)
            })?)
        }
        None => None,
    };
    let report = checks::look(config.as_ref());
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
                Finding::limited("kernel WireGuard", "not in this kernel", "none is needed: TUN does it"),
            ],
            backend: Some("tun"),
            because: "the kernel has no WireGuard".into(),
        };
        assert_eq!(report.exit_code(), 1);
        insta::assert_snapshot!(report.text());
        report.findings.pop();
        assert_eq!(report.exit_code(), 0);
        report.backend = None;
        report.because = "there is no TUN device".into();
        assert_eq!(report.exit_code(), 2);
    }
}
