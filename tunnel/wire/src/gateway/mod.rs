//! The gateway's configuration file: TOML.
//!
//! ```toml
//! fabric = "llm-training"
//! name = "gw-a"
//! forwarding = "auto"
//!
//! [listen]
//! udp = 51820
//! tls = "0.0.0.0:443"
//!
//! [keys]
//! private_key_file = "/etc/warren/gateway.key"
//! certificate_file = "/etc/warren/gateway.crt"
//! certificate_key_file = "/etc/warren/gateway-tls.key"
//! token_keys = ["k4.public.…"]
//!
//! [pool]
//! prefixes = ["10.100.0.0/16"]
//! reserved = ["10.100.0.1"]
//!
//! [groups.gpu]
//! rate_mbit = 2000
//! [[groups.gpu.allow]]
//! to = ["10.0.0.0/16"]
//! ports = [443, "8000-8100"]
//! protocols = ["tcp"]
//! ```
//!
//! Secrets stand in files of their own, never in this one. A key that is not known is an error. What can be wrong is
//! said with line, column and one hint ([`GatewayConfig::parse`]).

mod check;
pub(crate) mod error;
mod rule;
mod site;
mod span;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::ParseError;
use crate::enrolment::Dns;
use crate::name::Name;
use crate::token::{GatewaySet, VerifyingKey};

pub use rule::{Allow, PortRange, PortRangeError, Protocol};
pub use site::{Site, SitePeer};
pub use span::{Period, PeriodError};

/// The shortest lease. Handshakes are 120 s apart, and a lost one is tried again for 90 s (whitepaper section 6.1).
pub const LEASE_MIN: Duration = Duration::from_secs(240);
/// The longest lease.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3600);
/// The longest quarantine.
pub const QUARANTINE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// The whole file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The routing domain.
    pub fabric: Name,
    /// This gateway's name: each of a fabric has its own.
    pub name: Name,
    /// Where it listens.
    pub listen: Listen,
    /// Its keys, and those that sign tokens.
    pub keys: Keys,
    /// What peers are given addresses from.
    pub pool: Pool,
    /// How long addresses stay with their peers.
    #[serde(default)]
    pub lease: LeaseTimes,
    /// Where leases are kept.
    #[serde(default)]
    pub store: StoreConfig,
    /// Resolvers for peers.
    #[serde(default)]
    pub dns: Dns,
    /// What peers are told about their tunnel.
    #[serde(default)]
    pub peers: PeerSettings,
    /// All gateways of the fabric, as peers are told of them; this one too.
    pub gateways: GatewaySet,
    /// What carries peers' packets on.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// Rate that was planned for all of it, each way, in Mbit/s: metrics tell how much of it is used.
    #[serde(default)]
    pub planned_rate_mbit: Option<u32>,
    /// What each group of peers may reach. What is not allowed is refused.
    #[serde(default)]
    pub groups: BTreeMap<Name, Group>,
    /// Gateways of other networks.
    #[serde(default)]
    pub site: Site,
    /// Bounds for requests to enrol.
    #[serde(default)]
    pub limits: Limits,
    /// Who reached what.
    #[serde(default)]
    pub audit: Audit,
}

/// Where a gateway listens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// UDP port of WireGuard.
    #[serde(default = "defaults::udp")]
    pub udp: u16,
    /// Address and port of TLS: enrolment, and WireGuard for peers without UDP.
    pub tls: SocketAddr,
    /// Where Prometheus finds metrics.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
}

/// Files with keys, and the public keys of those who issue tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// WireGuard private key, as `warren-tunnel genkey` makes it.
    pub private_key_file: PathBuf,
    /// Certificate chain in PEM.
    pub certificate_file: PathBuf,
    /// The certificate's private key in PEM.
    pub certificate_key_file: PathBuf,
    /// Keys whose tokens are accepted; more than one while keys are rotated.
    pub token_keys: Vec<VerifyingKey>,
}

