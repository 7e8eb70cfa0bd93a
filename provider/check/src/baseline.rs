//! Baselines: the findings that a team already knows.

use crate::Finding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format.
const VERSION: u64 = 1;

/// A finding that a baseline lists. Entries are sorted by these fields, in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Known {
    /// The rule.
    pub rule: String,
    /// The addresses of the ranges, sorted.
    pub addresses: Vec<String>,
    /// Identifies the finding, see [`crate::fingerprint()`]. Further findings with an equal one end in `-2`, `-3` and so on.
    pub fingerprint: String,
}

impl Known {
    pub(crate) fn new(finding: &Finding, fingerprint: String) -> Self {
        let mut addresses: Vec<String> = finding.sides.iter().map(|side| side.site.path.clone()).collect();
        addresses.sort();
        Self { rule: finding.rule.id().to_owned(), addresses, fingerprint }
    }
}

/// The known findings, by fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    pub(crate) known: BTreeMap<String, Known>,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// The text is not a baseline, or one of a later version of the format.
    pub fn read(text: &str) -> Result<Self, String> {
        const HINT: &str = "write a baseline with `--write-baseline FILE`";
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}; {HINT}"))?;
        match value.get("version").map(serde_json::Value::as_u64) {
            Some(Some(VERSION)) => {}
            Some(Some(version)) if version > VERSION => {
                return Err(format!(
                    "the baseline has version {version}, and this version of `warren` reads version {VERSION}; update `warren`"
                ));
            }
            Some(_) => return Err(format!("`version` is not {VERSION}; {HINT}")),
            None => return Err(format!("it has no `version`, so it is not a baseline; {HINT}")),
        }
        let file: File = serde_json::from_value(value)
            .map_err(|error| format!("not a baseline of version {VERSION}: {error}; {HINT}"))?;
        Ok(file.findings.into_iter().collect())
    }

    /// The baseline as JSON: sorted, one member a line, so that version control shows each change.
    pub fn json(&self) -> String {
        let mut findings: Vec<Known> = self.known.values().cloned().collect();
        findings.sort();
        crate::written(|out| {
            serde_json::to_writer_pretty(&mut *out, &File { version: VERSION, findings })?;
            out.write_all(b"\n")
        })
    }

    /// Number of findings.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether it lists no findings.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl FromIterator<Known> for Baseline {
    fn from_iter<T: IntoIterator<Item = Known>>(findings: T) -> Self {
        Self { known: findings.into_iter().map(|known| (known.fingerprint.clone(), known)).collect() }
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u64,
    findings: Vec<Known>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_sorted_and_read_back() {
        let known = |rule: &str, address: &str, print: &str| Known {
            rule: rule.to_owned(),
            addresses: vec![address.to_owned()],
            fingerprint: print.to_owned(),
        };
        let baseline: Baseline =
            [known("size", "a", "1"), known("overlap", "b", "2"), known("overlap", "a", "3")]
                .into_iter()
                .collect();
        let text = baseline.json();
        let at = |print: &str| text.find(&format!("\"fingerprint\": \"{print}\"")).unwrap_or_default();
        assert!(0 < at("3") && at("3") < at("2") && at("2") < at("1"), "{text}");
        assert_eq!(Baseline::read(&text), Ok(baseline));
    }

    #[test]
    fn other_files_are_explained() {
        for (text, said) in [
            ("", "not valid JSON"),
            ("{}", "no `version`"),
            (r#"{"version": "1"}"#, "`version` is not 1"),
            (r#"{"version": 2, "findings": 5}"#, "update `warren`"),
            (r#"{"version": 1}"#, "missing field `findings`"),
            (r#"{"version": 1, "findings": [{"rule": "size"}]}"#, "missing field `addresses`"),
        ] {
            let error = Baseline::read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
