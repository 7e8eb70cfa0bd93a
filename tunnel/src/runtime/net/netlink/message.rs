//! Netlink messages of addresses, routes and rules, and what is read from the kernel's answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use netlink_packet_route::{
    AddressFamily,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage},
    link::{LinkAttribute, LinkFlags, LinkMessage},
    route::{
        RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
        RouteType,
    },
    rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage},
};
use serde::{Deserialize, Serialize};

/// An interface as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number for it.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Largest packet it accepts.
    pub mtu: u32,
    /// Whether it is administratively up.
    pub up: bool,
}

/// How the kernel would send to an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Interface it leaves by.
    pub index: u32,
    /// MTU that the route itself states.
    pub mtu: Option<u32>,
}

/// IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4
    V4,
    /// IPv6
    V6,
}

impl Family {
    /// The family of a prefix.
    pub fn of(prefix: &IpNet) -> Self {
        match prefix {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }
}

impl From<Family> for AddressFamily {
    fn from(family: Family) -> Self {
        match family {
            Family::V4 => Self::Inet,
            Family::V6 => Self::Inet6,
        }
    }
}

/// The two rules that route everything into the tunnel except the tunnel's own datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Packets without `mark` use `table`.
    UnmarkedTo {
        /// Table with the tunnel's default route.
        table: u32,
        /// Mark of the tunnel's own datagrams.
        mark: u32,
    },
    /// The main table is used first, without its default route.
    MainWithoutDefault,
}

pub(super) fn read_link(message: &LinkMessage) -> Link {
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        mtu: 0,
        up: message.header.flags.contains(LinkFlags::Up),
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            _ => {}
        }
    }
    link
}

/// A request for the route to an address.
pub(super) fn route_to(to: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.destination_prefix_length = if to.is_ipv4() { 32 } else { 128 };
    message.attributes.push(RouteAttribute::Destination(to.into()));
    message
}

pub(super) fn read_path(route: &RouteMessage) -> Option<Path> {
    let mut index = None;
    let mut mtu = None;
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(oif) => index = Some(*oif),
            RouteAttribute::MultiPath(hops) => index = hops.first().map(|hop| hop.interface_index),
            RouteAttribute::Metrics(metrics) => {
                mtu = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(mtu) if *mtu > 0 => Some(*mtu),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    index.map(|index| Path { index, mtu })
}

pub(super) fn table_of(route: &RouteMessage) -> u32 {
    route
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Table(table) => Some(*table),
            _ => None,
        })
        .unwrap_or(u32::from(route.header.table))
}

pub(super) fn address_message(index: u32, address: &IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.header.family = Family::of(address).into();
    message.header.prefix_len = address.prefix_len();
    // Nobody else on a tunnel can have it, so it is used at once.
    message.header.flags = AddressHeaderFlags::Nodad;
    // Local is what the interface has, Address the other end of a point-to-point link: the same here.
    message.attributes.push(AddressAttribute::Local(address.addr()));
    message.attributes.push(AddressAttribute::Address(address.addr()));
    message
}

pub(super) fn route_message(index: u32, to: &IpNet, table: u32) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = Family::of(to).into();
    message.header.destination_prefix_length = to.prefix_len();
    message.header.protocol = RouteProtocol::Boot;
    message.header.scope = if to.addr().is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
    message.header.kind = RouteType::Unicast;
    let destination = match to.network() {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    };
    if destination != RouteAddress::Inet(Ipv4Addr::UNSPECIFIED)
        && destination != RouteAddress::Inet6(Ipv6Addr::UNSPECIFIED)
        || to.prefix_len() > 0
    {
        message.attributes.push(RouteAttribute::Destination(destination));
    }
    message.attributes.push(RouteAttribute::Oif(index));
    message.attributes.push(RouteAttribute::Table(table));
    message
}

pub(super) fn rule_message(family: Family, rule: Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family.into();
    message.header.action = RuleAction::ToTable;
    match rule {
        Rule::UnmarkedTo { table, mark } => {
            message.header.flags = RuleFlags::Invert;
            message.attributes.push(RuleAttribute::FwMark(mark));
            message.attributes.push(RuleAttribute::Table(table));
        }
        Rule::MainWithoutDefault => {
            message.attributes.push(RuleAttribute::SuppressPrefixLen(0));
            message.attributes.push(RuleAttribute::Table(u32::from(RouteHeader::RT_TABLE_MAIN)));
        }
    }
    message
}
