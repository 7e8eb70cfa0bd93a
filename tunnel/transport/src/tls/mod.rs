//! Datagrams over TLS 1.3 connections: the frames of [`warren_wire::stream`].
//!
//! ```text
//! gateway   Listener (thread: accept, handshake, HTTP) --adopt--+
//! agent     dial (one thread an attempt) ---------------adopt---+--> Streams (table, epoll)
//!                                                                     |            |
//!           any thread: Bundle::send --seal--> socket <--- backlog ---+   Receiver (one thread): datagrams,
//!                                                                         pings, what waited for the socket
//! ```
//!
//! * A peer is reached by a `bundle` of one or several connections. The table has both.
//! * A send never blocks. Datagrams are packed into TLS records of 16 KB. Data that the socket does not accept waits in a
//!   `queue` that is bounded in bytes and in time (CoDel): inner TCP must see congestion as loss, otherwise two
//!   layers of TCP would retransmit on top of each other.
//! * Both directions of a connection share the TLS state under a lock that is held per record, not per call.
//! * A ping is sent when sent data gets no response for a second, or when the connection is silent. Without an answer to
//!   it within a few seconds, the connection ends.
//! * A connection is a stranger's until an authentic WireGuard message arrives on it. Until then its time, its turns on the
//!   receiving thread, and every byte and frame on it are limited, and so is the number of such connections of a source.
//! * Of the pings in a turn only the last is answered, none while a pong waits for the socket, and few per second.

mod answer;
mod bundle;
#[cfg(test)]
mod bundle_tests;
mod dial;
mod exchange;
mod identity;
mod limits;
mod listen;
mod proxy;
mod queue;
mod receive;
mod refusals;
mod session;
mod stream;
mod streams;
#[cfg(test)]
mod tests;
mod trust;
mod turns;

pub use answer::{Reply, Request};
pub use bundle::{Bundle, BundleStats};
pub use dial::{DialError, Target, dial, dial_another};
pub use exchange::{Exchange, exchange};
pub use identity::{EXPOSED, Identity, IdentityError};
pub use limits::ListenLimits;
pub use listen::{Answer, Answering, ListenStats, Listener};
pub use proxy::{Proxy, ProxyError};
pub use receive::{Arrival, Receiver};
pub use streams::{Closed, Opened, Role, Streams};
pub use trust::{Trust, pin_of_pem};
pub use warren_wire::{Pin, PinError, Pins};

/// Plain bytes of one TLS record (RFC 8446 section 5.1).
const RECORD: usize = 16 << 10;
