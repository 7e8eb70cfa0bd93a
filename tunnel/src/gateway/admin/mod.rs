//! The gateway's control socket, for requests of operators.
//!
//! One request and one answer a connection, each a line of JSON. The socket is its owner's alone (mode 0600), and so is
//! whatever can be asked.

pub mod client;
pub(super) mod server;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use super::model::{GatewayStatus, PeerEntry};

/// How sockets are called, behind the gateway's name.
const EXTENSION: &str = "gateway";

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The gateway's status.
    Status,
    /// All leases.
    Peers,
    /// End a lease, and refuse its key until a time.
    Evict {
        /// Whose.
        key: PublicKey,
        /// Until when.
        until: UnixTime,
    },
    /// Accept an evicted key again.
    Readmit {
        /// Whose.
        key: PublicKey,
    },
    /// Refuse or accept new peers.
    Drain {
        /// Which.
        draining: bool,
        /// Whether the peers that are here stay, even if there are other gateways.
        #[serde(default)]
        stay: bool,
    },
    /// Revoke a token.
    Revoke {
        /// Which.
        token: TokenId,
        /// When it would have expired at the latest.
        until: UnixTime,
        /// Whether the peers that came with it end too.
        peers: bool,
    },
    /// Reload the file.
    Reload,
}

/// A response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// The gateway's status.
    Status(Box<GatewayStatus>),
    /// All leases.
    Peers(Vec<PeerEntry>),
    /// Success, with a message.
    Done(String),
    /// Failure.
    Problem {
        /// Why.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
}

fn socket(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension(EXTENSION)
}
