//! Enrolment of pods: JSON messages over HTTPS, version 1.
//!
//! | request | body | response |
//! |---|---|---|
//! | `POST /v1/enrol` | [`Enrol`] | [`Answer`] |
//! | `POST /v1/release` | [`Release`] | empty, status 204 |
//! | `POST /v1/report` | [`ReportRequest`] of another gateway | what this one shows its operators |
//!
//! There is no renewal request: WireGuard handshakes renew a lease. All other requests are answered with a
//! [`Problem`] (RFC 9457).
//!
//! A WireGuard key cannot sign, so its possession is proven through key agreement: [`Proof`] is a MAC over the TLS
//! channel binding (RFC 9266), keyed with the shared secret of the pod's and the gateway's WireGuard keys. Only a
//! holder of the pod's key can create it. It is valid only in that TLS connection, so a recorded request cannot be
//! replayed.

mod problem;
mod proof;
mod retry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::error::Category;
use zeroize::Zeroizing;

use crate::key::PublicKey;
use crate::name::Name;
use crate::time::UnixTime;
use crate::token::{GatewaySet, Token};

pub use problem::{Kind, Problem};
pub use proof::{ChannelBinding, EXPORTER_LABEL, Proof, Purpose};
pub use retry::{RETRY_AFTER_MAX, Retry, parse_retry_after, with_jitter};

/// HTTP path of enrolment.
pub const ENROL_PATH: &str = "/v1/enrol";
/// HTTP path for releasing a lease.
pub const RELEASE_PATH: &str = "/v1/release";
/// HTTP path of the report of a gateway, for the other gateways of the fabric.
pub const REPORT_PATH: &str = "/v1/report";
/// The media type of requests and answers.
pub const MEDIA_TYPE: &str = "application/json";
/// The media type of problems.
pub const PROBLEM_TYPE: &str = "application/problem+json";
/// The largest body of a request, in bytes.
pub const REQUEST_MAX: usize = 16 * 1024;
/// The largest body of an answer, in bytes.
pub const ANSWER_MAX: usize = 256 * 1024;
/// The largest report of a gateway, in bytes: some 10,000 peers.
pub const REPORT_MAX: usize = 8 * 1024 * 1024;
/// The most labels of a host.
pub const LABELS_MAX: usize = 16;
/// The longest value of a label, and the longest host name.
const TEXT_MAX: usize = 253;

/// A request to join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Enrol {
    /// The version of the messages.
    pub version: Version,
    /// The token that admits the peer.
    #[serde(serialize_with = "secret_text")]
    pub token: Token,
    /// The public key of the peer that joins.
    pub public_key: PublicKey,
    /// Proof that the sender has the private key.
    pub proof: Proof,
    /// Name and labels of the host, shown in lists of peers.
    pub host: HostInfo,
}

/// [`Enrol`] before its token is parsed, so that a damaged token is distinguished from a damaged request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnrolText {
    #[serde(rename = "version")]
    _version: Version,
    #[serde(deserialize_with = "zeroized")]
    token: Zeroizing<String>,
    public_key: PublicKey,
    proof: Proof,
    #[serde(default)]
    host: HostInfo,
}

/// A request to end a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The version of the messages.
    pub version: Version,
    /// The public key of the lease's peer.
    pub public_key: PublicKey,
    /// Proof that the sender has the private key.
    pub proof: Proof,
}

/// A gateway's request for the report of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportRequest {
    /// The version of the messages.
    pub version: Version,
    /// The public key of the gateway that sends this.
    pub public_key: PublicKey,
    /// Proof that it has the private key.
    pub proof: Proof,
}

