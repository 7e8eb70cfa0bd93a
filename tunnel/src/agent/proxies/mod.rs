//! Proxies, port forwards and DNS for programs that use a tunnel without an interface, in a separate runtime.
//!
//! ```text
//! programs -> SOCKS5, HTTP, forwards -> split by prefix -> tunnel: AllowedIPs (netstack, or sockets of a namespace)
//!             DNS by domain                              -> the machine's own network: everything else
//! overlay  -> reverse forwards -> services of this machine
//! ```

mod args;
mod counters;
mod dial;
mod sockets;
mod tester;

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::runtime::Runtime;
use warren_proxy::{
    Credentials, Limits, Outbound,
    dns::{Everyone, Names, Others, Suffixes, Zone, name_servers},
    net::{Dial, Listen, Listener as _, Prefixes, Split, System},
};
use warren_sync::net::Network;
use warren_wire::config::Config;

pub use args::{Forward, Protocol, Reverse, ServiceArgs};
pub(crate) use sockets::Sockets;
use tester::Tester;
pub(crate) use tester::test as test_names;

use super::echo::{self, Lookup};
use crate::runtime::{
    ListenAddress,
    control::ServiceCounters,
    log,
    netstack::Netstack,
    problem::{Context, Result},
    status::{Buffers, DnsZone, Status},
};

/// Bytes that the buffers of all streams of the netstack may take together.
pub(crate) const BUFFERS: usize = 32 << 20;
/// Threads of the runtime. They only copy data; the data path has its own thread.
const THREADS: usize = 2;
/// How long a shutdown waits for open streams.
const GRACE: Duration = Duration::from_millis(200);
/// The port of DNS (RFC 1035 section 4.2).
const DNS_PORT: u16 = 53;
/// Default addresses of the proxies.
const SOCKS5: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1080);
const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);

/// The inside of a tunnel: connections out of it and into it.
pub(crate) trait TunnelNetwork: Dial + Listen + Clone {
    /// Memory of the stream buffers, if this process holds them.
    fn buffers(&self) -> Option<Buffers>;
}

impl TunnelNetwork for Netstack {
    fn buffers(&self) -> Option<Buffers> {
        let memory = self.0.memory();
        Some(Buffers {
            bytes: memory.buffers as u64,
            peak_bytes: memory.buffers_peak as u64,
            limit_bytes: BUFFERS as u64,
            streams: self.streams(),
        })
    }
}

/// Outbound connections: through the tunnel to AllowedIPs, and directly to everything else.
type Route<N> = Outbound<Split<N, System>, Names<N>>;

/// Where the proxies listen.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// SOCKS5.
    pub socks5: Option<SocketAddr>,
    /// HTTP.
    pub http: Option<SocketAddr>,
    /// HTTP, for programs inside the tunnel's network.
    pub inside: Option<SocketAddr>,
    /// Credentials required from clients of all.
    pub credentials: Option<Credentials>,
}

/// The running services. Dropping them ends their connections.
pub(crate) struct Services {
    runtime: Option<Runtime>,
    proxies: warren_proxy::Services,
    /// Applies another configuration.
    change: Box<dyn Fn(&Config) + Send + Sync>,
    counters: ServiceCounters,
    lookup: Lookup,
    dial: Arc<dyn Network>,
    at: Proxies,
}

