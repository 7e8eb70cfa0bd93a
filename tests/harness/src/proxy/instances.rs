//! Instances take time: the emulator runs and terminates them at once, and knows a profile as soon as IAM does.
//!
//! ```text
//! run -> pending (N describes) -> running -> terminate -> shutting-down (M describes) -> terminated
//! ```
//!
//! Describes answer with instances inside of reservations, which is why they are no class of [`super::lifecycle`].

use std::collections::BTreeMap;

use super::config::ProxyConfig;
use super::request::Request;
use crate::front::reply::Rejection;
use crate::xml::Element;

/// Instances between two states, and profiles that EC2 does not know yet.
#[derive(Debug, Default)]
pub(super) struct Instances {
    transitions: BTreeMap<String, (&'static str, u32)>,
    profiles: BTreeMap<String, u32>,
}

impl Instances {
    /// Refuses what a new profile, a pending instance or one that is being terminated cannot do.
    pub(super) fn refuse(&mut self, request: &Request, config: &ProxyConfig) -> Option<Rejection> {
        match request.action.as_str() {
            "RunInstances" => self.refuse_profile(request.params.get("IamInstanceProfile.Arn"), config),
            "CreateFlowLogs" => refuse_interval(request, config)
                .or_else(|| self.refuse_role(request.params.get("DeliverLogsPermissionArn"), config)),
            "AssociateAddress" => {
                let id = request.params.get("InstanceId");
                let (state, _) = self.transitions.get(id)?;
                // A refused call counts as a describe, so that a client which only repeats it gets on too.
                let state = *state;
                self.step(id);
                let message =
                    format!("The {state} instance '{id}' is not in a valid state for this operation.");
                Some(Rejection::new("InvalidInstanceID", message))
            }
            _ => None,
        }
    }

    fn refuse_profile(&mut self, arn: &str, config: &ProxyConfig) -> Option<Rejection> {
        if arn.is_empty() || !config.rules {
            return None;
        }
        let left = self.profiles.entry(arn.to_owned()).or_insert(config.consistency.writes);
        if *left == 0 {
            return None;
        }
        *left -= 1;
        // EC2 first knows the profile, then its role (hashicorp/terraform issue 4306).
        let message = if *left == 0 {
            format!("IAM Instance Profile \"{arn}\" has no associated IAM Roles")
        } else {
            format!(
                "Value ({arn}) for parameter iamInstanceProfile.arn is invalid. Invalid IAM Instance Profile ARN"
            )
        };
        Some(Rejection::new("InvalidParameterValue", message))
    }

    /// A new role of a flow log (hashicorp/aws issue 29323).
    fn refuse_role(&mut self, arn: &str, config: &ProxyConfig) -> Option<Rejection> {
        if arn.is_empty() || !config.rules {
            return None;
        }
        let left = self.profiles.entry(arn.to_owned()).or_insert(config.consistency.writes);
        *left = left.checked_sub(1)?;
        Some(Rejection::new("InvalidParameter", format!("Unable to assume given IAM role: '{arn}'")))
    }

    /// Whether answers of this action may need a change.
    pub(super) fn concerns(action: &str) -> bool {
        matches!(action, "RunInstances" | "DescribeInstances" | "TerminateInstances")
    }

    /// Notes what a call has begun, and shows states in its answer.
    pub(super) fn show(&mut self, action: &str, answer: &mut Element, config: &ProxyConfig) {
        match action {
            "RunInstances" => {
                for item in items(answer, "instancesSet") {
                    let id = item.text_at("instanceId").to_owned();
                    if config.pending > 0 {
                        self.transitions.insert(id, ("pending", config.pending));
                    }
                    set_state(item, "instanceState", "pending");
                }
            }
            "TerminateInstances" => {
                for item in items(answer, "instancesSet") {
                    let id = item.text_at("instanceId").to_owned();
                    self.transitions.remove(&id);
                    if config.deleting > 0 {
                        self.transitions.insert(id, ("shutting-down", config.deleting));
                    }
                    set_state(item, "currentState", "shutting-down");
                }
            }
            "DescribeInstances" => {
                for reservation in items(answer, "reservationSet") {
                    for item in items(reservation, "instancesSet") {
                        if let Some(state) = self.step(item.text_at("instanceId")) {
                            set_state(item, "instanceState", state);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn step(&mut self, id: &str) -> Option<&'static str> {
        let (state, left) = self.transitions.get_mut(id)?;
        let state = *state;
        *left -= 1;
        if *left == 0 {
            self.transitions.remove(id);
        }
        Some(state)
    }
}

fn items<'a>(holder: &'a mut Element, set: &str) -> impl Iterator<Item = &'a mut Element> {
    holder
        .child_mut(set)
        .into_iter()
        .flat_map(|set| set.children.iter_mut().filter(|item| item.name == "item"))
}

fn set_state(item: &mut Element, element: &str, state: &str) {
    let code = match state {
        "pending" => "0",
        "shutting-down" => "32",
        _ => return,
    };
    if let Some(holder) = item.child_mut(element) {
        holder.set_text("code", code);
        holder.set_text("name", state);
    }
}

/// A transit gateway is logged every 60 seconds ("Create a flow log" in the guide of transit gateways). The message is our own.
fn refuse_interval(request: &Request, config: &ProxyConfig) -> Option<Rejection> {
    let transit = request.params.get("ResourceType").starts_with("TransitGateway");
    if !config.rules || !transit || request.params.get("MaxAggregationInterval") == "60" {
        return None;
    }
    let message = "The maximum aggregation interval of a transit gateway must be 60 seconds";
    Some(Rejection::new("InvalidParameter", message))
}
