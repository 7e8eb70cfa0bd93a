//! The proxies over the operating system's sockets, against real clients, wrong ones, and servers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod dns;
mod forward;
mod http;
mod idle;
mod socks;
