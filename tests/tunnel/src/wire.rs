//! What happens to the wire between two hosts.

use std::sync::Arc;

use anyhow::Result;

use crate::Namespace;

/// The two ends of a wire.
pub type Hosts = [Arc<Namespace>; 2];

/// Drops all UDP where it arrives, so that no sender is told.
///
/// # Errors
/// The kernel has no nftables, or `nft` is missing.
pub fn drop_udp(hosts: &Hosts) -> Result<()> {
    for host in hosts {
        let rules = "add table inet lab; \
                     add chain inet lab in { type filter hook input priority 0; }; \
                     add rule inet lab in iifname wire meta l4proto udp drop";
        host.run("nft", &[rules])?;
    }
    Ok(())
}

/// Drops what comes over the wire to the second host's port for TLS: what arrives then came by UDP.
///
/// # Errors
/// `nft` refuses.
pub fn drop_tls(hosts: &Hosts) -> Result<()> {
    let rules = "add table inet lab; \
                 add chain inet lab in { type filter hook input priority 0; }; \
                 add rule inet lab in iifname wire tcp dport 443 drop";
    hosts[1].run("nft", &[rules]).map(drop)
}

/// Lets it through again.
///
/// # Errors
/// It was not dropped.
pub fn pass_udp(hosts: &Hosts) -> Result<()> {
    for host in hosts {
        host.run("nft", &["delete table inet lab"])?;
    }
    Ok(())
}

/// Makes it a line of 100 Mbit/s, so that a transfer lasts.
///
/// # Errors
/// The kernel has no token bucket, or `tc` is missing.
pub fn slow(hosts: &Hosts) -> Result<()> {
    for host in hosts {
        let queue = "qdisc add dev wire root tbf rate 100mbit burst 128kb latency 30ms";
        host.run("tc", &queue.split(' ').collect::<Vec<_>>())?;
    }
    Ok(())
}
