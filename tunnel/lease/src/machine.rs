//! The machine: requests, handshakes, changes and time in; transactions, peers and answers out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use ipnet::IpNet;
use warren_wire::enrolment::HostInfo;
use warren_wire::gateway::LEASE_MIN;
use warren_wire::token::TokenId;
use warren_wire::{Name, PublicKey, UnixTime};

use crate::pool::{Family, Full, Pool, PoolError, Ranges};
use crate::record::{Change, Ending, Key, Lease, RevokedRecord, State, Transaction};
use crate::replica::Replica;
use crate::step::{Intent, Step, TransactionId};

/// The longest time between two calls of [`Leases::handle_timeout`].
const CALL_INTERVAL: Duration = Duration::from_secs(30);
/// After a longer time without a call the process was suspended or the clock was set: handshakes may have gone unseen.
const SUSPENDED_AFTER: Duration = Duration::from_secs(90);
/// When a step that no request waits for is tried again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

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
    /// How long a lease lives after a handshake: [`LEASE_MIN`] to [`warren_wire::gateway::LEASE_MAX`].
    pub ttl: Duration,
    /// How long its addresses then stay unused.
    pub quarantine: Duration,
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
    /// How many peers may use the token.
    pub uses: Option<NonZeroU32>,
    /// Which group the token puts it in.
    pub group: Name,
    /// Its host's name.
    pub host: HostInfo,
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
    #[error("the token's use limit of {0} is reached; issue a token with more uses")]
    UsedUp(NonZeroU32),
    /// An operator has revoked the token.
    #[error("an operator has revoked the token; request a new one")]
    Revoked,
    /// An operator has evicted the peer.
    #[error("an operator has evicted this key until {0}; contact the operator, or generate a new key")]
    Evicted(UnixTime),
    /// No address is free.
    #[error(transparent)]
    Full(#[from] Full),
    /// There is nothing to release.
    #[error("this key has no lease; it has expired or was never granted")]
    NoLease,
    /// The key to readmit has not been evicted.
    #[error("this key has not been evicted")]
    NotEvicted,
    /// Other gateways were faster too often.
    #[error("too many gateways changed the same records at the same time; try again")]
    Contended,
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
}

/// An action for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Give this to the store, and the store's answer to [`Leases::settled`] within [`crate::COMMIT_WITHIN`]. Several
    /// may be under way.
    Commit(TransactionId, Transaction),
    /// This is a peer now, or has changed.
    Install(Peer),
    /// This is no peer any more.
    Remove(PublicKey),
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
}

/// Leases as one gateway sees and changes them. Time is an argument: that of the system's clock, which gateways of
/// one fabric must have the same to within some seconds.
#[derive(Debug)]
pub struct Leases {
    pub(crate) settings: Settings,
    pub(crate) replica: Replica,
    pub(crate) pool: Pool,
    /// Addresses of steps under way.
    pub(crate) reserved: BTreeSet<IpAddr>,
    /// Free slots of tokens, and the limit for which they were computed.
    pub(crate) slots: BTreeMap<TokenId, (u32, Ranges)>,
    pub(crate) reserved_slots: BTreeSet<(TokenId, u32)>,
    pub(crate) steps: BTreeMap<TransactionId, Step>,
    pub(crate) next_step: u64,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) statistics: Statistics,
    /// Signs of life that have not been written down.
    seen: BTreeMap<PublicKey, UnixTime>,
    /// Whose renewal is under way.
    pub(crate) renewing: BTreeSet<PublicKey>,
    deadlines: BTreeSet<(UnixTime, Key)>,
    due: BTreeMap<Key, UnixTime>,
    last_call: UnixTime,
    /// Until then no lease expires.
    grace: UnixTime,
}

