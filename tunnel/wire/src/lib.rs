//! Keys, tokens, enrolment messages and configuration files of the tunnel, without I/O.
//!
//! * [`key`]: X25519 keys and preshared keys, in base64 (files) and hexadecimal (UAPI).
//! * [`config`]: the wg-quick file format, read with positions and hints, and printed again.
//! * [`Pin`]: what a gateway's certificate is known by.
//! * [`stream`]: WireGuard datagrams over a stream of bytes.
//! * [`token`]: enrolment tokens, their claims and the keys that sign them.
//! * [`enrolment`]: what a pod and a gateway say to each other when the pod joins.
//! * [`gateway`]: the gateway's configuration file.
//! * [`fetch`]: which files a gateway fetches from a secret store.
//! * [`topology`]: star, mesh or ring of networks, as each one's gateway has it in its file.
//!
//! The crate reads no clock, file, socket or environment, and secrets appear in no `Debug` output and in no
//! error.

pub mod config;
pub mod enrolment;
pub mod fetch;
pub mod gateway;
pub mod key;
pub mod name;
mod pin;
pub mod stream;
mod text;
pub mod time;
pub mod token;
pub mod topology;

pub use config::{Config, ParseError};
pub use key::{KeyError, PresharedKey, PrivateKey, PublicKey};
pub use name::Name;
pub use pin::{PINS_MAX, Pin, PinError, Pins};
pub use time::UnixTime;
pub use token::{Token, TokenError};
