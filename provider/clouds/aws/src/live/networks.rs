//! VPCs with all their ranges, and subnets.

use std::collections::BTreeSet;

use ipnet::IpNet;
use warren_guard::{Listing, LiveRange, Location, Usage};

use super::{Sort, parsed};
use crate::account::Aws;
use crate::error::{ApiError, Named, OrMissing};
use crate::tags::{self, Tags};

const DESCRIBE_VPCS: &str = "DescribeVpcs";
const DESCRIBE_SUBNETS: &str = "DescribeSubnets";

pub(super) const VPCS: Sort = Sort { what: "VPCs", permissions: &["ec2:DescribeVpcs"], setting: None };
pub(super) const SUBNETS: Sort =
    Sort { what: "subnets", permissions: &["ec2:DescribeSubnets"], setting: None };

/// All VPCs, shared ones too.
pub(super) async fn vpcs(aws: &Aws, found: &mut Listing) -> Result<(), ApiError> {
    let mut pages = aws.ec2().describe_vpcs().into_paginator().items().send();
    while let Some(vpc) = pages.next().await {
        let vpc = vpc.named(DESCRIBE_VPCS)?;
        let v4 = vpc.cidr_block_association_set.unwrap_or_default();
        let v6 = vpc.ipv6_cidr_block_association_set.unwrap_or_default();
        let nets: BTreeSet<String> = vpc
            .cidr_block
            .into_iter()
            .chain(
                v4.into_iter().filter(|a| living(a.cidr_block_state.as_ref())).filter_map(|a| a.cidr_block),
            )
            .chain(
                v6.into_iter()
                    .filter(|a| living(a.ipv6_cidr_block_state.as_ref()))
                    .filter_map(|a| a.ipv6_cidr_block),
            )
            .collect();
        let tags = tags::from_sdk(&vpc.tags.unwrap_or_default());
        let id = vpc.vpc_id.or_missing(DESCRIBE_VPCS, "VpcId")?;
        let location = location(aws, &vpc.owner_id.or_missing(DESCRIBE_VPCS, "OwnerId")?);
        found.networks.insert(id.clone());
        add(aws, &VPCS, found, &nets, &of("warren_aws_vpc", &id, &tags, location, None));
    }
    Ok(())
}

/// All subnets.
pub(super) async fn subnets(aws: &Aws, found: &mut Listing) -> Result<(), ApiError> {
    let mut pages = aws.ec2().describe_subnets().into_paginator().items().send();
    while let Some(subnet) = pages.next().await {
        let subnet = subnet.named(DESCRIBE_SUBNETS)?;
        let v6 = subnet.ipv6_cidr_block_association_set.unwrap_or_default();
        let nets = subnet.cidr_block.into_iter().chain(v6.into_iter().filter_map(|a| a.ipv6_cidr_block));
        let tags = tags::from_sdk(&subnet.tags.unwrap_or_default());
        let id = subnet.subnet_id.or_missing(DESCRIBE_SUBNETS, "SubnetId")?;
        let location = location(aws, &subnet.owner_id.or_missing(DESCRIBE_SUBNETS, "OwnerId")?);
        let object = of("warren_aws_subnet", &id, &tags, location, subnet.vpc_id.as_deref());
        add(aws, &SUBNETS, found, &nets.collect(), &object);
    }
    Ok(())
}

fn location(aws: &Aws, account: &str) -> Location {
    Location::aws(account, &aws.region)
}

fn living(state: Option<&aws_sdk_ec2::types::VpcCidrBlockState>) -> bool {
    use aws_sdk_ec2::types::VpcCidrBlockStateCode as Code;
    let code = state.and_then(|state| state.state.as_ref());
    !matches!(code, Some(Code::Disassociated | Code::Failed | Code::Failing))
}

/// What the ranges of an object have in common.
fn of(kind: &'static str, id: &str, tags: &Tags, location: Location, parent: Option<&str>) -> LiveRange {
    let (fabric, owner) = tags::scope(tags);
    LiveRange {
        net: IpNet::default(),
        usage: Usage::Network,
        kind: kind.into(),
        id: id.to_owned(),
        name: tags::name(tags).into_known().unwrap_or_default(),
        owner,
        fabric,
        location,
        parent: parent.map(str::to_owned),
    }
}

/// Adds the ranges of an object.
fn add(aws: &Aws, sort: &Sort, found: &mut Listing, nets: &BTreeSet<String>, object: &LiveRange) {
    for net in nets.iter().filter(|net| !net.is_empty()) {
        if let Some(net) = parsed(aws, sort, found, &object.id, net) {
            found.ranges.push(LiveRange { net, ..object.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::account;

    #[tokio::test]
    async fn ranges_carry_owner_and_location() {
        let nets = BTreeSet::from(["10.0.0.0/16".to_owned(), "2001:db8::/56".to_owned(), String::new()]);
        let tags = [("warren:fabric", "f"), ("warren:owner", "o"), ("Name", "hub")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let object = of("warren_aws_vpc", "vpc-1", &tags.into(), Location::aws("1", "us-east-1"), None);
        let mut found = Listing::default();
        add(&account([]).await, &VPCS, &mut found, &nets, &object);
        assert_eq!((found.ranges.len(), found.unread.len()), (2, 0));
        assert_eq!((found.ranges[0].name.as_str(), found.ranges[0].owner.as_deref()), ("hub", Some("o")));
        assert_eq!(found.ranges[1].net.to_string(), "2001:db8::/56");
    }
}
