//! The objects that one provider process has seen, planned and created.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Planned objects of one type, by name and, if known, by ID.
pub struct Table<T>(Mutex<BTreeMap<String, (Option<String>, T)>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table(Mutex::default())
    }
}

impl<T: Clone> Table<T> {
    /// Remembers the planned object `name`, and replaces an earlier plan for it.
    pub fn put(&self, name: &str, id: Option<&str>, planned: T) {
        lock(&self.0).insert(name.to_owned(), (id.map(str::to_owned), planned));
    }

    /// The planned object `name`.
    pub fn by_name(&self, name: &str) -> Option<T> {
        lock(&self.0).get(name).map(|(_, planned)| planned.clone())
    }

    /// The planned object with the ID `id`.
    pub fn by_id(&self, id: &str) -> Option<T> {
        lock(&self.0)
            .values()
            .find(|(known, _)| known.as_deref() == Some(id))
            .map(|(_, planned)| planned.clone())
    }

    /// Forgets everything.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    /// All planned objects, by name.
    pub fn all(&self) -> Vec<(String, T)> {
        lock(&self.0).iter().map(|(name, (_, planned))| (name.clone(), planned.clone())).collect()
    }
}

/// IDs by their fate in this process.
#[derive(Default)]
pub struct Objects(Mutex<Fates>);

#[derive(Default)]
struct Fates {
    /// In the state of a resource, by type and name.
    held: BTreeMap<(&'static str, String), BTreeSet<String>>,
    /// Created or adopted by this process, with a mark that is also in the private state of the resource.
    taken: BTreeMap<String, String>,
    /// Being deleted, or deleted.
    doomed: BTreeSet<String>,
}

impl Objects {
    /// Starts another run in the same process.
    pub(crate) fn clear(&self) {
        *lock(&self.0) = Fates::default();
    }

    /// Remembers that a state contains `id` as the `kind` named `name`.
    pub fn hold(&self, kind: &'static str, name: &str, id: &str) {
        if !id.is_empty() {
            lock(&self.0).held.entry((kind, name.to_owned())).or_default().insert(id.to_owned());
        }
    }

    /// IDs that a state contains as the `kind` named `name`.
    pub(crate) fn held(&self, kind: &'static str, name: &str) -> BTreeSet<String> {
        lock(&self.0).held.get(&(kind, name.to_owned())).cloned().unwrap_or_default()
    }

    /// Claims `id` for the resource with this mark; false if another resource of this run has claimed or is
    /// deleting it.
    pub(crate) fn take(&self, id: &str, mark: &str) -> bool {
        let mut objects = lock(&self.0);
        if objects.doomed.contains(id) || objects.taken.get(id).is_some_and(|other| other != mark) {
            return false;
        }
        objects.taken.insert(id.to_owned(), mark.to_owned());
        true
    }

    /// Whether a resource of this run with another mark has created or adopted `id`.
    pub(crate) fn taken_by_other(&self, id: &str, mark: &str) -> bool {
        lock(&self.0).taken.get(id).is_some_and(|taker| taker != mark)
    }

    /// Marks `id` as being deleted by the resource with this mark; false if another resource of this run
    /// has adopted it, in which case the old resource only hands it over.
    pub(crate) fn doom(&self, id: &str, mark: Option<&str>) -> bool {
        let mut objects = lock(&self.0);
        if objects.taken.get(id).is_some_and(|taker| Some(taker.as_str()) != mark) {
            return false;
        }
        objects.taken.remove(id);
        objects.doomed.insert(id.to_owned());
        true
    }

    /// Forgets that `id` was being deleted: with unique names, its replacement has the same ID.
    pub(crate) fn gone(&self, id: &str) {
        lock(&self.0).doomed.remove(id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_either_taken_or_doomed() {
        let run = Objects::default();
        assert!(run.take("vpc-1", "a"));
        assert!(run.taken_by_other("vpc-1", "b") && !run.taken_by_other("vpc-1", "a"));
        assert!(!run.take("vpc-1", "b"), "two resources cannot take one object");
        assert!(!run.doom("vpc-1", None), "the state that held it before does not delete it");
        assert!(run.doom("vpc-1", Some("a")), "the resource that took it does");
        assert!(run.doom("vpc-2", None));
        assert!(!run.take("vpc-2", "a"));
        run.gone("vpc-2");
        assert!(run.take("vpc-2", "a"));
    }

    #[test]
    fn planned_things_are_found_by_name_and_id() {
        let table = Table::default();
        table.put("hub", None, 1);
        assert_eq!(table.by_id("vpc-1"), None);
        table.put("hub", Some("vpc-1"), 2);
        assert_eq!(table.by_id("vpc-1"), Some(2));
        assert_eq!(table.all().len(), 1);
    }
}
