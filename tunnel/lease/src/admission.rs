//! Who is admitted: the checks of an enrolment, and the addresses and the use of the token that it gets.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use warren_budget::Source;
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use crate::machine::{Leases, RECORD_MARGIN};
use crate::pool::{Family, Full, Ranges, draw};
use crate::record::{AddressRecord, Ending, Key, Lease, State, UseRecord};
use crate::step::Step;
use crate::types::{Enrolment, Now, Refusal};

impl Leases {
    pub(crate) fn plan_enrolment(
        &mut self,
        now: Now,
        step: &mut Step,
        enrolment: &Enrolment,
    ) -> Result<(), Refusal> {
        let key = enrolment.key;
        if let Some(record) = self.replica.evicted.get(&key) {
            if self.is_in_force(now, record.value.until) {
                return Err(self.barred(now, record.value.until, Refusal::Evicted(record.value.until)));
            }
            step.transaction.delete.push(Key::Evicted(key));
        }
        self.check_token(now, enrolment)?;
        if self
            .replica
            .revoked
            .get(&enrolment.token)
            .is_some_and(|entry| !self.is_in_force(now, entry.value.end()))
        {
            // A gateway whose clock is wrong later would still obey it.
            step.transaction.delete.push(Key::Revoked(enrolment.token));
        }
        for guard in [Key::Lease(key), Key::Evicted(key), Key::Revoked(enrolment.token)] {
            self.expect(step, guard);
        }
        let before = self.replica.leases.get(&key).map(|entry| entry.value.clone());
        if let Some(lease) = &before
            && lease.is_live()
            && !lease.closing
            && (lease.token, &lease.group, &lease.host)
                == (enrolment.token, &enrolment.group, &enrolment.host)
            && self.is_fresh(now, &key)
            && step.transaction.is_check()
            && self.pool.covers(&lease.addresses)
        {
            // Nothing to write. The store is asked all the same: an eviction or revocation elsewhere may not have been
            // told here yet.
            return Ok(());
        }
        if enrolment.over {
            // The store is asked here, too.
            step.transaction.delete.clear();
            let held = before.filter(|lease| {
                lease.is_live() && lease.token == enrolment.token && self.pool.covers(&lease.addresses)
            });
            let lease =
                held.ok_or_else(|| if self.doubts_clock(now) { Refusal::Clock } else { Refusal::NoLease })?;
            if lease.closing {
                let state = State::alive(now.wall, self.ttl_seconds());
                let renewed = Lease { state, closing: false, ..self.aged(now, key, &lease) };
                step.transaction.put_json(Key::Lease(key), &renewed);
            }
            return Ok(());
        }
        // Addresses of a pool that has been changed are given back, others kept.
        let (kept, dropped): (Vec<IpAddr>, Vec<IpAddr>) = before
            .iter()
            .flat_map(|lease| lease.addresses.iter().copied())
            .partition(|address| self.pool.has(*address));
        step.transaction.delete.extend(dropped.into_iter().map(Key::Address));
        let addresses = self.allocate(step, &key, kept)?;
        let admitted = self.count_use(now, step, enrolment);
        if let Err(refusal) = admitted.and_then(|()| self.check_source(enrolment, step.replaced)) {
            self.release_reservations(step);
            return Err(refusal);
        }
        let lease = Lease {
            addresses,
            group: enrolment.group.clone(),
            token: enrolment.token,
            host: enrolment.host.clone(),
            since: before.map_or(now.wall, |lease| lease.since),
            state: State::alive(now.wall, self.ttl_seconds()),
            closing: false,
            signer: Some(enrolment.signer),
            source: enrolment.source.map(Source::address),
            age: 0,
            max: Some(enrolment.max.map_or(self.settings.max, |max| max.min(self.settings.max)).as_secs()),
            gateway: self.own(),
        };
        step.transaction.put_json(Key::Lease(key), &lease);
        Ok(())
    }

    /// A token that is suspended admits those who have used it.
    fn check_token(&self, now: Now, enrolment: &Enrolment) -> Result<(), Refusal> {
        let (token, key) = (enrolment.token, enrolment.key);
        let Some(record) = self.replica.revoked.get(&token).map(|entry| &entry.value) else { return Ok(()) };
        if !record.known && self.is_in_force(now, record.until) {
            return Err(self.barred(now, record.until, Refusal::Revoked));
        }
        let Some(until) = record.suspended().filter(|until| self.is_in_force(now, *until)) else {
            return Ok(());
        };
        let has_lease = self.replica.leases.get(&key).is_some_and(|entry| entry.value.token == token);
        if has_lease || self.replica.slot(token, key).is_some() {
            return Ok(());
        }
        Err(self.barred(now, until, Refusal::Suspended(until)))
    }

    /// A refusal until a time of day is not final while that is in doubt, unless the time is so far away that no clock that is
    /// tolerated makes a difference.
    fn barred(&self, now: Now, until: UnixTime, refusal: Refusal) -> Refusal {
        if self.doubts_clock(now) && until <= now.wall.plus(RECORD_MARGIN) { Refusal::Clock } else { refusal }
    }

    fn check_source(&self, enrolment: &Enrolment, replaced: Option<PublicKey>) -> Result<(), Refusal> {
        let Some(source) = enrolment.source.map(Source::address) else { return Ok(()) };
        let limit = self.source_limit();
        if self.at_most_of_source(source) < limit {
            return Ok(());
        }
        let of = self.of_source(source, &enrolment.key, replaced);
        if of.leases < limit && (replaced.is_none() || of.replaced < limit) {
            return Ok(());
        }
        Err(Refusal::Source { source_address: source, limit })
    }

