//! The status of an interface, the same for every backend. `status`, its JSON and the metrics use this model.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use warren_wire::gateway::Opening;

/// The status of an interface at one moment. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the interface.
    pub interface: String,
    /// Version of the agent.
    pub version: String,
    /// `kernel`, `tun`, `user` or `userns`.
    pub backend: String,
    /// The reason for the backend.
    pub backend_reason: String,
    /// Our public key.
    pub public_key: Option<String>,
    /// Bound UDP port.
    pub listen_port: u16,
    /// Firewall mark of our datagrams.
    pub fwmark: Option<u32>,
    /// MTU inside the tunnel.
    pub mtu: u32,
    /// Addresses of the interface.
    pub addresses: Vec<IpNet>,
    /// Domains that are resolved through the tunnel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_zones: Vec<DnsZone>,
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
    /// The port that accepts TLS connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsListen>,
    /// Proxies and port forwards of a tunnel without an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<Services>,
    /// What confines the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// What seals and opens data messages; the kernel's WireGuard has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cipher: Option<Cipher>,
    /// All peers.
    pub peers: Vec<Peer>,
    /// Traffic of peers that have been removed.
    #[serde(default)]
    pub former_peers: Moved,
}

/// Domains, and the servers in the tunnel that resolve them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsZone {
    /// The domains.
    pub domains: Vec<String>,
    /// The servers.
    pub servers: Vec<IpAddr>,
}

/// A query for one of these domains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsTest {
    /// The domain.
    pub domain: String,
    /// Whether a server knows it, or knows that there is no such name.
    pub works: bool,
    /// The answer in words; nothing if none came.
    pub answer: Option<String>,
    /// The time until then.
    pub milliseconds: u64,
}

/// The code that seals and opens data messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cipher {
    /// `ring`, or a library with its version.
    pub name: String,
    /// Why it is not the fastest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Cipher {
    /// It in one line.
    pub fn text(&self) -> String {
        match &self.why {
            None => self.name.clone(),
            Some(why) => format!("{} ({why})", self.name),
        }
    }
}

/// What confines a process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sandbox {
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
    /// The version of Landlock's ABI in force; 0 if none is.
    pub landlock_abi: u32,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether no program that it starts gains privileges.
    pub no_new_privileges: bool,
    /// Whether it may start programs of the machine.
    pub programs: bool,
    /// Whether threads that start the user's program are outside.
    pub beside: bool,
    /// Its user.
    pub user: u32,
    /// Its capabilities.
    pub capabilities: Vec<String>,
    /// What the kernel does not offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Sandbox {
    /// It in one line.
    pub fn text(&self) -> String {
        let capabilities = match self.capabilities.as_slice() {
            [] => "no capabilities".to_owned(),
            // Those of root in full are too many to name.
            many if many.len() > 6 => format!("{} capabilities", many.len()),
            few => few.join(", "),
        };
        let who = format!("user {}, {capabilities}", self.user);
        if let Some(why) = &self.off {
            return format!("none: {why}; {who}");
        }
        let mut parts = Vec::new();
        if self.landlock_abi > 0 {
            parts.push(format!("Landlock (ABI {})", self.landlock_abi));
        }
        if self.seccomp {
            parts.push("seccomp".to_owned());
        }
        parts.push(if self.programs { "starts programs" } else { "starts no programs" }.to_owned());
        if self.beside {
            parts.push("except the threads that run the command".to_owned());
        }
        parts.extend(self.missing.iter().cloned());
        format!("{}; {who}", parts.join(", "))
    }
}

/// Bytes of UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Received.
    pub rx_bytes: u64,
    /// Sent.
    pub tx_bytes: u64,
}

