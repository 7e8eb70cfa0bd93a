//! EC2 API calls for transit gateways.

use aws_sdk_ec2::types::{
    AutoAcceptSharedAttachmentsValue, DefaultRouteTableAssociationValue, DefaultRouteTablePropagationValue,
    DnsSupportValue, ModifyTransitGatewayOptions, ResourceType, TransitGatewayRequestOptions,
    TransitGatewayState, VpnEcmpSupportValue,
};

use super::schema::TransitGateway;
use crate::client::{self, switch};
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::Failure;

/// A transit gateway as returned by DescribeTransitGateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) arn: String,
    pub(super) owner: String,
    /// As AWS reports it: `pending`, `available`, `modifying`, `deleting`.
    pub(super) state: String,
    pub(super) description: Option<String>,
    pub(super) asn: Option<i64>,
    pub(super) settings: Settings,
    pub(super) association_table: Option<String>,
    pub(super) propagation_table: Option<String>,
    pub(super) tags: Tags,
}

/// What ModifyTransitGateway can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) association: bool,
    pub(super) propagation: bool,
    pub(super) dns: bool,
    pub(super) ecmp: bool,
    pub(super) auto_accept: bool,
}

/// Builds the options of a call from the settings. Every call has its own type for them.
macro_rules! options {
    ($builder:expr, $settings:expr) => {
        $builder
            .default_route_table_association(switch($settings.association))
            .default_route_table_propagation(switch($settings.propagation))
            .dns_support(switch($settings.dns))
            .vpn_ecmp_support(switch($settings.ecmp))
            .auto_accept_shared_attachments(switch($settings.auto_accept))
            .build()
    };
}

/// IDs of the living transit gateways of this fabric and owner called `name` with the planned number.
pub(super) async fn find(aws: &Aws, name: &str, asn: Option<i64>) -> Result<Vec<String>, ApiError> {
    let call = aws.ec2().describe_transit_gateways().set_filters(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        let gateway = gateway.named("DescribeTransitGateways")?;
        let leaving =
            matches!(gateway.state, Some(TransitGatewayState::Deleting | TransitGatewayState::Deleted));
        let ours = aws.owns(&tags::from_sdk(gateway.tags.as_deref().unwrap_or_default()), name);
        let same = gateway.options.as_ref().and_then(|options| options.amazon_side_asn()) == asn;
        if ours && same && !leaving {
            ids.extend(gateway.transit_gateway_id);
        }
    }
    Ok(ids)
}

/// Creates a transit gateway and returns its ID.
pub(super) async fn create(
    aws: &Aws,
    planned: &TransitGateway,
    settings: Settings,
    tags: &Tags,
) -> Result<String, ApiError> {
    let asn = planned.amazon_side_asn.known().copied();
    let options = options!(TransitGatewayRequestOptions::builder().set_amazon_side_asn(asn), settings);
    let made = aws
        .ec2()
        .create_transit_gateway()
        .set_description(planned.description.known().cloned())
        .options(options)
        .tag_specifications(tags::specification(ResourceType::TransitGateway, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateTransitGateway")?;
    Ok(made.transit_gateway.and_then(|gateway| gateway.transit_gateway_id).unwrap_or_default())
}

/// The transit gateway `id`; an error if it does not exist or is deleted.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_transit_gateways().transit_gateway_ids(id);
    let answer = call.send().await.named("DescribeTransitGateways")?;
    let gateway = answer.transit_gateways.unwrap_or_default().into_iter().next();
    gateway
        .filter(|gateway| gateway.state != Some(TransitGatewayState::Deleted))
        .map(found)
        .ok_or_else(|| ApiError::absent("DescribeTransitGateways", id))
}

fn found(gateway: aws_sdk_ec2::types::TransitGateway) -> Found {
    let options =
        gateway.options.unwrap_or_else(|| aws_sdk_ec2::types::TransitGatewayOptions::builder().build());
    Found {
        id: gateway.transit_gateway_id.unwrap_or_default(),
        arn: gateway.transit_gateway_arn.unwrap_or_default(),
        owner: gateway.owner_id.unwrap_or_default(),
        state: gateway.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        description: gateway.description.filter(|text| !text.is_empty()),
        asn: options.amazon_side_asn,
        settings: Settings {
            association: options.default_route_table_association
                == Some(DefaultRouteTableAssociationValue::Enable),
            propagation: options.default_route_table_propagation
                == Some(DefaultRouteTablePropagationValue::Enable),
            dns: options.dns_support == Some(DnsSupportValue::Enable),
            ecmp: options.vpn_ecmp_support == Some(VpnEcmpSupportValue::Enable),
            auto_accept: options.auto_accept_shared_attachments
                == Some(AutoAcceptSharedAttachmentsValue::Enable),
        },
        association_table: options.association_default_route_table_id,
        propagation_table: options.propagation_default_route_table_id,
        tags: tags::from_sdk(gateway.tags.as_deref().unwrap_or_default()),
    }
}

pub(super) async fn modify(
    aws: &Aws,
    id: &str,
    description: Option<&str>,
    settings: Settings,
) -> Result<(), ApiError> {
    let options = options!(ModifyTransitGatewayOptions::builder(), settings);
    let call = aws
        .ec2()
        .modify_transit_gateway()
        .transit_gateway_id(id)
        .description(description.unwrap_or_default())
        .options(options);
    call.send().await.named("ModifyTransitGateway").map(drop)
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_transit_gateway().transit_gateway_id(id);
    match call.send().await.named("DeleteTransitGateway") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.is_ambiguous() => is_leaving(get(aws, id).await, error),
        other => other.map(drop),
    }
}

/// The result of a failed delete, depending on what exists after it.
fn is_leaving(found: Result<Found, ApiError>, error: ApiError) -> Result<(), ApiError> {
    match found {
        Ok(found) if found.state == "deleting" => Ok(()),
        Err(gone) if gone.is_not_found() => Ok(()),
        _ => Err(error),
    }
}
