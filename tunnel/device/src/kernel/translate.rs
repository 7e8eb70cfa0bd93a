//! Our words to defguard_wireguard_rs' and back. Pure.

use std::{net::SocketAddr, time::UNIX_EPOCH};

use defguard_wireguard_rs::{InterfaceConfiguration, host::Host, key::Key, net::IpAddrMask, peer::Peer};
use ipnet::IpNet;
use warren_wire::key::{PrivateKey, PublicKey};

use super::{KernelConfig, KernelPeer, KernelPeerStatus, KernelStatus};

/// No addresses and no MTU: those are set by the agent, and an empty list is what keeps them out of it.
pub(super) fn interface(name: &str, config: &KernelConfig) -> InterfaceConfiguration {
    InterfaceConfiguration {
        name: name.to_owned(),
        prvkey: config.private_key.to_base64().as_str().to_owned(),
        addresses: Vec::new(),
        port: config.listen_port,
        peers: config.peers.iter().map(peer).collect(),
        mtu: None,
        // 0 takes the mark away, None would leave it.
        fwmark: Some(config.fwmark.unwrap_or(0)),
    }
}

/// In netlink's words what is left out stays as it is, so what is to be none is said: a key of zeros, 0 seconds.
pub(super) fn peer(peer: &KernelPeer) -> Peer {
    let mut out = Peer::new(key(&peer.public_key));
    out.preshared_key = Some(Key::new(peer.preshared_key.as_ref().map_or([0; 32], |key| *key.as_bytes())));
    out.endpoint = peer.endpoint;
    out.persistent_keepalive_interval = Some(peer.persistent_keepalive.unwrap_or(0));
    out.allowed_ips =
        peer.allowed_ips.iter().map(|range| IpAddrMask::new(range.network(), range.prefix_len())).collect();
    out
}

/// The same peer elsewhere: what is said again is what the kernel has, for it replaces the ranges.
pub(super) fn moved(peer: &Peer, endpoint: SocketAddr) -> Peer {
    Peer { endpoint: Some(endpoint), ..peer.clone() }
}

pub(super) fn key(key: &PublicKey) -> Key {
    Key::new(*key.as_bytes())
}

pub(super) fn status(host: &Host) -> KernelStatus {
    let mut peers: Vec<KernelPeerStatus> = host.peers.values().map(peer_status).collect();
    peers.sort_by_key(|peer| peer.public_key);
    KernelStatus {
        public_key: host
            .private_key
            .as_ref()
            .map(Key::as_array)
            .filter(|bytes| *bytes != [0; 32])
            .map(|bytes| PrivateKey::from_bytes(bytes).public()),
        listen_port: host.listen_port,
        fwmark: host.fwmark.filter(|mark| *mark != 0),
        peers,
    }
}

fn peer_status(peer: &Peer) -> KernelPeerStatus {
    let mut allowed_ips: Vec<IpNet> =
        peer.allowed_ips.iter().filter_map(|range| IpNet::new(range.address, range.cidr).ok()).collect();
    allowed_ips.sort_unstable();
    KernelPeerStatus {
        public_key: PublicKey::from_bytes(peer.public_key.as_array()),
        preshared_key_set: peer.preshared_key.as_ref().is_some_and(|key| key.as_array() != [0; 32]),
        endpoint: peer.endpoint,
        // The kernel says 0 for never.
        last_handshake: peer
            .last_handshake
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .filter(|time| !time.is_zero()),
        rx_bytes: peer.rx_bytes,
        tx_bytes: peer.tx_bytes,
        persistent_keepalive: peer.persistent_keepalive_interval.filter(|seconds| *seconds > 0),
        allowed_ips,
    }
}
