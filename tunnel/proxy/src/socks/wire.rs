//! Messages of SOCKS5 (RFC 1928) and of its user/password negotiation (RFC 1929). Nothing here waits or allocates more than a name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{
    net::DialError,
    outbound::Unreached,
    target::{Host, Target},
};

pub(crate) const VERSION: u8 = 5;
/// Version of the user/password negotiation.
pub(crate) const AUTH_VERSION: u8 = 1;
/// Longest message of a client: a user and a password of 255 bytes.
pub(crate) const LONGEST: usize = 513;
/// Longest header of a datagram that we make: an IPv6 address.
pub(crate) const DATAGRAM_HEADER: usize = 22;

/// Not SOCKS5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another version: 4 is SOCKS4, letters are an HTTP request.
    #[error("SOCKS version {0}, not 5")]
    Version(u8),
    /// A field that must not be as it is.
    #[error("malformed")]
    Malformed,
    /// An unknown address type.
    #[error("address type {0}")]
    AddressType(u8),
    /// A part of a larger datagram.
    #[error("a fragment")]
    Fragment,
}

/// A message and its length, or nothing while bytes are missing.
pub type Parsed<T> = Result<Option<(T, usize)>, WireError>;

/// A client's offer of methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// No authentication.
    pub open: bool,
    /// User and password.
    pub password: bool,
}

/// Reads a greeting: `VER NMETHODS METHODS`.
///
/// # Errors
/// When it is of another version.
pub fn greeting(bytes: &[u8]) -> Parsed<Greeting> {
    let Some((version, rest)) = bytes.split_first() else { return Ok(None) };
    if *version != VERSION {
        return Err(WireError::Version(*version));
    }
    let Some((methods, length)) = counted(rest) else { return Ok(None) };
    let greeting = Greeting { open: methods.contains(&0), password: methods.contains(&2) };
    Ok(Some((greeting, 1 + length)))
}

/// A user and a password as offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Login<'b> {
    /// The user.
    pub user: &'b [u8],
    /// The password.
    pub password: &'b [u8],
}

/// Reads `VER ULEN UNAME PLEN PASSWD`.
///
/// # Errors
/// When it is of another version, or one of both is empty.
pub fn login(bytes: &[u8]) -> Parsed<Login<'_>> {
    let Some((version, rest)) = bytes.split_first() else { return Ok(None) };
    if *version != AUTH_VERSION {
        return Err(WireError::Malformed);
    }
    let Some((user, first)) = counted(rest) else { return Ok(None) };
    let Some((password, second)) = rest.get(first..).and_then(counted) else { return Ok(None) };
    Ok(Some((Login { user, password }, 1 + first + second)))
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A connection.
    Connect,
    /// To be connected to.
    Bind,
    /// Datagrams.
    Associate,
    /// No such command.
    Other(u8),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What.
    pub command: Command,
    /// Where to. `None`: the name is none.
    pub target: Option<Target>,
}

/// Reads `VER CMD RSV ATYP DST.ADDR DST.PORT`.
///
/// # Errors
/// When it is of another version or has an unknown type of address.
pub fn request(bytes: &[u8]) -> Parsed<Request> {
    let [version, command, reserved, rest @ ..] = bytes else { return Ok(None) };
    match (*version, *reserved) {
        (VERSION, 0) => {}
        (VERSION, _) => return Err(WireError::Malformed),
        (version, _) => return Err(WireError::Version(version)),
    }
    let command = match command {
        1 => Command::Connect,
        2 => Command::Bind,
        3 => Command::Associate,
        other => Command::Other(*other),
    };
    Ok(address(rest)?.map(|(target, length)| (Request { command, target }, 3 + length)))
}

/// Reads a datagram of a client: `RSV FRAG ATYP DST.ADDR DST.PORT DATA`.
///
/// # Errors
/// When it is cut off, malformed, or a fragment: we join none (RFC 1928 section 7 lets us).
pub fn datagram(bytes: &[u8]) -> Result<(Target, &[u8]), WireError> {
    match bytes {
        [0, 0, 0, rest @ ..] => {
            let (target, length) = address(rest)?.ok_or(WireError::Malformed)?;
            match target {
                Some(target) if target.port != 0 => Ok((target, rest.get(length..).unwrap_or_default())),
                _ => Err(WireError::Malformed),
            }
        }
        [0, 0, _, ..] => Err(WireError::Fragment),
        _ => Err(WireError::Malformed),
    }
}

/// Writes the header of a datagram from `from` into the end of `space`; gives where it begins.
pub(crate) fn datagram_header(from: SocketAddr, space: &mut [u8; DATAGRAM_HEADER]) -> usize {
    let mut header = Vec::with_capacity(DATAGRAM_HEADER);
    header.extend_from_slice(&[0, 0, 0]);
    put_address(from, &mut header);
    let start = DATAGRAM_HEADER - header.len();
    space[start..].copy_from_slice(&header);
    start
}

/// Why a request was not done (RFC 1928 section 6, "REP").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// It was.
    Succeeded = 0,
    /// Something here.
    Failure = 1,
    /// Our rules.
    NotAllowed = 2,
    /// The network.
    NetworkUnreachable = 3,
    /// The host.
    HostUnreachable = 4,
    /// The host's answer.
    Refused = 5,
    /// Time.
    Expired = 6,
    /// No such command.
    Command = 7,
    /// No such type of address.
    AddressType = 8,
}

