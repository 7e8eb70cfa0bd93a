//! The table of requirements in `docs/tcp.md` and the scripts say the same.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../../docs/tcp.md");
const SCRIPTS: [(&str, &str); 8] = [
    ("closing", include_str!("closing.rs")),
    ("ecn", include_str!("ecn.rs")),
    ("fragments", include_str!("fragments.rs")),
    ("handshake", include_str!("handshake.rs")),
    ("recovery", include_str!("recovery.rs")),
    ("sending", include_str!("sending.rs")),
    ("timers", include_str!("timers.rs")),
    ("window", include_str!("window.rs")),
];

/// The cells of each row.
fn rows() -> Vec<Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| RFC"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Every test of the files, as the table names them.
fn scripts() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (file, text) in SCRIPTS {
        for part in text.split("#[test]\nfn ").skip(1) {
            let name = part.split('(').next().unwrap_or_default();
            all.insert(format!("{file}::{name}"));
        }
    }
    all
}

#[test]
fn the_table_names_exactly_the_scripts_that_exist() {
    let mut named = BTreeSet::new();
    for row in rows() {
        let [source, requirement, status, script] = row[..] else { panic!("four cells: {row:?}") };
        assert!(!requirement.is_empty() && source.starts_with("RFC "), "{row:?}");
        match (status, script.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))) {
            ("met", Some(script)) => assert!(named.insert(script.to_owned()), "{script} has two rows"),
            ("not met" | "not applicable", None) => assert!(!script.is_empty(), "a reason: {row:?}"),
            _ => panic!("a status with its script or reason: {row:?}"),
        }
    }
    assert_eq!(named, scripts());
}

#[test]
fn the_summary_counts_the_rows() {
    let count = |status| rows().iter().filter(|row| row[2] == status).count();
    let summary = format!(
        "Summary: {} met, {} not met, {} not applicable.",
        count("met"),
        count("not met"),
        count("not applicable")
    );
    assert!(TABLE.lines().any(|line| line == summary), "docs/tcp.md must say: {summary}");
}
