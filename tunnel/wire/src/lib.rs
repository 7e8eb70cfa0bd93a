//! Keys, tokens, enrolment messages and configuration files of the tunnel, without I/O.
//!
//! * [`key`]: X25519 keys and preshared keys, in base64 (files) and hexadecimal (UAPI).
//! * [`config`]: the wg-quick file format: a parser whose errors have positions and hints, and a printer.
//! * [`Pin`]: the hash that identifies a gateway's certificate.
//! * [`stream`]: WireGuard datagrams over a stream of bytes.
//! * [`token`]: enrolment tokens, their claims and the keys that sign them.
//! * [`enrolment`]: the messages between a pod and a gateway when the pod joins.
//! * [`gateway`]: the gateway's configuration file.
//! * [`partition`]: the domains of AWS, by region.
//! * [`reserved`]: destinations that no rule of a gateway opens.
//! * [`fetch`]: the files that a gateway fetches from a secret store.
//! * [`topology`]: a star, mesh or ring of networks, and the resulting sections of each gateway's file.
//!
//! The crate reads no clock, file, socket or environment. Secrets never appear in `Debug` output or errors.

pub mod config;
pub mod enrolment;
pub mod fetch;
pub mod gateway;
pub mod key;
pub mod name;
pub mod partition;
mod pin;
pub mod reserved;
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
