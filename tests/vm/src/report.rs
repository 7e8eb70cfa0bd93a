//! What the guest reports, line by line.

/// How the cases of a machine ended.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The case that runs.
    running: Option<String>,
    /// Whether the guest has said that it has no more.
    complete: bool,
}

impl Report {
    /// Counts a line of the guest, and returns what to print of it.
    ///
    /// `case NAME` begins a case, `ok SECONDS` and `failed SECONDS` end it, `| TEXT` says more, `end` is the last.
    pub(crate) fn take(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "case" => {
                self.running = Some(rest.to_owned());
                None
            }
            "ok" | "failed" => {
                let case = self.running.take()?;
                if word == "ok" {
                    self.passed += 1;
                } else {
                    self.failed += 1;
                }
                Some(format!("{word:6} {rest:>6} s  {case}"))
            }
            "|" => Some(format!("    {rest}")),
            "end" => {
                self.complete = true;
                None
            }
            _ => None,
        }
    }

    /// Ends the report. A guest that stopped in the middle has failed the case that ran, or the boot.
    pub(crate) fn end(&mut self) -> Option<String> {
        if self.complete {
            return None;
        }
        self.failed += 1;
        Some(match self.running.take() {
            Some(case) => format!("failed: the machine ended during: {case}"),
            None => "failed: the machine ended before its last case".to_owned(),
        })
    }

    /// Adds the cases of another machine.
    pub(crate) fn add(&mut self, other: &Report) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_once_their_case_has_ended() {
        let mut report = Report::default();
        assert_eq!(report.take("| Linux 6.1"), Some("    Linux 6.1".into()));
        assert_eq!(report.take("case it pings"), None);
        assert_eq!(report.take("ok 1.5"), Some("ok        1.5 s  it pings".into()));
        assert_eq!(report.take("case it ends"), None);
        assert_eq!(report.take("failed 2.0"), Some("failed    2.0 s  it ends".into()));
        assert_eq!(report.take("ok 2.0"), None);
        assert_eq!(report.take("end"), None);
        assert_eq!(report.end(), None);
        assert_eq!((report.passed, report.failed), (1, 1));
    }

    #[test]
    fn a_machine_that_stops_in_the_middle_has_failed() {
        let mut report = Report::default();
        report.take("case it pings");
        assert_eq!(report.end(), Some("failed: the machine ended during: it pings".into()));
        assert_eq!((report.passed, report.failed), (0, 1));
        assert!(Report::default().end().is_some());
    }
}
