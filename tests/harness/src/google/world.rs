//! What exists: objects, operations, and how the one changes the other.
//!
//! ```text
//! insert ─> object shown, busy ──polls──> ready          or, where the operation fails, gone again
//! patch ──> object as it was, busy ─────> as patched     or as it was
//! delete ─> object shown, busy ─────────> gone           or as it was
//! ```

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Map, Value, json};

use super::collections;
use super::config::GoogleConfig;
use super::error::Refusal;
use super::key::{COMPUTE, Key, Place};
use super::operation::Operation;

/// The JSON object of a resource.
pub(crate) type Body = Map<String, Value>;

/// Everything that exists.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) config: GoogleConfig,
    objects: BTreeMap<Key, Object>,
    pub(crate) operations: BTreeMap<String, Operation>,
    /// Operations by project and request id, with the request that they answered.
    requests: BTreeMap<(String, String), (String, String)>,
    /// Service accounts that IAM does not know everywhere yet, with the calls that it still refuses.
    pub(crate) late: BTreeMap<Key, u32>,
    serial: u64,
}

/// One object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) body: Body,
    /// The operation that is changing it.
    pub(crate) busy: Option<Busy>,
}

/// An operation under way on an object.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub(crate) operation: String,
    /// Whether the object is being made or deleted, so that others cannot use it.
    pub(crate) unusable: bool,
    /// Whether the object is being made.
    pub(crate) unborn: bool,
}

/// What an operation does when it ends well.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A new object.
    Insert(Body),
    /// Other contents.
    Replace(Body),
    /// The end of the object.
    Delete,
    /// Nothing, because it was refused.
    Nothing,
}

/// What is asked of the world.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) key: Key,
    /// The request as one text, to compare requests with the same id.
    pub(crate) text: String,
    pub(crate) request_id: Option<&'a str>,
    /// The error in which the operation is to end.
    pub(crate) fail: Option<Refusal>,
}

impl World {
    pub(crate) fn new(config: GoogleConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// The next number: identities, times and fingerprints come from it, so that the same calls give the same world.
    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Time as Compute writes it; one second a number.
    pub(crate) fn time(serial: u64) -> String {
        let (day, hour, minute, second) =
            (serial / 86_400 % 28 + 1, serial / 3600 % 24, serial / 60 % 60, serial % 60);
        format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000-08:00")
    }

    /// The next moment, as services other than Compute write time.
    pub(crate) fn stamp(&mut self) -> String {
        let serial = self.next();
        Self::time(serial).replace("-08:00", "Z")
    }

    /// Eight bytes that no other fingerprint has, in the URL-safe base64 that the format `byte` is.
    pub(crate) fn fingerprint(&mut self) -> String {
        let number = self.next().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        URL_SAFE.encode(number.to_be_bytes())
    }

    /// Every object, in the order of collections, projects, places and names.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter()
    }

    /// The objects of a collection that are there for others: those being deleted too.
    pub(crate) fn of(&self, collection: &str) -> impl Iterator<Item = (&Key, &Body)> {
        let collection = collection.to_owned();
        self.objects
            .iter()
            .filter(move |(key, _)| key.collection == collection)
            .map(|(key, object)| (key, &object.body))
    }

