//! The request to the solver, in types that are valid by construction.

use crate::{Assignment, Cloud};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Separator of the keys in a path: `aws/public`. A key must not contain it.
pub const SEPARATOR: char = '/';

/// An address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Family {
    /// 32-bit addresses.
    #[serde(rename = "ipv4")]
    V4,
    /// 128-bit addresses.
    #[serde(rename = "ipv6")]
    V6,
}

impl Family {
    /// Bits of an address: 32 or 128.
    pub fn bits(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    /// The family of a range.
    pub fn of(net: &IpNet) -> Self {
        match net {
            IpNet::V4(_) => Family::V4,
            IpNet::V6(_) => Family::V6,
        }
    }
}

/// Room to grow: a factor of 1.0 to 1000.0 on the number of hosts, exact to a thousandth (rounded up).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Growth {
    milli: u32,
}

/// A growth factor that is not a number from 1.0 to 1000.0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("growth is {0}; it must be a factor from 1.0 (no room) to 1000.0")]
pub struct GrowthError(pub f64);

impl Growth {
    /// No room to grow.
    pub const NONE: Growth = Growth { milli: 1000 };

    /// Creates a factor from 1.0 to 1000.0.
    ///
    /// # Errors
    /// [`GrowthError`] for anything else, NaN included.
    pub fn new(factor: f64) -> Result<Self, GrowthError> {
        if !(1.0..=1000.0).contains(&factor) {
            return Err(GrowthError(factor));
        }
        // 1.1 * 1000.0 is a hair above 1100, so round before rounding up.
        let scaled = factor * 1000.0;
        let near = scaled.round();
        let milli = if (scaled - near).abs() < 1e-6 { near } else { scaled.ceil() };
        Ok(Self { milli: milli as u32 })
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        f64::from(self.milli) / 1000.0
    }

    /// `hosts` times the factor, rounded up.
    pub fn apply(self, hosts: u64) -> u128 {
        (u128::from(hosts) * u128::from(self.milli)).div_ceil(1000)
    }
}

impl Default for Growth {
    fn default() -> Self {
        Self::NONE
    }
}

impl TryFrom<f64> for Growth {
    type Error = GrowthError;

    fn try_from(factor: f64) -> Result<Self, GrowthError> {
        Self::new(factor)
    }
}

impl From<Growth> for f64 {
    fn from(growth: Growth) -> f64 {
        growth.factor()
    }
}

/// The requested size or range of a network or subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Exactly this range.
    Pinned(IpNet),
    /// A block of exactly this prefix length.
    Prefix(u8),
    /// The smallest block for this number of hosts (times growth, plus the addresses that the cloud reserves) and all
    /// subnets.
    Hosts(u64),
}

/// One network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRequest {
    /// Keys of its pools, which form one space. A pinned network needs none, and may then be anywhere.
    pub pools: Vec<String>,
    /// Its size or range.
    pub want: Want,
    /// Room for more hosts; used with [`Want::Hosts`].
    pub growth: Growth,
    /// The cloud whose limits apply. `None` checks nothing and reserves no addresses.
    pub cloud: Option<Cloud>,
    /// `None` means IPv4 if the pools have any, else IPv6.
    pub family: Option<Family>,
    /// Its subnets by key.
    pub subnets: BTreeMap<String, SubnetRequest>,
}

impl NetworkRequest {
    /// A network in `pools` with no growth, cloud, family or subnets.
    pub fn new(pools: &[&str], want: Want) -> Self {
        Self {
            pools: pools.iter().map(|&pool| pool.to_owned()).collect(),
            want,
            growth: Growth::NONE,
            cloud: None,
            family: None,
            subnets: BTreeMap::new(),
        }
    }
}

/// One subnet. It is inside its network (or outer subnet) and inherits the cloud and address family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubnetRequest {
    /// Its size or range.
    pub want: Want,
    /// Room for more hosts; used with [`Want::Hosts`].
    pub growth: Growth,
    /// Subnets of the subnet.
    pub subnets: BTreeMap<String, SubnetRequest>,
}

impl SubnetRequest {
    /// A subnet with no growth and no subnets of its own.
    pub fn new(want: Want) -> Self {
        Self { want, growth: Growth::NONE, subnets: BTreeMap::new() }
    }
}

/// Everything the solver needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// Address space by key; pools may overlap.
    pub pools: BTreeMap<String, Vec<IpNet>>,
    /// Reserved ranges that no network may use, by name.
    pub reserved: BTreeMap<String, Vec<IpNet>>,
    /// The networks by key.
    pub networks: BTreeMap<String, NetworkRequest>,
    /// An earlier plan by path. Its ranges stay where possible.
    pub previous: Assignment,
}
