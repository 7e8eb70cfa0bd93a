//! The live VPCs and subnets of the account and region, for the guard.

use std::collections::BTreeSet;
use std::sync::Arc;

use ipnet::IpNet;
use tf_provider_rs::{Diagnostics, async_trait};
use warren_guard::{LiveRange, LiveSource, Location};

use crate::account::Aws;
use crate::error::{ApiError, Named, OrMissing};
use crate::tags::{self, Tags};

const VPCS: &str = "DescribeVpcs";
const SUBNETS: &str = "DescribeSubnets";

/// Lists them, except for those in `ignore_live` of the provider block.
pub(crate) struct LiveVpcs {
    aws: Arc<Aws>,
}

impl LiveVpcs {
    pub(crate) fn new(aws: Arc<Aws>) -> LiveVpcs {
        LiveVpcs { aws }
    }

    async fn vpcs(&self) -> Result<Vec<LiveRange>, ApiError> {
        let mut pages = self.aws.ec2().describe_vpcs().into_paginator().items().send();
        let mut found = Vec::new();
        while let Some(vpc) = pages.next().await {
            let vpc = vpc.named(VPCS)?;
            let v4 = vpc.cidr_block_association_set.unwrap_or_default();
            let v6 = vpc.ipv6_cidr_block_association_set.unwrap_or_default();
            let nets: BTreeSet<String> = vpc
                .cidr_block
                .into_iter()
                .chain(
                    v4.into_iter()
                        .filter(|a| living(a.cidr_block_state.as_ref()))
                        .filter_map(|a| a.cidr_block),
                )
                .chain(
                    v6.into_iter()
                        .filter(|a| living(a.ipv6_cidr_block_state.as_ref()))
                        .filter_map(|a| a.ipv6_cidr_block),
                )
                .collect();
            let tags = tags::from_sdk(&vpc.tags.unwrap_or_default());
            let id = vpc.vpc_id.or_missing(VPCS, "VpcId")?;
            let location = self.location(&vpc.owner_id.or_missing(VPCS, "OwnerId")?);
            found.extend(ranges(&nets, "warren_aws_vpc", &id, &tags, &location, None));
        }
        Ok(found)
    }

    async fn subnets(&self) -> Result<Vec<LiveRange>, ApiError> {
        let mut pages = self.aws.ec2().describe_subnets().into_paginator().items().send();
        let mut found = Vec::new();
        while let Some(subnet) = pages.next().await {
            let subnet = subnet.named(SUBNETS)?;
            let v6 = subnet.ipv6_cidr_block_association_set.unwrap_or_default();
            let nets = subnet.cidr_block.into_iter().chain(v6.into_iter().filter_map(|a| a.ipv6_cidr_block));
            let tags = tags::from_sdk(&subnet.tags.unwrap_or_default());
            let id = subnet.subnet_id.or_missing(SUBNETS, "SubnetId")?;
            let location = self.location(&subnet.owner_id.or_missing(SUBNETS, "OwnerId")?);
            let nets = nets.collect();
            found.extend(ranges(&nets, "warren_aws_subnet", &id, &tags, &location, subnet.vpc_id.as_deref()));
        }
        Ok(found)
    }

    fn location(&self, account: &str) -> Location {
        Location::aws(account, &self.aws.region)
    }
}

#[async_trait]
impl LiveSource for LiveVpcs {
    fn name(&self) -> String {
        format!("AWS {}", self.aws.region)
    }

    async fn ranges(&self) -> Result<Vec<LiveRange>, Diagnostics> {
        let (vpcs, subnets) = tokio::try_join!(self.vpcs(), self.subnets())?;
        let ignored = &self.aws.ignore_live;
        let counts = |range: &LiveRange| {
            !ignored.contains(&range.id) && !range.parent.as_ref().is_some_and(|vpc| ignored.contains(vpc))
        };
        Ok(vpcs.into_iter().chain(subnets).filter(counts).collect())
    }
}

fn living(state: Option<&aws_sdk_ec2::types::VpcCidrBlockState>) -> bool {
    use aws_sdk_ec2::types::VpcCidrBlockStateCode as Code;
    let code = state.and_then(|state| state.state.as_ref());
    !matches!(code, Some(Code::Disassociated | Code::Failed | Code::Failing))
}

fn ranges(
    nets: &BTreeSet<String>,
    kind: &'static str,
    id: &str,
    tags: &Tags,
    location: &Location,
    parent: Option<&str>,
) -> Vec<LiveRange> {
    let (fabric, owner) = tags::scope(tags);
    nets.iter()
        .filter_map(|net| net.parse::<IpNet>().ok())
        .map(|net| LiveRange {
            // An emulator may keep host bits.
            net: net.trunc(),
            kind,
            id: id.to_owned(),
            name: tags::name(tags).into_known().unwrap_or_default(),
            owner: owner.clone(),
            fabric: fabric.clone(),
            location: location.clone(),
            parent: parent.map(str::to_owned),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_carry_owner_and_location() {
        let nets = BTreeSet::from(["10.0.0.0/16".to_owned(), "2001:db8::/56".to_owned(), String::new()]);
        let tags = [("warren:fabric", "f"), ("warren:owner", "o"), ("Name", "hub")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let found =
            ranges(&nets, "warren_aws_vpc", "vpc-1", &tags.into(), &Location::aws("1", "us-east-1"), None);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), found[0].owner.as_deref()), ("hub", Some("o")));
        assert_eq!(found[1].net.to_string(), "2001:db8::/56");
    }
}
