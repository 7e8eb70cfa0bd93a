//! What goes into the machine and what comes out.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use ipnet::IpNet;
use warren_budget::Source;
use warren_wire::enrolment::HostInfo;
use warren_wire::token::{KeyId, TokenId};
use warren_wire::{Name, PublicKey, UnixTime};

use crate::pool::Full;
use crate::record::{Ending, Transaction};
use crate::step::TransactionId;

/// One reading of both clocks of a gateway.
///
/// All timers run on `mono`. Clocks of machines differ, so no decision compares a wall clock with a time that another
/// gateway has written, except for the ends of tokens, evictions, and revocations ([`crate::Statistics::skewed`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Time since any origin that stays the same for the life of a machine. Includes the time that the machine was suspended.
    pub mono: Duration,
    /// The system's clock. May be wrong, and may jump.
    pub wall: UnixTime,
}

/// A store that several gateways share, as one of them uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// This gateway.
    pub gateway: PublicKey,
    /// How long it serves peers without hearing from the store.
    pub grace: Duration,
}

/// Names a request until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// What the machine needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Ranges of the pool; they do not overlap.
    pub prefixes: Vec<IpNet>,
    /// Addresses in it that no peer gets.
    pub reserved: Vec<IpAddr>,
    /// How long a lease lives after a handshake: [`warren_wire::gateway::LEASE_MIN`] to
    /// [`warren_wire::gateway::LEASE_MAX`].
    pub ttl: Duration,
    /// How long its addresses then stay unused.
    pub quarantine: Duration,
    /// The longest life of a lease; a token may set a shorter one.
    pub max: Duration,
    /// How many leases one source may have, quarantined ones included; `None` is a quarter of the addresses, at least 8.
    pub per_source: Option<u32>,
    /// `None` if no other gateway uses the store.
    pub shared: Option<Shared>,
}

/// A request to join, its token and proof verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// The public key of the peer.
    pub key: PublicKey,
    /// With which token.
    pub token: TokenId,
    /// When the token expires.
    pub expires: UnixTime,
    /// Whether the token grants nothing any more, since it has expired or its key is retired: the holder of a live lease of it is
    /// told what it has, and nothing changes.
    pub over: bool,
    /// How many peers may use the token.
    pub uses: Option<NonZeroU32>,
    /// Which key signed the token.
    pub signer: KeyId,
    /// The longest life of a lease of the token; `None` is that of the gateway.
    pub max: Option<Duration>,
    /// Where the request came from, if it counts.
    pub source: Option<Source>,
    /// Which group the token puts it in.
    pub group: Name,
    /// Its host's name.
    pub host: HostInfo,
}

/// What a lease needs to be renewed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// Keys that sign tokens or have signed them.
    pub signers: BTreeSet<KeyId>,
    /// Groups of peers.
    pub groups: BTreeSet<Name>,
}

/// What a peer was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its addresses, one of each family of the pool, IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// Its group.
    pub group: Name,
    /// How long the lease lives after a handshake.
    pub ttl: Duration,
}

/// Why a request was refused. Nothing has been changed by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// As many peers as may have used the token.
    #[error("the token's use limit of {0} is reached; issue another token, or one with more uses")]
    UsedUp(NonZeroU32),
    /// Another key of the same host has taken its place, and has a live lease: two agents that replaced each other would never stop.
    #[error(
        "another agent with this host's name and token has replaced this one; give each its own --host-name, or issue a token with more uses"
    )]
    Replaced,
    /// An operator has revoked the token.
    #[error("an operator has revoked the token; request a new one")]
    Revoked,
    /// An operator has evicted another peer of the token.
    #[error("an operator has evicted a peer of this token until {0}; request a new token")]
    Suspended(UnixTime),
    /// The source has as many leases as it may have.
    #[error(
        "the source {source_address} has {limit} leases, the most for one source; wait, or raise leases_per_source"
    )]
    Source {
        /// The address that it enrolled from.
        source_address: IpAddr,
        /// The limit.
        limit: u32,
    },
    /// An operator has evicted the peer.
    #[error("an operator has evicted this key until {0}; contact the operator, or generate a new key")]
    Evicted(UnixTime),
    /// No address is free.
    #[error(transparent)]
    Full(#[from] Full),
    /// There is nothing to release.
    #[error("this key has no lease; it has expired or was never granted")]
    NoLease,
    /// What is to be readmitted has not been evicted.
    #[error("this key or token has not been evicted")]
    NotEvicted,
    /// Other gateways were faster too often.
    #[error("too many gateways changed the same records at the same time; try again")]
    Contended,
    /// The refusal would rest on the time of day.
    #[error(
        "this gateway's clock is in doubt: it differs from those of other gateways, or was just set; try again"
    )]
    Clock,
    /// The store did not answer.
    #[error("the lease store does not answer; try again")]
    Store,
}

/// A peer of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The public key of the peer.
    pub key: PublicKey,
    /// What it may send from, and nothing else.
    pub addresses: Vec<IpAddr>,
    /// What it may reach.
    pub group: Name,
    /// Its host's name.
    pub host: HostInfo,
    /// Another gateway that it is at, as far as known.
    pub elsewhere: Option<PublicKey>,
}

/// An action for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Give this to the store, and the store's answer to [`crate::Leases::settled`] within
    /// [`crate::COMMIT_WITHIN`]. Several may be under way.
    Commit(TransactionId, Transaction),
    /// This is a peer now, or has changed.
    Install(Peer),
    /// This is no peer any more.
    Remove(PublicKey),
    /// This gateway has ended a lease on its own account, for this reason: for the log.
    Ended(PublicKey, Ending),
    /// A request is done: granted, or done without a grant, or refused.
    Answer {
        /// The request that it answers.
        request: RequestId,
        /// How.
        result: Result<Option<Grant>, Refusal>,
    },
}

/// Counters since the start, and gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Leases that are peers.
    pub live: u64,
    /// Leases whose addresses wait.
    pub quarantined: u64,
    /// Enrolments written.
    pub enrolled: u64,
    /// Renewals written.
    pub renewed: u64,
    /// Leases ended here.
    pub ended: u64,
    /// Requests refused.
    pub refused: u64,
    /// Races lost.
    pub conflicts: u64,
    /// Transactions without an answer.
    pub unknown: u64,
    /// Records that could not be read.
    pub damaged: u64,
    /// Whether peers are kept out because the store has not been heard from.
    pub closed: bool,
    /// The largest difference between this gateway's clock and that of another, in seconds; positive if the other is ahead.
    pub skew: i64,
    /// Whether at least half of the gateways have another time than this one. It then removes no record whose end is a time.
    pub skewed: bool,
}
