//! A rule of an allow list.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Name;

/// Allows traffic to one of the destinations with one of the protocols, to one of the ports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "AllowTable")]
pub struct Allow {
    /// Prefixes. An address of the gateway itself is open only if one of them is this very address (/32 or /128). Peers of
    /// the gateway are open only by their groups.
    pub to: Vec<IpNet>,
    /// Groups of peers. In TOML: `"group:NAME"` in `to`.
    pub to_groups: Vec<Name>,
    /// Ports; all if omitted. Ignored for ICMP.
    pub ports: Option<Vec<PortRange>>,
    /// Protocols; all if omitted.
    pub protocols: Option<Vec<Protocol>>,
    /// Whether pods may exchange what this rule allows without a gateway, where UDP permits it. Only for groups.
    pub direct: bool,
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    to: Vec<Destination>,
    #[serde(default)]
    ports: Option<Vec<PortRange>>,
    #[serde(default)]
    protocols: Option<Vec<Protocol>>,
    #[serde(default)]
    direct: bool,
}

impl From<AllowTable> for Allow {
    fn from(AllowTable { to, ports, protocols, direct }: AllowTable) -> Self {
        Self { direct, ..Self::new(to, ports, protocols) }
    }
}

/// What a rule allows traffic to. In TOML: `"10.0.0.0/16"` or `"group:NAME"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A prefix.
    Net(IpNet),
    /// The peers of a group.
    Group(Name),
}

/// The error for a text that is not a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a range or a group; write a range like 10.0.0.0/16, or the name of a group like \"group:trainers\""
)]
pub struct DestinationError;

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        match text.strip_prefix("group:") {
            Some(name) => name.parse().map(Self::Group).map_err(|_| DestinationError),
            None => text.parse().map(Self::Net).map_err(|_| DestinationError),
        }
    }
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Allow {
    /// A rule for these destinations.
    #[must_use]
    pub fn new(
        destinations: impl IntoIterator<Item = Destination>,
        ports: Option<Vec<PortRange>>,
        protocols: Option<Vec<Protocol>>,
    ) -> Self {
        let mut rule = Self { to: Vec::new(), to_groups: Vec::new(), ports, protocols, direct: false };
        for destination in destinations {
            match destination {
                Destination::Net(net) => rule.to.push(net),
                Destination::Group(name) => rule.to_groups.push(name),
            }
        }
        rule
    }

    /// The part of this rule that names single addresses, which opens addresses of the gateway itself.
    #[must_use]
    pub fn of_hosts(&self) -> Self {
        let to = self.to.iter().filter(|net| net.prefix_len() == net.max_prefix_len()).copied().collect();
        Self { to, to_groups: Vec::new(), ..self.clone() }
    }
}

/// A protocol that the gateway forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP and ICMPv6 echo, and errors about what is allowed.
    Icmp,
}

/// A port or a range of ports. In TOML: `443` or `"8000-8100"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// The error for a value that is not a port or a range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a port or a range of ports; write 443 or \"8000-8100\", from 1 to 65535")]
pub struct PortRangeError;

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Icmp];

    /// As in a configuration file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
        }
    }
}

impl PortRange {
    /// Every port including 0, which stands for protocols without ports.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// From a port to another, both included; 0 is none.
    ///
    /// # Errors
    /// The first is 0 or after the last.
    pub fn new(first: u16, last: u16) -> Result<Self, PortRangeError> {
        if first == 0 || first > last { Err(PortRangeError) } else { Ok(Self { first, last }) }
    }

    /// The first port.
    #[must_use]
    pub fn first(self) -> u16 {
        self.first
    }

    /// The last port.
    #[must_use]
    pub fn last(self) -> u16 {
        self.last
    }
}

impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse().map_err(|_| PortRangeError);
        Self::new(port(first)?, port(last)?)
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ports;

        impl Visitor<'_> for Ports {
            type Value = PortRange;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port or a range of ports")
            }

            fn visit_i64<E: de::Error>(self, port: i64) -> Result<PortRange, E> {
                let port = u16::try_from(port).map_err(|_| E::custom(PortRangeError))?;
                PortRange::new(port, port).map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PortRange, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Ports)
    }
}
