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
//! Secrets are in files of their own, never in this one. A key that is not known is an error. What can be wrong is
//! said with line, column and one hint ([`GatewayConfig::parse`]).

mod check;
mod credentials;
mod direct;
mod dns;
pub(crate) mod error;
mod rule;
mod rule_test;
mod site;
mod span;
#[cfg(test)]
mod tests;
mod transfer;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::ParseError;
use crate::enrolment::{CredentialService, DnsZone};
use crate::name::Name;
use crate::token::{GatewaySet, VerifyingKey};

pub use credentials::{
    AWS_PATH, Access, AwsRole, BOUNDARY_RULES_MAX, CHALLENGE_HEADER, CREDENTIALS_PORT, Cloud, Credentials,
    GOOGLE_PATH, GoogleAccount, Grant, GrantsError, Objects, ObjectsError, POLICY_MAX, PROOF_HEADER, RoleArn,
    RoleArnError, SESSION_MAX, SESSION_MIN, access_boundary, check_grants, session_policy,
};
pub use direct::{DIRECT_PATH, DIRECT_PORT, DIRECT_SECONDS, Offer, Offers, Opening};
pub use dns::{Dns, Zone, peer_label, peer_name};
pub use rule::{Allow, Destination, DestinationError, PortRange, PortRangeError, Protocol};
pub use rule_test::{FlowTarget, RuleTest};
pub use site::{Site, SitePeer};
pub use span::{Period, PeriodError};
pub use transfer::{Direction, TRANSFER_MAX, TRANSFERS_PATH, TransferReport};

/// The shortest lease. Handshakes are 120 s apart, and a lost one is tried again for 90 s (whitepaper section 6.1).
pub const LEASE_MIN: Duration = Duration::from_secs(240);
/// The longest lease.
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 3600);
/// The longest life that a lease may be given: that of a token.
pub const LEASE_LIFE_MAX: Duration = crate::token::VALIDITY_MAX;
/// The shortest time without the store after which a gateway stops serving peers.
pub const GRACE_MIN: Duration = Duration::from_secs(10);
/// The domain of the names of peers: `HOST.GROUP.warren.internal`. ICANN reserved `internal` for private use.
pub const PEER_DOMAIN: &str = "warren.internal";
/// The longest quarantine.
pub const QUARANTINE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The routing domain.
    pub fabric: Name,
    /// This gateway's name, unique in the fabric.
    pub name: Name,
    /// The address that it listens on.
    pub listen: Listen,
    /// Its keys, and those that sign tokens.
    pub keys: Keys,
    /// The ranges of the peers' addresses.
    pub pool: Pool,
    /// How long peers keep their addresses.
    #[serde(default)]
    pub lease: LeaseTimes,
    /// The store of the leases.
    #[serde(default)]
    pub store: StoreConfig,
    /// Resolvers for peers.
    #[serde(default)]
    pub dns: Dns,
    /// The identities whose narrowed credentials peers get.
    #[serde(default)]
    pub credentials: Credentials,
    /// Settings of the peers' tunnels.
    #[serde(default)]
    pub peers: PeerSettings,
    /// All gateways of the fabric as peers reach them, including this one.
    pub gateways: GatewaySet,
    /// The forwarding mode.
    #[serde(default)]
    pub forwarding: Forwarding,
    /// How much the process confines itself.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// Congestion control of TCP to peers whose group sets none.
    #[serde(default)]
    pub congestion: Congestion,
    /// Planned rate of all traffic, per direction, in Mbit/s; metrics report the utilisation.
    #[serde(default)]
    pub planned_rate_mbit: Option<u32>,
    /// The destinations that each group may reach; everything else is refused.
    #[serde(default)]
    pub groups: BTreeMap<Name, Group>,
    /// Flows that the groups' rules must allow or deny.
    #[serde(default)]
    pub tests: Vec<RuleTest>,
    /// Gateways of other networks.
    #[serde(default)]
    pub site: Site,
    /// Limits for requests of peers.
    #[serde(default)]
    pub limits: Limits,
    /// The audit log.
    #[serde(default)]
    pub audit: Audit,
    /// The page for operators.
    #[serde(default)]
    pub page: Page,
}

/// The addresses and ports of a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// UDP port of WireGuard.
    #[serde(default = "defaults::udp")]
    pub udp: u16,
    /// Address and port of TLS: enrolment, and WireGuard for peers without UDP.
    pub tls: SocketAddr,
    /// Address that serves Prometheus metrics.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
}

/// Key files, and the public keys that verify tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// File with the WireGuard private key, as `warren-tunnel genkey` prints it.
    pub private_key_file: PathBuf,
    /// Certificate chain in PEM.
    pub certificate_file: PathBuf,
    /// The certificate's private key in PEM.
    pub certificate_key_file: PathBuf,
    /// Keys whose tokens are accepted; more than one while keys are rotated.
    pub token_keys: Vec<VerifyingKey>,
    /// Keys whose tokens are no longer accepted, but whose leases stay until they end.
    #[serde(default)]
    pub retired_token_keys: Vec<VerifyingKey>,
}

