//! Transactions under way: what each is for, and what follows from its outcome.

use std::net::IpAddr;
use std::time::Duration;

use warren_budget::Source;
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use crate::contact::Contact;
use crate::machine::Leases;
use crate::record::{
    BeatRecord, Change, Ending, EvictedRecord, Key, Lease, RevokedRecord, State, Transaction,
};
use crate::types::{Enrolment, Now, Output, Refusal, RequestId};

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
    Accept(RequestId, TokenId),
    Renew(PublicKey),
    /// A peer uses this gateway now.
    Arrive(PublicKey),
    Close(PublicKey),
    End(PublicKey, Ending),
    Forget(PublicKey),
    /// A record that is of no use any more.
    Sweep(Key),
    /// This gateway's beat, sent at a time.
    Beat(Duration),
}

/// A transaction and what it keeps from others meanwhile.
#[derive(Debug)]
pub(crate) struct Step {
    intent: Intent,
    tries: u32,
    sent: Duration,
    pub(crate) transaction: Transaction,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) slot: Option<(TokenId, u32)>,
    /// The key whose live lease it ends in favour of another key of the same host.
    pub(crate) replaced: Option<PublicKey>,
}

impl Step {
    fn new(intent: Intent, tries: u32, sent: Duration) -> Self {
        let transaction = Transaction::default();
        Self { intent, tries, sent, transaction, addresses: Vec::new(), slot: None, replaced: None }
    }
}

impl Step {
    /// Where the request came from whose enrolment this is, unless it is that of a key.
    pub(crate) fn source(&self, except: &PublicKey) -> Option<IpAddr> {
        match &self.intent {
            Intent::Enrol(_, enrolment) if enrolment.key != *except => enrolment.source.map(Source::address),
            _ => None,
        }
    }
}

impl Leases {
    /// Begins, or begins anew after a lost race.
    pub(crate) fn start(&mut self, now: Now, intent: Intent, tries: u32) {
        let mut step = Step::new(intent.clone(), tries, now.mono);
        let result = match intent {
            Intent::Enrol(request, _) if !self.contact.as_ref().is_none_or(Contact::open) => {
                Err((request, Refusal::Store))
            }
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
                self.plan_eviction(now, &mut step, key, until);
                Ok(())
            }
            Intent::Readmit(request, key) => {
                let record = self.replica.evicted.get(&key).map(|entry| entry.value);
                record
                    .map(|record| self.plan_readmission(now, &mut step, key, record))
                    .ok_or((request, Refusal::NotEvicted))
            }
            Intent::Revoke(_, token, record) => {
                self.expect(&mut step, Key::Revoked(token));
                // A weaker revocation does not replace a stronger one.
                let before = self.replica.revoked.get(&token).map(|entry| &entry.value);
                let record = before.map_or(record.clone(), |before| RevokedRecord {
                    until: if before.known { record.until } else { record.until.max(before.until) },
                    peers: record.peers || before.peers,
                    known: false,
                    evicted: before.evicted.clone(),
                });
                step.transaction.put_json(Key::Revoked(token), &record);
                Ok(())
            }
            Intent::Accept(request, token) => {
                self.expect(&mut step, Key::Revoked(token));
                step.transaction.delete.push(Key::Revoked(token));
                let known = self.replica.revoked.contains_key(&token);
                if known { Ok(()) } else { Err((request, Refusal::NotEvicted)) }
            }
            Intent::Renew(key) => {
                let Some(renewed) = self.renewed(now, key) else {
                    self.renewing.remove(&key);
                    return;
                };
                self.expect(&mut step, Key::Lease(key));
                step.transaction.put_json(Key::Lease(key), &renewed);
                Ok(())
            }
            Intent::Arrive(key) => {
                let Some(entry) = self.replica.leases.get(&key).filter(|_| self.is_elsewhere(&key)) else {
                    return;
                };
                let state = State::alive(now.wall, self.ttl_seconds());
                let aged = self.aged(now, key, &entry.value);
                let here = Lease { state, closing: false, gateway: self.own(), ..aged };
                self.expect(&mut step, Key::Lease(key));
                step.transaction.put_json(Key::Lease(key), &here);
                Ok(())
            }
            Intent::Close(key) => {
                let Some(entry) = self.replica.leases.get(&key).filter(|entry| entry.value.is_live()) else {
                    return;
                };
                let closing = Lease { closing: true, ..self.aged(now, key, &entry.value) };
                self.expect(&mut step, Key::Lease(key));
                step.transaction.put_json(Key::Lease(key), &closing);
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
            Intent::Beat(_) => {
                let Some(contact) = &self.contact else { return };
                let key = Key::Beat(contact.shared.gateway);
                // Nobody else writes it.
                step.transaction.put_json(key, &BeatRecord { at: now.wall });
                Ok(())
            }
        };
        match result {
            Ok(()) => self.send(step),
            Err((request, refusal)) => self.answer(request, Err(refusal)),
        }
    }

