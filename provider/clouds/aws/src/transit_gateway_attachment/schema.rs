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
        /// One subnet a zone.
        pub subnet_ids: Texts,
        /// Whether names resolve across VPCs.
        pub dns_support: Attr<bool>,
        /// Whether IPv6 is routed.
        pub ipv6_support: Attr<bool>,
        /// Whether both directions of a flow stay in one zone.
        pub appliance_mode: Attr<bool>,
        /// Account of the VPC.
        pub vpc_owner_id: Attr<String>,
        /// In AWS's words.
        pub state: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Attachment, "warren_aws_transit_gateway_attachment");

pub(super) fn schema() -> Schema {
    Schema::new(
        "An attachment of a VPC to a transit gateway. The VPC's own route tables say what goes over it; name the \
         attachment in their `depends_on`, because a route to the gateway needs it.",
    )
    .attributes(common::head("attachment"))
    .attributes([
        Attribute::string("transit_gateway_id")
            .required()
            .replaces()
            .describe("Id of the transit gateway. A change replaces the attachment."),
        Attribute::string("vpc_id")
            .required()
            .replaces()
            .describe("Id of the VPC. A change replaces the attachment."),
        Attribute::of("subnet_ids", Type::set(Type::String)).required().describe(
            "Ids of subnets of the VPC, one for each availability zone that is to be reached. Changes in place.",
        ),
        Attribute::bool("dns_support").default(true).describe(
            "Whether public names resolve to private addresses across attached VPCs. Changes in place. Default: \
             `true`.",
        ),
        Attribute::bool("ipv6_support")
            .default(false)
            .describe("Whether IPv6 is routed. Changes in place. Default: `false`."),
        Attribute::bool("appliance_mode").default(false).describe(
            "Whether both directions of a flow stay in one availability zone, which a stateful appliance needs. \
             Changes in place. Default: `false`.",
        ),
        Attribute::string("vpc_owner_id").computed().keeps().describe("Id of the VPC's account, 12 digits."),
        Attribute::string("state")
            .computed()
            .describe("`available`, or `pendingAcceptance` while another account has yet to accept."),
    ])
    .attributes(common::tail())
}

/// What is planned of the settings that can be changed.
pub(super) fn settings(planned: &Attachment) -> Settings {
    Settings {
        dns: planned.dns_support.is_true(),
        ipv6: planned.ipv6_support.is_true(),
        appliance: planned.appliance_mode.is_true(),
    }
}

/// The state that what was found makes of `before`.
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
