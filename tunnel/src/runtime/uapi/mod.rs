//! The control socket of user-space WireGuard implementations, through which `wg` works:
//! <https://www.wireguard.com/xplatform/>. Besides `get=1` and `set=1` it supports operations of our own, which begin with
//! `warren_`. Each is answered with one line and `errno=`.

mod answers;
mod client;
mod parse;
mod render;
mod server;
#[cfg(test)]
mod tests;

pub use answers::{Gateway, PONG_TIMEOUT_MAX, Pong, PongReason};
pub use client::{addresses_of, exchange, gateways_of, only_running, ping, running, status_of};
pub use parse::{MAX_REQUEST, PeerChange, PingRequest, Refusal, Request, Set, parse};
pub use render::{Device, DevicePeer, errno, get};
pub use server::Server;
