//! IDs of AWS objects. Each type has its own, so that an ID in the wrong place is an error at its attribute.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use tf_provider_rs::model::NotAChoice;
use tf_provider_rs::{id, text};

use crate::error::{ApiError, Parsed as _};

id! {
    /// ID of a VPC.
    pub struct VpcId("vpc-");
    /// ID of a subnet.
    pub struct SubnetId("subnet-");
    /// ID of a route table.
    pub struct RouteTableId("rtb-");
    /// ID of a security group.
    pub struct SecurityGroupId("sg-");
    /// ID of an internet gateway.
    pub struct InternetGatewayId("igw-");
    /// ID of a NAT gateway.
    pub struct NatGatewayId("nat-");
    /// Allocation ID of an elastic IP address.
    pub struct AllocationId("eipalloc-");
    /// ID of a network interface.
    pub struct NetworkInterfaceId("eni-");
    /// ID of an EBS volume.
    pub struct VolumeId("vol-");
    /// ID of an image.
    pub struct ImageId("ami-");
    /// ID of a transit gateway.
    pub struct TransitGatewayId("tgw-");
    /// ID of a route table of a transit gateway.
    pub struct TransitGatewayRouteTableId("tgw-rtb-");
    /// ID of an attachment of a transit gateway.
    pub struct TransitGatewayAttachmentId("tgw-attach-");
    /// ID of a prefix list.
    pub struct PrefixListId("pl-");
    /// ID of an egress-only internet gateway.
    pub struct EgressOnlyGatewayId("eigw-");
    /// ID of a VPC peering connection.
    pub struct VpcPeeringId("pcx-");
    /// ID of a hosted zone.
    pub struct ZoneId("Z");
    /// ID of an endpoint of the Route 53 Resolver.
    pub struct ResolverEndpointId("rslvr-");
}

/// ID of an AWS account: 12 digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(String);

const ACCOUNT: &str = "the ID of an AWS account, 12 digits";

impl std::ops::Deref for AccountId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for AccountId {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<AccountId, NotAChoice> {
        let digits = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { Ok(AccountId(text.to_owned())) } else { Err(NotAChoice(ACCOUNT)) }
    }
}

text!(AccountId, ACCOUNT);

/// ID of an internet gateway or of a virtual private gateway.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GatewayId(String);

const GATEWAY: &str = "an ID that begins with `igw-` or `vgw-`";

impl fmt::Display for GatewayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for GatewayId {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<GatewayId, NotAChoice> {
        let rest = text.strip_prefix("igw-").or_else(|| text.strip_prefix("vgw-"));
        match rest {
            Some(rest) if !rest.is_empty() => Ok(GatewayId(text.to_owned())),
            _ => Err(NotAChoice(GATEWAY)),
        }
    }
}

text!(GatewayId, GATEWAY);

/// ID of an object whose live ranges can be ignored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiveId(String);

const LIVE: &str = "an ID that begins with `vpc-`, `pl-` or `tgw-rtb-`";

impl fmt::Display for LiveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for LiveId {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<LiveId, NotAChoice> {
        let known = ["vpc-", "pl-", "tgw-rtb-"].iter().find_map(|prefix| text.strip_prefix(prefix));
        match known {
            Some(rest) if !rest.is_empty() => Ok(LiveId(text.to_owned())),
            _ => Err(NotAChoice(LIVE)),
        }
    }
}

text!(LiveId, LIVE);

/// The IDs in a list of the response to `operation`.
pub(crate) fn all<T: FromStr + Ord>(
    found: impl IntoIterator<Item = Option<String>>,
    operation: &'static str,
    member: &'static str,
) -> Result<BTreeSet<T>, ApiError> {
    found.into_iter().map(|id| id.parsed(operation, member)).collect()
}

/// IDs for a call.
pub(crate) fn texts<T: Into<String>>(ids: impl IntoIterator<Item = T>) -> Vec<String> {
    ids.into_iter().map(T::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_twelve_digits() {
        assert_eq!("012345678901".parse::<AccountId>().unwrap().to_string(), "012345678901");
        assert!("12345678901".parse::<AccountId>().is_err());
        assert!("01234567890a".parse::<AccountId>().is_err());
    }
}
