//! The documented limits of the clouds.

use crate::{Family, overlaps};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The cloud whose limits apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cloud {
    /// Amazon VPC.
    Aws,
    /// Google Cloud VPC.
    Gcp,
    /// A routed overlay: no limits, and every address is usable.
    Overlay,
}

/// An unknown cloud name.
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

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cloud accepts it, but something will not work.
    Warning,
    /// The cloud refuses it.
    Error,
}

/// The rule that a range breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The cloud does not allow the prefix length.
    Size,
    /// The range overlaps a block that the cloud does not allow.
    Forbidden,
    /// The range overlaps a block that services of the cloud use.
    UsedByService,
    /// The secondary range cannot be combined with the primary range.
    Secondary,
    /// The networks cannot be peered.
    Peering,
}

/// A rule of a cloud that a range breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The range.
    pub net: IpNet,
    /// The range of the other network that it overlaps, if the rule is about two networks.
    pub other: Option<IpNet>,
    /// One sentence without a final period.
    pub message: String,
}

/// Prefix lengths that a cloud allows: from `shortest` (largest network) to `longest`, in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixRange {
    /// The shortest prefix length (the largest network).
    pub shortest: u8,
    /// The longest prefix length (the smallest network).
    pub longest: u8,
    /// Difference between two allowed prefix lengths.
    pub step: u8,
}

/// One special block of a cloud.
struct Block {
    net: &'static str,
    severity: Severity,
    rule: Rule,
    why: &'static str,
}

const fn forbidden(net: &'static str, why: &'static str) -> Block {
    Block { net, severity: Severity::Error, rule: Rule::Forbidden, why }
}

const fn used(net: &'static str, why: &'static str) -> Block {
    Block { net, severity: Severity::Warning, rule: Rule::UsedByService, why }
}

/// "VPC CIDR blocks", Amazon VPC User Guide: the forbidden blocks and 172.17.0.0/16 are in the considerations of "IPv4
/// VPC CIDR blocks"; 198.19.0.0/16 has a row of its own in "IPv4 CIDR block association restrictions", so a VPC can be
/// created with it, but it cannot be added to another VPC later (see [`Cloud::check_secondary`]).
const AWS_BLOCKS: &[Block] = &[
    forbidden("0.0.0.0/8", "AWS does not allow \"this network\" addresses in a VPC"),
    forbidden("127.0.0.0/8", "AWS does not allow loopback addresses in a VPC"),
    forbidden("169.254.0.0/16", "AWS does not allow link-local addresses in a VPC"),
    forbidden("224.0.0.0/4", "AWS does not allow multicast addresses in a VPC"),
    used("198.19.0.0/16", "AWS services use it internally"),
    used(
        "172.17.0.0/16",
        "Docker uses it in AWS Cloud9 and Amazon SageMaker, which then cannot reach the network",
    ),
];

/// "Subnets", Google Cloud VPC documentation: the forbidden blocks are the table "Prohibited IPv4 subnet ranges", the others
/// are in "Auto mode IPv4 ranges" and "Additional considerations". Class E (240.0.0.0/4) is valid except for its last
/// address.
const GCP_BLOCKS: &[Block] = &[
    forbidden("0.0.0.0/8", "Google Cloud does not allow \"this network\" addresses in a subnet"),
    forbidden("127.0.0.0/8", "Google Cloud does not allow loopback addresses in a subnet"),
    forbidden(
        "169.254.0.0/16",
        "Google Cloud does not allow link-local addresses (the metadata server) in a subnet",
    ),
    forbidden("199.36.153.4/30", "restricted.googleapis.com uses these addresses"),
    forbidden("199.36.153.8/30", "private.googleapis.com uses these addresses"),
    forbidden("224.0.0.0/4", "Google Cloud does not allow multicast addresses in a subnet"),
    forbidden("255.255.255.255/32", "Google Cloud does not allow the broadcast address in a subnet"),
    used(
        "10.128.0.0/9",
        "auto mode VPC networks create their subnets in it, so the network cannot be peered with one of them",
    ),
    used("172.17.0.0/16", "Docker's default bridge uses it in some Google Cloud products"),
];

impl Cloud {
    /// Prefix lengths of a network.
    ///
    /// AWS: IPv4 /16 to /28 ("IPv4 VPC CIDR blocks") and IPv6 /44 to /60 in steps of 4 ("IPv6 VPC CIDR blocks", both in
    /// "VPC CIDR blocks", Amazon VPC User Guide). GCP: an IPv4 network has no range of its own, so any block that can
    /// hold a subnet; an internal IPv6 range is a /48 of fd20::/20 ("IPv6 subnet ranges" in "Subnets", Google Cloud VPC
    /// documentation). Overlay: any.
    pub fn network_prefixes(self, family: Family) -> PrefixRange {
        match (self, family) {
            (Cloud::Aws, Family::V4) => PrefixRange { shortest: 16, longest: 28, step: 1 },
            (Cloud::Aws, Family::V6) => PrefixRange { shortest: 44, longest: 60, step: 4 },
            (Cloud::Gcp, Family::V4) => PrefixRange { shortest: 0, longest: 29, step: 1 },
            (Cloud::Gcp, Family::V6) => PrefixRange { shortest: 48, longest: 48, step: 1 },
            (Cloud::Overlay, _) => PrefixRange { shortest: 0, longest: family.bits(), step: 1 },
        }
    }

