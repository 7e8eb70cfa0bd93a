//! What goes into an engine and what comes out.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;
use warren_cipher::Suite;
use warren_wire::{PresharedKey, PrivateKey, PublicKey};

use crate::plane::{DropReason, Endpoint, PeerId, Traffic};

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The static key.
    pub private_key: PrivateKey,
    /// Handshake messages a second above which the engine is "under load" and asks for cookies.
    /// One message costs about a fifth of a millisecond of a core.
    pub load_threshold: u32,
    /// Whether an initiation that is refused, but was made with our public key, gets a cookie reply: whoever measures the path
    /// to us learns that it works, and nothing else. At most 20 a second to a source.
    pub answer_strangers: bool,
    /// What seals and opens data messages.
    pub cipher: Suite,
}

impl EngineConfig {
    /// The usual settings.
    #[must_use]
    pub fn new(private_key: PrivateKey) -> Self {
        Self { private_key, load_threshold: 250, answer_strangers: false, cipher: Suite::RING }
    }
}

/// The desired configuration of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its identity.
    pub public_key: PublicKey,
    /// The preshared key; `None` is none.
    pub preshared_key: Option<PresharedKey>,
    /// Its endpoint; `None` keeps the known one.
    pub endpoint: Option<SocketAddr>,
    /// All its ranges. A range that another peer has moves here.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between persistent keepalives; `None` and 0 are none.
    pub persistent_keepalive: Option<u16>,
}

impl PeerConfig {
    /// A peer with nothing but its identity.
    #[must_use]
    pub fn new(public_key: PublicKey) -> Self {
        Self {
            public_key,
            preshared_key: None,
            endpoint: None,
            allowed_ips: Vec::new(),
            persistent_keepalive: None,
        }
    }
}

/// The state of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its id.
    pub id: PeerId,
    /// Its identity.
    pub public_key: PublicKey,
    /// Where it is, as far as known.
    pub endpoint: Option<Endpoint>,
    /// Its ranges.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between persistent keepalives.
    pub persistent_keepalive: Option<u16>,
    /// Whether a preshared key is set.
    pub preshared_key_set: bool,
    /// Wall time of the last completed handshake, since the UNIX epoch.
    pub last_handshake: Option<Duration>,
    /// Packets and bytes.
    pub traffic: Traffic,
    /// Age of the session that is sent with.
    pub session_age: Option<Duration>,
    /// Whether a handshake of ours is under way.
    pub handshaking: bool,
    /// Handshakes completed as initiator.
    pub handshakes_initiated: u64,
    /// Handshakes completed as responder.
    pub handshakes_answered: u64,
    /// Initiations sent, repetitions included.
    pub initiations_sent: u64,
    /// Round trip of the last handshake as initiator, the other end's computation included.
    pub handshake_rtt: Option<Duration>,
    /// Round trip of the last handshake as responder: from the response to the first data message.
    pub answer_rtt: Option<Duration>,
    /// Dropped packets by reason.
    pub drops: Vec<(DropReason, u64)>,
}

/// An action for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a datagram.
    Transmit {
        /// Where to.
        to: Endpoint,
        /// Whose it is; a cookie reply is nobody's.
        peer: Option<PeerId>,
        /// The UDP payload.
        bytes: Vec<u8>,
    },
    /// Send the packets that wait (`Peer::take_staged`): there is a session now.
    Flush(PeerId),
    /// A session can be used.
    Established(PeerId),
    /// A peer that was reached [through](crate::plane::Peer::via) another one is here now.
    Arrived(PeerId),
    /// There is no usable session any more, or the attempt to make one was given up.
    Expired(PeerId),
}

/// Counters of an engine that belong to no peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Messages that are no handshake message by type and length.
    pub malformed: u64,
    /// Messages whose mac1 does not fit: refused before anything else.
    pub bad_mac1: u64,
    /// Messages that got a cookie reply: under load without a valid mac2, or of a stranger.
    pub cookies_sent: u64,
    /// Messages under load from a source above its limit.
    pub source_limited: u64,
    /// Initiations that are not authentic, or of a key that is no peer's.
    pub refused_initiations: u64,
    /// Initiations with an old stamp.
    pub replayed_initiations: u64,
    /// Initiations above 50 a second of one peer.
    pub peer_limited: u64,
    /// Responses that belong to no handshake or are not authentic.
    pub refused_responses: u64,
    /// Cookie replies that belong to no message of ours or are not authentic.
    pub refused_cookies: u64,
    /// Cookies received.
    pub cookies_received: u64,
    /// Whether the engine asks for cookies now.
    pub under_load: bool,
}
