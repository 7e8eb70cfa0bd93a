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

/// IDs by what this process did with their objects.
#[derive(Default)]
pub struct Objects(Mutex<Ids>);

#[derive(Default)]
struct Ids {
    /// In the state of a resource, by type and name.
    recorded: BTreeMap<(&'static str, String), BTreeSet<String>>,
    /// Created or adopted by this process, with the resource that did it; its private state has the same value.
    claimed: BTreeMap<String, String>,
    /// Being deleted, or deleted.
    deleted: BTreeSet<String>,
    /// The region or project of objects whose ID the cloud assigns, by that ID.
    sites: BTreeMap<String, String>,
    /// Labels of objects whose state names another account or site than the provider block, by the attribute of
    /// their identity and its value.
    refused: BTreeMap<(&'static str, String), BTreeSet<String>>,
}

impl Objects {
    /// Starts another run in the same process.
    pub(crate) fn clear(&self) {
        *lock(&self.0) = Ids::default();
    }

    /// Records that a state contains `id` as the `kind` named `name`.
    pub fn record(&self, kind: &'static str, name: &str, id: &str) {
        lock(&self.0).recorded.entry((kind, name.to_owned())).or_default().insert(id.to_owned());
    }

    /// IDs that a state contains as the `kind` named `name`.
    pub(crate) fn recorded(&self, kind: &'static str, name: &str) -> BTreeSet<String> {
        lock(&self.0).recorded.get(&(kind, name.to_owned())).cloned().unwrap_or_default()
    }

    /// Records where the object with this ID is.
    pub(crate) fn record_site(&self, id: &str, site: &str) {
        lock(&self.0).sites.insert(id.to_owned(), site.to_owned());
    }

    /// Where the object with this ID is, if this run has seen it.
    pub(crate) fn site(&self, id: &str) -> Option<String> {
        lock(&self.0).sites.get(id).cloned()
    }

    /// Records an object that is at `value` of `attribute`, and not where the provider is configured for. True if it is
    /// the first one there.
    pub(crate) fn refused(&self, attribute: &'static str, value: &str, label: &str) -> bool {
        let mut ids = lock(&self.0);
        let labels = ids.refused.entry((attribute, value.to_owned())).or_default();
        let first = labels.is_empty();
        labels.insert(label.to_owned());
        first
    }

    /// The labels of the objects that are at `value` of `attribute`.
    pub(crate) fn all_refused(&self, attribute: &'static str, value: &str) -> Vec<String> {
        let ids = lock(&self.0);
        ids.refused.get(&(attribute, value.to_owned())).into_iter().flatten().cloned().collect()
    }

    /// Claims `id` for the resource `creator`; false if another resource of this run has claimed or is
    /// deleting it.
    pub(crate) fn claim(&self, id: &str, creator: &str) -> bool {
        let mut ids = lock(&self.0);
        if ids.deleted.contains(id) || ids.claimed.get(id).is_some_and(|other| other != creator) {
            return false;
        }
        ids.claimed.insert(id.to_owned(), creator.to_owned());
        true
    }

    /// Whether another resource of this run than `creator` has created or adopted `id`.
    pub(crate) fn claimed_by_other(&self, id: &str, creator: &str) -> bool {
        lock(&self.0).claimed.get(id).is_some_and(|other| other != creator)
    }

    /// Records that the resource `creator` deletes `id`; false if another resource of this run has adopted
    /// it, in which case the old resource only hands it over.
    pub(crate) fn begin_delete(&self, id: &str, creator: Option<&str>) -> bool {
        let mut ids = lock(&self.0);
        if ids.claimed.get(id).is_some_and(|other| Some(other.as_str()) != creator) {
            return false;
        }
        ids.claimed.remove(id);
        ids.deleted.insert(id.to_owned());
        true
    }

    /// Forgets that `id` was deleted: with unique names, its replacement has the same ID.
    pub(crate) fn end_delete(&self, id: &str) {
        lock(&self.0).deleted.remove(id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_either_claimed_or_deleted() {
        let run = Objects::default();
        assert!(run.claim("vpc-1", "a"));
        assert!(run.claimed_by_other("vpc-1", "b") && !run.claimed_by_other("vpc-1", "a"));
        assert!(!run.claim("vpc-1", "b"), "two resources cannot claim one object");
        assert!(!run.begin_delete("vpc-1", None), "the state that contained it before does not delete it");
        assert!(run.begin_delete("vpc-1", Some("a")), "the resource that claimed it does");
        assert!(run.begin_delete("vpc-2", None));
        assert!(!run.claim("vpc-2", "a"));
        run.end_delete("vpc-2");
        assert!(run.claim("vpc-2", "a"));
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
