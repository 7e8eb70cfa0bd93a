//! The network of an object whose reference is known only after apply.
//!
//! Widely used modules write `vpc_id = local.vpc_id`, and plan JSON contains no local values. The network is then the one
//! that the object was in before the apply, the only one in reach of the module that hides the reference, or the only one
//! whose range contains that of the subnet. Anything less certain stays unknown, because a wrong network would cause findings
//! that are not true.

use super::address::module_path;
use super::references::{Candidates, References};
use super::resource::{Attribute, Resource, Values};
use super::role::{Role, is};
use super::{NETWORKS, SUBNETS};
use crate::node::Node;
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{CidrError, IpNet, parse_cidr};
use warren_model::How;

const ASSOCIATIONS: &[Role] = &["aws.ipv4_range_association", "aws.ipv6_range_association"];
const RANGES: &[&str] = &["cidr_block", "secondary_cidr_blocks", "ipv6_cidr_block"];

/// Finds networks.
pub(super) struct Locator<'a> {
    pub(super) references: &'a References<'a>,
    /// Networks after the apply, by address.
    places: BTreeMap<String, Place<'a>>,
    /// Values of all resources before the apply, by address.
    earlier: BTreeMap<&'a str, Values<'a>>,
    /// Addresses of networks by their ID before the apply.
    was: BTreeMap<&'a str, &'a str>,
}

struct Place<'a> {
    kind: &'a str,
    module: &'a str,
    /// Whether its ID is known only after apply.
    fresh: bool,
    ranges: Vec<IpNet>,
}

