//! Renders answers. Pure.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use ipnet::IpNet;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};
use zeroize::Zeroizing;

/// An interface as returned by `get=1`. Contains secrets: any process that can open the socket can read them, as with `wg`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// Our key.
    pub private_key: Option<PrivateKey>,
    /// The UDP port that is bound.
    pub listen_port: u16,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// All peers.
    pub peers: Vec<DevicePeer>,
}

/// A peer as returned by `get=1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePeer {
    /// Its public key.
    pub public_key: PublicKey,
    /// The key both ends share.
    pub preshared_key: Option<PresharedKey>,
    /// Its last endpoint.
    pub endpoint: Option<SocketAddr>,
    /// Time of the last handshake, since the UNIX epoch.
    pub last_handshake: Option<Duration>,
    /// Bytes of datagrams received.
    pub rx_bytes: u64,
    /// Bytes of datagrams sent.
    pub tx_bytes: u64,
    /// Seconds between keepalives.
    pub keepalive: Option<u16>,
    /// Its prefixes.
    pub allowed_ips: Vec<IpNet>,
}

/// The answer to `get=1`, with `errno=0` and the empty line.
pub fn get(device: &Device) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::with_capacity(256 + device.peers.len() * 512));
    let text: &mut String = &mut out;
    if let Some(key) = &device.private_key {
        text.push_str("private_key=");
        text.push_str(&key.to_hex());
        text.push('\n');
    }
    _ = writeln!(text, "listen_port={}", device.listen_port);
    if let Some(mark) = device.fwmark.filter(|mark| *mark != 0) {
        _ = writeln!(text, "fwmark={mark}");
    }
    for peer in &device.peers {
        _ = writeln!(text, "public_key={}", peer.public_key.to_hex());
        text.push_str("preshared_key=");
        match &peer.preshared_key {
            Some(key) => text.push_str(&key.to_hex()),
            None => text.extend(std::iter::repeat_n('0', 64)),
        }
        text.push_str("\nprotocol_version=1\n");
        if let Some(endpoint) = peer.endpoint {
            _ = writeln!(text, "endpoint={endpoint}");
        }
        let handshake = peer.last_handshake.unwrap_or_default();
        _ = write!(
            text,
            "last_handshake_time_sec={}\nlast_handshake_time_nsec={}\ntx_bytes={}\nrx_bytes={}\n\
             persistent_keepalive_interval={}\n",
            handshake.as_secs(),
            handshake.subsec_nanos(),
            peer.tx_bytes,
            peer.rx_bytes,
            peer.keepalive.unwrap_or(0),
        );
        for prefix in &peer.allowed_ips {
            _ = writeln!(text, "allowed_ip={prefix}");
        }
    }
    text.push_str(&errno(0));
    out
}

/// The end of every answer. `wg` expects the number negated, as system calls return it.
pub fn errno(number: i32) -> String {
    format!("errno={}\n\n", -number.abs())
}
