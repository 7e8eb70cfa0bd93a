//! Schema and state of `warren_aws_security_group`.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::str::FromStr;

use ipnet::{Ipv4Net, Ipv6Net};
use tf_provider_rs::validators::each;
use tf_provider_rs::{Attr, Diagnostics, Object, Path, Resource, Value, text};
use warren_cidr::{Cloud, Family};
use warren_managed::{HasShared, ranges, sets::Set};

use crate::common::AwsObject;
use crate::ids::{PrefixListId, SecurityGroupId, VpcId};

/// Manages a security group with all of its rules. Rules that are not listed are removed, including the rule that AWS
/// adds to every new group to allow all outbound traffic. Rules cannot admit the internet unless `allow_public_ingress`
/// is `true`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_security_group", noun = "security group")]
pub(crate) struct SecurityGroup {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the VPC. Changing this replaces the security group.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// Purpose of the group, 1 to 255 characters from `a-z A-Z 0-9`, space and `._-:/()#,@[]+=&;{}!$*`. AWS cannot
    /// update it, so changing this replaces the security group. Defaults to `Managed by Warren`.
    #[attr(default = "Managed by Warren", replaces, validate = check_description)]
    pub(crate) description: Attr<String>,
    /// Name of the group in AWS: `name`, with the prefix `g-` if it begins with `sg-`, and with a random suffix if
    /// another group in the VPC already has that name. Stays the same when `name` changes.
    #[attr(computed, keeps)]
    pub(crate) group_name: Attr<String>,
    /// Rules for inbound traffic. Each rule needs at least one source. If not set, no inbound traffic is allowed.
    /// Updated in place.
    #[attr(optional)]
    pub(crate) ingress: Attr<BTreeSet<Rule<Ingress>>>,
    /// Rules for outbound traffic. Each rule needs at least one destination. If not set, no outbound traffic is
    /// allowed. Updated in place.
    #[attr(optional)]
    pub(crate) egress: Attr<BTreeSet<Rule<Egress>>>,
    /// Whether `ingress` may contain `0.0.0.0/0`, `::/0` or another large part of the internet (IPv4 ranges shorter
    /// than `/8`, IPv6 ranges shorter than `/16`). Such rules are rejected otherwise. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) allow_public_ingress: Attr<bool>,
    /// ID of the AWS account that owns the security group.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<String>,
    /// Amazon Resource Name (ARN) of the security group.
    #[attr(computed, keeps)]
    pub(crate) arn: Attr<String>,
}

impl HasShared for SecurityGroup {
    type Shared = AwsObject;
}

/// A rule: a protocol, its ports and its peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Object)]
pub(crate) struct Rule<D: Direction> {
    /// Protocol: `tcp`, `udp`, `icmp`, `icmpv6`, the number of another protocol (0 to 255), or `-1` for all protocols.
    #[attr(required, validate = check_protocol)]
    pub(crate) protocol: Attr<Protocol>,
    /// First port of the range, 0 to 65535. For ICMP, the type, or -1 for all types. Required for `tcp`, `udp`, `icmp`
    /// and `icmpv6`.
    #[attr(optional, validate = check_port)]
    pub(crate) from_port: Attr<i32>,
    /// Last port of the range, 0 to 65535. For ICMP, the code, or -1 for all codes. Required for `tcp`, `udp`, `icmp`
    /// and `icmpv6`.
    #[attr(optional, validate = check_port)]
    pub(crate) to_port: Attr<i32>,
    #[attr(
        optional,
        validate = each(ranges::any(Cloud::Aws, Family::V4)),
        description = format!("IPv4 ranges in CIDR notation as the {}.", D::PEER)
    )]
    pub(crate) cidr_blocks: Set<Ipv4Net>,
    #[attr(
        optional,
        validate = each(ranges::any(Cloud::Aws, Family::V6)),
        description = format!("IPv6 ranges in CIDR notation as the {}.", D::PEER)
    )]
    pub(crate) ipv6_cidr_blocks: Set<Ipv6Net>,
    #[attr(optional, description = format!("IDs of managed prefix lists as the {}.", D::PEER))]
    pub(crate) prefix_list_ids: Set<PrefixListId>,
    #[attr(
        optional,
        description = format!("IDs of security groups whose network interfaces are the {}.", D::PEER)
    )]
    pub(crate) security_group_ids: Set<SecurityGroupId>,
    #[attr(
        default = false,
        description = format!(
            "Whether the network interfaces in this group are a {}. Defaults to `false`.",
            D::PEER
        )
    )]
    pub(crate) same_group: Attr<bool>,
    /// Purpose of the rule, 1 to 255 characters from the same set as the `description` of the group.
    #[attr(optional, validate = check_description)]
    pub(crate) description: Attr<String>,
    #[attr(skip)]
    pub(crate) direction: PhantomData<D>,
}

