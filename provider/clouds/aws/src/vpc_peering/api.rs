//! EC2 API calls for peering connections.

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{
    PeeringConnectionOptionsRequest, ResourceType, VpcPeeringConnection, VpcPeeringConnectionVpcInfo,
};

use tf_provider_rs::{Attr, NotKnown};

use super::model::{Peering, is_gone};
use crate::client;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::session::Aws;
use crate::tags::{self, Tags};

const DESCRIBE: &str = "DescribeVpcPeeringConnections";
const ID: &str = "VpcPeeringConnectionId";

/// A connection as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Peering,
    /// Whether both VPCs are in the same account.
    pub(super) same_account: bool,
    pub(super) same_region: bool,
    /// Whether DNS names of the requester resolve for the accepter, and the other way round.
    dns: (bool, bool),
    /// Why it has its state.
    message: Option<String>,
}

/// IDs of the live connections of this fabric and owner with the planned name and VPCs. A connection with
/// other VPCs is the one that is being replaced.
pub(super) async fn find(aws: &Aws, planned: &Peering) -> Result<Vec<String>, ApiError> {
    let filters = aws.filters(planned.object.name()?);
    let call = aws.ec2().describe_vpc_peering_connections().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(connection) = pages.next().await {
        let connection = connection.named(DESCRIBE)?;
        let vpcs = [connection.requester_vpc_info(), connection.accepter_vpc_info()];
        let same = vpcs.map(|side| side.and_then(|side| side.vpc_id()))
            == [planned.vpc_id.as_deref(), planned.peer_vpc_id.as_deref()];
        let code = connection.status().and_then(|status| status.code());
        if same && !code.is_some_and(|code| is_gone(code.as_str())) {
            ids.push(connection.vpc_peering_connection_id.or_missing(DESCRIBE, ID)?);
        }
    }
    Ok(ids)
}

/// Requests a connection and returns its ID.
pub(super) async fn create(aws: &Aws, planned: &Peering, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateVpcPeeringConnection";
    let call = aws
        .ec2()
        .create_vpc_peering_connection()
        .vpc_id(planned.vpc_id.value()?.as_str())
        .peer_vpc_id(planned.peer_vpc_id.value()?.as_str())
        .set_peer_owner_id(planned.peer_owner_id.as_deref().map(str::to_owned))
        // AWS expects no region if it is the region of the requester.
        .set_peer_region(planned.peer_region.known().filter(|region| **region != aws.region).cloned())
        .tag_specifications(tags::specification(ResourceType::VpcPeeringConnection, tags));
    let made = call.customize().config_override(client::once()).send().await.named(OPERATION)?;
    let made = made.vpc_peering_connection.or_missing(OPERATION, "VpcPeeringConnection")?;
    made.vpc_peering_connection_id.or_missing(OPERATION, ID)
}

/// The connection of `before` in any state.
pub(super) async fn get(aws: &Aws, before: &Peering) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let call = aws.ec2().describe_vpc_peering_connections().vpc_peering_connection_ids(id);
    let answer = call.send().await.named(DESCRIBE)?;
    let connection = answer.vpc_peering_connections.into_iter().flatten().next();
    found(aws, connection.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, before)
}

