//! Attributes and state of `warren_aws_transit_gateway`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Value, model};

use super::api::{Found, Settings};
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// A transit gateway.
    pub struct TransitGateway {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `tgw-..`.
        pub id: Attr<String>,
        /// Free text.
        pub description: Attr<String>,
        /// Private BGP number of Amazon's side.
        pub amazon_side_asn: Attr<i64>,
        /// Whether attachments use the default route table.
        pub default_route_table_association: Attr<bool>,
        /// Whether attachments put their routes into the default route table.
        pub default_route_table_propagation: Attr<bool>,
        /// Whether names resolve across VPCs.
        pub dns_support: Attr<bool>,
        /// Whether VPN connections share load.
        pub vpn_ecmp_support: Attr<bool>,
        /// Whether attachments of other accounts need no acceptance.
        pub auto_accept_shared_attachments: Attr<bool>,
        /// `tgw-rtb-..`.
        pub association_default_route_table_id: Attr<String>,
        /// `tgw-rtb-..`.
        pub propagation_default_route_table_id: Attr<String>,
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
}

common!(TransitGateway, "warren_aws_transit_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A transit gateway: the hub that VPCs attach to. By default every attachment uses, and writes its routes \
         into, one route table, so that all of them reach each other as far as their own route tables send traffic \
         here. For spokes that must not reach each other set both `default_route_table_*` to `false` and manage \
         transit gateway route tables yourself.",
    )
    .attributes(common::head("transit gateway"))
    .attributes([
        Attribute::string("description").optional().describe("Free text. Changes in place."),
        Attribute::number("amazon_side_asn").default(64512_i64).replaces().validate(asn).describe(
            "BGP number of Amazon's side: 64512 to 65534, or 4200000000 to 4294967294. A change replaces the \
             gateway. Default: 64512.",
        ),
        Attribute::bool("default_route_table_association")
            .default(true)
            .describe("Whether new attachments use the default route table. Changes in place. Default: `true`."),
        Attribute::bool("default_route_table_propagation").default(true).describe(
            "Whether new attachments write their routes into the default route table. Changes in place. Default: \
             `true`.",
        ),
        Attribute::bool("dns_support").default(true).describe(
            "Whether public names resolve to private addresses across attached VPCs. Changes in place. Default: \
             `true`.",
        ),
        Attribute::bool("vpn_ecmp_support")
            .default(true)
            .describe("Whether VPN connections share load over equal paths. Changes in place. Default: `true`."),
        Attribute::bool("auto_accept_shared_attachments").default(false).describe(
            "Whether attachments of accounts that the gateway is shared with need no acceptance. Changes in place. \
             Default: `false`.",
        ),
        Attribute::string("association_default_route_table_id")
            .computed()
            .describe("Id of the route table that new attachments use, when they do."),
        Attribute::string("propagation_default_route_table_id")
            .computed()
            .describe("Id of the route table that new attachments write to, when they do."),
        Attribute::string("owner_id").computed().keeps().describe("Id of the account, 12 digits."),
        Attribute::string("arn").computed().keeps().describe("Amazon resource name."),
    ])
    .attributes(common::tail())
}

fn asn(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_i64(),
        _ => None,
    };
    if !number
        .is_some_and(|asn| (64512..=65534).contains(&asn) || (4_200_000_000..=4_294_967_294).contains(&asn))
    {
        diagnostics.error_at(
            path.clone(),
            "Not a private BGP number",
            "`amazon_side_asn` is 64512 to 65534 (16 bit) or 4200000000 to 4294967294 (32 bit).",
        );
    }
}

/// What is planned of the settings that can be changed.
pub(super) fn settings(planned: &TransitGateway) -> Settings {
    Settings {
        association: planned.default_route_table_association.is_true(),
        propagation: planned.default_route_table_propagation.is_true(),
        dns: planned.dns_support.is_true(),
        ecmp: planned.vpn_ecmp_support.is_true(),
        auto_accept: planned.auto_accept_shared_attachments.is_true(),
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &TransitGateway) -> TransitGateway {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    state.id = found.id.into();
    state.description = found.description.into();
    state.amazon_side_asn = found.asn.into();
    state.default_route_table_association = found.settings.association.into();
    state.default_route_table_propagation = found.settings.propagation.into();
    state.dns_support = found.settings.dns.into();
    state.vpn_ecmp_support = found.settings.ecmp.into();
    state.auto_accept_shared_attachments = found.settings.auto_accept.into();
    state.association_default_route_table_id = found.association_table.into();
    state.propagation_default_route_table_id = found.propagation_table.into();
    state.owner_id = found.owner.into();
    state.arn = found.arn.into();
    state
}
