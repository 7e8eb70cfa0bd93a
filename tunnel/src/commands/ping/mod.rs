//! `ping`: echo requests through the tunnel of a running agent.

mod report;

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::consts::{SIGINT, SIGTERM};
use warren_wire::gateway::Protocol;

use self::report::{Answer, Report};
use super::print_error;
use crate::{
    cli::PingArgs,
    runtime::{
        host::InterfaceName,
        problem::{Context as _, Problem, Result},
        status::{PeerDirect, Status},
        uapi::{self, Gateway, PingRequest, Pong},
    },
};

/// Requests without an answer at the same time: as many as an agent sends.
const MAX_WAITING: usize = 8;
/// How often signals are noticed.
const TICK: Duration = Duration::from_millis(50);
/// Age after which the gateway in use is read again.
const ROUTE_AGE: Duration = Duration::from_secs(1);

/// Sends echo requests, prints what comes back, and returns the exit code: 0 if an answer came, 1 if none did.
///
/// # Errors
/// When no request can be sent: no agent runs, there is no such name, or the tunnel has no route there.
pub fn run(args: &PingArgs) -> Result<u8> {
    let interface = match &args.interface {
        Some(name) => name.clone(),
        None => uapi::only_running("warren-tunnel ping --interface NAME DESTINATION")?,
    };
    let mut route = Route::read(&interface)?;
    let to = route.choose(&args.destination, &addresses(&interface, &args.destination)?)?;
    let largest = route.largest(to);
    if usize::from(args.size) > largest {
        return Err(Problem::new(format!(
            "--size {} does not fit into a packet of the tunnel, whose MTU is {}",
            args.size, route.status.mtu
        ))
        .hint(format!("use at most {largest}")));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .while_doing(|| "cannot handle signals".into())?;
    }
    let mut report = Report::new(args, to);
    report.begin(route.via(to))?;
    let request = PingRequest { to, size: args.size, timeout: args.timeout };
    let failed = echo(args, &request, &interface, &stop, |sequence, pong| {
        route.refresh(&interface);
        report.answer(&Answer { sequence, pong, via: route.via(to) })
    })?;
    if let Some(problem) = failed {
        print_error(&problem);
    }
    report.end()
}

