//! Routes: one destination, one target.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tf_provider_rs::{Attr, Diagnostics, Path};

use ipnet::{Ipv4Net, Ipv6Net};

use super::model::Route;
use crate::ids::{
    EgressOnlyGatewayId, GatewayId, NatGatewayId, NetworkInterfaceId, PrefixListId, TransitGatewayId,
    VpcPeeringId,
};

/// The destination of a route: exactly one of the three.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    Ipv4(Ipv4Net),
    Ipv6(Ipv6Net),
    PrefixList(PrefixListId),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Ipv4(range) => range.fmt(f),
            Destination::Ipv6(range) => range.fmt(f),
            Destination::PrefixList(id) => id.fmt(f),
        }
    }
}

/// The target of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// An internet or virtual private gateway.
    Gateway(GatewayId),
    NatGateway(NatGatewayId),
    TransitGateway(TransitGatewayId),
    Peering(VpcPeeringId),
    NetworkInterface(NetworkInterfaceId),
    EgressOnlyGateway(EgressOnlyGatewayId),
}

const DESTINATIONS: &str =
    "`destination_cidr_block`, `destination_ipv6_cidr_block` and `destination_prefix_list_id`";
const TARGETS: &str = "`gateway_id`, `nat_gateway_id`, `transit_gateway_id`, `vpc_peering_connection_id`, \
                       `network_interface_id` and `egress_only_gateway_id`";

impl Route {
    pub(super) fn destination(&self) -> Option<Destination> {
        let ipv4 = self.destination_cidr_block.known().copied().map(Destination::Ipv4);
        ipv4.or(self.destination_ipv6_cidr_block.known().copied().map(Destination::Ipv6))
            .or_else(|| self.destination_prefix_list_id.known().cloned().map(Destination::PrefixList))
    }

    pub(super) fn target(&self) -> Option<Target> {
        let gateway = self.gateway_id.known().cloned().map(Target::Gateway);
        gateway
            .or_else(|| self.nat_gateway_id.known().cloned().map(Target::NatGateway))
            .or_else(|| self.transit_gateway_id.known().cloned().map(Target::TransitGateway))
            .or_else(|| self.vpc_peering_connection_id.known().cloned().map(Target::Peering))
            .or_else(|| self.network_interface_id.known().cloned().map(Target::NetworkInterface))
            .or_else(|| self.egress_only_gateway_id.known().cloned().map(Target::EgressOnlyGateway))
    }

    /// How many destinations are known, and whether one is unknown.
    fn destinations(&self) -> (usize, bool) {
        counted([
            presence(&self.destination_cidr_block),
            presence(&self.destination_ipv6_cidr_block),
            presence(&self.destination_prefix_list_id),
        ])
    }

    /// How many targets are known, and whether one is unknown.
    fn targets(&self) -> (usize, bool) {
        counted([
            presence(&self.gateway_id),
            presence(&self.nat_gateway_id),
            presence(&self.transit_gateway_id),
            presence(&self.vpc_peering_connection_id),
            presence(&self.network_interface_id),
            presence(&self.egress_only_gateway_id),
        ])
    }

    /// The route in the form of the configuration.
    pub(super) fn of(destination: &Destination, target: Option<&Target>) -> Route {
        let mut route = Route::default();
        match destination.clone() {
            Destination::Ipv4(range) => route.destination_cidr_block = range.into(),
            Destination::Ipv6(range) => route.destination_ipv6_cidr_block = range.into(),
            Destination::PrefixList(id) => route.destination_prefix_list_id = id.into(),
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

/// Whether an attribute is known, and whether it is unknown.
fn presence<T>(attribute: &Attr<T>) -> (bool, bool) {
    (attribute.is_known(), attribute.is_unknown())
}

fn counted<const N: usize>(parts: [(bool, bool); N]) -> (usize, bool) {
    (parts.iter().filter(|(known, _)| *known).count(), parts.iter().any(|(_, unknown)| *unknown))
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
        for ((known, unknown), what, names) in
            [(route.destinations(), "destination", DESTINATIONS), (route.targets(), "target", TARGETS)]
        {
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
