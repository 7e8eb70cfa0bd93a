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
        /// Private ASN of the Amazon side.
        pub amazon_side_asn: Attr<i64>,
        /// Whether attachments use the default route table.
        pub default_route_table_association: Attr<bool>,
        /// Whether attachments propagate their routes to the default route table.
        pub default_route_table_propagation: Attr<bool>,
        /// Whether names resolve across VPCs.
        pub dns_support: Attr<bool>,
        /// Whether VPN connections use ECMP.
        pub vpn_ecmp_support: Attr<bool>,
        /// Whether attachments of other accounts are accepted automatically.
        pub auto_accept_shared_attachments: Attr<bool>,
        /// `tgw-rtb-..`.
        pub association_default_route_table_id: Attr<String>,
        /// `tgw-rtb-..`.
        pub propagation_default_route_table_id: Attr<String>,
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

common!(TransitGateway, "warren_aws_transit_gateway");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a transit gateway, a hub that connects VPCs. By default all attachments share one route \
         table, so attached VPCs can reach each other wherever their own route tables send traffic to \
         the gateway. To isolate attachments from each other, set `default_route_table_association` and \
         `default_route_table_propagation` to `false` and manage transit gateway route tables yourself.",
    )
    .attributes(common::head("transit gateway"))
    .attributes([
        Attribute::string("description")
            .optional()
            .describe("Description of the transit gateway. Updated in place."),
        Attribute::number("amazon_side_asn").default(64512_i64).replaces().validate(asn).describe(
            "Private autonomous system number (ASN) of the Amazon side of BGP sessions: 64512 to 65534, \
             or 4200000000 to 4294967294. Changing this replaces the transit gateway. Defaults to \
             `64512`.",
        ),
        Attribute::bool("default_route_table_association").default(true).describe(
            "Whether new attachments are associated with the default route table. Updated in place. \
             Defaults to `true`.",
        ),
        Attribute::bool("default_route_table_propagation").default(true).describe(
            "Whether new attachments propagate their routes to the default route table. Updated in place. \
             Defaults to `true`.",
        ),
        Attribute::bool("dns_support").default(true).describe(
            "Whether public DNS hostnames resolve to private IP addresses across attached VPCs. Updated \
             in place. Defaults to `true`.",
        ),
        Attribute::bool("vpn_ecmp_support").default(true).describe(
            "Whether VPN connections use equal-cost multipath (ECMP) routing. Updated in place. Defaults \
             to `true`.",
        ),
        Attribute::bool("auto_accept_shared_attachments").default(false).describe(
            "Whether attachments from accounts that the transit gateway is shared with are accepted \
             automatically. Updated in place. Defaults to `false`.",
        ),
        Attribute::string("association_default_route_table_id")
            .computed()
            .describe("ID of the default association route table, if the transit gateway has one."),
        Attribute::string("propagation_default_route_table_id")
            .computed()
            .describe("ID of the default propagation route table, if the transit gateway has one."),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account that owns the transit gateway."),
        Attribute::string("arn")
            .computed()
            .keeps()
            .describe("Amazon Resource Name (ARN) of the transit gateway."),
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
            "Invalid private ASN",
            "`amazon_side_asn` must be a private ASN. Use a number from 64512 to 65534 (16-bit) or from \
             4200000000 to 4294967294 (32-bit).",
        );
    }
}

/// The planned values of the settings that can be updated.
pub(super) fn settings(planned: &TransitGateway) -> Settings {
    Settings {
        association: planned.default_route_table_association.is_true(),
        propagation: planned.default_route_table_propagation.is_true(),
        dns: planned.dns_support.is_true(),
        ecmp: planned.vpn_ecmp_support.is_true(),
        auto_accept: planned.auto_accept_shared_attachments.is_true(),
    }
}

/// The state of the object that was found, based on `before`.
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
