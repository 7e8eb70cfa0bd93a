//! What identifies a finding from one run to the next, for code scanning.

use crate::{Finding, Rule};
use std::collections::BTreeMap;

/// FNV-1a hash of the rule and of the addresses: the same wherever the files are, in whatever order, and on whatever line. Owners
/// count if they are not just the name of the file.
pub fn fingerprint(finding: &Finding) -> String {
    let mut sides: Vec<[&str; 2]> = finding.sides.iter().map(|side| [owner(side), &side.site.path]).collect();
    sides.sort_unstable();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut feed = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    feed(finding.rule.id());
    sides.iter().flatten().for_each(|text| feed(text));
    // One assertion may be violated by many paths, which only the message names.
    if finding.rule == Rule::Policy {
        feed(finding.message.split(" matches nothing in ").next().unwrap_or_default());
    }
    format!("{hash:016x}")
}

/// The fingerprints of one list of findings. Findings that have the same one, such as those of three files with the same
/// addresses, are numbered: GitLab shows only the first of equal ones.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    seen: BTreeMap<String, usize>,
}

impl Fingerprints {
    /// The fingerprint of the next finding, with its number from the second equal one on.
    pub(crate) fn next(&mut self, finding: &Finding) -> String {
        let print = fingerprint(finding);
        let count = self.seen.entry(print.clone()).or_default();
        *count += 1;
        if *count == 1 { print } else { format!("{print}-{count}") }
    }
}

/// The fingerprints of a whole list.
pub(crate) fn fingerprints(findings: &[Finding]) -> Vec<String> {
    let mut prints = Fingerprints::default();
    findings.iter().map(|finding| prints.next(finding)).collect()
}

fn owner(side: &crate::Side) -> &str {
    if side.owner == side.site.file { "" } else { &side.owner }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Severity, Side};
    use warren_model::{Position, Site};

    fn finding(sides: &[(&str, &str, &str, u32)]) -> Finding {
        let side = |&(file, owner, path, line): &(&str, &str, &str, u32)| Side {
            name: path.to_owned(),
            owner: owner.to_owned(),
            net: None,
            site: Site {
                file: file.to_owned(),
                path: path.to_owned(),
                at: Some(Position { line, column: 1 }),
            },
        };
        Finding {
            severity: Severity::Error,
            rule: Rule::Overlap,
            sides: sides.iter().map(side).collect(),
            message: "a overlaps b".to_owned(),
            detail: String::new(),
            hint: None,
        }
    }

    #[test]
    fn folders_lines_and_order_do_not_count() {
        let one = finding(&[("a/plan.json", "a/plan.json", "aws_vpc.a", 1), ("net.yaml", "team", "n", 4)]);
        let other = finding(&[("/ci/net.yaml", "team", "n", 9), ("p.json", "p.json", "aws_vpc.a", 1)]);
        assert_eq!(fingerprint(&one), fingerprint(&other));
        for different in [
            finding(&[("a/plan.json", "a/plan.json", "aws_vpc.b", 1), ("net.yaml", "team", "n", 4)]),
            finding(&[("a/plan.json", "a/plan.json", "aws_vpc.a", 1), ("net.yaml", "ml", "n", 4)]),
            Finding { rule: Rule::Reserved, ..one.clone() },
        ] {
            assert_ne!(fingerprint(&one), fingerprint(&different));
        }
        let both = fingerprints(&[one, other]);
        assert_eq!(both[1], format!("{}-2", both[0]));
    }
}
