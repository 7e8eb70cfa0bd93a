//! Transit gateways.

use super::{Context, Verdict, living};
use crate::front::reply::Rejection;

/// A gateway gets attachments and tables only once it is available.
pub(super) fn available(context: &Context<'_>) -> Verdict {
    let id = context.get("TransitGatewayId");
    match context.transient(id) {
        Some(state) => Err(Rejection::new("IncorrectState", format!("{id} is in invalid state: {state}"))),
        None => Ok(()),
    }
}

/// Attachments would be left without their table.
pub(super) fn delete_table(context: &Context<'_>) -> Verdict {
    let id = context.get("TransitGatewayRouteTableId");
    let state = context.shared.state();
    match state.transit.association_with(id) {
        Some(attachment) => {
            Err(Rejection::new("IncorrectState", format!("{id} has non-deleted associations: {attachment}.")))
        }
        None => Ok(()),
    }
}

/// An attachment has one subnet per zone.
pub(super) async fn attach(context: &Context<'_>) -> Verdict {
    available(context)?;
    let ids = context.params.list("SubnetIds");
    let mut zones = Vec::new();
    for subnet in &ids {
        let found = context.list("DescribeSubnets", "subnetSet", &[("SubnetId.1", subnet)]).await;
        zones.extend(found.first().map(|subnet| subnet.text_at("availabilityZone").to_owned()));
    }
    zones.sort();
    if zones.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = format!("Duplicate subnets for availability zone [{}]", ids.join(", "));
        return Err(Rejection::new("DuplicateSubnetsInSameZone", message));
    }
    Ok(())
}

/// Attachments would be left without their gateway.
pub(super) async fn delete(context: &Context<'_>) -> Verdict {
    let id = context.get("TransitGatewayId");
    let attachments = living(context, "DescribeTransitGatewayVpcAttachments").await;
    let attached = attachments
        .iter()
        .find(|item| item.text_at("transitGatewayId") == id)
        .map(|item| item.text_at("transitGatewayAttachmentId").to_owned())
        .or_else(|| context.held_by(id));
    match attached {
        Some(attachment) => Err(Rejection::new(
            "IncorrectState",
            format!("{id} has non-deleted VPC Attachments: {attachment}."),
        )),
        None => Ok(()),
    }
}
