//! Keys and configuration files of the tunnel, without I/O.
//!
//! * [`key`]: X25519 keys and preshared keys, in base64 (files) and hexadecimal (UAPI).
//! * [`config`]: the wg-quick file format, read with positions and hints, and printed again.
//! * [`stream`]: WireGuard datagrams over a stream of bytes.
//!
//! The crate reads no clock, file, socket or environment, and secrets appear in no `Debug` output and in no
//! error.

pub mod config;
pub mod key;
pub mod stream;

pub use config::{Config, ParseError};
pub use key::{KeyError, PresharedKey, PrivateKey, PublicKey};
