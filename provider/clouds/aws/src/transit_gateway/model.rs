//! `warren_aws_transit_gateway`: schema and state.

use tf_provider_rs::{Attr, Diagnostics, Path, Resource, Value};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::{AccountId, TransitGatewayRouteTableId};

/// Manages a transit gateway, a hub that connects VPCs. By default all attachments share one route table, so attached
/// VPCs can reach each other wherever their own route tables send traffic to the gateway. To isolate attachments from
/// each other, set `default_route_table_association` and `default_route_table_propagation` to `false` and manage
/// transit gateway route tables yourself.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_transit_gateway", noun = "transit gateway")]
pub(crate) struct TransitGateway {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// Description of the transit gateway. Updated in place.
    #[attr(optional)]
    pub(crate) description: Attr<String>,
    /// Private autonomous system number (ASN) of the Amazon side of BGP sessions: 64512 to 65534, or 4200000000 to
    /// 4294967294. Changing this replaces the transit gateway. Defaults to `64512`.
    #[attr(default = 64512, replaces, validate = check_asn)]
    pub(crate) amazon_side_asn: Attr<u32>,
    /// Whether new attachments are associated with the default route table. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) default_route_table_association: Attr<bool>,
    /// Whether new attachments propagate their routes to the default route table. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) default_route_table_propagation: Attr<bool>,
    /// Whether public DNS hostnames resolve to private IP addresses across attached VPCs. Updated in place. Defaults to
    /// `true`.
    #[attr(default = true)]
    pub(crate) dns_support: Attr<bool>,
    /// Whether VPN connections use equal-cost multipath (ECMP) routing. Updated in place. Defaults to `true`.
    #[attr(default = true)]
    pub(crate) vpn_ecmp_support: Attr<bool>,
    /// Whether attachments from accounts that the transit gateway is shared with are accepted automatically. Updated in
    /// place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) auto_accept_shared_attachments: Attr<bool>,
    /// ID of the default association route table, if the transit gateway has one.
    #[attr(computed)]
    pub(crate) association_default_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// ID of the default propagation route table, if the transit gateway has one.
    #[attr(computed)]
    pub(crate) propagation_default_route_table_id: Attr<TransitGatewayRouteTableId>,
    /// ID of the AWS account that owns the transit gateway.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<AccountId>,
    /// Amazon Resource Name (ARN) of the transit gateway.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for TransitGateway {
    type Shared = AwsObject;
}

fn check_asn(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let asn = if let Value::Number(number) = value { number.to_u64() } else { None };
    if !asn.is_some_and(|asn| matches!(asn, 64512..=65534 | 4_200_000_000..=4_294_967_294)) {
        diagnostics.error_at(
            path.clone(),
            "Invalid private ASN",
            "`amazon_side_asn` must be a private ASN. Use a number from 64512 to 65534 (16-bit) or from \
             4200000000 to 4294967294 (32-bit).",
        );
    }
}
