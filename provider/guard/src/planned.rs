//! What a resource tells the guard when it is planned.

use ipnet::IpNet;
use tf_provider_rs::Path;
use warren_cidr::Family;

use crate::Key;

/// All ranges of one resource, as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedResource {
    /// Which resource.
    pub key: Key,
    /// The cloud's id (`vpc-0abc`) where the object exists; `None` while it is still to be created.
    pub id: Option<String>,
    /// The ranges that are known. Ranges without host bits, see [`warren_cidr::parse_cidr`].
    pub ranges: Vec<PlannedRange>,
    /// Families of which the resource has, or may have, ranges that are not known yet (an unknown `cidr_block`, IPv6
    /// assigned by the cloud). Nothing is said to lie outside such a resource.
    pub unknown: Vec<Family>,
    /// Address space that suggestions may come from, one list a pool; only address plans have any.
    pub pools: Vec<Vec<IpNet>>,
}

impl PlannedResource {
    /// A resource without ranges that is still to be created.
    pub fn new(key: Key) -> PlannedResource {
        PlannedResource { key, id: None, ranges: Vec::new(), unknown: Vec::new(), pools: Vec::new() }
    }

    /// Sets the cloud's id.
    #[must_use]
    pub fn id(mut self, id: Option<&str>) -> PlannedResource {
        self.id = id.map(str::to_owned);
        self
    }

    /// Adds a known range.
    #[must_use]
    pub fn range(mut self, net: IpNet, path: Path, role: Role) -> PlannedResource {
        self.ranges.push(PlannedRange { net, path, role });
        self
    }

    /// Says that a range of this family is not known yet.
    #[must_use]
    pub fn unknown(mut self, family: Family) -> PlannedResource {
        self.unknown.push(family);
        self
    }
}

/// One range of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRange {
    /// The range.
    pub net: IpNet,
    /// The attribute that holds it, from the root of the resource.
    pub path: Path,
    /// What it does to the address space.
    pub role: Role,
}

/// What a range does to the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An entry of an address plan: its owner may occupy it, nobody else.
    Reserve,
    /// A network (VPC): no other network may overlap it.
    Occupy,
    /// Excluded for everybody: on-premises networks, Docker's bridge.
    Excluded,
    /// A subnet: inside its network and apart from the other subnets.
    Part(Parent),
}

/// The network of a subnet, as far as the plan knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The resource type of the network: `warren_aws_vpc`.
    pub kind: &'static str,
    /// Its id, where it is known.
    pub id: Option<String>,
    /// Its ranges, where the user (`vpc_cidr_block`) or the cloud's API told them; empty when not.
    pub cidrs: Vec<IpNet>,
}

impl Parent {
    /// The network with this id; `None` when the id is known only after apply.
    pub fn of(kind: &'static str, id: Option<&str>) -> Parent {
        Parent { kind, id: id.map(str::to_owned), cidrs: Vec::new() }
    }

    /// With ranges told explicitly.
    #[must_use]
    pub fn within(mut self, cidrs: Vec<IpNet>) -> Parent {
        self.cidrs = cidrs;
        self
    }
}
