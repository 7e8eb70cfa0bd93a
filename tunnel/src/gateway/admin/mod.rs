//! The gateway's control socket, for requests of operators.
//!
//! A connection carries one request and one response, each a line of JSON. Only the owner has access (mode 0600).

pub mod client;
pub(super) mod server;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use super::model::{GatewayStatus, PeerEntry};

/// The extension of the socket's file, after the gateway's name.
const EXTENSION: &str = "gateway";

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminRequest {
    /// The gateway's status.
    Status,
    /// All leases.
    Peers,
    /// End a lease and block its key.
    Evict {
        /// The peer's public key.
        key: PublicKey,
        /// When the key is unblocked.
        until: UnixTime,
    },
    /// Unblock the key of an evicted peer.
    Readmit {
        /// The peer's public key.
        key: PublicKey,
    },
    /// End all leases of a token and refuse it.
    EvictToken {
        /// The token's ID.
        token: TokenId,
        /// When the token is accepted again.
        until: UnixTime,
    },
    /// Accept a revoked or evicted token again.
    ReadmitToken {
        /// The token's ID.
        token: TokenId,
    },
    /// Refuse or accept new peers.
    Drain {
        /// Whether to refuse them.
        draining: bool,
        /// Whether existing peers stay, even if there are other gateways.
        #[serde(default)]
        stay: bool,
    },
    /// Revoke a token.
    Revoke {
        /// The token's ID.
        token: TokenId,
        /// The latest possible expiry of the token.
        until: UnixTime,
        /// Whether to end the leases of peers that enrolled with it.
        peers: bool,
    },
    /// Reload the file.
    Reload,
}

/// A response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminResponse {
    /// The gateway's status.
    Status(Box<GatewayStatus>),
    /// All leases.
    Peers(Vec<PeerEntry>),
    /// Success, with a message.
    Done(String),
    /// Failure.
    Problem {
        /// The reason.
        what: String,
        /// What the operator should do.
        hint: Option<String>,
    },
}

fn socket(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension(EXTENSION)
}
