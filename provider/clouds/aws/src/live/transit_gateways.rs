//! The routes of transit gateways: they show VPCs of other accounts, and networks behind VPNs and Direct Connect.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{
    TransitGatewayAttachmentResourceType as Attached, TransitGatewayRoute, TransitGatewayRouteType as Type,
};
use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Usage};

use super::{Sort, parsed};
use crate::account::Aws;
use crate::error::{ApiError, Failure as _, Named, OrMissing};
use crate::session::location;
use crate::tags::filter;

const TABLES: &str = "DescribeTransitGatewayRouteTables";
const SEARCH: &str = "SearchTransitGatewayRoutes";

pub(super) const SORT: Sort = Sort {
    what: "transit gateway routes",
    permissions: &["ec2:DescribeTransitGatewayRouteTables", "ec2:SearchTransitGatewayRoutes"],
    setting: Some("`aws.live_ranges` in the provider block"),
};

/// The active routes of all tables of the account. Those of shared gateways are visible to their owner only.
pub(super) async fn read(aws: &Aws, found: &mut Listing) -> Result<(), ApiError> {
    let mut pages = aws.ec2().describe_transit_gateway_route_tables().into_paginator().items().send();
    // A route is usually in several tables.
    let mut seen = BTreeSet::new();
    while let Some(table) = pages.next().await {
        let id = table.named(TABLES)?.transit_gateway_route_table_id;
        let id = id.or_missing(TABLES, "TransitGatewayRouteTableId")?;
        let mut active = Vec::new();
        let read = routes(aws, &id, &mut active).await;
        for route in &active {
            // A route to a prefix list has no destination of its own, and that list is read.
            let Some(net) = route.destination_cidr_block.as_deref() else { continue };
            let Some(net) = parsed(aws, &SORT, found, &id, net) else { continue };
            let range = range(aws, &id, route, net);
            if seen.insert((net, range.usage, range.parent.clone())) {
                found.ranges.push(range);
            }
        }
        match read {
            // Deleted since it was listed.
            Err(error) if error.is_not_found() => {}
            read => read?,
        }
    }
    Ok(())
}

async fn routes(aws: &Aws, table: &str, found: &mut Vec<TransitGatewayRoute>) -> Result<(), ApiError> {
    let call = aws.ec2().search_transit_gateway_routes().transit_gateway_route_table_id(table);
    // Blackholes lead nowhere, and may be the remains of a deleted attachment.
    let mut pages = call.filters(filter("state", "active")).into_paginator().send();
    while let Some(page) = pages.next().await {
        let page = page.named(SEARCH)?;
        let more = page.additional_routes_available == Some(true) && page.next_token.is_none();
        found.extend(page.routes.unwrap_or_default());
        if more {
            let message = format!("{table} has more routes than one answer contains");
            return Err(ApiError::incomplete_answer(SEARCH, message));
        }
    }
    Ok(())
}

fn range(aws: &Aws, table: &str, route: &TransitGatewayRoute, net: IpNet) -> LiveRange {
    let vpc = route
        .transit_gateway_attachments()
        .iter()
        .find(|attachment| attachment.resource_type == Some(Attached::Vpc))
        .and_then(|attachment| attachment.resource_id.clone());
    let usage = match (&route.r#type, &vpc) {
        (Some(Type::Propagated), Some(_)) => Usage::Behind,
        (Some(Type::Propagated), None) => Usage::Learned,
        _ => Usage::Routed,
    };
    LiveRange {
        net,
        usage,
        kind: "route in".into(),
        id: table.to_owned(),
        name: String::new(),
        owner: None,
        fabric: None,
        location: location(aws),
        parent: vpc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::account;
    use aws_sdk_ec2::types::TransitGatewayRouteAttachment;

    #[tokio::test]
    async fn a_route_shows_what_is_behind_it() {
        let aws = account([]).await;
        let to = |kind: Attached, id: &str| {
            TransitGatewayRouteAttachment::builder().resource_type(kind).resource_id(id).build()
        };
        let usage = |ty: Type, to: TransitGatewayRouteAttachment| {
            let route = TransitGatewayRoute::builder().destination_cidr_block("10.1.0.0/16").r#type(ty);
            let route = route.transit_gateway_attachments(to).build();
            let range = range(&aws, "tgw-rtb-1", &route, "10.1.0.0/16".parse().unwrap());
            (range.usage, range.parent)
        };
        let vpc = || to(Attached::Vpc, "vpc-9");
        assert_eq!(usage(Type::Propagated, vpc()), (Usage::Behind, Some("vpc-9".into())));
        assert_eq!(usage(Type::Static, vpc()), (Usage::Routed, Some("vpc-9".into())));
        assert_eq!(usage(Type::Propagated, to(Attached::Vpn, "vpn-1")), (Usage::Learned, None));
        assert_eq!(usage(Type::Static, to(Attached::Peering, "tgw-2")), (Usage::Routed, None));
    }
}
