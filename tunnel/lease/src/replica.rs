//! What this gateway knows of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use warren_wire::token::TokenId;
use warren_wire::{PublicKey, UnixTime};

use crate::record::{BeatRecord, Change, EvictedRecord, Key, Lease, RevokedRecord, UseRecord};

/// A value and the revision that wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Versioned<T> {
    pub(crate) value: T,
    pub(crate) version: u64,
}

/// All records, and the versions of those that are gone but may still be reported as there.
#[derive(Debug, Default)]
pub(crate) struct Replica {
    pub(crate) leases: BTreeMap<PublicKey, Versioned<Lease>>,
    /// The value of an address does not matter: that there is a record does.
    addresses: BTreeMap<IpAddr, u64>,
    uses: BTreeMap<(TokenId, u32), Versioned<UseRecord>>,
    slots: BTreeMap<(TokenId, PublicKey), u32>,
    /// The slots of each named host.
    hosts: BTreeMap<(TokenId, String), BTreeSet<u32>>,
    pub(crate) revoked: BTreeMap<TokenId, Versioned<RevokedRecord>>,
    pub(crate) evicted: BTreeMap<PublicKey, Versioned<EvictedRecord>>,
    beats: BTreeMap<PublicKey, Versioned<BeatRecord>>,
    /// Own removals that changes from before them may still follow.
    gone: BTreeMap<Key, u64>,
    /// Values that could not be read.
    pub(crate) damaged: u64,
}

impl Replica {
    /// The version of a record; 0 if there is none.
    pub(crate) fn version(&self, key: &Key) -> u64 {
        match key {
            Key::Lease(peer) => self.leases.get(peer).map_or(0, |entry| entry.version),
            Key::Address(address) => self.addresses.get(address).copied().unwrap_or(0),
            Key::Use(token, slot) => self.uses.get(&(*token, *slot)).map_or(0, |entry| entry.version),
            Key::Revoked(token) => self.revoked.get(token).map_or(0, |entry| entry.version),
            Key::Evicted(peer) => self.evicted.get(peer).map_or(0, |entry| entry.version),
            Key::Beat(gateway) => self.beats.get(gateway).map_or(0, |entry| entry.version),
        }
    }

    /// The time in a record, by the clock of its writer: the end of a use, an eviction or a revocation, or that of a beat.
    pub(crate) fn until(&self, key: &Key) -> Option<UnixTime> {
        match key {
            Key::Lease(_) | Key::Address(_) => None,
            Key::Use(token, slot) => self.used(*token, *slot).map(|record| record.until),
            Key::Revoked(token) => self.revoked.get(token).map(|entry| entry.value.end()),
            Key::Evicted(peer) => self.evicted.get(peer).map(|entry| entry.value.until),
            Key::Beat(gateway) => self.beats.get(gateway).map(|entry| entry.value.at),
        }
    }

    /// Whether a change is newer than what is known.
    pub(crate) fn is_news(&self, change: &Change) -> bool {
        let known = self.version(&change.key).max(self.gone.get(&change.key).copied().unwrap_or(0));
        change.version > known
    }

