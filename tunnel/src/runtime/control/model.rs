//! State that the engine does not keep or does not reveal: secrets as set, and endpoint names.

use std::collections::HashMap;

use ipnet::IpNet;
use warren_proto::{
    Now,
    engine::{Engine, PeerConfig, PeerStatus},
};
use warren_wire::{
    config,
    key::{PresharedKey, PrivateKey, PublicKey},
};

use crate::runtime::uapi::{Device, DevicePeer, PeerChange};

/// A peer of a configuration file with its endpoint resolved, if it could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePeer {
    /// The part for the engine.
    pub config: PeerConfig,
    /// The endpoint as written in the file, if it is a name.
    pub name: Option<config::Endpoint>,
    /// TLS to it.
    pub tls: Option<super::TlsCarrier>,
}

/// Secrets and names beside the engine.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// `None` if no key is set; the engine then uses a random one.
    pub private_key: Option<PrivateKey>,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    peers: HashMap<PublicKey, PeerExtras>,
}

#[derive(Debug, Default)]
struct PeerExtras {
    preshared_key: Option<PresharedKey>,
    name: Option<config::Endpoint>,
}

impl Model {
    /// Adds or replaces peers of a file.
    pub(super) fn put(&mut self, engine: &mut Engine, now: Now, peers: Vec<FilePeer>) {
        let mut configs = Vec::with_capacity(peers.len());
        for FilePeer { config, name, .. } in peers {
            let extras = PeerExtras { preshared_key: config.preshared_key.clone(), name };
            self.peers.insert(config.public_key, extras);
            configs.push(config);
        }
        engine.upsert_peers(now, configs);
    }

    /// Removes a peer. True if it existed.
    pub(super) fn remove(&mut self, engine: &mut Engine, key: &PublicKey) -> bool {
        self.peers.remove(key);
        engine.find_peer(key).is_some_and(|id| engine.remove_peer(id))
    }

    /// Removes all peers.
    pub(super) fn clear(&mut self, engine: &mut Engine, now: Now) {
        self.peers.clear();
        for peer in engine.peers(now) {
            engine.remove_peer(peer.id);
        }
    }

    /// Applies one change of `set=1`. A peer with our own key is ignored, as in the kernel.
    pub(super) fn change(&mut self, engine: &mut Engine, now: Now, change: &PeerChange) {
        let key = change.public_key;
        let own = self.private_key.as_ref().is_some_and(|private| private.public() == key);
        let known = engine.find_peer(&key).and_then(|id| engine.peer(now, id));
        if change.remove {
            self.remove(engine, &key);
            return;
        }
        if own || (change.update_only && known.is_none()) {
            return;
        }
        let extras = self.peers.entry(key).or_default();
        if let Some(preshared_key) = &change.preshared_key {
            extras.preshared_key.clone_from(preshared_key);
        }
        if change.endpoint.is_some() {
            // An explicitly set address replaces the name from the file.
            extras.name = None;
        }
        let mut config = PeerConfig::new(key);
        config.preshared_key.clone_from(&extras.preshared_key);
        config.endpoint = change.endpoint;
        config.persistent_keepalive = match (change.keepalive, &known) {
            (Some(seconds), _) => (seconds > 0).then_some(seconds),
            (None, Some(known)) => known.persistent_keepalive,
            (None, None) => None,
        };
        config.allowed_ips = ranges(known, change);
        engine.upsert_peer(now, config);
    }

    /// The name from which a peer's endpoint was resolved.
    pub(super) fn name(&self, key: &PublicKey) -> Option<&config::Endpoint> {
        self.peers.get(key)?.name.as_ref()
    }

    /// Restores the name after a change that came from resolving it.
    pub(super) fn rename(&mut self, key: &PublicKey, name: Option<config::Endpoint>) {
        if let Some(extras) = self.peers.get_mut(key) {
            extras.name = name;
        }
    }

    /// The answer to `get=1`.
    pub(super) fn device(&self, listen_port: u16, peers: Vec<PeerStatus>) -> Device {
        Device {
            private_key: self.private_key.clone(),
            listen_port,
            fwmark: self.fwmark,
            peers: peers
                .into_iter()
                .map(|peer| DevicePeer {
                    preshared_key: self.peers.get(&peer.public_key).and_then(|b| b.preshared_key.clone()),
                    public_key: peer.public_key,
                    endpoint: peer.endpoint.map(|endpoint| endpoint.remote),
                    last_handshake: peer.last_handshake,
                    rx_bytes: peer.traffic.rx_bytes,
                    tx_bytes: peer.traffic.tx_bytes,
                    keepalive: peer.persistent_keepalive,
                    allowed_ips: peer.allowed_ips,
                })
                .collect(),
        }
    }
}

fn ranges(known: Option<PeerStatus>, change: &PeerChange) -> Vec<IpNet> {
    let mut ranges = match known {
        Some(known) if !change.replace_allowed_ips => known.allowed_ips,
        _ => Vec::new(),
    };
    ranges.retain(|range| !change.take.contains(range));
    for range in &change.add {
        if !ranges.contains(range) {
            ranges.push(*range);
        }
    }
    ranges
}

/// The peers that a new file removes, and those that it adds or changes.
pub fn difference(before: &[FilePeer], after: &[FilePeer]) -> (Vec<PublicKey>, Vec<FilePeer>) {
    let old: HashMap<PublicKey, &FilePeer> = before.iter().map(|p| (p.config.public_key, p)).collect();
    let new: HashMap<PublicKey, &FilePeer> = after.iter().map(|p| (p.config.public_key, p)).collect();
    let gone = before.iter().map(|p| p.config.public_key).filter(|key| !new.contains_key(key)).collect();
    let changed = after.iter().filter(|p| old.get(&p.config.public_key).is_none_or(|old| *old != *p));
    (gone, changed.cloned().collect())
}
