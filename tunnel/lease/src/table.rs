//! A store's contents in memory: what a transaction does to them.

use std::collections::BTreeMap;

use crate::record::{Change, Key, Transaction};
use crate::step::Outcome;

/// Records with their versions, and the revision of the last transaction.
#[derive(Debug, Clone, Default)]
pub struct Table {
    revision: u64,
    records: BTreeMap<Key, (Vec<u8>, u64)>,
}

impl Table {
    /// A table with these contents, as of a revision.
    #[must_use]
    pub fn new(revision: u64, contents: impl IntoIterator<Item = (Key, Vec<u8>, u64)>) -> Self {
        let records = contents.into_iter().map(|(key, value, version)| (key, (value, version))).collect();
        Self { revision, records }
    }

    /// The revision of the last transaction; 0 if there was none.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A record.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&[u8]> {
        self.records.get(key).map(|(value, _)| &value[..])
    }

    /// All records.
    pub fn contents(&self) -> impl Iterator<Item = Change> + '_ {
        self.records.iter().map(|(key, (value, version))| Change {
            key: *key,
            value: Some(value.clone()),
            version: *version,
        })
    }

    /// The records that keep a transaction from happening, and the others it expects, as they are; `None` if it can.
    #[must_use]
    pub fn conflict(&self, transaction: &Transaction) -> Option<Vec<Change>> {
        let version = |key| self.records.get(key).map_or(0, |(_, version)| *version);
        if transaction.expect.iter().all(|(key, expected)| version(key) == *expected) {
            return None;
        }
        let changes = transaction.expect.iter().map(|(key, _)| match self.records.get(key) {
            Some((value, version)) => Change { key: *key, value: Some(value.clone()), version: *version },
            None => Change { key: *key, value: None, version: self.revision },
        });
        Some(changes.collect())
    }

    /// Does a transaction, if nothing keeps it from happening.
    pub fn commit(&mut self, transaction: &Transaction) -> Outcome {
        if let Some(changes) = self.conflict(transaction) {
            return Outcome::Conflict(changes);
        }
        if transaction.is_check() {
            return Outcome::Committed(self.revision);
        }
        self.revision += 1;
        for (key, value) in &transaction.put {
            self.records.insert(*key, (value.clone(), self.revision));
        }
        for key in &transaction.delete {
            self.records.remove(key);
        }
        Outcome::Committed(self.revision)
    }
}

impl Transaction {
    /// Whether it only asks if versions are what they are expected to be.
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.put.is_empty() && self.delete.is_empty()
    }

    /// What the transaction makes of its records, as of the revision that it got.
    #[must_use]
    pub fn changes(&self, version: u64) -> Vec<Change> {
        let put = self.put.iter().map(|(key, value)| (*key, Some(value.clone())));
        let deleted = self.delete.iter().map(|key| (*key, None));
        put.chain(deleted).map(|(key, value)| Change { key, value, version }).collect()
    }
}