    /// What became of a transaction that [`Output::Commit`] gave out.
    pub fn settled(&mut self, now: Now, id: TransactionId, outcome: Outcome) {
        let Some(step) = self.steps.remove(&id) else { return };
        if let Intent::Renew(key) = step.intent {
            self.renewing.remove(&key);
        }
        match outcome {
            Outcome::Committed(version) => {
                let changes = step.transaction.changes(version);
                self.note_written(&step.transaction.put, version, step.sent);
                self.apply_changes(now, &changes);
                self.release_reservations(&step);
                self.succeeded(now, version, step.intent, step.replaced);
            }
            Outcome::Conflict(changes) => {
                self.statistics.conflicts += 1;
                self.release_reservations(&step);
                self.apply_changes(now, &changes);
                match step.intent.request() {
                    Some(request) if step.tries >= TRIES => self.answer(request, Err(Refusal::Contended)),
                    Some(_) => self.start(now, step.intent, step.tries + 1),
                    None if matches!(step.intent, Intent::Arrive(_)) && step.tries < TRIES => {
                        self.start(now, step.intent, step.tries + 1);
                    }
                    // What goes on by itself has a deadline, at which it is looked at again.
                    None => {}
                }
            }
            Outcome::Unknown => {
                self.statistics.unknown += 1;
                self.release_reservations(&step);
                if let Intent::Arrive(key) = &step.intent {
                    self.report(key);
                }
                if let Some(request) = step.intent.request() {
                    self.answer(request, Err(Refusal::Store));
                }
            }
        }
    }

    fn succeeded(&mut self, now: Now, version: u64, intent: Intent, replaced: Option<PublicKey>) {
        match intent {
            Intent::Enrol(request, enrolment) => {
                self.statistics.enrolled += 1;
                // The record was taken in just now; a change from elsewhere may have ended it in the same breath.
                let grant = self.grant(&enrolment.key).map(Some).ok_or(Refusal::Contended);
                self.answer(request, grant);
                if let Some(before) = replaced {
                    self.statistics.ended += 1;
                    self.outputs.push_back(Output::Ended(before, Ending::Replaced));
                }
            }
            Intent::Release(request, _)
            | Intent::Evict(request, ..)
            | Intent::Readmit(request, _)
            | Intent::Accept(request, _)
            | Intent::Revoke(request, ..) => self.answer(request, Ok(None)),
            Intent::Renew(_) => self.statistics.renewed += 1,
            Intent::End(key, why) => {
                self.statistics.ended += 1;
                self.outputs.push_back(Output::Ended(key, why));
            }
            Intent::Arrive(_) | Intent::Close(_) | Intent::Forget(_) | Intent::Sweep(_) => {}
            Intent::Beat(sent) => {
                if let Some(contact) = &mut self.contact {
                    contact.committed(version, sent);
                }
                self.check_contact(now);
            }
        }
    }

    fn plan_eviction(&self, now: Now, step: &mut Step, key: PublicKey, until: UnixTime) {
        self.expect(step, Key::Lease(key));
        self.expect(step, Key::Evicted(key));
        let lease = self.replica.leases.get(&key).map(|entry| &entry.value);
        let before = self.replica.evicted.get(&key).and_then(|entry| entry.value.token);
        let token = lease.map(|lease| lease.token).or(before).or_else(|| self.replica.token_of(&key));
        step.transaction.put_json(Key::Evicted(key), &EvictedRecord { until, token });
        if let Some(token) = token {
            // With another key the peer would be back at once: its token admits no new key.
            self.suspend(now, step, token, key, Some(until));
        }
        if lease.is_some_and(Lease::is_live) {
            self.plan_end(now, step, key, Ending::Evicted);
        }
    }

    fn plan_readmission(&self, now: Now, step: &mut Step, key: PublicKey, record: EvictedRecord) {
        self.expect(step, Key::Evicted(key));
        step.transaction.delete.push(Key::Evicted(key));
        if let Some(token) = record.token {
            self.suspend(now, step, token, key, None);
        }
    }

    /// A token is suspended until the last eviction of a peer of it ends, where that of this key ends at `until`. A
    /// revocation is stronger.
    fn suspend(&self, now: Now, step: &mut Step, token: TokenId, key: PublicKey, until: Option<UnixTime>) {
        self.expect(step, Key::Revoked(token));
        let before = self.replica.revoked.get(&token).map(|entry| entry.value.clone());
        let mut record = before.clone().unwrap_or(RevokedRecord { known: true, ..RevokedRecord::default() });
        record.evicted.remove(&key);
        record.evicted.extend(until.map(|until| (key, until)));
        let last = record.evicted.values().max().copied();
        record.evicted.retain(|_, until| self.is_in_force(now, *until) || Some(*until) == last);
        match last {
            Some(last) if record.known => record.until = last,
            None if record.known => {
                step.transaction.delete.extend(before.map(|_| Key::Revoked(token)));
                return;
            }
            _ => {}
        }
        step.transaction.put_json(Key::Revoked(token), &record);
    }

    pub(crate) fn plan_end(&self, now: Now, step: &mut Step, key: PublicKey, why: Ending) {
        let Some(entry) = self.replica.leases.get(&key) else { return };
        self.expect(step, Key::Lease(key));
        let until = now.wall.plus(COMMIT_WITHIN + self.settings.quarantine);
        step.transaction.put_json(Key::Lease(key), &entry.value.ended(why, until));
    }

    pub(crate) fn expect(&self, step: &mut Step, key: Key) {
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
    pub(crate) fn release_reservations(&mut self, step: &Step) {
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
            | Self::Accept(request, _)
            | Self::Revoke(request, ..) => Some(*request),
            Self::Renew(_)
            | Self::Arrive(_)
            | Self::Close(_)
            | Self::End(..)
            | Self::Forget(_)
            | Self::Sweep(_)
            | Self::Beat(_) => None,
        }
    }
}
