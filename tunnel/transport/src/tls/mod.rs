//! Datagrams over TLS 1.3 connections: the frames of [`warren_wire::stream`].
//!
//! ```text
//! gateway   Listener (thread: accept, handshake, HTTP) --adopt--+
//! agent     dial (one thread an attempt) ---------------adopt---+--> Streams (table, epoll)
//!                                                                     |            |
//!           any thread: Stream::send --seal--> socket <--- backlog ---+   Receiver (one thread): datagrams,
//!                                                                         pings, what waited for the socket
//! ```
//!
//! * A send never waits. Datagrams go into TLS records of 16 KB, as many as there are into one call. What the socket does
//!   not take waits in a [`queue`] that is short in bytes and in time (CoDel): inner TCP must see congestion as loss, or
//!   two layers of it would retransmit on top of each other.
//! * Both directions of a connection share the TLS state under a lock that is held for one record, not for a call.
//! * A ping is due when what was sent is not answered by anything for a second, or when all is silent; no answer to it for
//!   some seconds ends the connection.
//! * Who connects is nobody until a WireGuard message from there is authentic: until then it has little time and few bytes.

mod dial;
mod exchange;
mod identity;
mod limits;
mod listen;
mod proxy;
mod queue;
mod receive;
mod session;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod trust;

pub use dial::{DialError, Target, dial};
pub use exchange::{Exchange, exchange};
pub use identity::{Identity, IdentityError};
pub use limits::ListenLimits;
pub use listen::{Answer, Answering, ListenStats, Listener, Reply, Request};
pub use proxy::{Proxy, ProxyError};
pub use receive::{Arrival, Receiver};
pub use stream::{Stream, StreamStats};
pub use streams::{Closed, Opened, Role, Streams};
pub use trust::{Trust, pin_of_pem};
pub use warren_wire::{Pin, PinError, Pins};

/// Plain bytes of one TLS record (RFC 8446 section 5.1).
const RECORD: usize = 16 << 10;
