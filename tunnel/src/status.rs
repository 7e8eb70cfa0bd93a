//! What an interface is and does, the same for every backend: the model behind `status`, its JSON and the metrics.

use std::{collections::BTreeMap, net::SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// One interface at one moment. Holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the interface.
    pub interface: String,
    /// Version of the agent.
    pub version: String,
    /// `kernel`, `tun` or `user`.
    pub backend: String,
    /// Why this backend.
    pub backend_reason: String,
    /// Our public key.
    pub public_key: Option<String>,
    /// Bound UDP port.
    pub listen_port: u16,
    /// Mark of our datagrams.
    pub fwmark: Option<u32>,
    /// Largest packet inside the tunnel.
    pub mtu: u32,
    /// Addresses of the interface.
    pub addresses: Vec<IpNet>,
    /// Seconds since the UNIX epoch at which this was read.
    pub at: f64,
    /// Seconds since the UNIX epoch at which the interface came up.
    pub up_since: f64,
    /// Planned rate in Mbit/s, if one was given.
    pub planned_rate_mbit: Option<u32>,
    /// Offloads: what is on, what is missing and why.
    pub offloads: Vec<Offload>,
    /// Packets that were dropped without belonging to a peer, by reason.
    pub drops: BTreeMap<String, u64>,
    /// The port that takes TLS connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsListen>,
    /// What programs reach a tunnel without an interface by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<Services>,
    /// All peers.
    pub peers: Vec<Peer>,
    /// What peers moved that are configured no more.
    #[serde(default)]
    pub former_peers: Moved,
}

/// Bytes of UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Received.
    pub rx_bytes: u64,
    /// Sent.
    pub tx_bytes: u64,
}

/// Proxies, forwards and names of a tunnel without an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Services {
    /// Streams and sessions by service.
    pub streams: BTreeMap<String, Streams>,
    /// Clients that were not served, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Payload in bytes from clients to their targets.
    pub sent_bytes: u64,
    /// Payload in bytes from targets to clients.
    pub received_bytes: u64,
    /// Streams that one end reset.
    pub reset: u64,
    /// Streams that ended because nothing moved.
    pub idle: u64,
    /// Datagrams that were not passed on.
    pub datagrams_dropped: u64,
    /// Questions for names.
    pub dns: Dns,
    /// The buffers of all streams of the netstack; none where the kernel keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<Buffers>,
}

/// What the buffers of all streams take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// Now.
    pub bytes: u64,
    /// The most that they ever took.
    pub peak_bytes: u64,
    /// The most that they may take.
    pub limit_bytes: u64,
}

/// Streams of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Streams {
    /// Open now.
    pub open: u64,
    /// Served since the start.
    pub total: u64,
}

/// What became of questions for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dns {
    /// Asked.
    pub questions: u64,
    /// Of these answered from the cache.
    pub cached: u64,
    /// Of these answered by no server in time.
    pub failed: u64,
    /// Datagrams that came in place of an answer.
    pub strange: u64,
}

/// A port that takes TLS connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsListen {
    /// Where it is.
    pub address: SocketAddr,
    /// What clients know it by: `sha256//` and base64.
    pub pin: String,
    /// Tunnels open now.
    pub connections: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Of them those that were too many.
    pub limited: u64,
    /// Of them those whose handshake failed or took too long.
    pub failed: u64,
    /// Of them those that became tunnels.
    pub tunnels: u64,
}

/// What moves the datagrams of a peer that has two ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerCarrier {
    /// `udp` or `tls`.
    pub kind: String,
    /// Why this one.
    pub why: String,
    /// Seconds of a round trip by TLS, the wait in the socket included.
    pub rtt: Option<f64>,
    /// Datagrams dropped because the connection was congested.
    pub dropped: Option<u64>,
    /// Connections made so far, if they are made from here.
    pub connections: Option<u64>,
    /// Where they lead.
    pub tls_endpoint: Option<String>,
}

/// One offload of the device or the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offload {
    /// Short name, also a label of a metric.
    pub name: String,
    /// Whether it is used.
    pub on: bool,
    /// Why not, or what it does.
    pub why: String,
}

/// One peer at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its public key.
    pub public_key: String,
    /// Whether a preshared key is set.
    pub preshared_key: bool,
    /// Where it is.
    pub endpoint: Option<SocketAddr>,
    /// The name in the configuration that the endpoint came from.
    pub endpoint_name: Option<String>,
    /// What moves its datagrams, if there is anything but UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<PeerCarrier>,
    /// Its prefixes.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between keepalives.
    pub persistent_keepalive: Option<u16>,
    /// Seconds since the UNIX epoch of the last handshake.
    pub last_handshake: Option<f64>,
    /// Seconds that the last handshake took.
    pub handshake_rtt: Option<f64>,
    /// Handshakes done; the kernel does not tell.
    pub handshakes: Option<u64>,
    /// Age in seconds of the session in use.
    pub session_age: Option<f64>,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets received; the kernel does not tell.
    pub rx_packets: Option<u64>,
    /// Packets sent; the kernel does not tell.
    pub tx_packets: Option<u64>,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
}

/// Bits a second between two looks at the same interface.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rate {
    /// Received.
    pub rx: f64,
    /// Sent.
    pub tx: f64,
}

