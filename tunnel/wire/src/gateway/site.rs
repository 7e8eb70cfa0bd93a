//! Links to gateways of other networks.
//!
//! ```toml
//! [site]
//! addresses = ["10.100.0.1"]
//!
//! [[site.peers]]
//! name = "gcp-hub"
//! key = "…"
//! endpoint = "gw.gcp.example.com:51820"
//! addresses = ["10.101.0.1"]
//! prefixes = ["10.0.0.0/16"]
//! group = "gcp-hub"
//! ```
//!
//! Traffic to a peer's prefixes goes to that gateway, with one of this gateway's addresses as its source. That gateway
//! forwards it under the allow list of this site's group. Traffic from the peer is forwarded here under the allow list of
//! its group.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

use crate::config::Endpoint;
use crate::key::PublicKey;
use crate::name::Name;

/// The most sites that a gateway is peered with.
const PEERS_MAX: usize = 256;

/// This gateway's links to gateways of other networks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Source addresses towards other gateways, at most one of each address family.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
    /// The gateways of other networks.
    #[serde(default)]
    pub peers: Vec<SitePeer>,
}

/// A gateway of another network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SitePeer {
    /// Its name in this file.
    pub name: Name,
    /// Its WireGuard public key.
    pub key: PublicKey,
    /// Its WireGuard endpoint; if omitted, that gateway connects to this one.
    #[serde(default)]
    pub endpoint: Option<Endpoint>,
    /// Its source addresses: its `[site] addresses`.
    pub addresses: Vec<IpAddr>,
    /// The ranges behind it.
    #[serde(default)]
    pub prefixes: Vec<IpNet>,
    /// The group whose rules apply to its traffic.
    pub group: Name,
}

/// Something wrong: the setting, what is wrong with it, and what to do.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: String,
}

impl SitePeer {
    /// Its allowed IPs: its addresses and prefixes.
    #[must_use]
    pub fn allowed_ips(&self) -> Vec<IpNet> {
        self.prefixes
            .iter()
            .copied()
            .chain(self.addresses.iter().map(|address| IpNet::from(*address)))
            .collect()
    }
}

impl Site {
    /// Looks for the first contradiction, with the pool and what is reserved of it.
    pub(crate) fn check(&self, pool: &[IpNet], reserved: &[IpAddr]) -> Result<(), Wrong> {
        let wrong = |key, what: String, hint: &str| Err(Wrong { key, what, hint: hint.to_owned() });
        if self.peers.len() > PEERS_MAX {
            return wrong(
                "peers",
                format!("{} peers", self.peers.len()),
                "a gateway has at most 256 sites as peers",
            );
        }
        let pods = |net: &IpNet| pool.iter().find(|pool| pool.contains(net) || net.contains(*pool)).copied();
        let own = self.addresses.iter().map(|address| (None, *address));
        let theirs = self
            .peers
            .iter()
            .flat_map(|peer| peer.addresses.iter().map(move |address| (Some(&peer.name), *address)));
        for (_, address) in own.chain(theirs) {
            if pods(&address.into()).is_some() && !reserved.contains(&address) {
                let hint = format!("add {address} to [pool] reserved, or use an address outside the pool");
                return wrong("addresses", format!("a pod may get {address}"), &hint);
            }
        }
        for (index, peer) in self.peers.iter().enumerate() {
            if self.peers[..index].iter().any(|other| other.name == peer.name || other.key == peer.key) {
                let what = format!("{} is listed twice", peer.name);
                return wrong("name", what, "give each site its own name and key");
            }
            if peer.addresses.is_empty() {
                let what = format!("{} has no address", peer.name);
                return wrong("addresses", what, "write the [site] addresses of that gateway");
            }
            for net in &peer.prefixes {
                if net.trunc() != *net {
                    let hint = format!("write {}", net.trunc());
                    return wrong("prefixes", format!("{net} has host bits set"), &hint);
                }
                if let Some(pool) = pods(net) {
                    let what = format!("{net} of {} and {pool} of the pool overlap", peer.name);
                    return wrong("prefixes", what, "peered networks must not overlap");
                }
                if !self.addresses.iter().any(|own| own.is_ipv4() == net.addr().is_ipv4()) {
                    let what = format!("this gateway has no [site] address of the address family of {net}");
                    return wrong("addresses", what, "add an address of that family to [site] addresses");
                }
            }
            let nets = peer.allowed_ips();
            if let Some(own) = self.addresses.iter().find(|own| nets.iter().any(|net| net.contains(*own))) {
                let what = format!("{own} belongs to this gateway and to {}", peer.name);
                return wrong("addresses", what, "give each gateway its own addresses");
            }
            for other in &self.peers[..index] {
                let both = other.allowed_ips();
                let clash = nets.iter().find_map(|net| {
                    let found = both.iter().find(|other| other.contains(net) || net.contains(*other))?;
                    Some((net, found))
                });
                if let Some((net, found)) = clash {
                    let what = format!("{net} of {} and {found} of {} overlap", peer.name, other.name);
                    return wrong(
                        "prefixes",
                        what,
                        "remove it from one of the peers: each destination has one peer",
                    );
                }
            }
        }
        Ok(())
    }
}
