//! The gateway's control socket: what operators ask of a running gateway.
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
    /// How the gateway does.
    Status,
    /// All leases.
    Peers,
    /// End a lease, and keep its key out until a time.
    Evict {
        /// Whose.
        key: PublicKey,
        /// Until when.
        until: UnixTime,
    },
    /// Let an evicted key in again.
    Readmit {
        /// Whose.
        key: PublicKey,
    },
    /// Take no new peers, or do again.
    Drain {
        /// Which.
        draining: bool,
        /// Whether the peers that are here stay, even if there are other gateways.
        #[serde(default)]
        stay: bool,
    },
    /// Make a token worthless.
    Revoke {
        /// Which.
        token: TokenId,
        /// When it would have expired at the latest.
        until: UnixTime,
        /// Whether the peers that came with it end too.
        peers: bool,
    },
    /// Read the file again.
    Reload,
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// How the gateway does.
    Status(Box<GatewayStatus>),
    /// All leases.
    Peers(Vec<PeerEntry>),
    /// It was done; what that was.
    Done(String),
    /// It was not done.
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
