//! The objects that a run plans in AWS, for checks between resources.

use ipnet::IpNet;
use tf_provider_rs::Attr;
use warren_managed::{Memory, Table};

use crate::ids::VpcId;

/// The planned objects of one run. One provider process plans all resources of a run in dependency order.
#[derive(Default)]
pub struct RunMemory {
    /// Planned VPCs.
    pub vpcs: Table<PlannedVpc>,
    /// Planned security groups.
    pub security_groups: Table<PlannedSecurityGroup>,
    /// Planned endpoints.
    pub endpoints: Table<PlannedEndpoint>,
    /// Planned private zones.
    pub zones: Table<PlannedZone>,
}

/// A planned VPC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedVpc {
    /// Its known ranges.
    pub ranges: Vec<IpNet>,
    /// Whether DNS resolution works inside it.
    pub dns_support: Attr<bool>,
    /// Whether its instances get DNS hostnames; private DNS of endpoints needs both.
    pub dns_hostnames: Attr<bool>,
}

/// A planned security group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedSecurityGroup {
    /// Known sources that may reach TCP port 443.
    pub https_from: Vec<IpNet>,
    /// Whether a rule allows TCP port 443 from a security group, from itself or from a prefix list.
    pub https_from_group: bool,
    /// Whether every ingress rule is known: otherwise an unknown rule may admit others.
    pub known: bool,
}

/// A planned endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedEndpoint {
    /// The ID of the VPC, if known.
    pub vpc_id: Attr<VpcId>,
    /// Such as `ecr.api`, `ecr.dkr` or `s3`.
    pub service: String,
    /// Whether the service's public name resolves to the endpoint.
    pub private_dns: Attr<bool>,
    /// Its policy as JSON; null allows everything.
    pub policy: Attr<String>,
}

/// A planned private zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlannedZone {
    /// Its domain.
    pub domain: String,
    /// The VPCs that it lists.
    pub vpcs: Vec<Attr<VpcId>>,
}

impl Memory for RunMemory {
    fn clear(&self) {
        self.vpcs.clear();
        self.security_groups.clear();
        self.endpoints.clear();
        self.zones.clear();
    }
}
