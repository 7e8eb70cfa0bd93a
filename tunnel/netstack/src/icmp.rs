//! ICMP (RFC 792, RFC 4443): echo, errors that we send, and errors that we believe (RFC 1191, RFC 8201, RFC 5927).

use std::net::IpAddr;

use smoltcp::wire::{Icmpv4Message, Icmpv4Packet, Icmpv6Message, Icmpv6Packet};

use crate::checksum;
use crate::echo::{Echo, EchoKind};
use crate::wire::{ICMP4, ICMP6, Ip, emit_ip, ip_header, parse_quoted};

/// Longest error message: what IPv6 may send without asking (RFC 4443 §2.4 c), and enough for IPv4.
const MAX_ERROR: usize = 576;

/// Bytes of an echo before its data.
pub(crate) const HEADER: usize = 8;

/// What an ICMP message means to the stack.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// To be answered with this packet.
    Reply(Vec<u8>),
    /// For the application: a reply, or a request to somebody else.
    Echo(Echo),
    /// A packet of ours was too big; the MTU told, and the packet quoted.
    TooBig(usize, Ip<'a>),
    /// A packet of ours did not arrive; `true` when the destination itself refused.
    Unreachable(bool, Ip<'a>),
}

/// Reads and verifies an ICMP message. One that is not for an `own` address can only be a request.
pub(crate) fn parse<'a>(ip: &Ip<'a>, own: bool) -> Option<Message<'a>> {
    let message = if ip.protocol == ICMP4 { parse4(ip, own) } else { parse6(ip, own) };
    message.filter(|message| own || matches!(message, Message::Echo(Echo { kind: EchoKind::Request, .. })))
}

fn parse4<'a>(ip: &Ip<'a>, own: bool) -> Option<Message<'a>> {
    let view = Icmpv4Packet::new_checked(ip.payload).ok()?;
    if ip.payload.len() < 8 || checksum::fold(checksum::sum(ip.payload)) != 0xffff {
        return None;
    }
    match (view.msg_type(), view.msg_code()) {
        (Icmpv4Message::EchoRequest, 0) if own => Some(Message::Reply(reply(ip, 0))),
        (Icmpv4Message::EchoRequest, 0) => Some(Message::Echo(taken(ip, EchoKind::Request))),
        (Icmpv4Message::EchoReply, 0) => Some(Message::Echo(taken(ip, EchoKind::Reply))),
        (Icmpv4Message::DstUnreachable, code) => {
            let quoted = parse_quoted(ip.payload.get(8..)?)?;
            if code == 4 {
                let mtu = u16::from_be_bytes([ip.payload[6], ip.payload[7]]);
                Some(Message::TooBig(usize::from(mtu), quoted))
            } else {
                Some(Message::Unreachable(code == 2 || code == 3, quoted))
            }
        }
        _ => None,
    }
}

fn parse6<'a>(ip: &Ip<'a>, own: bool) -> Option<Message<'a>> {
    let view = Icmpv6Packet::new_checked(ip.payload).ok()?;
    let pseudo = checksum::pseudo(ip.source, ip.destination, ICMP6, ip.payload.len());
    if ip.payload.len() < 8 || checksum::fold(pseudo + checksum::sum(ip.payload)) != 0xffff {
        return None;
    }
    match view.msg_type() {
        Icmpv6Message::EchoRequest if own => Some(Message::Reply(reply(ip, 129))),
        Icmpv6Message::EchoRequest => Some(Message::Echo(taken(ip, EchoKind::Request))),
        Icmpv6Message::EchoReply => Some(Message::Echo(taken(ip, EchoKind::Reply))),
        Icmpv6Message::PktTooBig => {
            let mtu = view.pkt_too_big_mtu() as usize;
            Some(Message::TooBig(mtu, parse_quoted(ip.payload.get(8..)?)?))
        }
        Icmpv6Message::DstUnreachable => {
            Some(Message::Unreachable(view.msg_code() == 4, parse_quoted(ip.payload.get(8..)?)?))
        }
        _ => None,
    }
}

fn reply(ip: &Ip<'_>, kind: u8) -> Vec<u8> {
    let header = ip_header(ip.source);
    let mut packet = vec![0; header + ip.payload.len()];
    packet[header..].copy_from_slice(ip.payload);
    packet[header] = kind;
    finish(packet, ip.destination, ip.source)
}

/// An echo as the application sees it. The message is at least [`HEADER`] long.
fn taken(ip: &Ip<'_>, kind: EchoKind) -> Echo {
    let word = |at: usize| u16::from_be_bytes([ip.payload[at], ip.payload[at + 1]]);
    Echo {
        kind,
        local: ip.destination,
        remote: ip.source,
        identifier: word(4),
        sequence: word(6),
        data: ip.payload[HEADER..].to_vec(),
    }
}

/// The packet of an echo whose two ends are of one family.
pub(crate) fn echo(echo: &Echo) -> Vec<u8> {
    let header = ip_header(echo.local);
    let mut packet = vec![0; header + HEADER + echo.data.len()];
    packet[header] = match (echo.local.is_ipv4(), echo.kind) {
        (true, EchoKind::Request) => 8,
        (true, EchoKind::Reply) => 0,
        (false, EchoKind::Request) => 128,
        (false, EchoKind::Reply) => 129,
    };
    packet[header + 4..header + 6].copy_from_slice(&echo.identifier.to_be_bytes());
    packet[header + 6..header + 8].copy_from_slice(&echo.sequence.to_be_bytes());
    packet[header + HEADER..].copy_from_slice(&echo.data);
    finish(packet, echo.local, echo.remote)
}

/// "Port unreachable" for a packet that nobody here takes; `None` for what must not be answered.
pub(crate) fn port_unreachable(ip: &Ip<'_>) -> Option<Vec<u8>> {
    let header = ip_header(ip.source);
    let quoted = &ip.whole[..ip.whole.len().min(MAX_ERROR - header - 8)];
    let mut packet = vec![0; header + 8 + quoted.len()];
    let (kind, code) = if ip.source.is_ipv4() { (3, 3) } else { (1, 4) };
    packet[header] = kind;
    packet[header + 1] = code;
    packet[header + 8..].copy_from_slice(quoted);
    Some(finish(packet, ip.destination, ip.source))
}

fn finish(mut packet: Vec<u8>, source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let header = ip_header(source);
    let protocol = if source.is_ipv4() { ICMP4 } else { ICMP6 };
    emit_ip(&mut packet, source, destination, protocol);
    packet[header + 2..header + 4].fill(0);
    let message = &packet[header..];
    let pseudo =
        if source.is_ipv4() { 0 } else { checksum::pseudo(source, destination, ICMP6, message.len()) };
    let sum = !checksum::fold(pseudo + checksum::sum(message));
    packet[header + 2..header + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}
