//! States that take time: the emulator creates and deletes at once, AWS does not.
//!
//! ```text
//! create -> pending (N describes) -> available -> delete -> deleting (M describes) -> deleted | gone
//! peering: initiating-request (N) -> pending-acceptance -> accept -> provisioning (N) -> active
//!          overlapping ranges: failed
//! ```
//!
//! While an object is deleting, what it names (subnets, addresses, groups) is still in use. A refused call counts as
//! a describe, so that a client which only repeats its delete gets on too.

use std::collections::{BTreeMap, BTreeSet};

use super::config::ProxyConfig;
use super::filters::{self, Filter};
use super::request::Request;
use crate::front::reply::Rejection;
use crate::query::Params;
use crate::xml::Element;

/// What is left of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    /// The emulator keeps listing it as deleted, as AWS does for about an hour.
    Listed,
    /// The emulator forgets it, AWS lists it as deleted: the proxy adds it.
    Ghost,
    /// The emulator lists it as deleted, AWS forgets it: the proxy leaves it out.
    Nothing,
}

/// How one kind of object lives.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) id: &'static str,
    pub(super) describe: &'static str,
    pub(super) set: &'static str,
    /// List parameter of ids in the describe.
    pub(super) ids: &'static str,
    pub(super) create: &'static str,
    pub(super) delete: &'static str,
    /// Parameter of the delete: one id, or the prefix of a list of ids.
    pub(super) doomed: &'static str,
    /// All actions that answer with such objects, and the element that holds one or a set of them.
    shown: &'static [(&'static str, &'static str)],
    /// Path of the state.
    state: &'static str,
    pending: &'static str,
    remains: Remains,
    missing: (&'static str, &'static str),
}

