//! Answers to requests of our own, which both ends share.

use std::{net::IpAddr, time::Duration};

use serde::{Deserialize, Serialize};
use warren_wire::{
    Name, Pins, PublicKey,
    config::{Endpoint, TlsEndpoint},
};

/// The longest time that one request waits for the answer to an echo request.
pub const PONG_TIMEOUT_MAX: Duration = Duration::from_secs(10);

/// A peer of an agent as its configuration has it. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// The name, if the agent has enrolled.
    pub name: Option<Name>,
    /// The public key.
    pub key: PublicKey,
    /// The UDP endpoint.
    pub udp: Option<Endpoint>,
    /// The TLS endpoint.
    pub tls: Option<Endpoint>,
    /// The pins of its certificate.
    pub pins: Option<Pins>,
    /// The server name, if it differs from the endpoint's.
    pub tls_name: Option<String>,
    /// Whether it carries traffic, rather than standing by.
    pub in_use: bool,
}

impl Gateway {
    /// The TLS endpoint with everything that verifies it.
    pub fn tls(&self) -> Option<TlsEndpoint> {
        let endpoint = self.tls.clone()?;
        Some(TlsEndpoint { endpoint, pins: self.pins.clone(), name: self.tls_name.clone() })
    }
}

/// What became of an echo request. It has no tag inside: with one, serde does not read numbers of any precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pong {
    /// It was answered.
    Answered {
        /// The time until then.
        seconds: f64,
    },
    /// A router or the host reports that it was not delivered.
    Undelivered {
        /// Who reports it.
        by: IpAddr,
        /// Why.
        reason: PongReason,
    },
    /// Nothing came in time.
    Silent,
}

/// Why an echo request was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PongReason {
    /// There is no route to the network.
    Network,
    /// The host does not answer.
    Host,
    /// The host does not support the protocol.
    Protocol,
    /// A rule prohibits it.
    Prohibited,
    /// The host or a rule: without the privilege for raw sockets, the kernel does not report which.
    Unreachable,
}

impl PongReason {
    /// The reason in words.
    pub fn text(self, v4: bool) -> &'static str {
        match (self, v4) {
            (Self::Network, true) => "network unreachable (ICMP code 0)",
            (Self::Network, false) => "no route to the destination (ICMPv6 code 0)",
            (Self::Host, true) => "host unreachable (ICMP code 1)",
            (Self::Host, false) => "address unreachable (ICMPv6 code 3)",
            (Self::Protocol, _) => "the host does not support echo requests",
            (Self::Prohibited, true) => "administratively prohibited (ICMP code 13)",
            (Self::Prohibited, false) => "administratively prohibited (ICMPv6 code 1)",
            (Self::Unreachable, _) => "host unreachable, or administratively prohibited",
        }
    }
}
