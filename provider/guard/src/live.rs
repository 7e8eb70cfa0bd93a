//! Networks that exist in a cloud.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tf_provider_rs::{Diagnostics, async_trait};

use crate::Location;
use crate::index::Index;

/// Lists the live networks of one cloud account and region.
#[async_trait]
pub trait LiveSource: Send + Sync + 'static {
    /// For messages: `AWS 123456789012 us-east-1`.
    fn name(&self) -> String;

    /// All ranges of all networks, of any owner. Called at most once per run.
    ///
    /// # Errors
    /// Diagnostics for the user, shown once per run.
    async fn ranges(&self) -> Result<Vec<LiveRange>, Diagnostics>;
}

/// One range of a live network or subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveRange {
    /// The range.
    pub net: IpNet,
    /// The resource type that would manage it: `warren_aws_vpc`, `warren_aws_subnet`.
    pub kind: &'static str,
    /// The cloud's ID, such as `vpc-0abc`.
    pub id: String,
    /// The tag `warren:name`, or the cloud's own name; empty if there is neither.
    pub name: String,
    /// The tag `warren:owner`.
    pub owner: Option<String>,
    /// The tag `warren:fabric`.
    pub fabric: Option<String>,
    /// Where it is.
    pub location: Location,
    /// For a subnet, the ID of its network. It is only compared with other subnets of that network.
    pub parent: Option<String>,
}

/// All live ranges, searchable.
#[derive(Debug, Default)]
pub(crate) struct Live {
    ranges: Vec<LiveRange>,
    index: Index<usize>,
    by_id: BTreeMap<String, Vec<IpNet>>,
}

impl Live {
    pub(crate) fn new(mut ranges: Vec<LiveRange>) -> Live {
        ranges.sort();
        ranges.dedup();
        let mut live = Live::default();
        for (position, range) in ranges.iter().enumerate() {
            live.index.insert(range.net, position);
            live.by_id.entry(range.id.clone()).or_default().push(range.net);
        }
        live.ranges = ranges;
        live
    }

    pub(crate) fn overlapping(&self, net: &IpNet) -> impl Iterator<Item = &LiveRange> {
        self.index.overlapping(net).filter_map(|(_, position)| self.ranges.get(*position))
    }

    /// The ranges of one network; empty if it is not a live network.
    pub(crate) fn nets_of(&self, id: &str) -> Vec<IpNet> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    pub(crate) fn ranges(&self) -> &[LiveRange] {
        &self.ranges
    }
}