impl Services {
    /// Binds and serves from now on.
    ///
    /// # Errors
    /// When a requested address is in use, or the credentials cannot be read.
    pub(crate) fn start<N: TunnelNetwork>(inside: &N, args: &ServiceArgs, config: &Config) -> Result<Self> {
        let credentials = args.credentials()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("services")
            .enable_all()
            .build()
            .while_doing(|| "cannot start the proxies".into())?;
        let limits = Limits { buffer_bytes: 4 << 20, ..Limits::default() };
        let connect_timeout = limits.connect;
        let proxies = warren_proxy::Services::new(limits);
        let others = name_servers(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default());
        let names = Names::new(&proxies, inside.clone(), &zones(config), Others::System(others));
        let direct = (!args.no_direct).then_some(System);
        let split = Split::new(inside.clone(), prefixes(config), direct);
        let route: Arc<Route<N>> = Arc::new(Outbound::new(split, names.clone(), connect_timeout));
        let lookup = echo::lookup(names.clone(), runtime.handle().clone());
        let tester = Tester::new(names.clone(), runtime.handle().clone());
        let counters = counters::of(&proxies, inside.clone(), tester);
        let served = runtime.block_on(serve(&proxies, &route, inside, names.clone(), args, credentials));
        let dial = Arc::new(dial::Within(Arc::clone(&route)));
        let change = Box::new(move |config: &Config| {
            route.dial().set_prefixes(prefixes(config));
            names.set_zones(&zones(config));
        });
        let mut services =
            Self { runtime: Some(runtime), proxies, change, counters, lookup, dial, at: Proxies::default() };
        services.at = served?;
        Ok(services)
    }

    /// Where the proxies listen.
    pub(crate) fn proxies(&self) -> Proxies {
        self.at.clone()
    }

    /// The network that they reach, for connections of this process.
    pub(crate) fn dial(&self) -> Arc<dyn Network> {
        Arc::clone(&self.dial)
    }

    /// Their counters.
    pub(crate) fn counters(&self) -> ServiceCounters {
        self.counters.clone()
    }

    /// Looks up names as the proxies do.
    pub(crate) fn lookup(&self) -> Lookup {
        Arc::clone(&self.lookup)
    }

    /// Applies the prefixes and domains of another configuration.
    pub(crate) fn reload(&self, config: &Config) {
        (self.change)(config);
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            let left = runtime.block_on(self.proxies.shutdown(GRACE));
            if left > 0 {
                tracing::info!(streams = left, "open streams reset");
            }
            runtime.shutdown_timeout(GRACE);
        }
    }
}

async fn serve<N: TunnelNetwork>(
    services: &warren_proxy::Services,
    route: &Arc<Route<N>>,
    inside: &N,
    names: Names<N>,
    args: &ServiceArgs,
    credentials: Option<Credentials>,
) -> Result<Proxies> {
    let mut proxies = Proxies { credentials: credentials.clone(), ..Proxies::default() };
    let route = || Arc::clone(route);
    if let Some(at) = wanted(args.socks5, SOCKS5) {
        let served = services.socks(at, route(), credentials.clone()).await;
        proxies.socks5 = listening("SOCKS5 proxy", "--socks5", at, args.socks5, served)?;
    }
    if let Some(at) = wanted(args.http_proxy, HTTP) {
        let served = services.http(at, route(), credentials.clone()).await;
        proxies.http = listening("HTTP proxy", "--http-proxy", at, args.http_proxy, served)?;
    }
    if args.inside {
        let doing = || "serving programs in the network of the tunnel".into();
        let dns = SocketAddr::from((Ipv4Addr::LOCALHOST, DNS_PORT));
        services.dns_for(inside, dns, names.clone(), Everyone).await.while_doing(doing)?;
        let listener = inside.listen((Ipv4Addr::LOCALHOST, 0).into()).await.while_doing(doing)?;
        proxies.inside = Some(listener.local_addr().while_doing(doing)?);
        services.http_on(listener, route(), credentials);
    }
    if let Some(ListenAddress::At(at)) = args.dns {
        let served = services.dns(at, names).await;
        listening("DNS server", "--dns", at, args.dns, served)?;
    }
    for forward in &args.forward {
        let Forward { protocol, at, to } = forward.clone();
        let served = match protocol {
            Protocol::Tcp => services.forward_tcp_here(at, route(), to).await,
            Protocol::Udp => services.forward_udp_here(at, route(), to).await,
        };
        listening("port forward", "--forward", at, Some(ListenAddress::At(at)), served)?;
    }
    for reverse in &args.reverse {
        serve_overlay(services, inside, reverse.clone()).await?;
    }
    Ok(proxies)
}

