//! Links, addresses, routes and rules of the kernel, over netlink. Requests are sent one at a time and block until the
//! kernel answers; no async runtime is needed.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd},
};

use ipnet::IpNet;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage},
    link::{
        AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags,
        LinkInfo, LinkMessage,
    },
    route::{
        RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
        RouteType,
    },
    rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage},
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
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

/// A connection to the kernel.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Connects.
    ///
    /// # Errors
    /// When the kernel refuses a netlink socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Uses a socket that was created elsewhere. It reads and changes the network namespace in which it was created.
    ///
    /// # Errors
    /// When it is no netlink socket.
    pub fn from_socket(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        #[expect(unsafe_code, reason = "there is no safe way from a descriptor to the library's socket")]
        // SAFETY: the descriptor is open and owned here; the socket closes it.
        let mut socket = unsafe { Socket::from_raw_fd(socket.into_raw_fd()) };
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The interface of that name.
    ///
    /// # Errors
    /// When the kernel refuses, but not when there is none.
    pub fn link(&mut self, name: &str) -> io::Result<Option<Link>> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.one_link(message)
    }

    /// The interface of that index.
    ///
    /// # Errors
    /// When the kernel refuses, but not when there is none.
    pub fn link_by_index(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.one_link(message)
    }

    fn one_link(&mut self, message: LinkMessage) -> io::Result<Option<Link>> {
        let answers = match self.request(RouteNetlinkMessage::GetLink(message), 0) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            other => other?,
        };
        Ok(answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(read_link(&link)),
            _ => None,
        }))
    }

    /// Sets the largest packet of an interface.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::Mtu(mtu));
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets the transmit queue length of an interface.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn set_queue_length(&mut self, index: u32, frames: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::TxQueueLen(frames));
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Brings an interface up.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn set_up(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Creates a veth pair without address resolution.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn add_pair(&mut self, ends: [(&str, [u8; 6]); 2]) -> io::Result<()> {
        let [mut link, peer] = ends.map(|(name, hardware)| {
            let mut message = LinkMessage::default();
            message.header.flags = LinkFlags::Noarp;
            message.header.change_mask = LinkFlags::Noarp;
            message.attributes.push(LinkAttribute::IfName(name.to_owned()));
            message.attributes.push(LinkAttribute::Address(hardware.to_vec()));
            message
        });
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Disables the link-local address of an interface, and with it router solicitations.
    ///
    /// # Errors
    /// The kernel's answer, also where it has no IPv6.
    pub fn without_link_local(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let none = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![none])]));
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Removes an interface.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn delete_link(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.change(RouteNetlinkMessage::DelLink(message), 0)
    }

    /// Adds an address to an interface.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn add_address(&mut self, index: u32, address: &IpNet) -> io::Result<()> {
        self.change(
            RouteNetlinkMessage::NewAddress(address_message(index, address)),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Removes an address.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove_address(&mut self, index: u32, address: &IpNet) -> io::Result<()> {
        self.change(RouteNetlinkMessage::DelAddress(address_message(index, address)), 0)
    }

    /// Routes a prefix to an interface.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn add_route(&mut self, index: u32, to: &IpNet, table: u32) -> io::Result<()> {
        self.change(RouteNetlinkMessage::NewRoute(route_message(index, to, table)), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes a route.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove_route(&mut self, index: u32, to: &IpNet, table: u32) -> io::Result<()> {
        self.change(RouteNetlinkMessage::DelRoute(route_message(index, to, table)), 0)
    }

    /// Whether a routing table has any route.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn table_in_use(&mut self, table: u32) -> io::Result<bool> {
        for family in [Family::V4, Family::V6] {
            let used = self.routes(family)?.iter().any(|route| table_of(route) == table);
            if used {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How the kernel would send to `to`.
    ///
    /// # Errors
    /// When there is no route.
    pub fn path_to(&mut self, to: IpAddr) -> io::Result<Path> {
        let mut message = RouteMessage::default();
        message.header.address_family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.destination_prefix_length = if to.is_ipv4() { 32 } else { 128 };
        message.attributes.push(RouteAttribute::Destination(to.into()));
        for answer in self.request(RouteNetlinkMessage::GetRoute(message), 0)? {
            if let RouteNetlinkMessage::NewRoute(route) = answer
                && let Some(path) = read_path(&route)
            {
                return Ok(path);
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENETUNREACH))
    }

    /// The interface of the default route in the main table.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn default_path(&mut self) -> io::Result<Option<Path>> {
        for family in [Family::V4, Family::V6] {
            let routes = self.routes(family)?;
            let default = routes.iter().find(|route| {
                route.header.destination_prefix_length == 0
                    && table_of(route) == u32::from(RouteHeader::RT_TABLE_MAIN)
                    && route.header.kind == RouteType::Unicast
            });
            if let Some(path) = default.and_then(read_path) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn add_rule(&mut self, family: Family, rule: Rule) -> io::Result<()> {
        self.change(RouteNetlinkMessage::NewRule(rule_message(family, rule)), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes a rule.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn remove_rule(&mut self, family: Family, rule: Rule) -> io::Result<()> {
        self.change(RouteNetlinkMessage::DelRule(rule_message(family, rule)), 0)
    }

    /// Whether such a rule already exists, whoever added it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn has_rule(&mut self, family: Family, rule: Rule) -> io::Result<bool> {
        let mut message = RuleMessage::default();
        message.header.family = family.into();
        let wanted = rule_message(family, rule);
        Ok(self.request(RouteNetlinkMessage::GetRule(message), NLM_F_DUMP)?.into_iter().any(|answer| {
            matches!(answer, RouteNetlinkMessage::NewRule(found)
                if found.header.flags.contains(RuleFlags::Invert) == wanted.header.flags.contains(RuleFlags::Invert)
                    && wanted.attributes.iter().all(|attribute| found.attributes.contains(attribute)))
        }))
    }

    fn routes(&mut self, family: Family) -> io::Result<Vec<RouteMessage>> {
        let mut message = RouteMessage::default();
        message.header.address_family = family.into();
        let answers = self.request(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP)?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                RouteNetlinkMessage::NewRoute(route) => Some(route),
                _ => None,
            })
            .collect())
    }

    fn change(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, flags).map(drop)
    }

    /// Sends one request and collects the answers, up to the acknowledgement or the end of the dump.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        let dump = flags & NLM_F_DUMP == NLM_F_DUMP;
        request.header.flags = NLM_F_REQUEST | flags | if dump { 0 } else { NLM_F_ACK };
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = datagram.as_slice();
            while rest.len() >= 16 {
                let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
                if length < 16 || length > rest.len() {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "truncated netlink answer"));
                }
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                let sequence = u32::from_ne_bytes([rest[8], rest[9], rest[10], rest[11]]);
                let this = &rest[..length];
                rest = &rest[length.next_multiple_of(4).min(rest.len())..];
                if sequence != self.sequence {
                    continue;
                }
                match NetlinkMessage::<RouteNetlinkMessage>::deserialize(this) {
                    Ok(answer) => match answer.payload {
                        NetlinkPayload::Done(_) => return Ok(answers),
                        NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                        NetlinkPayload::Error(_) => return Ok(answers),
                        NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                        _ => {}
                    },
                    // An attribute newer than the parser must not make an interface or a route unusable.
                    Err(error) => tracing::debug!(kind, %error, "cannot parse netlink answer"),
                }
            }
        }
    }
}

fn read_link(message: &LinkMessage) -> Link {
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

fn read_path(route: &RouteMessage) -> Option<Path> {
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

fn table_of(route: &RouteMessage) -> u32 {
    route
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Table(table) => Some(*table),
            _ => None,
        })
        .unwrap_or(u32::from(route.header.table))
}

fn address_message(index: u32, address: &IpNet) -> AddressMessage {
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

fn route_message(index: u32, to: &IpNet, table: u32) -> RouteMessage {
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

fn rule_message(family: Family, rule: Rule) -> RuleMessage {
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
