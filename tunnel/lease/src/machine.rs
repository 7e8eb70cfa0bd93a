//! The machine: requests, handshakes, changes and time in; transactions, peers and answers out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use warren_wire::gateway::LEASE_MIN;
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use crate::contact::Contact;
use crate::life::OfSource;
use crate::pool::{Family, Pool, PoolError, Ranges};
use crate::record::{Change, Ending, Key, Lease, RevokedRecord, State};
use crate::replica::Replica;
use crate::step::{COMMIT_WITHIN, Intent, Step, TransactionId};
use crate::types::{Enrolment, Grant, Now, Output, Peer, Refusal, RequestId, Settings, Statistics, Trust};

/// The longest time between two calls of [`Leases::handle_timeout`].
const CALL_INTERVAL: Duration = Duration::from_secs(30);
/// After a longer time without a call the machine was suspended or very busy: handshakes may have gone unseen.
const SUSPENDED_AFTER: Duration = Duration::from_secs(90);
/// When a step that no request waits for is tried again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// How long records of tokens and evictions are kept beyond their end: a gateway whose clock is slow still needs them.
pub(crate) const RECORD_MARGIN: Duration = Duration::from_secs(3600);

/// A gateway that has not written a beat for so long has ended.
const BEAT_KEPT: Duration = Duration::from_secs(3600);

/// Leases as one gateway sees and changes them. Time is an argument.
///
/// A lease ends when its record has not changed for what was left of its TTL when it was written, measured by this gateway's
/// monotonic clock. Times in records are for people. This tolerates any difference between clocks, as leader election in
/// Kubernetes does.
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
    /// Handshakes that have not been written down.
    pub(crate) seen: BTreeMap<PublicKey, Duration>,
    /// Whose renewal is under way.
    pub(crate) renewing: BTreeSet<PublicKey>,
    /// When the present version of each lease was first seen here.
    pub(crate) observed: BTreeMap<PublicKey, Duration>,
    /// The version of each lease that this gateway wrote, and when it sent it: the record is no older than that.
    pub(crate) written: BTreeMap<PublicKey, (u64, Duration)>,
    /// Peers of the interface.
    installed: BTreeMap<PublicKey, Peer>,
    pub(crate) contact: Option<Contact>,
    /// `None` trusts every lease.
    pub(crate) trust: Option<Trust>,
    /// Leases of each source, quarantined ones included.
    pub(crate) by_source: BTreeMap<IpAddr, OfSource>,
    deadlines: BTreeSet<(Duration, Key)>,
    due: BTreeMap<Key, Duration>,
    last_call: Duration,
    /// Until then no lease expires.
    grace: Duration,
}

impl Leases {
    /// A machine that knows nothing yet: give it the store's contents by [`Leases::restore`] first.
    ///
    /// # Errors
    /// The pool has no address.
    pub fn new(settings: Settings, now: Now) -> Result<Self, PoolError> {
        Ok(Self {
            pool: Pool::new(&settings.prefixes, &settings.reserved)?,
            contact: settings.shared.map(|shared| Contact::new(shared, now)),
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
            observed: BTreeMap::new(),
            written: BTreeMap::new(),
            installed: BTreeMap::new(),
            trust: None,
            by_source: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            due: BTreeMap::new(),
            last_call: now.mono,
            grace: now.mono + LEASE_MIN,
        })
    }

    /// Loads the whole contents of the store at this revision: at the start, and when changes were missed.
    pub fn restore(&mut self, now: Now, contents: &[Change], revision: u64) {
        let there: BTreeSet<Key> = contents.iter().map(|change| change.key).collect();
        let gone = self.replica.keys().into_iter().filter(|key| !there.contains(key));
        let gone: Vec<Change> = gone.map(|key| Change { key, value: None, version: revision }).collect();
        self.apply_changes(now, &gone);
        // Who is kept out is known before anybody is let in.
        let bars = contents.iter().filter(|change| matches!(change.key, Key::Revoked(_) | Key::Evicted(_)));
        self.apply_changes(now, bars);
        self.apply(now, contents, revision);
    }

    /// Applies changes of the store, in order; all changes up to this revision are then known.
    pub fn apply(&mut self, now: Now, changes: &[Change], revision: u64) {
        self.apply_changes(now, changes);
        self.replica.settled(revision);
        if let Some(contact) = &mut self.contact {
            contact.applied(revision);
        }
        self.check_contact(now);
    }

    /// A peer wants to join.
    pub fn enrol(&mut self, now: Now, request: RequestId, enrolment: Enrolment) {
        self.start(now, Intent::Enrol(request, enrolment), 1);
    }

    /// Releases a peer's lease.
    pub fn release(&mut self, now: Now, request: RequestId, key: PublicKey) {
        self.start(now, Intent::Release(request, key), 1);
    }