/// Proxies, port forwards and DNS of a tunnel without an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Services {
    /// Streams and sessions by service.
    pub streams: BTreeMap<String, Streams>,
    /// Requests refused or failed, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Payload in bytes from clients to their targets.
    pub sent_bytes: u64,
    /// Payload in bytes from targets to clients.
    pub received_bytes: u64,
    /// Streams that one end reset.
    pub reset: u64,
    /// Streams that ended because they were idle.
    pub idle: u64,
    /// Datagrams that were dropped.
    pub datagrams_dropped: u64,
    /// DNS queries.
    pub dns: Dns,
    /// The last test of a domain that is resolved through the tunnel; a look at the status starts the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_test: Option<DnsTest>,
    /// Buffers of all streams of the netstack; `None` if the kernel holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<Buffers>,
}

/// Memory of the buffers of all streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// In use.
    pub bytes: u64,
    /// Peak.
    pub peak_bytes: u64,
    /// Limit.
    pub limit_bytes: u64,
    /// Current streams, by congestion control.
    #[serde(default)]
    pub streams: BTreeMap<String, u64>,
}

/// Streams of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Streams {
    /// Open now.
    pub open: u64,
    /// Served since the start.
    pub total: u64,
}

/// Counters of DNS queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dns {
    /// Received.
    pub questions: u64,
    /// Answered from the cache.
    pub cached: u64,
    /// Not answered by any server in time.
    pub failed: u64,
    /// Datagrams from name servers that match no query.
    pub strange: u64,
}

/// A port that accepts TLS connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsListen {
    /// Its address.
    pub address: SocketAddr,
    /// The pin of its key for clients: `sha256//` and base64.
    pub pin: String,
    /// Tunnels open now.
    pub connections: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections rejected because of a limit.
    pub limited: u64,
    /// Connections whose handshake failed or timed out.
    pub failed: u64,
    /// Connections that became tunnels.
    pub tunnels: u64,
    /// Connections that were refused, or ended before a known peer used them, by reason.
    #[serde(default)]
    pub refused: BTreeMap<String, u64>,
}

/// The carrier of a peer that has both UDP and TLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerCarrier {
    /// `udp` or `tls`.
    pub kind: String,
    /// The reason for the carrier.
    pub why: String,
    /// Round-trip time over TLS in seconds, including the time in the socket buffer.
    pub rtt: Option<f64>,
    /// Datagrams dropped because the connection was congested.
    pub dropped: Option<u64>,
    /// Connections established so far, if this end connects.
    pub connections: Option<u64>,
    /// Open TLS connections over which packets to the peer are spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<u64>,
    /// The kernel's congestion control of the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The TLS endpoint.
    pub tls_endpoint: Option<String>,
}

/// The direct path to another pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerDirect {
    /// The pod, as `HOST.GROUP`.
    pub name: String,
    /// Its addresses inside the tunnel.
    pub addresses: Vec<IpAddr>,
    /// Flows that this end may begin on the path.
    pub opens: Vec<Opening>,
    /// Whether packets take the path; otherwise they pass the gateway.
    pub up: bool,
    /// How often it came up.
    pub ups: u64,
    /// Flows that take it while it is up.
    pub flows: u64,
    /// Packets of the pod that no rule allowed.
    pub refused: u64,
    /// Seconds until it ends unless the gateway offers it again.
    pub seconds_left: u64,
}

/// One offload of the device or the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offload {
    /// Short name, also a label of a metric.
    pub name: String,
    /// Whether it is used.
    pub on: bool,
    /// The reason why it is not used, or what it does.
    pub why: String,
}

