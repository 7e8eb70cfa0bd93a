//! DNS for peers: answers to queries for the configured domains, from resolvers of this gateway's network, and for the names of
//! peers.
//!
//! ```text
//! pod -------> overlay address, port 53 --> name of a peer --> its addresses
//! pod, site --> overlay address, port 53 --> share of the peer --> zone? --> cache --> resolver, or another site's gateway
//!                                                                    +--> no: refused
//! ```
//!
//! Only peers get answers: their source addresses are authentic. Pods need no rule for it. Another site's gateway needs one, and
//! what it asks is not passed back to it: two gateways would ask each other forever.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle as Runtime;
use warren_lease::policy::{Flow, RateLimit};
use warren_proxy::dns::{Clients, Names, Others, Suffixes, Verdict, Wanted, Zone};
use warren_proxy::net::{Listen, Prefixes, Split, System};
use warren_proxy::{Limits, Services};
use warren_wire::gateway::{GatewayConfig, Protocol, SitePeer};

use super::access::Access;
use super::forward::Inside;
use super::peers::{Member, PeerTable};
use crate::runtime::datapath::Clock;
use crate::runtime::netstack::Netstack;
use crate::runtime::problem::{Problem, Result};

/// The port of DNS.
pub(super) const PORT: u16 = 53;
/// Queries of all peers that wait for resolvers.
const PENDING: usize = 4096;
/// Queries and TCP connections that one peer has at a time.
const SHARE: u32 = 64;
/// How much more another site's gateway may have than a pod, for it asks for many.
const SITE: u32 = 10;
/// TCP connections of all peers.
const STREAMS: usize = 1024;
/// Bytes in large buffers.
const BUFFERS: usize = 1 << 20;

/// A running name server.
pub(super) struct NameServer {
    addresses: Vec<IpAddr>,
    services: Services,
    names: NamesIn,
}

/// Names in the network of the forwarding mode.
enum NamesIn {
    /// The kernel has routes to sites.
    Kernel(Names<System>),
    /// Sites are reached through the netstack, everything else through this machine's sockets.
    User(Names<Split<Netstack, System>>),
}

/// A peer's share of the name server.
pub(super) struct Share {
    queries: ArcSwap<RateLimit>,
    /// Queries and connections at this moment.
    busy: AtomicU32,
    most: u32,
}

/// DNS of a gateway, for its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsStatus {
    /// The addresses at which it answers.
    pub addresses: Vec<IpAddr>,
    /// The domains that it answers for, and their resolvers.
    pub zones: Vec<DnsZoneStatus>,
    /// All resolvers.
    pub resolvers: Vec<ResolverStatus>,
    /// Queries.
    pub queries: u64,
    /// Of these, answered from the cache.
    pub cached: u64,
    /// Of these, answered by no resolver in time.
    pub failed: u64,
    /// Of these, refused: of other domains, or not permitted.
    pub refused: u64,
    /// Queries and connections without an answer: over the limit of the peer.
    pub dropped: u64,
    /// Datagrams from resolvers that match no query.
    pub strange: u64,
}

/// Domains, and where they are looked up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsZoneStatus {
    /// The domains.
    pub domains: Vec<String>,
    /// Their resolvers.
    pub resolvers: Vec<IpAddr>,
}

/// A resolver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolverStatus {
    /// Its address.
    pub address: IpAddr,
    /// Whether it answered the last query.
    pub answers: bool,
}

impl DnsStatus {
    /// Queries that a resolver answered.
    pub(super) fn resolved(&self) -> u64 {
        self.queries.saturating_sub(self.cached + self.failed + self.refused)
    }
}

impl Share {
    /// The share of a pod, or of another site's gateway.
    pub(super) fn new(queries_per_second: u32, is_site: bool) -> Self {
        let queries = ArcSwap::from_pointee(rate(queries_per_second, is_site));
        let most = if is_site { SHARE * SITE } else { SHARE };
        Self { queries, busy: AtomicU32::new(0), most }
    }

