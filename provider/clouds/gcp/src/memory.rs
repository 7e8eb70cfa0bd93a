//! What a run plans in Google Cloud, for checks between resources.

use ipnet::IpNet;
use warren_managed::{Memory, Table};

use crate::dns_zone::Type;

/// Planned objects of one run. A provider process plans all resources of a run, in dependency order.
#[derive(Default)]
pub struct RunMemory {
    /// Planned subnetworks.
    pub(crate) subnetworks: Table<PlannedSubnetwork>,
    /// Planned zones.
    pub(crate) zones: Table<PlannedZone>,
}

/// A planned subnetwork.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedSubnetwork {
    /// ID of its network.
    pub(crate) network: String,
    /// Its ranges, as far as they are known.
    pub(crate) ranges: Vec<IpNet>,
}

/// A planned zone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedZone {
    /// Its DNS name.
    pub(crate) dns_name: String,
    /// Where its answers come from, if that is known.
    pub(crate) r#type: Option<Type>,
}

impl Memory for RunMemory {
    fn clear(&self) {
        self.subnetworks.clear();
        self.zones.clear();
    }
}
