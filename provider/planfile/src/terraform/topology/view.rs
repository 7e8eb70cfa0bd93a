//! One side of a plan: every resource before or after the apply.

use super::super::locate::Locator;
use super::super::references::{Candidates, References};
use super::super::resource::{Attribute, Resource, Values};
use super::super::role::Role;
use super::names::Association;
use super::vpn::Vpns;
use crate::node::{Kind, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use warren_cidr::{CidrError, IpNet, parse_cidr};
use warren_model::topology::{Change, Destination, Head, Home, Key, Topology};

/// A resource and the change to it.
pub(super) struct Item<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) change: Change,
}

/// State shared by the readers of one side.
pub(super) struct View<'a> {
    pub(super) references: &'a References<'a>,
    pub(super) locator: &'a Locator<'a>,
    /// Address by ID in the cloud, with the IDs of both sides.
    pub(super) ids: &'a BTreeMap<String, String>,
    /// Fabrics of gateway configurations, by address.
    pub(super) fabrics: &'a BTreeMap<String, String>,
    /// Networks of Google's routers, by address and by name.
    pub(super) routers: BTreeMap<String, Key>,
    /// Google's peerings that import the custom routes of the other network, and those that export their own.
    pub(super) imports: BTreeSet<Key>,
    pub(super) exports: BTreeSet<Key>,
    /// Google's addresses for Private Service Connect, by key.
    pub(super) addresses: BTreeMap<Key, IpAddr>,
    /// Associations with zones that are known only after apply.
    pub(super) associations: Vec<Association>,
    /// Ends of VPNs between clouds.
    pub(super) vpns: Vpns,
    pub(super) topology: Topology,
    pub(super) unknown: usize,
}

/// Objects that are found even if a local value hides the reference.
const LOCATED: &[Role] = super::super::NETWORKS;

/// The target of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    To(Key),
    Unknown,
    Absent,
}

impl Link {
    pub(super) fn key(self) -> Option<Key> {
        match self {
            Link::To(key) => Some(key),
            Link::Unknown | Link::Absent => None,
        }
    }
}

