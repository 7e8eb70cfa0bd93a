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
        /// All routes but those that AWS adds.
        pub routes: Attr<Vec<Route>>,
        /// Subnets that use the table.
        pub subnet_ids: Texts,
        /// Account id.
        pub owner_id: Attr<String>,
        /// Amazon resource name.
        pub arn: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
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
        "A route table with all its routes and the subnets that use it. Routes and associations that are not listed \
         are removed, but for those that AWS adds itself: local ones, those of gateway endpoints, and propagated ones.",
    )
    .attributes(common::head("route table"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe("Id of the VPC. A change replaces the table."),
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
                    .describe("Id of a managed prefix list as destination."),
                target("gateway_id", "Id of an internet gateway or virtual private gateway."),
                target("nat_gateway_id", "Id of a NAT gateway."),
                target("transit_gateway_id", "Id of a transit gateway that the VPC is attached to."),
                target("vpc_peering_connection_id", "Id of a VPC peering connection."),
                target(
                    "network_interface_id",
                    "Id of a network interface, such as that of an instance which forwards.",
                ),
                target("egress_only_gateway_id", "Id of an egress-only internet gateway (IPv6)."),
            ],
        )
        .optional()
        .describe(
            "Routes, each with exactly one destination and one target. A changed target is replaced in place; a route \
             whose target is gone (a blackhole) shows as missing.",
        ),
        Attribute::of("subnet_ids", Type::set(Type::String)).optional().describe(
            "Ids of the subnets that use the table. A subnet that uses another table moves in one step. Others use \
             the VPC's main table.",
        ),
        Attribute::string("owner_id").computed().keeps().describe("Id of the account, 12 digits."),
        Attribute::string("arn").computed().keeps().describe("Amazon resource name."),
    ])
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &RouteTable) -> RouteTable {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.arn = aws.arn(&found.owner, &format!("route-table/{}", found.id)).into();
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    // A blackhole is as good as no route: left out, so that the plan shows it and the apply replaces it.
    let living = found.routes.iter().filter(|(_, route)| !route.blackhole);
    let routes: Vec<Route> = living.map(|(to, route)| Route::of(to, route.target.as_ref())).collect();
    state.routes =
        if routes.is_empty() && !before.routes.is_known() { Attr::Null } else { Attr::Known(routes) };
    state.subnet_ids = sets::found(found.subnets.into_keys(), &before.subnet_ids);
    state.owner_id = found.owner.into();
    state
}
