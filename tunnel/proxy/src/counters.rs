//! What has happened, for metrics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::net::DialError;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$why:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$why])* $word,)* }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// Its name as a label of metrics.
            pub fn label(self) -> &'static str {
                match self { $(Self::$word => $text,)* }
            }
        }
    };
}

words! {
    /// The service of the connection.
    Service {
        /// SOCKS5 CONNECT.
        Socks = "socks",
        /// SOCKS5 UDP ASSOCIATE.
        SocksUdp = "socks_udp",
        /// HTTP, CONNECT or not.
        Http = "http",
        /// A TCP forward.
        Tcp = "tcp_forward",
        /// A peer of a UDP forward.
        Udp = "udp_forward",
        /// DNS over TCP.
        Dns = "dns_tcp",
    }
}

words! {
    /// Why a client was not served.
    Refusal {
        /// Not the protocol, or not all of it in the form that it has.
        Malformed = "malformed",
        /// The request was not complete in time.
        Handshake = "handshake_timeout",
        /// A command or method that is not offered.
        Unsupported = "unsupported",
        /// No user and password, or wrong ones.
        Authentication = "authentication",
        /// One of the [`crate::Limits`].
        Limit = "limit",
        /// A fragment of a datagram (RFC 1928 section 7).
        Fragment = "fragment",
        /// Configuration forbids the target.
        NotPermitted = "not_permitted",
        /// The name has no address, or no server answered in time.
        Name = "name",
        /// The target refused.
        Refused = "refused",
        /// No way to the target.
        Unreachable = "unreachable",
        /// The target did not answer in time.
        TimedOut = "timed_out",
        /// Out of ports, descriptors or memory; or the network failed.
        Failed = "failed",
    }
}

impl From<DialError> for Refusal {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Refused => Self::Refused,
            DialError::HostUnreachable | DialError::NetworkUnreachable | DialError::NoRoute => {
                Self::Unreachable
            }
            DialError::TimedOut => Self::TimedOut,
            DialError::NotPermitted => Self::NotPermitted,
            DialError::Exhausted | DialError::Failed => Self::Failed,
        }
    }
}

/// Counters that only rise, and the number of open streams.
#[derive(Debug, Default)]
pub struct Counters {
    open: [AtomicU64; Service::ALL.len()],
    total: [AtomicU64; Service::ALL.len()],
    refused: [AtomicU64; Refusal::ALL.len()],
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) reset: AtomicU64,
    pub(crate) idle: AtomicU64,
    pub(crate) datagrams_dropped: AtomicU64,
    pub(crate) dns_questions: AtomicU64,
    pub(crate) dns_cached: AtomicU64,
    pub(crate) dns_failed: AtomicU64,
    pub(crate) dns_refused: AtomicU64,
    pub(crate) dns_ignored: AtomicU64,
    pub(crate) dns_strange: AtomicU64,
}

impl Counters {
    /// Counts a client that was not served.
    pub(crate) fn refuse(&self, why: Refusal) {
        self.refused[why as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn opened(&self, service: Service) {
        self.open[service as usize].fetch_add(1, Relaxed);
        self.total[service as usize].fetch_add(1, Relaxed);
    }

    pub(crate) fn closed(&self, service: Service) {
        self.open[service as usize].fetch_sub(1, Relaxed);
    }

    /// All counters now.
    pub fn snapshot(&self) -> Snapshot {
        let of = |value: &AtomicU64| value.load(Relaxed);
        let services = Service::ALL.iter().map(|service| {
            let index = *service as usize;
            ServiceSnapshot { service: *service, open: of(&self.open[index]), total: of(&self.total[index]) }
        });
        Snapshot {
            services: services.collect(),
            refusals: Refusal::ALL.iter().map(|why| (*why, of(&self.refused[*why as usize]))).collect(),
            sent_bytes: of(&self.sent),
            received_bytes: of(&self.received),
            reset: of(&self.reset),
            idle: of(&self.idle),
            datagrams_dropped: of(&self.datagrams_dropped),
            dns_questions: of(&self.dns_questions),
            dns_cached: of(&self.dns_cached),
            dns_failed: of(&self.dns_failed),
            dns_refused: of(&self.dns_refused),
            dns_ignored: of(&self.dns_ignored),
            dns_strange: of(&self.dns_strange),
        }
    }
}

/// Streams of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSnapshot {
    /// Which.
    pub service: Service,
    /// Open now.
    pub open: u64,
    /// Served since the start.
    pub total: u64,
}

/// All counters at one moment, see [`Counters::snapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// By service, in the order of [`Service::ALL`].
    pub services: Vec<ServiceSnapshot>,
    /// By reason, in the order of [`Refusal::ALL`].
    pub refusals: Vec<(Refusal, u64)>,
    /// Payload from clients to targets.
    pub sent_bytes: u64,
    /// Payload from targets to clients.
    pub received_bytes: u64,
    /// Streams that one end reset.
    pub reset: u64,
    /// Streams that were ended because nothing moved.
    pub idle: u64,
    /// Dropped datagrams: malformed, unsolicited, too large, or without room.
    pub datagrams_dropped: u64,
    /// Questions to the DNS server and of the proxies.
    pub dns_questions: u64,
    /// Of these, answered from the cache.
    pub dns_cached: u64,
    /// Of these, answered by no server in time.
    pub dns_failed: u64,
    /// Of these, refused: of no domain that is served, or of a client that may not ask.
    pub dns_refused: u64,
    /// Questions and connections without an answer: of a client beyond its limit, or of no client.
    pub dns_ignored: u64,
    /// Datagrams that came in place of an answer: another id, question or sender.
    pub dns_strange: u64,
}

impl Snapshot {
    /// How often that happened.
    pub fn refused(&self, why: Refusal) -> u64 {
        self.refusals.iter().find(|(reason, _)| *reason == why).map_or(0, |(_, count)| *count)
    }

    /// Streams open now, of all services.
    pub fn open(&self) -> u64 {
        self.services.iter().map(|service| service.open).sum()
    }
}
