//! What earlier runs transferred: JSON lines, appended. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Stamp;

/// A transferred object as it was at both ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// The source when it was read.
    pub source: Stamp,
    /// The destination after it was written.
    pub dest: Stamp,
}

/// The last record of each name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    records: BTreeMap<String, Record>,
    lines: usize,
}

impl Index {
    /// Reads an index; lines that are not valid are left out.
    pub fn parse(text: &str) -> Self {
        let mut index = Self::default();
        for record in text.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok()) {
            index.records.insert(record.name.clone(), record);
            index.lines += 1;
        }
        index
    }

    /// The record of a name.
    pub fn get(&self, name: &str) -> Option<&Record> {
        self.records.get(name)
    }

    /// Whether more than half of the lines are outdated, so that writing it anew is worth it.
    pub fn is_stale(&self) -> bool {
        self.lines > 2 * self.records.len() + 100
    }

    /// All records as text.
    pub fn text(&self) -> String {
        self.records.values().map(crate::journal::line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_record_counts() {
        let stamp = |size| Stamp { size, modified: 1, etag: None };
        let record = |name: &str, size| Record { name: name.into(), source: stamp(size), dest: stamp(size) };
        let text: String =
            [record("a", 1), record("b", 2), record("a", 3)].iter().map(crate::journal::line).collect();
        let index = Index::parse(&format!("{text}{{\"name\":\"b\",\"sou"));
        assert_eq!((index.get("a"), index.get("b")), (Some(&record("a", 3)), Some(&record("b", 2))));
        assert_eq!(Index::parse(&index.text()).records, index.records);
        assert!(!index.is_stale());
    }
}
