//! What kernel forwarding needs, checked before anything is changed.

use std::fs;
use std::io::ErrorKind;

use ipnet::IpNet;
use warren_wire::config::Host as Destination;
use warren_wire::gateway::{GatewayConfig, SitePeer};

use super::host::{FORWARD_V4, FORWARD_V6};
use super::nft::Nft;
use crate::runtime::host::capabilities;
use crate::runtime::problem::{Problem, Result};

/// Checks that this machine's kernel can forward for a gateway with such a pool.
///
/// # Errors
/// The first thing that is missing.
pub(in crate::gateway) fn check_machine(v4: bool, v6: bool) -> Result<()> {
    if !capabilities::may_configure_network() {
        return Err(Problem::new("CAP_NET_ADMIN is missing").hint(
            "run as root, or with AmbientCapabilities=CAP_NET_ADMIN in a systemd unit; in a container: --cap-add NET_ADMIN",
        ));
    }
    capabilities::tun_device().map_err(|error| {
        let device = capabilities::TUN_DEVICE;
        let hint = match error.kind() {
            ErrorKind::PermissionDenied => {
                format!("`chmod 666 {device}`, as udev does; CAP_NET_ADMIN is still required")
            }
            _ => format!("`modprobe tun`; in a container: --device {device}"),
        };
        Problem::new(format!("no TUN device is available ({device}: {error})")).hint(hint)
    })?;
    let nft = Nft::find()?;
    nft.probe()?;
    for (wanted, path) in [(v4, FORWARD_V4), (v6, FORWARD_V6)] {
        if wanted {
            may_forward(path)?;
        }
    }
    Ok(())
}

/// Checks that forwarding is enabled or can be enabled.
fn may_forward(path: &str) -> Result<()> {
    let name = path.trim_start_matches("/proc/sys/").replace('/', ".");
    let failed = |error: std::io::Error| {
        Problem::new(format!("cannot set {name}: {error}"))
            .hint(format!("set it on the host, or give the container --sysctl {name}=1"))
    };
    if fs::read_to_string(path).map_err(failed)?.trim() == "1" {
        return Ok(());
    }
    fs::OpenOptions::new().write(true).open(path).map(drop).map_err(failed)
}

/// All ranges behind the tunnel: those of pods and of other sites.
pub(in crate::gateway) fn tunnel_ranges(config: &GatewayConfig) -> Vec<IpNet> {
    let mut nets = config.pool.prefixes.clone();
    nets.extend(config.site.peers.iter().flat_map(SitePeer::allowed_ips));
    nets
}

/// Checks that no site's endpoint is inside the tunnel: the kernel has one route to each address.
///
/// # Errors
/// The gateway of a site has an address inside the tunnel.
pub(in crate::gateway) fn check_routes(config: &GatewayConfig) -> Result<()> {
    let nets = tunnel_ranges(config);
    for site in &config.site.peers {
        if let Some(Destination::Ip(at)) = site.endpoint.as_ref().map(|endpoint| &endpoint.host)
            && let Some(net) = nets.iter().find(|net| net.contains(at))
        {
            let what =
                format!("site {} has the endpoint {at}, which is inside {net} behind the tunnel", site.name);
            return Err(Problem::new(what).hint("use an endpoint address outside this range"));
        }
    }
    Ok(())
}