    /// Prefix lengths of a subnet.
    ///
    /// AWS: IPv4 /16 to /28 and IPv6 /44 to /64 in steps of 4 ("Subnet CIDR blocks", Amazon VPC User Guide). GCP: IPv4
    /// to /29 and IPv6 /64 ("Subnets", Google Cloud VPC documentation), IPv4 from /8 ("IP address ranges for VPC-native
    /// clusters", Google Kubernetes Engine documentation: the largest private block). Overlay: any.
    pub fn subnet_prefixes(self, family: Family) -> PrefixRange {
        match (self, family) {
            (Cloud::Aws, Family::V6) => PrefixRange { shortest: 44, longest: 64, step: 4 },
            (Cloud::Gcp, Family::V4) => PrefixRange { shortest: 8, longest: 29, step: 1 },
            (Cloud::Gcp, Family::V6) => PrefixRange { shortest: 64, longest: 64, step: 1 },
            _ => self.network_prefixes(family),
        }
    }

    /// Number of addresses that the cloud reserves in every subnet.
    ///
    /// AWS: the first four and the last, in both families ("Subnet CIDR blocks", Amazon VPC User Guide). GCP: the first two
    /// and the last two of a primary IPv4 range, the first and the last /96 of an internal IPv6 range ("Unusable addresses"
    /// in "Subnets", Google Cloud VPC documentation). Overlay: none.
    pub fn kept_addresses(self, family: Family) -> u128 {
        match (self, family) {
            (Cloud::Aws, _) => 5,
            (Cloud::Gcp, Family::V4) => 4,
            (Cloud::Gcp, Family::V6) => 2 << 32,
            (Cloud::Overlay, _) => 0,
        }
    }

    /// Number of addresses for hosts in a subnet with this range; the whole IPv6 space counts as `u128::MAX`.
    pub fn usable_hosts(self, net: &IpNet) -> u128 {
        size(net).saturating_sub(self.kept_addresses(Family::of(net)))
    }

    /// Rules that this range breaks as the range of a network (AWS: a VPC's primary or secondary range).
    pub fn check_network(self, net: &IpNet) -> Vec<Finding> {
        let sizes = self.network_prefixes(Family::of(net));
        self.check(net, sizes, if self == Cloud::Aws { "a VPC" } else { "a network" })
    }

    /// Rules that this range breaks as the range of a subnet.
    pub fn check_subnet(self, net: &IpNet) -> Vec<Finding> {
        self.check(net, self.subnet_prefixes(Family::of(net)), "a subnet")
    }

    /// Rules that adding `secondary` to a network with the primary range `primary` breaks.
    ///
    /// AWS: the table "IPv4 CIDR block association restrictions" of "VPC CIDR blocks", Amazon VPC User Guide. The row about
    /// 198.19.0.0/16 is a warning, because the guides of Amazon EKS add that block to VPCs. The other clouds have no
    /// such rule. [`Cloud::check_network`] checks the
    /// size and the special blocks.
    pub fn check_secondary(self, primary: &IpNet, secondary: &IpNet) -> Vec<Finding> {
        if self != Cloud::Aws || !primary.addr().is_ipv4() || !secondary.addr().is_ipv4() {
            return Vec::new();
        }
        let mut reasons = Vec::new();
        let mut refused = |why: String| reasons.push((Severity::Error, why));
        let home = PRIVATE_V4.iter().find(|block| within(primary, block));
        let target = PRIVATE_V4.iter().find(|block| touches(secondary, block));
        match (home, target) {
            (Some(home), Some(target)) if home != target => {
                refused(format!(
                    "the primary range {primary} is in {home}, so ranges in {target} cannot be added"
                ));
            }
            (None, Some(target)) => {
                refused(format!(
                    "the primary range {primary} is outside the private blocks of RFC 1918, so ranges in {target} cannot be added"
                ));
            }
            _ => {}
        }
        if within(primary, "10.0.0.0/15") && touches(secondary, "10.0.0.0/16") {
            refused(format!(
                "the primary range {primary} is in 10.0.0.0/15, so ranges in 10.0.0.0/16 cannot be added"
            ));
        }
        if within(primary, "172.16.0.0/12") && touches(secondary, "172.31.0.0/16") {
            refused(format!(
                "the primary range {primary} is in 172.16.0.0/12, so ranges in 172.31.0.0/16 cannot be added"
            ));
        }
        if touches(primary, &secondary.to_string()) {
            refused(format!("it overlaps the primary range {primary}"));
        }
        if touches(secondary, SERVICES_V4) && !within(primary, SERVICES_V4) {
            let why = format!("{SERVICES_V4} is only for VPCs created with a range in it");
            reasons.push((Severity::Warning, why));
        }
        reasons
            .into_iter()
            .map(|(severity, why)| Finding {
                severity,
                rule: Rule::Secondary,
                net: *secondary,
                other: None,
                message: match severity {
                    Severity::Error => format!("AWS does not allow adding {secondary} to this VPC: {why}"),
                    Severity::Warning => {
                        format!("the Amazon VPC User Guide restricts adding {secondary} to this VPC: {why}")
                    }
                },
            })
            .collect()
    }

