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
        /// The subnet that it lives in.
        pub subnet_id: Attr<String>,
        /// `public` or `private`.
        pub connectivity_type: Attr<String>,
        /// An address of the user's.
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
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(NatGateway, "warren_aws_nat_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A NAT gateway: private subnets reach out through it, nothing reaches in. A public one without \
         `allocation_id` allocates an Elastic IP address and releases it when it goes.",
    )
    .attributes(common::head("NAT gateway"))
    .attributes([
        Attribute::string("subnet_id").required().replaces().describe(
            "Id of the subnet that the gateway lives in; for a public one, a subnet with a route to an internet \
             gateway. A change replaces the gateway.",
        ),
        Attribute::string("connectivity_type")
            .default("public")
            .replaces()
            .validate(|value, path, diagnostics| {
                if !matches!(value.as_str(), Some("public" | "private")) {
                    diagnostics.error_at(
                        path.clone(),
                        "Unknown connectivity type",
                        "`connectivity_type` is `public` or `private`.",
                    );
                }
            })
            .describe(
                "`public` (to the internet) or `private` (to other networks). A change replaces the gateway. \
                 Default: `public`.",
            ),
        Attribute::string("allocation_id").optional().replaces().describe(
            "Allocation id of an Elastic IP address of yours, which stays when the gateway goes. A change replaces \
             the gateway.",
        ),
        Attribute::string("owned_allocation_id").computed().keeps().describe(
            "Allocation id of the Elastic IP address that this resource allocated; null when it did not.",
        ),
        Attribute::string("public_ip").computed().keeps().describe("Public IPv4 address."),
        Attribute::string("private_ip").computed().keeps().describe("Private IPv4 address in the subnet."),
        Attribute::string("network_interface_id").computed().keeps().describe("Id of its network interface."),
        Attribute::string("vpc_id").computed().keeps().describe("Id of the VPC."),
        Attribute::string("state").computed().keeps().describe(
            "`available`; a gateway found `failed` or `deleted` is replaced by the next apply.",
        ),
    ])
    .attributes(common::tail())
}

/// The state that what was found makes of `before`.
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
