//! The status of a tunnel of our own data path.

use std::{collections::BTreeMap, fmt, sync::Arc};

use ipnet::IpNet;
use warren_cipher::Suite;
use warren_proto::{Now, engine::PeerStatus, plane::Traffic};
use warren_transport::tls::{Listener, Pin};
use warren_wire::config::{Endpoint, Host};

use super::{carriers::PeerCarriers, direct::DirectPaths, model::Model};
use crate::runtime::status::{DnsZone, Moved, Offload, Peer, Services, Status, TlsListen};
use crate::runtime::{cipher, sandbox};

/// Facts about the interface that the control thread learns from the agent.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Name of the interface.
    pub interface: String,
    /// The backend: `tun`, `user` or `userns`.
    pub backend: &'static str,
    /// Why this backend.
    pub backend_reason: String,
    /// Largest packet inside.
    pub mtu: u32,
    /// Addresses.
    pub addresses: Vec<IpNet>,
    /// Domains that are resolved through the tunnel.
    pub dns_zones: Vec<DnsZone>,
    /// Since the UNIX epoch.
    pub up_since: f64,
    /// Mbit/s.
    pub planned_rate_mbit: Option<u32>,
    /// Offloads of the device; those of the socket are read each time, since they can be switched off.
    pub device_offloads: Vec<Offload>,
    /// The TLS port.
    pub tls: Option<TlsPort>,
    /// Proxies and port forwards, if the tunnel has no interface.
    pub services: Option<ServiceCounters>,
}

/// Reads the counters of proxies and port forwards. Clones read the same counters.
#[derive(Clone)]
pub struct ServiceCounters(Arc<dyn Fn() -> Services + Send + Sync>);

impl ServiceCounters {
    /// Counters that `read` returns.
    pub fn new(read: impl Fn() -> Services + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    fn read(&self) -> Services {
        (self.0)()
    }
}

impl fmt::Debug for ServiceCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceCounters").field(&self.read()).finish()
    }
}

/// A port that accepts TLS connections. Clones refer to the same port.
#[derive(Debug, Clone)]
pub struct TlsPort {
    /// The listener.
    pub listener: Arc<Listener>,
    /// The pin of its key, for clients.
    pub pin: Pin,
}

impl TlsPort {
    fn status(&self, connections: usize) -> TlsListen {
        let stats = self.listener.stats();
        TlsListen {
            address: self.listener.address(),
            pin: self.pin.to_string(),
            connections: connections as u64,
            accepted: stats.accepted,
            limited: stats.limited,
            failed: stats.failed,
            tunnels: stats.tunnels,
            refused: stats.refused.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect(),
        }
    }
}

/// Builds a status.
pub(super) fn status(
    facts: &Facts,
    model: &Model,
    now: Now,
    (listen_port, socket_offloads): (u16, Vec<Offload>),
    drops: BTreeMap<String, u64>,
    (peers, departed, suite): (Vec<PeerStatus>, Traffic, Suite),
    (carriers, direct, connections): (&PeerCarriers, &DirectPaths, usize),
) -> Status {
    let mut offloads = facts.device_offloads.clone();
    offloads.extend(socket_offloads);
    Status {
        interface: facts.interface.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        backend: facts.backend.into(),
        backend_reason: facts.backend_reason.clone(),
        public_key: model.private_key.as_ref().map(|key| key.public().to_string()),
        listen_port,
        fwmark: model.fwmark,
        mtu: facts.mtu,
        addresses: facts.addresses.clone(),
        dns_zones: facts.dns_zones.clone(),
        at: now.wall.as_secs_f64(),
        up_since: facts.up_since,
        planned_rate_mbit: facts.planned_rate_mbit,
        offloads,
        drops,
        tls: facts.tls.as_ref().map(|tls| tls.status(connections)),
        services: facts.services.as_ref().map(ServiceCounters::read),
        sandbox: sandbox::in_force(),
        cipher: Some(cipher::report(suite)),
        peers: peers.into_iter().map(|known| peer(known, model, carriers, direct)).collect(),
        former_peers: Moved { rx_bytes: departed.rx_bytes, tx_bytes: departed.tx_bytes },
    }
}

fn endpoint_text(name: &Endpoint) -> String {
    match &name.host {
        Host::Ip(ip) => std::net::SocketAddr::new(*ip, name.port).to_string(),
        Host::Name(host) => format!("{host}:{}", name.port),
    }
}

fn peer(known: PeerStatus, model: &Model, carriers: &PeerCarriers, direct: &DirectPaths) -> Peer {
    Peer {
        direct: direct.status(&known.public_key),
        carrier: carriers.status(&known.public_key, known.endpoint),
        endpoint_name: model.name(&known.public_key).map(endpoint_text),
        public_key: known.public_key.to_string(),
        preshared_key: known.preshared_key_set,
        endpoint: known.endpoint.map(|endpoint| endpoint.remote),
        allowed_ips: known.allowed_ips,
        persistent_keepalive: known.persistent_keepalive,
        last_handshake: known.last_handshake.map(|time| time.as_secs_f64()),
        handshake_rtt: known.handshake_rtt.map(|rtt| rtt.as_secs_f64()),
        answer_rtt: known.answer_rtt.map(|rtt| rtt.as_secs_f64()),
        handshakes: Some(known.handshakes_initiated + known.handshakes_answered),
        session_age: known.session_age.map(|age| age.as_secs_f64()),
        rx_bytes: known.traffic.rx_bytes,
        tx_bytes: known.traffic.tx_bytes,
        rx_packets: Some(known.traffic.rx_packets),
        tx_packets: Some(known.traffic.tx_packets),
        drops: known.drops.into_iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect(),
    }
}