/// Addresses of peers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// IPv4 and IPv6 ranges. A peer gets one address of each address family.
    pub prefixes: Vec<IpNet>,
    /// Addresses that no peer gets, usually those of the gateways.
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
    /// How long a gateway serves peers without hearing from etcd: [`GRACE_MIN`] to a third of `ttl`, which is the default.
    pub store_grace: Option<Period>,
    /// The longest life of a lease, however alive its peer is: from `ttl` to [`LEASE_LIFE_MAX`].
    pub max: Period,
}

impl LeaseTimes {
    /// How long a gateway serves peers without hearing from a shared store.
    #[must_use]
    pub fn store_grace(&self) -> Duration {
        self.store_grace.map_or(self.ttl.get() / 3, Period::get)
    }
}

/// The store of the leases.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum StoreConfig {
    /// In a file, for one gateway.
    Embedded(Embedded),
    /// In etcd, shared by several gateways.
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
    /// Prefix of all keys [default: /warren/FABRIC/].
    #[serde(default)]
    pub prefix: Option<String>,
    /// Certificate of the CA that signed the members' certificates, in PEM.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Our client certificate, in PEM.
    #[serde(default)]
    pub certificate_file: Option<PathBuf>,
    /// The client certificate's key, in PEM.
    #[serde(default)]
    pub certificate_key_file: Option<PathBuf>,
}

/// Settings of the peers' tunnels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeerSettings {
    /// Largest packet inside the tunnel, 1280 to 9000.
    pub mtu: u16,
    /// Seconds between keepalives, 1 to 60.
    pub keepalive_seconds: u16,
}

/// How the gateway forwards packets of peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarding {
    /// The kernel if it is available, otherwise sockets.
    #[default]
    Auto,
    /// The kernel: an interface and nftables.
    Kernel,
    /// Sockets of this process.
    User,
}

/// How much a gateway confines itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// As much as the kernel offers.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// In full; it does not start without.
    Require,
}

/// Congestion control of the connections that end at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// Keeps its rate on long paths that lose packets.
    #[default]
    Bbr,
    /// RFC 9438, the default of Linux.
    Cubic,
}

/// Permissions and rates of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Allowed destinations: the union of these rules.
    #[serde(default)]
    pub allow: Vec<Allow>,
    /// Rate of the whole group per direction, in Mbit/s.
    #[serde(default)]
    pub rate_mbit: Option<u32>,
    /// Rate of each peer per direction, in Mbit/s.
    #[serde(default)]
    pub peer_rate_mbit: Option<u32>,
    /// Congestion control of TCP to its peers [default: that of the gateway].
    #[serde(default)]
    pub congestion: Option<Congestion>,
    /// Objects for which its peers get credentials.
    #[serde(default)]
    pub grants: Vec<Grant>,
}

/// Limits for requests of peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests per second, in total.
    pub requests_per_second: u32,
    /// Requests per minute from one address (IPv6: from one /64).
    pub requests_per_minute_and_source: u32,
    /// Concurrent connections.
    pub connections: u32,
    /// New TLS connections per second from one source: an IPv4 address or an IPv6 /64.
    pub connections_per_second_and_source: u32,
    /// Tunnels over TLS of one source.
    pub tunnels_per_source: u32,
    /// Leases of one source, quarantined ones included [default: a quarter of the pool, at least 8].
    pub leases_per_source: Option<u32>,
    /// DNS queries per second of one peer; the gateway of another site may send ten times as many.
    pub dns_queries_per_second_and_peer: u32,
    /// Requests of one peer for credentials, per minute.
    pub credential_requests_per_minute_and_peer: u32,
    /// Time from the first byte of a request to the last.
    pub request_timeout: Period,
}

/// The audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// File of the records, one JSON object per line; no audit log if omitted.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// The page for operators, at the address of the metrics.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Whether it is served; if omitted, on a loopback address, or with a password.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// File with the password, which every request needs.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
}

impl Page {
    /// Whether the page is served at an address.
    ///
    /// # Errors
    /// It should be, but others could reach it without a password.
    pub fn is_served_at(&self, address: SocketAddr) -> Result<bool, Unprotected> {
        let protected = address.ip().is_loopback() || self.password_file.is_some();
        match self.enabled {
            Some(false) => Ok(false),
            Some(true) if !protected => Err(Unprotected(address)),
            _ => Ok(protected),
        }
    }
}

/// A page that is reachable from other machines without a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page for operators would be served at {0} without a password")]
pub struct Unprotected(SocketAddr);

impl Unprotected {
    /// What the operator should do.
    pub const HINT: &str =
        "set [page] password_file, or [listen] metrics to a loopback address such as 127.0.0.1:9586";
}

/// Parses TOML; an error has a position and a hint.
pub(crate) fn from_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    toml::from_str(text).map_err(|error| error::explain(text, &error))
}