/// The state of the connection that was found, based on `before`.
pub(super) fn found(
    aws: &Aws,
    connection: VpcPeeringConnection,
    before: &Peering,
) -> Result<Found, ApiError> {
    let tags = tags::from_sdk(connection.tags());
    let requester = connection.requester_vpc_info.or_missing(DESCRIBE, "RequesterVpcInfo")?;
    let accepter = connection.accepter_vpc_info.or_missing(DESCRIBE, "AccepterVpcInfo")?;
    let status = connection.status.or_missing(DESCRIBE, "Status")?;
    let region =
        |side: &VpcPeeringConnectionVpcInfo| side.region.clone().unwrap_or_else(|| aws.region.clone());
    let dns = |side: &VpcPeeringConnectionVpcInfo| {
        side.peering_options().and_then(|options| options.allow_dns_resolution_from_remote_vpc) == Some(true)
    };
    let same_account = requester.owner_id == accepter.owner_id;
    let same_region = region(&requester) == region(&accepter);
    let dns = (dns(&requester), dns(&accepter));
    let id = connection.vpc_peering_connection_id.or_missing(DESCRIBE, ID)?;
    let mut state = Peering {
        object: before.object.found(aws, &id, &tags),
        peer_region: region(&accepter).into(),
        vpc_id: Attr::Known(requester.vpc_id.parsed(DESCRIBE, "RequesterVpcInfo.VpcId")?),
        owner_id: Attr::Known(requester.owner_id.parsed(DESCRIBE, "RequesterVpcInfo.OwnerId")?),
        peer_vpc_id: Attr::Known(accepter.vpc_id.parsed(DESCRIBE, "AccepterVpcInfo.VpcId")?),
        peer_owner_id: Attr::Known(accepter.owner_id.parsed(DESCRIBE, "AccepterVpcInfo.OwnerId")?),
        state: status.code.or_missing(DESCRIBE, "Status.Code")?.as_str().into(),
        auto_accept: before.auto_accept,
        allow_remote_dns_resolution: before.allow_remote_dns_resolution,
    };
    // Options exist only after acceptance; until then the planned value is not drift.
    if state.is("active") || !before.allow_remote_dns_resolution.is_known() {
        // This account cannot read the options of the other side in another account or region.
        let both = dns.0 && (dns.1 || !same_account || !same_region);
        state.allow_remote_dns_resolution = both.into();
    }
    Ok(Found { state, same_account, same_region, dns, message: status.message })
}

/// Accepts the connection, in the region of its accepter.
pub(super) async fn accept(aws: &Aws, found: &Found) -> Result<(), ApiError> {
    let Peering { object, peer_region, .. } = &found.state;
    let call = in_region(aws, peer_region.value()?).accept_vpc_peering_connection();
    let call = call.vpc_peering_connection_id(object.id()?);
    call.send().await.named("AcceptVpcPeeringConnection").map(drop)
}

/// Enables or disables DNS resolution across the connection, on every side of this account that differs.
pub(super) async fn set_dns(aws: &Aws, found: &Found, on: bool) -> Result<(), ApiError> {
    const OPERATION: &str = "ModifyVpcPeeringConnectionOptions";
    let options =
        || PeeringConnectionOptionsRequest::builder().allow_dns_resolution_from_remote_vpc(on).build();
    let id = found.state.object.id()?;
    let (requester_dns, accepter_dns) = found.dns;
    let here = aws.ec2().modify_vpc_peering_connection_options().vpc_peering_connection_id(id);
    if found.same_account && found.same_region {
        if requester_dns != on || accepter_dns != on {
            let call = here.requester_peering_connection_options(options());
            call.accepter_peering_connection_options(options()).send().await.named(OPERATION)?;
        }
        return Ok(());
    }
    if requester_dns != on {
        here.requester_peering_connection_options(options()).send().await.named(OPERATION)?;
        // The options of the accepter can only be read and set in its own region.
        if found.same_account {
            let there = in_region(aws, found.state.peer_region.value()?);
            let call = there.modify_vpc_peering_connection_options().vpc_peering_connection_id(id);
            call.accepter_peering_connection_options(options()).send().await.named(OPERATION)?;
        }
    }
    Ok(())
}

/// Requests the deletion of the connection. AWS removes failed and rejected connections automatically.
pub(super) async fn delete(aws: &Aws, peering: &Peering) -> Result<(), ApiError> {
    let call = aws.ec2().delete_vpc_peering_connection();
    let call = call.vpc_peering_connection_id(peering.object.id()?);
    match call.send().await.named("DeleteVpcPeeringConnection") {
        Err(error) if error.code == "InvalidStateTransition" => Ok(()),
        other => other.map(drop),
    }
}

/// The error for a connection that AWS could not create.
pub(super) fn failed(Found { state: peering, message, .. }: &Found) -> Result<ApiError, NotKnown> {
    let (ours, theirs, state) =
        (peering.vpc_id.value()?, peering.peer_vpc_id.value()?, peering.state.value()?);
    let why = message.as_deref().unwrap_or("AWS gave no reason");
    Ok(ApiError {
        operation: "CreateVpcPeeringConnection",
        code: format!("Peering.{state}"),
        message: format!("the connection between {ours} and {theirs} is {state}: {why}"),
        status: 400,
    })
}

fn in_region(aws: &Aws, region: &str) -> Client {
    if region == aws.region {
        return aws.ec2().clone();
    }
    let region = aws_sdk_ec2::config::Region::new(region.to_owned());
    Client::from_conf(aws.ec2().config().to_builder().region(region).build())
}