impl From<Unreached> for Reply {
    fn from(error: Unreached) -> Self {
        match error {
            Unreached::Name(_) | Unreached::Dial(DialError::HostUnreachable) => Self::HostUnreachable,
            Unreached::Dial(DialError::NetworkUnreachable | DialError::NoRoute) => Self::NetworkUnreachable,
            Unreached::Dial(DialError::Refused) => Self::Refused,
            Unreached::Dial(DialError::TimedOut) => Self::Expired,
            Unreached::Dial(DialError::NotPermitted) => Self::NotAllowed,
            Unreached::Dial(DialError::Exhausted | DialError::Failed) => Self::Failure,
        }
    }
}

/// `VER REP RSV ATYP BND.ADDR BND.PORT`.
pub(crate) fn reply(reply: Reply, bound: SocketAddr) -> Vec<u8> {
    let mut bytes = vec![VERSION, reply as u8, 0];
    put_address(bound, &mut bytes);
    bytes
}

/// `ATYP ADDR PORT` and its length; `None` as target where the name is none.
fn address(bytes: &[u8]) -> Parsed<Option<Target>> {
    let Some((kind, rest)) = bytes.split_first() else { return Ok(None) };
    let (host, length) = match kind {
        1 => match rest.first_chunk::<4>() {
            Some(octets) => (Some(IpAddr::from(Ipv4Addr::from(*octets)).into()), 4),
            None => return Ok(None),
        },
        4 => match rest.first_chunk::<16>() {
            Some(octets) => (Some(IpAddr::from(Ipv6Addr::from(*octets)).into()), 16),
            None => return Ok(None),
        },
        3 => match counted(rest) {
            Some((name, length)) => {
                (std::str::from_utf8(name).ok().and_then(|name| name.parse::<Host>().ok()), length)
            }
            None => return Ok(None),
        },
        kind => return Err(WireError::AddressType(*kind)),
    };
    let Some(port) = rest.get(length..).and_then(|rest| rest.first_chunk::<2>()) else { return Ok(None) };
    Ok(Some((host.map(|host| Target::new(host, u16::from_be_bytes(*port))), 1 + length + 2)))
}

/// Bytes after their number, and the length of both.
fn counted(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (count, rest) = bytes.split_first()?;
    rest.get(..usize::from(*count)).map(|counted| (counted, 1 + counted.len()))
}

fn put_address(address: SocketAddr, bytes: &mut Vec<u8>) {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => {
            bytes.push(1);
            bytes.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            bytes.push(4);
            bytes.extend_from_slice(&v6.octets());
        }
    }
    bytes.extend_from_slice(&address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_incomplete_until_their_last_byte() {
        fn every_cut<T>(message: &[u8], parse: impl Fn(&[u8]) -> Parsed<T>) {
            for cut in 0..message.len() {
                assert!(parse(&message[..cut]).unwrap().is_none(), "{cut}");
            }
            let longer = [message, b"more"].concat();
            assert_eq!(parse(&longer).unwrap().unwrap().1, message.len());
        }
        every_cut(&[5, 2, 0, 2], greeting);
        every_cut(&[5, 0], greeting);
        every_cut(b"\x01\x03ada\x02pw", |bytes| login(bytes).map(|done| done.map(|(_, n)| ((), n))));
        every_cut(&[5, 1, 0, 1, 10, 0, 0, 1, 0, 80], request);
        every_cut(b"\x05\x01\x00\x03\x0bexample.com\x01\xbb", request);
        every_cut(&[[5, 3, 0, 4].as_slice(), &[0; 16], &[0, 0]].concat(), request);
    }

    #[test]
    fn names_that_are_none_are_told_from_missing_bytes() {
        for name in [&b"a b"[..], b"", b"\xff", b"a..b"] {
            let mut message = vec![5, 1, 0, 3, name.len() as u8];
            message.extend_from_slice(name);
            message.extend_from_slice(&[0, 80]);
            let (request, length) = request(&message).unwrap().unwrap();
            assert_eq!((request.target, length), (None, message.len()));
        }
        let (request, _) = request(b"\x05\x01\x00\x03\x0810.0.0.1\x00\x50").unwrap().unwrap();
        assert_eq!(request.target, Some("10.0.0.1:80".parse().unwrap()), "an address in a name's field");
    }

    #[test]
    fn datagrams_come_back_as_they_went() {
        for address in ["10.0.0.1:53", "[fd00::1]:53"] {
            let from: SocketAddr = address.parse().unwrap();
            let mut space = [0; DATAGRAM_HEADER];
            let start = datagram_header(from, &mut space);
            let whole = [&space[start..], b"hello"].concat();
            assert_eq!(datagram(&whole), Ok((from.into(), &b"hello"[..])));
            for cut in 0..whole.len() - 5 {
                assert_eq!(datagram(&whole[..cut]), Err(WireError::Malformed));
            }
        }
        assert_eq!(datagram(&[0, 0, 1, 1, 10, 0, 0, 1, 0, 53]), Err(WireError::Fragment));
        assert_eq!(datagram(&[0, 0, 0, 1, 10, 0, 0, 1, 0, 0]), Err(WireError::Malformed), "port 0");
    }
}
