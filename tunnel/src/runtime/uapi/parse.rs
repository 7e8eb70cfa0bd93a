//! Parser for requests, which come from any process that can open the socket. Pure.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ipnet::IpNet;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};

use super::PONG_TIMEOUT_MAX;

/// Longer requests are refused: 10,000 peers with ten prefixes each fit eight times.
pub const MAX_REQUEST: usize = 64 << 20;
/// The longest name of DNS.
const MAX_NAME: usize = 254;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `get=1`
    Get,
    /// `set=1`
    Set(Box<Set>),
    /// `warren_status=1`: one line `status=JSON`
    Status,
    /// `warren_reload=1`: one line `reload=TEXT`
    Reload,
    /// `warren_gateways=1`: one line `gateways=JSON`
    Gateways,
    /// `warren_resolve=NAME`: one line `addresses=JSON`
    Resolve(String),
    /// `warren_ping=ADDRESS`: one line `pong=JSON`
    Ping(PingRequest),
}

/// An echo request through the tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingRequest {
    /// The destination.
    pub to: IpAddr,
    /// Bytes of data behind the ICMP header.
    pub size: u16,
    /// How long to wait for the answer.
    pub timeout: Duration,
}

/// Changes of an interface, in the order in which they are made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    /// A new private key; `Some(None)` removes it.
    pub private_key: Option<Option<PrivateKey>>,
    /// Another UDP port; 0 lets the kernel choose.
    pub listen_port: Option<u16>,
    /// Another mark of our datagrams; 0 is none.
    pub fwmark: Option<u32>,
    /// Removes all peers before adding those that follow.
    pub replace_peers: bool,
    /// Changes of peers.
    pub peers: Vec<PeerChange>,
}

/// Changes of one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerChange {
    /// Which peer.
    pub public_key: PublicKey,
    /// Removes the peer.
    pub remove: bool,
    /// Does nothing unless the peer exists.
    pub update_only: bool,
    /// A new preshared key; `Some(None)` removes it.
    pub preshared_key: Option<Option<PresharedKey>>,
    /// Its endpoint.
    pub endpoint: Option<SocketAddr>,
    /// Seconds; 0 is off.
    pub keepalive: Option<u16>,
    /// Removes all prefixes before adding those that follow.
    pub replace_allowed_ips: bool,
    /// Prefixes to add.
    pub add: Vec<IpNet>,
    /// Prefixes to remove (`allowed_ip=-10.0.0.0/8`).
    pub take: Vec<IpNet>,
}

impl PeerChange {
    /// No change of that peer.
    pub fn of(public_key: PublicKey) -> Self {
        Self {
            public_key,
            remove: false,
            update_only: false,
            preshared_key: None,
            endpoint: None,
            keepalive: None,
            replace_allowed_ips: false,
            add: Vec::new(),
            take: Vec::new(),
        }
    }
}

/// Why a request is refused, reported as `errno=`. Names the line, not the value, because values may be keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not UTF-8, no `=`, an unknown key, a key in the wrong place, or a value that is none.
    #[error("line {line} of the request is invalid")]
    Invalid {
        /// Counted from 1.
        line: usize,
    },
    /// A protocol version other than 1.
    #[error("line {line} of the request: only protocol version 1 is supported")]
    Protocol {
        /// Counted from 1.
        line: usize,
    },
    /// Longer than [`MAX_REQUEST`].
    #[error("the request is too long")]
    TooLong,
}

impl Refusal {
    /// The number of the error, as `wg` prints it by strerror.
    pub fn errno(self) -> i32 {
        match self {
            Self::Invalid { .. } => libc::EINVAL,
            Self::Protocol { .. } => libc::EPROTONOSUPPORT,
            Self::TooLong => libc::E2BIG,
        }
    }
}

/// Reads one request, with or without its closing empty line.
///
/// # Errors
/// The first invalid line.
pub fn parse(request: &[u8]) -> Result<Request, Refusal> {
    if request.len() > MAX_REQUEST {
        return Err(Refusal::TooLong);
    }
    let mut lines = Lines { rest: request, line: 0 };
    let (key, value) = lines.next()?.ok_or(Refusal::Invalid { line: 1 })?;
    match (key, value) {
        ("get", "1") => lines.end(Request::Get),
        ("warren_status", "1") => lines.end(Request::Status),
        ("warren_reload", "1") => lines.end(Request::Reload),
        ("warren_gateways", "1") => lines.end(Request::Gateways),
        ("warren_resolve", name) if (1..=MAX_NAME).contains(&name.len()) => {
            let name = name.to_owned();
            lines.end(Request::Resolve(name))
        }
        ("warren_ping", to) => {
            let to = to.parse().map_err(|_| Refusal::Invalid { line: 1 })?;
            parse_ping(lines, to)
        }
        ("set", "1") => parse_set(lines).map(|set| Request::Set(Box::new(set))),
        _ => Err(Refusal::Invalid { line: 1 }),
    }
}

