//! The control socket of user-space WireGuard implementations, through which `wg` works:
//! <https://www.wireguard.com/xplatform/>. Besides `get=1` and `set=1` it supports two operations of our own,
//! `warren_status=1` and `warren_reload=1`, each answered with one line and `errno=`.

mod client;
mod parse;
mod render;
mod server;
#[cfg(test)]
mod tests;

pub use client::{exchange, running, status_of};
pub use parse::{MAX_REQUEST, PeerChange, Refusal, Request, Set, parse};
pub use render::{Device, DevicePeer, errno, get};
pub use server::Server;