/// The direction of rules.
pub(crate) trait Direction: Clone + Debug + Default + Ord + Send + Sync + 'static {
    /// What the peer of a rule is.
    const PEER: &'static str;
}

/// Inbound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ingress;

impl Direction for Ingress {
    const PEER: &'static str = "source";
}

/// Outbound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Egress;

impl Direction for Egress {
    const PEER: &'static str = "destination";
}

/// An IP protocol as AWS writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// Every protocol: `-1`.
    All,
    Icmp,
    Icmpv6,
    Tcp,
    Udp,
    /// A protocol that has no name here.
    Number(u8),
}

/// A text is no protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAProtocol;

/// The protocols that AWS reports by name.
const NAMED: [(&str, &str); 4] = [("1", "icmp"), ("6", "tcp"), ("17", "udp"), ("58", "icmpv6")];

impl FromStr for Protocol {
    type Err = NotAProtocol;

    fn from_str(text: &str) -> Result<Protocol, NotAProtocol> {
        match text {
            "-1" => Ok(Protocol::All),
            "icmp" => Ok(Protocol::Icmp),
            "icmpv6" => Ok(Protocol::Icmpv6),
            "tcp" => Ok(Protocol::Tcp),
            "udp" => Ok(Protocol::Udp),
            _ => text
                .parse::<u8>()
                .ok()
                .filter(|number| number.to_string() == text && NAMED.iter().all(|(named, _)| *named != text))
                .map(Protocol::Number)
                .ok_or(NotAProtocol),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::All => f.pad("-1"),
            Protocol::Icmp => f.pad("icmp"),
            Protocol::Icmpv6 => f.pad("icmpv6"),
            Protocol::Tcp => f.pad("tcp"),
            Protocol::Udp => f.pad("udp"),
            Protocol::Number(number) => fmt::Display::fmt(number, f),
        }
    }
}

text!(Protocol, "`tcp`, `udp`, `icmp`, `icmpv6`, a number from 0 to 255, or `-1` for all protocols");

fn check_protocol(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Some(text) = value.as_str() else { return };
    if let Some((number, name)) = NAMED.iter().find(|(number, _)| *number == text) {
        diagnostics.error_at(
            path.clone(),
            "Protocol number with a name",
            format!("AWS reports protocol {number} as `{name}`. Use `{name}` instead of the number."),
        );
    }
}

fn check_port(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let whole = match value {
        Value::Number(number) => number.to_i64().is_some_and(|port| (-1..=65535).contains(&port)),
        _ => false,
    };
    if !whole {
        diagnostics.error_at(
            path.clone(),
            "Port out of range",
            "The value is not a port number. Use a whole number from 0 to 65535, or -1 for all ICMP types \
             or codes.",
        );
    }
}

fn check_description(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    let allowed = |c: char| c.is_ascii_alphanumeric() || " ._-:/()#,@[]+=&;{}!$*".contains(c);
    if !(1..=255).contains(&text.len()) || !text.chars().all(allowed) {
        diagnostics.error_at(
            path.clone(),
            "Invalid description",
            "The description is empty, too long, or contains characters that AWS does not accept. Use 1 \
             to 255 characters from `a-z A-Z 0-9`, space and `._-:/()#,@[]+=&;{}!$*`.",
        );
    }
}
