//! An echo request by a socket of the kernel: a raw one, which also reads the reports of routers, or else a ping socket.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, Protocol, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, bind, connect,
        ipproto, recvfrom, send, sendto, socket_with,
    },
};
use warren_device::user::Unreachable;

use super::{data, reason};
use crate::runtime::uapi::{Pong, PongReason};

/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;
/// Larger than any answer to a request that fits into a packet.
const BUFFER: usize = 65_536;

/// Creates a socket somewhere.
pub(super) type Socket<'a> = dyn Fn(AddressFamily, SocketType, Protocol) -> io::Result<OwnedFd> + 'a;

/// A socket of this machine.
pub(super) fn machine(family: AddressFamily, kind: SocketType, protocol: Protocol) -> io::Result<OwnedFd> {
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, Some(protocol))?)
}

/// Sends an echo request and waits for what comes back.
///
/// # Errors
/// The request cannot be sent.
pub(super) fn echo(
    socket: &Socket<'_>,
    to: IpAddr,
    number: (u16, u16),
    size: usize,
    timeout: Duration,
) -> io::Result<Pong> {
    let (family, protocol) = match to {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let (socket, raw) = match socket(family, SocketType::RAW, protocol) {
        Ok(raw) => (raw, true),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (socket(family, SocketType::DGRAM, protocol)?, false)
        }
        Err(error) => return Err(error),
    };
    let request = request(to, number, size);
    let begun = Instant::now();
    let until = begun + timeout;
    let sent = if raw {
        bind(&socket, &SocketAddr::new(any(to), 0))?;
        sendto(&socket, &request, SendFlags::NOSIGNAL, &SocketAddr::new(to, 0))
    } else {
        // Only a connected ping socket learns of errors.
        connect(&socket, &SocketAddr::new(to, 0)).and_then(|()| send(&socket, &request, SendFlags::NOSIGNAL))
    };
    match sent {
        Ok(_) => {}
        Err(Errno::NETUNREACH) => return Err(io::ErrorKind::NetworkUnreachable.into()),
        Err(error) => return Err(error.into()),
    }
    let mut buffer = vec![0; BUFFER];
    while let Some(left) = remaining(until) {
        let mut waiting = [PollFd::new(&socket, PollFlags::IN)];
        match poll(&mut waiting, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // A raw socket receives all of ICMP, which may not end.
        while Instant::now() < until {
            match recvfrom(&socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _, from)) => {
                    let from = from.and_then(address).unwrap_or(to);
                    let heard = read(&buffer[..length.min(BUFFER)], from, to, raw, number);
                    match heard {
                        Some(Heard::Reply) => {
                            return Ok(Pong::Answered { seconds: begun.elapsed().as_secs_f64() });
                        }
                        Some(Heard::Undelivered(why)) => {
                            return Ok(Pong::Undelivered { by: from, reason: reason(why) });
                        }
                        None => {}
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return undelivered(error, to),
            }
        }
    }
    Ok(Pong::Silent)
}

fn any(to: IpAddr) -> IpAddr {
    if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

fn remaining(until: Instant) -> Option<Timespec> {
    let left = until.saturating_duration_since(Instant::now());
    let tv_sec = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    (!left.is_zero()).then(|| Timespec { tv_sec, tv_nsec: left.subsec_nanos().into() })
}

fn address(from: SocketAddrAny) -> Option<IpAddr> {
    SocketAddr::try_from(from).ok().map(|from| from.ip())
}

/// The error of a ping socket, which does not say who reports it.
fn undelivered(error: Errno, to: IpAddr) -> io::Result<Pong> {
    let reason = match error {
        Errno::NETUNREACH => PongReason::Network,
        Errno::HOSTUNREACH if to.is_ipv4() => PongReason::Unreachable,
        Errno::HOSTUNREACH => PongReason::Host,
        Errno::ACCESS => PongReason::Prohibited,
        Errno::CONNREFUSED | Errno::NOPROTOOPT | Errno::PROTO => PongReason::Protocol,
        other => return Err(other.into()),
    };
    Ok(Pong::Undelivered { by: to, reason })
}

/// An echo request (RFC 792, RFC 4443). For IPv6 the kernel writes the checksum.
fn request(to: IpAddr, number: (u16, u16), size: usize) -> Vec<u8> {
    let mut message = vec![if to.is_ipv4() { 8 } else { 128 }, 0, 0, 0];
    message.extend_from_slice(&number.0.to_be_bytes());
    message.extend_from_slice(&number.1.to_be_bytes());
    message.extend(data(size));
    if to.is_ipv4() {
        let sum = checksum(&message).to_be_bytes();
        message[2..4].copy_from_slice(&sum);
    }
    message
}

fn checksum(message: &[u8]) -> u16 {
    let words = message.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

/// What a received packet says about our request.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Reply,
    Undelivered(Unreachable),
}

/// Reads what a socket received: a raw IPv4 socket also receives the IP header, and every raw socket all of ICMP.
fn read(packet: &[u8], from: IpAddr, to: IpAddr, raw: bool, number: (u16, u16)) -> Option<Heard> {
    let v4 = to.is_ipv4();
    let message = if raw && v4 { behind_header(packet, true)?.1 } else { packet };
    if message.len() < HEADER {
        return None;
    }
    // The kernel gives a ping socket an identifier of its own.
    let ours = |message: &[u8]| {
        (!raw || message[4..6] == number.0.to_be_bytes()) && message[6..8] == number.1.to_be_bytes()
    };
    let (request, reply, unreachable) = if v4 { (8, 0, 3) } else { (128, 129, 1) };
    if message[0] == reply && from == to && ours(message) {
        return Some(Heard::Reply);
    }
    if !raw || message[0] != unreachable {
        return None;
    }
    let (destination, quoted) = behind_header(&message[HEADER..], v4)?;
    let about_us = quoted.len() >= HEADER && quoted[0] == request && destination == to && ours(quoted);
    about_us.then(|| Heard::Undelivered(Unreachable::of_code(v4, message[1])))
}

/// The destination and the payload of a packet of ICMP.
fn behind_header(packet: &[u8], v4: bool) -> Option<(IpAddr, &[u8])> {
    if v4 {
        let header = usize::from(packet.first()? & 15) * 4;
        let destination = <[u8; 4]>::try_from(packet.get(16..20)?).ok()?;
        (packet[9] == 1).then_some((destination.into(), packet.get(header..)?))
    } else {
        let destination = <[u8; 16]>::try_from(packet.get(24..40)?).ok()?;
        (packet[6] == 58).then_some((destination.into(), packet.get(40..)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: (u16, u16) = (0x1234, 7);

    fn packet(protocol: u8, source: [u8; 4], destination: [u8; 4], message: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend([source, destination].concat());
        packet.extend(message);
        packet
    }

    #[test]
    fn answers_and_reports_about_the_own_request_count_alone() {
        let (own, host, router) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 9]);
        let to = IpAddr::from(host);
        let request = request(to, NUMBER, 56);
        assert_eq!((request.len(), checksum(&request)), (64, 0));
        let reply = |number: (u16, u16)| {
            let mut reply = super::request(to, number, 56);
            reply[0] = 0;
            packet(1, host, own, &reply)
        };
        let heard = |packet: &[u8], from: [u8; 4]| read(packet, from.into(), to, true, NUMBER);
        assert_eq!(heard(&reply(NUMBER), host), Some(Heard::Reply));
        assert_eq!(heard(&reply(NUMBER), router), None);
        assert_eq!(heard(&reply((NUMBER.0, 8)), host), None);
        assert_eq!(heard(&packet(1, own, host, &request), host), None, "a request on the loopback");

        let report =
            |quoted: &[u8]| packet(1, router, own, &[&[3, 13, 0, 0, 0, 0, 0, 0][..], quoted].concat());
        let about_us = packet(1, own, host, &request[..8]);
        assert_eq!(heard(&report(&about_us), router), Some(Heard::Undelivered(Unreachable::Prohibited)));
        let another = packet(1, own, router, &request[..8]);
        let datagram = packet(17, own, host, &request[..8]);
        for quoted in [&another[..], &datagram, &about_us[..26], &[]] {
            assert_eq!(heard(&report(quoted), router), None, "{quoted:?}");
        }
        for length in 0..reply(NUMBER).len() {
            _ = heard(&reply(NUMBER)[..length], host);
        }
    }

    #[test]
    fn this_machine_answers_by_whichever_socket_is_permitted() {
        let echo = |to: IpAddr| echo(&machine, to, NUMBER, 56, Duration::from_secs(5));
        match echo(Ipv4Addr::LOCALHOST.into()) {
            Ok(Pong::Answered { seconds }) => assert!(seconds < 5.0),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
            other => panic!("{other:?}"),
        }
    }
}