/// Addresses of peers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// IPv4 and IPv6 ranges. A peer gets one address of each family that is there.
    pub prefixes: Vec<IpNet>,
    /// Addresses that no peer gets, mostly the gateways' own.
    #[serde(default)]
    pub reserved: Vec<IpAddr>,
}

/// Times of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LeaseTimes {
    /// How long a lease lives after the last handshake: [`LEASE_MIN`] to [`LEASE_MAX`].
    pub ttl: Period,
    /// How long its address then stays unused, at most [`QUARANTINE_MAX`].
    pub quarantine: Period,
}

/// Where leases are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum StoreConfig {
    /// In a file of this gateway alone.
    Embedded(Embedded),
    /// In etcd, which several gateways share.
    Etcd(Box<Etcd>),
}

/// The file of the embedded store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    /// Where it is.
    pub path: PathBuf,
}

/// An etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Etcd {
    /// `http://host:2379` or `https://…`, one for each member.
    pub endpoints: Vec<String>,
    /// What all keys begin with [default: /warren/FABRIC/].
    #[serde(default)]
    pub prefix: Option<String>,
    /// Who signed the members' certificates, in PEM.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Our client certificate, in PEM.
    #[serde(default)]
    pub certificate_file: Option<PathBuf>,
    /// The client certificate's key, in PEM.
    #[serde(default)]
    pub certificate_key_file: Option<PathBuf>,
}

/// What peers are told about their tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerSettings {
    /// Largest packet inside the tunnel, 1280 to 9000.
    pub mtu: u16,
    /// Seconds between keepalives, 1 to 60.
    pub keepalive_seconds: u16,
}

/// What carries peers' packets on into the network behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarding {
    /// The kernel where it may be had, else this process.
    #[default]
    Auto,
    /// The kernel: an interface and nftables.
    Kernel,
    /// Sockets of this process.
    User,
}

/// What the peers of a group may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What they may reach: the union of these.
    #[serde(default)]
    pub allow: Vec<Allow>,
    /// How much all of them together may send and receive, in Mbit/s each way.
    #[serde(default)]
    pub rate_mbit: Option<u32>,
    /// How much each of them may.
    #[serde(default)]
    pub peer_rate_mbit: Option<u32>,
}

/// Bounds for requests to enrol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests a second from everybody together.
    pub requests_per_second: u32,
    /// Requests a minute from one address (IPv6: from one /64).
    pub requests_per_minute_and_source: u32,
    /// Connections at one time.
    pub connections: u32,
    /// From the first byte to the last of a request.
    pub request_timeout: Period,
}

/// Who reached what.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Where the records go, one JSON object a line; none is nowhere.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// Reads TOML, and tells a mistake with its place and a hint.
pub(crate) fn from_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    toml::from_str(text).map_err(|error| error::explain(text, &error))
}

impl GatewayConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// The first mistake, with its place and a hint.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let config: Self = from_toml(text)?;
        check::check(text, &config)?;
        Ok(config)
    }

    /// What a group's peers send into the tunnel: what they may reach, without duplicates.
    #[must_use]
    pub fn routes(&self, group: &Name) -> Vec<IpNet> {
        let allow = self.groups.get(group).map_or(&[][..], |group| &group.allow);
        IpNet::aggregate(&allow.iter().flat_map(|rule| rule.to.iter().map(IpNet::trunc)).collect())
    }
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self { ttl: Period::from_secs(600), quarantine: Period::from_secs(300) }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self::Embedded(Embedded { path: "/var/lib/warren/leases.redb".into() })
    }
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self { mtu: 1420, keepalive_seconds: 25 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 2000,
            requests_per_minute_and_source: 600,
            connections: 4096,
            request_timeout: Period::from_secs(10),
        }
    }
}

mod defaults {
    pub(super) fn udp() -> u16 {
        51820
    }
}
