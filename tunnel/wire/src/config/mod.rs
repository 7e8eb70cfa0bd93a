//! The wg-quick file: `[Interface]` and `[Peer]` sections (wg(8), wg-quick(8)).
//!
//! Section and key names are case-insensitive. `#` begins a comment anywhere in a line. Lists are separated by
//! commas, and a list's key may be repeated. `[Peer]` may precede `[Interface]`. Unknown keys and duplicate keys or
//! peers, which wg ignores or overwrites, are errors here.
//!
//! Settings that wg-quick does not have are in comments that begin with `# warren:`, so both can read the same file:
//!
//! ```text
//! # warren: TLSEndpoint = gateway.example.net:443
//! ```
//!
//! [`Config::parse`] parses a file. `Display` of [`Config`] prints it, including secrets, and parses to the same
//! value again.

mod error;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod value;

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use crate::enrolment::DnsZone;
use crate::key::{PresharedKey, PrivateKey, PublicKey};
use crate::pin::Pins;
use crate::time::UnixTime;

pub use error::ParseError;
pub(crate) use error::show;
pub use value::EndpointError;

/// A wg-quick file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The `[Interface]` section.
    pub interface: Interface,
    /// The `[Peer]` sections in the file's order.
    pub peers: Vec<Peer>,
}

/// The settings of the local end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// `PrivateKey`.
    pub private_key: Option<PrivateKey>,
    /// `ListenPort`; 0 means any.
    pub listen_port: Option<u16>,
    /// `FwMark`; `off` is `None`.
    pub fwmark: Option<u32>,
    /// `Address`, host bits kept.
    pub addresses: Vec<IpNet>,
    /// `DNS`: the addresses among its values.
    pub dns: Vec<IpAddr>,
    /// `DNS`: the search domains among its values.
    pub dns_search: Vec<String>,
    /// Domains with name servers of their own. Only gateways supply them: a file has no such setting.
    pub dns_zones: Vec<DnsZone>,
    /// The least time for stamps of handshakes. Only gateways supply it: a file has no such setting.
    pub stamp_floor: Option<UnixTime>,
    /// `MTU`.
    pub mtu: Option<u16>,
    /// `Table`.
    pub table: Table,
    /// `PreUp` commands, like the other three without line breaks and `#`.
    pub pre_up: Vec<String>,
    /// `PostUp` commands.
    pub post_up: Vec<String>,
    /// `PreDown` commands.
    pub pre_down: Vec<String>,
    /// `PostDown` commands.
    pub post_down: Vec<String>,
    /// `SaveConfig`.
    pub save_config: bool,
    /// `# warren: ListenTLS`: the address that accepts TLS connections.
    pub listen_tls: Option<SocketAddr>,
}

/// The routing table of the tunnel's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Table {
    /// The main table, and policy routing for a default route.
    #[default]
    Auto,
    /// No routes.
    Off,
    /// This table.
    Number(u32),
}

/// One peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// `PublicKey`.
    pub public_key: PublicKey,
    /// `PresharedKey`.
    pub preshared_key: Option<PresharedKey>,
    /// `AllowedIPs`, host bits cleared.
    pub allowed_ips: Vec<IpNet>,
    /// `Endpoint`.
    pub endpoint: Option<Endpoint>,
    /// `PersistentKeepalive` in seconds; `off` and 0 are `None`.
    pub persistent_keepalive: Option<u16>,
    /// `# warren: TLSEndpoint`, `TLSPin`, `TLSName`.
    pub tls: Option<TlsEndpoint>,
}

/// A peer's TLS endpoint, and how its certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsEndpoint {
    /// Host and TCP port.
    pub endpoint: Endpoint,
    /// Pins of the certificate; without pins, a certificate authority must have signed it.
    pub pins: Option<Pins>,
    /// The server name (SNI), if it differs from the endpoint's.
    pub name: Option<String>,
}

/// `host:port`. A name as the host is not resolved here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address or name.
    pub host: Host,
    /// The port, not 0.
    pub port: u16,
}

/// An address or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// An address.
    Ip(IpAddr),
    /// A name.
    Name(String),
}