impl Status {
    /// Received and sent bytes of all peers that there have been: pods come and go, and a sum of those that are here now would
    /// fall.
    pub fn bytes(&self) -> (u64, u64) {
        let former = (self.former_peers.rx_bytes, self.former_peers.tx_bytes);
        self.peers.iter().fold(former, |(rx, tx), peer| (rx + peer.rx_bytes, tx + peer.tx_bytes))
    }

    /// Rate since an earlier look; `None` when no time has passed or the counters began anew.
    pub fn rate_since(&self, earlier: &Self) -> Option<Rate> {
        Rate::between(earlier.at, earlier.bytes(), self.at, self.bytes())
    }

    /// Share of the planned rate in use, of the busier direction: 1.0 is all of it.
    pub fn utilisation(&self, rate: Rate) -> Option<f64> {
        self.planned_rate_mbit.map(|mbit| rate.rx.max(rate.tx) / (f64::from(mbit) * 1e6))
    }
}

impl Peer {
    /// Rate since an earlier look at the same peer.
    pub fn rate_since(&self, earlier: &Self, seconds: f64) -> Option<Rate> {
        Rate::between(0.0, (earlier.rx_bytes, earlier.tx_bytes), seconds, (self.rx_bytes, self.tx_bytes))
    }
}

impl Rate {
    /// From two readings of the clock in seconds and of the counters of received and sent bytes.
    #[expect(clippy::cast_precision_loss, reason = "a rate to be read by people")]
    pub fn between(then: f64, before: (u64, u64), now: f64, after: (u64, u64)) -> Option<Self> {
        let seconds = now - then;
        let (rx, tx) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
        (seconds > 0.0).then(|| Self { rx: rx as f64 * 8.0 / seconds, tx: tx as f64 * 8.0 / seconds })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An interface with everything that can be shown.
    pub(crate) fn sample() -> Status {
        let peer = Peer {
            public_key: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
            preshared_key: true,
            endpoint: Some("203.0.113.7:51820".parse().unwrap()),
            endpoint_name: Some("hub.example.net:51820".into()),
            carrier: Some(PeerCarrier {
                kind: "tls".into(),
                why: "UDP does not answer".into(),
                rtt: Some(0.0815),
                dropped: Some(3),
                connections: Some(2),
                tls_endpoint: Some("hub.example.net:443".into()),
            }),
            allowed_ips: vec!["10.100.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()],
            persistent_keepalive: Some(25),
            last_handshake: Some(1_800_000_000.0 - 75.0),
            handshake_rtt: Some(0.0123),
            handshakes: Some(3),
            session_age: Some(75.0),
            rx_bytes: 9_000_000_000,
            tx_bytes: 1500,
            rx_packets: Some(6_000_000),
            tx_packets: Some(12),
            drops: [("replay".to_owned(), 2)].into(),
        };
        let silent = Peer {
            public_key: "TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0=".into(),
            preshared_key: false,
            endpoint: None,
            endpoint_name: Some("gone.example.net:51820".into()),
            carrier: None,
            allowed_ips: vec![],
            persistent_keepalive: None,
            last_handshake: None,
            handshake_rtt: None,
            handshakes: Some(0),
            session_age: None,
            rx_bytes: 0,
            tx_bytes: 0,
            rx_packets: Some(0),
            tx_packets: Some(0),
            drops: BTreeMap::new(),
        };
        Status {
            interface: "wg0".into(),
            version: "0.1.0".into(),
            backend: "tun".into(),
            backend_reason: "no WireGuard in this kernel".into(),
            public_key: Some("HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=".into()),
            listen_port: 51820,
            fwmark: Some(0xca6c),
            mtu: 1420,
            addresses: vec!["10.100.0.2/24".parse().unwrap()],
            at: 1_800_000_000.0,
            up_since: 1_800_000_000.0 - 3725.0,
            planned_rate_mbit: Some(1000),
            offloads: vec![
                Offload { name: "tun_tso".into(), on: true, why: "large TCP packets".into() },
                Offload { name: "udp_gro".into(), on: false, why: "UDP_GRO needs Linux 5.0".into() },
            ],
            drops: [("no_route".to_owned(), 4)].into(),
            tls: Some(TlsListen {
                address: "[::]:443".parse().unwrap(),
                pin: "sha256//ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=".into(),
                connections: 4,
                accepted: 9,
                limited: 1,
                failed: 2,
                tunnels: 6,
            }),
            services: Some(Services {
                streams: [("http", 2, 9), ("socks", 1, 4), ("udp_forward", 0, 0)]
                    .map(|(name, open, total)| (name.to_owned(), Streams { open, total }))
                    .into(),
                refused: [("authentication".to_owned(), 0), ("refused".to_owned(), 3)].into(),
                sent_bytes: 4096,
                received_bytes: 3 << 30,
                reset: 2,
                idle: 0,
                datagrams_dropped: 5,
                dns: Dns { questions: 12, cached: 7, failed: 1, strange: 0 },
                buffers: Some(Buffers { bytes: 1 << 20, peak_bytes: 9 << 20, limit_bytes: 32 << 20 }),
            }),
            peers: vec![peer, silent],
            former_peers: Moved { rx_bytes: 5000, tx_bytes: 700 },
        }
    }

    #[test]
    fn the_json_reads_back() {
        let status = sample();
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
    }
}
