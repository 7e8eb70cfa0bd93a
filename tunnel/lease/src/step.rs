//! Transactions under way: what each is for, and what follows from its outcome.

use std::net::IpAddr;
use std::time::Duration;

use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use crate::machine::{Enrolment, Leases, Output, Refusal, RequestId};
use crate::pool::{Family, Full, Ranges, draw};
use crate::record::{
    AddressRecord, Change, Ending, EvictedRecord, Key, Lease, RevokedRecord, State, Transaction, UseRecord,
};

/// After so many lost races a request is refused: the store is busier than it can be.
const TRIES: u32 = 20;

/// A transaction must be settled so soon, and the store must not do it later: the times in it are those of its
/// making.
pub const COMMIT_WITHIN: Duration = Duration::from_secs(30);

/// Names a transaction until it is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionId(pub(crate) u64);

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It happened; the records it wrote have this version.
    Committed(u64),
    /// It did not happen, since a record had another version. All expected records as they are.
    Conflict(Vec<Change>),
    /// The store did not answer: it may have happened or not.
    Unknown,
}

/// What a transaction is for.
#[derive(Debug, Clone)]
pub(crate) enum Intent {
    Enrol(RequestId, Enrolment),
    Release(RequestId, PublicKey),
    Evict(RequestId, PublicKey, UnixTime),
    Readmit(RequestId, PublicKey),
    Revoke(RequestId, TokenId, RevokedRecord),
    Renew(PublicKey),
    End(PublicKey, Ending),
    Forget(PublicKey),
    /// A record that is of no use any more.
    Sweep(Key),
}

/// A transaction and what it keeps from others meanwhile.
#[derive(Debug)]
pub(crate) struct Step {
    intent: Intent,
    tries: u32,
    transaction: Transaction,
    addresses: Vec<IpAddr>,
    slot: Option<(TokenId, u32)>,
}

impl Step {
    fn new(intent: Intent, tries: u32) -> Self {
        Self { intent, tries, transaction: Transaction::default(), addresses: Vec::new(), slot: None }
    }
}

impl Leases {
    /// Begins, or begins anew after a lost race.
    pub(crate) fn start(&mut self, now: UnixTime, intent: Intent, tries: u32) {
        let mut step = Step::new(intent.clone(), tries);
        let result = match intent {
            Intent::Enrol(request, enrolment) => {
                self.plan_enrolment(now, &mut step, &enrolment).map_err(|refusal| (request, refusal))
            }
            Intent::Release(request, key) => match self.replica.leases.get(&key) {
                Some(entry) if entry.value.is_live() => {
                    self.plan_end(now, &mut step, key, Ending::Released);
                    Ok(())
                }
                _ => Err((request, Refusal::NoLease)),
            },
            Intent::Evict(_, key, until) => {
                self.expect(&mut step, Key::Evicted(key));
                step.transaction.put_json(Key::Evicted(key), &EvictedRecord { until });
                self.expect(&mut step, Key::Lease(key));
                if self.replica.leases.get(&key).is_some_and(|entry| entry.value.is_live()) {
                    self.plan_end(now, &mut step, key, Ending::Evicted);
                }
                Ok(())
            }
            Intent::Readmit(request, key) => {
                self.expect(&mut step, Key::Evicted(key));
                step.transaction.delete.push(Key::Evicted(key));
                if self.replica.evicted.contains_key(&key) {
                    Ok(())
                } else {
                    Err((request, Refusal::NotEvicted))
                }
            }
            Intent::Revoke(_, token, record) => {
                self.expect(&mut step, Key::Revoked(token));
                step.transaction.put_json(Key::Revoked(token), &record);
                Ok(())
            }
            Intent::Renew(key) => {
                let Some(renewed) = self.renewed(key) else {
                    self.renewing.remove(&key);
                    return;
                };
                self.expect(&mut step, Key::Lease(key));
                step.transaction.put_json(Key::Lease(key), &renewed);
                Ok(())
            }
            Intent::End(key, why) => {
                if !self.replica.leases.get(&key).is_some_and(|entry| entry.value.is_live()) {
                    return;
                }
                self.plan_end(now, &mut step, key, why);
                Ok(())
            }
            Intent::Forget(key) => {
                let Some(entry) = self.replica.leases.get(&key) else { return };
                let addresses = entry.value.addresses.iter().map(|address| Key::Address(*address));
                step.transaction.delete = std::iter::once(Key::Lease(key)).chain(addresses).collect();
                self.expect(&mut step, Key::Lease(key));
                Ok(())
            }
            Intent::Sweep(key) => {
                if self.replica.version(&key) == 0 {
                    return;
                }
                self.expect(&mut step, key);
                step.transaction.delete.push(key);
                Ok(())
            }
        };
        match result {
            Ok(()) => self.send(step),
            Err((request, refusal)) => self.answer(request, Err(refusal)),
        }
    }

    /// What became of a transaction that [`Output::Commit`] gave out.
    pub fn settled(&mut self, now: UnixTime, id: TransactionId, outcome: Outcome) {
        let Some(step) = self.steps.remove(&id) else { return };
        if let Intent::Renew(key) = step.intent {
            self.renewing.remove(&key);
        }
        match outcome {
            Outcome::Committed(version) => {
                let changes = step.transaction.changes(version);
                self.apply_changes(now, &changes);
                self.release_reservations(&step);
                self.succeeded(step.intent);
            }
            Outcome::Conflict(changes) => {
                self.statistics.conflicts += 1;
                self.release_reservations(&step);
                self.apply_changes(now, &changes);
                match step.intent.request() {
                    Some(request) if step.tries >= TRIES => self.answer(request, Err(Refusal::Contended)),
                    Some(_) => self.start(now, step.intent, step.tries + 1),
                    // What goes on by itself has a deadline, at which it is looked at again.
                    None => {}
                }
            }
            Outcome::Unknown => {
                self.statistics.unknown += 1;
                self.release_reservations(&step);
                if let Some(request) = step.intent.request() {
                    self.answer(request, Err(Refusal::Store));
                }
            }
        }
    }