impl Leases {
    /// A machine that knows nothing yet: give it the store's contents by [`Leases::restore`] first.
    ///
    /// # Errors
    /// The pool has no address.
    pub fn new(settings: Settings, now: UnixTime) -> Result<Self, PoolError> {
        Ok(Self {
            pool: Pool::new(&settings.prefixes, &settings.reserved)?,
            settings,
            replica: Replica::default(),
            reserved: BTreeSet::new(),
            slots: BTreeMap::new(),
            reserved_slots: BTreeSet::new(),
            steps: BTreeMap::new(),
            next_step: 1,
            outputs: VecDeque::new(),
            statistics: Statistics::default(),
            seen: BTreeMap::new(),
            renewing: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            due: BTreeMap::new(),
            last_call: now,
            grace: now.plus(LEASE_MIN),
        })
    }

    /// Loads the whole contents of the store at this revision: at the start, and when changes were missed.
    pub fn restore(&mut self, now: UnixTime, contents: &[Change], revision: u64) {
        let there: BTreeSet<Key> = contents.iter().map(|change| change.key).collect();
        let gone = self.replica.keys().into_iter().filter(|key| !there.contains(key));
        let gone: Vec<Change> = gone.map(|key| Change { key, value: None, version: revision }).collect();
        self.apply_changes(now, &gone);
        self.apply(now, contents, revision);
    }

    /// Applies changes of the store, in order; all changes up to this revision are then known.
    pub fn apply(&mut self, now: UnixTime, changes: &[Change], revision: u64) {
        self.apply_changes(now, changes);
        self.replica.settled(revision);
    }

    /// A peer wants to join.
    pub fn enrol(&mut self, now: UnixTime, request: RequestId, enrolment: Enrolment) {
        self.start(now, Intent::Enrol(request, enrolment), 1);
    }

    /// Releases a peer's lease.
    pub fn release(&mut self, now: UnixTime, request: RequestId, key: PublicKey) {
        self.start(now, Intent::Release(request, key), 1);
    }

    /// An operator ends a peer's lease and keeps its key out until a time.
    pub fn evict(&mut self, now: UnixTime, request: RequestId, key: PublicKey, until: UnixTime) {
        self.start(now, Intent::Evict(request, key, until), 1);
    }

    /// An operator lets an evicted key in again.
    pub fn readmit(&mut self, now: UnixTime, request: RequestId, key: PublicKey) {
        self.start(now, Intent::Readmit(request, key), 1);
    }

    /// An operator revokes a token, and with `peers` all leases that came of it. The record is kept until a time,
    /// which is not before the token's expiry.
    pub fn revoke(
        &mut self,
        now: UnixTime,
        request: RequestId,
        token: TokenId,
        until: UnixTime,
        peers: bool,
    ) {
        self.start(now, Intent::Revoke(request, token, RevokedRecord { until, peers }), 1);
    }

    /// The last handshake with a peer was then. Tell it for every peer every few seconds: what is not new costs
    /// nothing, and only what is worth it is written.
    pub fn seen(&mut self, now: UnixTime, key: PublicKey, at: UnixTime) {
        let Some(entry) = self.replica.leases.get(&key) else { return };
        let State::Live { seen: written, .. } = entry.value.state else { return };
        // A handshake cannot have been later than now, nor one before the lease be of it.
        let at = at.min(now);
        let known = self.seen.get(&key).copied().unwrap_or(written).max(written);
        if at > known {
            self.seen.insert(key, at);
        }
        if at.max(known).since(written) >= self.renewal() && self.renewing.insert(key) {
            self.start(now, Intent::Renew(key), 1);
        }
    }

