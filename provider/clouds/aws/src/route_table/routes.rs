//! Routes: one destination, one target.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tf_provider_rs::{Attr, Diagnostics, Path};

use super::schema::Route;

/// The destination of a route: exactly one of the three.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    Ipv4(String),
    Ipv6(String),
    PrefixList(String),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Destination::Ipv4(text) | Destination::Ipv6(text) | Destination::PrefixList(text)) = self;
        f.write_str(text)
    }
}

/// The target of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// An internet or virtual private gateway.
    Gateway(String),
    NatGateway(String),
    TransitGateway(String),
    Peering(String),
    NetworkInterface(String),
    EgressOnlyGateway(String),
}

const DESTINATIONS: &str =
    "`destination_cidr_block`, `destination_ipv6_cidr_block` and `destination_prefix_list_id`";
const TARGETS: &str = "`gateway_id`, `nat_gateway_id`, `transit_gateway_id`, `vpc_peering_connection_id`, \
                       `network_interface_id` and `egress_only_gateway_id`";

impl Route {
    fn destinations(&self) -> [&Attr<String>; 3] {
        [&self.destination_cidr_block, &self.destination_ipv6_cidr_block, &self.destination_prefix_list_id]
    }

    fn targets(&self) -> [&Attr<String>; 6] {
        [
            &self.gateway_id,
            &self.nat_gateway_id,
            &self.transit_gateway_id,
            &self.vpc_peering_connection_id,
            &self.network_interface_id,
            &self.egress_only_gateway_id,
        ]
    }

    pub(super) fn destination(&self) -> Option<Destination> {
        let [ipv4, ipv6, list] = self.destinations().map(|part| part.known().cloned());
        ipv4.map(Destination::Ipv4).or(ipv6.map(Destination::Ipv6)).or(list.map(Destination::PrefixList))
    }

    pub(super) fn target(&self) -> Option<Target> {
        let [gateway, nat, transit, peering, interface, egress] =
            self.targets().map(|part| part.known().cloned());
        gateway
            .map(Target::Gateway)
            .or(nat.map(Target::NatGateway))
            .or(transit.map(Target::TransitGateway))
            .or(peering.map(Target::Peering))
            .or(interface.map(Target::NetworkInterface))
            .or(egress.map(Target::EgressOnlyGateway))
    }

    /// The route in the form of the configuration.
    pub(super) fn of(destination: &Destination, target: Option<&Target>) -> Route {
        let mut route = Route::default();
        match destination.clone() {
            Destination::Ipv4(text) => route.destination_cidr_block = text.into(),
            Destination::Ipv6(text) => route.destination_ipv6_cidr_block = text.into(),
            Destination::PrefixList(text) => route.destination_prefix_list_id = text.into(),
        }
        match target.cloned() {
            Some(Target::Gateway(id)) => route.gateway_id = id.into(),
            Some(Target::NatGateway(id)) => route.nat_gateway_id = id.into(),
            Some(Target::TransitGateway(id)) => route.transit_gateway_id = id.into(),
            Some(Target::Peering(id)) => route.vpc_peering_connection_id = id.into(),
            Some(Target::NetworkInterface(id)) => route.network_interface_id = id.into(),
            Some(Target::EgressOnlyGateway(id)) => route.egress_only_gateway_id = id.into(),
            None => {}
        }
        route
    }
}

/// Targets by destination. Routes without a destination or target are skipped.
pub(super) fn by_destination<'a>(routes: impl Iterator<Item = &'a Route>) -> BTreeMap<Destination, Target> {
    routes.filter_map(|route| Some((route.destination()?, route.target()?))).collect()
}

/// Checks that each route has one destination and one target, and that destinations are unique. Unknown
/// values are skipped.
pub(super) fn check<'a>(routes: impl Iterator<Item = &'a Route>, diagnostics: &mut Diagnostics) {
    let path = Path::of("routes");
    let mut seen = BTreeSet::new();
    for route in routes {
        let name = route.destination().map_or("A route".to_owned(), |to| format!("The route to {to}"));
        for (parts, what, names) in [
            (route.destinations().to_vec(), "destination", DESTINATIONS),
            (route.targets().to_vec(), "target", TARGETS),
        ] {
            let known = parts.iter().filter(|part| part.is_known()).count();
            let unknown = parts.iter().any(|part| part.is_unknown());
            if known > 1 || (known == 0 && !unknown) {
                let many = if known > 1 { "more than one" } else { "no" };
                diagnostics.error_at(
                    path.clone(),
                    format!("Route with {many} {what}"),
                    format!("{name} has {many} {what}. Set exactly one of {names}."),
                );
            }
        }
        if let Some(destination) = route.destination()
            && !seen.insert(destination.clone())
        {
            diagnostics.error_at(
                path.clone(),
                "Duplicate route destination",
                format!("Two routes of this table have the destination {destination}. Remove one of them."),
            );
        }
    }
}