    fn succeeded(&mut self, intent: Intent) {
        match intent {
            Intent::Enrol(request, enrolment) => {
                self.statistics.enrolled += 1;
                // The record was taken in just now; a change from elsewhere may have ended it in the same breath.
                let grant = self.grant(&enrolment.key).map(Some).ok_or(Refusal::Contended);
                self.answer(request, grant);
            }
            Intent::Release(request, _)
            | Intent::Evict(request, ..)
            | Intent::Readmit(request, _)
            | Intent::Revoke(request, ..) => self.answer(request, Ok(None)),
            Intent::Renew(_) => self.statistics.renewed += 1,
            Intent::End(..) => self.statistics.ended += 1,
            Intent::Forget(_) | Intent::Sweep(_) => {}
        }
    }

    fn plan_enrolment(
        &mut self,
        now: UnixTime,
        step: &mut Step,
        enrolment: &Enrolment,
    ) -> Result<(), Refusal> {
        let key = enrolment.key;
        if let Some(record) = self.replica.evicted.get(&key).filter(|record| record.value.until > now) {
            return Err(Refusal::Evicted(record.value.until));
        }
        if self.replica.revoked.contains_key(&enrolment.token) {
            return Err(Refusal::Revoked);
        }
        for guard in [Key::Lease(key), Key::Evicted(key), Key::Revoked(enrolment.token)] {
            self.expect(step, guard);
        }
        let before = self.replica.leases.get(&key).map(|entry| entry.value.clone());
        if let Some(lease) = &before
            && let State::Live { seen, .. } = lease.state
            && (lease.token, &lease.group, &lease.host)
                == (enrolment.token, &enrolment.group, &enrolment.host)
            && now.since(seen) < self.renewal()
            && self.pool.covers(&lease.addresses)
        {
            // Nothing to write. The store is asked all the same: an eviction or revocation elsewhere may not have been
            // told here yet.
            return Ok(());
        }
        // Addresses of a pool that has been changed are given back, others kept.
        let (kept, dropped): (Vec<IpAddr>, Vec<IpAddr>) = before
            .iter()
            .flat_map(|lease| lease.addresses.iter().copied())
            .partition(|address| self.pool.has(*address));
        step.transaction.delete.extend(dropped.into_iter().map(Key::Address));
        let addresses = self.allocate(step, &key, kept)?;
        if let Err(refusal) = self.count_use(step, enrolment) {
            self.release_reservations(step);
            return Err(refusal);
        }
        let lease = Lease {
            addresses,
            group: enrolment.group.clone(),
            token: enrolment.token,
            host: enrolment.host.clone(),
            since: before.map_or(now, |lease| lease.since),
            state: State::Live { seen: now, ttl: self.ttl_seconds() },
        };
        step.transaction.put_json(Key::Lease(key), &lease);
        Ok(())
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

    fn count_use(&mut self, step: &mut Step, enrolment: &Enrolment) -> Result<(), Refusal> {
        let Some(limit) = enrolment.uses else { return Ok(()) };
        let (token, key) = (enrolment.token, enrolment.key);
        if let Some(slot) = self.replica.slot(token, key).filter(|slot| *slot < limit.get()) {
            // A peer counts once. Its slot must still be there when the lease is written.
            self.expect(step, Key::Use(token, slot));
            return Ok(());
        }
        let free = self.free_slots(token, limit.get());
        let start = draw(&key, b"use", limit.get().into());
        let slot =
            free.from(start).and_then(|slot| u32::try_from(slot).ok()).ok_or(Refusal::UsedUp(limit))?;
        free.take(slot.into());
        self.reserved_slots.insert((token, slot));
        step.slot = Some((token, slot));
        self.expect(step, Key::Use(token, slot));
        step.transaction.put_json(Key::Use(token, slot), &UseRecord { key, until: enrolment.expires });
        Ok(())
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

    fn plan_end(&self, now: UnixTime, step: &mut Step, key: PublicKey, why: Ending) {
        let Some(entry) = self.replica.leases.get(&key) else { return };
        self.expect(step, Key::Lease(key));
        let until = now.plus(COMMIT_WITHIN + self.settings.quarantine);
        step.transaction.put_json(Key::Lease(key), &entry.value.ended(why, until));
    }

    fn expect(&self, step: &mut Step, key: Key) {
        if !step.transaction.expect.iter().any(|(known, _)| *known == key) {
            step.transaction.expect.push((key, self.replica.version(&key)));
        }
    }

    fn send(&mut self, step: Step) {
        let id = TransactionId(self.next_step);
        self.next_step += 1;
        self.outputs.push_back(Output::Commit(id, step.transaction.clone()));
        self.steps.insert(id, step);
    }

    /// Addresses and slots that the step kept from others are as free as the replica says.
    fn release_reservations(&mut self, step: &Step) {
        for address in &step.addresses {
            self.reserved.remove(address);
            self.refresh_address(*address);
        }
        if let Some((token, slot)) = step.slot {
            self.reserved_slots.remove(&(token, slot));
            self.refresh_slot(token, slot);
        }
    }
}

impl Intent {
    fn request(&self) -> Option<RequestId> {
        match self {
            Self::Enrol(request, _)
            | Self::Release(request, _)
            | Self::Evict(request, ..)
            | Self::Readmit(request, _)
            | Self::Revoke(request, ..) => Some(*request),
            Self::Renew(_) | Self::End(..) | Self::Forget(_) | Self::Sweep(_) => None,
        }
    }
}
