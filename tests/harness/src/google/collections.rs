//! Google's rules, one file a collection.

use serde_json::Value;

use super::error::Refusal;
use super::key::Key;
use super::world::{Body, World};

pub(crate) mod accounts;
mod addresses;
mod disks;
mod firewalls;
mod forwarding_rules;
pub(crate) mod groups;
mod instances;
pub(crate) mod labels;
mod networks;
mod peerings;
pub(crate) mod perimeters;
mod places;
pub(crate) mod ranges;
pub(crate) mod records;
pub(crate) mod repositories;
mod routers;
mod routes;
pub(crate) mod secrets;
mod subnetworks;
mod templates;
pub(crate) mod zones;

pub(crate) use peerings::active_peers;
pub(crate) use places::{known as known_project, number, project, region, zone, zones};

/// What is particular to the objects of one collection.
pub(crate) trait Rules: Sync {
    /// `compute#network`; for services other than Compute the name of the message.
    fn kind(&self) -> &'static str;

    /// The word in Google's messages.
    fn word(&self) -> &'static str;

    /// The quota that counts them, and where.
    fn quota(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Judges a new object and sets what Google would set.
    fn insert(&self, world: &mut World, key: &Key, body: &mut Body) -> Result<(), Refusal>;

    /// Judges a patch or an update; `new` is the object as it would become, `sent` what the client sent.
    fn change(&self, _world: &mut World, key: &Key, _change: Change<'_>) -> Result<(), Refusal> {
        Err(Refusal::bad("invalid", format!("The resource '{key}' cannot be changed.")))
    }

    /// Judges a delete.
    fn delete(&self, world: &World, key: &Key) -> Result<(), Refusal> {
        match world.user_of(key) {
            Some(user) => Err(Refusal::in_use(self.word(), &key.path(), &user.path())),
            None => Ok(()),
        }
    }

    /// A method of its own that changes the object, such as `setPrivateIpGoogleAccess`; `None` if there is no such.
    fn act(
        &self,
        _world: &mut World,
        _key: &Key,
        _verb: &str,
        _sent: &Body,
    ) -> Option<Result<Body, Refusal>> {
        None
    }

    /// What comes with a new object.
    fn inserted(&self, _world: &mut World, _key: &Key) {}

    /// What goes with a deleted one.
    fn deleted(&self, _world: &mut World, _key: &Key) {}

    /// Adds what depends on other objects.
    fn present(&self, _world: &World, _key: &Key, _body: &mut Body) {}

    /// Objects that are shown but not stored, of one project.
    fn implied(&self, _world: &World, _project: &str) -> Vec<(Key, Value)> {
        Vec::new()
    }
}

/// A patch or an update.
pub(crate) struct Change<'a> {
    /// The object as it is.
    pub(crate) old: &'a Body,
    /// The object as it would become; rules may complete it.
    pub(crate) new: &'a mut Body,
    /// What the client sent.
    pub(crate) sent: &'a Body,
}

impl Change<'_> {
    /// Refuses changes of these fields. A field that is sent as it was is not changed.
    pub(crate) fn keep(&self, fields: &[&str]) -> Result<(), Refusal> {
        let changed = fields.iter().find(|field| self.old.get(**field) != self.new.get(**field));
        match changed {
            Some(field) => {
                let value = self.new.get(*field).map(ToString::to_string).unwrap_or_default();
                Err(Refusal::invalid(&format!("resource.{field}"), &value, "The field cannot be changed."))
            }
            None => Ok(()),
        }
    }

    /// Refuses a change without the current fingerprint.
    pub(crate) fn fingerprint(&self, what: &str) -> Result<(), Refusal> {
        match self.sent.get("fingerprint") {
            None => Err(Refusal::bad("required", "Required field 'resource.fingerprint' not specified")),
            sent if sent == self.old.get("fingerprint") => Ok(()),
            Some(_) => Err(Refusal::stale(what)),
        }
    }
}

/// A field as text; empty where it is absent.
pub(crate) fn text<'a>(body: &'a Body, field: &str) -> &'a str {
    body.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A field as a flag; false where it is absent.
pub(crate) fn flag(body: &Body, field: &str) -> bool {
    body.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// A field as a list; empty where it is absent.
pub(crate) fn list<'a>(body: &'a Body, field: &str) -> &'a [Value] {
    body.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A field's texts; empty where it is absent.
pub(crate) fn texts<'a>(body: &'a Body, field: &str) -> Vec<&'a str> {
    list(body, field).iter().filter_map(Value::as_str).collect()
}

/// Sets a field that the client has left out.
pub(crate) fn default(body: &mut Body, field: &str, value: impl Into<Value>) {
    if body.get(field).is_none_or(Value::is_null) {
        body.insert(field.to_owned(), value.into());
    }
}

/// Replaces a link by the form that Google stores, after a check that its target is there.
pub(crate) fn link(
    world: &World,
    key: &Key,
    body: &mut Body,
    field: &str,
    collection: &str,
) -> Result<Option<Key>, Refusal> {
    let sent = text(body, field);
    if sent.is_empty() {
        return Ok(None);
    }
    let (target, _) = world.linked(&format!("resource.{field}"), sent, collection, &key.project)?;
    body.insert(field.to_owned(), target.link().into());
    Ok(Some(target))
}

/// Every collection: its resources in the document, its name in links, its rules.
const TABLE: [(&[&str], &str, &dyn Rules); 16] = [
    (&["networks"], "networks", &networks::Networks),
    (&["subnetworks"], "subnetworks", &subnetworks::Subnetworks),
    (&["firewalls"], "firewalls", &firewalls::Firewalls),
    (&["routes"], "routes", &routes::Routes),
    (&["routers"], "routers", &routers::Routers),
    (&["addresses", "globalAddresses"], "addresses", &addresses::Addresses),
    (&["forwardingRules", "globalForwardingRules"], "forwardingRules", &forwarding_rules::ForwardingRules),
    (&["instances"], "instances", &instances::Instances),
    (&["disks"], "disks", &disks::Disks),
    (&["instanceTemplates"], "instanceTemplates", &templates::Templates),
    (&["instanceGroupManagers"], "instanceGroupManagers", &groups::Groups),
    (&["repositories"], "repositories", &repositories::Repositories),
    (&["servicePerimeters"], "servicePerimeters", &perimeters::Perimeters),
    (&["secrets"], "secrets", &secrets::Secrets),
    (&["serviceAccounts"], "serviceAccounts", &accounts::Accounts),
    (&["managedZones"], "managedZones", &zones::Zones),
];

/// The rules of a collection by the name that links have.
pub(crate) fn rules(collection: &str) -> Option<&'static dyn Rules> {
    TABLE.iter().find(|(_, name, _)| *name == collection).map(|(_, _, rules)| *rules)
}

/// The collection of a resource in Compute's document, where the double serves it.
pub(crate) fn served(resource: &str) -> Option<(&'static str, &'static dyn Rules)> {
    TABLE.iter().find(|(resources, ..)| resources.contains(&resource)).map(|(_, name, rules)| (*name, *rules))
}

/// All collections that have a quota.
pub(crate) fn counted() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().filter_map(|(_, name, rules)| Some((*name, rules.quota()?.0)))
}