    /// Takes a change in.
    pub(crate) fn apply(&mut self, change: &Change) {
        let version = change.version;
        self.gone.remove(&change.key);
        let value = change.value.as_deref();
        if value.is_none() {
            self.gone.insert(change.key, version);
        }
        match change.key {
            Key::Address(address) => {
                match value {
                    Some(_) => self.addresses.insert(address, version),
                    None => self.addresses.remove(&address),
                };
            }
            Key::Lease(peer) => {
                let lease: Option<Lease> = read(value, &mut self.damaged);
                set(&mut self.leases, peer, lease, version);
            }
            Key::Use(token, slot) => {
                let used: Option<UseRecord> = read(value, &mut self.damaged);
                if let Some(before) = self.uses.get(&(token, slot)) {
                    self.slots.remove(&(token, before.value.key));
                    let host = (token, before.value.host.clone());
                    if let Some(slots) = self.hosts.get_mut(&host) {
                        slots.remove(&slot);
                        if slots.is_empty() {
                            self.hosts.remove(&host);
                        }
                    }
                }
                if let Some(used) = &used {
                    self.slots.insert((token, used.key), slot);
                    if is_name(&used.host) {
                        self.hosts.entry((token, used.host.clone())).or_default().insert(slot);
                    }
                }
                set(&mut self.uses, (token, slot), used, version);
            }
            Key::Revoked(token) => {
                let record: Option<RevokedRecord> = read(value, &mut self.damaged);
                set(&mut self.revoked, token, record, version);
            }
            Key::Evicted(peer) => {
                let record: Option<EvictedRecord> = read(value, &mut self.damaged);
                set(&mut self.evicted, peer, record, version);
            }
            Key::Beat(gateway) => {
                let record: Option<BeatRecord> = read(value, &mut self.damaged);
                set(&mut self.beats, gateway, record, version);
            }
        }
    }

    /// All changes up to a revision are known: none from before it will follow.
    pub(crate) fn settled(&mut self, revision: u64) {
        self.gone.retain(|_, version| *version > revision);
    }

    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.contains_key(&address)
    }

    /// The slot of a token that a peer has taken.
    pub(crate) fn slot(&self, token: TokenId, peer: PublicKey) -> Option<u32> {
        self.slots.get(&(token, peer)).copied()
    }

    /// A token that a peer has used, even if its lease is forgotten.
    pub(crate) fn token_of(&self, peer: &PublicKey) -> Option<TokenId> {
        self.slots.keys().find(|(_, user)| user == peer).map(|(token, _)| *token)
    }

    /// The taken slots of a token.
    pub(crate) fn taken(&self, token: TokenId) -> impl Iterator<Item = u32> + '_ {
        self.uses.range((token, 0)..=(token, u32::MAX)).map(|((_, slot), _)| *slot)
    }

    pub(crate) fn used(&self, token: TokenId, slot: u32) -> Option<&UseRecord> {
        self.uses.get(&(token, slot)).map(|entry| &entry.value)
    }

    /// The slots of a token that were taken by a host of this name, with the keys that took them.
    pub(crate) fn slots_of_host(&self, token: TokenId, host: &str) -> impl Iterator<Item = (u32, PublicKey)> {
        let slots = self.hosts.get(&(token, host.to_owned())).into_iter().flatten();
        slots.filter_map(move |slot| Some((*slot, self.used(token, *slot)?.key)))
    }

    /// Every key there is.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let leases = self.leases.keys().map(|peer| Key::Lease(*peer));
        let addresses = self.addresses.keys().map(|address| Key::Address(*address));
        let uses = self.uses.keys().map(|(token, slot)| Key::Use(*token, *slot));
        let revoked = self.revoked.keys().map(|token| Key::Revoked(*token));
        let evicted = self.evicted.keys().map(|peer| Key::Evicted(*peer));
        let beats = self.beats.keys().map(|gateway| Key::Beat(*gateway));
        leases.chain(addresses).chain(uses).chain(revoked).chain(evicted).chain(beats).collect()
    }
}

/// Whether a host's name tells it from others.
fn is_name(host: &str) -> bool {
    !host.is_empty() && host != "localhost"
}

/// A value that cannot be read counts as absent: it admits no peer.
fn read<T: DeserializeOwned>(value: Option<&[u8]>, damaged: &mut u64) -> Option<T> {
    let record = serde_json::from_slice(value?);
    *damaged += u64::from(record.is_err());
    record.ok()
}

fn set<K: Ord, T>(map: &mut BTreeMap<K, Versioned<T>>, key: K, value: Option<T>, version: u64) {
    match value {
        Some(value) => map.insert(key, Versioned { value, version }),
        None => map.remove(&key),
    };
}
