//! Attributes and state of `warren_aws_subnet`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Path, model};
use warren_cidr::{Cloud, Family};
use warren_guard::{Parent, PlannedResource, Role};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{Timeouts, key, ranges};

model! {
    /// A subnet.
    pub struct Subnet {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `subnet-..`.
        pub id: Attr<String>,
        /// The VPC.
        pub vpc_id: Attr<String>,
        /// The VPC's range, for the check at plan.
        pub vpc_cidr_block: Attr<String>,
        /// IPv4 range.
        pub cidr_block: Attr<String>,
        /// IPv6 range.
        pub ipv6_cidr_block: Attr<String>,
        /// Such as `us-east-1a`.
        pub availability_zone: Attr<String>,
        /// Such as `use1-az1`, the same in every account.
        pub availability_zone_id: Attr<String>,
        /// Whether new interfaces get a public IPv4 address.
        pub map_public_ip_on_launch: Attr<bool>,
        /// Whether new interfaces get an IPv6 address.
        pub assign_ipv6_on_creation: Attr<bool>,
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

common!(Subnet, "warren_aws_subnet");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a subnet of a VPC. At plan time, Warren checks that its range is inside the VPC and \
         does not overlap the other subnets of the VPC. The subnet is private by default: new network \
         interfaces get no public IP address.",
    )
    .attributes(common::head("subnet"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe("ID of the VPC. Changing this replaces \
            the subnet."),
        Attribute::string("vpc_cidr_block").optional().validate(ranges::network(Cloud::Aws, Family::V4)).describe(
            "IPv4 range of the VPC that contains the subnet. Warren uses it for checks at plan time while \
             `vpc_id` is not known yet, and never sends it to AWS.",
        ),
        Attribute::string("cidr_block").required().replaces().validate(ranges::subnet(Cloud::Aws, Family::V4)).describe(
            "IPv4 range in CIDR notation without host bits, `/16` to `/28`. AWS reserves five of its \
             addresses. Changing this replaces the subnet.",
        ),
        Attribute::string("ipv6_cidr_block")
            .optional()
            .validate(ranges::subnet(Cloud::Aws, Family::V6))
            .describe("IPv6 range within the IPv6 range of the VPC, `/44` to `/64` in steps of 4. Updated \
                in place."),
        Attribute::string("availability_zone").optional().computed().keeps().replaces().describe(
            "Availability Zone, such as `us-east-1a`. AWS chooses one if not set. Changing this replaces \
             the subnet.",
        ),
        Attribute::string("availability_zone_id")
            .computed()
            .keeps()
            .describe("ID of the Availability Zone, such as `use1-az1`, which identifies the same zone in \
                every account."),
        Attribute::bool("map_public_ip_on_launch")
            .default(false)
            .describe("Whether new network interfaces get a public IPv4 address. Updated in place. \
                Defaults to `false`."),
        Attribute::bool("assign_ipv6_on_creation")
            .default(false)
            .describe("Whether new network interfaces get an IPv6 address. Requires `ipv6_cidr_block`. \
                Updated in place. Defaults to `false`."),
        Attribute::string("owner_id").computed().keeps().describe("ID of the AWS account that owns the \
            subnet."),
        Attribute::string("arn").computed().keeps().describe("Amazon Resource Name (ARN) of the subnet."),
    ])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Subnet) -> Subnet {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.vpc_id = found.vpc_id.into();
    state.cidr_block = found.cidr_block.into();
    state.ipv6_cidr_block = found.ipv6.map(|(range, _)| range).into();
    state.availability_zone = found.zone.into();
    state.availability_zone_id = found.zone_id.into();
    state.map_public_ip_on_launch = found.map_public_ip.into();
    state.assign_ipv6_on_creation = found.assign_ipv6.into();
    state.owner_id = found.owner.into();
    state.arn = found.arn.into();
    state
}

/// The ranges of the subnet for the guard.
pub(super) fn part(subnet: &Subnet) -> Result<PlannedResource, tf_provider_rs::NotKnown> {
    let vpc = Parent::of("warren_aws_vpc", subnet.vpc_id.known().map(String::as_str))
        .within(ranges::known(&subnet.vpc_cidr_block).into_iter().collect());
    let mut resource = PlannedResource::new(key(subnet)?).id(subnet.id.known().map(String::as_str));
    for (range, name, family) in [
        (&subnet.cidr_block, "cidr_block", Family::V4),
        (&subnet.ipv6_cidr_block, "ipv6_cidr_block", Family::V6),
    ] {
        if range.is_unknown() {
            resource = resource.unknown(family);
        } else if let Some(net) = ranges::known(range) {
            resource = resource.range(net, Path::of(name), Role::Part(vpc.clone()));
        }
    }
    Ok(resource)
}
