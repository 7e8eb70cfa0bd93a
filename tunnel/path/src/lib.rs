//! The path of a peer's traffic, without I/O.
//!
//! * [`carrier`]: UDP or a TLS connection to one peer.
//! * [`direct`]: a direct path to another pod, or the gateway.
//! * [`failover`]: the gateway, of several, that carries a pod's traffic.
//!
//! All decide from the same observations of WireGuard ([`warren_proto::engine::Liveness`]), which are arguments, as is the
//! time. The results are actions for the caller, who owns sockets and threads.

pub mod carrier;
pub mod direct;
pub mod failover;
