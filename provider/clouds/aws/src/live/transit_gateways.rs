//! The routes of transit gateways: they show VPCs of other accounts, and networks behind VPNs and Direct Connect.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{
    TransitGatewayAttachmentResourceType as Attached, TransitGatewayRoute, TransitGatewayRouteType as Type,
};
use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Usage};

use super::Sort;
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
        let ranges = active.iter().filter_map(|route| range(aws, &id, route));
        found
            .ranges
            .extend(ranges.filter(|range| seen.insert((range.net, range.usage, range.parent.clone()))));
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

fn range(aws: &Aws, table: &str, route: &TransitGatewayRoute) -> Option<LiveRange> {
    // A route to a prefix list has no destination of its own, and that list is read.
    let net: IpNet = route.destination_cidr_block.as_deref()?.parse().ok()?;
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
    Some(LiveRange {
        net: net.trunc(),
        usage,
        kind: "route in".into(),
        id: table.to_owned(),
        name: String::new(),
        owner: None,
        fabric: None,
        location: location(aws),
        parent: vpc,
    })
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
            range(&aws, "tgw-rtb-1", &route).map(|range| (range.usage, range.parent))
        };
        let vpc = || to(Attached::Vpc, "vpc-9");
        assert_eq!(usage(Type::Propagated, vpc()), Some((Usage::Behind, Some("vpc-9".into()))));
        assert_eq!(usage(Type::Static, vpc()), Some((Usage::Routed, Some("vpc-9".into()))));
        assert_eq!(usage(Type::Propagated, to(Attached::Vpn, "vpn-1")), Some((Usage::Learned, None)));
        assert_eq!(usage(Type::Static, to(Attached::Peering, "tgw-2")), Some((Usage::Routed, None)));
        let to_list = TransitGatewayRoute::builder().prefix_list_id("pl-1").r#type(Type::Static).build();
        assert_eq!(range(&aws, "tgw-rtb-1", &to_list), None);
    }
}
