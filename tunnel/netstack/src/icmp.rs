//! ICMP (RFC 792, RFC 4443): echo, errors that we send, and errors that we believe (RFC 1191, RFC 8201, RFC 5927).

use std::net::IpAddr;

use smoltcp::wire::{Icmpv4Message, Icmpv4Packet, Icmpv6Message, Icmpv6Packet};

use crate::checksum;
use crate::ecn::NOT_ECT;
use crate::wire::{ICMP4, ICMP6, Ip, emit_ip, ip_header, parse_quoted};

/// Longest error message: what IPv6 may send without asking (RFC 4443 §2.4 c), and enough for IPv4.
const MAX_ERROR: usize = 576;

/// What an ICMP message means to the stack.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// An echo request.
    Echo {
        /// Identifier and sequence number.
        number: (u16, u16),
        /// The data to send back.
        data: &'a [u8],
    },
    /// The answer to an echo request: its identifier and sequence number.
    Reply((u16, u16)),
    /// One of our packets was too big: the reported MTU and the quoted packet.
    TooBig(usize, Ip<'a>),
    /// A packet of ours did not arrive.
    Unreachable(Unreachable, Ip<'a>),
}

/// Reads and verifies an ICMP message.
pub(crate) fn parse<'a>(ip: &Ip<'a>) -> Option<Message<'a>> {
    if ip.protocol == ICMP4 { parse4(ip) } else { parse6(ip) }
}

fn parse4<'a>(ip: &Ip<'a>) -> Option<Message<'a>> {
    let view = Icmpv4Packet::new_checked(ip.payload).ok()?;
    if ip.payload.len() < 8 || checksum::fold(checksum::sum(ip.payload)) != 0xffff {
        return None;
    }
    match (view.msg_type(), view.msg_code()) {
        (Icmpv4Message::EchoRequest, 0) => Some(request(ip)),
        (Icmpv4Message::EchoReply, 0) => Some(Message::Reply(number(ip))),
        (Icmpv4Message::DstUnreachable, code) => {
            let quoted = parse_quoted(ip.payload.get(8..)?)?;
            if code == 4 {
                let mtu = u16::from_be_bytes([ip.payload[6], ip.payload[7]]);
                Some(Message::TooBig(usize::from(mtu), quoted))
            } else {
                Some(Message::Unreachable(Unreachable::reason4(code), quoted))
            }
        }
        _ => None,
    }
}

fn parse6<'a>(ip: &Ip<'a>) -> Option<Message<'a>> {
    let view = Icmpv6Packet::new_checked(ip.payload).ok()?;
    let pseudo = checksum::pseudo(ip.source, ip.destination, ICMP6, ip.payload.len());
    if ip.payload.len() < 8 || checksum::fold(pseudo + checksum::sum(ip.payload)) != 0xffff {
        return None;
    }
    match view.msg_type() {
        Icmpv6Message::EchoRequest => Some(request(ip)),
        Icmpv6Message::EchoReply => Some(Message::Reply(number(ip))),
        Icmpv6Message::PktTooBig => {
            let mtu = view.pkt_too_big_mtu() as usize;
            Some(Message::TooBig(mtu, parse_quoted(ip.payload.get(8..)?)?))
        }
        Icmpv6Message::DstUnreachable => {
            let why = Unreachable::reason6(view.msg_code());
            Some(Message::Unreachable(why, parse_quoted(ip.payload.get(8..)?)?))
        }
        _ => None,
    }
}

/// Its header has been found to be whole.
fn request<'a>(ip: &Ip<'a>) -> Message<'a> {
    Message::Echo { number: number(ip), data: &ip.payload[8..] }
}

/// The number of the echo request that an error quotes.
pub(crate) fn quoted_request(quoted: &Ip<'_>) -> Option<(u16, u16)> {
    let request = if quoted.protocol == ICMP4 { 8 } else { 128 };
    (quoted.payload.len() >= 8 && quoted.payload[..2] == [request, 0]).then(|| number(quoted))
}

/// As above.
fn number(ip: &Ip<'_>) -> (u16, u16) {
    let of = |at: usize| u16::from_be_bytes([ip.payload[at], ip.payload[at + 1]]);
    (of(4), of(6))
}

