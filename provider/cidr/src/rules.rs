//! The documented limits of the clouds.

use crate::Family;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Whose limits apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cloud {
    /// Amazon VPC.
    Aws,
    /// Google Cloud VPC.
    Gcp,
    /// A routed overlay: every address is usable, no limits.
    Overlay,
}

/// A text that names no cloud.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a cloud; use aws, gcp or overlay")]
pub struct UnknownCloud(pub String);

impl FromStr for Cloud {
    type Err = UnknownCloud;

    fn from_str(text: &str) -> Result<Self, UnknownCloud> {
        match text {
            "aws" => Ok(Cloud::Aws),
            "gcp" => Ok(Cloud::Gcp),
            "overlay" => Ok(Cloud::Overlay),
            other => Err(UnknownCloud(other.to_owned())),
        }
    }
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cloud::Aws => "aws",
            Cloud::Gcp => "gcp",
            Cloud::Overlay => "overlay",
        })
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cloud takes it, but something will not work.
    Warning,
    /// The cloud refuses it.
    Error,
}

/// Which rule a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The prefix length is not one the cloud takes.
    Size,
    /// The range touches a block that the cloud forbids.
    Forbidden,
    /// The range touches a block that services of the cloud use.
    UsedByService,
    /// The secondary range does not go with the primary one.
    Secondary,
    /// The networks cannot be peered.
    Peering,
}

/// A rule of a cloud that a range breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The range.
    pub net: IpNet,
    /// One sentence without a full stop.
    pub message: String,
}

/// Prefix lengths that a cloud takes: from `shortest` (largest network) to `longest`, in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixRange {
    /// The shortest prefix length (the largest network).
    pub shortest: u8,
    /// The longest prefix length (the smallest network).
    pub longest: u8,
    /// Every how many bits a length is taken.
    pub step: u8,
}

impl Cloud {
    /// Prefix lengths of a network (AWS: VPC).
    pub fn network_prefixes(self, family: Family) -> PrefixRange {
        PrefixRange { shortest: 0, longest: family.bits(), step: 1 }
    }

    /// Prefix lengths of a subnet.
    pub fn subnet_prefixes(self, family: Family) -> PrefixRange {
        PrefixRange { shortest: 0, longest: family.bits(), step: 1 }
    }

    /// Addresses of every subnet that the cloud keeps for itself.
    pub fn kept_addresses(self, family: Family) -> u128 {
        let _ = family;
        0
    }

    /// Addresses for hosts in a subnet of this range.
    pub fn usable_hosts(self, net: &IpNet) -> u128 {
        let _ = net;
        0
    }

    /// What is wrong with this range for a network (AWS: a VPC's primary or secondary range).
    pub fn check_network(self, net: &IpNet) -> Vec<Finding> {
        let _ = net;
        Vec::new()
    }

    /// What is wrong with this range for a subnet.
    pub fn check_subnet(self, net: &IpNet) -> Vec<Finding> {
        let _ = net;
        Vec::new()
    }

    /// What is wrong with adding `secondary` to a network that was made with `primary`.
    pub fn check_secondary(self, primary: &IpNet, secondary: &IpNet) -> Vec<Finding> {
        let _ = (primary, secondary);
        Vec::new()
    }

    /// What forbids peering (or attaching to one transit gateway) two networks with these ranges.
    pub fn check_peering(self, left: &[IpNet], right: &[IpNet]) -> Vec<Finding> {
        let _ = (left, right);
        Vec::new()
    }
}
