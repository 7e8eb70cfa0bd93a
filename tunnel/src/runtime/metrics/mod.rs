//! Prometheus metrics, `/healthz` and `/readyz`.

mod render;
mod server;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub use render::render;
pub use server::{Answer, RequestHead, Server, Source};

use crate::runtime::status::Status;

/// Default address of the metrics. Loopback, since they reveal traffic and public keys.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9586);

/// A handshake older than this means the session is dead (REJECT_AFTER_TIME, whitepaper section 6.1).
const REJECT_AFTER_TIME: f64 = 180.0;

/// Whether traffic can pass: every peer with PersistentKeepalive has a recent handshake. Other peers may be idle.
///
/// # Errors
/// The peers without a recent handshake, one line each.
pub fn ready(status: &Status) -> Result<(), String> {
    let mut missing = String::new();
    for peer in &status.peers {
        if peer.persistent_keepalive.is_none_or(|seconds| seconds == 0) {
            continue;
        }
        let age = peer.last_handshake.map(|time| status.at - time);
        match age {
            Some(age) if age < REJECT_AFTER_TIME => {}
            Some(age) => missing += &format!("{}: last handshake {age:.0} s ago\n", peer.public_key),
            None => missing += &format!("{}: no handshake yet\n", peer.public_key),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}
