//! What a stack is told at its birth.

use std::net::IpAddr;
use std::time::Duration;

use crate::congestion::Congestion;
use crate::ecn::Ecn;
use crate::wire::{MAX_MTU, MIN_MTU};

/// Probing of idle peers (RFC 9293 §3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Between probes.
    pub interval: Duration,
    /// Unanswered probes that end the connection.
    pub count: u32,
}

/// The configuration of a stack.
#[derive(Debug, Clone)]
pub struct Config {
    /// The stack's own addresses.
    pub addresses: Vec<IpAddr>,
    /// Take TCP and UDP for any destination: a gateway that ends its peers' connections.
    pub accept_any: bool,
    /// The tunnel's MTU; at least 1,280.
    pub mtu: usize,
    /// All stream and datagram buffers together.
    pub budget_bytes: usize,
    /// Controller of new streams.
    pub congestion: Congestion,
    /// Whether the path may mark packets instead of dropping them. A peer is not asked by default: one mark in a round trip says
    /// less than the losses that it replaces, by which BBR knows how far a probe may go.
    pub ecn: Ecn,
    /// New streams hold back small segments while others are unacknowledged (Nagle, RFC 9293 §3.7.4). Off by default: proxied
    /// bytes come from programs that have chosen what to send together.
    pub nagle: bool,
    /// Secret and random: hashing, sequence numbers, ports.
    pub seed: [u8; 32],
    /// Largest receive window of a stream.
    pub max_window: usize,
    /// Streams at once; more are refused.
    pub max_streams: usize,
    /// Half-open incoming connections at once; the oldest makes way for the newest.
    pub max_half_open: usize,
    /// Connections remembered in TIME-WAIT; the oldest makes way.
    pub max_time_wait: usize,
    /// Probing of idle peers.
    pub keepalive: Option<Keepalive>,
    /// Silence of a peer that owes an acknowledgement after which the connection ends (RFC 9293 §3.8.3, R2).
    pub user_timeout: Duration,
    /// Time for a connection to come up.
    pub connect_timeout: Duration,
    /// Twice the maximum segment lifetime.
    pub time_wait: Duration,
}

impl Config {
    /// Defaults for these addresses: MTU 1,420, 32 MiB, BBR.
    #[must_use]
    pub fn new(addresses: Vec<IpAddr>, seed: [u8; 32]) -> Self {
        Self {
            addresses,
            accept_any: false,
            mtu: 1_420,
            budget_bytes: 32 << 20,
            congestion: Congestion::Bbr,
            ecn: Ecn::Accept,
            nagle: false,
            seed,
            max_window: 32 << 20,
            max_streams: 65_536,
            max_half_open: 1_024,
            max_time_wait: 4_096,
            keepalive: None,
            user_timeout: Duration::from_secs(120),
            connect_timeout: Duration::from_secs(60),
            time_wait: Duration::from_secs(60),
        }
    }

    /// With every value inside what the stack can do.
    pub(crate) fn bounded(mut self) -> Self {
        self.mtu = self.mtu.clamp(MIN_MTU, MAX_MTU);
        self.budget_bytes = self.budget_bytes.max(64 * 1024);
        self.max_window = self.max_window.clamp(4 * 1024, 1 << 29);
        self
    }
}
