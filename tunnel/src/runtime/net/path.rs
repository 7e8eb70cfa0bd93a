//! The network path to the peers.

use std::{collections::BTreeSet, net::IpAddr};

use super::{Netlink, Path};

/// The smallest MTU on the path to `peers`, before the tunnel's own routes exist. Without known peers, the MTU of the default
/// route.
pub fn outside_mtu(netlink: &mut Netlink, peers: impl Iterator<Item = IpAddr>) -> Option<u32> {
    let mut least = None;
    let mut seen = BTreeSet::new();
    for peer in peers {
        let Ok(path) = netlink.path_to(peer) else { continue };
        if path.mtu.is_none() && !seen.insert(path.index) {
            continue;
        }
        if let Some(mtu) = mtu_of(netlink, &path) {
            least = Some(least.map_or(mtu, |least: u32| least.min(mtu)));
        }
    }
    least.or_else(|| {
        let path = netlink.default_path().ok().flatten()?;
        mtu_of(netlink, &path)
    })
}

fn mtu_of(netlink: &mut Netlink, path: &Path) -> Option<u32> {
    path.mtu.or_else(|| Some(netlink.link_by_index(path.index).ok()??.mtu))
}
