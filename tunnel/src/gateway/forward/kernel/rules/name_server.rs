//! Rules for the gateway's own services: queries of peers for names, credentials, and direct paths, and its own queries to
//! gateways of other sites.

use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;
use warren_wire::gateway::{CREDENTIALS_PORT, DIRECT_PORT, GatewayConfig, SitePeer};

use super::{is_of, keyword, set};
use crate::runtime::host::InterfaceName;

/// Addresses in the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::gateway::forward::kernel) struct NameServerRules {
    /// Where it answers.
    pub(in crate::gateway::forward::kernel) own: Vec<IpAddr>,
    /// Where peers get credentials.
    pub(in crate::gateway::forward::kernel) credentials: Vec<IpAddr>,
    /// Where peers learn about direct paths.
    pub(in crate::gateway::forward::kernel) direct: Vec<IpAddr>,
    /// The resolvers that it queries through the tunnel.
    pub(in crate::gateway::forward::kernel) beyond: Vec<IpAddr>,
}

impl NameServerRules {
    pub(in crate::gateway::forward::kernel) fn of(config: &GatewayConfig) -> Self {
        let tunnel: Vec<IpNet> = config.site.peers.iter().flat_map(SitePeer::allowed_ips).collect();
        let resolvers = config.dns.zones.iter().flat_map(|zone| zone.resolvers.iter().copied());
        let mut beyond: Vec<IpAddr> =
            resolvers.filter(|resolver| tunnel.iter().any(|net| net.contains(resolver))).collect();
        beyond.sort_unstable();
        beyond.dedup();
        let direct = if config.has_direct_rules() { config.dns_addresses() } else { Vec::new() };
        Self {
            own: config.name_server_addresses(),
            credentials: config.credential_addresses(),
            direct,
            beyond,
        }
    }

    /// The chain for queries of peers: whoever sends through the tunnel is one, and the services know their groups.
    pub(super) fn chain(&self) -> &'static str {
        if self.own.is_empty() && self.credentials.is_empty() { "" } else { QUERIES }
    }

    /// The first rules for packets to this machine.
    pub(super) fn input(&self, tunnel: &InterfaceName) -> String {
        let mut out = String::new();
        for (ip, own) in by_family(&self.own) {
            _ = writeln!(out, "    iifname != \"{tunnel}\" {ip} daddr {own} drop");
            _ = writeln!(
                out,
                "    iifname \"{tunnel}\" {ip} daddr {own} meta l4proto {{ 6, 17 }} th dport 53 goto queries"
            );
        }
        for (addresses, port) in [(&self.credentials, CREDENTIALS_PORT), (&self.direct, DIRECT_PORT)] {
            for (ip, at) in by_family(addresses) {
                _ = writeln!(out, "    iifname != \"{tunnel}\" {ip} daddr {at} drop");
                _ = writeln!(out, "    iifname \"{tunnel}\" {ip} daddr {at} tcp dport {port} goto queries");
            }
        }
        for (ip, beyond) in by_family(&self.beyond) {
            _ = writeln!(
                out,
                "    iifname \"{tunnel}\" {ip} saddr {beyond} ct direction reply ct state established meta l4proto {{ 6, 17 }} th sport 53 accept"
            );
        }
        out
    }

    /// The first rules for packets from this machine.
    pub(super) fn output(&self, tunnel: &InterfaceName) -> String {
        let mut out = String::new();
        for (ip, beyond) in by_family(&self.beyond) {
            _ = writeln!(
                out,
                "    oifname \"{tunnel}\" {ip} daddr {beyond} meta l4proto {{ 6, 17 }} th dport 53 accept"
            );
        }
        out
    }
}

const QUERIES: &str = "  chain queries {
    ct state invalid drop
    ct state new tcp flags & (fin|syn|rst|ack) != syn reject with tcp reset
    accept
  }
";

/// A set of addresses for each address family, with the family's keyword.
fn by_family(addresses: &[IpAddr]) -> impl Iterator<Item = (&'static str, String)> + '_ {
    [4, 6].into_iter().filter_map(|family| {
        let nets: Vec<IpNet> = addresses.iter().map(|address| IpNet::from(*address)).collect();
        let nets: Vec<IpNet> = nets.into_iter().filter(|net| is_of(net, family)).collect();
        let first = nets.first()?;
        Some((keyword(first), set(&nets)))
    })
}