/// Sends the requests, and passes on what became of each. Returns the reason why the agent refused one.
fn echo(
    args: &PingArgs,
    request: &PingRequest,
    interface: &InterfaceName,
    stop: &AtomicBool,
    mut answered: impl FnMut(u64, Pong) -> Result<()>,
) -> Result<Option<Problem>> {
    let (sender, results) = mpsc::channel();
    let (mut sent, mut waiting) = (0, 0);
    let mut due = Instant::now();
    loop {
        let more = args.count.is_none_or(|count| sent < count);
        if stop.load(Ordering::Relaxed) || (!more && waiting == 0) {
            return Ok(None);
        }
        let now = Instant::now();
        if more && waiting < MAX_WAITING && now >= due {
            sent += 1;
            waiting += 1;
            due = now.max(due + args.interval);
            send(sent, request.clone(), interface.clone(), sender.clone())?;
            continue;
        }
        let pause = if more && waiting < MAX_WAITING { due.saturating_duration_since(now) } else { TICK };
        match results.recv_timeout(pause.min(TICK)) {
            Ok((sequence, Ok(pong))) => {
                waiting -= 1;
                answered(sequence, pong)?;
            }
            Ok((_, Err(problem))) => return Ok(Some(problem)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

/// The number of a request, and what became of it.
type Done = (u64, Result<Pong>);

/// One request, on a thread of its own: the agent answers when there is a result.
fn send(sequence: u64, request: PingRequest, interface: InterfaceName, to: Sender<Done>) -> Result<()> {
    thread::Builder::new()
        .name("ping".into())
        .stack_size(256 << 10)
        .spawn(move || _ = to.send((sequence, uapi::ping(&interface, &request))))
        .map(drop)
        .while_doing(|| "cannot start a thread".into())
}

/// The addresses of a destination, which the agent resolves.
fn addresses(interface: &InterfaceName, destination: &str) -> Result<Vec<IpAddr>> {
    match destination.parse() {
        Ok(address) => Ok(vec![address]),
        Err(_) => uapi::addresses_of(interface, destination),
    }
}

/// The gateway or peer that carries the packets to a destination.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
struct Via {
    /// The name of a gateway, else the public key.
    name: String,
    /// Where it is.
    endpoint: Option<String>,
    /// `udp` or `tls`.
    carrier: String,
    /// Whether it is the destination itself, without a gateway.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    direct: bool,
}

/// What an agent reports about its peers.
struct Route {
    status: Status,
    gateways: Vec<Gateway>,
    read: Instant,
}

impl Route {
    fn read(interface: &InterfaceName) -> Result<Self> {
        let status = uapi::status_of(interface)?;
        Ok(Self { status, gateways: uapi::gateways_of(interface)?, read: Instant::now() })
    }

    /// Reads it again if it is old: an agent moves to another gateway when its own stops answering.
    fn refresh(&mut self, interface: &InterfaceName) {
        if self.read.elapsed() >= ROUTE_AGE
            && let Ok(now) = Self::read(interface)
        {
            *self = now;
        }
    }

    /// The first address that the tunnel reaches.
    fn choose(&self, destination: &str, addresses: &[IpAddr]) -> Result<IpAddr> {
        let own = |to: &IpAddr| self.status.addresses.iter().any(|own| own.addr().is_ipv4() == to.is_ipv4());
        let reached = |to: &&IpAddr| self.via(**to).is_some();
        let chosen = addresses.iter().find(|to| own(to) && reached(to)).or(addresses.iter().find(reached));
        chosen.copied().ok_or_else(|| {
            let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let all = all.join(", ");
            let what = if all == destination { all } else { format!("{destination} ({all})") };
            Problem::new(format!("the tunnel has no route to {what}: no peer has it in AllowedIPs")).hint(
                "add a rule that allows it to the group at the gateway, or AllowedIPs to the file; the system's ping tests paths outside the tunnel",
            )
        })
    }

    /// The pod itself if a direct path leads there, else the peer with the longest prefix that contains the destination.
    fn via(&self, to: IpAddr) -> Option<Via> {
        let direct = self.status.peers.iter().find_map(|peer| {
            let takes = |of: &&PeerDirect| {
                let echo = of.opens.iter().any(|opening| opening.permits(Protocol::Icmp, 0));
                of.up && echo && of.addresses.contains(&to)
            };
            let direct = peer.direct.as_ref().filter(takes)?;
            Some(Via {
                name: direct.name.clone(),
                endpoint: peer.endpoint.map(|endpoint| endpoint.to_string()),
                carrier: "udp".to_owned(),
                direct: true,
            })
        });
        if direct.is_some() {
            return direct;
        }
        let lengths = self.status.peers.iter().filter_map(|peer| {
            let prefixes = peer.allowed_ips.iter().filter(|prefix| prefix.contains(&to));
            Some((prefixes.map(ipnet::IpNet::prefix_len).max()?, peer))
        });
        let (_, peer) = lengths.max_by_key(|(length, _)| *length)?;
        let gateway = self.gateways.iter().find(|gateway| gateway.key.to_string() == peer.public_key);
        let name = gateway.and_then(|gateway| gateway.name.as_ref());
        Some(Via {
            name: name.map_or_else(|| peer.public_key.clone(), ToString::to_string),
            endpoint: peer.endpoint.map(|endpoint| endpoint.to_string()),
            carrier: peer.carrier.as_ref().map_or("udp", |carrier| carrier.kind.as_str()).to_owned(),
            direct: false,
        })
    }

    /// The most data of an echo request in one packet.
    fn largest(&self, to: IpAddr) -> usize {
        let headers = if to.is_ipv4() { 28 } else { 48 };
        usize::try_from(self.status.mtu).unwrap_or(usize::MAX).saturating_sub(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::status::tests::sample;

    fn route() -> Route {
        let mut status = sample();
        status.peers[1].allowed_ips = vec!["10.100.0.128/25".parse().unwrap()];
        let gateway = Gateway {
            name: Some("gw-a".parse().unwrap()),
            key: status.peers[0].public_key.parse().unwrap(),
            udp: None,
            tls: None,
            pins: None,
            tls_name: None,
            in_use: true,
        };
        Route { status, gateways: vec![gateway], read: Instant::now() }
    }

    #[test]
    fn the_longest_prefix_carries_a_destination() {
        let route = route();
        let via = |to: &str| route.via(to.parse().unwrap()).map(|via| (via.name, via.carrier));
        assert_eq!(via("10.100.0.5"), Some(("gw-a".into(), "tls".into())));
        assert_eq!(via("10.100.0.200"), Some((route.status.peers[1].public_key.clone(), "udp".into())));
        assert_eq!(via("10.101.0.1"), None);
    }

    #[test]
    fn an_address_that_the_tunnel_reaches_is_chosen() {
        let route = route();
        let choose = |all: &[&str]| {
            let all: Vec<IpAddr> = all.iter().map(|one| one.parse().unwrap()).collect();
            route.choose("host.internal", &all).map(|chosen| chosen.to_string())
        };
        // The sample has no IPv6 address, although a peer has IPv6 prefixes.
        assert_eq!(choose(&["192.0.2.1", "fd00::9", "10.100.0.9"]).unwrap(), "10.100.0.9");
        assert_eq!(choose(&["fd00::9"]).unwrap(), "fd00::9");
        insta::assert_snapshot!(choose(&["192.0.2.1"]).unwrap_err());
        assert_eq!(route.largest("10.100.0.9".parse().unwrap()), 1392);
    }
}
