//! The Route 53 Resolver takes time: the emulator creates, changes and deletes at once.
//!
//! ```text
//! create -> CREATING (N reads) -> OPERATIONAL or COMPLETE -> delete -> DELETING (M reads) -> not found
//! update -> UPDATING (N reads) -> OPERATIONAL
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde_json::{Value, json};

use super::config::ProxyConfig;
use super::request::Request;
use crate::front::reply::{Rejection, Reply};

/// Objects between two states.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    changing: BTreeMap<String, (&'static str, u32)>,
    /// What the emulator has deleted already, as it was.
    leaving: BTreeMap<String, (Value, u32)>,
}

/// One kind of object: its member in an answer, its list, and the parameter with its ID.
const KINDS: &[(&str, &str, &str)] = &[
    ("ResolverEndpoint", "ResolverEndpoints", "ResolverEndpointId"),
    ("ResolverRule", "ResolverRules", "ResolverRuleId"),
    ("ResolverRuleAssociation", "ResolverRuleAssociations", "ResolverRuleAssociationId"),
];

impl Resolver {
    /// Refuses what an object that is still being changed or deleted prevents. A refused call counts as a read.
    pub(super) fn refuse(&mut self, request: &Request) -> Option<Rejection> {
        let get = |name: &str| request.params.get(name).to_owned();
        match request.action.as_str() {
            "DeleteResolverRule" => {
                let rule = get("ResolverRuleId");
                let leaving = self.leaving.iter();
                let mut leaving =
                    leaving.filter(|(_, (object, _))| object["ResolverRuleId"] == rule.as_str());
                let association = leaving.next()?.0.clone();
                self.step(&association);
                Some(Rejection::new(
                    "ResourceInUseException",
                    "Please disassociate this resolver rule from VPC first before deleting",
                ))
            }
            "DeleteResolverEndpoint" => {
                let endpoint = get("ResolverEndpointId");
                let leaving = self.leaving.iter();
                let mut leaving =
                    leaving.filter(|(_, (object, _))| object["ResolverEndpointId"] == endpoint.as_str());
                let rule = leaving.next()?.0.clone();
                self.step(&rule);
                Some(Rejection::new(
                    "InvalidRequestException",
                    format!(
                        "Cannot delete resolver endpoint unless its related resolver rules are deleted. The following \
                         rules still exist for this resolver endpoint: {rule}"
                    ),
                ))
            }
            "AssociateResolverEndpointIpAddress" | "DisassociateResolverEndpointIpAddress" => {
                let endpoint = get("ResolverEndpointId");
                let (state, _) = *self.changing.get(&endpoint)?;
                self.step(&endpoint);
                let message =
                    format!("[RSLVR-00305] Cannot update resolver endpoint {endpoint} in status {state}.");
                Some(Rejection::new("InvalidRequestException", message))
            }
            _ => None,
        }
    }

    /// Notes what a call has begun, and shows states in its answer.
    pub(super) fn show(&mut self, request: &Request, reply: Reply, config: &ProxyConfig) -> Reply {
        let action = request.action.as_str();
        if !reply.status().is_success() {
            let id = KINDS.iter().map(|(_, _, id)| request.params.get(id)).find(|id| !id.is_empty());
            return match id.filter(|_| action.starts_with("Get")).and_then(|id| self.left(id)) {
                Some((kind, object)) => answer(&json!({ kind: object })),
                None => reply,
            };
        }
        let Ok(mut body) = serde_json::from_slice::<Value>(reply.body()) else { return reply };
        for (kind, list, _) in KINDS {
            if let Some(object) = body.get_mut(*kind) {
                self.one(action, kind, object, config);
            }
            if let Some(Value::Array(objects)) =
                body.get_mut(*list).filter(|_| action == format!("List{list}"))
            {
                for object in &mut *objects {
                    let id = object["Id"].as_str().unwrap_or_default().to_owned();
                    if let Some(state) = self.step(&id) {
                        object["Status"] = state.into();
                    }
                }
                let leaving = self.leaving.values().map(|(object, _)| object.clone());
                let same = leaving.filter(|object| kind_of(object) == *kind && matches(request, object));
                for object in same.collect::<Vec<_>>() {
                    self.step(object["Id"].as_str().unwrap_or_default());
                    objects.push(object);
                }
            }
        }
        answer(&body)
    }

    fn one(&mut self, action: &str, kind: &str, object: &mut Value, config: &ProxyConfig) {
        let id = object["Id"].as_str().unwrap_or_default().to_owned();
        let gone = action == "DeleteResolverEndpoint"
            || action == "DeleteResolverRule"
            || action == "DisassociateResolverRule";
        if gone {
            object["Status"] = "DELETING".into();
            self.changing.remove(&id);
            if config.deleting > 0 {
                self.leaving.insert(id, (object.clone(), config.deleting));
            }
            return;
        }
        let begun = match action {
            "CreateResolverEndpoint" | "AssociateResolverRule" => Some("CREATING"),
            "UpdateResolverEndpoint"
            | "AssociateResolverEndpointIpAddress"
            | "DisassociateResolverEndpointIpAddress"
            | "UpdateResolverRule" => Some("UPDATING"),
            _ => None,
        };
        match begun {
            Some(state) if config.pending > 0 => {
                self.changing.insert(id, (state, config.pending));
                object["Status"] = state.into();
            }
            Some(_) => {}
            None => {
                if let Some(state) = self.step(&id) {
                    object["Status"] = state.into();
                }
            }
        }
        debug_assert_eq!(kind_of(object), kind);
    }

    fn step(&mut self, id: &str) -> Option<&'static str> {
        if let Some((_, left)) = self.leaving.get_mut(id) {
            *left -= 1;
            if *left == 0 {
                self.leaving.remove(id);
            }
            return Some("DELETING");
        }
        let (state, left) = self.changing.get_mut(id)?;
        let state = *state;
        *left -= 1;
        if *left == 0 {
            self.changing.remove(id);
        }
        Some(state)
    }

    fn left(&mut self, id: &str) -> Option<(&'static str, Value)> {
        let object = self.leaving.get(id)?.0.clone();
        self.step(id);
        Some((kind_of(&object), object))
    }
}

/// The kind of an object, from its ID.
fn kind_of(object: &Value) -> &'static str {
    let id = object["Id"].as_str().unwrap_or_default();
    if id.starts_with("rslvr-rrassoc-") {
        "ResolverRuleAssociation"
    } else if id.starts_with("rslvr-rr-") {
        "ResolverRule"
    } else {
        "ResolverEndpoint"
    }
}

/// Whether an object passes the filters of a list, as far as they name its members.
fn matches(request: &Request, object: &Value) -> bool {
    let filters = request.json.as_ref().and_then(|body| body["Filters"].as_array());
    filters.into_iter().flatten().all(|filter| {
        let member = &object[filter["Name"].as_str().unwrap_or_default()];
        filter["Values"].as_array().is_none_or(|values| values.contains(member))
    })
}

fn answer(body: &Value) -> Reply {
    let mut reply = Response::new(Bytes::from(body.to_string()));
    *reply.status_mut() = StatusCode::OK;
    let kind = header::HeaderValue::from_static("application/x-amz-json-1.1");
    reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    reply
}
