//! What is to be done: the difference between two listings. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::filter::Filter;
use crate::index::Index;

/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// A version of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was modified, in nanoseconds since 1970.
    pub modified: i64,
    /// The store's tag of the version; files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl Stamp {
    /// Whether both are the same version: by the tags, if both have one.
    pub fn is(&self, other: &Self) -> bool {
        let same = match (&self.etag, &other.etag) {
            (Some(one), Some(other)) => one == other,
            _ => self.modified == other.modified,
        };
        same && self.size == other.size
    }

    /// Whether an answer of the store with this stamp is about the version `listed`. Answers have the time in whole seconds
    /// (RFC 9110, section 8.8.2), and some stores list objects without tags.
    pub fn answers(&self, listed: &Self) -> bool {
        let seconds = |stamp: &Self| Self { modified: stamp.modified.div_euclid(SECOND), ..stamp.clone() };
        seconds(self).is(&seconds(listed))
    }
}

/// A named object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name below the folder, with slashes.
    pub name: String,
    /// Its version.
    pub stamp: Stamp,
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Objects to transfer, the largest first: a large one at the end would keep all others waiting.
    pub copy: Vec<Entry>,
    /// Objects that are the same at both ends.
    pub unchanged: Vec<Entry>,
    /// Objects at the destination that the source does not have.
    pub delete: Vec<Entry>,
    /// Names that cannot exist at the destination, with the reason.
    pub refused: Vec<(String, &'static str)>,
}

impl Plan {
    /// Bytes to transfer.
    pub fn bytes(&self) -> u64 {
        self.copy.iter().map(|entry| entry.stamp.size).sum()
    }
}

/// Compares two listings. `delete` also deletes what only the destination has; names that the filter excludes are neither
/// transferred nor deleted. `to_files` is whether the destination is a file system, where a file cannot also be a folder.
pub fn plan(
    source: Vec<Entry>,
    dest: &[Entry],
    index: &Index,
    filter: &Filter,
    delete: bool,
    to_files: bool,
) -> Plan {
    let there: BTreeMap<&str, &Stamp> =
        dest.iter().map(|entry| (entry.name.as_str(), &entry.stamp)).collect();
    let mut plan = Plan::default();
    let mut source: Vec<Entry> = source.into_iter().filter(|entry| filter.admits(&entry.name)).collect();
    source.sort_by(|one, other| one.name.cmp(&other.name));
    source.dedup_by(|one, other| one.name == other.name);
    let names: std::collections::BTreeSet<String> = source.iter().map(|entry| entry.name.clone()).collect();
    for entry in source {
        let below = format!("{}/", entry.name);
        let is_folder = names.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below));
        if to_files && is_folder {
            // Consoles create an empty object for a folder.
            if entry.stamp.size > 0 {
                plan.refused.push((entry.name, "is an object and a folder: a file system can have only one"));
            }
            continue;
        }
        match there.get(entry.name.as_str()) {
            Some(stamp) if is_unchanged(&entry, stamp, index) => plan.unchanged.push(entry),
            _ => plan.copy.push(entry),
        }
    }
    if delete {
        let surplus = dest.iter().filter(|entry| !names.contains(&entry.name) && filter.admits(&entry.name));
        plan.delete = surplus.cloned().collect();
        plan.delete.sort_by(|one, other| one.name.cmp(&other.name));
    }
    plan.copy
        .sort_by(|one, other| other.stamp.size.cmp(&one.stamp.size).then_with(|| one.name.cmp(&other.name)));
    plan
}

/// With a record of an earlier run, both ends must be as recorded. Without one, the destination must have the same size and
/// not be older: files get the time of their object, and an object is younger than the file it was made from.
fn is_unchanged(entry: &Entry, there: &Stamp, index: &Index) -> bool {
    match index.get(&entry.name) {
        Some(record) if record.dest.is(there) => record.source.is(&entry.stamp),
        _ => entry.stamp.size == there.size && there.modified >= entry.stamp.modified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Record;
    use crate::journal::line;

    fn entry(name: &str, size: u64, modified: i64) -> Entry {
        Entry { name: name.into(), stamp: Stamp { size, modified, etag: None } }
    }

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn only_what_differs_is_transferred_and_the_largest_first() {
        let source =
            vec![entry("a", 1, 5), entry("b", 1, 5), entry("c", 2, 5), entry("d", 9, 1), entry("e", 1, 1)];
        let dest = [entry("a", 1, 5), entry("b", 1, 4), entry("c", 1, 9), entry("x", 1, 1)];
        let filter = Filter::new(&[], &["e".into()]).unwrap();
        let found = plan(source, &dest, &Index::default(), &filter, true, true);
        assert_eq!((names(&found.copy), names(&found.unchanged)), (vec!["d", "c", "b"], vec!["a"]));
        assert_eq!((names(&found.delete), found.bytes()), (vec!["x"], 12));
    }

    #[test]
    fn excluded_names_are_not_deleted() {
        let filter = Filter::new(&["*.bin".into()], &[]).unwrap();
        let dest = [entry("keep.txt", 1, 1), entry("old.bin", 1, 1)];
        let found = plan(vec![], &dest, &Index::default(), &filter, true, true);
        assert_eq!(names(&found.delete), ["old.bin"]);
        assert!(plan(vec![], &dest, &Index::default(), &filter, false, true).delete.is_empty());
    }

    #[test]
    fn a_record_tells_a_new_version_of_equal_size_and_age() {
        let tagged = |tag: &str| Stamp { size: 1, modified: 5, etag: Some(tag.into()) };
        let record = Record { name: "a".into(), source: tagged("1"), dest: entry("a", 1, 5).stamp };
        let index = Index::parse(&line(&record));
        let run = |tag: &str, dest: Entry| {
            let source = vec![Entry { name: "a".into(), stamp: tagged(tag) }];
            plan(source, &[dest], &index, &Filter::default(), false, true).copy.len()
        };
        assert_eq!(run("1", entry("a", 1, 5)), 0);
        assert_eq!(run("2", entry("a", 1, 5)), 1);
        // Somebody wrote the file since: it is older than the object, so it is replaced.
        assert_eq!(run("1", entry("a", 1, 4)), 1);
    }

    #[test]
    fn an_object_that_is_also_a_folder_is_refused_where_it_has_bytes() {
        let source = || {
            vec![
                entry("a", 0, 1),
                entry("a/b", 1, 1),
                entry("c", 3, 1),
                entry("c/d", 1, 1),
                entry("c-", 1, 1),
            ]
        };
        let found = plan(source(), &[], &Index::default(), &Filter::default(), false, true);
        assert_eq!(names(&found.copy), ["a/b", "c-", "c/d"]);
        assert_eq!(found.refused.len(), 1);
        assert_eq!(plan(source(), &[], &Index::default(), &Filter::default(), false, false).copy.len(), 5);
    }
}
