//! What a run plans in Google Cloud, for checks between resources.

use ipnet::IpNet;
use warren_managed::{Memory, Table};

/// Planned objects of one run. A provider process plans all resources of a run, in dependency order.
#[derive(Default)]
pub struct RunMemory {
    /// Planned subnetworks.
    pub(crate) subnetworks: Table<PlannedSubnetwork>,
}

/// A planned subnetwork.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedSubnetwork {
    /// ID of its network.
    pub(crate) network: String,
    /// Its ranges, as far as they are known.
    pub(crate) ranges: Vec<IpNet>,
}

impl Memory for RunMemory {
    fn clear(&self) {
        self.subnetworks.clear();
    }
}
