//! The live ranges of the account and region, for the guard: VPCs and subnets, and what leads to networks that the
//! account cannot list.

mod networks;
mod prefix_lists;
mod transit_gateways;

use std::sync::Arc;

use ipnet::IpNet;
use tf_provider_rs::{Choice, async_trait};
use warren_guard::{Listing, LiveSource, Unread};

use crate::account::Aws;
use crate::error::ApiError;

/// What is compared besides VPCs and subnets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
pub enum LiveRanges {
    /// Entries of customer-managed prefix lists.
    #[choice("prefix_lists")]
    PrefixLists,
    /// Active routes of transit gateways.
    #[choice("transit_gateway_routes")]
    TransitGatewayRoutes,
}

/// Everything that is compared by default.
pub(crate) const ALL: [LiveRanges; 2] = [LiveRanges::PrefixLists, LiveRanges::TransitGatewayRoutes];

/// Lists them, except for those in `ignore_live` of the provider block.
pub(crate) struct LiveAws {
    aws: Arc<Aws>,
}

impl LiveAws {
    pub(crate) fn new(aws: Arc<Aws>) -> LiveAws {
        LiveAws { aws }
    }

    fn reads(&self, ranges: LiveRanges) -> bool {
        self.aws.live_ranges.contains(&ranges)
    }

    /// One sort of ranges. After an error, what was read until then counts all the same.
    async fn listed(
        &self,
        sort: &Sort,
        read: impl AsyncFnOnce(&Aws, &mut Listing) -> Result<(), ApiError>,
    ) -> Listing {
        let mut found = Listing::default();
        if let Err(error) = read(&self.aws, &mut found).await {
            found.unread.push(Unread {
                what: sort.what,
                scope: self.name(),
                permissions: sort.permissions,
                reason: error.reason(),
                setting: sort.setting,
            });
        }
        found
    }
}

/// The parsed range of an object. One that is not understood is not known to be free.
fn parsed(aws: &Aws, sort: &Sort, found: &mut Listing, id: &str, net: &str) -> Option<IpNet> {
    let parsed = net.parse::<IpNet>().ok();
    if parsed.is_none() {
        found.unread.push(Unread {
            what: sort.what,
            scope: scope(aws),
            permissions: &[],
            reason: format!("{id} has {net:?}, which is not a range of addresses."),
            setting: sort.setting,
        });
    }
    // An emulator may keep host bits.
    parsed.map(|net| net.trunc())
}

fn scope(aws: &Aws) -> String {
    format!("AWS {}", aws.region)
}

/// One sort of ranges.
struct Sort {
    what: &'static str,
    permissions: &'static [&'static str],
    setting: Option<&'static str>,
}

#[async_trait]
impl LiveSource for LiveAws {
    fn name(&self) -> String {
        scope(&self.aws)
    }

    async fn list(&self) -> Listing {
        let prefix_lists = async {
            match self.reads(LiveRanges::PrefixLists) {
                true => self.listed(&prefix_lists::SORT, prefix_lists::read).await,
                false => Listing::default(),
            }
        };
        let routes = async {
            match self.reads(LiveRanges::TransitGatewayRoutes) {
                true => self.listed(&transit_gateways::SORT, transit_gateways::read).await,
                false => Listing::default(),
            }
        };
        let (mut all, subnets, prefix_lists, routes) = tokio::join!(
            self.listed(&networks::VPCS, networks::vpcs),
            self.listed(&networks::SUBNETS, networks::subnets),
            prefix_lists,
            routes
        );
        all.extend(subnets);
        all.extend(prefix_lists);
        all.extend(routes);
        let ignored = |id: &String| self.aws.ignore_live.contains(id);
        all.ranges.retain(|range| !ignored(&range.id) && !range.parent.as_ref().is_some_and(ignored));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tf_provider_rs::Attr;

    use super::*;
    use crate::played::{done, played, refused};

    #[tokio::test(start_paused = true)]
    async fn what_was_read_before_an_error_counts() {
        let answer = |_, form: &str| match form {
            page if page.contains("NextToken=more") => refused(403, "UnauthorizedOperation", "no"),
            vpcs if vpcs.contains("Action=DescribeVpcs") => done(
                "DescribeVpcs",
                "<vpcSet><item><vpcId>vpc-1</vpcId><ownerId>1</ownerId><cidrBlock>10.0.0.0/16</cidrBlock></item>\
                 <item><vpcId>vpc-2</vpcId><ownerId>1</ownerId><cidrBlock>10.1.0.0/99</cidrBlock></item></vpcSet>\
                 <nextToken>more</nextToken>",
            ),
            _ => refused(403, "UnauthorizedOperation", "no"),
        };
        let minute = Duration::from_secs(60);
        let (listed, _) = played(("mx-central-1", Attr::Null), minute, answer, async |work| {
            Ok(LiveAws::new(Arc::clone(&work.cloud)).list().await)
        })
        .await;
        let Ok(listed) = listed else { panic!("a list reports what it could not read") };
        let nets: Vec<String> = listed.ranges.iter().map(|range| range.net.to_string()).collect();
        assert_eq!(nets, ["10.0.0.0/16"]);
        let unread: Vec<&str> = listed.unread.iter().map(|unread| unread.what).collect();
        assert_eq!(unread, ["VPCs", "VPCs", "subnets", "prefix lists", "transit gateway routes"]);
        assert_eq!(listed.unread[0].reason, "vpc-2 has \"10.1.0.0/99\", which is not a range of addresses.");
    }
}
