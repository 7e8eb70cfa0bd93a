//! The flow of an IP packet, as far as a direct path needs it.

use std::net::IpAddr;

use warren_wire::gateway::Protocol;

/// What a packet is in its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The first segment of a connection.
    Begin,
    /// Another segment.
    Segment,
    /// A datagram, or an echo request: the first of its flow or not.
    Datagram,
    /// An echo reply.
    Reply,
    /// An ICMP error about a packet, whose ends are given here.
    Error,
}

/// A packet, with the ports of its ends. Those of echo requests are their identifier at the end that asks, and 0 at the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) protocol: Protocol,
    pub(super) role: Role,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
}

/// Reads a packet; `None` for fragments, extension headers, other protocols, and what is cut. Such packets take no direct path.
pub(super) fn parse(packet: &[u8]) -> Option<Seen> {
    let (protocol, payload) = payload(packet)?;
    match protocol {
        1 | 58 => icmp(protocol, payload),
        _ => ends(protocol, payload),
    }
}

/// The protocol and what it carries.
fn payload(packet: &[u8]) -> Option<(u8, &[u8])> {
    match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 15) * 4;
            // More fragments, or not the first one.
            let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
            (header >= 20 && !fragment).then_some(())?;
            Some((packet[9], packet.get(header..)?))
        }
        6 => Some((*packet.get(6)?, packet.get(40..)?)),
        _ => None,
    }
}

fn ends(protocol: u8, payload: &[u8]) -> Option<Seen> {
    let source_port = port(payload, 0)?;
    let destination_port = port(payload, 2)?;
    let (protocol, role) = match protocol {
        6 => {
            // SYN without ACK.
            let begins = payload.get(13)? & 0x12 == 0x02;
            (Protocol::Tcp, if begins { Role::Begin } else { Role::Segment })
        }
        17 => (Protocol::Udp, Role::Datagram),
        _ => return None,
    };
    Some(Seen { protocol, role, source_port, destination_port })
}

fn icmp(protocol: u8, payload: &[u8]) -> Option<Seen> {
    let identifier = || port(payload, 4);
    match (protocol, *payload.first()?) {
        (1, 8) | (58, 128) => Some(Seen {
            protocol: Protocol::Icmp,
            role: Role::Datagram,
            source_port: identifier()?,
            destination_port: 0,
        }),
        (1, 0) | (58, 129) => Some(Seen {
            protocol: Protocol::Icmp,
            role: Role::Reply,
            source_port: 0,
            destination_port: identifier()?,
        }),
        (1, 3 | 11 | 12) | (58, 1..=4) => {
            let quoted = payload.get(8..)?;
            let (protocol, inner) = self::payload(quoted)?;
            let (protocol, source_port, destination_port) = match protocol {
                6 => (Protocol::Tcp, port(inner, 0)?, port(inner, 2)?),
                17 => (Protocol::Udp, port(inner, 0)?, port(inner, 2)?),
                // About an echo request.
                1 if *inner.first()? == 8 => (Protocol::Icmp, port(inner, 4)?, 0),
                58 if *inner.first()? == 128 => (Protocol::Icmp, port(inner, 4)?, 0),
                _ => return None,
            };
            Some(Seen { protocol, role: Role::Error, source_port, destination_port })
        }
        _ => None,
    }
}

/// The ends of the packet that an ICMP error is about.
pub(super) fn quoted_ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (_, payload) = payload(packet)?;
    let quoted = payload.get(8..)?;
    let v4 = |at: usize| Some(IpAddr::from(<[u8; 4]>::try_from(quoted.get(at..at + 4)?).ok()?));
    let v6 = |at: usize| Some(IpAddr::from(<[u8; 16]>::try_from(quoted.get(at..at + 16)?).ok()?));
    match quoted.first()? >> 4 {
        4 => Some((v4(12)?, v4(16)?)),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

fn port(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}
