//! Attributes and state of `warren_aws_transit_gateway_attachment`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Type, model};

use super::api::{Found, Settings};
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{
    Timeouts,
    sets::{self, Texts},
};

model! {
    /// An attachment of a VPC to a transit gateway.
    pub struct Attachment {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `tgw-attach-..`.
        pub id: Attr<String>,
        /// `tgw-..`.
        pub transit_gateway_id: Attr<String>,
        /// `vpc-..`.
        pub vpc_id: Attr<String>,
        /// One subnet per zone.
        pub subnet_ids: Texts,
        /// Whether names resolve across VPCs.
        pub dns_support: Attr<bool>,
        /// Whether IPv6 is routed.
        pub ipv6_support: Attr<bool>,
        /// Whether both directions of a flow stay in one zone.
        pub appliance_mode: Attr<bool>,
        /// Account of the VPC.
        pub vpc_owner_id: Attr<String>,
        /// As AWS reports it.
        pub state: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Attachment, "warren_aws_transit_gateway_attachment");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages the attachment of a VPC to a transit gateway. The route tables of the VPC decide which \
         traffic uses the attachment. A route to the transit gateway requires the attachment, so name \
         the attachment in `depends_on` of these route tables.",
    )
    .attributes(common::head("attachment"))
    .attributes([
        Attribute::string("transit_gateway_id")
            .required()
            .replaces()
            .describe("ID of the transit gateway. Changing this replaces the attachment."),
        Attribute::string("vpc_id")
            .required()
            .replaces()
            .describe("ID of the VPC. Changing this replaces the attachment."),
        Attribute::of("subnet_ids", Type::set(Type::String)).required().describe(
            "IDs of subnets of the VPC, one for each Availability Zone that the transit gateway must \
             reach. Updated in place.",
        ),
        Attribute::bool("dns_support").default(true).describe(
            "Whether public DNS hostnames resolve to private IP addresses across attached VPCs. Updated \
             in place. Defaults to `true`.",
        ),
        Attribute::bool("ipv6_support")
            .default(false)
            .describe("Whether the attachment routes IPv6 traffic. Updated in place. Defaults to `false`."),
        Attribute::bool("appliance_mode").default(false).describe(
            "Whether both directions of a flow use the same Availability Zone, which a stateful network \
             appliance requires. Updated in place. Defaults to `false`.",
        ),
        Attribute::string("vpc_owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the VPC."),
        Attribute::string("state").computed().describe(
            "State of the attachment: `available`, or `pendingAcceptance` until the other account accepts \
             the attachment.",
        ),
    ])
    .attributes(common::tail())
}

/// The planned values of the settings that can be updated.
pub(super) fn settings(planned: &Attachment) -> Settings {
    Settings {
        dns: planned.dns_support.is_true(),
        ipv6: planned.ipv6_support.is_true(),
        appliance: planned.appliance_mode.is_true(),
    }
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Attachment) -> Attachment {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.transit_gateway_id = found.gateway.into();
    state.vpc_id = found.vpc.into();
    state.subnet_ids = sets::of(found.subnets);
    state.dns_support = found.settings.dns.into();
    state.ipv6_support = found.settings.ipv6.into();
    state.appliance_mode = found.settings.appliance.into();
    state.vpc_owner_id = found.vpc_owner.into();
    state.state = found.state.into();
    state
}