pub(super) const CLASSES: &[Class] = &[
    Class {
        id: "natGatewayId",
        describe: "DescribeNatGateways",
        set: "natGatewaySet",
        ids: "NatGatewayId",
        create: "CreateNatGateway",
        delete: "DeleteNatGateway",
        doomed: "NatGatewayId",
        shown: &[("CreateNatGateway", "natGateway"), ("DescribeNatGateways", "natGatewaySet")],
        state: "state",
        pending: "pending",
        remains: Remains::Listed,
        missing: ("NatGatewayNotFound", "NatGateway {} was not found"),
    },
    Class {
        id: "vpcEndpointId",
        describe: "DescribeVpcEndpoints",
        set: "vpcEndpointSet",
        ids: "VpcEndpointId",
        create: "CreateVpcEndpoint",
        delete: "DeleteVpcEndpoints",
        doomed: "VpcEndpointId",
        shown: &[("CreateVpcEndpoint", "vpcEndpoint"), ("DescribeVpcEndpoints", "vpcEndpointSet")],
        state: "state",
        pending: "pending",
        remains: Remains::Nothing,
        missing: ("InvalidVpcEndpointId.NotFound", "The Vpc Endpoint Id '{}' does not exist"),
    },
    Class {
        id: "vpcPeeringConnectionId",
        describe: "DescribeVpcPeeringConnections",
        set: "vpcPeeringConnectionSet",
        ids: "VpcPeeringConnectionId",
        create: "CreateVpcPeeringConnection",
        delete: "DeleteVpcPeeringConnection",
        doomed: "VpcPeeringConnectionId",
        shown: &[
            ("CreateVpcPeeringConnection", "vpcPeeringConnection"),
            ("AcceptVpcPeeringConnection", "vpcPeeringConnection"),
            ("DescribeVpcPeeringConnections", "vpcPeeringConnectionSet"),
        ],
        state: "status/code",
        pending: "initiating-request",
        remains: Remains::Listed,
        missing: (
            "InvalidVpcPeeringConnectionID.NotFound",
            "The vpcPeeringConnection ID '{}' does not exist",
        ),
    },
    Class {
        id: "transitGatewayId",
        describe: "DescribeTransitGateways",
        set: "transitGatewaySet",
        ids: "TransitGatewayIds",
        create: "CreateTransitGateway",
        delete: "DeleteTransitGateway",
        doomed: "TransitGatewayId",
        shown: &[
            ("CreateTransitGateway", "transitGateway"),
            ("ModifyTransitGateway", "transitGateway"),
            ("DeleteTransitGateway", "transitGateway"),
            ("DescribeTransitGateways", "transitGatewaySet"),
        ],
        state: "state",
        pending: "pending",
        remains: Remains::Ghost,
        missing: ("InvalidTransitGatewayID.NotFound", "Transit Gateway {} was deleted or does not exist."),
    },
    Class {
        id: "transitGatewayAttachmentId",
        describe: "DescribeTransitGatewayVpcAttachments",
        set: "transitGatewayVpcAttachments",
        ids: "TransitGatewayAttachmentIds",
        create: "CreateTransitGatewayVpcAttachment",
        delete: "DeleteTransitGatewayVpcAttachment",
        doomed: "TransitGatewayAttachmentId",
        shown: &[
            ("CreateTransitGatewayVpcAttachment", "transitGatewayVpcAttachment"),
            ("ModifyTransitGatewayVpcAttachment", "transitGatewayVpcAttachment"),
            ("DeleteTransitGatewayVpcAttachment", "transitGatewayVpcAttachment"),
            ("DescribeTransitGatewayVpcAttachments", "transitGatewayVpcAttachments"),
            ("DescribeTransitGatewayAttachments", "transitGatewayAttachments"),
        ],
        state: "state",
        pending: "pending",
        remains: Remains::Ghost,
        missing: (
            "InvalidTransitGatewayAttachmentID.NotFound",
            "Transit Gateway Attachment {} was deleted or does not exist.",
        ),
    },
    Class {
        id: "transitGatewayRouteTableId",
        describe: "DescribeTransitGatewayRouteTables",
        set: "transitGatewayRouteTables",
        ids: "TransitGatewayRouteTableIds",
        create: "CreateTransitGatewayRouteTable",
        delete: "DeleteTransitGatewayRouteTable",
        doomed: "TransitGatewayRouteTableId",
        shown: &[
            ("CreateTransitGatewayRouteTable", "transitGatewayRouteTable"),
            ("DeleteTransitGatewayRouteTable", "transitGatewayRouteTable"),
            ("DescribeTransitGatewayRouteTables", "transitGatewayRouteTables"),
        ],
        state: "state",
        pending: "pending",
        remains: Remains::Listed,
        missing: (
            "InvalidRouteTableID.NotFound",
            "Transit Gateway Route Table {} was deleted or does not exist.",
        ),
    },
];

impl Class {
    /// The kind that an action answers with.
    fn shown_by(action: &str) -> Option<(&'static Self, &'static str)> {
        CLASSES.iter().find_map(|class| {
            class.shown.iter().find(|(shown, _)| *shown == action).map(|(_, container)| (class, *container))
        })
    }

    pub(super) fn deleted_by(action: &str) -> Option<&'static Self> {
        CLASSES.iter().find(|class| class.delete == action)
    }

    /// The ids that a delete names.
    pub(super) fn doomed(&self, params: &Params) -> Vec<String> {
        let single = params.get(self.doomed);
        let mut ids: Vec<String> = params.list(self.doomed).into_iter().map(str::to_owned).collect();
        if !single.is_empty() {
            ids.push(single.to_owned());
        }
        ids
    }

    /// The state of an item.
    pub(super) fn state_of<'e>(&self, item: &'e Element) -> &'e str {
        item.text_at(self.state)
    }

    pub(super) fn not_found(&self, id: &str) -> Rejection {
        Rejection::new(self.missing.0, self.missing.1.replace("{}", id))
    }
}