    /// Every overlapping pair of ranges, which forbids peering the two networks.
    ///
    /// AWS: "VPC peering limitations" in "How VPC peering connections work", Amazon VPC Peering Guide: one overlapping pair
    /// of either family is enough. GCP: "VPC Network Peering", Google Cloud VPC documentation: no subnet range may equal,
    /// contain or be inside one of the other network.
    pub fn check_peering(self, left: &[IpNet], right: &[IpNet]) -> Vec<Finding> {
        let all: Vec<IpNet> = left.iter().chain(right).copied().collect();
        let mut pairs: Vec<(IpNet, IpNet)> = overlaps(&all)
            .pairs()
            .map(|(a, b)| (a.min(b), a.max(b)))
            .filter(|&(a, b)| a < left.len() && b >= left.len())
            .map(|(a, b)| (all[a], all[b]))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
            .into_iter()
            .map(|(a, b)| Finding {
                severity: Severity::Error,
                rule: Rule::Peering,
                net: a,
                other: Some(b),
                message: format!(
                    "{a} overlaps {b} of the other network, so the two networks cannot be peered"
                ),
            })
            .collect()
    }

    /// The blocks that this cloud does not allow (`Error`) or that should be avoided (`Warning`).
    pub fn special_blocks(self, severity: Severity) -> Vec<IpNet> {
        self.blocks()
            .iter()
            .filter(|block| block.severity == severity)
            .filter_map(|block| block.net.parse().ok())
            .collect()
    }

    fn blocks(self) -> &'static [Block] {
        match self {
            Cloud::Aws => AWS_BLOCKS,
            Cloud::Gcp => GCP_BLOCKS,
            Cloud::Overlay => &[],
        }
    }

    fn check(self, net: &IpNet, sizes: PrefixRange, what: &str) -> Vec<Finding> {
        let name = match self {
            Cloud::Aws => "AWS",
            Cloud::Gcp => "Google Cloud",
            Cloud::Overlay => "the overlay",
        };
        let mut found = Vec::new();
        if !sizes.holds(net.prefix_len()) {
            found.push(Finding {
                severity: Severity::Error,
                rule: Rule::Size,
                net: *net,
                other: None,
                message: format!(
                    "{net} is {} for {what}: {name} allows {sizes}",
                    sizes.misses(net.prefix_len())
                ),
            });
        }
        found.extend(self.blocks().iter().filter(|block| touches(net, block.net)).map(|block| Finding {
            severity: block.severity,
            rule: block.rule,
            net: *net,
            other: None,
            message: format!("{net} overlaps {}: {}", block.net, block.why),
        }));
        found
    }
}

impl PrefixRange {
    /// Whether a prefix length is allowed.
    pub fn holds(self, prefix: u8) -> bool {
        (self.shortest..=self.longest).contains(&prefix) && (prefix - self.shortest).is_multiple_of(self.step)
    }

    fn misses(self, prefix: u8) -> &'static str {
        if prefix < self.shortest {
            "too large"
        } else if prefix > self.longest {
            "too small"
        } else {
            "not a valid size"
        }
    }
}

impl fmt::Display for PrefixRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shortest == self.longest {
            return write!(f, "only a /{}", self.shortest);
        }
        write!(f, "/{} to /{}", self.shortest, self.longest)?;
        if self.step > 1 {
            write!(f, " in steps of {}", self.step)?;
        }
        Ok(())
    }
}

/// The block that AWS services use internally.
const SERVICES_V4: &str = "198.19.0.0/16";

/// RFC 1918.
const PRIVATE_V4: [&str; 3] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];

/// Addresses of a range; the whole IPv6 space counts as `u128::MAX`.
pub(crate) fn size(net: &IpNet) -> u128 {
    1u128.checked_shl(u32::from(net.max_prefix_len() - net.prefix_len())).unwrap_or(u128::MAX)
}

fn touches(net: &IpNet, block: &str) -> bool {
    block.parse::<IpNet>().is_ok_and(|block| block.contains(net) || net.contains(&block))
}

fn within(net: &IpNet, block: &str) -> bool {
    block.parse::<IpNet>().is_ok_and(|block| block.contains(net))
}