    /// Applies another limit.
    pub(super) fn set_rate(&self, queries_per_second: u32, is_site: bool) {
        let before = self.queries.load();
        self.queries.store(Arc::new(rate(queries_per_second, is_site).filled_as(&before)));
    }

    /// Counts one query or connection, if there is room for it.
    fn begin(&self, is_query: bool) -> bool {
        if is_query && !self.queries.load().take(Clock.mono(), 1) {
            return false;
        }
        let more = |busy| (busy < self.most).then_some(busy + 1);
        self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

fn rate(queries_per_second: u32, is_site: bool) -> RateLimit {
    let units = u64::from(queries_per_second) * u64::from(if is_site { SITE } else { 1 });
    RateLimit::new(units, 2 * units)
}

/// The peers, as clients of one address of the name server.
struct Peers {
    at: IpAddr,
    peer_table: Arc<PeerTable>,
    access: Arc<Access>,
}

/// A query or connection of a member.
struct Begun(Arc<Member>);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.dns.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clients for Peers {
    type Pass = Begun;

    fn admit(&self, from: SocketAddr, wanted: Wanted) -> Verdict<Begun> {
        let Some(member) = self.peer_table.of(from.ip()) else { return Verdict::Ignore };
        if !member.dns.begin(wanted != Wanted::Connection) {
            return Verdict::Ignore;
        }
        let begun = Begun(member);
        let protocol = if wanted == Wanted::Datagram { Protocol::Udp } else { Protocol::Tcp };
        let flow = Flow { source: from.ip(), destination: self.at, protocol, port: PORT };
        if begun.0.site.is_some() && !self.access.allows(&begun.0.group, &begun.0.addresses, &flow) {
            return Verdict::Refuse;
        }
        Verdict::Serve(begun)
    }

    fn addresses(&self, Begun(member): &Begun, name: &str) -> Option<Vec<IpAddr>> {
        self.peer_table.addresses(member, name, &self.access)
    }

    fn may_ask(&self, Begun(member): &Begun, servers: &[SocketAddr]) -> bool {
        let Some(behind) = &member.site else { return true };
        !servers.iter().any(|server| {
            member.addresses.contains(&server.ip()) || behind.iter().any(|net| net.contains(&server.ip()))
        })
    }
}

impl NameServer {
    /// Starts to answer; `None` if there are neither zones nor names of peers.
    ///
    /// # Errors
    /// Port 53 of the overlay address is not available.
    pub(super) fn start(
        config: &GatewayConfig,
        inside: &Inside,
        runtime: &Runtime,
        peer_table: &Arc<PeerTable>,
        access: &Arc<Access>,
    ) -> Result<Option<Self>> {
        let addresses = config.name_server_addresses();
        if addresses.is_empty() {
            return Ok(None);
        }
        let limits =
            Limits { streams: STREAMS, dns_questions: PENDING, buffer_bytes: BUFFERS, ..Limits::default() };
        let services = Services::new(limits);
        let zones = zones(config);
        let names = match inside {
            Inside::Kernel => NamesIn::Kernel(Names::new(&services, System, &zones, Others::Refused)),
            Inside::User(net) => {
                let routes = Split::new(Netstack(net.clone()), behind_sites(config), Some(System));
                NamesIn::User(Names::new(&services, routes, &zones, Others::Refused))
            }
        };
        let server = Self { addresses, services, names };
        for at in &server.addresses {
            let peers = Peers { at: *at, peer_table: Arc::clone(peer_table), access: Arc::clone(access) };
            let at = SocketAddr::new(*at, PORT);
            runtime.block_on(server.serve(inside, at, peers)).map_err(|error| port_problem(at, &error))?;
        }
        tracing::info!(addresses = ?server.addresses, zones = config.dns.zones.len(), "answering DNS for peers");
        Ok(Some(server))
    }

    async fn serve(&self, inside: &Inside, at: SocketAddr, peers: Peers) -> std::io::Result<()> {
        match inside {
            Inside::Kernel => self.serve_in(&System, at, peers).await,
            Inside::User(net) => self.serve_in(&Netstack(net.clone()), at, peers).await,
        }
    }

    async fn serve_in<N: Listen>(&self, network: &N, at: SocketAddr, peers: Peers) -> std::io::Result<()> {
        match &self.names {
            NamesIn::Kernel(names) => self.services.dns_for(network, at, names.clone(), peers).await,
            NamesIn::User(names) => self.services.dns_for(network, at, names.clone(), peers).await,
        }
    }

    /// Applies the zones and sites of another configuration.
    pub(super) fn reload(&self, config: &GatewayConfig) {
        match &self.names {
            NamesIn::Kernel(names) => names.set_zones(&zones(config)),
            NamesIn::User(names) => {
                names.dial().set_prefixes(behind_sites(config));
                names.set_zones(&zones(config));
            }
        }
    }

    /// Its status.
    pub(super) fn status(&self, config: &GatewayConfig) -> DnsStatus {
        let counted = self.services.counters().snapshot();
        let states = match &self.names {
            NamesIn::Kernel(names) => names.servers(),
            NamesIn::User(names) => names.servers(),
        };
        let zones = config.dns.zones.iter().map(|zone| DnsZoneStatus {
            domains: zone.domains.iter().map(ToString::to_string).collect(),
            resolvers: zone.resolvers.clone(),
        });
        DnsStatus {
            addresses: self.addresses.clone(),
            zones: zones.collect(),
            resolvers: states
                .into_iter()
                .map(|state| ResolverStatus { address: state.at.ip(), answers: state.answers })
                .collect(),
            queries: counted.dns_questions,
            cached: counted.dns_cached,
            failed: counted.dns_failed,
            refused: counted.dns_refused,
            dropped: counted.dns_ignored,
            strange: counted.dns_strange,
        }
    }
}

fn zones(config: &GatewayConfig) -> Vec<Zone> {
    let zone = |zone: &warren_wire::gateway::Zone| Zone {
        suffixes: Suffixes::These(
            zone.domains.iter().filter_map(|domain| domain.as_str().parse().ok()).collect(),
        ),
        servers: zone.resolvers.iter().map(|resolver| SocketAddr::new(*resolver, PORT)).collect(),
    };
    config.dns.zones.iter().map(zone).collect()
}

/// What is reached through the netstack: other sites' gateways, and the networks behind them.
fn behind_sites(config: &GatewayConfig) -> Prefixes {
    let nets: Vec<IpNet> = config.site.peers.iter().flat_map(SitePeer::allowed_ips).collect();
    Prefixes::new(&nets)
}

fn port_problem(at: SocketAddr, error: &std::io::Error) -> Problem {
    let problem = Problem::new(format!("DNS at {at}: {error}"));
    match error.raw_os_error() {
        Some(libc::EACCES) => problem.hint(
            "port 53 needs CAP_NET_BIND_SERVICE; grant it, set forwarding = \"user\", or remove [[dns.zones]] and rules about groups",
        ),
        Some(libc::EADDRINUSE) => problem.hint(
            "`ss -lntup sport = :53` shows the program that uses all addresses; let it listen on some addresses only",
        ),
        _ => problem.hint("remove [[dns.zones]] and rules about groups to run without DNS for pods"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::example::config;

    const ZONES: &str = "[[dns.zones]]\ndomains = [\"googleapis.com\"]\nresolvers = [\"10.101.0.1\"]\n\
        [limits]\ndns_queries_per_second_and_peer = 5\n[groups.gpu]\n[groups.site]\nallow = [{ to = [\"10.100.0.1/32\"], ports = [53], protocols = [\"udp\"] }]\n";

    fn peers(more: &str) -> Peers {
        let site = |name: &str, byte: u8, group: &str| {
            let key = warren_wire::PrivateKey::from_random([byte; 32]).public();
            format!(
                "[[site.peers]]\nname = \"{name}\"\nkey = \"{key}\"\naddresses = [\"10.{byte}.0.1\"]\n\
                 prefixes = [\"10.{}.0.0/16\"]\ngroup = \"{group}\"\n",
                byte + 50
            )
        };
        let text = format!(
            "{ZONES}[site]\naddresses = [\"10.100.0.2\"]\n{}{}{more}",
            site("gcp", 101, "site"),
            site("other", 102, "gpu")
        );
        let config = config(&text.replace("10.100.0.2", "172.20.0.1"));
        let access = Arc::new(Access::new(&config));
        let peer_table = Arc::new(PeerTable::default());
        for site in &config.site.peers {
            peer_table.put(&Arc::new(Member::site(site, &access)));
        }
        let key = warren_wire::PrivateKey::from_random([7; 32]).public();
        let pod =
            Member::new(key, vec!["10.100.0.7".parse().unwrap()], "gpu".parse().unwrap(), "pod-0", &access);
        peer_table.put(&Arc::new(pod));
        Peers { at: "10.100.0.1".parse().unwrap(), peer_table, access }
    }

    fn word(peers: &Peers, from: &str, wanted: Wanted) -> &'static str {
        match peers.admit(SocketAddr::new(from.parse().unwrap(), 5353), wanted) {
            Verdict::Serve(_) => "serve",
            Verdict::Refuse => "refuse",
            Verdict::Ignore => "ignore",
        }
    }

    #[test]
    fn pods_are_served_without_a_rule_and_sites_with_one() {
        let peers = peers("");
        assert_eq!(word(&peers, "10.100.0.7", Wanted::Datagram), "serve");
        assert_eq!(word(&peers, "10.100.0.7", Wanted::Message), "serve");
        assert_eq!(word(&peers, "10.101.0.1", Wanted::Datagram), "serve");
        assert_eq!(word(&peers, "10.101.0.1", Wanted::Message), "refuse", "its rule allows UDP alone");
        assert_eq!(word(&peers, "10.102.0.1", Wanted::Datagram), "refuse");
        for stranger in ["10.100.0.8", "10.151.0.1", "10.100.0.1", "127.0.0.1"] {
            assert_eq!(word(&peers, stranger, Wanted::Datagram), "ignore", "{stranger}");
        }
    }

    #[test]
    fn a_site_is_not_asked_for_what_it_asks() {
        let peers = peers("");
        let pass = |from: &str| match peers.admit(SocketAddr::new(from.parse().unwrap(), 1), Wanted::Datagram)
        {
            Verdict::Serve(pass) => pass,
            other => panic!("{other:?}", other = std::mem::discriminant(&other)),
        };
        let servers = |address: &str| vec![SocketAddr::new(address.parse().unwrap(), 53)];
        let (site, pod) = (pass("10.101.0.1"), pass("10.100.0.7"));
        for (server, may) in
            [("10.101.0.1", false), ("10.151.9.9", false), ("10.102.0.1", true), ("172.16.0.2", true)]
        {
            assert_eq!(peers.may_ask(&site, &servers(server)), may, "{server}");
            assert!(peers.may_ask(&pod, &servers(server)), "{server}");
        }
    }

    #[test]
    fn a_peer_has_its_share() {
        let peers = peers("");
        let from = SocketAddr::new("10.100.0.7".parse().unwrap(), 1);
        let served =
            (0..100).filter(|_| matches!(peers.admit(from, Wanted::Datagram), Verdict::Serve(_))).count();
        // Twice the rate at once, and what the test's time brings.
        assert!((10..20).contains(&served), "{served}");
        let held: Vec<_> = (0..100)
            .filter_map(|_| match peers.admit(from, Wanted::Connection) {
                Verdict::Serve(pass) => Some(pass),
                _ => None,
            })
            .collect();
        assert_eq!(held.len(), SHARE as usize);
        drop(held);
        assert!(matches!(peers.admit(from, Wanted::Connection), Verdict::Serve(_)), "they are given back");
    }
}