/// The response to an enrolment: everything that the peer needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The version of the messages.
    pub version: Version,
    /// The group that the token put the peer in.
    pub group: Name,
    /// The peer's own addresses: at most one of each family, at least one.
    pub addresses: Vec<IpAddr>,
    /// Ranges that are reachable through the tunnel.
    pub routes: Vec<IpNet>,
    /// DNS inside the fabric.
    pub dns: Dns,
    /// Domains that the gateway answers for. Peers that do not know this field resolve these as they resolve all other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<DnsZone>,
    /// All gateways of the fabric: if one fails, the peer fails over to another.
    pub gateways: GatewaySet,
    /// Lifetime of the lease after the last handshake, in seconds.
    pub lease_seconds: u32,
    /// The largest packet inside the tunnel, in bytes.
    pub mtu: u16,
    /// Keepalive interval in seconds, which keeps NAT mappings and the lease alive.
    pub keepalive_seconds: u16,
    /// The least time for stamps of the peer's handshakes: that of the gateway, and after the last stamp that it has seen. A peer
    /// whose clock went back would be refused otherwise. Peers that do not know this field use their clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_floor: Option<UnixTime>,
    /// The credentials of clouds that the gateway gives to the peer. Peers that do not know this field get none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialService>,
    /// Where the peer learns about direct paths to other peers. Peers that do not know this field use none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<DirectService>,
}

/// Where a peer requests the direct paths that it may use, through the tunnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectService {
    /// Addresses and ports, one for each address family.
    pub servers: Vec<SocketAddr>,
    /// The ranges of peers.
    pub peers: Vec<IpNet>,
}

/// Where a peer requests short-lived credentials of clouds, through the tunnel, and which there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialService {
    /// Addresses and ports, one for each address family.
    pub servers: Vec<SocketAddr>,
    /// Whether there are credentials of AWS.
    #[serde(default)]
    pub aws: bool,
    /// Whether there are credentials of Google Cloud.
    #[serde(default)]
    pub google: bool,
}

/// Resolvers inside the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dns {
    /// Their addresses.
    #[serde(default)]
    pub servers: Vec<IpAddr>,
    /// The domains that they resolve; empty means all.
    #[serde(default)]
    pub domains: Vec<Domain>,
}

/// Domains, and the name servers inside the fabric that answer for them. Other servers are not to be queried for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsZone {
    /// These and all names below them.
    pub domains: Vec<Domain>,
    /// Addresses of the servers.
    pub servers: Vec<IpAddr>,
}

/// A domain name, in lower case, without a dot at its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Domain(String);

crate::text::serde_as_text!(Domain);

/// The error for a text that is not a domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a domain name; write it like storage.googleapis.com")]
pub struct DomainError;

/// Version 1 of the messages, the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Version;

/// The error for a version that this program does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("version {0} is not supported, only version 1 is; update the older of the two programs")]
pub struct VersionError(u32);

/// A host's name and labels. Bounded, without control characters: they end up in logs and on terminals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "HostInfoText", deny_unknown_fields)]
pub struct HostInfo {
    name: String,
    labels: BTreeMap<Name, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostInfoText {
    #[serde(default)]
    name: String,
    #[serde(default)]
    labels: BTreeMap<Name, String>,
}

/// The reason why a host's description is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostInfoError {
    /// Too long, or with control characters.
    #[error("hostnames and label values have at most {TEXT_MAX} printable characters")]
    Text,
    /// Too many.
    #[error("{0} labels, at most {LABELS_MAX}")]
    Labels(usize),
}

impl HostInfo {
    /// A host's name, perhaps empty, and its labels.
    ///
    /// # Errors
    /// Texts too long or not printable, or too many labels.
    pub fn new(name: String, labels: BTreeMap<Name, String>) -> Result<Self, HostInfoError> {
        if labels.len() > LABELS_MAX {
            return Err(HostInfoError::Labels(labels.len()));
        }
        let good = |text: &str| text.len() <= TEXT_MAX && !text.chars().any(char::is_control);
        let all = good(&name) && labels.values().all(|value| good(value));
        all.then_some(Self { name, labels }).ok_or(HostInfoError::Text)
    }

    /// The name; empty if there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<Name, String> {
        &self.labels
    }
}

impl TryFrom<HostInfoText> for HostInfo {
    type Error = HostInfoError;

    fn try_from(text: HostInfoText) -> Result<Self, HostInfoError> {
        Self::new(text.name, text.labels)
    }
}

impl TryFrom<u32> for Version {
    type Error = VersionError;

    fn try_from(version: u32) -> Result<Self, VersionError> {
        if version == 1 { Ok(Self) } else { Err(VersionError(version)) }
    }
}

