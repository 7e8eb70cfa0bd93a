//! EC2 API calls for VPC attachments of transit gateways.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{
    ApplianceModeSupportValue, CreateTransitGatewayVpcAttachmentRequestOptions, DnsSupportValue,
    Ipv6SupportValue, ModifyTransitGatewayVpcAttachmentRequestOptions, ResourceType,
    TransitGatewayAttachmentState,
};

use super::schema::Attachment;
use crate::client::{self, switch};
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::{Failure, sets};

/// An attachment as returned by DescribeTransitGatewayVpcAttachments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) gateway: String,
    pub(super) vpc: String,
    pub(super) vpc_owner: String,
    pub(super) subnets: BTreeSet<String>,
    /// As AWS reports it: `pending`, `available`, `modifying`, `pendingAcceptance`, `deleting`.
    pub(super) state: String,
    pub(super) settings: Settings,
    pub(super) tags: Tags,
}

/// Settings that ModifyTransitGatewayVpcAttachment can change, besides the subnets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) dns: bool,
    pub(super) ipv6: bool,
    pub(super) appliance: bool,
}

/// Builds the options of a call from the settings. Every call has its own type for them.
macro_rules! options {
    ($builder:expr, $settings:expr) => {
        $builder
            .dns_support(switch($settings.dns))
            .ipv6_support(switch($settings.ipv6))
            .appliance_mode_support(switch($settings.appliance))
            .build()
    };
}

fn is_gone(state: Option<&TransitGatewayAttachmentState>) -> bool {
    use TransitGatewayAttachmentState as State;
    matches!(
        state,
        Some(State::Deleted | State::Failed | State::Rejected | State::Failing | State::Rejecting)
    )
}

/// IDs of the living attachments of this fabric and owner with the planned name, gateway and VPC.
pub(super) async fn find(aws: &Aws, planned: &Attachment) -> Result<Vec<String>, ApiError> {
    let name = planned.name.text();
    let gateway = tags::filter("transit-gateway-id", planned.transit_gateway_id.text());
    let vpc = tags::filter("vpc-id", planned.vpc_id.text());
    // The call has no filter for tags, unlike most describes.
    let call = aws.ec2().describe_transit_gateway_vpc_attachments().filters(gateway).filters(vpc);
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(attachment) = pages.next().await {
        let attachment = attachment.named("DescribeTransitGatewayVpcAttachments")?;
        let state = attachment.state.as_ref();
        let leaving = is_gone(state) || state == Some(&TransitGatewayAttachmentState::Deleting);
        let ours = aws.owns(&tags::from_sdk(attachment.tags.as_deref().unwrap_or_default()), name);
        if ours && !leaving {
            ids.extend(attachment.transit_gateway_attachment_id);
        }
    }
    Ok(ids)
}

/// Creates an attachment and returns its ID.
pub(super) async fn create(
    aws: &Aws,
    planned: &Attachment,
    settings: Settings,
    tags: &Tags,
) -> Result<String, ApiError> {
    let options = options!(CreateTransitGatewayVpcAttachmentRequestOptions::builder(), settings);
    let made = aws
        .ec2()
        .create_transit_gateway_vpc_attachment()
        .transit_gateway_id(planned.transit_gateway_id.text())
        .vpc_id(planned.vpc_id.text())
        .set_subnet_ids(Some(sets::known(&planned.subnet_ids).into_iter().collect()))
        .options(options)
        .tag_specifications(tags::specification(ResourceType::TransitGatewayAttachment, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateTransitGatewayVpcAttachment")?;
    let made = made.transit_gateway_vpc_attachment;
    Ok(made.and_then(|attachment| attachment.transit_gateway_attachment_id).unwrap_or_default())
}

/// The attachment `id`; an error if it does not exist, or is deleted, failed or rejected.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_transit_gateway_vpc_attachments().transit_gateway_attachment_ids(id);
    let answer = call.send().await.named("DescribeTransitGatewayVpcAttachments")?;
    let attachment = answer.transit_gateway_vpc_attachments.unwrap_or_default().into_iter().next();
    attachment
        .filter(|attachment| !is_gone(attachment.state.as_ref()))
        .map(found)
        .ok_or_else(|| ApiError::absent("DescribeTransitGatewayVpcAttachments", id))
}

fn found(attachment: aws_sdk_ec2::types::TransitGatewayVpcAttachment) -> Found {
    let options = attachment.options;
    let options = options.as_ref();
    Found {
        id: attachment.transit_gateway_attachment_id.unwrap_or_default(),
        gateway: attachment.transit_gateway_id.unwrap_or_default(),
        vpc: attachment.vpc_id.unwrap_or_default(),
        vpc_owner: attachment.vpc_owner_id.unwrap_or_default(),
        subnets: attachment.subnet_ids.unwrap_or_default().into_iter().collect(),
        state: attachment.state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
        settings: Settings {
            dns: options.and_then(|options| options.dns_support()) == Some(&DnsSupportValue::Enable),
            ipv6: options.and_then(|options| options.ipv6_support()) == Some(&Ipv6SupportValue::Enable),
            appliance: options.and_then(|options| options.appliance_mode_support())
                == Some(&ApplianceModeSupportValue::Enable),
        },
        tags: tags::from_sdk(attachment.tags.as_deref().unwrap_or_default()),
    }
}

/// Updates settings and subnets. Without differences it calls nothing.
pub(super) async fn modify(
    aws: &Aws,
    have: &Found,
    settings: Settings,
    subnets: &BTreeSet<String>,
) -> Result<(), ApiError> {
    let (add, remove) = sets::difference(&have.subnets, subnets);
    if have.settings == settings && add.is_none() && remove.is_none() {
        return Ok(());
    }
    let options = options!(ModifyTransitGatewayVpcAttachmentRequestOptions::builder(), settings);
    let call = aws
        .ec2()
        .modify_transit_gateway_vpc_attachment()
        .transit_gateway_attachment_id(&have.id)
        .set_add_subnet_ids(add)
        .set_remove_subnet_ids(remove)
        .options(options);
    call.send().await.named("ModifyTransitGatewayVpcAttachment").map(drop)
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_transit_gateway_vpc_attachment().transit_gateway_attachment_id(id);
    match call.send().await.named("DeleteTransitGatewayVpcAttachment") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.is_ambiguous() => match get(aws, id).await {
            Ok(found) if found.state == "deleting" => Ok(()),
            Err(gone) if gone.is_not_found() => Ok(()),
            _ => Err(error),
        },
        other => other.map(drop),
    }
}