    /// An operator ends a peer's lease and keeps its key out until a time.
    pub fn evict(&mut self, now: Now, request: RequestId, key: PublicKey, until: UnixTime) {
        self.start(now, Intent::Evict(request, key, until), 1);
    }

    /// An operator lets an evicted key in again.
    pub fn readmit(&mut self, now: Now, request: RequestId, key: PublicKey) {
        self.start(now, Intent::Readmit(request, key), 1);
    }

    /// An operator revokes a token, and with `peers` all leases that came of it. The record is kept until a time,
    /// which is not before the token's expiry.
    pub fn revoke(&mut self, now: Now, request: RequestId, token: TokenId, until: UnixTime, peers: bool) {
        let record = RevokedRecord { until, peers, known: false, evicted: BTreeMap::new() };
        self.start(now, Intent::Revoke(request, token, record), 1);
    }

    /// An operator accepts a revoked or evicted token again.
    pub fn restore_token(&mut self, now: Now, request: RequestId, token: TokenId) {
        self.start(now, Intent::Accept(request, token), 1);
    }

    /// Leases that are served here and that this does not cover end within seconds.
    pub fn set_trust(&mut self, trust: Trust) {
        self.trust = Some(trust);
    }

    /// The last handshake with a peer was then, by the monotonic clock. Report it for every peer every few seconds: what is
    /// not new costs nothing, and only what is worth it is written.
    pub fn seen(&mut self, now: Now, key: PublicKey, at: Duration) {
        self.check_contact(now);
        let Some(observed) = self.observed.get(&key).copied() else { return };
        if !self.installed.contains_key(&key) {
            return;
        }
        if !self.is_trusted(&key) {
            let soon = now.mono + RETRY_INTERVAL;
            if self.due.get(&Key::Lease(key)).is_none_or(|at| *at > soon) {
                self.hurry(now, key);
            }
            return;
        }
        // A handshake cannot have been later than now.
        let at = at.min(now.mono);
        let known = self.seen.entry(key).or_insert(at);
        *known = at.max(*known);
        let known = *known;
        // A record of another gateway may be much older than its arrival here.
        let worth = match self.written(&key) {
            _ if self.is_closing(&key) => true,
            Some(sent) => known.saturating_sub(sent) >= self.renewal(),
            None => known > observed,
        };
        if worth && self.renewing.insert(key) {
            self.start(now, Intent::Renew(key), 1);
        }
    }

    /// A peer that was at another gateway has come to this one. If that cannot be stored, the peer is installed again.
    pub fn arrived(&mut self, now: Now, key: PublicKey) {
        if self.is_elsewhere(&key) {
            self.start(now, Intent::Arrive(key), 1);
        }
    }

    /// When to call [`Leases::handle_timeout`], by the monotonic clock.
    #[must_use]
    pub fn poll_timeout(&self) -> Duration {
        let latest = self.last_call + CALL_INTERVAL;
        let first = self.deadlines.first().map_or(latest, |(deadline, _)| latest.min(*deadline));
        self.contact.as_ref().map_or(first, |contact| first.min(contact.deadline()))
    }