impl From<Version> for u32 {
    fn from(_: Version) -> Self {
        1
    }
}

impl std::str::FromStr for Domain {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_')
        };
        let good = text.len() <= TEXT_MAX && text.split('.').all(label);
        good.then(|| Self(text.to_ascii_lowercase())).ok_or(DomainError)
    }
}

impl Domain {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl Enrol {
    /// Reads a request's body.
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::Malformed`], [`Kind::TokenMalformed`] or [`Kind::Version`].
    pub fn from_json(body: &[u8]) -> Result<Self, Problem> {
        let EnrolText { _version, token, public_key, proof, host } = read(body)?;
        Ok(Self { version: Version, token: Token::parse(&token)?, public_key, proof, host })
    }

    /// The request's body.
    ///
    /// # Errors
    /// It would be larger than [`REQUEST_MAX`].
    pub fn to_json(&self) -> Result<Vec<u8>, Problem> {
        write(self)
    }
}

impl Release {
    /// Reads a request's body.
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::Malformed`] or [`Kind::Version`].
    pub fn from_json(body: &[u8]) -> Result<Self, Problem> {
        read(body)
    }

    /// The request's body.
    ///
    /// # Errors
    /// It would be larger than [`REQUEST_MAX`].
    pub fn to_json(&self) -> Result<Vec<u8>, Problem> {
        write(self)
    }
}

impl ReportRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::Malformed`] or [`Kind::Version`].
    pub fn from_json(body: &[u8]) -> Result<Self, Problem> {
        read(body)
    }

    /// The request's body.
    ///
    /// # Errors
    /// It would be larger than [`REQUEST_MAX`].
    pub fn to_json(&self) -> Result<Vec<u8>, Problem> {
        write(self)
    }
}

impl Answer {
    /// Reads an answer's body. Fields that are not known are ignored: a newer gateway may say more.
    ///
    /// # Errors
    /// [`Kind::TooLarge`], [`Kind::Malformed`] or [`Kind::Version`].
    pub fn from_json(body: &[u8]) -> Result<Self, Problem> {
        if body.len() > ANSWER_MAX {
            return Err(Problem::new(Kind::TooLarge, format!("the response has {} bytes", body.len())));
        }
        let answer: Self = parse(body)?;
        let family = |v4: bool| answer.addresses.iter().filter(|address| address.is_ipv4() == v4).count();
        if answer.addresses.is_empty() || family(true) > 1 || family(false) > 1 {
            return Err(Problem::new(
                Kind::Malformed,
                "the response must have one address, or one of each address family".to_owned(),
            ));
        }
        Ok(answer)
    }
}

fn read<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Problem> {
    if body.len() > REQUEST_MAX {
        let detail = format!("the body has {} bytes, at most {REQUEST_MAX} are accepted", body.len());
        return Err(Problem::new(Kind::TooLarge, detail));
    }
    parse(body)
}

/// Checks the version first: a message of another version may have any other fields.
fn parse<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Problem> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    Version::try_from(version).map_err(|error| Problem::new(Kind::Version, error.to_string()))?;
    serde_json::from_slice(body).map_err(|error| malformed(&error))
}

fn write(message: &impl Serialize) -> Result<Vec<u8>, Problem> {
    let body = serde_json::to_vec(message)
        .map_err(|_| Problem::new(Kind::Malformed, "the message cannot be encoded as JSON".to_owned()))?;
    if body.len() > REQUEST_MAX {
        return Err(Problem::new(Kind::TooLarge, format!("the body would have {} bytes", body.len())));
    }
    Ok(body)
}

/// Reports the position but not the cause, which may contain a part of the token.
fn malformed(error: &serde_json::Error) -> Problem {
    let what = match error.classify() {
        Category::Data => "a field is missing, unknown or not valid",
        Category::Io | Category::Syntax | Category::Eof => "the body is not complete JSON",
    };
    Problem::new(Kind::Malformed, format!("{what} (line {}, column {})", error.line(), error.column()))
}

fn secret_text<S: Serializer>(token: &Token, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(token.secret())
}

fn zeroized<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Zeroizing<String>, D::Error> {
    String::deserialize(deserializer).map(Zeroizing::new)
}
