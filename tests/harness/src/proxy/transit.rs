//! Route tables of transit gateways. The emulator keeps one association and one propagation for each attachment, and
//! shows the default table whatever the gateway's options say, so the proxy answers these calls itself.
//!
//! ```text
//! associate -> associating (N describes) -> associated -> disassociate -> disassociating (M describes) -> gone
//! enable    -> enabling (N describes)    -> enabled    -> disable      -> disabling (M describes)      -> gone
//! ```
//!
//! Names, states and parameters are those of botocore's model of EC2; codes are those that hashicorp/aws handles
//! (`internal/service/ec2/errors.go`).

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::config::ProxyConfig;
use super::rules::Context;
use crate::front::reply::Rejection;
use crate::xml::Element;

/// What connects an attachment and a table.
#[derive(Debug)]
struct Class {
    /// In the answer to a list, and to a change.
    names: (&'static str, &'static str),
    states: [&'static str; 3],
    taken: &'static str,
    missing: &'static str,
}

const ASSOCIATION: Class = Class {
    names: ("associations", "association"),
    states: ["associating", "associated", "disassociating"],
    taken: "Resource.AlreadyAssociated",
    missing: "InvalidAssociation.NotFound",
};

const PROPAGATION: Class = Class {
    names: ("transitGatewayRouteTablePropagations", "propagation"),
    states: ["enabling", "enabled", "disabling"],
    taken: "TransitGatewayRouteTablePropagation.Duplicate",
    missing: "TransitGatewayRouteTablePropagation.NotFound",
};

/// An association or propagation.
#[derive(Clone, Debug)]
struct Relation {
    vpc: String,
    /// Whether it ends.
    ends: bool,
    /// How many describes show it as beginning or ending.
    left: u32,
}

/// By table and attachment.
type Relations = BTreeMap<(String, String), Relation>;

/// The tables' contents.
#[derive(Debug, Default)]
pub(super) struct Tables {
    associations: Relations,
    propagations: Relations,
    /// By table and destination; without an attachment, packets are dropped.
    routes: BTreeMap<(String, IpNet), Option<String>>,
}

impl Tables {
    fn of(&mut self, class: &Class) -> &mut Relations {
        if class.names == ASSOCIATION.names { &mut self.associations } else { &mut self.propagations }
    }

    /// Whether an attachment uses the table.
    pub(super) fn association_with(&self, table: &str) -> Option<&str> {
        let mut living = self.associations.iter().filter(|(_, relation)| !relation.ends || relation.left > 0);
        living.find(|((of, _), _)| of == table).map(|((_, attachment), _)| attachment.as_str())
    }

    fn forget_table(&mut self, table: &str) {
        self.associations.retain(|(of, _), _| of != table);
        self.propagations.retain(|(of, _), _| of != table);
        self.routes.retain(|(of, _), _| of != table);
    }

    fn forget_attachment(&mut self, id: &str) {
        self.associations.retain(|(_, attachment), _| attachment != id);
        self.propagations.retain(|(_, attachment), _| attachment != id);
    }
}

/// Counts a describe, and returns the state that it shows; `None` once the relation has ended.
fn step(class: &Class, relation: &mut Relation) -> Option<&'static str> {
    let [begins, is, ends] = class.states;
    if relation.left == 0 {
        return (!relation.ends).then_some(is);
    }
    relation.left -= 1;
    Some(if relation.ends { ends } else { begins })
}

/// The answer to a call that concerns the contents of tables; `None` for other calls.
pub(super) async fn answer(
    context: &Context<'_>,
    action: &str,
    config: &ProxyConfig,
) -> Result<Option<Element>, Rejection> {
    let children = match action {
        "AssociateTransitGatewayRouteTable" => vec![begin(context, &ASSOCIATION, config).await?],
        "EnableTransitGatewayRouteTablePropagation" => vec![begin(context, &PROPAGATION, config).await?],
        "DisassociateTransitGatewayRouteTable" => vec![end(context, &ASSOCIATION, config).await?],
        "DisableTransitGatewayRouteTablePropagation" => vec![end(context, &PROPAGATION, config).await?],
        "GetTransitGatewayRouteTableAssociations" => vec![list(context, &ASSOCIATION).await?],
        "GetTransitGatewayRouteTablePropagations" => vec![list(context, &PROPAGATION).await?],
        "CreateTransitGatewayRoute" => vec![create_route(context).await?],
        "DeleteTransitGatewayRoute" => vec![delete_route(context).await?],
        "SearchTransitGatewayRoutes" => {
            vec![search(context).await?, Element::leaf("additionalRoutesAvailable", "false")]
        }
        _ => return Ok(None),
    };
    let mut root = Element::new(&format!("{action}Response"));
    root.children = children;
    root.children.push(Element::leaf("requestId", "00000000-0000-4000-8000-000000000000"));
    Ok(Some(root))
}