/// Forwards a port of our tunnel addresses to a service of this machine.
async fn serve_overlay<N: TunnelNetwork>(
    services: &warren_proxy::Services,
    inside: &N,
    reverse: Reverse,
) -> Result<()> {
    let Reverse { protocol, port, to } = reverse;
    let local = Arc::new(Outbound::new(System, warren_proxy::dns::SystemNames, services.limits().connect));
    let at = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let doing = || format!("--reverse: listening on port {port} of the tunnel");
    match protocol {
        Protocol::Tcp => {
            let listener = inside.listen(at).await.while_doing(doing)?;
            services.forward_tcp(listener, local, to.clone());
        }
        Protocol::Udp => {
            let socket = inside.bind(at).await.while_doing(doing)?;
            services.forward_udp(socket, local, to.clone());
        }
    }
    tracing::info!(port, %to, "reverse forward listening");
    Ok(())
}

fn wanted(requested: Option<ListenAddress>, otherwise: SocketAddr) -> Option<SocketAddr> {
    match requested {
        Some(ListenAddress::Off) => None,
        Some(ListenAddress::At(at)) => Some(at),
        None => Some(otherwise),
    }
}

/// A default address that is in use is only a warning: a second agent on the machine runs without it.
fn listening(
    what: &str,
    flag: &str,
    at: SocketAddr,
    requested: Option<ListenAddress>,
    served: io::Result<SocketAddr>,
) -> Result<Option<SocketAddr>> {
    match served {
        Ok(bound) => {
            tracing::info!(at = %bound, "{what} listening");
            Ok(Some(bound))
        }
        Err(error) => {
            let problem = args::cannot_listen(what, flag, at, &error);
            if requested.is_some() {
                return Err(problem);
            }
            log::warn(&problem);
            Ok(None)
        }
    }
}

/// The AllowedIPs of all peers.
fn prefixes(config: &Config) -> Prefixes {
    let all: Vec<_> = config.peers.iter().flat_map(|peer| peer.allowed_ips.iter().copied()).collect();
    Prefixes::new(&all)
}

/// The domains that the gateway resolves, for the status.
pub(crate) fn dns_zones(config: &Config) -> Vec<DnsZone> {
    let zone = |zone: &warren_wire::enrolment::DnsZone| DnsZone {
        domains: zone.domains.iter().map(ToString::to_string).collect(),
        servers: zone.servers.clone(),
    };
    config.interface.dns_zones.iter().map(zone).collect()
}

/// Resolves the names of a running agent's domains by their servers, through its interface.
pub(crate) fn names_by_interface(status: &Status) -> Names<System> {
    let zones = status.dns_zones.iter().map(|zone| Zone {
        suffixes: Suffixes::These(zone.domains.iter().filter_map(|name| name.parse().ok()).collect()),
        servers: at(&zone.servers),
    });
    let services = warren_proxy::Services::new(Limits::default());
    Names::new(&services, System, &zones.collect::<Vec<_>>(), Others::Refused)
}

fn at(servers: &[IpAddr]) -> Vec<SocketAddr> {
    servers.iter().map(|server| SocketAddr::new(*server, DNS_PORT)).collect()
}

/// The names that are looked up through the tunnel.
pub(super) fn zones(config: &Config) -> Vec<Zone> {
    let of_gateway = config.interface.dns_zones.iter().map(|zone| Zone {
        suffixes: Suffixes::These(
            zone.domains.iter().filter_map(|domain| domain.as_str().parse().ok()).collect(),
        ),
        servers: at(&zone.servers),
    });
    let of_file = Zone { suffixes: suffixes(config), servers: at(&config.interface.dns) };
    of_gateway.chain([of_file]).collect()
}

/// As in wg-quick's `DNS`: the tunnel's servers resolve the search domains, or all names if there are none.
fn suffixes(config: &Config) -> Suffixes {
    let search = &config.interface.dns_search;
    if search.is_empty() {
        return Suffixes::All;
    }
    Suffixes::These(search.iter().filter_map(|name| name.parse().ok()).collect())
}