impl<'a> Locator<'a> {
    /// `resources` are those after the apply.
    pub(super) fn new<'r>(
        tree: &'a Node,
        references: &'a References<'a>,
        resources: impl Iterator<Item = &'r Resource<'a>> + Clone,
    ) -> Self
    where
        'a: 'r,
    {
        let mut this =
            Self { references, places: BTreeMap::new(), earlier: BTreeMap::new(), was: BTreeMap::new() };
        for change in tree.get("resource_changes").map(Node::items).unwrap_or_default() {
            let address = change.get("address").and_then(Node::text);
            let before = change.get("change").and_then(|change| change.get("before"));
            if let (Some(address), Some(before)) = (address, before.filter(|before| !before.is_null())) {
                this.earlier.insert(address, Values::new(Some(before), None, None));
                let kind = change.get("type").and_then(Node::text).unwrap_or_default();
                if let Some(id) = before.get("id").and_then(Node::text).filter(|_| is(kind, NETWORKS)) {
                    this.was.insert(id, address);
                }
            }
        }
        for resource in resources.clone().filter(|resource| is(resource.kind, NETWORKS)) {
            let fresh = matches!(resource.values.attribute("id"), Attribute::Unknown);
            let (kind, module) = (resource.kind, resource.module);
            let ranges = ranges(&resource.values, RANGES);
            this.places.insert(resource.address.clone(), Place { kind, module, fresh, ranges });
        }
        for resource in resources.filter(|resource| is(resource.kind, ASSOCIATIONS)) {
            let found = references.candidates(resource, "vpc_id", NETWORKS).found;
            for address in found.iter().filter(|_| found.len() == 1) {
                if let Some(place) = this.places.get_mut(address) {
                    place.ranges.extend(ranges(&resource.values, RANGES));
                }
            }
        }
        this
    }

    /// The address of the network that an attribute refers to while its value is unknown, and how it was found. `attribute`
    /// is the one in the configuration.
    pub(super) fn find(
        &self,
        resource: &Resource<'_>,
        attribute: &str,
        roles: &[Role],
    ) -> Option<(String, How)> {
        let candidates = self.references.candidates(resource, attribute, roles);
        if candidates.unset {
            return None;
        }
        let named = !candidates.found.is_empty();
        if let [only] = candidates.found.iter().collect::<Vec<_>>().as_slice() {
            return Some(((*only).clone(), How::Reference));
        }
        if let Some(found) = self.replaced(resource, attribute, roles) {
            return Some((found, How::State));
        }
        let pool = if named { candidates.found.clone() } else { self.reach(&candidates, roles) };
        let pool = self.fresh(pool);
        // What a data source reads during the apply may be any network, also one of another team.
        let sure = named || candidates.data.is_empty();
        match pool.iter().collect::<Vec<_>>().as_slice() {
            [only] if sure => Some(((*only).clone(), How::Module)),
            [] if named => None,
            [] => self.containing(resource, self.fresh(self.all(roles))),
            _ => self.containing(resource, pool),
        }
    }

    /// The network that the object was in, if that network is replaced: otherwise its ID would be known.
    fn replaced(&self, resource: &Resource<'_>, attribute: &str, roles: &[Role]) -> Option<String> {
        let id = self.earlier.get(resource.address.as_str())?.text(attribute)?;
        let address = *self.was.get(id)?;
        let place = self.places.get(address)?;
        (place.fresh && is(place.kind, roles)).then(|| address.to_owned())
    }

    /// The networks in reach of the modules that hide a reference.
    fn reach(&self, candidates: &Candidates, roles: &[Role]) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let hidden = candidates.locals.iter().chain(&candidates.data);
        hidden.flat_map(|module| self.nearest(module, roles, &mut seen)).collect()
    }

    /// The networks of a module instance and of the modules in it. If it has none of its own, also those that its arguments
    /// refer to.
    fn nearest(&self, module: &str, roles: &[Role], seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(module.to_owned()) {
            return BTreeSet::new();
        }
        let within = |place: &Place<'_>| {
            let rest = place.module.strip_prefix(module);
            rest.is_some_and(|rest| module.is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        let of_roles = || self.places.iter().filter(|(_, place)| is(place.kind, roles));
        let mut found: BTreeSet<String> =
            of_roles().filter(|(_, place)| within(place)).map(|(address, _)| address.clone()).collect();
        let own = of_roles().any(|(_, place)| place.module == module);
        if !own && module_path(module).is_some_and(|path| !path.is_empty()) {
            let inputs = self.references.inputs(module, roles);
            found.extend(inputs.found);
            for outer in inputs.locals.iter().chain(&inputs.data) {
                found.extend(self.nearest(outer, roles, seen));
            }
        }
        found
    }

    fn all(&self, roles: &[Role]) -> BTreeSet<String> {
        let places = self.places.iter().filter(|(_, place)| is(place.kind, roles));
        places.map(|(address, _)| address.clone()).collect()
    }

    /// An attribute is unknown because the ID of its network is: those with a known ID count only if there are no others.
    fn fresh(&self, pool: BTreeSet<String>) -> BTreeSet<String> {
        let fresh = |address: &&String| self.places.get(*address).is_some_and(|place| place.fresh);
        if pool.iter().any(|address| fresh(&address)) {
            pool.iter().filter(fresh).cloned().collect()
        } else {
            pool
        }
    }

    /// The only network of `pool` that contains the ranges of a subnet.
    fn containing(&self, resource: &Resource<'_>, pool: BTreeSet<String>) -> Option<(String, How)> {
        let own = ranges(&resource.values, &["cidr_block"]);
        if own.is_empty() || !is(resource.kind, SUBNETS) {
            return None;
        }
        let holds =
            |place: &Place<'_>| own.iter().all(|net| place.ranges.iter().any(|range| range.contains(net)));
        let mut found = pool.into_iter().filter(|address| self.places.get(address).is_some_and(holds));
        match (found.next(), found.next()) {
            (Some(only), None) => Some((only, How::Range)),
            _ => None,
        }
    }
}

/// Known ranges of attributes with one string or a list of strings.
fn ranges(values: &Values<'_>, attributes: &[&str]) -> Vec<IpNet> {
    let mut found = Vec::new();
    for attribute in attributes {
        let Attribute::Known(node) = values.attribute(attribute) else { continue };
        let items = if node.text().is_some() { std::slice::from_ref(node) } else { node.items() };
        found.extend(items.iter().filter_map(|item| match parse_cidr(item.text()?) {
            Ok(net) => Some(net),
            Err(CidrError::HostBits { meant, .. }) => Some(meant),
            Err(_) => None,
        }));
    }
    found
}
