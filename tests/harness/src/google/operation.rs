//! Operations: what a change is doing, in Compute's and in the other services' form.

use serde_json::{Value, json};

use super::error::Refusal;
use super::key::{COMPUTE, Key, PERIMETERS, Place};
use super::world::{Asked, Change, World};

/// A change under way, or ended.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// The last part of its name.
    pub(crate) name: String,
    /// The method's id.
    pub(crate) method: String,
    /// What it works on.
    pub(crate) target: Key,
    /// The number of that object, where Compute gave it one.
    pub(crate) target_id: Option<String>,
    /// What it does when it ends well.
    pub(crate) change: Change,
    /// How it ends badly.
    pub(crate) error: Option<Refusal>,
    /// How many looks still show it unfinished.
    pub(crate) left: u32,
    /// Whether it has ended.
    pub(crate) done: bool,
    /// When it began and ended.
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

impl Operation {
    pub(crate) fn new(serial: u64, asked: &Asked<'_>, change: Change, polls: u32) -> Self {
        let name = if asked.method.starts_with("compute.") {
            format!("operation-1767225600000-{serial:013x}-{:08x}-{:08x}", serial * 7, serial * 13)
        } else {
            format!("00000000-0000-4000-8000-{serial:012x}")
        };
        Self {
            name,
            method: asked.method.to_owned(),
            target: asked.key.clone(),
            target_id: None,
            change,
            error: asked.fail.clone(),
            left: polls,
            done: false,
            began: serial,
            ended: serial,
        }
    }

    /// Compute's form.
    pub(crate) fn compute(&self) -> Value {
        let Key { project, place, .. } = &self.target;
        let (home, scope) = match place {
            Place::Global => ("global".to_owned(), None),
            Place::Region(region) => (format!("regions/{region}"), Some("region")),
            Place::Zone(zone) => (format!("zones/{zone}"), Some("zone")),
        };
        let status = match (self.done, self.left) {
            (true, _) => "DONE",
            (false, 0) => "RUNNING",
            (false, _) => "PENDING",
        };
        let mut shown = json!({
            "kind": "compute#operation",
            "id": (5_000_000_000_000_000_000 + self.began).to_string(),
            "name": self.name,
            "operationType": self.method.rsplit('.').next(),
            "targetLink": self.target.link(),
            "status": status,
            "user": "someone@example.com",
            "progress": match status { "DONE" => 100, "RUNNING" => 50, _ => 0 },
            "insertTime": World::time(self.began),
            "startTime": World::time(self.began),
            "selfLink": format!("{COMPUTE}projects/{project}/{home}/operations/{}", self.name),
        });
        if let Some(id) = &self.target_id {
            shown["targetId"] = json!(id);
        }
        if let Some(scope) = scope {
            shown[scope] = json!(format!("{COMPUTE}projects/{project}/{home}"));
        }
        if self.done {
            shown["endTime"] = json!(World::time(self.ended));
            if let Some(error) = &self.error {
                shown["httpErrorStatusCode"] = json!(error.status.as_u16());
                shown["httpErrorMessage"] =
                    json!(error.status.canonical_reason().unwrap_or("ERROR").to_uppercase());
                shown["error"] = json!({"errors": [{"code": error.code(), "message": error.message}]});
            }
        }
        shown
    }

    /// Cloud DNS's form, which has no error.
    pub(crate) fn dns(&self) -> Value {
        json!({
            "kind": "dns#operation",
            "id": self.name,
            "startTime": World::time(self.began).replace("-08:00", "Z"),
            "status": if self.done { "done" } else { "pending" },
            "type": "UPDATE",
            "user": "someone@example.com",
        })
    }

    /// The form of `google.longrunning`. `result` is the object as it is now, `kind` its type.
    pub(crate) fn long_running(&self, kind: &str, result: Option<Value>) -> Value {
        let place = match &self.target.place {
            Place::Global => "global",
            Place::Region(place) | Place::Zone(place) => place,
        };
        let package = kind.rsplit_once('.').map_or(kind, |(package, _)| package);
        let (name, metadata) = if self.target.collection == PERIMETERS {
            let verb = self.method.rsplit('.').next().unwrap_or_default();
            let name = format!("operations/{}/{verb}/{}", self.target, self.name);
            (name, "AccessContextManagerOperationMetadata")
        } else {
            let name = format!("projects/{}/locations/{place}/operations/{}", self.target.project, self.name);
            (name, "OperationMetadata")
        };
        let mut shown = json!({
            "name": name,
            "metadata": {"@type": format!("type.googleapis.com/{package}.{metadata}")},
        });
        if self.done {
            shown["done"] = json!(true);
            if let Some(error) = &self.error {
                shown["error"] = json!({"code": error.canonical().0, "message": error.message});
            } else if let (Some(mut result), false) = (result, self.method.ends_with(".delete")) {
                result["@type"] = json!(format!("type.googleapis.com/{kind}"));
                shown["response"] = result;
            } else {
                shown["response"] = json!({"@type": "type.googleapis.com/google.protobuf.Empty"});
            }
        }
        shown
    }
}