impl View<'_> {
    pub(super) fn head(&self, item: &Item<'_>, home: Home) -> Head {
        let resource = &item.resource;
        let tag = |tags: &str| match resource.values.attribute(tags) {
            Attribute::Known(node) => node.get("Name").and_then(Node::text).map(str::to_owned),
            _ => None,
        };
        let name = resource
            .values
            .text("name")
            .map(str::to_owned)
            .or_else(|| tag("tags"))
            .or_else(|| tag("tags_all"))
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| format!("{}{}", resource.name, resource.index));
        let external = resource.external;
        Head { key: resource.address.clone(), name, home, change: item.change, external }
    }

    /// The object with a known ID or link: one in the plan, or else the ID itself.
    pub(super) fn known(&self, text: &str) -> Key {
        let id = super::canonical(text);
        self.ids.get(&id).cloned().unwrap_or(id)
    }

    /// The object that an attribute refers to.
    pub(super) fn link(&self, item: &Item<'_>, attribute: &str, roles: &[Role]) -> Link {
        self.link_in(item, &item.resource.values, attribute, attribute, roles)
    }

    /// Like [`Self::link`], for an attribute inside the block at `outer`.
    pub(super) fn link_in(
        &self,
        item: &Item<'_>,
        values: &Values<'_>,
        attribute: &str,
        outer: &str,
        roles: &[Role],
    ) -> Link {
        match values.attribute(attribute) {
            Attribute::Known(node) => match node.text().filter(|text| !text.is_empty()) {
                Some(text) => Link::To(self.known(text)),
                None => Link::Absent,
            },
            Attribute::Absent => Link::Absent,
            Attribute::Sensitive => Link::Unknown,
            Attribute::Unknown if roles.iter().any(|role| LOCATED.contains(role)) => {
                let found = self.locator.find(&item.resource, outer, roles);
                found.map_or(Link::Unknown, |(address, _)| Link::To(address))
            }
            Attribute::Unknown => {
                let mut found = self.references.candidates(&item.resource, outer, roles).found.into_iter();
                match (found.next(), found.next()) {
                    (Some(only), None) => Link::To(only),
                    _ => Link::Unknown,
                }
            }
        }
    }

    /// The objects that an attribute, or anything in it, may refer to.
    pub(super) fn candidates(&self, item: &Item<'_>, attribute: &str, roles: &[Role]) -> Candidates {
        self.references.candidates(&item.resource, attribute, roles)
    }

    /// The objects that a list refers to. If some are known only after apply, all candidates count.
    pub(super) fn links(&self, item: &Item<'_>, attribute: &str, roles: &[Role]) -> Vec<Key> {
        self.links_in(item, &item.resource.values, attribute, attribute, roles)
    }

    /// Like [`Self::links`], for a list inside the block at `outer`.
    pub(super) fn links_in(
        &self,
        item: &Item<'_>,
        values: &Values<'_>,
        attribute: &str,
        outer: &str,
        roles: &[Role],
    ) -> Vec<Key> {
        let candidates = || self.references.candidates(&item.resource, outer, roles).found;
        let mut keys: BTreeSet<Key> = match values.attribute(attribute) {
            Attribute::Known(node) => {
                let texts = node.items().iter().filter_map(Node::text);
                let mut keys: BTreeSet<Key> = texts.map(|text| self.known(text)).collect();
                // An unknown item is null in the list.
                if node.items().iter().any(Node::is_null) {
                    keys.extend(candidates());
                }
                keys
            }
            Attribute::Unknown => candidates(),
            Attribute::Absent | Attribute::Sensitive => BTreeSet::new(),
        };
        keys.remove("");
        keys.into_iter().collect()
    }

    /// Ranges of attributes with one string or a list of strings. Unknown and invalid ranges are omitted. The second value
    /// is whether all are known.
    pub(super) fn ranges(&mut self, values: &Values<'_>, attributes: &[&str]) -> (Vec<IpNet>, bool) {
        let (mut ranges, mut complete) = (Vec::new(), true);
        for attribute in attributes {
            match values.attribute(attribute) {
                Attribute::Known(node) => {
                    let items = if node.text().is_some() { std::slice::from_ref(node) } else { node.items() };
                    for item in items {
                        match item.text().filter(|text| !text.is_empty()).map(range) {
                            Some(net) => ranges.extend(net),
                            None if item.is_null() => complete = false,
                            None => {}
                        }
                    }
                }
                // Providers show what Amazon gives, an IPv6 range or a prefix list, as unknown in every create.
                Attribute::Unknown if attribute.starts_with("ipv6") || *attribute == "cidr_blocks" => {}
                Attribute::Unknown => {
                    self.unknown += 1;
                    complete = false;
                }
                Attribute::Sensitive => complete = false,
                Attribute::Absent => {}
            }
        }
        ranges.sort();
        ranges.dedup();
        (ranges, complete)
    }

    /// The destination of a route or the far end of a rule.
    pub(super) fn destination(
        &self,
        values: &Values<'_>,
        ranges: &[&str],
        lists: &[&str],
    ) -> Option<Destination> {
        for attribute in ranges {
            match values.attribute(attribute) {
                Attribute::Known(node) => {
                    let text = node.text().filter(|text| !text.is_empty());
                    if let Some(net) = text.and_then(range) {
                        return Some(Destination::Range(net));
                    }
                }
                Attribute::Unknown => return Some(Destination::Unknown),
                Attribute::Absent | Attribute::Sensitive => {}
            }
        }
        for attribute in lists {
            match values.attribute(attribute) {
                Attribute::Known(node) => {
                    if let Some(text) = node.text().filter(|text| !text.is_empty()) {
                        return Some(Destination::List(text.to_owned()));
                    }
                }
                Attribute::Unknown => return Some(Destination::Unknown),
                Attribute::Absent | Attribute::Sensitive => {}
            }
        }
        None
    }
}

/// A range without host bits, which the check reports.
pub(super) fn range(text: &str) -> Option<IpNet> {
    match parse_cidr(text) {
        Ok(net) => Some(net),
        Err(CidrError::HostBits { meant, .. }) => Some(meant),
        Err(_) => None,
    }
}

/// A known boolean.
pub(super) fn flag(values: &Values<'_>, key: &str) -> Option<bool> {
    match values.attribute(key) {
        Attribute::Known(node) => match node.kind {
            Kind::Bool(value) => Some(value),
            // `default_route_table_association = "enable"`.
            Kind::Text(ref text) => match text.as_str() {
                "enable" => Some(true),
                "disable" => Some(false),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// A known integer.
pub(super) fn integer(values: &Values<'_>, key: &str) -> Option<i64> {
    match values.attribute(key) {
        Attribute::Known(node) => match &node.kind {
            Kind::Number(text) => text.parse().ok(),
            Kind::Text(text) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Known strings of a list.
pub(super) fn texts(values: &Values<'_>, key: &str) -> Vec<String> {
    match values.attribute(key) {
        Attribute::Known(node) => node.items().iter().filter_map(Node::text).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Whether any element of a list is known only after apply.
pub(super) fn blurred(values: &Values<'_>, key: &str) -> bool {
    match values.attribute(key) {
        Attribute::Known(node) => node.items().iter().any(Node::is_null),
        Attribute::Unknown | Attribute::Sensitive => true,
        Attribute::Absent => false,
    }
}