    /// When to call [`Leases::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> UnixTime {
        let latest = self.last_call.plus(CALL_INTERVAL);
        self.deadlines.first().map_or(latest, |(deadline, _)| latest.min(*deadline))
    }

    /// Runs due timers.
    pub fn handle_timeout(&mut self, now: UnixTime) {
        if now.since(self.last_call) > SUSPENDED_AFTER {
            self.grace = now.plus(LEASE_MIN);
        }
        self.last_call = now;
        while let Some((deadline, key)) =
            self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now)
        {
            self.deadlines.remove(&(deadline, key));
            self.due.remove(&key);
            self.handle_deadline(now, key);
        }
    }

    /// What to do next. To be called until `None` after every other call.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Peers of the interface.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + '_ {
        let live = self.replica.leases.iter().filter(|(_, entry)| entry.value.is_live());
        live.map(|(key, entry)| peer(*key, &entry.value))
    }

    /// All leases, those in quarantine too.
    pub fn leases(&self) -> impl Iterator<Item = (PublicKey, &Lease)> {
        self.replica.leases.iter().map(|(key, entry)| (*key, &entry.value))
    }

    /// Counters and gauges.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics { damaged: self.replica.damaged, ..self.statistics }
    }

    /// A record's time has come.
    fn handle_deadline(&mut self, now: UnixTime, key: Key) {
        let Key::Lease(peer) = key else {
            self.schedule(key, now.plus(RETRY_INTERVAL));
            return self.start(now, Intent::Sweep(key), 1);
        };
        let Some(lease) = self.replica.leases.get(&peer).map(|entry| &entry.value) else { return };
        let State::Live { ttl, .. } = lease.state else {
            self.schedule(key, now.plus(RETRY_INTERVAL));
            return self.start(now, Intent::Forget(peer), 1);
        };
        if self.is_revoked(lease.token) {
            self.schedule(key, now.plus(RETRY_INTERVAL));
            return self.start(now, Intent::End(peer, Ending::Revoked), 1);
        }
        let seen = self
            .seen
            .get(&peer)
            .map_or(UnixTime::default(), |seen| seen.plus(Duration::from_secs(ttl.into())));
        let until = lease.until().max(seen).max(self.grace);
        if until > now {
            return self.schedule(key, until);
        }
        self.schedule(key, now.plus(RETRY_INTERVAL));
        self.start(now, Intent::End(peer, Ending::Expired), 1);
    }

    pub(crate) fn apply_changes(&mut self, now: UnixTime, changes: &[Change]) {
        for change in changes {
            if self.replica.is_news(change) {
                self.apply_change(now, change);
            }
        }
    }

    fn apply_change(&mut self, now: UnixTime, change: &Change) {
        let lease = |machine: &Self, peer| machine.replica.leases.get(&peer).map(|entry| entry.value.clone());
        let before = if let Key::Lease(peer) = change.key { lease(self, peer) } else { None };
        let deadline = self.replica.apply(change);
        self.unschedule(change.key);
        if let Some(deadline) = deadline {
            self.schedule(change.key, deadline);
        }
        match change.key {
            Key::Lease(peer) => {
                let after = lease(self, peer);
                self.count(before.as_ref(), after.as_ref());
                self.report_change(now, peer, before.as_ref(), after.as_ref());
            }
            Key::Address(address) => self.refresh_address(address),
            Key::Use(token, slot) => self.refresh_slot(token, slot),
            Key::Revoked(token) if self.is_revoked(token) => {
                let of_token = self.replica.leases.iter();
                let of_token =
                    of_token.filter(|(_, entry)| entry.value.token == token && entry.value.is_live());
                for peer in of_token.map(|(peer, _)| *peer).collect::<Vec<_>>() {
                    self.unschedule(Key::Lease(peer));
                    self.schedule(Key::Lease(peer), now);
                }
            }
            Key::Revoked(_) | Key::Evicted(_) => {}
        }
    }

    /// Reports a peer's change to the interface.
    fn report_change(
        &mut self,
        now: UnixTime,
        key: PublicKey,
        before: Option<&Lease>,
        after: Option<&Lease>,
    ) {
        let was = before.filter(|lease| lease.is_live()).map(|lease| peer(key, lease));
        let is = after.filter(|lease| lease.is_live()).map(|lease| peer(key, lease));
        if was == is {
            return;
        }
        match is {
            Some(peer) => {
                if after.is_some_and(|lease| self.is_revoked(lease.token)) {
                    self.unschedule(Key::Lease(key));
                    self.schedule(Key::Lease(key), now);
                }
                self.outputs.push_back(Output::Install(peer));
            }
            None => {
                self.seen.remove(&key);
                self.outputs.push_back(Output::Remove(key));
            }
        }
    }

    fn count(&mut self, before: Option<&Lease>, after: Option<&Lease>) {
        let statistics = &mut self.statistics;
        let mut add = |lease: Option<&Lease>, by: i64| match lease {
            Some(lease) if lease.is_live() => statistics.live = statistics.live.saturating_add_signed(by),
            Some(_) => statistics.quarantined = statistics.quarantined.saturating_add_signed(by),
            None => {}
        };
        add(before, -1);
        add(after, 1);
    }

    fn is_revoked(&self, token: TokenId) -> bool {
        self.replica.revoked.get(&token).is_some_and(|record| record.value.peers)
    }

    fn schedule(&mut self, key: Key, at: UnixTime) {
        self.deadlines.insert((at, key));
        self.due.insert(key, at);
    }

    fn unschedule(&mut self, key: Key) {
        if let Some(at) = self.due.remove(&key) {
            self.deadlines.remove(&(at, key));
        }
    }

    pub(crate) fn refresh_address(&mut self, address: IpAddr) {
        if self.reserved.contains(&address) || self.replica.has_address(address) {
            self.pool.take(address);
        } else {
            self.pool.give(address);
        }
    }

    pub(crate) fn refresh_slot(&mut self, token: TokenId, slot: u32) {
        let taken = self.reserved_slots.contains(&(token, slot)) || self.replica.used(token, slot).is_some();
        if !taken && self.replica.taken(token).next().is_none() {
            // Nothing is left to remember of the token.
            self.slots.remove(&token);
        } else if let Some((_, free)) = self.slots.get_mut(&token).filter(|(limit, _)| slot < *limit) {
            if taken { free.take(slot.into()) } else { free.give(slot.into()) }
        }
    }

    pub(crate) fn answer(&mut self, request: RequestId, result: Result<Option<Grant>, Refusal>) {
        self.statistics.refused += u64::from(result.is_err());
        self.outputs.push_back(Output::Answer { request, result });
    }

    pub(crate) fn grant(&self, key: &PublicKey) -> Option<Grant> {
        let lease = &self.replica.leases.get(key)?.value;
        let State::Live { ttl, .. } = lease.state else { return None };
        let ttl = Duration::from_secs(ttl.into());
        Some(Grant { addresses: lease.addresses.clone(), group: lease.group.clone(), ttl })
    }

    /// The lease with its last sign of life; `None` if that is written down already.
    pub(crate) fn renewed(&self, key: PublicKey) -> Option<Lease> {
        let lease = &self.replica.leases.get(&key)?.value;
        let State::Live { seen: written, .. } = lease.state else { return None };
        let seen = self.seen.get(&key).copied().filter(|seen| *seen > written)?;
        Some(Lease { state: State::Live { seen, ttl: self.ttl_seconds() }, ..lease.clone() })
    }

    /// How old the written sign of life must be for a new one to be written: after a crash of all gateways a lease
    /// still has three quarters of its life from its last handshake on.
    pub(crate) fn renewal(&self) -> Duration {
        self.settings.ttl / 4
    }

    pub(crate) fn ttl_seconds(&self) -> u32 {
        u32::try_from(self.settings.ttl.as_secs()).unwrap_or(u32::MAX)
    }

    /// Number of quarantined addresses, and when the first of them becomes free.
    pub(crate) fn quarantined(&self, family: Family) -> (u128, Option<UnixTime>) {
        let waiting = self.replica.leases.values().map(|entry| &entry.value).filter(|lease| !lease.is_live());
        let of_family = waiting
            .filter(|lease| lease.addresses.iter().any(|address| Family::of(*address) == family))
            .map(Lease::until);
        (of_family.clone().count() as u128, of_family.min())
    }
}

fn peer(key: PublicKey, lease: &Lease) -> Peer {
    Peer { key, addresses: lease.addresses.clone(), group: lease.group.clone(), host: lease.host.clone() }
}
