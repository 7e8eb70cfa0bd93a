//! What happens to the wire between two hosts.

use std::sync::Arc;

use anyhow::Result;

use crate::Namespace;

/// The two ends of a wire.
pub type Hosts = [Arc<Namespace>; 2];

/// Drops all UDP between the hosts, as networks that block it do: the sender gets no error.
///
/// # Errors
/// The kernel has no nftables, or `nft` is missing.
pub fn drop_udp(hosts: &Hosts) -> Result<()> {
    hosts.iter().try_for_each(|host| drop_udp_over(host, "wire"))
}

/// Drops all UDP that a host receives over an interface: the sender gets no error.
///
/// # Errors
/// As for [`drop_udp`].
pub fn drop_udp_over(host: &Namespace, interface: &str) -> Result<()> {
    let rules = format!(
        "add table inet lab; \
         add chain inet lab in {{ type filter hook input priority 0; }}; \
         add rule inet lab in iifname {interface} meta l4proto udp drop"
    );
    host.run("nft", &[&rules]).map(drop)
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
