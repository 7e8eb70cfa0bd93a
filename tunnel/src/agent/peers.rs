//! The peers of a configuration file, with their endpoints resolved.

use warren_proto::engine::PeerConfig;
use warren_wire::config::{Config, Host};

use super::Carriers;
use crate::runtime::{control::FilePeer, net::resolve};

/// Peers as written in the file. With `look_up`, names are resolved now, before the tunnel's own routes can interfere.
/// After the first failure the rest is left to the lookup thread, so that a machine without DNS can still bring the
/// tunnel up.
pub(super) fn of(
    config: &Config,
    carriers: &Carriers,
    fwmark: Option<u32>,
    mut look_up: bool,
) -> Vec<FilePeer> {
    let mut peers = Vec::with_capacity(config.peers.len());
    for peer in &config.peers {
        let mut known = PeerConfig::new(peer.public_key);
        known.preshared_key.clone_from(&peer.preshared_key);
        known.allowed_ips = peer.allowed_ips.iter().map(ipnet::IpNet::trunc).collect();
        known.persistent_keepalive = peer.persistent_keepalive.filter(|seconds| *seconds > 0);
        let udp = peer.endpoint.as_ref().filter(|_| carriers.udp());
        let name = udp.cloned().filter(|endpoint| matches!(endpoint.host, Host::Name(_)));
        if let Some(endpoint) = udp
            && (name.is_none() || look_up)
        {
            match resolve(endpoint, None) {
                Ok(address) => known.endpoint = Some(address),
                Err(problem) => {
                    // The lookup thread warns if it fails again.
                    tracing::debug!("{}", problem.what());
                    look_up = false;
                }
            }
        }
        peers.push(FilePeer { config: known, name, tls: carriers.tls(peer, fwmark) });
    }
    peers
}
