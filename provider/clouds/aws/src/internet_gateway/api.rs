//! EC2 API calls for internet gateways.

use aws_sdk_ec2::types::{self, AttachmentStatus, ResourceType};

use super::model::InternetGateway;
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::Failure;

const DESCRIBE: &str = "DescribeInternetGateways";

/// An internet gateway with what no attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Live {
    pub(super) state: InternetGateway,
    /// Whether it is being attached or detached.
    pub(super) changing: bool,
}

/// IDs of the gateways of this fabric and owner called `name`.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let call = aws.ec2().describe_internet_gateways().set_filters(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        ids.extend(gateway.named(DESCRIBE)?.internet_gateway_id);
    }
    Ok(ids)
}

/// Creates a gateway and returns its ID.
pub(super) async fn create(aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
    let made = aws
        .ec2()
        .create_internet_gateway()
        .tag_specifications(tags::specification(ResourceType::InternetGateway, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("CreateInternetGateway")?;
    let id = made.internet_gateway.and_then(|gateway| gateway.internet_gateway_id);
    id.or_missing("CreateInternetGateway", "InternetGatewayId")
}

/// The gateway of the state `before`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &InternetGateway) -> Result<Live, ApiError> {
    let id = before.object.id()?;
    live(aws, describe(aws, id).await?, before)
}

async fn describe(aws: &Aws, id: &str) -> Result<types::InternetGateway, ApiError> {
    let answer =
        aws.ec2().describe_internet_gateways().internet_gateway_ids(id).send().await.named(DESCRIBE)?;
    let gateway = answer.internet_gateways.and_then(|gateways| gateways.into_iter().next());
    gateway.ok_or_else(|| ApiError::absent(DESCRIBE, id))
}

pub(super) fn live(
    aws: &Aws,
    gateway: types::InternetGateway,
    before: &InternetGateway,
) -> Result<Live, ApiError> {
    let tags = tags::from_sdk(gateway.tags());
    let attachment = attachment(&gateway).cloned();
    let id = gateway.internet_gateway_id.or_missing(DESCRIBE, "InternetGatewayId")?;
    let owner = gateway.owner_id.or_missing(DESCRIBE, "OwnerId")?;
    let status = attachment.as_ref().and_then(|attachment| attachment.state.clone());
    let vpc = attachment.and_then(|attachment| attachment.vpc_id);
    let state = InternetGateway {
        object: before.object.found(aws, &id, &tags),
        vpc_id: vpc.parsed_if_set(DESCRIBE, "VpcId")?.into(),
        arn: aws.arn(&owner, &format!("internet-gateway/{id}")).into(),
        owner_id: owner.into(),
    };
    let changing = matches!(status, Some(AttachmentStatus::Attaching | AttachmentStatus::Detaching));
    Ok(Live { state, changing })
}

fn attachment(gateway: &types::InternetGateway) -> Option<&types::InternetGatewayAttachment> {
    gateway.attachments().iter().find(|attachment| attachment.state != Some(AttachmentStatus::Detached))
}

pub(super) async fn attach(aws: &Aws, id: &str, vpc: &str) -> Result<(), ApiError> {
    let call = aws.ec2().attach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
    match call.send().await.named("AttachInternetGateway") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.code == "Resource.AlreadyAssociated" => {
            let gateway = describe(aws, id).await?;
            let attached = attachment(&gateway).and_then(|attachment| attachment.vpc_id());
            if attached == Some(vpc) { Ok(()) } else { Err(error) }
        }
        other => other.map(drop),
    }
}

pub(super) async fn detach(aws: &Aws, id: &str, vpc: &str) -> Result<(), ApiError> {
    let call = aws.ec2().detach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
    ApiError::unless_gone(call.send().await.named("DetachInternetGateway").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_internet_gateway().internet_gateway_id(id);
    call.send().await.named("DeleteInternetGateway").map(drop)
}
