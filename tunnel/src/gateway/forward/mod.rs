//! What carries peers' packets on into the network behind the gateway, and back.
//!
//! ```text
//! tunnel -> source is the peer's own (engine) -> Forward: allow-list, rates, audit -> network
//! ```
//!
//! [`nat`] does it with sockets of this process and needs no privilege. Whatever does it obeys [`Access`] and tells
//! [`Audit`] what it did.

pub(super) mod nat;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::peers::Member;

/// Forwards what members send. Told of every member that comes, changes or goes.
pub(super) trait Forward: Send + Sync {
    /// What status and metrics call it.
    fn name(&self) -> &'static str;
    /// A member is there, or has changed.
    fn install(&self, member: &Arc<Member>);
    /// A member has gone: nothing of it passes any more.
    fn remove(&self, member: &Arc<Member>);
    /// Figures since the start.
    fn figures(&self) -> Figures;
}

/// What a forwarder has done and does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// TCP connections now.
    pub tcp_now: u64,
    /// TCP connections so far.
    pub tcp: u64,
    /// UDP flows now.
    pub udp_now: u64,
    /// UDP flows so far.
    pub udp: u64,
    /// Echo requests so far.
    pub echo: u64,
    /// Bytes from peers.
    pub bytes_out: u64,
    /// Bytes to peers.
    pub bytes_in: u64,
    /// Connections and datagrams that no rule allows.
    pub denied: u64,
    /// Connections that the destination refused, or that could not be made.
    pub failed: u64,
    /// Datagrams dropped: above a rate, too large, or too many flows.
    pub dropped: u64,
}
