//! TCP, UDP and ICMP in user space, sans-IO: time, randomness and bytes are arguments.
//!
//! ```text
//!  IP packets -> Stack::input -> demux -> tcp -> receiver -> recv
//!                                  |       |
//!                                udp     sender <- send
//!                                icmp      |  scoreboard, rack, rtt, rate, bbr|cubic, pacing
//!  IP packets <- Stack::poll <-------------+        timers in a wheel, buffers from one budget
//! ```
//!
//! A caller feeds packets, asks for packets in batches of about 64 that have room for a tunnel's header and tag, and
//! calls again at [`Stack::next_timeout`]. The same calls with the same seed give the same packets.
//!
//! What is built: RFC 9293 (TCP), 5681 and 6582 (loss recovery without SACK), 2018 and 2883 (SACK, DSACK), 6298 (RTO),
//! 6675 and 8985 (RACK-TLP), 6928 (initial window), 7323 (timestamps, window scaling, PAWS), 5961 (blind attacks),
//! 6528 (sequence numbers), 6056 (ports by double hashing), 9438 and 9406 (CUBIC, HyStart++), 6937 (PRR), BBR version 3, 3522
//! (Eifel), 3168 (ECN), 1191, 8201 and 5927 (path MTU, believed only when the quoted segment is outstanding), 8899 (its search upwards), 768,
//! 792, 4443, 815 and 5722 (reassembly).
//!
//! What is not: sending IP fragments, urgent data, TCP Fast Open, and the scopes of IPv6 addresses.

mod assembler;
mod batch;
mod bbr;
mod buffer;
mod checksum;
mod config;
mod congestion;
mod cubic;
mod demux;
mod ecn;
mod fragments;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod icmp;
mod listen;
mod pacing;
mod rack;
mod random;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
mod seq;
mod stack;
mod tcp;
mod timer;
mod udp;
mod wire;

pub use batch::{BATCH, Batch, HEADROOM, Place, TAILROOM};
pub use config::{Config, Keepalive};
pub use congestion::Congestion;
pub use ecn::Ecn;
pub use icmp::Unreachable;
pub use listen::{Listen, ListenerId};
pub use stack::{
    ConnectError, Echo, Event, Memory, Passes, Ping, Pong, RecvError, Stack, Stats, StreamId, StreamInfo,
};
pub use tcp::{CloseReason, State};
pub use udp::{Datagram, SocketId, UdpError, Undelivered};
pub use wire::{MAX_MTU, MIN_MTU};
