//! VPC peering.

use ipnet::Ipv4Net;

use super::ranges::overlaps_net;
use super::{Context, Verdict};
use crate::front::reply::Rejection;
use crate::xml::Element;

/// A failed peering is final.
pub(super) fn accept(context: &Context<'_>) -> Verdict {
    let id = context.get("VpcPeeringConnectionId");
    if context.shared.state().lifecycle.has_failed(id) {
        let message =
            format!("Invalid state transition for {id}, attempted to transition from failed to active");
        return Err(Rejection::new("InvalidStateTransition", message));
    }
    Ok(())
}

/// AWS accepts the request and lets the peering fail when any ranges of the two VPCs overlap: a route could not tell
/// the two sides apart.
pub(super) async fn settle(context: &Context<'_>, answer: &Element) {
    let mut ranges = Vec::new();
    for side in ["VpcId", "PeerVpcId"] {
        ranges.push(match context.vpc(context.get(side)).await {
            Some(vpc) => ranges_of(&vpc),
            None => return,
        });
    }
    if ranges[0].iter().any(|one| ranges[1].iter().any(|two| overlaps_net(*one, *two))) {
        let id = answer.text_at("vpcPeeringConnection/vpcPeeringConnectionId");
        context.shared.state().lifecycle.fail(id);
        // In the emulator it only has to be out of the way.
        let params = [("VpcPeeringConnectionId", id)];
        let _ = context.shared.emulator.ec2(context.region, "DeleteVpcPeeringConnection", &params).await;
    }
}

fn ranges_of(vpc: &Element) -> Vec<Ipv4Net> {
    let mut ranges: Vec<Ipv4Net> = vpc
        .items("cidrBlockAssociationSet")
        .filter(|item| item.text_at("cidrBlockState/state") != "disassociated")
        .filter_map(|item| item.text_at("cidrBlock").parse().ok())
        .collect();
    ranges.extend(vpc.text_at("cidrBlock").parse::<Ipv4Net>());
    ranges
}
