//! Network ACLs, with inline rules and rules as separate resources.

use super::super::resource::{Attribute, Values};
use super::super::role::Role;
use super::Reader;
use super::aws::{SUBNETS, VPCS};
use super::view::{Item, Link, View, flag, integer, range};
use warren_model::topology::{AclRule, Home, NetworkAcl, Protocol};

pub(super) const READERS: &[(Role, Reader)] =
    &[("aws.network_acl", acl), ("aws.default_network_acl", default_acl)];

/// Resources that add to ACLs, which are read earlier.
pub(super) const EDGES: &[(Role, Reader)] =
    &[("aws.network_acl_rule", rule), ("aws.network_acl_association", association)];

const ACLS: &[Role] = &["aws.network_acl", "aws.default_network_acl"];

fn acl(view: &mut View<'_>, item: &Item<'_>) {
    insert(view, item, false);
}

fn default_acl(view: &mut View<'_>, item: &Item<'_>) {
    insert(view, item, true);
}

fn insert(view: &mut View<'_>, item: &Item<'_>, default: bool) {
    let values = &item.resource.values;
    let mut rules = Vec::new();
    // Rules that are separate resources appear as unknown here as well, because they are also attributes of the ACL.
    let mut complete = true;
    for (outer, ingress) in [("ingress", true), ("egress", false)] {
        for (_, block) in values.children(outer) {
            match inline(&block, ingress) {
                Some(found) => rules.extend(found),
                None => complete = false,
            }
        }
    }
    let network = view.link(item, "vpc_id", VPCS).key();
    // The default ACL is named by the network that it belongs to.
    let network =
        network.or_else(|| default.then(|| view.link(item, "default_network_acl_id", VPCS).key())?);
    let acl = NetworkAcl {
        head: view.head(item, Home::Aws),
        network,
        default,
        subnets: view.links(item, "subnet_ids", SUBNETS),
        rules,
        complete,
    };
    view.topology.acls.insert(acl.head.key.clone(), acl);
}

fn inline(values: &Values<'_>, ingress: bool) -> Option<Vec<AclRule>> {
    let number = integer(values, "rule_no").or_else(|| integer(values, "rule_number"))?;
    let allow = values.text("action").or_else(|| values.text("rule_action"))? == "allow";
    let mut found = Vec::new();
    for attribute in ["cidr_block", "ipv6_cidr_block"] {
        if matches!(values.attribute(attribute), Attribute::Unknown | Attribute::Sensitive) {
            return None;
        }
        let number = u32::try_from(number).ok()?;
        if let Some(range) = values.text(attribute).and_then(range) {
            found.push(AclRule { number, ingress, allow, protocol: protocol(values), range });
        }
    }
    Some(found)
}

fn protocol(values: &Values<'_>) -> Protocol {
    let port = |key: &str| integer(values, key).and_then(|port| u16::try_from(port).ok());
    let (low, high) = (port("from_port").unwrap_or(0), port("to_port").unwrap_or(u16::MAX));
    let name = values.text("protocol").map(str::to_ascii_lowercase);
    match name.or_else(|| integer(values, "protocol").map(|it| it.to_string())).as_deref() {
        None | Some("-1" | "all") => Protocol::Any,
        Some("tcp" | "6") => Protocol::Tcp(low, high),
        Some("udp" | "17") => Protocol::Udp(low, high),
        Some(_) => Protocol::Other,
    }
}

fn rule(view: &mut View<'_>, item: &Item<'_>) {
    let values = &item.resource.values;
    let found = inline(values, flag(values, "egress") != Some(true));
    let Link::To(key) = view.link(item, "network_acl_id", ACLS) else { return };
    if let Some(acl) = view.topology.acls.get_mut(&key) {
        match found {
            Some(found) => acl.rules.extend(found),
            None => acl.complete = false,
        }
    }
}

fn association(view: &mut View<'_>, item: &Item<'_>) {
    let subnet = view.link(item, "subnet_id", SUBNETS).key();
    let Link::To(key) = view.link(item, "network_acl_id", ACLS) else { return };
    if let Some(acl) = view.topology.acls.get_mut(&key) {
        acl.subnets.extend(subnet);
    }
}
