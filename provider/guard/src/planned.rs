//! The ranges that a resource registers with the guard when it is planned.

use std::borrow::Cow;

use ipnet::IpNet;
use tf_provider_rs::Path;
use warren_cidr::Family;

use crate::Key;

/// All ranges of one resource, as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedResource {
    /// The resource.
    pub key: Key,
    /// The cloud's ID (`vpc-0abc`); `None` if the object does not exist yet.
    pub id: Option<String>,
    /// The known ranges, without host bits; see [`warren_cidr::parse_cidr`].
    pub ranges: Vec<PlannedRange>,
    /// Families for which the resource has, or may have, ranges that are not known yet (an unknown `cidr_block`, IPv6
    /// assigned by the cloud). No range is reported as being outside such a resource.
    pub unknown: Vec<Family>,
    /// Address space for suggestions, one list per pool. Only address plans have any.
    pub pools: Vec<Vec<IpNet>>,
}

impl PlannedResource {
    /// A resource without ranges that does not exist yet.
    pub fn new(key: Key) -> PlannedResource {
        PlannedResource { key, id: None, ranges: Vec::new(), unknown: Vec::new(), pools: Vec::new() }
    }

    /// Sets the cloud's ID.
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

    /// Declares that a range of this family is not known yet.
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
    /// How it uses the address space.
    pub role: Role,
}

/// How a range uses the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An entry of an address plan: only its owner may occupy it.
    Reserve,
    /// A network (VPC): no other network may overlap it.
    Occupy,
    /// Excluded for all owners, such as on-premises networks or Docker's bridge.
    Excluded,
    /// A subnet: inside its network and disjoint from other subnets.
    Part(Parent),
}

/// The network of a subnet, as far as the plan knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The resource type of the network: `warren_aws_vpc`.
    pub kind: Cow<'static, str>,
    /// The ID, if it is known.
    pub id: Option<String>,
    /// The ranges as given by the user (`vpc_cidr_block`) or the cloud's API; empty if unknown.
    pub cidrs: Vec<IpNet>,
}

impl Parent {
    /// The network with this ID. Pass `None` if the ID is known only after apply.
    pub fn of(kind: &'static str, id: Option<&str>) -> Parent {
        Parent { kind: kind.into(), id: id.map(str::to_owned), cidrs: Vec::new() }
    }

    /// Sets the ranges explicitly.
    #[must_use]
    pub fn within(mut self, cidrs: Vec<IpNet>) -> Parent {
        self.cidrs = cidrs;
        self
    }
}
