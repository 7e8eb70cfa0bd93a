//! The live ranges of the account and region, for the guard: VPCs and subnets, and what leads to networks that the
//! account cannot list.

mod networks;
mod prefix_lists;
mod transit_gateways;

use std::sync::Arc;

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

    /// The result of reading one sort of ranges.
    fn or_unread(&self, sort: &Sort, read: Result<Listing, ApiError>) -> Listing {
        let unread = |error: &ApiError| Unread {
            what: sort.what,
            scope: self.name(),
            permissions: sort.permissions,
            reason: error.reason(),
            setting: sort.setting,
        };
        read.unwrap_or_else(|error| Listing { unread: vec![unread(&error)], ..Listing::default() })
    }
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
        format!("AWS {}", self.aws.region)
    }

    async fn list(&self) -> Listing {
        let aws = &*self.aws;
        let prefix_lists = async {
            match self.reads(LiveRanges::PrefixLists) {
                true => prefix_lists::read(aws).await,
                false => Ok(Listing::default()),
            }
        };
        let routes = async {
            match self.reads(LiveRanges::TransitGatewayRoutes) {
                true => transit_gateways::read(aws).await,
                false => Ok(Listing::default()),
            }
        };
        let (vpcs, subnets, prefix_lists, routes) =
            tokio::join!(networks::vpcs(aws), networks::subnets(aws), prefix_lists, routes);
        let mut all = self.or_unread(&networks::VPCS, vpcs);
        all.extend(self.or_unread(&networks::SUBNETS, subnets));
        all.extend(self.or_unread(&prefix_lists::SORT, prefix_lists));
        all.extend(self.or_unread(&transit_gateways::SORT, routes));
        let ignored = |id: &String| aws.ignore_live.contains(id);
        all.ranges.retain(|range| !ignored(&range.id) && !range.parent.as_ref().is_some_and(ignored));
        all
    }
}
