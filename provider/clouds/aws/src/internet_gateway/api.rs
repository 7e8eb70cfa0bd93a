//! EC2 API calls for internet gateways.

use aws_sdk_ec2::types::{AttachmentStatus, ResourceType};

use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};
use warren_managed::Failure;

/// An internet gateway as returned by DescribeInternetGateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) vpc_id: Option<String>,
    /// Whether it is being attached or detached.
    pub(super) changing: bool,
    pub(super) owner: String,
    pub(super) tags: Tags,
}

/// IDs of the gateways of this fabric and owner called `name`.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Vec<String>, ApiError> {
    let call = aws.ec2().describe_internet_gateways().set_filters(Some(aws.filters(name)));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(gateway) = pages.next().await {
        ids.extend(gateway.named("DescribeInternetGateways")?.internet_gateway_id);
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
    Ok(made.internet_gateway.and_then(|gateway| gateway.internet_gateway_id).unwrap_or_default())
}

/// The gateway `id`; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_internet_gateways().internet_gateway_ids(id);
    let answer = call.send().await.named("DescribeInternetGateways")?;
    let gateway = answer.internet_gateways.unwrap_or_default().into_iter().next();
    gateway.map(found).ok_or_else(|| ApiError::absent("DescribeInternetGateways", id))
}

fn found(gateway: aws_sdk_ec2::types::InternetGateway) -> Found {
    let attachment = gateway
        .attachments
        .unwrap_or_default()
        .into_iter()
        .find(|attachment| attachment.state != Some(AttachmentStatus::Detached));
    let state = attachment.as_ref().and_then(|attachment| attachment.state.clone());
    Found {
        id: gateway.internet_gateway_id.unwrap_or_default(),
        changing: matches!(state, Some(AttachmentStatus::Attaching | AttachmentStatus::Detaching)),
        vpc_id: attachment.and_then(|attachment| attachment.vpc_id),
        owner: gateway.owner_id.unwrap_or_default(),
        tags: tags::from_sdk(gateway.tags.as_deref().unwrap_or_default()),
    }
}

pub(super) async fn attach(aws: &Aws, id: &str, vpc: &str) -> Result<(), ApiError> {
    let call = aws.ec2().attach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
    match call.send().await.named("AttachInternetGateway") {
        // An earlier attempt whose response was lost has succeeded.
        Err(error) if error.code == "Resource.AlreadyAssociated" => match get(aws, id).await?.vpc_id {
            Some(attached) if attached == vpc => Ok(()),
            _ => Err(error),
        },
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
