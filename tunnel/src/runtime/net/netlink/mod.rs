//! Links, addresses, routes and rules of the kernel, over netlink. Requests are sent one at a time and block until the
//! kernel answers; no async runtime is needed.

mod message;

use std::{
    io,
    net::IpAddr,
    os::fd::{FromRawFd as _, IntoRawFd as _, OwnedFd},
};

use ipnet::IpNet;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{
        AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags,
        LinkInfo, LinkMessage,
    },
    route::{RouteHeader, RouteMessage, RouteType},
    rule::{RuleFlags, RuleMessage},
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

pub use self::message::{Family, Link, Path, Rule};
use self::message::{address_message, read_link, read_path, route_message, route_to, rule_message, table_of};

/// Answers to a request for a route to which no packet can be sent: none exists, it is one of the types unreachable, prohibit, and
/// blackhole (`EINVAL`; the kernel's `fib_props` in `net/ipv4/fib_semantics.c`), or the kernel lacks the address family.
const NO_ROUTE: [i32; 6] =
    [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL, libc::EAFNOSUPPORT, libc::EOPNOTSUPP];

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

    /// Whether the kernel would deliver packets for `to` to this machine itself.
    ///
    /// # Errors
    /// The kernel's answer, apart from the absence of a route.
    pub fn is_own(&mut self, to: IpAddr) -> io::Result<bool> {
        let answers = match self.request(RouteNetlinkMessage::GetRoute(route_to(to)), 0) {
            Err(error) if error.raw_os_error().is_some_and(|code| NO_ROUTE.contains(&code)) => {
                return Ok(false);
            }
            answers => answers?,
        };
        Ok(answers.iter().any(|answer| {
            matches!(answer, RouteNetlinkMessage::NewRoute(route) if !matches!(route.header.kind, RouteType::Unicast))
        }))
    }

    /// How the kernel would send to `to`.
    ///
    /// # Errors
    /// When there is no route.
    pub fn path_to(&mut self, to: IpAddr) -> io::Result<Path> {
        for answer in self.request(RouteNetlinkMessage::GetRoute(route_to(to)), 0)? {
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

    /// Whether such a rule already exists.
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