/// The table that the call names.
async fn table(context: &Context<'_>) -> Result<String, Rejection> {
    let id = context.get("TransitGatewayRouteTableId");
    let (action, set) = ("DescribeTransitGatewayRouteTables", "transitGatewayRouteTables");
    let found = context.list(action, set, &[("TransitGatewayRouteTableIds.1", id)]).await;
    let found = found.iter().find(|item| item.text_at("transitGatewayRouteTableId") == id);
    if found.is_none_or(|item| item.text_at("state") == "deleted") {
        let message = format!("Transit Gateway Route Table {id} was deleted or does not exist.");
        return Err(Rejection::new("InvalidRouteTableID.NotFound", message));
    }
    if let Some(state) = context.transient(id) {
        return Err(Rejection::new("IncorrectState", format!("{id} is in invalid state: {state}")));
    }
    Ok(id.to_owned())
}

/// An attachment, unless it was deleted.
async fn attachment(context: &Context<'_>, id: &str) -> Option<Element> {
    let (action, set) = ("DescribeTransitGatewayVpcAttachments", "transitGatewayVpcAttachments");
    let found = context.list(action, set, &[("TransitGatewayAttachmentIds.1", id)]).await;
    found.into_iter().find(|item| item.text_at("transitGatewayAttachmentId") == id)
}

/// The VPC of the attachment that the call names, which must be available.
async fn attached_vpc(context: &Context<'_>) -> Result<(String, String), Rejection> {
    let id = context.get("TransitGatewayAttachmentId");
    let Some(found) = attachment(context, id).await else {
        let message = format!("Transit Gateway Attachment {id} was deleted or does not exist.");
        return Err(Rejection::new("InvalidTransitGatewayAttachmentID.NotFound", message));
    };
    if let Some(state) = context.transient(id) {
        return Err(Rejection::new("IncorrectState", format!("{id} is in invalid state: {state}")));
    }
    Ok((id.to_owned(), found.text_at("vpcId").to_owned()))
}

/// An attachment has one association, and propagates to a table once.
async fn begin(context: &Context<'_>, class: &Class, config: &ProxyConfig) -> Result<Element, Rejection> {
    let (table, (attachment, vpc)) = (table(context).await?, attached_vpc(context).await?);
    let mut state = context.shared.state();
    let relations = state.transit.of(class);
    relations.retain(|_, relation| !relation.ends || relation.left > 0);
    let single = class.names == ASSOCIATION.names;
    if relations.keys().any(|(of, id)| *id == attachment && (single || *of == table)) {
        let message = if single {
            format!("Transit Gateway Attachment {attachment} is already associated to a route table.")
        } else {
            format!("Propagation of {attachment} to {table} already exists.")
        };
        return Err(Rejection::new(class.taken, message));
    }
    let relation = Relation { vpc, ends: false, left: config.pending };
    let shown = item(class.names.1, &table, &attachment, &relation, class.states[0]);
    relations.insert((table, attachment), relation);
    Ok(shown)
}

/// AWS refuses to end what has not begun yet, and what ends already.
async fn end(context: &Context<'_>, class: &Class, config: &ProxyConfig) -> Result<Element, Rejection> {
    let key = (table(context).await?, context.get("TransitGatewayAttachmentId").to_owned());
    let mut state = context.shared.state();
    let relations = state.transit.of(class);
    relations.retain(|_, relation| !relation.ends || relation.left > 0);
    let Some(relation) = relations.get_mut(&key) else {
        let message = format!("{} has no {} with {}.", key.1, class.names.1, key.0);
        return Err(Rejection::new(class.missing, message));
    };
    if relation.left > 0 {
        relation.left -= 1;
        let message = format!("The {} of {} is changing.", class.names.1, key.1);
        return Err(Rejection::new("IncorrectState", message));
    }
    *relation = Relation { ends: true, left: config.deleting, ..relation.clone() };
    let shown = item(class.names.1, &key.0, &key.1, relation, class.states[2]);
    if config.deleting == 0 {
        relations.remove(&key);
    }
    Ok(shown)
}

async fn list(context: &Context<'_>, class: &Class) -> Result<Element, Rejection> {
    let table = table(context).await?;
    let filters = context.params.filters();
    let mut set = Element::new(class.names.0);
    let mut state = context.shared.state();
    let relations = state.transit.of(class);
    for ((of, attachment), relation) in relations.iter_mut().filter(|((of, _), _)| *of == table) {
        let shown = item("item", of, attachment, relation, class.states[1]);
        if !filters.iter().all(|filter| super::filters::passes(&shown, filter)) {
            continue;
        }
        if let Some(state) = step(class, relation) {
            set.children.push(item("item", of, attachment, relation, state));
        }
    }
    Ok(set)
}