/// Objects between two states.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    transitions: BTreeMap<String, Transition>,
    ghosts: BTreeMap<String, (&'static str, Element)>,
    failed: BTreeSet<String>,
    /// NAT gateways that fail once they are not pending any more, with their VPC.
    broken: BTreeMap<String, String>,
    holds: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
struct Transition {
    state: &'static str,
    left: u32,
}

/// What a describe asked for that the proxy has to answer itself.
#[derive(Debug, Default)]
pub(super) struct Asked {
    filters: Vec<Filter>,
    kept: Vec<Filter>,
    ids: Vec<String>,
}

impl Asked {
    /// Takes filters on states and tags out of a describe of these kinds. The emulator does not know the shown state,
    /// and for some kinds ignores tags.
    pub(super) fn take(request: &mut Request) -> Self {
        let class = CLASSES.iter().find(|class| class.describe == request.action);
        let ignores_tags =
            ["DescribeFlowLogs", "DescribeTransitGatewayAttachments"].contains(&request.action.as_str());
        if class.is_none() && !ignores_tags {
            return Self::default();
        }
        let (filters, kept): (Vec<Filter>, Vec<Filter>) =
            request.params.filters().into_iter().partition(|filter| {
                filters::is_tag(filter) || (class.is_some() && filters::is_state(filter))
            });
        request.params.set_filters(&kept);
        let ids = class.map(|class| request.params.list(class.ids)).unwrap_or_default();
        Self { filters, kept, ids: ids.into_iter().map(str::to_owned).collect() }
    }

    fn wants(&self, id: &str, item: &Element) -> bool {
        (self.ids.is_empty() || self.ids.iter().any(|asked| asked == id))
            && self.kept.iter().all(|filter| filters::passes(item, filter))
    }

    fn is_plain(&self) -> bool {
        self.filters.is_empty()
    }
}

impl Lifecycle {
    /// Whether answers of this action may need a change.
    pub(super) fn concerns(&self, action: &str, asked: &Asked) -> bool {
        !asked.is_plain() || Class::shown_by(action).is_some()
    }

    /// Notes what a successful call has begun.
    pub(super) fn begun(&mut self, action: &str, answer: &Element, config: &ProxyConfig) {
        let mut begin = |id: &str, state| {
            if config.pending > 0 {
                self.transitions.insert(id.to_owned(), Transition { state, left: config.pending });
            }
        };
        let Some((class, container)) = Class::shown_by(action) else { return };
        let Some(item) = answer.child(container) else { return };
        if action == class.create {
            begin(item.text_at(class.id), class.pending);
        } else if action == "AcceptVpcPeeringConnection" {
            begin(item.text_at(class.id), "provisioning");
        }
    }

    /// Notes that an object, seen as `item` just before, is being deleted.
    pub(super) fn doom(&mut self, class: &Class, id: &str, item: Element, config: &ProxyConfig) {
        self.transitions.remove(id);
        self.broken.remove(id);
        if config.deleting > 0 {
            self.transitions.insert(id.to_owned(), Transition { state: "deleting", left: config.deleting });
            let held = item.texts().into_iter().filter(|text| *text != id).map(str::to_owned).collect();
            self.holds.insert(id.to_owned(), held);
        }
        if class.remains == Remains::Ghost {
            self.ghosts.insert(id.to_owned(), (class.describe, item));
        }
    }

    /// Marks a peering as failed for good.
    pub(super) fn fail(&mut self, id: &str) {
        self.transitions.remove(id);
        self.failed.insert(id.to_owned());
    }

    /// Lets a NAT gateway fail, because its VPC has no internet gateway.
    pub(super) fn break_nat(&mut self, id: &str, vpc: &str) {
        self.broken.insert(id.to_owned(), vpc.to_owned());
    }

    pub(super) fn has_failed(&self, id: &str) -> bool {
        self.failed.contains(id)
    }

    /// The state that is shown instead of the emulator's, without counting.
    pub(super) fn transient(&self, id: &str) -> Option<&'static str> {
        self.transitions.get(id).map(|transition| transition.state)
    }

    /// The object that is still being deleted and holds this one. Counts as a describe of it.
    pub(super) fn held_by(&mut self, id: &str) -> Option<String> {
        let holder =
            self.holds.iter().find(|(_, held)| held.contains(id)).map(|(holder, _)| holder.clone())?;
        self.step(&holder);
        Some(holder)
    }

    fn step(&mut self, id: &str) -> Option<&'static str> {
        let transition = self.transitions.get_mut(id)?;
        let state = transition.state;
        transition.left -= 1;
        if transition.left == 0 {
            self.transitions.remove(id);
            self.holds.remove(id);
        }
        Some(state)
    }

    /// Shows states in an answer, adds ghosts, leaves out what is gone, and applies the filters that were taken out.
    pub(super) fn show(&mut self, action: &str, answer: &mut Element, asked: &Asked) {
        let Some((class, container)) = Class::shown_by(action) else {
            if let Some(set) = answer.children.iter_mut().find(|child| child.children.iter().any(is_item)) {
                set.children.retain(|item| asked.filters.iter().all(|filter| filters::passes(item, filter)));
            }
            return;
        };
        let describes = action.starts_with("Describe");
        if describes && answer.child(container).is_none() {
            answer.children.insert(0, Element::new(container));
        }
        let Some(holder) = answer.child_mut(container) else { return };
        if !describes {
            self.show_state(class, holder, action);
            return;
        }
        let ghosts =
            self.ghosts.iter().filter(|(id, (listed, item))| *listed == action && asked.wants(id, item));
        holder
            .children
            .extend(ghosts.map(|(_, (_, item))| Element { name: "item".to_owned(), ..item.clone() }));
        for item in &mut holder.children {
            self.show_state(class, item, action);
        }
        let gone = |item: &Element| class.remains == Remains::Nothing && class.state_of(item) == "deleted";
        holder
            .children
            .retain(|item| !gone(item) && asked.filters.iter().all(|filter| filters::passes(item, filter)));
    }

    fn show_state(&mut self, class: &Class, item: &mut Element, action: &str) {
        let id = item.text_at(class.id).to_owned();
        let state = if self.failed.contains(&id) {
            Some("failed")
        } else if action.starts_with("Describe") {
            self.step(&id)
                .or_else(|| self.ghosts.contains_key(&id).then_some("deleted"))
                .or_else(|| self.broken.contains_key(&id).then_some("failed"))
        } else if action == class.delete {
            Some("deleting")
        } else {
            self.transient(&id).or_else(|| self.broken.contains_key(&id).then_some(class.pending))
        };
        let Some(state) = state else { return };
        if let (Some(vpc), "failed") = (self.broken.get(&id), state) {
            item.set_text("failureCode", "Gateway.NotAttached");
            item.set_text("failureMessage", &format!("Network {vpc} has no Internet gateway attached"));
        }
        match class.state.split_once('/') {
            None => item.set_text(class.state, state),
            Some((outer, inner)) => {
                if let Some(status) = item.child_mut(outer) {
                    status.set_text(inner, state);
                    let message = match state {
                        "failed" => "Failed due to incorrect VPC-ID, Account ID, or overlapping CIDR range",
                        other => other,
                    };
                    status.set_text("message", message);
                }
            }
        }
    }

    /// A describe by id of something that is gone answers that it does not exist.
    pub(super) fn missing(&self, action: &str, answer: &Element, asked: &Asked) -> Option<Rejection> {
        let (class, container) = Class::shown_by(action)?;
        if class.remains != Remains::Nothing || !asked.filters.is_empty() || !asked.kept.is_empty() {
            return None;
        }
        let absent =
            |id: &&String| !answer.items(container).any(|item| item.text_at(class.id) == id.as_str());
        asked.ids.iter().find(absent).map(|id| class.not_found(id))
    }
}

fn is_item(element: &Element) -> bool {
    element.name == "item"
}
