//! How long a lease lives: its renewal, its longest life, and what it needs to be renewed; and how many a source may have.

use std::net::IpAddr;
use std::time::Duration;

use warren_wire::{PublicKey, UnixTime};

use crate::machine::Leases;
use crate::record::{Ending, Key, Lease, State};
use crate::types::Now;

/// One source may have as many leases in the smallest pool, too.
const SOURCE_LEAST: u32 = 8;

/// Leases of one source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OfSource {
    /// Those that count.
    pub(crate) leases: u32,
    /// Those in quarantine whose host has a new lease instead. They have a limit of their own: a host that restarts is one user of
    /// the pool, and must not empty it either.
    pub(crate) replaced: u32,
}

impl OfSource {
    fn of(&mut self, lease: &Lease) -> &mut u32 {
        match lease.state {
            State::Quarantined { why: Ending::Replaced, .. } => &mut self.replaced,
            _ => &mut self.leases,
        }
    }
}

impl Leases {
    /// When a lease ends although it is renewed: after the longest life of its token or of this gateway, as the clocks of the
    /// gateways that wrote it measured it.
    pub(crate) fn last_moment(&self, now: Now, key: PublicKey, lease: &Lease) -> Duration {
        let max = lease.max.map_or(self.settings.max, |max| Duration::from_secs(max).min(self.settings.max));
        let observed = self.observed.get(&key).copied().unwrap_or(now.mono);
        observed + max.saturating_sub(Duration::from_secs(lease.age))
    }

    /// How long a peer's live lease can last at most; `None` if it has none.
    #[must_use]
    pub fn time_left(&self, now: Now, key: &PublicKey) -> Option<Duration> {
        let lease = &self.replica.leases.get(key)?.value;
        lease.is_live().then(|| self.last_moment(now, *key, lease).saturating_sub(now.mono))
    }

    /// Whether the signer and the group of a lease are still those of the gateway.
    pub(crate) fn is_trusted(&self, key: &PublicKey) -> bool {
        let (Some(trust), Some(entry)) = (&self.trust, self.replica.leases.get(key)) else { return true };
        let lease = &entry.value;
        lease.signer.is_none_or(|signer| trust.signers.contains(&signer))
            && trust.groups.contains(&lease.group)
    }

    /// The lease with its last handshake; `None` if that is written down already.
    pub(crate) fn renewed(&self, now: Now, key: PublicKey) -> Option<Lease> {
        let lease = &self.replica.leases.get(&key)?.value;
        let observed = *self.observed.get(&key).filter(|_| lease.is_live())?;
        let last = self.seen.get(&key).copied()?;
        let alive = now.mono.saturating_sub(last) < self.settings.ttl;
        let seen = (last > observed || (lease.closing && alive)).then_some(last)?;
        let ago = now.mono.saturating_sub(seen).as_secs();
        let idle = u32::try_from(ago).unwrap_or(u32::MAX);
        let seen = UnixTime::from_secs(now.wall.as_secs().saturating_sub(ago));
        Some(Lease {
            state: State::Live { seen, ttl: self.ttl_seconds(), idle },
            closing: false,
            // Peers also make handshakes with gateways that they do not use.
            gateway: lease.gateway.or(self.own()),
            ..self.aged(now, key, lease)
        })
    }

    /// This gateway, if it shares its store with others.
    pub(crate) fn own(&self) -> Option<PublicKey> {
        self.settings.shared.map(|shared| shared.gateway)
    }

    /// The lease with its age of now.
    pub(crate) fn aged(&self, now: Now, key: PublicKey, lease: &Lease) -> Lease {
        let since = self.observed.get(&key).map_or(Duration::ZERO, |at| now.mono.saturating_sub(*at));
        Lease { age: lease.age.saturating_add(since.as_secs()), ..lease.clone() }
    }

    /// How many leases a source may have.
    pub(crate) fn source_limit(&self) -> u32 {
        let quarter = self.pool.families().map(|family| self.pool.total(family) / 4).min().unwrap_or(0);
        self.settings.per_source.unwrap_or(u32::try_from(quarter).unwrap_or(u32::MAX).max(SOURCE_LEAST))
    }

    /// Counts a lease for its source.
    pub(crate) fn count_source(&mut self, before: Option<&Lease>, after: Option<&Lease>) {
        if let Some(lease) = before
            && let Some(source) = lease.source
            && let Some(known) = self.by_source.get_mut(&source)
        {
            let count = known.of(lease);
            *count = count.saturating_sub(1);
            if *known == OfSource::default() {
                self.by_source.remove(&source);
            }
        }
        if let Some(lease) = after
            && let Some(source) = lease.source
        {
            *self.by_source.entry(source).or_default().of(lease) += 1;
        }
    }

    /// No fewer than the leases of a source and its requests under way, and cheap to know.
    pub(crate) fn at_most_of_source(&self, source: IpAddr) -> u32 {
        let known = self.by_source.get(&source).copied().unwrap_or_default();
        let known = known.leases.max(known.replaced);
        known.saturating_add(u32::try_from(self.steps.len()).unwrap_or(u32::MAX))
    }

    /// How many leases a source has, beside that of this key and the one that it replaces. Requests under way count.
    pub(crate) fn of_source(&self, source: IpAddr, key: &PublicKey, replaced: Option<PublicKey>) -> OfSource {
        let own = |key: &PublicKey| {
            let lease = self.replica.leases.get(key).map(|entry| &entry.value);
            lease.filter(|lease| lease.source == Some(source))
        };
        let mut known = self.by_source.get(&source).copied().unwrap_or_default();
        for lease in [own(key), replaced.as_ref().and_then(own)].into_iter().flatten() {
            let count = known.of(lease);
            *count = count.saturating_sub(1);
        }
        for step in self.steps.values().filter(|step| step.source(key) == Some(source)) {
            let replaces = step.replaced.as_ref().and_then(own).is_some();
            let count = if replaces { &mut known.replaced } else { &mut known.leases };
            *count = count.saturating_add(1);
        }
        known
    }

    pub(crate) fn is_closing(&self, key: &PublicKey) -> bool {
        self.replica.leases.get(key).is_some_and(|entry| entry.value.closing)
    }

    /// Whether a lease's record is so new that it need not be written again.
    pub(crate) fn is_fresh(&self, now: Now, key: &PublicKey) -> bool {
        self.written(key).is_some_and(|sent| now.mono.saturating_sub(sent) < self.renewal())
    }

    /// When the present version of a lease was sent, if this gateway did it.
    pub(crate) fn written(&self, key: &PublicKey) -> Option<Duration> {
        let present = self.replica.version(&Key::Lease(*key));
        self.written.get(key).filter(|(version, _)| *version == present).map(|(_, sent)| *sent)
    }

    /// A transaction of this gateway has been committed.
    pub(crate) fn note_written(&mut self, put: &[(Key, Vec<u8>)], version: u64, sent: Duration) {
        for (key, _) in put {
            if let Key::Lease(peer) = key {
                self.written.insert(*peer, (version, sent));
            }
        }
    }

    /// How old the written sign of life must be for a new one to be written: after a crash of all gateways a lease
    /// still has three quarters of its life from its last handshake on.
    pub(crate) fn renewal(&self) -> Duration {
        self.settings.ttl / 4
    }

    pub(crate) fn ttl_seconds(&self) -> u32 {
        u32::try_from(self.settings.ttl.as_secs()).unwrap_or(u32::MAX)
    }
}