fn item(name: &str, table: &str, attachment: &str, relation: &Relation, state: &str) -> Element {
    let mut item = Element::new(name);
    item.children = vec![
        Element::leaf("transitGatewayAttachmentId", attachment),
        Element::leaf("resourceId", &relation.vpc),
        Element::leaf("resourceType", "vpc"),
        Element::leaf("state", state),
    ];
    if name != "item" {
        item.children.push(Element::leaf("transitGatewayRouteTableId", table));
    }
    item
}

fn destination(context: &Context<'_>) -> Result<IpNet, Rejection> {
    let text = context.get("DestinationCidrBlock");
    text.parse().map_err(|_| Rejection::new("InvalidParameterValue", format!("{text} is not a CIDR block")))
}

/// A route has one target, and a table one static route to a destination.
async fn create_route(context: &Context<'_>) -> Result<Element, Rejection> {
    let (table, to) = (table(context).await?, destination(context)?);
    let target = if context.get("Blackhole") == "true" { None } else { Some(attached_vpc(context).await?.0) };
    if target.is_none() && context.params.has("TransitGatewayAttachmentId") {
        let message = "A blackhole route has no attachment.";
        return Err(Rejection::new("InvalidParameterCombination", message));
    }
    let key = (table, to);
    if context.shared.state().transit.routes.contains_key(&key) {
        let message = format!("Route {to} already exists in Transit Gateway Route Table {}.", key.0);
        return Err(Rejection::new("RouteAlreadyExists", message));
    }
    context.shared.state().transit.routes.insert(key, target.clone());
    Ok(route(context, "route", to, target.as_deref(), "static").await)
}

async fn delete_route(context: &Context<'_>) -> Result<Element, Rejection> {
    let key = (table(context).await?, destination(context)?);
    let Some(target) = context.shared.state().transit.routes.remove(&key) else {
        let message = format!("Route {} does not exist in Transit Gateway Route Table {}.", key.1, key.0);
        return Err(Rejection::new("InvalidRoute.NotFound", message));
    };
    Ok(route(context, "route", key.1, target.as_deref(), "static").await)
}

/// The routes of a table: its own, and those of the VPCs that propagate to it, of which its own have precedence.
async fn search(context: &Context<'_>) -> Result<Element, Rejection> {
    let table = table(context).await?;
    let (routes, propagated): (Vec<_>, Vec<_>) = {
        let state = context.shared.state();
        let routes = state.transit.routes.iter().filter(|((of, _), _)| *of == table);
        let propagated = state.transit.propagations.iter();
        let propagated = propagated.filter(|((of, _), relation)| *of == table && !relation.ends);
        (
            routes.map(|((_, to), target)| (*to, target.clone())).collect(),
            propagated
                .map(|((_, attachment), relation)| (attachment.clone(), relation.vpc.clone()))
                .collect(),
        )
    };
    let mut set = Element::new("routeSet");
    for (to, target) in &routes {
        set.children.push(route(context, "item", *to, target.as_deref(), "static").await);
    }
    for (attachment, vpc) in propagated {
        let vpc = context.vpc(&vpc).await.unwrap_or_default();
        let blocks =
            vpc.items("cidrBlockAssociationSet").map(|item| item.text_at("cidrBlock").parse::<IpNet>());
        let mut blocks: Vec<IpNet> = blocks.filter_map(Result::ok).collect();
        blocks.retain(|to| routes.iter().all(|(own, _)| own != to));
        for to in blocks {
            set.children.push(route(context, "item", to, Some(&attachment), "propagated").await);
        }
    }
    let filters = context.params.filters();
    set.children.retain(|item| {
        filters.iter().all(|(name, values)| match name.as_str() {
            "type" | "state" => values.iter().any(|value| item.text_at(name) == value),
            "route-search.exact-match" => {
                values.iter().any(|value| item.text_at("destinationCidrBlock") == value)
            }
            _ => true,
        })
    });
    Ok(set)
}

/// A route whose attachment was deleted drops packets.
async fn route(context: &Context<'_>, name: &str, to: IpNet, target: Option<&str>, kind: &str) -> Element {
    let target = match target {
        Some(id) => attachment(context, id).await,
        None => None,
    };
    let mut route = Element::new(name);
    route.children = vec![
        Element::leaf("destinationCidrBlock", &to.to_string()),
        Element::leaf("type", kind),
        Element::leaf("state", if target.is_some() { "active" } else { "blackhole" }),
    ];
    if let Some(target) = target {
        let mut item = Element::new("item");
        item.children = vec![
            Element::leaf("resourceId", target.text_at("vpcId")),
            Element::leaf("transitGatewayAttachmentId", target.text_at("transitGatewayAttachmentId")),
            Element::leaf("resourceType", "vpc"),
        ];
        let mut set = Element::new("transitGatewayAttachments");
        set.children.push(item);
        route.children.push(set);
    }
    route
}

