//! The kernel's connections, read from conntrack (linux/netfilter/nfnetlink_conntrack.h).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET`.
const GET: u16 = 1 << 8 | 1;
const REQUEST_DUMP: u16 = 0x1 | 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Lengths of the headers of netlink and of netfilter.
const HEADER: usize = 16;
const NFGEN: usize = 4;

const TUPLE_ORIG: u16 = 1;
const PROTOINFO: u16 = 4;
const COUNTERS_ORIG: u16 = 9;
const COUNTERS_REPLY: u16 = 10;
const ID: u16 = 12;

/// One connection that the kernel forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    /// The kernel's number for it.
    pub(super) id: u32,
    /// The address that opened it.
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// IP protocol number.
    pub(super) protocol: u8,
    /// Destination port; 0 for protocols without ports.
    pub(super) port: u16,
    /// Whether TCP has closed it, or it is about to time out.
    pub(super) ended: bool,
    /// Bytes from and to the source, with IP headers; 0 if the kernel does not count.
    pub(super) bytes: (u64, u64),
}

/// All connections of this network namespace.
///
/// # Errors
/// The kernel's answer.
pub(super) fn all() -> io::Result<Vec<Connection>> {
    let mut socket = Socket::new(NETLINK_NETFILTER)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut request = Vec::with_capacity(HEADER + NFGEN);
    request.extend_from_slice(&((HEADER + NFGEN) as u32).to_ne_bytes());
    request.extend_from_slice(&GET.to_ne_bytes());
    request.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request.extend_from_slice(&[0; 8]);
    // Any family.
    request.extend_from_slice(&[0; NFGEN]);
    socket.send(&request, 0)?;
    let mut found = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        let mut rest = datagram.as_slice();
        while let Some((kind, body, behind)) = message(rest) {
            match kind {
                DONE => return Ok(found),
                ERROR => return Err(error(body)),
                _ => found.extend(body.get(NFGEN..).and_then(connection)),
            }
            rest = behind;
        }
    }
}

/// Splits off the first message: its type, its body, and the rest.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn error(body: &[u8]) -> io::Error {
    let number = body.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
    io::Error::from_raw_os_error(-number)
}

/// The connection of a message, if all its attributes are there.
fn connection(attributes: &[u8]) -> Option<Connection> {
    let tuple = find(attributes, TUPLE_ORIG)?;
    let ip = find(tuple, 1)?;
    let (source, destination) = match (find(ip, 1), find(ip, 2)) {
        (Some(source), Some(destination)) => (v4(source)?, v4(destination)?),
        _ => (v6(find(ip, 3)?)?, v6(find(ip, 4)?)?),
    };
    let proto = find(tuple, 2)?;
    let port = find(proto, 3).and_then(|port| port.try_into().ok()).map_or(0, u16::from_be_bytes);
    // TCP's states from TIME_WAIT on.
    let state = find(attributes, PROTOINFO).and_then(|info| find(info, 1)).and_then(|tcp| find(tcp, 1));
    Some(Connection {
        id: find(attributes, ID).and_then(|id| id.try_into().ok()).map_or(0, u32::from_be_bytes),
        source,
        destination,
        protocol: *find(proto, 1)?.first()?,
        port,
        ended: state.and_then(<[u8]>::first).is_some_and(|state| *state >= 7),
        bytes: (counted(attributes, COUNTERS_ORIG), counted(attributes, COUNTERS_REPLY)),
    })
}

fn counted(attributes: &[u8], kind: u16) -> u64 {
    let bytes = find(attributes, kind).and_then(|counters| find(counters, 2));
    bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn v4(bytes: &[u8]) -> Option<IpAddr> {
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into())
}

fn v6(bytes: &[u8]) -> Option<IpAddr> {
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

/// The value of the first attribute of a type, whose upper two bits are flags.
fn find(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?));
        let this = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?) & 0x3fff;
        let value = attributes.get(4..length)?;
        if this == kind {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        out.extend_from_slice(&kind.to_ne_bytes());
        out.extend_from_slice(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn example() -> Vec<u8> {
        let ip = [attribute(1, &[10, 100, 0, 7]), attribute(2, &[10, 50, 0, 2])].concat();
        let proto = [
            attribute(1, &[6]),
            attribute(2, &40000_u16.to_be_bytes()),
            attribute(3, &443_u16.to_be_bytes()),
        ]
        .concat();
        let tuple = [attribute(0x8001, &ip), attribute(0x8002, &proto)].concat();
        let tcp = attribute(0x8001, &attribute(1, &[7]));
        let bytes =
            |count: u64| [attribute(1, &1_u64.to_be_bytes()), attribute(2, &count.to_be_bytes())].concat();
        [
            attribute(0x8000 | TUPLE_ORIG, &tuple),
            attribute(0x8000 | PROTOINFO, &tcp),
            attribute(0x8000 | COUNTERS_ORIG, &bytes(500)),
            attribute(0x8000 | COUNTERS_REPLY, &bytes(70_000)),
            attribute(ID, &9_u32.to_be_bytes()),
        ]
        .concat()
    }

    #[test]
    fn a_connection_is_read_and_half_of_one_is_none() {
        let read = connection(&example()).unwrap();
        let expected = Connection {
            id: 9,
            source: "10.100.0.7".parse().unwrap(),
            destination: "10.50.0.2".parse().unwrap(),
            protocol: 6,
            port: 443,
            ended: true,
            bytes: (500, 70_000),
        };
        assert_eq!(read, expected);
        // The tuple is 52 bytes; whatever is cut, nothing panics.
        for length in 0..52 {
            assert_eq!(connection(&example()[..length]), None, "{length}");
        }
    }
}
