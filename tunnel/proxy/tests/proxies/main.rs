//! The proxies over the operating system's sockets, against real clients, wrong ones, and servers that misbehave.

mod common;
mod dns;
mod forward;
mod http;
mod idle;
mod socks;