fn parse_ping(mut lines: Lines<'_>, to: IpAddr) -> Result<Request, Refusal> {
    let mut ping = PingRequest { to, size: 0, timeout: PONG_TIMEOUT_MAX };
    while let Some((key, value)) = lines.next()? {
        let invalid = Refusal::Invalid { line: lines.line };
        match key {
            "size" => ping.size = decimal(value).ok_or(invalid)?,
            "timeout_ms" => {
                let timeout = decimal(value).map(Duration::from_millis);
                ping.timeout = timeout.filter(|timeout| *timeout <= PONG_TIMEOUT_MAX).ok_or(invalid)?;
            }
            _ => return Err(invalid),
        }
    }
    Ok(Request::Ping(ping))
}

fn parse_set(mut lines: Lines<'_>) -> Result<Set, Refusal> {
    let mut set = Set::default();
    while let Some((key, value)) = lines.next()? {
        let line = lines.line;
        let invalid = Refusal::Invalid { line };
        if key == "public_key" {
            set.peers.push(PeerChange::of(PublicKey::from_hex(value).map_err(|_| invalid)?));
            continue;
        }
        match set.peers.last_mut() {
            None => interface_line(&mut set, key, value).ok_or(invalid)?,
            Some(_) if key == "protocol_version" => {
                if value != "1" {
                    return Err(Refusal::Protocol { line });
                }
            }
            Some(peer) => peer_line(peer, key, value).ok_or(invalid)?,
        }
    }
    Ok(set)
}

fn interface_line(set: &mut Set, key: &str, value: &str) -> Option<()> {
    match key {
        "private_key" => {
            let key = PrivateKey::from_hex(value).ok()?;
            set.private_key = Some((*key.as_bytes() != [0; 32]).then_some(key));
        }
        "listen_port" => set.listen_port = Some(decimal(value)?),
        "fwmark" => {
            set.fwmark = Some(match value.strip_prefix("0x") {
                Some(hex) if !hex.starts_with('+') => u32::from_str_radix(hex, 16).ok()?,
                Some(_) => return None,
                None => decimal(value)?,
            });
        }
        "replace_peers" => set.replace_peers = (value == "true").then_some(true)?,
        _ => return None,
    }
    Some(())
}

fn peer_line(peer: &mut PeerChange, key: &str, value: &str) -> Option<()> {
    match key {
        "remove" => peer.remove = (value == "true").then_some(true)?,
        "update_only" => peer.update_only = (value == "true").then_some(true)?,
        "preshared_key" => {
            let key = PresharedKey::from_hex(value).ok()?;
            peer.preshared_key = Some((*key.as_bytes() != [0; 32]).then_some(key));
        }
        "endpoint" => peer.endpoint = Some(endpoint(value)?),
        "persistent_keepalive_interval" => {
            peer.keepalive = Some(if value == "off" { 0 } else { decimal(value)? });
        }
        "replace_allowed_ips" => peer.replace_allowed_ips = (value == "true").then_some(true)?,
        "allowed_ip" => match value.strip_prefix('-') {
            Some(value) => peer.take.push(prefix(value)?),
            None => peer.add.push(prefix(value)?),
        },
        _ => return None,
    }
    Some(())
}

/// Digits only: `str::parse` would accept a sign.
fn decimal<N: std::str::FromStr>(value: &str) -> Option<N> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten()
}

/// A link-local IPv6 address names its interface by number here (`wg` writes `[fe80::1%2]:51820`).
fn endpoint(value: &str) -> Option<SocketAddr> {
    value.parse::<SocketAddr>().ok().filter(|endpoint| endpoint.port() != 0)
}

/// Bits outside the prefix are cleared, as the kernel does.
fn prefix(value: &str) -> Option<IpNet> {
    value.parse::<IpNet>().ok().map(|prefix| prefix.trunc())
}

struct Lines<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Lines<'a> {
    /// The next `key=value`; `None` at the empty line or at the end.
    fn next(&mut self) -> Result<Option<(&'a str, &'a str)>, Refusal> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let invalid = Refusal::Invalid { line: self.line };
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        if line.is_empty() {
            // A request is one paragraph; nothing may follow it.
            return if rest.is_empty() { Ok(None) } else { Err(invalid) };
        }
        let text = std::str::from_utf8(line).map_err(|_| invalid)?;
        text.split_once('=').map(Some).ok_or(invalid)
    }

    fn end(mut self, request: Request) -> Result<Request, Refusal> {
        match self.next()? {
            None => Ok(request),
            Some(_) => Err(Refusal::Invalid { line: self.line }),
        }
    }
}
