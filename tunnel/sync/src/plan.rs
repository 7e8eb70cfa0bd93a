//! What is to be done: the difference between two listings. Pure.
//!
//! A source can have millions of objects, and its listing can take minutes. So what is decided is handed out while the rest is
//! being listed.

use std::collections::{BTreeMap, BTreeSet};

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

/// What a run does, or a portion of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Objects to transfer.
    pub copy: Vec<Entry>,
    /// Objects that are the same at both ends.
    pub unchanged: Vec<Entry>,
    /// Objects at the destination that the source does not have. Only the last portion has them.
    pub delete: Vec<Entry>,
    /// Names that cannot exist at the destination, with the reason.
    pub refused: Vec<(String, &'static str)>,
}

impl Plan {
    /// Bytes to transfer.
    pub fn bytes(&self) -> u64 {
        self.copy.iter().map(|entry| entry.stamp.size).sum()
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.copy.append(&mut other.copy);
        self.unchanged.append(&mut other.unchanged);
        self.delete.append(&mut other.delete);
        self.refused.append(&mut other.refused);
    }
}

/// How much there is to do, as far as the source has been listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Objects to transfer.
    pub copy: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that are the same at both ends.
    pub unchanged: u64,
    /// Objects to delete; known when everything is listed.
    pub delete: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, plan: &Plan) {
        self.copy += plan.copy.len() as u64;
        self.bytes += plan.bytes();
        self.unchanged += plan.unchanged.len() as u64;
        self.delete += plan.delete.len() as u64;
    }
}

/// Compares the source with the destination while the source is being listed.
///
/// Where a file cannot also be a folder, an object can be decided on only after the names that would be below it. Stores list
/// in the order of their keys, so few objects wait. If a store does not, the rest waits for the end of the listing.
pub struct Planner<'a> {
    dest: &'a [Entry],
    there: BTreeMap<&'a str, &'a Stamp>,
    rules: Comparison<'a>,
    /// Objects that may also be folders. In order, each could be a folder that holds none of the later ones yet.
    held: Vec<Entry>,
    /// The key of the last object.
    last: String,
    in_order: bool,
    /// All names, for deletions.
    names: BTreeSet<String>,
    decided: Plan,
}

/// How objects are compared.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// What earlier runs transferred.
    pub index: &'a Index,
    /// Names that it excludes are neither transferred nor deleted.
    pub filter: &'a Filter,
    /// Delete what only the destination has.
    pub delete: bool,
    /// The destination is a file system, where a file cannot also be a folder.
    pub to_files: bool,
}

impl<'a> Planner<'a> {
    /// With everything that is at the destination.
    pub fn new(dest: &'a [Entry], rules: Comparison<'a>) -> Self {
        let there = dest.iter().map(|entry| (entry.name.as_str(), &entry.stamp)).collect();
        Self {
            dest,
            there,
            rules,
            held: Vec::new(),
            last: String::new(),
            in_order: true,
            names: BTreeSet::new(),
            decided: Plan::default(),
        }
    }

    /// The next object of the source.
    pub fn add(&mut self, entry: Entry) {
        if !self.rules.filter.admits(&entry.name) {
            return;
        }
        if self.rules.delete {
            self.names.insert(entry.name.clone());
        }
        if !self.in_order {
            return self.held.push(entry);
        }
        let key = if entry.name < self.last {
            // An object for a folder, as consoles create them: the slash at the end of its key is no part of its name.
            format!("{}/", entry.name)
        } else {
            entry.name.clone()
        };
        if key < self.last {
            self.in_order = false;
            return self.held.push(entry);
        }
        if key == self.last {
            return;
        }
        while let Some(top) = self.held.pop() {
            let below = format!("{}/", top.name);
            if key <= below {
                self.held.push(top);
                if key == below {
                    // The first of one name counts.
                    return;
                }
                break;
            }
            self.decide(top, key.starts_with(&below));
        }
        self.last = key;
        self.held.push(entry);
    }

    /// What is decided since the last call.
    pub fn decided(&mut self) -> Plan {
        std::mem::take(&mut self.decided)
    }

    /// The rest, when everything is listed.
    pub fn end(mut self) -> Plan {
        if !self.in_order {
            let mut rest = std::mem::take(&mut self.held);
            rest.sort_by(|one, other| one.name.cmp(&other.name));
            self.last.clear();
            self.in_order = true;
            rest.into_iter().for_each(|entry| self.add(entry));
        }
        for entry in std::mem::take(&mut self.held) {
            self.decide(entry, false);
        }
        if self.rules.delete {
            let surplus =
                |entry: &&Entry| !self.names.contains(&entry.name) && self.rules.filter.admits(&entry.name);
            self.decided.delete = self.dest.iter().filter(surplus).cloned().collect();
            self.decided.delete.sort_by(|one, other| one.name.cmp(&other.name));
        }
        self.decided
    }