    pub(crate) fn find(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    pub(crate) fn put(&mut self, key: Key, body: Body) {
        self.objects.insert(key, Object { body, busy: None });
    }

    /// Other contents of an object, whatever operation is changing it.
    pub(crate) fn replace(&mut self, key: &Key, body: Body) {
        if let Some(object) = self.objects.get_mut(key) {
            object.body = body;
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
    }

    /// The object that a field links to, for use by another. `collection` is what the field must link to.
    ///
    /// # Errors
    /// The link is not one, the object is not there, or it is being made or deleted.
    pub(crate) fn linked(
        &self,
        field: &str,
        link: &str,
        collection: &str,
        project: &str,
    ) -> Result<(Key, &Body), Refusal> {
        let malformed = || Refusal::invalid(field, link, "The URL is malformed.");
        let key = Key::parse(link, project).ok_or_else(malformed)?;
        if key.collection != collection {
            let why = format!("The referenced resource is not of the collection '{collection}'.");
            return Err(Refusal::invalid(field, link, &why));
        }
        let Some(object) = self.objects.get(&key) else { return Err(Refusal::not_found(&key.path())) };
        if object.busy.as_ref().is_some_and(|busy| busy.unusable) {
            return Err(Refusal::not_ready(&key.path()));
        }
        Ok((key, &object.body))
    }

    /// The object of a read or a change. What is not shown yet is not found.
    pub(crate) fn shown(&self, key: &Key) -> Result<&Object, Refusal> {
        let hidden = |object: &&Object| {
            self.config.show_unfinished || object.busy.as_ref().is_none_or(|busy| !busy.unborn)
        };
        self.objects.get(key).filter(hidden).ok_or_else(|| Refusal::not_found(&key.path()))
    }

    /// The object of a change, which must have no other change under way.
    pub(crate) fn idle(&self, key: &Key) -> Result<&Body, Refusal> {
        let object = self.shown(key)?;
        if object.busy.is_some() { Err(Refusal::not_ready(&key.path())) } else { Ok(&object.body) }
    }

    /// The first object that links to `key`, in one of its stored fields.
    pub(crate) fn user_of(&self, key: &Key) -> Option<&Key> {
        self.objects.iter().find_map(|(other, object)| {
            let uses = other != key
                && object.body.iter().any(|(name, value)| {
                    // What a managed instance is to have is used by the instance, while there is one.
                    name != "selfLink"
                        && name != collections::groups::MANAGED
                        && links(value).any(|link| Key::parse(link, &other.project).as_ref() == Some(key))
                });
            uses.then_some(other)
        })
    }

    /// Says that someone looked at this object, which lets its operation go on.
    pub(crate) fn look(&mut self, key: &Key) {
        let operation = self.objects.get(key).and_then(|object| object.busy.as_ref());
        if let Some(operation) = operation.map(|busy| busy.operation.clone()) {
            self.advance(&operation);
        }
    }

    /// Changes the fingerprints of an object, as someone else's change would.
    pub(crate) fn overtake(&mut self, key: &Key) {
        let fresh = self.fingerprint();
        if let Some(object) = self.objects.get_mut(key) {
            for name in ["fingerprint", "labelFingerprint", "etag"] {
                if object.body.contains_key(name) {
                    object.body.insert(name.to_owned(), json!(fresh));
                }
            }
        }
    }

    /// Changes an object behind the API's back; the fingerprint changes too.
    pub(crate) fn tamper(&mut self, path: &str, change: impl FnOnce(&mut Body)) -> bool {
        let Some(key) = self.objects.keys().find(|key| key.path() == path).cloned() else { return false };
        if let Some(object) = self.objects.get_mut(&key) {
            change(&mut object.body);
        }
        self.overtake(&key);
        true
    }

    /// The operation that an earlier request with the same id began.
    ///
    /// # Errors
    /// That request was another one.
    pub(crate) fn replay(&self, asked: &Asked<'_>) -> Result<Option<String>, Refusal> {
        let Some(id) = asked.request_id else { return Ok(None) };
        match self.requests.get(&(asked.key.project.clone(), id.to_owned())) {
            Some((text, operation)) if *text == asked.text => Ok(Some(operation.clone())),
            Some(_) => Err(Refusal::invalid("requestId", id, "The id was used for another request.")),
            None => Ok(None),
        }
    }

    /// Begins the operation that makes `change`, and returns its name.
    pub(crate) fn begin(&mut self, asked: Asked<'_>, change: Change) -> String {
        let serial = self.next();
        let mut operation = Operation::new(serial, &asked, change, self.config.polls);
        let name = operation.name.clone();
        if let Some(id) = asked.request_id {
            self.requests.insert((asked.key.project.clone(), id.to_owned()), (asked.text, name.clone()));
        }
        let key = asked.key;
        let busy = |unusable, unborn| Some(Busy { operation: name.clone(), unusable, unborn });
        match &operation.change {
            Change::Insert(body) => {
                let object = Object { body: body.clone(), busy: busy(true, true) };
                self.objects.insert(key.clone(), object);
            }
            Change::Replace(_) => {
                if let Some(object) = self.objects.get_mut(&key) {
                    object.busy = busy(false, false);
                }
            }
            Change::Delete => {
                if let Some(object) = self.objects.get_mut(&key) {
                    object.busy = busy(true, false);
                }
            }
            Change::Nothing => {}
        }
        let id = self.objects.get(&key).and_then(|object| object.body.get("id")?.as_str());
        operation.target_id = id.map(str::to_owned);
        self.operations.insert(name.clone(), operation);
        if self.config.polls == 0 {
            self.finish(&name);
        }
        name
    }

    /// Lets an operation go on by one look.
    pub(crate) fn advance(&mut self, name: &str) {
        let Some(operation) = self.operations.get_mut(name) else { return };
        if operation.left > 0 {
            operation.left -= 1;
        } else if !operation.done {
            self.finish(name);
        }
    }

    /// Lets all operations go on. Who asks again for a change that another one is in the way of may be the only caller left:
    /// the process that looked after that one may be dead.
    pub(crate) fn pass(&mut self) {
        let under_way = self.operations.iter().filter(|(_, operation)| !operation.done);
        let names: Vec<String> = under_way.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.advance(&name);
        }
    }

    /// Ends an operation.
    pub(crate) fn finish(&mut self, name: &str) {
        let end = self.next();
        let Some(operation) = self.operations.get_mut(name) else { return };
        if operation.done {
            return;
        }
        operation.left = 0;
        operation.done = true;
        operation.ended = end;
        let (key, failed) = (operation.target.clone(), operation.error.is_some());
        let change = std::mem::replace(&mut operation.change, Change::Nothing);
        let rules = collections::rules(&key.collection);
        if failed {
            match change {
                Change::Insert(_) => self.remove(&key),
                Change::Replace(_) | Change::Delete => self.release(&key),
                Change::Nothing => {}
            }
            return;
        }
        match change {
            Change::Insert(_) => {
                self.release(&key);
                if let Some(rules) = rules {
                    rules.inserted(self, &key);
                }
            }
            Change::Replace(mut body) => {
                if body.contains_key("fingerprint") {
                    body.insert("fingerprint".to_owned(), json!(self.fingerprint()));
                }
                self.put(key, body);
            }
            Change::Delete => {
                self.remove(&key);
                if let Some(rules) = rules {
                    rules.deleted(self, &key);
                }
            }
            Change::Nothing => {}
        }
    }

    fn release(&mut self, key: &Key) {
        if let Some(object) = self.objects.get_mut(key) {
            object.busy = None;
        }
    }

    /// An object as the API shows it.
    pub(crate) fn present(&self, key: &Key, body: &Body) -> Value {
        let mut body = body.clone();
        if let Some(rules) = collections::rules(&key.collection) {
            rules.present(self, key, &mut body);
        }
        Value::Object(body)
    }

    /// Fields that every object of Compute has.
    pub(crate) fn complete(&mut self, key: &Key, kind: &str, body: &mut Body) {
        let serial = self.next();
        body.insert("kind".to_owned(), json!(kind));
        body.insert("id".to_owned(), json!((4_000_000_000_000_000_000 + serial).to_string()));
        body.insert("creationTimestamp".to_owned(), json!(Self::time(serial)));
        body.insert("selfLink".to_owned(), json!(key.link()));
        let place = match &key.place {
            Place::Global => None,
            Place::Region(region) => {
                Some(("region", format!("{COMPUTE}projects/{}/regions/{region}", key.project)))
            }
            Place::Zone(zone) => Some(("zone", format!("{COMPUTE}projects/{}/zones/{zone}", key.project))),
        };
        if let Some((name, link)) = place {
            body.insert(name.to_owned(), json!(link));
        }
    }
}

/// All texts in a value.
fn links(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(values) => Box::new(values.iter().flat_map(links)),
        Value::Object(members) => Box::new(members.values().flat_map(links)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Lays a patch over an object as RFC 7396 says: objects are merged, lists replaced, nulls remove.
pub(crate) fn merge(into: &mut Body, patch: &Body) {
    for (name, value) in patch {
        match value {
            Value::Null => {
                into.remove(name);
            }
            Value::Object(members) => {
                let old = into.entry(name.clone()).or_insert_with(|| json!({}));
                match old {
                    Value::Object(old) => merge(old, members),
                    other => *other = value.clone(),
                }
            }
            other => {
                into.insert(name.clone(), other.clone());
            }
        }
    }
}
