//! EC2 API calls for transit gateways.

use aws_sdk_ec2::types::{
    self, AutoAcceptSharedAttachmentsValue, DefaultRouteTableAssociationValue,
    DefaultRouteTablePropagationValue, DnsSupportValue, ModifyTransitGatewayOptions, ResourceType,
    TransitGatewayRequestOptions, TransitGatewayState, VpnEcmpSupportValue,
};

use tf_provider_rs::Attr;

use super::model::TransitGateway;
use crate::client::{self, switch};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::Failure;

const DESCRIBE: &str = "DescribeTransitGateways";
const ID: &str = "TransitGatewayId";

/// A transit gateway as it is now.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) state: TransitGateway,
    /// As AWS reports it: `pending`, `available`, `modifying`, `deleting`.
    pub(super) status: String,
}

/// Builds the options of a call. Every call has its own type for them.
macro_rules! options {
    ($builder:expr, $planned:expr) => {
        $builder
            .default_route_table_association(switch($planned.default_route_table_association.is_true()))
            .default_route_table_propagation(switch($planned.default_route_table_propagation.is_true()))
            .dns_support(switch($planned.dns_support.is_true()))
            .vpn_ecmp_support(switch($planned.vpn_ecmp_support.is_true()))
            .auto_accept_shared_attachments(switch($planned.auto_accept_shared_attachments.is_true()))
            .build()
    };
}

/// IDs of the living transit gateways of this fabric and owner with the planned name and number.
pub(super) async fn find(aws: &Aws, planned: &TransitGateway) -> Result<Vec<String>, ApiError> {
    let (name, asn) = (planned.object.name()?, planned.amazon_side_asn.value()?);
    let call = aws.ec2().describe_transit_gateways().set_filters(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        let gateway = gateway.named(DESCRIBE)?;
        let leaving =
            matches!(gateway.state, Some(TransitGatewayState::Deleting | TransitGatewayState::Deleted));
        let ours = aws.owns(&tags::from_sdk(gateway.tags()), name);
        let same = gateway.options().and_then(|options| options.amazon_side_asn) == Some(i64::from(*asn));
        if ours && same && !leaving {
            ids.push(gateway.transit_gateway_id.or_missing(DESCRIBE, ID)?);
        }
    }
    Ok(ids)
}

/// Creates a transit gateway and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &TransitGateway, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateTransitGateway";
    let asn = planned.amazon_side_asn.known().map(|asn| i64::from(*asn));
    let made = aws
        .ec2()
        .create_transit_gateway()
        .set_description(planned.description.known().cloned())
        .options(options!(TransitGatewayRequestOptions::builder().set_amazon_side_asn(asn), planned))
        .tag_specifications(tags::specification(ResourceType::TransitGateway, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named(OPERATION)?;
    let made = made.transit_gateway.or_missing(OPERATION, "TransitGateway")?;
    made.transit_gateway_id.or_missing(OPERATION, ID)
}

/// The transit gateway of `before` as it is now; an error if it does not exist or is deleted.
pub(super) async fn get(aws: &Aws, before: &TransitGateway) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let call = aws.ec2().describe_transit_gateways().transit_gateway_ids(id);
    let answer = call.send().await.named(DESCRIBE)?;
    let found = answer.transit_gateways.into_iter().flatten().next();
    let living = found.filter(|found| found.state != Some(TransitGatewayState::Deleted));
    let living = living.ok_or_else(|| ApiError::absent(DESCRIBE, id))?;
    let status = living.state.as_ref().or_missing(DESCRIBE, "State")?.as_str().to_owned();
    Ok(Found { state: state(aws, living, before)?, status })
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(
    aws: &Aws,
    found: types::TransitGateway,
    before: &TransitGateway,
) -> Result<TransitGateway, ApiError> {
    let tags = tags::from_sdk(found.tags());
    let options = found.options.or_missing(DESCRIBE, "Options")?;
    let id = found.transit_gateway_id.or_missing(DESCRIBE, ID)?;
    let asn = options.amazon_side_asn.map(|asn| asn.to_string());
    Ok(TransitGateway {
        object: before.object.found(aws, &id, &tags),
        // A transit gateway without a description has an empty one.
        description: found.description.filter(|text| !text.is_empty()).into(),
        amazon_side_asn: Attr::Known(asn.parsed(DESCRIBE, "Options.AmazonSideAsn")?),
        default_route_table_association: (options.default_route_table_association
            == Some(DefaultRouteTableAssociationValue::Enable))
        .into(),
        default_route_table_propagation: (options.default_route_table_propagation
            == Some(DefaultRouteTablePropagationValue::Enable))
        .into(),
        dns_support: (options.dns_support == Some(DnsSupportValue::Enable)).into(),
        vpn_ecmp_support: (options.vpn_ecmp_support == Some(VpnEcmpSupportValue::Enable)).into(),
        auto_accept_shared_attachments: (options.auto_accept_shared_attachments
            == Some(AutoAcceptSharedAttachmentsValue::Enable))
        .into(),
        association_default_route_table_id: options
            .association_default_route_table_id
            .parsed_if_set(DESCRIBE, "Options.AssociationDefaultRouteTableId")?
            .into(),
        propagation_default_route_table_id: options
            .propagation_default_route_table_id
            .parsed_if_set(DESCRIBE, "Options.PropagationDefaultRouteTableId")?
            .into(),
        owner_id: Attr::Known(found.owner_id.parsed(DESCRIBE, "OwnerId")?),
        arn: found.transit_gateway_arn.or_missing(DESCRIBE, "TransitGatewayArn")?.into(),
    })
}

/// Updates description and options. Without differences it calls nothing.
pub(super) async fn modify(
    aws: &Aws,
    have: &TransitGateway,
    planned: &TransitGateway,
) -> Result<(), ApiError> {
    let settings = |of: &TransitGateway| {
        (
            of.description.clone(),
            of.default_route_table_association,
            of.default_route_table_propagation,
            of.dns_support,
            of.vpn_ecmp_support,
            of.auto_accept_shared_attachments,
        )
    };
    if settings(have) == settings(planned) {
        return Ok(());
    }
    let call = aws
        .ec2()
        .modify_transit_gateway()
        .transit_gateway_id(have.object.id()?)
        // An empty description removes it.
        .description(planned.description.known().cloned().unwrap_or_default())
        .options(options!(ModifyTransitGatewayOptions::builder(), planned));
    call.send().await.named("ModifyTransitGateway").map(drop)
}

pub(super) async fn delete(aws: &Aws, gateway: &TransitGateway) -> Result<(), ApiError> {
    let call = aws.ec2().delete_transit_gateway().transit_gateway_id(gateway.object.id()?);
    match call.send().await.named("DeleteTransitGateway") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.is_ambiguous() || error.is_not_ready() => {
            match ApiError::if_found(get(aws, gateway).await) {
                Ok(found) if found.as_ref().is_none_or(|found| found.status == "deleting") => Ok(()),
                _ => Err(error),
            }
        }
        other => other.map(drop),
    }
}