/// The status of a peer at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its public key.
    pub public_key: String,
    /// Whether a preshared key is set.
    pub preshared_key: bool,
    /// Its current endpoint.
    pub endpoint: Option<SocketAddr>,
    /// The name in the configuration from which the endpoint was resolved.
    pub endpoint_name: Option<String>,
    /// The carrier, if the peer does not have only UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<PeerCarrier>,
    /// The direct path to it, if it is a pod that is also reached through the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<PeerDirect>,
    /// Its prefixes.
    pub allowed_ips: Vec<IpNet>,
    /// Seconds between keepalives.
    pub persistent_keepalive: Option<u16>,
    /// Seconds since the UNIX epoch of the last handshake.
    pub last_handshake: Option<f64>,
    /// Seconds that the last handshake took.
    pub handshake_rtt: Option<f64>,
    /// Seconds from our last response to a handshake to the first data message: the round trip, if none was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_rtt: Option<f64>,
    /// Completed handshakes; not reported by the kernel.
    pub handshakes: Option<u64>,
    /// Age in seconds of the session in use.
    pub session_age: Option<f64>,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets received; not reported by the kernel.
    pub rx_packets: Option<u64>,
    /// Packets sent; not reported by the kernel.
    pub tx_packets: Option<u64>,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
}

/// Bits per second between two readings of the same interface.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rate {
    /// Received.
    pub rx: f64,
    /// Sent.
    pub tx: f64,
}

impl Status {
    /// Received and sent bytes of all peers, including removed ones: pods come and go, and the sum must not decrease.
    pub fn bytes(&self) -> (u64, u64) {
        let former = (self.former_peers.rx_bytes, self.former_peers.tx_bytes);
        self.peers.iter().fold(former, |(rx, tx), peer| (rx + peer.rx_bytes, tx + peer.tx_bytes))
    }

    /// Rate since an earlier reading; `None` if no time has passed or the counters were reset.
    pub fn rate_since(&self, earlier: &Self) -> Option<Rate> {
        Rate::between(earlier.at, earlier.bytes(), self.at, self.bytes())
    }

    /// Share of the planned rate used in the busier direction; 1.0 is all of it.
    pub fn utilisation(&self, rate: Rate) -> Option<f64> {
        self.planned_rate_mbit.map(|mbit| rate.rx.max(rate.tx) / (f64::from(mbit) * 1e6))
    }
}

impl Peer {
    /// Rate since an earlier reading of the same peer.
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
    use warren_wire::gateway::Protocol;

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
                open: Some(4),
                congestion: Some("bbr".into()),
                tls_endpoint: Some("hub.example.net:443".into()),
            }),
            direct: None,
            allowed_ips: vec!["10.100.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()],
            persistent_keepalive: Some(25),
            last_handshake: Some(1_800_000_000.0 - 75.0),
            handshake_rtt: Some(0.0123),
            answer_rtt: None,
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
            direct: Some(PeerDirect {
                name: "train-1.trainers".into(),
                addresses: vec!["10.100.0.7".parse().unwrap()],
                opens: vec![Opening { protocol: Protocol::Tcp, first: 29500, last: 29599 }],
                up: true,
                ups: 2,
                flows: 3,
                refused: 1,
                seconds_left: 12,
            }),
            allowed_ips: vec![],
            persistent_keepalive: None,
            last_handshake: None,
            handshake_rtt: None,
            answer_rtt: None,
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
            dns_zones: vec![DnsZone {
                domains: vec!["googleapis.com".into(), "example.org".into()],
                servers: vec!["10.100.0.1".parse().unwrap()],
            }],
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
                refused: [("source_rate".to_owned(), 1)].into(),
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
                dns_test: Some(DnsTest {
                    domain: "googleapis.com".into(),
                    works: true,
                    answer: Some("No Error".into()),
                    milliseconds: 7,
                }),
                buffers: Some(Buffers {
                    bytes: 1 << 20,
                    peak_bytes: 9 << 20,
                    limit_bytes: 32 << 20,
                    streams: [("bbr".to_owned(), 2), ("cubic".to_owned(), 0)].into(),
                }),
            }),
            sandbox: Some(Sandbox {
                landlock_abi: 6,
                seccomp: true,
                no_new_privileges: true,
                user: 65534,
                ..Sandbox::default()
            }),
            cipher: Some(Cipher { name: "ipsec-mb 1.3.0".into(), why: None }),
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
