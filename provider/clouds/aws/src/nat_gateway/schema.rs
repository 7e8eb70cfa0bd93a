//! Attributes and state of `warren_aws_nat_gateway`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// A NAT gateway.
    pub struct NatGateway {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `nat-..`.
        pub id: Attr<String>,
        /// The subnet of the gateway.
        pub subnet_id: Attr<String>,
        /// `public` or `private`.
        pub connectivity_type: Attr<String>,
        /// An address that the user manages.
        pub allocation_id: Attr<String>,
        /// The address that this resource allocated and releases.
        pub owned_allocation_id: Attr<String>,
        /// Public IPv4 address.
        pub public_ip: Attr<String>,
        /// Private IPv4 address.
        pub private_ip: Attr<String>,
        /// `eni-..`.
        pub network_interface_id: Attr<String>,
        /// The VPC.
        pub vpc_id: Attr<String>,
        /// `available`, or how it ended.
        pub state: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(NatGateway, "warren_aws_nat_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a NAT gateway, through which private subnets can open outbound connections but receive \
         none. A public gateway without `allocation_id` allocates an Elastic IP address and releases it \
         when the gateway is destroyed.",
    )
    .attributes(common::head("NAT gateway"))
    .attributes([
        Attribute::string("subnet_id").required().replaces().describe(
            "ID of the subnet of the gateway. A public gateway needs a subnet with a route to an internet \
             gateway. Changing this replaces the gateway.",
        ),
        Attribute::string("connectivity_type")
            .default("public")
            .replaces()
            .validate(|value, path, diagnostics| {
                if !matches!(value.as_str(), Some("public" | "private")) {
                    diagnostics.error_at(
                        path.clone(),
                        "Invalid connectivity type",
                        "AWS offers two connectivity types. Set `connectivity_type` to `public` or \
                         `private`.",
                    );
                }
            })
            .describe(
                "Connectivity of the gateway: `public` (to the internet) or `private` (to other private \
                 networks). Changing this replaces the gateway. Defaults to `public`.",
            ),
        Attribute::string("allocation_id").optional().replaces().describe(
            "Allocation ID of an existing Elastic IP address, which is kept when the gateway is \
             destroyed. Changing this replaces the gateway.",
        ),
        Attribute::string("owned_allocation_id").computed().keeps().describe(
            "Allocation ID of the Elastic IP address that this resource allocated. Null if it did not \
             allocate one.",
        ),
        Attribute::string("public_ip")
            .computed()
            .keeps()
            .describe("Public IPv4 address. Null for a private gateway."),
        Attribute::string("private_ip").computed().keeps().describe("Private IPv4 address in the subnet."),
        Attribute::string("network_interface_id")
            .computed()
            .keeps()
            .describe("ID of the network interface of the gateway."),
        Attribute::string("vpc_id").computed().keeps().describe("ID of the VPC."),
        Attribute::string("state").computed().keeps().describe(
            "State of the gateway, normally `available`. A gateway in the state `failed` or `deleted` is \
             replaced by the next apply.",
        ),
    ])
    .attributes(common::tail())
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &NatGateway) -> NatGateway {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.subnet_id = found.subnet_id.into();
    state.connectivity_type = found.connectivity.into();
    if !state.owned_allocation_id.is_known() {
        state.owned_allocation_id = if found.owned { found.allocation_id.clone().into() } else { Attr::Null };
    }
    state.allocation_id =
        if state.owned_allocation_id.is_known() { Attr::Null } else { found.allocation_id.into() };
    state.public_ip = found.public_ip.into();
    state.private_ip = found.private_ip.into();
    state.network_interface_id = found.network_interface_id.into();
    state.vpc_id = found.vpc_id.into();
    state.state = found.state.into();
    state
}