/// Why a packet did not reach its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// No way to the network.
    Network,
    /// The host does not answer.
    Host,
    /// The port is closed.
    Port,
    /// A rule forbids it.
    Prohibited,
}

impl Unreachable {
    /// The reason behind the code of a message of type "destination unreachable".
    #[must_use]
    pub fn of_code(v4: bool, code: u8) -> Self {
        if v4 { Self::reason4(code) } else { Self::reason6(code) }
    }

    /// Of a code of RFC 792 and RFC 1122 section 3.2.2.1. A protocol that the host does not have is as good as a closed port.
    fn reason4(code: u8) -> Self {
        match code {
            0 | 6 | 8 | 11 => Self::Network,
            2 | 3 => Self::Port,
            9 | 10 | 13 => Self::Prohibited,
            _ => Self::Host,
        }
    }

    /// Of a code of RFC 4443 section 3.1.
    fn reason6(code: u8) -> Self {
        match code {
            0 => Self::Network,
            1 | 5 | 6 => Self::Prohibited,
            4 => Self::Port,
            _ => Self::Host,
        }
    }

    /// Type and code (RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1).
    fn code(self, v4: bool) -> (u8, u8) {
        match (self, v4) {
            (Self::Network, true) => (3, 0),
            (Self::Host, true) => (3, 1),
            (Self::Port, true) => (3, 3),
            (Self::Prohibited, true) => (3, 13),
            (Self::Network, false) => (1, 0),
            (Self::Host, false) => (1, 3),
            (Self::Port, false) => (1, 4),
            (Self::Prohibited, false) => (1, 1),
        }
    }
}

/// Tells the sender of a packet, in the name of its destination, that it did not arrive.
pub(crate) fn unreachable(why: Unreachable, source: IpAddr, destination: IpAddr, whole: &[u8]) -> Vec<u8> {
    let header = ip_header(source);
    let quoted = &whole[..whole.len().min(MAX_ERROR - header - 8)];
    let mut packet = vec![0; header + 8 + quoted.len()];
    let (kind, code) = why.code(source.is_ipv4());
    packet[header] = kind;
    packet[header + 1] = code;
    packet[header + 8..].copy_from_slice(quoted);
    finish(packet, destination, source)
}

/// Tells a source that the fragments of its packet were not complete in time (RFC 792, RFC 4443 section 3.3).
pub(crate) fn incomplete(source: IpAddr, destination: IpAddr, begun: &[u8]) -> Vec<u8> {
    let header = ip_header(source);
    let quoted = &begun[..begun.len().min(MAX_ERROR - header - 8)];
    let mut packet = vec![0; header + 8 + quoted.len()];
    packet[header] = if source.is_ipv4() { 11 } else { 3 };
    packet[header + 1] = 1;
    packet[header + 8..].copy_from_slice(quoted);
    finish(packet, destination, source)
}

/// The packet of an echo: a request, or the reply to one.
pub(crate) fn echo(
    source: IpAddr,
    destination: IpAddr,
    reply: bool,
    number: (u16, u16),
    data: &[u8],
) -> Vec<u8> {
    let header = ip_header(source);
    let mut packet = vec![0; header + 8 + data.len()];
    packet[header] = match (source.is_ipv4(), reply) {
        (true, true) => 0,
        (true, false) => 8,
        (false, true) => 129,
        (false, false) => 128,
    };
    packet[header + 4..header + 6].copy_from_slice(&number.0.to_be_bytes());
    packet[header + 6..header + 8].copy_from_slice(&number.1.to_be_bytes());
    packet[header + 8..].copy_from_slice(data);
    finish(packet, source, destination)
}

fn finish(mut packet: Vec<u8>, source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let header = ip_header(source);
    let protocol = if source.is_ipv4() { ICMP4 } else { ICMP6 };
    emit_ip(&mut packet, source, destination, protocol, NOT_ECT);
    packet[header + 2..header + 4].fill(0);
    let message = &packet[header..];
    let pseudo =
        if source.is_ipv4() { 0 } else { checksum::pseudo(source, destination, ICMP6, message.len()) };
    let sum = !checksum::fold(pseudo + checksum::sum(message));
    packet[header + 2..header + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}
