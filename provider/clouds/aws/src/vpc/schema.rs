//! Attributes and state of `warren_aws_vpc`.

use ipnet::IpNet;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Path, Type, model};
use warren_cidr::{Cloud, Family};
use warren_guard::{PlannedResource, Role};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{
    Timeouts, key, ranges,
    sets::{self, Texts},
};

model! {
    /// A VPC.
    pub struct Vpc {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `vpc-..`.
        pub id: Attr<String>,
        /// Primary IPv4 range.
        pub cidr_block: Attr<String>,
        /// Additional IPv4 ranges.
        pub secondary_cidr_blocks: Texts,
        /// Whether to request an Amazon-provided IPv6 range.
        pub assign_generated_ipv6: Attr<bool>,
        /// The Amazon-provided IPv6 range.
        pub ipv6_cidr_block: Attr<String>,
        /// Whether the Amazon DNS resolver is available.
        pub enable_dns_support: Attr<bool>,
        /// Whether instances get DNS hostnames.
        pub enable_dns_hostnames: Attr<bool>,
        /// `default` or `dedicated`.
        pub instance_tenancy: Attr<String>,
        /// Whether the default security group is kept without rules.
        pub lock_default_security_group: Attr<bool>,
        /// `sg-..`.
        pub default_security_group_id: Attr<String>,
        /// `rtb-..` that the VPC was made with.
        pub default_route_table_id: Attr<String>,
        /// `rtb-..` that subnets without a table of their own use.
        pub main_route_table_id: Attr<String>,
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
}

common!(Vpc, "warren_aws_vpc");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a VPC. At plan time, Warren checks its ranges against the other networks in the run, \
         live VPCs and the claims of other owners. Nothing is open by default: Warren removes the rules \
         of the default security group.",
    )
    .attributes(common::head("VPC"))
    .attributes([
        Attribute::string("cidr_block")
            .required()
            .replaces()
            .validate(ranges::network(Cloud::Aws, Family::V4))
            .describe(
                "Primary IPv4 range in CIDR notation without host bits, `/16` to `/28`. Changing this \
                 replaces the VPC.",
            ),
        Attribute::of("secondary_cidr_blocks", Type::set(Type::String))
            .optional()
            .validate(ranges::each(ranges::network(Cloud::Aws, Family::V4)))
            .describe(
                "Additional IPv4 ranges in CIDR notation, `/16` to `/28` each. The primary range \
                 restricts which ranges AWS allows. Updated in place.",
            ),
        Attribute::bool("assign_generated_ipv6").default(false).describe(
            "Whether to request an Amazon-provided IPv6 `/56` range. Updated in place. Defaults to `false`.",
        ),
        Attribute::string("ipv6_cidr_block").computed().describe("Amazon-provided IPv6 `/56` range."),
        Attribute::bool("enable_dns_support").default(true).describe(
            "Whether the Amazon DNS resolver is available in the VPC. Private DNS of interface endpoints \
             requires it. Updated in place. Defaults to `true`.",
        ),
        Attribute::bool("enable_dns_hostnames").default(true).describe(
            "Whether instances with public IP addresses get public DNS hostnames. Private DNS of \
             interface endpoints requires it. Updated in place. Defaults to `true`.",
        ),
        Attribute::string("instance_tenancy")
            .default("default")
            .replaces()
            .validate(|value, path, diagnostics| {
                if !matches!(value.as_str(), Some("default" | "dedicated")) {
                    diagnostics.error_at(
                        path.clone(),
                        "Invalid tenancy",
                        "AWS offers two tenancies. Set `instance_tenancy` to `default` or `dedicated`.",
                    );
                }
            })
            .describe(
                "Tenancy of instances in the VPC: `default` or `dedicated` (single-tenant hardware). \
                 Changing this replaces the VPC. Defaults to `default`.",
            ),
        Attribute::bool("lock_default_security_group").default(true).describe(
            "Whether to keep the default security group without rules, so that a network interface \
             without a security group of its own has no connectivity. `false` leaves the group as it is. \
             Updated in place. Defaults to `true`.",
        ),
        Attribute::string("default_security_group_id")
            .computed()
            .keeps()
            .describe("ID of the default security group."),
        Attribute::string("default_route_table_id")
            .computed()
            .keeps()
            .describe("ID of the route table that AWS created with the VPC."),
        Attribute::string("main_route_table_id")
            .computed()
            .keeps()
            .describe("ID of the main route table. Subnets without an explicit association use it."),
        Attribute::string("owner_id").computed().keeps().describe("ID of the AWS account that owns the VPC."),
        Attribute::string("arn").computed().keeps().describe("Amazon Resource Name (ARN) of the VPC."),
    ])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Vpc) -> Vpc {
    let mut state = before.clone();
    let vpc = found.vpc;
    state.take_tags(aws, &vpc.tags);
    state.id = vpc.id.into();
    state.cidr_block = vpc.cidr_block.into();
    state.secondary_cidr_blocks = sets::found(vpc.secondary.into_keys(), &before.secondary_cidr_blocks);
    state.assign_generated_ipv6 = vpc.ipv6.is_some().into();
    state.ipv6_cidr_block = vpc.ipv6.map(|(range, _)| range).into();
    state.enable_dns_support = found.dns_support.into();
    state.enable_dns_hostnames = found.dns_hostnames.into();
    state.instance_tenancy = vpc.tenancy.into();
    // Appears as drift: the locked group got rules.
    state.lock_default_security_group = match before.lock_default_security_group {
        Attr::Known(false) => false.into(),
        _ => found.default_group_empty.into(),
    };
    state.default_security_group_id = found.default_group.into();
    if !before.default_route_table_id.is_known() {
        state.default_route_table_id = found.main_route_table.clone().into();
    }
    state.main_route_table_id = found.main_route_table.into();
    state.arn = found.arn.into();
    state.owner_id = vpc.owner.into();
    state
}

/// The known IPv4 ranges.
pub(super) fn nets(vpc: &Vpc) -> Vec<IpNet> {
    let secondary = vpc.secondary_cidr_blocks.known().into_iter().flatten();
    [&vpc.cidr_block].into_iter().chain(secondary).filter_map(ranges::known).collect()
}

/// The ranges of the VPC for the guard.
pub(super) fn occupied(vpc: &Vpc) -> Result<PlannedResource, tf_provider_rs::NotKnown> {
    let mut resource = PlannedResource::new(key(vpc)?).id(vpc.id.known().map(String::as_str));
    let add = |resource: PlannedResource, range: &Attr<String>, name: &str, family| match range {
        Attr::Unknown => resource.unknown(family),
        range => match ranges::known(range) {
            Some(net) => resource.range(net, Path::of(name), Role::Occupy),
            None => resource,
        },
    };
    resource = add(resource, &vpc.cidr_block, "cidr_block", Family::V4);
    resource = match &vpc.secondary_cidr_blocks {
        Attr::Unknown => resource.unknown(Family::V4),
        secondary => secondary
            .known()
            .into_iter()
            .flatten()
            .fold(resource, |resource, range| add(resource, range, "secondary_cidr_blocks", Family::V4)),
    };
    Ok(add(resource, &vpc.ipv6_cidr_block, "ipv6_cidr_block", Family::V6))
}
