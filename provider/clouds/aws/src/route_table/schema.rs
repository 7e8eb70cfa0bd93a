//! Attributes and state of `warren_aws_route_table`.

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Type, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_cidr::{Cloud, Family};
use warren_managed::{
    Timeouts, ranges,
    sets::{self, Texts},
};

model! {
    /// A route table.
    pub struct RouteTable {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `rtb-..`.
        pub id: Attr<String>,
        /// The VPC.
        pub vpc_id: Attr<String>,
        /// All routes except those that AWS adds.
        pub routes: Attr<Vec<Route>>,
        /// Subnets that use the table.
        pub subnet_ids: Texts,
        /// Account ID.
        pub owner_id: Attr<String>,
        /// Amazon Resource Name.
        pub arn: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }

    /// A route: one destination, one target.
    pub struct Route {
        /// IPv4 destination.
        pub destination_cidr_block: Attr<String>,
        /// IPv6 destination.
        pub destination_ipv6_cidr_block: Attr<String>,
        /// `pl-..`.
        pub destination_prefix_list_id: Attr<String>,
        /// `igw-..` or `vgw-..`.
        pub gateway_id: Attr<String>,
        /// `nat-..`.
        pub nat_gateway_id: Attr<String>,
        /// `tgw-..`.
        pub transit_gateway_id: Attr<String>,
        /// `pcx-..`.
        pub vpc_peering_connection_id: Attr<String>,
        /// `eni-..`.
        pub network_interface_id: Attr<String>,
        /// `eigw-..`.
        pub egress_only_gateway_id: Attr<String>,
    }
}

common!(RouteTable, "warren_aws_route_table");

pub(super) fn schema() -> Schema {
    let target = |name: &str, what: &str| Attribute::string(name).optional().describe(what);
    Schema::new(
        "Manages a route table with all of its routes and subnet associations. Routes and associations \
         that are not listed are removed, except for those that AWS adds: local routes, routes of \
         gateway endpoints, and propagated routes.",
    )
    .attributes(common::head("route table"))
    .attributes([
        Attribute::string("vpc_id")
            .required()
            .replaces()
            .describe("ID of the VPC. Changing this replaces the route table."),
        Attribute::nested(
            "routes",
            Nesting::Set,
            [
                Attribute::string("destination_cidr_block")
                    .optional()
                    .validate(ranges::any(Cloud::Aws, Family::V4))
                    .describe("IPv4 destination in CIDR notation."),
                Attribute::string("destination_ipv6_cidr_block")
                    .optional()
                    .validate(ranges::any(Cloud::Aws, Family::V6))
                    .describe("IPv6 destination in CIDR notation."),
                Attribute::string("destination_prefix_list_id")
                    .optional()
                    .describe("ID of a managed prefix list as the destination."),
                target("gateway_id", "ID of an internet gateway or virtual private gateway as the target."),
                target("nat_gateway_id", "ID of a NAT gateway as the target."),
                target(
                    "transit_gateway_id",
                    "ID of a transit gateway as the target. The VPC must be attached to it.",
                ),
                target("vpc_peering_connection_id", "ID of a VPC peering connection as the target."),
                target(
                    "network_interface_id",
                    "ID of a network interface as the target, such as that of an instance that forwards \
                     traffic.",
                ),
                target(
                    "egress_only_gateway_id",
                    "ID of an egress-only internet gateway as the target, for IPv6 destinations.",
                ),
            ],
        )
        .optional()
        .describe(
            "Routes, each with exactly one destination and one target. A route whose target no longer \
             exists (a blackhole) counts as missing, so the next apply replaces it. Updated in place.",
        ),
        Attribute::of("subnet_ids", Type::set(Type::String)).optional().describe(
            "IDs of the subnets that use the route table. A subnet that uses another table is moved in \
             one step. Subnets without an association use the main route table of the VPC. Updated in \
             place.",
        ),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the route table."),
        Attribute::string("arn")
            .computed()
            .keeps()
            .describe("Amazon Resource Name (ARN) of the route table."),
    ])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &RouteTable) -> RouteTable {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.arn = aws.arn(&found.owner, &format!("route-table/{}", found.id)).into();
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    // A blackhole counts as a missing route: it is left out, so that the plan shows it and the apply
    // replaces it.
    let living = found.routes.iter().filter(|(_, route)| !route.blackhole);
    let routes: Vec<Route> = living.map(|(to, route)| Route::of(to, route.target.as_ref())).collect();
    state.routes =
        if routes.is_empty() && !before.routes.is_known() { Attr::Null } else { Attr::Known(routes) };
    state.subnet_ids = sets::found(found.subnets.into_keys(), &before.subnet_ids);
    state.owner_id = found.owner.into();
    state
}
