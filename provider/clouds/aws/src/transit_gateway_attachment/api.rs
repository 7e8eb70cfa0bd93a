//! EC2 API calls for VPC attachments of transit gateways.

use aws_sdk_ec2::types::{
    ApplianceModeSupportValue, CreateTransitGatewayVpcAttachmentRequestOptions, DnsSupportValue,
    Ipv6SupportValue, ModifyTransitGatewayVpcAttachmentRequestOptions, ResourceType,
    TransitGatewayAttachmentState, TransitGatewayVpcAttachment,
};

use tf_provider_rs::Attr;

use super::model::Attachment;
use crate::client::{self, switch};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{self, TransitGatewayRouteTableId};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::{Failure, sets};

const DESCRIBE: &str = "DescribeTransitGatewayVpcAttachments";

/// Builds the options of a call. Every call has its own type for them.
macro_rules! options {
    ($builder:expr, $planned:expr) => {
        $builder
            .dns_support(switch($planned.dns_support.is_true()))
            .ipv6_support(switch($planned.ipv6_support.is_true()))
            .appliance_mode_support(switch($planned.appliance_mode.is_true()))
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
    let name = planned.object.name()?;
    let gateway = tags::filter("transit-gateway-id", planned.transit_gateway_id.value()?);
    let vpc = tags::filter("vpc-id", planned.vpc_id.value()?);
    // The call has no filter for tags, unlike most describes.
    let call = aws.ec2().describe_transit_gateway_vpc_attachments().filters(gateway).filters(vpc);
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(attachment) = pages.next().await {
        let attachment = attachment.named(DESCRIBE)?;
        let state = attachment.state.as_ref();
        let leaving = is_gone(state) || state == Some(&TransitGatewayAttachmentState::Deleting);
        if aws.owns(&tags::from_sdk(attachment.tags()), name) && !leaving {
            ids.push(attachment.transit_gateway_attachment_id.or_missing(DESCRIBE, ID)?);
        }
    }
    Ok(ids)
}

const ID: &str = "TransitGatewayAttachmentId";

/// Creates an attachment and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Attachment, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateTransitGatewayVpcAttachment";
    let made = aws
        .ec2()
        .create_transit_gateway_vpc_attachment()
        .transit_gateway_id(planned.transit_gateway_id.value()?.as_str())
        .vpc_id(planned.vpc_id.value()?.as_str())
        .set_subnet_ids(Some(ids::texts(sets::known(&planned.subnet_ids))))
        .options(options!(CreateTransitGatewayVpcAttachmentRequestOptions::builder(), planned))
        .tag_specifications(tags::specification(ResourceType::TransitGatewayAttachment, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named(OPERATION)?;
    let made = made.transit_gateway_vpc_attachment.or_missing(OPERATION, "TransitGatewayVpcAttachment")?;
    made.transit_gateway_attachment_id.or_missing(OPERATION, ID)
}

/// The attachment of `before` as it is now; an error if it does not exist, or is deleted, failed or rejected.
pub(super) async fn get(aws: &Aws, before: &Attachment) -> Result<Attachment, ApiError> {
    let id = before.object.id()?;
    let call = aws.ec2().describe_transit_gateway_vpc_attachments().transit_gateway_attachment_ids(id);
    let answer = call.send().await.named(DESCRIBE)?;
    let found = answer.transit_gateway_vpc_attachments.into_iter().flatten().next();
    let living = found.filter(|found| !is_gone(found.state.as_ref()));
    state(aws, living.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(
    aws: &Aws,
    found: TransitGatewayVpcAttachment,
    before: &Attachment,
) -> Result<Attachment, ApiError> {
    let tags = tags::from_sdk(found.tags());
    let options = found.options.or_missing(DESCRIBE, "Options")?;
    let id = found.transit_gateway_attachment_id.or_missing(DESCRIBE, ID)?;
    Ok(Attachment {
        object: before.object.found(aws, &id, &tags),
        transit_gateway_id: Attr::Known(found.transit_gateway_id.parsed(DESCRIBE, "TransitGatewayId")?),
        vpc_id: Attr::Known(found.vpc_id.parsed(DESCRIBE, "VpcId")?),
        subnet_ids: sets::of(ids::all(
            found.subnet_ids.into_iter().flatten().map(Some),
            DESCRIBE,
            "SubnetIds",
        )?),
        dns_support: (options.dns_support == Some(DnsSupportValue::Enable)).into(),
        ipv6_support: (options.ipv6_support == Some(Ipv6SupportValue::Enable)).into(),
        appliance_mode: (options.appliance_mode_support == Some(ApplianceModeSupportValue::Enable)).into(),
        transit_gateway_default_route_table_association: before
            .transit_gateway_default_route_table_association,
        transit_gateway_default_route_table_propagation: before
            .transit_gateway_default_route_table_propagation,
        vpc_owner_id: Attr::Known(found.vpc_owner_id.parsed(DESCRIBE, "VpcOwnerId")?),
        state: found.state.or_missing(DESCRIBE, "State")?.as_str().into(),
    })
}

/// The default tables of a gateway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DefaultTables {
    pub(super) association: Option<TransitGatewayRouteTableId>,
    pub(super) propagation: Option<TransitGatewayRouteTableId>,
}

/// The default tables of the gateway that `have` is attached to; `None` if another account owns it, which cannot be read.
pub(super) async fn default_tables(aws: &Aws, have: &Attachment) -> Result<Option<DefaultTables>, ApiError> {
    const DESCRIBE: &str = "DescribeTransitGateways";
    let id = have.transit_gateway_id.value()?;
    let call = aws.ec2().describe_transit_gateways().transit_gateway_ids(id.as_str());
    let found = call.send().await.named(DESCRIBE)?.transit_gateways.into_iter().flatten().next();
    let found = found.ok_or_else(|| ApiError::absent(DESCRIBE, id))?;
    if found.owner_id.as_deref() != have.vpc_owner_id.known().map(|id| &**id) {
        return Ok(None);
    }
    let options = found.options.or_missing(DESCRIBE, "Options")?;
    let association = options.association_default_route_table_id;
    let propagation = options.propagation_default_route_table_id;
    Ok(Some(DefaultTables {
        association: association.parsed_if_set(DESCRIBE, "Options.AssociationDefaultRouteTableId")?,
        propagation: propagation.parsed_if_set(DESCRIBE, "Options.PropagationDefaultRouteTableId")?,
    }))
}

/// Updates settings and subnets. Without differences it calls nothing.
pub(super) async fn modify(aws: &Aws, have: &Attachment, planned: &Attachment) -> Result<(), ApiError> {
    let settings = |of: &Attachment| (of.dns_support, of.ipv6_support, of.appliance_mode);
    let (add, remove) = sets::difference(&sets::known(&have.subnet_ids), &sets::known(&planned.subnet_ids));
    if settings(have) == settings(planned) && add.is_none() && remove.is_none() {
        return Ok(());
    }
    let call = aws
        .ec2()
        .modify_transit_gateway_vpc_attachment()
        .transit_gateway_attachment_id(have.object.id()?)
        .set_add_subnet_ids(add.map(ids::texts))
        .set_remove_subnet_ids(remove.map(ids::texts))
        .options(options!(ModifyTransitGatewayVpcAttachmentRequestOptions::builder(), planned));
    call.send().await.named("ModifyTransitGatewayVpcAttachment").map(drop)
}

pub(super) async fn delete(aws: &Aws, attachment: &Attachment) -> Result<(), ApiError> {
    let id = attachment.object.id()?;
    let call = aws.ec2().delete_transit_gateway_vpc_attachment().transit_gateway_attachment_id(id);
    match call.send().await.named("DeleteTransitGatewayVpcAttachment") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.is_ambiguous() || error.is_not_ready() => {
            match ApiError::if_found(get(aws, attachment).await) {
                Ok(found) if found.as_ref().is_none_or(|found| found.is("deleting")) => Ok(()),
                _ => Err(error),
            }
        }
        other => other.map(drop),
    }
}