    fn decide(&mut self, entry: Entry, is_folder: bool) {
        if self.rules.to_files && is_folder {
            // Consoles create an empty object for a folder.
            if entry.stamp.size > 0 {
                let why = "is an object and a folder: a file system can have only one";
                self.decided.refused.push((entry.name, why));
            }
            return;
        }
        match self.there.get(entry.name.as_str()) {
            Some(stamp) if is_unchanged(&entry, stamp, self.rules.index) => {
                self.decided.unchanged.push(entry);
            }
            _ => self.decided.copy.push(entry),
        }
    }
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

    fn plan(
        source: Vec<Entry>,
        dest: &[Entry],
        index: &Index,
        filter: &Filter,
        delete: bool,
        to_files: bool,
    ) -> Plan {
        let mut planner = Planner::new(dest, Comparison { index, filter, delete, to_files });
        source.into_iter().for_each(|entry| planner.add(entry));
        planner.end()
    }

    #[test]
    fn only_what_differs_is_transferred() {
        let source =
            vec![entry("a", 1, 5), entry("b", 1, 5), entry("c", 2, 5), entry("d", 9, 1), entry("e", 1, 1)];
        let dest = [entry("a", 1, 5), entry("b", 1, 4), entry("c", 1, 9), entry("x", 1, 1)];
        let filter = Filter::new(&[], &["e".into()]).unwrap();
        let found = plan(source, &dest, &Index::default(), &filter, true, true);
        assert_eq!((names(&found.copy), names(&found.unchanged)), (vec!["b", "c", "d"], vec!["a"]));
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
                entry("c-", 1, 1),
                entry("c/d", 1, 1),
            ]
        };
        let found = plan(source(), &[], &Index::default(), &Filter::default(), false, true);
        assert_eq!(names(&found.copy), ["a/b", "c-", "c/d"]);
        assert_eq!(found.refused.len(), 1);
        assert_eq!(plan(source(), &[], &Index::default(), &Filter::default(), false, false).copy.len(), 5);
    }

    /// Portions, after each entry.
    fn portions(names: &[&str]) -> Vec<Vec<String>> {
        let (index, filter) = (Index::default(), Filter::default());
        let rules = Comparison { index: &index, filter: &filter, delete: false, to_files: true };
        let mut planner = Planner::new(&[], rules);
        let copied = |plan: Plan| plan.copy.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        let mut portions: Vec<Vec<String>> = Vec::new();
        for name in names {
            planner.add(entry(name, 0, 1));
            portions.push(copied(planner.decided()));
        }
        portions.push(copied(planner.end()));
        portions
    }

    #[test]
    fn an_object_is_decided_when_nothing_can_be_below_it() {
        let none = Vec::<String>::new();
        assert_eq!(portions(&["a", "b", "c"]), [&none[..], &["a".into()], &["b".into()], &["c".into()]]);
        // `-` and `.` are before the slash.
        assert_eq!(
            portions(&["a", "a-", "a.x", "a/b"]),
            [&none[..], &none, &["a-".into()], &["a.x".into()], &["a/b".into()]]
        );
        // The object of a folder: its key `a/` follows `a.x`.
        assert_eq!(portions(&["a.x", "a", "a/b"]), [&none[..], &["a.x".into()], &none, &["a/b".into()]]);
        assert_eq!(portions(&["a", "a.x", "a"]), [&none[..], &none, &["a.x".into()], &["a".into()]]);
    }

    #[test]
    fn a_listing_in_any_order_gives_the_same_plan() {
        let sorted = ["a", "a-", "a.x", "a/b", "a/b-", "a/b/c", "b", "d/e", "d/e/f/g", "z"];
        let expected = ["a-", "a.x", "a/b-", "a/b/c", "b", "d/e/f/g", "z"];
        for turn in 0..sorted.len() {
            let mut names = sorted.to_vec();
            // Objects of one key twice.
            names.insert(turn, sorted[turn]);
            assert_eq!(portions(&names).concat(), expected);
        }
        let mut names = sorted.to_vec();
        names.reverse();
        assert_eq!(portions(&names).concat(), expected);
    }
}
