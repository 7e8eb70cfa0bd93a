//! WireGuard without I/O: sessions, timers and routing tables.
//!
//! Time, randomness and datagrams are arguments; the crate has no clock, socket, file or thread.
//!
//! * [`engine`]: the control plane of one interface. One owner, `&mut self`: handshakes, timers, peers.
//! * [`probe`]: whether the other end of a path answers, without an engine.
//! * [`plane`]: the data path's view of it, shared, with lock-free look-ups.
//! * [`transport`]: sealing and opening of data messages.
//! * [`allowed`]: the allowed-IPs table.
//! * [`time`]: clocks as arguments, and the constants of whitepaper section 6.1.
//!
//! Sections are those of <https://www.wireguard.com/papers/wireguard.pdf>.

pub mod allowed;
pub mod engine;
mod handshake;
pub mod plane;
pub mod probe;
pub mod time;
pub mod transport;

pub use time::Now;
