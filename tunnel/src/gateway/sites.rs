//! Other gateways: peers of the interface that hold no lease. Those of other networks are sites. Those of this pool carry what
//! pods that are at different gateways send each other.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use warren_proto::engine::PeerConfig;
use warren_wire::PublicKey;
use warren_wire::config::{Endpoint, Host};
use warren_wire::gateway::{GatewayConfig, Site, SitePeer, StoreConfig};
use warren_wire::token::Gateway;

use super::access::Access;
use super::forward::Forward;
use super::model::SiteEntry;
use super::peers::{Member, PeerTable};
use crate::runtime::control::{Command, FilePeer, Handle, Lookup, difference};
use crate::runtime::net::resolve;
use crate::runtime::problem::Result;
use crate::runtime::status::Status;

/// REJECT_AFTER_TIME (whitepaper section 6.1): a link without a handshake for this long is down.
const SESSION: f64 = 180.0;

/// The sites, and what they need from the gateway.
pub(super) struct Sites {
    pub(super) peer_table: Arc<PeerTable>,
    pub(super) access: Arc<Access>,
    pub(super) forward: Arc<dyn Forward>,
    pub(super) interface: Handle,
    /// The lookup thread, for endpoint names.
    pub(super) lookups: SyncSender<Lookup>,
}

impl Sites {
    /// Replaces the sites and the links to gateways of this pool. Flows of changed sites end.
    ///
    /// # Errors
    /// The control thread does not answer.
    pub(super) fn replace(&self, before: Option<&GatewayConfig>, after: &GatewayConfig) -> Result<()> {
        let (gone, changed) = difference(&before.map(peers).unwrap_or_default(), &peers(after));
        let before = before.map(|before| &before.site.peers[..]).unwrap_or_default();
        for site in before.iter().filter(|site| !after.site.peers.contains(site)) {
            if let Some(member) = self.peer_table.take(&site.key) {
                self.forward.remove(&member);
            }
        }
        for site in after.site.peers.iter().filter(|site| !before.contains(site)) {
            let member = Arc::new(Member::site(site, &self.access));
            self.forward.install(&member);
            self.peer_table.put(&member);
        }
        // Rules must be in place before packets arrive.
        self.forward.flush();
        let unknown: Vec<Lookup> = changed
            .iter()
            .filter_map(|peer| {
                Some(Lookup { peer: peer.config.public_key, name: peer.name.clone()?, unresponsive: None })
            })
            .collect();
        if !gone.is_empty() || !changed.is_empty() {
            self.interface.request(|done| Command::Peers { gone, changed, done })?;
            self.interface.send(Command::StartHandshakes);
            self.peer_table.report_gateways(&self.interface, &self.peer_table.leased());
        }
        for lookup in unknown {
            // If the queue is full, the name is resolved when the peer does not answer.
            _ = self.lookups.try_send(lookup);
        }
        Ok(())
    }
}

fn peers(config: &GatewayConfig) -> Vec<FilePeer> {
    let sites = config.site.peers.iter().map(|site| {
        let peer = peer(site.key, site.endpoint.as_ref());
        let keepalive = Some(config.peers.keepalive_seconds);
        let config =
            PeerConfig { allowed_ips: site.allowed_ips(), persistent_keepalive: keepalive, ..peer.config };
        FilePeer { config, ..peer }
    });
    let links = links(config).map(|gateway| peer(gateway.key, gateway.udp.as_ref()));
    sites.chain(links).collect()
}

/// The other gateways of this pool, if pods may reach each other: a shared store tells at which one each pod is.
fn links(config: &GatewayConfig) -> impl Iterator<Item = &Gateway> {
    let shared = matches!(config.store, StoreConfig::Etcd(_)) && config.has_peer_rules();
    let others = config.gateways.as_slice().iter().filter(|gateway| gateway.name != config.name);
    others.filter(move |gateway| shared && gateway.udp.is_some())
}

fn peer(key: PublicKey, endpoint: Option<&Endpoint>) -> FilePeer {
    let mut config = PeerConfig::new(key);
    let name = endpoint.filter(|endpoint| matches!(endpoint.host, Host::Name(_))).cloned();
    if name.is_none() {
        config.endpoint = endpoint.and_then(|endpoint| resolve(endpoint, None).ok());
    }
    FilePeer { config, name, tls: None }
}

/// The status of each site, from the status of the interface.
pub(super) fn entries(site: &Site, interface: &Status) -> Vec<SiteEntry> {
    let entry = |site: &SitePeer| {
        let key = site.key.to_string();
        let peer = interface.peers.iter().find(|peer| peer.public_key == key);
        let age = peer.and_then(|peer| peer.last_handshake).map(|at| (interface.at - at).max(0.0));
        SiteEntry {
            name: site.name.to_string(),
            prefixes: site.prefixes.clone(),
            up: age.is_some_and(|age| age < SESSION),
            last_handshake_age: age,
            endpoint: peer.and_then(|peer| peer.endpoint).map(|at| at.to_string()),
            rx_bytes: peer.map_or(0, |peer| peer.rx_bytes),
            tx_bytes: peer.map_or(0, |peer| peer.tx_bytes),
            public_key: key,
        }
    };
    site.peers.iter().map(entry).collect()
}