    /// One address of each family: those that are kept, and free ones for the rest.
    fn allocate(
        &mut self,
        step: &mut Step,
        key: &PublicKey,
        mut addresses: Vec<IpAddr>,
    ) -> Result<Vec<IpAddr>, Refusal> {
        let families: Vec<Family> = self.pool.families().collect();
        for family in families {
            if addresses.iter().any(|address| Family::of(*address) == family) {
                continue;
            }
            let Some(address) = self.pool.choose(family, key) else {
                let (quarantined, next_free) = self.quarantined(family);
                self.release_reservations(step);
                let total = self.pool.total(family);
                return Err(Refusal::Full(Full { family, total, quarantined, next_free }));
            };
            self.reserved.insert(address);
            self.pool.take(address);
            step.addresses.push(address);
            self.expect(step, Key::Address(address));
            step.transaction.put_json(Key::Address(address), &AddressRecord { owner: *key });
            addresses.push(address);
        }
        addresses.sort_unstable();
        Ok(addresses)
    }

    fn count_use(&mut self, now: Now, step: &mut Step, enrolment: &Enrolment) -> Result<(), Refusal> {
        let Some(limit) = enrolment.uses else { return Ok(()) };
        let (token, key) = (enrolment.token, enrolment.key);
        if let Some(slot) = self.replica.slot(token, key).filter(|slot| *slot < limit.get()) {
            // A peer counts once. Its slot must still be there when the lease is written.
            self.expect(step, Key::Use(token, slot));
            if let Some(record) = self.replica.used(token, slot)
                && record.host != enrolment.host.name()
            {
                let record = UseRecord { host: enrolment.host.name().to_owned(), ..record.clone() };
                step.transaction.put_json(Key::Use(token, slot), &record);
            }
            return Ok(());
        }
        let (slot, replaced) = self.choose_slot(enrolment, limit)?;
        self.free_slots(token, limit.get()).take(slot.into());
        self.reserved_slots.insert((token, slot));
        step.slot = Some((token, slot));
        self.expect(step, Key::Use(token, slot));
        let host = enrolment.host.name().to_owned();
        let former = self.replica.used(token, slot).filter(|_| replaced.is_some());
        let former = former.map(|record| record.replaced(key)).unwrap_or_default();
        let record = UseRecord { key, host, until: enrolment.expires, former };
        step.transaction.put_json(Key::Use(token, slot), &record);
        if let Some(before) = replaced {
            self.expect(step, Key::Lease(before));
            if self.has_live(&before) {
                self.plan_end(now, step, before, Ending::Replaced);
                step.replaced = Some(before);
            }
        }
        Ok(())
    }

    /// A slot for a key that has none, and the key that loses it. A host that comes back without its key is the same user of
    /// the token: it gets the slot of its former key. While that has a live lease, a free slot is used first, since several
    /// agents may run on one host; then the slot with the oldest sign of life. A key that has lost a slot does not take it back
    /// from a live lease.
    fn choose_slot(
        &mut self,
        enrolment: &Enrolment,
        limit: NonZeroU32,
    ) -> Result<(u32, Option<PublicKey>), Refusal> {
        let (token, key) = (enrolment.token, enrolment.key);
        let own: Vec<(u32, PublicKey)> = self
            .replica
            .slots_of_host(token, enrolment.host.name())
            .filter(|(slot, _)| *slot < limit.get() && !self.reserved_slots.contains(&(token, *slot)))
            .collect();
        if let Some((slot, before)) = own.iter().find(|(_, before)| !self.has_live(before)) {
            return Ok((*slot, Some(*before)));
        }
        let start = draw(&key, b"use", limit.get().into());
        let free = self.free_slots(token, limit.get()).from(start);
        if let Some(slot) = free.and_then(|slot| u32::try_from(slot).ok()) {
            return Ok((slot, None));
        }
        let lost = |slot| self.replica.used(token, slot).is_some_and(|record| record.former.contains(&key));
        let candidates = own.iter().filter(|(slot, _)| !lost(*slot));
        let oldest = candidates.min_by_key(|(slot, before)| (self.alive_at(before), *slot));
        match oldest {
            Some((slot, before)) => Ok((*slot, Some(*before))),
            None if own.is_empty() => Err(Refusal::UsedUp(limit)),
            None => Err(Refusal::Replaced),
        }
    }

    /// The last sign of life of a peer that is known here.
    fn alive_at(&self, key: &PublicKey) -> Duration {
        let observed = self.observed.get(key).copied().unwrap_or_default();
        self.seen.get(key).map_or(observed, |seen| observed.max(*seen))
    }

    fn has_live(&self, key: &PublicKey) -> bool {
        self.replica.leases.get(key).is_some_and(|entry| entry.value.is_live())
    }

    fn free_slots(&mut self, token: TokenId, limit: u32) -> &mut Ranges {
        let known = self.slots.get(&token).is_some_and(|(of, _)| *of == limit);
        if !known {
            let mut free = Ranges::of(0, u128::from(limit) - 1);
            let reserved = self.reserved_slots.range((token, 0)..=(token, u32::MAX)).map(|(_, slot)| *slot);
            for slot in self.replica.taken(token).chain(reserved) {
                free.take(slot.into());
            }
            self.slots.insert(token, (limit, free));
        }
        &mut self.slots.entry(token).or_default().1
    }
}