/// What follows from a successful call on gateways, attachments and tables.
pub(super) async fn settle(context: &Context<'_>, action: &str, answer: &Element, pending: u32) {
    match action {
        "CreateTransitGatewayVpcAttachment" => {
            let made = answer.child("transitGatewayVpcAttachment").cloned().unwrap_or_default();
            let key = [("TransitGatewayIds.1", made.text_at("transitGatewayId"))];
            let gateways = context.list("DescribeTransitGateways", "transitGatewaySet", &key).await;
            let Some(options) = gateways.first().and_then(|gateway| gateway.child("options")) else { return };
            let relation = Relation { vpc: made.text_at("vpcId").to_owned(), ends: false, left: pending };
            let mut state = context.shared.state();
            for (class, (option, table)) in [&ASSOCIATION, &PROPAGATION].into_iter().zip(DEFAULTS) {
                if options.text_at(option) != "disable" {
                    let id = made.text_at("transitGatewayAttachmentId").to_owned();
                    let key = (options.text_at(table).to_owned(), id);
                    state.transit.of(class).insert(key, relation.clone());
                }
            }
        }
        "DeleteTransitGatewayVpcAttachment" => {
            let id = context.get("TransitGatewayAttachmentId");
            context.shared.state().transit.forget_attachment(id);
        }
        "DeleteTransitGatewayRouteTable" => {
            let id = context.get("TransitGatewayRouteTableId");
            context.shared.state().transit.forget_table(id);
        }
        _ => {}
    }
}

/// The options of a gateway that say whether it has a default table, and which.
const DEFAULTS: [(&str, &str); 2] = [
    ("defaultRouteTableAssociation", "associationDefaultRouteTableId"),
    ("defaultRouteTablePropagation", "propagationDefaultRouteTableId"),
];

/// Shows default tables as the gateway's options say, and the association of an attachment.
pub(super) async fn show(context: &Context<'_>, action: &str, answer: &mut Element) {
    match action {
        "CreateTransitGateway" | "ModifyTransitGateway" | "DeleteTransitGateway" => {
            if let Some(options) =
                answer.child_mut("transitGateway").and_then(|item| item.child_mut("options"))
            {
                hide_defaults(options);
            }
        }
        "DescribeTransitGateways" => {
            let items = answer.child_mut("transitGatewaySet").into_iter().flat_map(|set| &mut set.children);
            items.filter_map(|item| item.child_mut("options")).for_each(hide_defaults);
        }
        "DescribeTransitGatewayRouteTables" => {
            let gateways = context.list("DescribeTransitGateways", "transitGatewaySet", &[]).await;
            let Some(set) = answer.child_mut("transitGatewayRouteTables") else { return };
            for item in &mut set.children {
                let id = item.text_at("transitGatewayId").to_owned();
                let gateway = gateways.iter().find(|found| found.text_at("transitGatewayId") == id);
                if item.text_at("defaultAssociationRouteTable") != "true" {
                    continue;
                }
                let is = |option: &str| {
                    gateway.is_some_and(|found| found.text_at(&format!("options/{option}")) != "disable")
                };
                item.set_text("defaultAssociationRouteTable", &is(DEFAULTS[0].0).to_string());
                item.set_text("defaultPropagationRouteTable", &is(DEFAULTS[1].0).to_string());
                if !is(DEFAULTS[0].0) && !is(DEFAULTS[1].0) {
                    // It exists in the emulator alone.
                    item.set_text("transitGatewayId", "");
                }
            }
            set.children.retain(|item| !item.text_at("transitGatewayId").is_empty());
        }
        "DescribeTransitGatewayAttachments" => {
            let mut state = context.shared.state();
            let set = answer.child_mut("transitGatewayAttachments");
            for item in set.into_iter().flat_map(|set| &mut set.children) {
                let id = item.text_at("transitGatewayAttachmentId").to_owned();
                item.children.retain(|child| child.name != "association");
                let mut own = state.transit.associations.iter_mut().filter(|((_, of), _)| *of == id);
                if let Some(((table, _), relation)) = own.next()
                    && let Some(state) = step(&ASSOCIATION, relation)
                {
                    let mut association = Element::new("association");
                    association.children = vec![
                        Element::leaf("transitGatewayRouteTableId", table),
                        Element::leaf("state", state),
                    ];
                    item.children.push(association);
                }
            }
        }
        _ => {}
    }
}

fn hide_defaults(options: &mut Element) {
    for (option, table) in DEFAULTS {
        if options.text_at(option) == "disable" {
            options.children.retain(|child| child.name != table);
        }
    }
}
