//! EC2 API calls for peering connections.

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{
    PeeringConnectionOptionsRequest, ResourceType, VpcPeeringConnection, VpcPeeringConnectionVpcInfo,
};

use super::schema::Peering;
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags};

/// One side of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) vpc_id: String,
    pub(super) owner_id: String,
    pub(super) region: String,
    /// Whether DNS names resolve for the other side.
    pub(super) dns: bool,
}

/// A connection as AWS reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) requester: Side,
    pub(super) accepter: Side,
    /// Such as `pending-acceptance`.
    pub(super) code: String,
    pub(super) message: String,
    pub(super) tags: Tags,
}

impl Found {
    pub(super) fn is_active(&self) -> bool {
        self.code == "active"
    }

    /// Whether both VPCs are in the same account.
    pub(super) fn same_account(&self) -> bool {
        self.requester.owner_id == self.accepter.owner_id
    }

    pub(super) fn same_region(&self) -> bool {
        self.requester.region == self.accepter.region
    }

    /// Whether DNS names resolve across the connection, on the sides that this account can read.
    pub(super) fn remote_dns(&self) -> bool {
        self.requester.dns && (self.accepter.dns || !self.same_account() || !self.same_region())
    }

    /// Whether the connection can never become active.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.code.as_str(), "deleted" | "deleting" | "failed" | "rejected" | "expired")
    }
}

/// IDs of the live connections of this fabric and owner with the planned name and VPCs. A connection with
/// other VPCs is the one that is being replaced.
pub(super) async fn find(aws: &Aws, planned: &Peering) -> Result<Vec<String>, ApiError> {
    let filters = aws.filters(planned.name.text());
    let call = aws.ec2().describe_vpc_peering_connections().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(connection) = pages.next().await {
        let found = described(aws, connection.named("DescribeVpcPeeringConnections")?);
        let same = found.requester.vpc_id == planned.vpc_id.text()
            && found.accepter.vpc_id == planned.peer_vpc_id.text();
        if same && !found.is_gone() {
            ids.push(found.id);
        }
    }
    Ok(ids)
}

/// Requests a connection and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Peering, tags: &Tags) -> Result<String, ApiError> {
    let call = aws
        .ec2()
        .create_vpc_peering_connection()
        .vpc_id(planned.vpc_id.text())
        .peer_vpc_id(planned.peer_vpc_id.text())
        .set_peer_owner_id(planned.peer_owner_id.known().cloned())
        // AWS expects no region if it is the region of the requester.
        .set_peer_region(planned.peer_region.known().filter(|region| **region != aws.region).cloned())
        .tag_specifications(tags::specification(ResourceType::VpcPeeringConnection, tags));
    let made =
        call.customize().config_override(client::once()).send().await.named("CreateVpcPeeringConnection")?;
    Ok(made.vpc_peering_connection.and_then(|c| c.vpc_peering_connection_id).unwrap_or_default())
}

/// The connection `id` in any state.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let call = aws.ec2().describe_vpc_peering_connections().vpc_peering_connection_ids(id);
    let answer = call.send().await.named("DescribeVpcPeeringConnections")?;
    let found = answer.vpc_peering_connections.unwrap_or_default().into_iter().next();
    found
        .map(|connection| described(aws, connection))
        .ok_or_else(|| ApiError::absent("DescribeVpcPeeringConnections", id))
}

/// The connection `id`; an error if it has ended.
pub(super) async fn living(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let found = get(aws, id).await?;
    if found.is_gone() { Err(ApiError::absent("DescribeVpcPeeringConnections", id)) } else { Ok(found) }
}

fn described(aws: &Aws, connection: VpcPeeringConnection) -> Found {
    let (code, message) = connection.status.map(|status| (status.code, status.message)).unwrap_or_default();
    Found {
        id: connection.vpc_peering_connection_id.unwrap_or_default(),
        requester: side(aws, connection.requester_vpc_info),
        accepter: side(aws, connection.accepter_vpc_info),
        code: code.map(|code| code.as_str().to_owned()).unwrap_or_default(),
        message: message.unwrap_or_default(),
        tags: tags::from_sdk(connection.tags.as_deref().unwrap_or_default()),
    }
}

fn side(aws: &Aws, info: Option<VpcPeeringConnectionVpcInfo>) -> Side {
    let info = info.unwrap_or_else(|| VpcPeeringConnectionVpcInfo::builder().build());
    Side {
        vpc_id: info.vpc_id.unwrap_or_default(),
        owner_id: info.owner_id.unwrap_or_default(),
        region: info.region.unwrap_or_else(|| aws.region.clone()),
        dns: info.peering_options.and_then(|o| o.allow_dns_resolution_from_remote_vpc).unwrap_or_default(),
    }
}

/// Accepts the connection, in the region of its accepter.
pub(super) async fn accept(aws: &Aws, found: &Found) -> Result<(), ApiError> {
    let call = in_region(aws, &found.accepter.region).accept_vpc_peering_connection();
    call.vpc_peering_connection_id(&found.id).send().await.named("AcceptVpcPeeringConnection").map(drop)
}

/// Enables or disables DNS resolution across the connection, on every side of this account that differs.
pub(super) async fn set_dns(aws: &Aws, found: &Found, on: bool) -> Result<(), ApiError> {
    const OPERATION: &str = "ModifyVpcPeeringConnectionOptions";
    let options =
        || PeeringConnectionOptionsRequest::builder().allow_dns_resolution_from_remote_vpc(on).build();
    let here = aws.ec2().modify_vpc_peering_connection_options().vpc_peering_connection_id(&found.id);
    if found.same_account() && found.same_region() {
        if found.requester.dns != on || found.accepter.dns != on {
            let call = here.requester_peering_connection_options(options());
            call.accepter_peering_connection_options(options()).send().await.named(OPERATION)?;
        }
        return Ok(());
    }
    if found.requester.dns != on {
        here.requester_peering_connection_options(options()).send().await.named(OPERATION)?;
        // The options of the accepter can only be read and set in its own region.
        if found.same_account() {
            let there = in_region(aws, &found.accepter.region).modify_vpc_peering_connection_options();
            let call = there.vpc_peering_connection_id(&found.id);
            call.accepter_peering_connection_options(options()).send().await.named(OPERATION)?;
        }
    }
    Ok(())
}

/// Requests the deletion of the connection. AWS removes failed and rejected connections automatically.
pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_vpc_peering_connection().vpc_peering_connection_id(id);
    match call.send().await.named("DeleteVpcPeeringConnection") {
        Err(error) if error.code == "InvalidStateTransition" => Ok(()),
        other => other.map(drop),
    }
}

/// The error for a connection that AWS could not create.
pub(super) fn failed(found: &Found) -> ApiError {
    ApiError {
        operation: "CreateVpcPeeringConnection",
        code: format!("Peering.{}", found.code),
        message: format!(
            "the connection between {} and {} is {}: {}",
            found.requester.vpc_id, found.accepter.vpc_id, found.code, found.message
        ),
        status: 400,
    }
}

fn in_region(aws: &Aws, region: &str) -> Client {
    if region == aws.region {
        return aws.ec2().clone();
    }
    let region = aws_sdk_ec2::config::Region::new(region.to_owned());
    Client::from_conf(aws.ec2().config().to_builder().region(region).build())
}