    /// Runs due timers.
    pub fn handle_timeout(&mut self, now: Now) {
        if now.mono.saturating_sub(self.last_call) > SUSPENDED_AFTER {
            self.grace = now.mono + LEASE_MIN;
        }
        self.last_call = now.mono;
        self.check_contact(now);
        if self.contact.as_mut().is_some_and(|contact| contact.beat_due(now.mono)) {
            self.start(now, Intent::Beat(now.mono), 1);
        }
        while let Some((deadline, key)) =
            self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now.mono)
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
        self.installed.values().cloned()
    }

    /// All leases, those in quarantine too.
    pub fn leases(&self) -> impl Iterator<Item = (PublicKey, &Lease)> {
        self.replica.leases.iter().map(|(key, entry)| (*key, &entry.value))
    }

    /// Counters and gauges.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let (closed, (skew, skewed)) = self
            .contact
            .as_ref()
            .map_or((false, (0, false)), |contact| (!contact.open(), contact.skew(self.last_call)));
        Statistics { damaged: self.replica.damaged, closed, skew, skewed, ..self.statistics }
    }

    /// A record's time has come.
    fn handle_deadline(&mut self, now: Now, key: Key) {
        let Key::Lease(peer) = key else {
            self.schedule(key, now.mono + RETRY_INTERVAL);
            let until = self.replica.until(&key).unwrap_or_default().plus(RECORD_MARGIN);
            if until <= now.wall && !self.doubts_clock(now) {
                self.start(now, Intent::Sweep(key), 1);
            }
            return;
        };
        let Some(lease) = self.replica.leases.get(&peer).map(|entry| &entry.value) else { return };
        let State::Live { ttl, idle, .. } = lease.state else {
            self.schedule(key, now.mono + RETRY_INTERVAL);
            return self.start(now, Intent::Forget(peer), 1);
        };
        if self.installed.contains_key(&peer) && !self.is_trusted(&peer) {
            self.schedule(key, now.mono + RETRY_INTERVAL);
            return self.start(now, Intent::End(peer, Ending::Untrusted), 1);
        }
        let closing = lease.closing;
        let last = self.last_moment(now, peer, lease);
        if last <= now.mono {
            self.schedule(key, now.mono + RETRY_INTERVAL);
            return self.start(now, Intent::End(peer, Ending::MaxAge), 1);
        }
        let revoked = self.is_revoked(now, lease.token);
        // In doubt the revocation may be over. Then the lease is not served here, but others know better whether it ends.
        if revoked && !self.doubts_clock(now) {
            self.schedule(key, now.mono + RETRY_INTERVAL);
            return self.start(now, Intent::End(peer, Ending::Revoked), 1);
        }
        if !self.contact.as_ref().is_none_or(Contact::open) {
            // Its peer is kept out, so silence says nothing.
            return self.schedule(key, now.mono + RETRY_INTERVAL);
        }
        let observed = self.observed.get(&peer).copied().unwrap_or(now.mono);
        let until = match self.settings.shared {
            Some(shared) if closing => {
                self.reconcile(now, peer);
                observed + shared.grace + COMMIT_WITHIN
            }
            _ => {
                let left = Duration::from_secs(ttl.saturating_sub(idle).into());
                let seen = self.seen.get(&peer).map(|seen| *seen + Duration::from_secs(ttl.into()));
                seen.unwrap_or_default().max(observed + left)
            }
        };
        let until = until.max(self.grace).min(last);
        if until > now.mono {
            let next = if revoked { until.min(now.mono + RETRY_INTERVAL) } else { until };
            return self.schedule(key, next);
        }
        self.schedule(key, now.mono + RETRY_INTERVAL);
        // The others are asked first. Who does not hear of it serves nobody by the time that the lease ends.
        let ask = self.settings.shared.is_some() && !closing;
        self.start(now, if ask { Intent::Close(peer) } else { Intent::End(peer, Ending::Expired) }, 1);
    }

    /// When a record that was just observed is to be looked at. `known` says that its previous version was.
    fn deadline(&self, now: Now, key: Key, known: bool) -> Option<Duration> {
        let peer = match key {
            Key::Lease(peer) => peer,
            Key::Beat(_) => return Some(now.mono + BEAT_KEPT),
            _ => {
                let until = self.replica.until(&key)?.plus(RECORD_MARGIN);
                return Some(now.mono + until.since(now.wall));
            }
        };
        let lease = &self.replica.leases.get(&peer)?.value;
        let wait = match lease.state {
            State::Live { .. } if lease.closing => COMMIT_WITHIN,
            State::Live { ttl, idle, .. } => {
                let last = self.last_moment(now, peer, lease).saturating_sub(now.mono);
                Duration::from_secs(ttl.saturating_sub(idle).into()).min(last)
            }
            State::Quarantined { until, .. } => {
                // How long it has been quarantined is known from the clock only, which counts if others agree.
                let all = COMMIT_WITHIN + self.settings.quarantine;
                if known || self.doubts_clock(now) { all } else { until.since(now.wall).min(all) }
            }
        };
        Some(now.mono + wait)
    }

    /// Closes the gateway when the store has been silent for too long, and opens it again.
    pub(crate) fn check_contact(&mut self, now: Now) {
        if self.contact.as_mut().is_some_and(|contact| contact.update(now)) {
            if self.contact.as_ref().is_some_and(Contact::open) {
                // Its peers were kept out, and need time to come back.
                self.grace = self.grace.max(now.mono + LEASE_MIN);
            }
            let keys: BTreeSet<PublicKey> =
                self.replica.leases.keys().chain(self.installed.keys()).copied().collect();
            for key in keys {
                self.reconcile(now, key);
            }
        }
    }

    pub(crate) fn doubts_clock(&self, now: Now) -> bool {
        self.contact.as_ref().is_some_and(|contact| contact.doubts_clock(now))
    }

    /// Whether what ends at a time of day still counts. It does while the clock is in doubt.
    pub(crate) fn is_in_force(&self, now: Now, until: UnixTime) -> bool {
        until > now.wall || self.doubts_clock(now)
    }

    pub(crate) fn apply_changes<'a>(&mut self, now: Now, changes: impl IntoIterator<Item = &'a Change>) {
        for change in changes {
            if self.replica.is_news(change) {
                self.apply_change(now, change);
            }
        }
    }

    fn apply_change(&mut self, now: Now, change: &Change) {
        let lease = |machine: &Self, peer| machine.replica.leases.get(&peer).map(|entry| entry.value.clone());
        let before = if let Key::Lease(peer) = change.key { lease(self, peer) } else { None };
        let known = self.replica.version(&change.key) > 0;
        self.replica.apply(change);
        self.unschedule(change.key);
        if let Some(deadline) = self.deadline(now, change.key, known) {
            self.schedule(change.key, deadline);
        }
        match change.key {
            Key::Lease(peer) => {
                let after = lease(self, peer);
                self.count(before.as_ref(), after.as_ref());
                match &after {
                    Some(_) => self.observed.insert(peer, now.mono),
                    None => {
                        self.written.remove(&peer);
                        self.observed.remove(&peer)
                    }
                };
                if after.as_ref().is_some_and(|lease| lease.is_live() && self.is_revoked(now, lease.token)) {
                    self.hurry(now, peer);
                }
                self.reconcile(now, peer);
            }
            Key::Address(address) => self.refresh_address(address),
            Key::Use(token, slot) => self.refresh_slot(token, slot),
            Key::Revoked(token) => {
                let of_token = self.replica.leases.iter();
                let of_token =
                    of_token.filter(|(_, entry)| entry.value.token == token && entry.value.is_live());
                let revoked = self.is_revoked(now, token);
                for peer in of_token.map(|(peer, _)| *peer).collect::<Vec<_>>() {
                    if revoked {
                        self.hurry(now, peer);
                    }
                    self.reconcile(now, peer);
                }
            }
            Key::Evicted(peer) => self.reconcile(now, peer),
            Key::Beat(gateway) => {
                // The first one that is seen may be old.
                if let (Some(contact), Some(at)) = (&mut self.contact, self.replica.until(&change.key))
                    && known
                {
                    contact.heard(now, gateway, at);
                }
            }
        }
    }

    /// A lease is looked at now.
    fn hurry(&mut self, now: Now, peer: PublicKey) {
        self.unschedule(Key::Lease(peer));
        self.schedule(Key::Lease(peer), now.mono);
    }

    /// Whether a lease is served here now. An eviction or revocation counts as soon as it is known, before the lease has ended.
    fn admitted(&self, now: Now, key: PublicKey) -> Option<Peer> {
        let lease = &self.replica.leases.get(&key)?.value;
        let open = self.contact.as_ref().is_none_or(Contact::open);
        // A lease that is about to end is served for as long as it takes to renew it.
        let observed = self.observed.get(&key).copied().unwrap_or_default();
        let closed =
            lease.closing && (!self.installed.contains_key(&key) || now.mono >= observed + COMMIT_WITHIN);
        let admitted = open
            && lease.is_live()
            && !closed
            && !self.is_revoked(now, lease.token)
            && !self.replica.evicted.contains_key(&key);
        admitted.then(|| Peer {
            key,
            addresses: lease.addresses.clone(),
            group: lease.group.clone(),
            host: lease.host.clone(),
            elsewhere: lease.gateway.filter(|gateway| self.own().is_some_and(|own| own != *gateway)),
        })
    }

    /// Whether a peer is at another gateway, as far as known.
    pub(crate) fn is_elsewhere(&self, key: &PublicKey) -> bool {
        self.installed.get(key).is_some_and(|peer| peer.elsewhere.is_some())
    }

    /// A peer that is served here is reported again.
    pub(crate) fn report(&mut self, key: &PublicKey) {
        self.outputs.extend(self.installed.get(key).cloned().map(Output::Install));
    }

    /// Reports a peer's change to the interface.
    fn reconcile(&mut self, now: Now, key: PublicKey) {
        match self.admitted(now, key) {
            Some(peer) if self.installed.get(&key) == Some(&peer) => {}
            Some(peer) => {
                self.installed.insert(key, peer.clone());
                self.outputs.push_back(Output::Install(peer));
            }
            None => {
                self.seen.remove(&key);
                if self.installed.remove(&key).is_some() {
                    self.outputs.push_back(Output::Remove(key));
                }
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
        self.count_source(before, after);
    }

    fn is_revoked(&self, now: Now, token: TokenId) -> bool {
        let record = self.replica.revoked.get(&token).map(|entry| &entry.value);
        record.is_some_and(|record| record.peers && self.is_in_force(now, record.until))
    }

    fn schedule(&mut self, key: Key, at: Duration) {
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

    /// Number of quarantined addresses, and when the first of them becomes free.
    pub(crate) fn quarantined(&self, family: Family) -> (u128, Option<UnixTime>) {
        let waiting = self.replica.leases.values().map(|entry| &entry.value).filter(|lease| !lease.is_live());
        let of_family = waiting
            .filter(|lease| lease.addresses.iter().any(|address| Family::of(*address) == family))
            .map(Lease::until);
        (of_family.clone().count() as u128, of_family.min())
    }
}
