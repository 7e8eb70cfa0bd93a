//! Routes of VPCs.

use super::{Context, Verdict, living};
use crate::front::reply::Rejection;

/// A target must be attached to the VPC. A transit gateway that is not, or not yet, seems not to exist.
pub(super) async fn put(context: &Context<'_>) -> Verdict {
    let (table, transit, gateway) =
        (context.get("RouteTableId"), context.get("TransitGatewayId"), context.get("GatewayId"));
    if transit.is_empty() && !gateway.starts_with("igw-") {
        return Ok(());
    }
    let tables = context.list("DescribeRouteTables", "routeTableSet", &[("RouteTableId.1", table)]).await;
    let Some(vpc) = tables.first().map(|found| found.text_at("vpcId")) else { return Ok(()) };
    if !transit.is_empty() {
        let attachments = living(context, "DescribeTransitGatewayVpcAttachments").await;
        let attached = attachments.iter().any(|item| {
            item.text_at("vpcId") == vpc
                && item.text_at("transitGatewayId") == transit
                && context.transient(item.text_at("transitGatewayAttachmentId")).is_none()
        });
        if !attached {
            let message = format!("The transitGateway ID '{transit}' does not exist.");
            return Err(Rejection::new("InvalidTransitGatewayID.NotFound", message));
        }
    }
    if gateway.starts_with("igw-") {
        let (describe, filter) = ("DescribeInternetGateways", "attachment.vpc-id");
        let found = context.filtered(describe, "internetGatewaySet", filter, vpc).await;
        if found.iter().all(|item| item.text_at("internetGatewayId") != gateway) {
            let message =
                format!("route table {table} and network gateway {gateway} belong to different networks");
            return Err(Rejection::new("InvalidParameterValue", message));
        }
    }
    Ok(())
}