impl GatewayConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// The first mistake, with its position and a hint.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let config: Self = from_toml(text)?;
        check::check(text, &config)?;
        Ok(config)
    }

    /// The routes of a group's peers: their allowed destinations, the pool if they reach other peers or others reach them, and
    /// the gateway's own services, aggregated.
    #[must_use]
    pub fn routes(&self, group: &Name) -> Vec<IpNet> {
        let allow = self.groups.get(group).map_or(&[][..], |group| &group.allow);
        let allowed = allow.iter().flat_map(|rule| rule.to.iter().map(IpNet::trunc));
        let named = |(from, of): (&Name, &Group)| {
            of.allow
                .iter()
                .any(|rule| rule.to_groups.contains(group) || (from == group && !rule.to_groups.is_empty()))
        };
        let pool = if self.groups.iter().any(named) { &self.pool.prefixes[..] } else { &[] };
        let own = self.dns_addresses().into_iter().chain(self.credential_addresses()).map(IpNet::from);
        IpNet::aggregate(&allowed.chain(pool.iter().copied()).chain(own).collect())
    }

    /// The congestion control of TCP to a peer of this group, or to one of no group.
    #[must_use]
    pub fn congestion_of(&self, group: Option<&Name>) -> Congestion {
        group.and_then(|group| self.groups.get(group)?.congestion).unwrap_or(self.congestion)
    }

    /// Whether a rule lets peers reach other peers.
    #[must_use]
    pub fn has_peer_rules(&self) -> bool {
        self.groups.values().flat_map(|group| &group.allow).any(|rule| !rule.to_groups.is_empty())
    }

    /// The addresses at which this gateway answers DNS queries of pods: the first of the pool, one of each address family. The
    /// same at all gateways of a pool. None without `[[dns.zones]]` and without rules about groups.
    #[must_use]
    pub fn dns_addresses(&self) -> Vec<IpAddr> {
        if self.dns.zones.is_empty() && !self.has_peer_rules() {
            Vec::new()
        } else {
            self.pool.first_addresses()
        }
    }

    /// All addresses at which this gateway answers DNS queries: [`Self::dns_addresses`], and those that other sites know.
    #[must_use]
    pub fn name_server_addresses(&self) -> Vec<IpAddr> {
        let mut addresses = self.dns_addresses();
        if !addresses.is_empty() {
            addresses.extend(&self.site.addresses);
            addresses.sort_unstable();
            addresses.dedup();
        }
        addresses
    }

    /// The addresses at which this gateway gives credentials to pods: those of [`Self::dns_addresses`]. None without grants.
    #[must_use]
    pub fn credential_addresses(&self) -> Vec<IpAddr> {
        if self.groups.values().all(|group| group.grants.is_empty()) {
            Vec::new()
        } else {
            self.pool.first_addresses()
        }
    }

    /// All addresses of this gateway in the tunnel.
    #[must_use]
    pub fn own_addresses(&self) -> Vec<IpAddr> {
        let mut addresses = self.name_server_addresses();
        addresses.extend(self.credential_addresses());
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// What pods of a group learn about the credentials that they get; `None` if they get none.
    #[must_use]
    pub fn credential_service(&self, group: &Name) -> Option<CredentialService> {
        let grants = self.groups.get(group).map_or(&[][..], |group| &group.grants);
        let has = |cloud| grants.iter().any(|grant| grant.objects.cloud() == cloud);
        let (aws, google) = (has(Cloud::Aws), has(Cloud::Google));
        let at = self.credential_addresses().into_iter();
        (aws || google).then(|| CredentialService {
            servers: at.map(|address| SocketAddr::new(address, CREDENTIALS_PORT)).collect(),
            aws,
            google,
        })
    }

    /// The addresses of the pool that no peer gets.
    #[must_use]
    pub fn reserved(&self) -> Vec<IpAddr> {
        let dns = self.dns_addresses();
        // The same addresses.
        let own = if dns.is_empty() { self.credential_addresses() } else { dns };
        self.pool.reserved.iter().copied().chain(own).collect()
    }

    /// The domains that peers resolve through this gateway.
    #[must_use]
    pub fn dns_zones(&self) -> Vec<DnsZone> {
        let of_peers = self.has_peer_rules().then(|| PEER_DOMAIN.parse().ok()).flatten();
        let domains = self.dns.zones.iter().map(|zone| zone.domains.clone());
        domains
            .chain(of_peers.map(|domain| vec![domain]))
            .map(|domains| DnsZone { domains, servers: self.dns_addresses() })
            .collect()
    }
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            ttl: Period::from_secs(600),
            quarantine: Period::from_secs(300),
            store_grace: None,
            max: Period::from_secs(30 * 86_400),
        }
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
            connections_per_second_and_source: 250,
            tunnels_per_source: 1024,
            leases_per_source: None,
            dns_queries_per_second_and_peer: 200,
            credential_requests_per_minute_and_peer: 60,
            request_timeout: Period::from_secs(10),
        }
    }
}

mod defaults {
    pub(super) fn udp() -> u16 {
        51820
    }
}
